"""Where the tasks of a search run: in this process, or on the workers of a cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Protocol

from pipeline.distributed.cluster import active, on_a_worker
from pipeline.errors import ConfigError
from pipeline.tuning.evaluate import Evaluation, Judged, Task
from pipeline.tuning.workers import OnWorkers, too_long


class Slots(Protocol):
    """Where tasks run, each slot one at a time."""

    @property
    def free(self) -> int:
        """How many more tasks can be submitted now."""

    def submit(self, task: Task) -> None:
        """Begin a task; the next one of a trial goes where its last one ran."""

    def wait(self, seconds: float | None) -> list[tuple[Task, Judged]]:
        """Return what has ended, once something has, or so many seconds have passed."""


class InProcess:
    """One slot, in this process.

    Parameters
    ----------
    evaluation : Evaluation
    trial_timeout : float, optional
        Seconds from the first task of a trial on, looked at when a task has ended.
    """

    def __init__(self, evaluation: Evaluation, trial_timeout: float | None = None) -> None:
        self.evaluation, self.trial_timeout = evaluation, trial_timeout
        self._tasks: list[Task] = []
        self._began: dict[int, float] = {}

    @property
    def free(self) -> int:
        """1 where nothing is submitted."""
        return 1 - len(self._tasks)

    def submit(self, task: Task) -> None:
        """Run the task at the next `wait`."""
        self._tasks.append(task)

    def wait(self, seconds: float | None) -> list[tuple[Task, Judged]]:
        """Run what was submitted first; nothing is where the time was over before."""
        if not self._tasks:
            return []
        task = self._tasks.pop(0)
        return [(task, self._run(task))]

    def _run(self, task: Task) -> Judged:
        began = self._began.setdefault(task.trial, time.monotonic())
        judged = self.evaluation.run(task)
        limit = self.trial_timeout
        if judged.error or limit is None or time.monotonic() - began <= limit:
            return judged
        return too_long(limit)._replace(events=judged.events)


@contextmanager
def open_slots(
    evaluation: Evaluation, trials_per_worker: int = 1, trial_timeout: float | None = None
) -> Iterator[Slots]:
    """Yield where the tasks run: on the workers of the active cluster, or in this process.

    Parameters
    ----------
    evaluation : Evaluation
    trials_per_worker : int
        How many trials run on each worker at a time.
    trial_timeout : float, optional
        Seconds after which a trial has failed.

    Raises
    ------
    ConfigError
        A parameter is not above 0.
    """
    if not isinstance(trials_per_worker, int) or trials_per_worker < 1:
        raise ConfigError(f"trials_per_worker={trials_per_worker!r} is not a whole number above 0")
    if trial_timeout is not None and not trial_timeout > 0:
        raise ConfigError(f"trial_timeout={trial_timeout!r} is not a number of seconds above 0")
    cluster = None if on_a_worker() else active()
    if cluster is None:
        yield InProcess(evaluation, trial_timeout)
        return
    with closing(OnWorkers(cluster, evaluation, trials_per_worker, trial_timeout)) as slots:
        yield slots
