"""Where the folds of a search are scored: in this process, or on the workers of a cluster."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from pipeline.distributed.cluster import Cluster, active, on_a_worker
from pipeline.distributed.ordered_map import hold_on_workers, submit_task
from pipeline.distributed.retry import POLL, await_workers
from pipeline.optional import load
from pipeline.system.threads import limit_threads
from pipeline.table.shared import SharedRows
from pipeline.tuning.evaluate import Evaluation, Judged, Task
from pipeline.typing import Estimator

if TYPE_CHECKING:
    from distributed import Future

GRACE = 2.0
"""Seconds for fits that are under way when a search ends."""


class InProcess:
    """One slot, in this process."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self._tasks: list[Task] = []

    @property
    def free(self) -> int:
        """1 where nothing is submitted."""
        return 1 - len(self._tasks)

    def submit(self, task: Task) -> None:
        """Run the task at the next `wait`."""
        self._tasks.append(task)

    def wait(self, seconds: float) -> list[tuple[Task, Judged]]:
        """Run what was submitted."""
        task = self._tasks.pop()
        return [(task, self.evaluation.run(task))]

    def close(self) -> None:
        """Nothing is under way."""


def _with_threads(estimator: Estimator, threads: int) -> Estimator:
    """Return an estimator that asks for a worker's cores where it asked for all."""
    every = {
        name: threads
        for name, value in estimator.get_params().items()
        if name.rpartition("__")[2] == "n_jobs" and isinstance(value, int) and value < 0
    }
    return clone(estimator).set_params(**every) if every else estimator


def run_task(evaluation: Evaluation, task: Task) -> Judged:
    """Run a task on this worker."""
    worker = load("distributed.get_worker")()
    threads, name, memory = (
        worker.state.nthreads, str(worker.name), worker.memory_manager.memory_limit
    )  # fmt: skip
    if isinstance(evaluation.X, SharedRows):
        evaluation.X.table.limit_bytes = memory or evaluation.X.table.limit_bytes
    evaluation = replace(evaluation, estimator=_with_threads(evaluation.estimator, threads))
    with threadpool_limits(threads), limit_threads(threads):
        judged = evaluation.run(task)
    events = [replace(event, worker=name) for event in judged.events]
    return judged._replace(worker=name, events=events)


class OnWorkers:
    """A slot on each worker of a cluster; Dask does again what a lost worker had."""

    def __init__(self, cluster: Cluster, evaluation: Evaluation) -> None:
        self.cluster = cluster
        self.workers = await_workers(cluster, 1)
        X = evaluation.X
        if isinstance(X, SharedRows):  # A worker that is being replaced gives no answer.
            seen = cluster.client.run(Path(X.table.file).exists, on_error="ignore")
            evaluation = replace(evaluation, X=X if all(seen.values()) else X.rows())
        self._sent = hold_on_workers(cluster.client, evaluation)
        self._running: dict[Future, tuple[Task, str]] = {}

    @property
    def free(self) -> int:
        """How many more workers can begin a task now."""
        return len(self.workers) - len(self._running)

    def submit(self, task: Task) -> None:
        """Begin a task on a worker that has none, or on another one if that is lost."""
        busy = Counter(worker for _, worker in self._running.values())
        worker = min(self.workers, key=lambda each: busy[each])
        client, there = self.cluster.client, {"workers": [worker], "allow_other_workers": True}
        future = submit_task(client, run_task, self._sent, task, **there)
        self._running[future] = task, worker

    def wait(self, seconds: float) -> list[tuple[Task, Judged]]:
        """Return the tasks that have ended, once one has, or after this number of seconds."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            with suppress(TimeoutError, CancelledError):
                load("distributed.wait")(
                    [*self._running], timeout=min(POLL, left), return_when="FIRST_COMPLETED"
                )
            self.workers = await_workers(self.cluster, 1)
            if done := [future for future in self._running if future.done()]:
                return [(self._running.pop(future)[0], _result(future)) for future in done]
        return []

    def close(self) -> None:
        """Cancel what is under way; a fit that has begun continues, and occupies its worker."""
        left = [future for future in self._running if not future.done()]
        if left:
            with suppress(TimeoutError, CancelledError):
                load("distributed.wait")(left, timeout=GRACE)
        busy = sorted(self._running[each][1] for each in left if not each.done())
        with suppress(OSError, RuntimeError, AttributeError, ValueError):  # The client was closed.
            self.cluster.client.cancel([*self._running, self._sent])
        if busy:
            warnings.warn(
                f"the search has ended, but {len(busy)} workers are still busy with its fits; to "
                f"free them at once, call restart_workers({busy}) on the Dask client",
                UserWarning,
                stacklevel=5,
            )


def _result(future: Future) -> Judged:
    try:
        judged: Judged = future.result()
    except (CancelledError, load("distributed.KilledWorker")) as error:
        said = " ".join(str(error).split())
        return Judged(np.nan, error=f"WorkerLost: {said}")
    return judged


def open_slots(evaluation: Evaluation) -> InProcess | OnWorkers:
    """Return where the tasks run: on the workers of the active cluster, or in this process."""
    cluster = None if on_a_worker() else active()
    return InProcess(evaluation) if cluster is None else OnWorkers(cluster, evaluation)
