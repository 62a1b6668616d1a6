"""What `docs/security.md` says is never done, is not done."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from pipeline.task.own import new_task
from tests.commands import ROOT
from tools.tasks import published

SHIPPED = [f for folder in ("pipeline", "datasets") for f in (ROOT / folder).rglob("*.py")]
SHIPPED += [ROOT / "tasks" / f"{name}.py" for name in published()]
NEVER = {
    "eval",
    "exec",
    "extract",
    "extractall",
    "fromfile",
    "popen",
    "read_pickle",
    "system",
    "unpack_archive",
}
"""Names of functions that run text or unpack files where these say."""
TO_ITS_CHILD = {
    "benchmark/run/entry.py",
    "benchmark/run/worker.py",
    "table/shared.py",
    "tuning/trial_workers.py",
}
"""What hands objects to processes of its own, over a pipe, in a folder of its own or by Dask."""
HASHES = {
    "accel/adopted.py",
    "backends/base.py",
    "backends/identity.py",
    "backends/xgboost/checkpoints.py",
    "tuning/space.py",
}
"""What calls `joblib.hash` or `joblib.parallel_config` alone, which read no file."""
PICKLES = {"pickle", "joblib", "dill", "cloudpickle", "marshal", "shelve"}


@cache
def nodes(file: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(file.read_text("utf-8"))))


def calls(file: Path) -> list[ast.Call]:
    return [node for node in nodes(file) if isinstance(node, ast.Call)]


def named(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def given(call: ast.Call) -> dict[str | None, object]:
    return {k.arg: getattr(k.value, "value", k.value) for k in call.keywords}


def faults(file: Path) -> list[str]:
    """Return the calls and imports that must not be in a file."""
    found = [named(c) for c in calls(file) if named(c) in NEVER]
    if file.name == "hardware.py":
        found.remove("system")  # of the module `platform`: the name of the system
    found += ["shell" for c in calls(file) if given(c).get("shell", False) is not False]
    found += ["arrays" for c in calls(file) if given(c).get("allow_pickle", False) is not False]
    for node in nodes(file):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        ours = str(file).rpartition("/pipeline/")[2] in TO_ITS_CHILD | HASHES
        found += [n for n in names if n.partition(".")[0] in PICKLES and not ours]
    return found


def test_nothing_that_runs_text_or_unpacks_files_is_called() -> None:
    assert SHIPPED
    assert {str(f.relative_to(ROOT)): faults(f) for f in SHIPPED if faults(f)} == {}


@pytest.mark.parametrize(
    "line",
    [
        "eval(text)",
        "os.system(text)",
        "subprocess.run(text, shell=True)",
        "archive.extractall(folder)",
        "numpy.load(path, allow_pickle=True)",
        "import joblib",
        "from pickle import loads",
    ],
)
def test_such_a_line_is_found(line: str, tmp_path: Path) -> None:
    (tmp_path / "file.py").write_text(line)
    assert len(faults(tmp_path / "file.py")) == 1


HOSTILE = [
    '"""\nimport os\nos.mkdir("marker")\n"""',
    "'; os.mkdir('marker') #",
    "{{ 7 * 7 }}",
    "\\",
]


def test_names_in_a_table_are_never_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tasks").mkdir()
    monkeypatch.chdir(tmp_path)
    values = {name: [f"{i % 7}{name}" for i in range(140)] for name in HOSTILE[1:]}
    table = pd.DataFrame({**values, "n": range(140), HOSTILE[0]: [HOSTILE[0], "no"] * 70})
    file = tmp_path / 'a""" + \'b.parquet'
    table.to_parquet(file)
    new_task.create(file, HOSTILE[0], tmp_path / "data", new_task.Choices(name="mine"))
    source = (tmp_path / "tasks" / "mine.py").read_text()
    tree = ast.parse(source)
    assert not [node for node in ast.walk(tree) if getattr(node, "attr", "") == "mkdir"]
    exec(compile(tree, "mine.py", "exec"), {"__name__": "mine", "__file__": "tasks/mine.py"})
    assert not (tmp_path / "marker").exists()
