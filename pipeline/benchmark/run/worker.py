"""A separate process for one variant, which runs its job on request."""

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
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

import psutil

from pipeline.benchmark.judge import integrity
from pipeline.benchmark.run import measure
from pipeline.benchmark.run.measure import Outcome
from pipeline.records import Usage
from pipeline.system import environment
from pipeline.system.monitor import watching
from pipeline.system.threads import keep_freed_memory
from pipeline.task import task
from pipeline.task.faults import describe_fault
from pipeline.task.task import ON_GPU, Job, Task
from pipeline.typing import Params


class WorkerFailed(Exception):
    """A run raised an error, or its process is gone; the message says which."""


@dataclass(kw_only=True)
class RunReport(Outcome):
    """What a worker sends back after a run: plain data and host arrays, no model."""

    metrics: dict[str, float]
    peak_rss_bytes: int
    threads: dict[str, str]
    cpu_seconds: float
    """Of all threads of the process."""
    other_cpu_seconds: float
    """See `others_seconds`."""
    usage: Usage
    work: dict[str, str]
    """See `pipeline.benchmark.judge.integrity`."""


class WorkerProcess:
    """A process that runs one job again and again: `run` returns a report a call.

    It is a new Python, not a fork, and imports nothing of the script that starts it. It has a
    session of its own (on Windows, a process group), so that Ctrl-C does not reach it: the parent
    ends its workers itself. Only a session ends with what the worker started.
    """

    def __init__(self, job: Job) -> None:
        self._channel, other = multiprocessing.Pipe()
        begin = job.variant, other.fileno(), os.getpid()
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; "
            f"from pipeline.benchmark.run.entry import enter; enter{begin!r}"
        )
        with other:
            options: Params = {"pass_fds": [other.fileno()], "start_new_session": True}
            if sys.platform == "win32":
                os.set_handle_inheritable(other.fileno(), True)
                group = subprocess.CREATE_NEW_PROCESS_GROUP
                options = {"close_fds": False, "creationflags": group}
            self._process = subprocess.Popen(
                [sys.executable, "-c", code], stdin=subprocess.DEVNULL, **options
            )
        with suppress(OSError):  # The process has ended; the first run reports it.
            self._channel.send_bytes(pickle.dumps((serve, job)))

    def __enter__(self) -> WorkerProcess:
        """Return the worker."""
        return self

    def __exit__(self, kind: object, *exc: object) -> None:
        """End the process and its own; at once if there was an error or an interrupt."""
        self._channel.close()
        self._end(patience=5 if kind is None else 0)

    def run(self, seed: int | None = None) -> RunReport:
        """Run the job once, with another seed if one is given, and return its report.

        `WorkerFailed` says that the run failed, or that the process is gone.
        """
        try:
            self._channel.send(seed)
            answer = self._channel.recv()
        except (EOFError, OSError):
            raise WorkerFailed(_cause(self._end(patience=5))) from None
        if isinstance(answer, str):
            raise WorkerFailed(answer)
        return answer

    def _end(self, patience: float) -> int:
        """Wait for its end, then end what is left of its session; return the exit code."""
        if self._process.returncode is None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=patience)
            if sys.platform == "win32":
                self._process.kill()
            else:
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
        return self._process.wait()


def _cause(exit_code: int) -> str:
    name = signal.Signals(-exit_code).name if exit_code < 0 else ""
    if name == "SIGKILL":
        return "the process was killed (SIGKILL), most likely for lack of memory"
    if name:
        return f"the process was ended by {name}"
    return f"the process ended with exit code {exit_code}"


def serve(channel: Connection, job: Job) -> None:
    """Run a job for each request on the channel; send its report, or an error in words."""
    keep_freed_memory()
    warnings.simplefilter("ignore")
    with suppress(EOFError, OSError):  # The parent has closed the channel.
        while True:
            seed = channel.recv()
            try:
                again = job if seed is None else replace(job, seed=seed)
                answer: RunReport | str = measured(task.load(job.task), again)[1]
            except Exception as error:
                answer = describe_fault(error)
            channel.send(answer)
            del answer
            gc.collect()


def measured(what: Task, job: Job) -> tuple[Outcome, RunReport]:
    """Run a job of a task in this process; return the outcome and its report."""
    others, start = others_seconds(), time.process_time()
    with watching(gpu=job.variant in ON_GPU) as seen:
        pipeline = what.pipeline(job.pipeline, job.seed, job.changes)
        outcome = measure.measure_once(what, pipeline, job)
    cpu_seconds, peak = time.process_time() - start, peak_rss()
    return outcome, RunReport(
        **vars(outcome) | dict.fromkeys(("model", "reading", "weights")),
        metrics=measure.judge_outcome(what, outcome),
        peak_rss_bytes=peak,
        threads=environment.threads(),
        cpu_seconds=cpu_seconds,
        other_cpu_seconds=max(0.0, others_seconds() - others),
        usage=seen[0],
        work=integrity.work(outcome.model),
    )


def others_seconds() -> float:
    """Return the processor time that other processes have taken since the machine started.

    It is of the processors that this process may use; what a hypervisor gave to other machines
    counts too. Processes that this one started do not count.
    """
    own = psutil.Process()
    able = set(own.cpu_affinity()) if hasattr(own, "cpu_affinity") else None
    taken = 0.0
    for number, each in enumerate(psutil.cpu_times(percpu=True)):
        if able is None or number in able:  # a guest's time is in the user's, too
            rest = "idle", "iowait", "guest", "guest_nice"
            taken += sum(each) - sum(getattr(each, name, 0.0) for name in rest)
    for process in [own, *own.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            taken -= sum(process.cpu_times()[:4])
    return taken


def peak_rss() -> int:
    """Return the peak resident memory of this process in bytes; 0 outside Linux.

    Not `ru_maxrss`, which a child inherits from the process that started it.
    """
    try:
        lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)
