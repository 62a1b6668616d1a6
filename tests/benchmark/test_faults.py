"""Tasks of one's own that are at fault: one message each, which names the line."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import tasks
from tests.commands import assert_one_message, call

TASK = '''"""Mine: a toy."""
from pathlib import Path
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from pipeline.task.task import Split, Task

def linear(seed):
    return make_pipeline(StandardScaler(), LogisticRegression())

def prepare(home: Path) -> Path:
    home.mkdir(exist_ok=True)
    a, b = np.random.default_rng(0).normal(size=(2, 400))
    fold = np.arange(400) % 100
    frame = pd.DataFrame({"a": a, "b": b, "y": (a + b > 0).astype(int), "fold": fold})
    frame.to_parquet(home / "mine.parquet")
    return home / "mine.parquet"

TASK = Task(
    name="mine", title="Mine", prepare=prepare, features=["a", "b"], target="y",
    pipelines={"linear": linear},
    splits={"random": Split([("fold", "<", 75)], [("fold", ">=", 75)], "three quarters")},
    metrics={"auc": roc_auc_score}, margins={"auc": 0.01}, licence="mine", source="me",
)
'''
STEP = "make_pipeline(StandardScaler()"
BODY = "    home.mkdir"
CASES = {
    "a bracket is open": ("linear(seed):", "linear(seed:", 2, "line 11: `def linear(seed:`"),
    "a package is missing": ("import numpy", "import nosuch; import numpy", 2, "named 'nosuch'"),
    "it ends the process": ("import numpy", "exit(3); import numpy", 2, "line 3: `exit(3)"),
    "no task": ("TASK = Task(", "MINE = Task(", 2, "mine.py: `TASK = Task(...)` is missing"),
    "a field is misspelt": ("margins=", "margin=", 2, "unexpected keyword argument 'margin'"),
    "a feature": ("[\"a\", \"b\"]", "[\"a\", \"bb\"]", 65, "no column 'bb'; did you mean 'b'?"),
    "a margin": ("margins={\"auc\"", "margins={\"acc\"", 2, "did you mean 'auc'?"),
    "a metric of no sign": ("roc_auc_score},", "lambda t, p: 0},", 2, "make_scorer(<lambda>, gr"),
    "a metric that fails": (
        "roc_auc_score},", "make_scorer(lambda t, p: t[\"x\"])},", 2, "auc of the 100",
    ),
    "a program that fails": ("    return make", "    seed[0]\n    return make", 2, "`seed[0]`: T"),
    "data that fail": (BODY, "    1 / 0\n    home.mkdir", 2, "line 15: `1 / 0`: ZeroDivision"),
    "a step that fails": (
        STEP, "make_pipeline(FunctionTransformer(lambda X: X[\"c\"])", 2, "line 12: `return make",
    ),
    "gaps that no step takes": ("\"b\": b", "\"b\": [np.nan, *b[1:]]", 65, "Input X contains NaN"),
}  # fmt: skip


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder whose tasks are imported in the place of the project's."""
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "__init__.py").touch()
    monkeypatch.setattr(tasks, "__path__", [str(tmp_path / "tasks")])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.delitem(sys.modules, "tasks.mine", raising=False)
    importlib.invalidate_caches()
    return tmp_path


def write(workspace: Path, old: str = "", new: str = "") -> None:
    assert old in TASK
    (workspace / "tasks" / "mine.py").write_text(TASK.replace(old, new) if old else TASK)


@pytest.mark.parametrize("case", CASES)
def test_a_fault_of_a_task_is_one_message(workspace: Path, case: str) -> None:
    old, new, code, words = CASES[case]
    write(workspace, old, new)
    done = call("run", "mine", "--device", "cpu", root=workspace)
    assert_one_message(done, code, words, lines=done.err.count("\n"))
    assert "Traceback" not in done.err
    assert not (workspace / "runs" / "mine").exists()


@pytest.mark.parametrize("text", ["def (", "\ud800"], ids=["syntax", "latin-1"])
def test_the_list_goes_on_after_a_file_that_cannot_be_read(workspace: Path, text: str) -> None:
    write(workspace)
    (workspace / "tasks" / "bad.py").write_bytes(text.encode("latin-1", "replace") + b"\xe9")
    code, out, _ = call("list", root=workspace)
    bad, mine = out.splitlines()
    assert code == 0
    assert bad.startswith("bad                not listed: the task 'bad' cannot be loaded: ")
    assert mine.endswith("Mine: a toy.")
