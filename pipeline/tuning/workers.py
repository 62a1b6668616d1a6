"""Tasks of a search on the workers of a cluster, done again where a worker is lost."""

from __future__ import annotations

import logging
import pickle
import time
from collections import Counter, deque
from collections.abc import Collection, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from pipeline.data.shared import SharedRows, SharedTable, shared
from pipeline.distributed.cluster import Cluster
from pipeline.distributed.ordered_map import hold_on_workers, submit_task
from pipeline.distributed.restarts import begin_restart, restarting
from pipeline.distributed.retry import POLL, SETTLE, await_workers, explain_loss
from pipeline.errors import ClusterUnavailable
from pipeline.optional import load
from pipeline.system.threads import limit_threads
from pipeline.tuning.evaluate import Evaluation, Judged, Task
from pipeline.typing import Estimator

if TYPE_CHECKING:
    from distributed import Future


_NOISY = "distributed.worker.state_machine"


def _is_news(said: logging.LogRecord) -> bool:
    """Return whether a worker says something else than that it ends, and a task with it."""
    return not said.getMessage().endswith("ended with CancelledError")


class Sent:
    """An evaluation on its way to the workers; each opens it once, and reads the table from a file.

    Parameters
    ----------
    pickled : bytes
        The evaluation, with `SharedRows` for X.
    token, file : str
        Of the table; empty for rows that are no table, which are among what is pickled.
    plain : bool
        Whether the estimator takes the rows themselves.
    """

    def __init__(self, pickled: bytes, token: str, file: str, plain: bool) -> None:
        self.pickled, self.token, self.file, self.plain = pickled, token, file, plain
        self._lock = Lock()
        self._opened: Evaluation | None = None

    @classmethod
    def of(cls, evaluation: Evaluation) -> Sent:
        """Return an evaluation as it is sent."""
        dump, X = load("cloudpickle.dumps"), evaluation.X
        if not hasattr(X, "shape"):
            return cls(dump(evaluation), "", "", plain=False)
        rows = shared(X)
        table = rows.table
        return cls(dump(replace(evaluation, X=rows)), table.token, table.file, rows is not X)

    def __reduce__(self) -> Any:
        """Leave what was opened behind."""
        return Sent, (self.pickled, self.token, self.file, self.plain)

    def open(self, threads: int, table: Any = None) -> Evaluation | None:
        """Return the evaluation; None where the table is on another machine.

        Parameters
        ----------
        threads : int
            How many a fit may have, where it asks for those of all cores.
        table : table, optional
            The whole table, for a machine that cannot see its file.
        """
        with self._lock:
            if self._opened is None:
                logging.getLogger(_NOISY).addFilter(_is_news)
                if table is not None:
                    table = SharedTable(table, None, self.token)
                elif self.file and not Path(self.file).exists():
                    return None
                opened: Evaluation = pickle.loads(self.pickled)
                if isinstance(opened.X, SharedRows):
                    _share_memory(opened.X.table)
                self._opened = replace(
                    opened,
                    X=opened.X.rows() if self.plain else opened.X,
                    estimator=_with_threads(opened.estimator, threads),
                )
            return self._opened


def _share_memory(table: SharedTable) -> None:
    """Let what is made of a table fill a part of what this worker may take, not of the machine."""
    limit: int | None = load("distributed.get_worker")().memory_manager.memory_limit
    table.limit_bytes = limit or table.limit_bytes


def _with_threads(estimator: Estimator, threads: int) -> Estimator:
    """Return an estimator that asks for a worker's cores where it asked for all."""
    every = {
        name: threads
        for name, value in estimator.get_params().items()
        if name.rpartition("__")[2] == "n_jobs" and isinstance(value, int) and value < 0
    }
    return clone(estimator).set_params(**every) if every else estimator


def run_task(
    sent: Sent, task: Task, threads: int, secedes: bool, table: Any = None
) -> Judged | None:
    """Run a task on this worker; None where its table is on another machine."""
    if secedes:  # The worker is to begin others beside it.
        load("distributed.secede")()
    evaluation = sent.open(threads, table)
    if evaluation is None:
        return None
    with threadpool_limits(threads), limit_threads(threads):
        return evaluation.run(task)


@dataclass(eq=False)
class _Sending:
    """A task that is under way."""

    task: Task
    worker: str
    future: Future
    wanted: bool = True
    """Whether something waits for it; a worker without a nanny goes on with what nobody wants."""


