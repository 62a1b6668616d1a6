"""A process for each variant, whose scikit-learn may be replaced before the program is imported."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import psutil
import pytest

from pipeline.benchmark.record.results import STAGES
from pipeline.benchmark.run import measure, worker
from pipeline.benchmark.run.worker import RunReport, WorkerFailed, WorkerProcess
from pipeline.optional import available
from pipeline.task.task import Job
from tasks.flights import TASK
from tests.commands import started

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys, time
from pathlib import Path
from pipeline.task.task import Job
from pipeline.benchmark.run.worker import WorkerProcess
worker = WorkerProcess(Job("flights", "logistic", "cpu", Path(sys.argv[1])))
print(worker._process.pid, flush=True)
with worker:
    print(worker.run().rows_train, flush=True)
    time.sleep(60)
"""


@pytest.fixture(scope="module")
def job(small_flights: Path) -> Job:
    return Job("flights", "logistic", "cpu", small_flights)


@pytest.fixture(scope="module")
def reports(job: Job) -> Iterator[tuple[RunReport, RunReport, int]]:
    """Return two reports of one worker, and its process."""
    with WorkerProcess(job) as running:
        child = only_child()
        yield running.run(), running.run(), child.pid


def only_child() -> psutil.Process:
    """Return our newest child."""
    return max(psutil.Process().children(), key=lambda child: (child.create_time(), child.pid))


def gone(*pids: int, within: float = 120.0) -> bool:
    deadline = time.monotonic() + within
    for pid in pids:
        while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
    return True


def test_it_reports_what_a_run_in_this_process_gives(
    reports: tuple[RunReport, RunReport, int], job: Job
) -> None:
    here = measure.measure_once(TASK, TASK.pipeline("logistic", 0), job)
    report, again, pid = reports
    found, wanted = (each.predicted["prediction"] for each in (report, here))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(report.y_true, here.y_true)
    assert report.metrics == pytest.approx(measure.judge_outcome(TASK, here))
    assert (report.rows_train, report.placements) == (here.rows_train, here.placements)
    for each in (report, again):
        assert set(each.stages) <= set(STAGES)
        assert 0 < sum(each.stages.values()) <= each.total
    assert report.total != again.total
    assert pid != os.getpid()
    assert report.threads, "thread pools are those of the worker"
    assert 2**26 < report.peak_rss_bytes < 2**36


def misbehave(channel: Connection, job: Job) -> None:
    """Do what the seed of each request says."""
    while True:
        seed = channel.recv()
        if seed == 2:
            os._exit(0)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        channel.send([os.getpid(), child.pid])


@pytest.fixture
def odd(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers misbehave."""
    monkeypatch.setattr(worker, "serve", misbehave)


@pytest.mark.usefixtures("odd")
@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGKILL, r"killed \(SIGKILL\), most likely for lack of memory"),
        (None, "ended with exit code 0"),
    ],
)
def test_a_worker_that_is_gone_is_told_with_the_cause_and_takes_its_own_with_it(
    job: Job, number: signal.Signals | None, words: str
) -> None:
    with WorkerProcess(job) as running:
        pids = running.run()
        if number:
            only_child().send_signal(number)
        for _ in range(2):
            with pytest.raises(WorkerFailed, match=words):
                running.run(seed=2)
        assert gone(*pids)


@pytest.mark.slow
def test_a_worker_of_a_script_without_a_main_guard_dies_with_it(
    small_flights: Path, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with started(script, small_flights) as parent:
        child, rows = int(parent.stdout.readline()), int(parent.stdout.readline())
        assert rows > 0
        assert os.getsid(child) == child, "Ctrl-C does not reach it"
        parent.kill()
        assert gone(child)
        assert parent.communicate() == ("", "")


STAND_IN = """
def patch_sklearn():
    import sklearn.linear_model as module
    class LogisticRegression(module.LogisticRegression):
        def predict_proba(self, X):
            return super().predict_proba(X) * 0 + 0.5
    LogisticRegression.__module__ = "sklearnex.linear_model"
    module.LogisticRegression = LogisticRegression
"""
"""A module whose classes can be told from scikit-learn's."""


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["intelex", "reference"])
def test_only_the_variant_of_a_patch_gets_its_classes(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variant: str
) -> None:
    (tmp_path / "sklearnex.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(tmp_path)
    with WorkerProcess(replace(job, variant=variant)) as running:
        report = running.run()
    assert (set(report.predicted["prediction"]) == {0.5}) == (variant == "intelex")
    assert report.placements[-1].implementation.startswith("sklearnex.") == (variant == "intelex")
    (tmp_path / "sklearnex.py").write_text("raise OSError('libtbb.so.12')")
    said = r"sklearnex.patch_sklearn\(\) failed: OSError: libtbb"
    with (
        WorkerProcess(replace(job, variant="intelex")) as running,
        pytest.raises(WorkerFailed, match=said),
    ):
        running.run()


@pytest.mark.contract_live
@pytest.mark.skipif(not available("cuml"), reason="not installed: cuml")
def test_cuml_accel_has_what_is_called_and_read() -> None:
    code = (
        "from pipeline.benchmark.run.entry import patch; assert patch('accel') == '';"
        "from sklearn.linear_model import LogisticRegression as L;"
        "from pipeline.benchmark.run import measure;"
        "p = measure._placed(L(), 'new');"
        "print(p.implementation, p.device, L()._gpu, L()._cpu_class.__module__)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    last = done.stdout.strip().splitlines()[-1]
    assert last == (
        "cuml.accel LogisticRegression cuda or cpu None sklearn.linear_model._logistic"
    ), done.stderr
