"""A comparison is killed, and the next one takes up what had run."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from pipeline.benchmark.record import results
from tests.commands import started

pytestmark = pytest.mark.slow

TASK = '''"""A program that says when it learns."""

import os
from pathlib import Path
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from datasets import flights
from pipeline.task.task import Split, Task

class Told(LogisticRegression):
    """Writes down each fit."""
    def fit(self, X, y):
        with Path("fits").open("a") as file:
            print(os.getpid(), file=file)
        return super().fit(X, y)

def told(seed):
    """Scales and learns."""
    return make_pipeline(StandardScaler(), Told())

TASK = Task(
    name="told", title="Told", prepare=flights.prepare, target="late", licence="CC0", source="here",
    features=["day", "weekday", "distance"], pipelines={"told": told},
    splits={"time": Split([("month", "<=", 9)], [("month", ">", 9)], "in time")},
    metrics={"roc_auc": roc_auc_score}, margins={"roc_auc": 0.002},
)
'''
RUNS = 2 * (1 + 3) + 2
"""Warm-up and three timed runs of two variants, and two seeds of the reference."""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "__init__.py").touch()
    (tmp_path / "tasks" / "told.py").write_text(TASK)
    return tmp_path


def fits(workspace: Path) -> int:
    return len((workspace / "fits").read_text().split())


def compare(workspace: Path, home: Path, *options: object, end_after: int | None = None) -> str:
    """Run the command, to its end or until it has told of so many runs; return what it said."""
    lines: list[str] = []
    command = ("-m", "pipeline", "compare", "told", "--data-home", home, "--out", workspace / "r")
    with started(*command, "--repeats", 3, *options, cwd=workspace) as process:
        assert process.stdout is not None
        while end_after is None or len(lines) < end_after:
            line = process.stdout.readline()
            if not line:
                break
            lines.append(line)
        if end_after is not None:
            os.kill(process.pid, signal.SIGKILL)
        rest, err = process.communicate(timeout=300)
    assert end_after is not None or err == ""
    return "".join(lines) + rest


def test_what_had_run_before_a_kill_is_not_run_again(workspace: Path, small_home: Path) -> None:
    compare(workspace, small_home, end_after=5)
    runs, before = workspace / ".r.runs.jsonl", fits(workspace)
    said = compare(workspace, small_home)
    finished = int(said.partition("resuming after ")[2].partition(" finished runs")[0])
    assert finished >= 5
    # A new process warms up once more, which does not count.
    assert 0 <= fits(workspace) - before - (RUNS - finished) <= 2
    found = results.load(workspace / "r" / "results.json")
    assert found.protocol.resumed == finished
    assert [(c.status, len(c.runs)) for c in found.cells] == [("ok", 3), ("ok", 3)]
    assert Counter(found.protocol.order) == {"told/reference": 3, "told/cpu": 3}
    assert set(found.cells[0].noise) == {"roc_auc"}
    assert not runs.exists(), "they are in the results"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--set", "told__C=0.5"),
            "the runs of an earlier command are not used: pipelines changed",
        ),
        (("--no-resume",), ""),
    ],
)
def test_runs_of_other_work_are_not_taken_up(
    workspace: Path, small_home: Path, options: tuple[object, ...], said: str
) -> None:
    compare(workspace, small_home, end_after=2)
    before = fits(workspace)
    found = compare(workspace, small_home, *options)
    assert said in found
    assert "resuming" not in found
    assert fits(workspace) - before == RUNS


def test_ctrl_c_says_how_to_go_on(workspace: Path, small_home: Path) -> None:
    where = ("--data-home", small_home, "--out", workspace / "r", "--repeats", 200)
    with started("-m", "pipeline", "compare", "told", *where, cwd=workspace) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    first, second = filter(None, err.splitlines())
    assert first.endswith("finished runs are kept; the same command resumes from them")
    assert second == "interrupted; nothing was published"