class OnWorkers:
    """Slots on the workers of a cluster.

    Parameters
    ----------
    cluster : Cluster
    evaluation : Evaluation
    trials_per_worker : int
    trial_timeout : float, optional
        Seconds from the first task of a trial on; a worker that is not done by then is restarted.
    """

    def __init__(
        self,
        cluster: Cluster,
        evaluation: Evaluation,
        trials_per_worker: int,
        trial_timeout: float | None = None,
    ) -> None:
        self.cluster, self.trials_per_worker = cluster, trials_per_worker
        self.trial_timeout, self._rows = trial_timeout, evaluation.X
        self._pending: deque[Task] = deque()
        self._under_way: dict[str, _Sending] = {}
        self._ended: SimpleQueue[Future] = SimpleQueue()
        self._judged: list[tuple[Task, Judged]] = []
        self._home: dict[int, str] = {}
        self._began: dict[int, float] = {}
        self._losses: Counter[int] = Counter()
        self._remote: set[str] = set()
        self._full: dict[str, float] = {}
        self._held: dict[tuple[str, str], Future] = {}
        self._looked = 0.0
        # So no time of this search passes while those that another one has left are restarted.
        self.workers: Mapping[str, Any] = self._usable(await_workers(cluster, 1))
        self._sent = Sent.of(evaluation)

    @property
    def free(self) -> int:
        """How many more tasks the workers can begin now; one waits for a worker that comes back."""
        if not self.workers:
            return int(not self._pending)
        return max(0, sum(map(self._room, self.workers)) - len(self._pending))

    def _room(self, worker: str) -> int:
        busy = sum(sending.worker == worker for sending in self._under_way.values())
        return max(0, self.trials_per_worker - busy)

    def submit(self, task: Task) -> None:
        """Begin a task as soon as a worker is free; the next one of a trial goes where it was."""
        self._pending.append(task)
        self._send()

    def _send(self) -> None:
        while self._pending and (worker := self._choose(self._pending[0].trial)):
            task = self._pending.popleft()
            self._home[task.trial] = worker
            self._began.setdefault(task.trial, time.monotonic())
            threads = max(1, self.workers[worker]["nthreads"] // self.trials_per_worker)
            secedes = self.trials_per_worker > self.workers[worker]["nthreads"]
            sent = self._hold("search", self._sent, worker)
            remote = worker in self._remote
            table = self._hold("table", self._whole_table, worker) if remote else None
            future = submit_task(
                self.cluster.client, run_task, sent, task, threads, secedes, table,
                workers=[worker], allow_other_workers=False,
            )  # fmt: skip
            self._under_way[future.key] = _Sending(task, worker, future)
            future.add_done_callback(self._ended.put)

    def _choose(self, trial: int) -> str | None:
        """Return the worker that is to have a task; None where all have enough to do."""
        home = self._home.get(trial, "")
        free = [(worker == home, self._room(worker), worker) for worker in self.workers]
        return max((each for each in free if each[1]), default=(False, 0, None))[2]

    def _hold(self, what: str, value: Any, worker: str) -> Future:
        """Send something to a worker once; a copy from another one might be let go of by Dask."""
        if (what, worker) not in self._held:
            only = {"workers": [worker], "allow_other_workers": False}
            self._held[what, worker] = hold_on_workers(self.cluster.client, value, **only)
        return self._held[what, worker]

    @property
    def _whole_table(self) -> Any:
        return self._rows.table.X if isinstance(self._rows, SharedRows) else self._rows

    def wait(self, seconds: float | None) -> list[tuple[Task, Judged]]:
        """Return what has ended, once something has, or so many seconds have passed.

        Raises
        ------
        ClusterUnavailable
            The scheduler does not answer.
        WorkerLost
            All workers were lost, and none came back.
        """
        end = time.monotonic() + (float("inf") if seconds is None else seconds)
        while True:
            left = end - time.monotonic()
            self._collect(min(POLL, max(0.0, left)))
            if time.monotonic() - self._looked > POLL:
                self._look()
            self._send()
            if self._judged or left <= 0:
                judged, self._judged = self._judged, []
                return judged

    def _collect(self, seconds: float) -> None:
        """Take what has ended, after so many seconds if nothing has."""
        with suppress(Empty):
            self._take(self._ended.get(timeout=seconds))
            while True:
                self._take(self._ended.get_nowait())

    def _take(self, future: Future) -> None:
        sending = self._under_way.pop(future.key, None)
        if sending is None or not sending.wanted:
            return
        if future.status == "error" and type(future.exception()).__name__ != "KilledWorker":
            future.result()
        try:
            judged = future.result(timeout=SETTLE)
        except (CancelledError, TimeoutError, load("distributed.KilledWorker")):
            self._lose(sending)
            return
        if judged is None:
            self._remote.add(sending.worker)
            self._pending.appendleft(sending.task)
        else:
            name = str(self.workers.get(sending.worker, {}).get("name", sending.worker))
            events = [replace(event, worker=name) for event in judged.events]
            self._tell(sending.task, judged._replace(worker=name, events=events))

    def _tell(self, task: Task, judged: Judged) -> None:
        self._judged.append((task, judged))

    def _look(self) -> None:
        """See which workers are there, and which trials take too long."""
        before = self.workers
        try:
            self.workers = self._find_workers()
        except ClusterUnavailable:
            self._under_way.clear()
            raise
        for key, sending in list(self._under_way.items()):
            if sending.worker not in self.workers:
                del self._under_way[key]
                if sending.wanted:
                    self._lose(sending, before)
        self._leave_full()
        for sending in list(self._under_way.values()):
            if sending.wanted and self._takes_too_long(sending.task):
                self._give_up(sending)
        self._looked = time.monotonic()

    def _leave_full(self) -> None:
        """Restart workers that begin no task, since their memory is full of what they keep."""
        now, wanted = time.monotonic(), {each.worker for each in self._under_way.values()}
        full = {name for name in wanted if self._has_nanny(name) and _is_full(self.workers[name])}
        self._full = {name: self._full.get(name, now) for name in full}
        for name in (name for name, since in self._full.items() if now - since > SETTLE):
            for key, sending in list(self._under_way.items()):
                if sending.worker == name:
                    del self._under_way[key]
                    self._lose(sending)
            self._restart([name])

    def _find_workers(self) -> Mapping[str, Any]:
        """Return the workers that take tasks; none while all are being restarted."""
        usable = self._usable(self.cluster.workers())
        if usable or restarting(self.cluster):
            return usable
        return await_workers(self.cluster, 1)

    def _usable(self, workers: Mapping[str, Any]) -> dict[str, Any]:
        unusable = restarting(self.cluster)
        return {name: each for name, each in workers.items() if name not in unusable}

    def _lose(self, sending: _Sending, before: Mapping[str, Any] | None = None) -> None:
        """Do a task again whose worker was lost, if it was not lost too often."""
        trial = sending.task.trial
        self._cancel(sending.future)
        self._losses[trial] += 1
        if self._losses[trial] <= self.cluster.options.retries:
            self._pending.appendleft(sending.task)
            return
        known = self.workers if before is None else before
        lost = {sending.worker} & set(known)
        why = explain_loss(lost, known, self._losses[trial])
        self._tell(sending.task, Judged(np.nan, error=f"WorkerLost: {why}"))

    def _takes_too_long(self, task: Task) -> bool:
        if self.trial_timeout is None:
            return False
        return time.monotonic() - self._began[task.trial] > self.trial_timeout

    def _give_up(self, sending: _Sending) -> None:
        """End a trial that takes too long, with its worker where that can be restarted."""
        assert self.trial_timeout is not None
        self._tell(sending.task, too_long(self.trial_timeout))
        if not self._has_nanny(sending.worker):
            sending.wanted = False
            return
        del self._under_way[sending.future.key]
        self._cancel(sending.future)
        for key, other in list(self._under_way.items()):
            if other.worker == sending.worker:
                del self._under_way[key]
                self._cancel(other.future)
                self._pending.appendleft(other.task)
        self._restart([sending.worker])

    def _restart(self, workers: Collection[str]) -> None:
        """Restart workers, while this thread goes on."""
        begin_restart(self.cluster, workers)
        self.workers = self._usable(self.workers)

    def _cancel(self, *futures: Future) -> None:
        # Where the scheduler is gone, so are they.
        with suppress(OSError, RuntimeError, AttributeError):
            self.cluster.client.cancel(list(futures))

    def close(self) -> None:
        """Wait a little for what is under way; workers that go on with it begin to be restarted."""
        self._pending.clear()
        self._await_the_end()
        busy = list(self._under_way.values())
        self._under_way.clear()
        self._cancel(*(sending.future for sending in busy), *self._held.values())
        there = {each.worker for each in busy if self._has_nanny(each.worker)}
        if there:
            self._restart(there)

    def _await_the_end(self) -> None:
        end = time.monotonic() + POLL
        while self._under_way and (left := end - time.monotonic()) > 0:
            with suppress(Empty):
                self._under_way.pop(self._ended.get(timeout=left).key, None)

    def _has_nanny(self, worker: str) -> bool:
        return self.workers.get(worker, {}).get("nanny") is not None


def _is_full(worker: Mapping[str, Any]) -> bool:
    """Return whether a worker is paused, and none of its tasks is running that may free memory."""
    return worker["status"] == "paused" and not worker["metrics"].get("executing")


def too_long(trial_timeout: float) -> Judged:
    """Return what came of a task whose trial took too long."""
    return Judged(np.nan, error=f"TimeoutError: took longer than trial_timeout={trial_timeout:g} s")
