"""Where the tasks of a search run: in this process, or on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from pipeline.tuning.evaluate import Evaluation, Judged, Task


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

    def wait(self, seconds: float | None) -> list[tuple[Task, Judged]]:
        """Run what was submitted."""
        tasks, self._tasks = self._tasks, []
        return [(task, self.evaluation.run(task)) for task in tasks]


@contextmanager
def open_slots(evaluation: Evaluation, trials_per_worker: int = 1) -> Iterator[Slots]:
    """Yield where the tasks run: on the workers of the active cluster, or in this process."""
    yield InProcess(evaluation)
