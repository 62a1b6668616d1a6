from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest

from pipeline.benchmark import measure, worker
from pipeline.benchmark.results import STAGES
from pipeline.benchmark.task import Job
from pipeline.benchmark.worker import RunReport, WorkerFailed, WorkerProcess
from tasks.flights import TASK

ROOT = Path(__file__).parents[2]
PARENT = """
import multiprocessing, sys, time
from pathlib import Path
from pipeline.benchmark.task import Job
from pipeline.benchmark.worker import WorkerProcess
worker = WorkerProcess(Job("flights", "logistic", "cpu", Path(sys.argv[1])))
print(multiprocessing.active_children()[0].pid, flush=True)
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
    """Return our newest child: the worker, not the helper of `multiprocessing`."""
    return max(psutil.Process().children(), key=lambda child: (child.create_time(), child.pid))


def gone(pid: int, *, within: float = 120.0) -> bool:
    deadline = time.monotonic() + within
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_it_reports_what_a_run_in_this_process_gives(
    reports: tuple[RunReport, RunReport, int], job: Job
) -> None:
    here = measure.measure_once(TASK, TASK.pipeline("logistic", 0), job)
    report = reports[0]
    np.testing.assert_allclose(report.predicted, here.predicted, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(report.y_true, here.y_true)
    assert report.metrics == pytest.approx(measure.judge_outcome(TASK, here))
    assert report.rows_train == here.rows_train
    assert report.placements == here.placements
    assert [(e.step, e.call) for e in report.execution_log] == [
        (e.step, e.call) for e in here.execution_log
    ]


def test_it_times_each_run_by_itself(reports: tuple[RunReport, RunReport, int]) -> None:
    for report in reports[:2]:
        assert set(report.stages) <= set(STAGES)
        assert 0 < sum(report.stages.values()) <= report.total
    assert reports[0].total != reports[1].total


def test_it_runs_in_a_process_of_its_own(reports: tuple[RunReport, RunReport, int]) -> None:
    report, _, pid = reports
    assert pid != os.getpid()
    assert report.threads, "thread pools are those of the worker"
    assert report.peak_rss_bytes > 2**26


@pytest.mark.slow
def test_a_run_that_fails_is_told_and_can_be_repeated(job: Job) -> None:
    wrong = replace(job, changes={"logisticregression__C": -1})
    with WorkerProcess(wrong) as running:
        for _ in range(2):
            with pytest.raises(WorkerFailed, match=r"ConfigError: logisticregression.*'C'.*-1"):
                running.run()


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGKILL, r"killed \(SIGKILL\), most likely for lack of memory"),
        (signal.SIGTERM, "ended by SIGTERM"),
    ],
)
def test_a_worker_that_is_gone_is_told_with_the_cause(
    job: Job, number: signal.Signals, words: str
) -> None:
    with WorkerProcess(job) as running:
        only_child().send_signal(number)
        with pytest.raises(WorkerFailed, match=words):
            running.run()
        with pytest.raises(WorkerFailed, match=words):
            running.run()


def test_an_exit_by_itself_is_told_with_its_code() -> None:
    assert worker._cause(3) == "the process ended with exit code 3"


@pytest.mark.slow
def test_it_ends_with_its_block(job: Job) -> None:
    with WorkerProcess(job):
        child = only_child()
        assert child.is_running()
    assert not psutil.pid_exists(child.pid)


def test_it_ends_when_the_block_fails(job: Job) -> None:
    children = []

    def fail() -> None:
        with WorkerProcess(job):
            # A stopped process answers as little as one that is busy.
            children.append(only_child())
            children[0].suspend()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert not psutil.pid_exists(children[0].pid)


@pytest.mark.slow
def test_ctrl_c_does_not_reach_it_from_its_first_moment_on(job: Job) -> None:
    with WorkerProcess(job) as running:
        child = only_child()
        for _ in range(2):
            child.send_signal(signal.SIGINT)
            assert running.run().total > 0


@pytest.mark.slow
def test_ctrl_c_reaches_us_after_a_worker_has_started(job: Job) -> None:
    with WorkerProcess(job), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_end_that_comes_while_a_worker_starts_waits_until_it_has(number: signal.Signals) -> None:
    steps = []

    def end(number: int, frame: object) -> None:
        steps.append("ended")

    previous = signal.signal(number, end)
    try:
        with worker._undisturbed():
            os.kill(os.getpid(), number)
            steps.append("started")
    finally:
        signal.signal(number, previous)
    assert steps == ["started", "ended"]


@pytest.mark.slow
def test_it_dies_with_a_parent_that_is_killed(small_flights: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(small_flights)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    child = int(parent.stdout.readline())
    parent.kill()
    assert gone(child)
    assert parent.communicate()[1] == ""


def test_the_peak_is_that_of_this_process() -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("the system does not tell it")
    # Resident memory may have shrunk since its peak, and counters lag by some pages.
    assert worker.peak_rss() > 0.95 * psutil.Process().memory_info().rss
    assert worker.peak_rss() < 64 * 2**30


WITHOUT_GUARD = """
import sys
from pathlib import Path
from pipeline.benchmark.task import Job
from pipeline.benchmark.worker import WorkerProcess
print("the script runs", flush=True)
with WorkerProcess(Job("flights", "logistic", "cpu", Path(sys.argv[1]))) as worker:
    print(worker.run().rows_train > 0, __name__)
"""


@pytest.mark.slow
def test_a_script_without_a_main_guard_runs_once(small_flights: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(WITHOUT_GUARD)
    done = subprocess.run(
        [sys.executable, script, small_flights],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("the script runs\nTrue __main__\n", "")


def slowly(job: Job, request: tuple[object, ...]) -> object:
    """Take a minute for a request of another seed."""
    time.sleep(60 if request[0] else 0)
    return [request]


@pytest.mark.slow
def test_a_run_that_takes_longer_than_it_is_given_is_stopped(job: Job) -> None:
    with WorkerProcess(job, slowly, limit=1.0) as running:
        assert running.run() == [(None, None, False)], "the start of the process is not counted"
        child = only_child()
        with pytest.raises(worker.WorkerStopped, match=r"longer than 1 s \(--limit\)") as caught:
            running.run(seed=1)
    assert caught.value.after == 1.0
    assert gone(child.pid)
