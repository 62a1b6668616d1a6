"""What happens when processes are killed and disks are full; see ``docs/errors.md``."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import psutil
import pytest

from pipeline.benchmark.record import results
from pipeline.system.atomic import publishing
from tests.commands import OLD, intact, old_results, started

pytestmark = pytest.mark.slow

INTERRUPTED = "interrupted; nothing was published"
TASK = '''"""Programs that misbehave."""

import os, time
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

class Waiting(LogisticRegression):
    """The first that is to learn says who it is, and waits to be killed."""
    def fit(self, X, y):
        if not any(Path("waiting").iterdir()):
            (Path("waiting") / str(os.getpid())).touch()
            time.sleep(60)
        return super().fit(X, y)

def told(seed):
    """Scales and learns."""
    return make_pipeline(StandardScaler(), Told())

def waiting(seed):
    """Does not end the first time."""
    return make_pipeline(StandardScaler(), Waiting())

TASK = Task(
    name="odd", title="Odd", prepare=flights.prepare, target="late", licence="CC0", source="here",
    features=["day", "weekday", "distance"],
    pipelines={"waiting": waiting, "told": told},
    splits={"time": Split([("month", "<=", 9)], [("month", ">", 9)], "in time")},
    metrics={"roc_auc": roc_auc_score}, margins={"roc_auc": 0.002},
)
'''
RUNS = 2 * (1 + 3) + 2
"""Warm-up and three timed runs of two variants, and two seeds of the reference."""
Process = subprocess.Popen[str]
Start = Callable[..., AbstractContextManager[Process]]


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tested must not depend on the machine."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Return a folder with old results."""
    return old_results(tmp_path / "out" / "results")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return a working directory with a task whose programs misbehave."""
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "__init__.py").touch()
    (tmp_path / "tasks" / "odd.py").write_text(TASK)
    (tmp_path / "waiting").mkdir()
    return tmp_path


@pytest.fixture
def start(workspace: Path, small_home: Path, out: Path) -> Start:
    """Start a command on that task."""

    def popen(command: str, pipelines: str, *arguments: object) -> AbstractContextManager[Process]:
        return started(
            "-m", "pipeline", command, "odd", "--device", "cpu", "--pipelines", pipelines,
            "--data-home", small_home, "--out", out, *arguments, cwd=workspace,
        )  # fmt: skip

    return popen


def waiting(workspace: Path, process: Process) -> int:
    """Return the process in which a program waits, once it does."""
    wait_for(lambda: list((workspace / "waiting").iterdir()), process)
    (found,) = (workspace / "waiting").iterdir()
    return int(found.name)


def wait_for(condition: Callable[[], object], process: Process) -> None:
    deadline = time.monotonic() + 300
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "the moment did not come"
        time.sleep(0.01)


def family(process: Process) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def gone(processes: list[psutil.Process]) -> bool:
    return psutil.wait_procs(processes, timeout=300)[1] == []


@pytest.mark.parametrize(
    ("command", "number", "code", "said"),
    [
        ("run", signal.SIGINT, 130, INTERRUPTED),
        ("compare", signal.SIGINT, 130, INTERRUPTED),
        ("run", signal.SIGHUP, 129, ""),
        ("compare", signal.SIGTERM, 143, ""),
        ("run", signal.SIGKILL, -9, ""),
        ("compare", signal.SIGKILL, -9, ""),
    ],
)
def test_an_end_in_the_middle_publishes_nothing_and_leaves_no_process(
    start: Start, workspace: Path, out: Path, command: str,
    number: signal.Signals, code: int, said: str,
) -> None:  # fmt: skip
    with start(command, "waiting") as process:
        waiting(workspace, process)
        workers = family(process)
        assert (workers == []) == (command == "run")
        # Ctrl-C reaches the whole group, the other two one process.
        (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
        _, err = process.communicate(timeout=300)
    assert (process.returncode, err.strip()) == (code, said)
    assert gone(workers)
    assert (out / "record.json").read_text() == OLD
    if number == signal.SIGKILL:
        assert not intact(out), "a draft is left"
        with pytest.raises(ZeroDivisionError), publishing(out):
            raise ZeroDivisionError
    assert intact(out)


def test_a_worker_that_is_killed_is_recorded_and_the_rest_runs(
    start: Start, workspace: Path, out: Path
) -> None:
    with start("compare", "waiting", "--repeats", 3) as process:
        os.kill(waiting(workspace, process), signal.SIGKILL)
        _, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    first, second = results.load(out / "results.json").cells
    assert (first.status, second.status) == ("failed", "ok")
    assert first.why == "the process was killed (SIGKILL), most likely for lack of memory"
    assert [len(first.runs), len(second.runs)] == [0, 3]


def told(start: Start, workspace: Path, *options: object, end_after: int = 0) -> tuple[str, int]:
    """Compare to the end, or until so many runs are told of; return what was said, and the fits."""
    with start("compare", "told", "--repeats", 3, *options) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(end_after)]
        if end_after:
            os.kill(process.pid, signal.SIGKILL)
        rest, err = process.communicate(timeout=300)
    assert end_after or err == ""
    return "".join(lines) + rest, len((workspace / "fits").read_text().split())


def test_what_had_run_before_a_kill_is_not_run_again(
    start: Start, workspace: Path, out: Path
) -> None:
    _, before = told(start, workspace, end_after=5)
    said, fits = told(start, workspace)
    finished = int(said.partition("resuming after ")[2].partition(" finished runs")[0])
    assert finished >= 5
    # A new process warms up once more, which does not count.
    assert 0 <= fits - before - (RUNS - finished) <= 2
    found = results.load(out / "results.json")
    assert found.protocol.resumed == finished
    assert [(c.status, len(c.runs)) for c in found.cells] == [("ok", 3), ("ok", 3)]
    assert sorted(found.protocol.order) == ["told/cpu"] * 3 + ["told/reference"] * 3
    assert set(found.cells[0].noise) == {"roc_auc"}
    assert not list(out.parent.glob("*.jsonl")), "they are in the results"


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
    start: Start, workspace: Path, options: tuple[object, ...], said: str
) -> None:
    _, before = told(start, workspace, end_after=2)
    found, fits = told(start, workspace, *options)
    assert said in found
    assert "resuming" not in found
    assert fits - before == RUNS


def test_ctrl_c_says_how_to_go_on(start: Start) -> None:
    with start("compare", "told", "--repeats", 200) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    first, second = filter(None, err.splitlines())
    assert first.endswith("finished runs are kept; the same command resumes from them")
    assert second == INTERRUPTED
