"""A process of its own for one variant, which runs whenever it is told to."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from pipeline.backends.base import Placement
from pipeline.benchmark.record.results import Importance
from pipeline.records import Trace
from pipeline.system.threads import keep_freed_memory
from pipeline.task.faults import describe_fault
from pipeline.task.task import ON_GPU, Job, Task
from pipeline.trace import Event

START = 60.0
"""Seconds that a process may take to start and to import."""
EXPLAINING = 120.0
"""Seconds that the importance of columns may take, once the clock of a run has stopped."""


class WorkerFailed(Exception):
    """A run raised an error, or the process is gone; the message says which."""


class WorkerGone(WorkerFailed):
    """The process is gone; the message says how it ended."""


class WorkerStopped(WorkerFailed):
    """A run took longer than it was given, and its process was ended.

    Parameters
    ----------
    after : float
        Seconds.
    """

    def __init__(self, after: float) -> None:
        super().__init__(f"stopped: a run took longer than {after:g} s (--limit)")
        self.after = after


@dataclass(frozen=True)
class RunReport:
    """What a worker sends back after a run: plain data and host arrays."""

    total: float
    stages: dict[str, float]
    metrics: dict[str, float]
    rows_train: int
    y_true: Any
    predicted: Any
    placements: list[Placement]
    execution_log: list[Event]
    peak_rss_bytes: int
    threads: dict[str, str]
    cpu_seconds: float
    """Of all threads of the process."""
    trace: Trace
    work: dict[str, str]
    """See `pipeline.benchmark.judge.integrity`."""
    classes: Any = None
    """For whose places truth and prediction stand."""
    importance: Importance | None = None
    """Of the columns, where it was asked for."""


Answer = Callable[[Any, Any], object]
"""Gets a job and a request, and returns what the worker sends back."""


class WorkerProcess:
    """A process that works on one job again and again.

    It is a new Python, not a fork, and imports nothing of the script that starts it. It has a
    session of its own, so that Ctrl-C does not reach it: the parent ends its workers itself.

    Parameters
    ----------
    job : Job
        Of any kind that has a ``variant``.
    answer : callable, optional
        ``answer(job, request)`` returns what is sent back; by default a `RunReport` of a run.
    limit : float, optional
        Seconds that an answer may take; the start of the process has `START` more.

    Examples
    --------
    ``with WorkerProcess(job) as worker: worker.run()`` returns a `RunReport` a call.
    """

    def __init__(self, job: Any, answer: Answer | None = None, limit: float | None = None) -> None:
        self._limit, self._rest = limit, START
        self._channel, other = multiprocessing.Pipe()
        begin = job.variant, other.fileno(), os.getpid()
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; "
            f"from pipeline.benchmark.run.entry import enter; enter{begin!r}"
        )
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
                start_new_session=True,
            )
        with suppress(OSError):  # It is gone; the first request tells so.
            self._channel.send_bytes(pickle.dumps((serve, (answer or report_run, job))))

    def __enter__(self) -> WorkerProcess:
        """Return the worker."""
        return self

    def __exit__(self, kind: object, *exc: object) -> None:
        """End the process and its own; at once if there was an error or an interrupt."""
        self._channel.close()
        self._end(patience=5 if kind is None else 0)

    def run(self, seed: int | None = None, *, explain: bool = False) -> Any:
        """Run the job once, with another seed if one is given, and return its report.

        Parameters
        ----------
        seed : int, optional
        explain : bool, default=False
            Ask the model for the importance of its columns, once the clock has stopped.

        Raises
        ------
        WorkerFailed
            The run failed; the message is the error's.
        """
        self._rest = max(self._rest, EXPLAINING if explain else 0.0)
        return self.ask((seed, explain))

    def ask(self, request: object) -> Any:
        """Return the answer to a request.

        Raises
        ------
        WorkerFailed
            It failed; the message is the error's.
        WorkerStopped
            It took longer than the limit.
        """
        try:
            self._channel.send(request)
            if self._limit is not None and not self._channel.poll(self._limit + self._rest):
                self._end(patience=0)
                raise WorkerStopped(self._limit)
            self._rest = 0.0
            answer = self._channel.recv()
        except (EOFError, OSError):
            raise WorkerGone(_cause(self._end(patience=5))) from None
        if isinstance(answer, str):
            raise WorkerFailed(answer)
        return answer

    def _end(self, patience: float) -> int:
        """Wait for its end, then end what is left of its session; return the exit code."""
        if self._process.returncode is None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=patience)
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        return self._process.wait()


def _cause(exit_code: int) -> str:
    if exit_code == -signal.SIGKILL:
        return "the process was killed (SIGKILL), most likely for lack of memory"
    if exit_code < 0:
        return f"the process was ended by {signal.Signals(-exit_code).name}"
    return f"the process ended with exit code {exit_code}"


def serve(channel: Connection, task: tuple[Answer, Any]) -> None:
    """Answer each request on the channel, or send an error in words."""
    answer, job = task
    keep_freed_memory()
    warnings.simplefilter("ignore")
    while True:
        try:
            channel.send(_try(answer, job, channel.recv()))
        except (EOFError, OSError):
            return
        gc.collect()


def _try(answer: Answer, job: Any, request: object) -> object:
    try:
        return answer(job, request)
    except Exception as error:
        return describe_fault(error)


def report_run(job: Job, request: tuple[int | None, bool]) -> RunReport:
    """Run a job once, with another seed or explained as the request says."""
    seed, explain = request
    return once(job if seed is None else replace(job, seed=seed), explain=explain)


def once(job: Job, *, explain: bool = False) -> RunReport:
    """Run a job in this process and return plain data."""
    from pipeline.benchmark.judge.column_importance import column_importance
    from pipeline.task import task

    what = task.load(job.task)
    outcome, report = measured(what, job)
    # No rows are left that the model of all folds has not learnt from.
    if explain and not what.split(job.split)[1].folds:
        report = replace(report, importance=column_importance(what, outcome, job))
    return report


def measured(what: Task, job: Job) -> tuple[Any, RunReport]:
    """Run a job of a task in this process; return the `Outcome` and its report."""
    from pipeline.benchmark.judge import integrity
    from pipeline.benchmark.run import measure
    from pipeline.system import environment
    from pipeline.system.monitor import watching

    start = time.process_time()
    with watching(gpu=job.variant in ON_GPU) as seen:
        outcome = measure.measure_once(
            what, what.pipeline(job.pipeline, job.seed, job.changes), job
        )
    cpu_seconds, peak = time.process_time() - start, peak_rss()
    return outcome, RunReport(
        total=outcome.total,
        stages=outcome.stages,
        metrics=measure.judge_outcome(what, outcome),
        rows_train=outcome.rows_train,
        y_true=outcome.y_true,
        predicted=outcome.predicted,
        placements=outcome.placements,
        execution_log=outcome.execution_log,
        peak_rss_bytes=peak,
        threads=environment.threads(),
        cpu_seconds=cpu_seconds,
        trace=seen[0],
        work=integrity.work(outcome.model),
        classes=outcome.classes,
    )


def peak_rss() -> int:
    """Return the peak resident memory of this process in bytes; 0 where the system won't tell.

    Not `ru_maxrss`, which a child inherits from the process that started it.
    """
    return status_bytes("VmHWM")


def status_bytes(name: str) -> int:
    """Return a count of this process in bytes, as ``"VmData"``; 0 where there is none."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), 0)
