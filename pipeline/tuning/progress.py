"""What a search says while it runs: a line for each trial that has ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pipeline.system.progress import Say, in_units, progress
from pipeline.tuning.results import COMPLETE, FAILED, RUNNING, Outcome


class Lines:
    """A line for each trial that has ended: what came of it, the best one, and the time.

    Parameters
    ----------
    say : callable
        Takes a line.
    trials : int
        How many there are in the end.
    timeout : float, optional
        Seconds after which no more is begun.
    before : sequence of Outcome
        Trials of a study that is resumed.
    clock : callable, optional
        Returns seconds.
    """

    def __init__(
        self,
        say: Say,
        trials: int,
        timeout: float | None = None,
        before: Sequence[Outcome] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.say, self.trials, self.timeout, self.clock = say, trials, timeout, clock
        self.began, self.here, self.before = clock(), 0, len(before)
        self.best: Outcome | None = None
        for outcome in before:
            self._compare(outcome)

    def tell(self, outcome: Outcome) -> None:
        """Say what came of a trial."""
        self.here += 1
        self._compare(outcome)
        number = f"{self.before + self.here} of {self.trials}, trial {outcome.number}"
        best = f"; best {self.best.score:.5g} (trial {self.best.number})" if self.best else ""
        self.say(f"{number}: {_came_of(outcome)}{best}; {self._time()}")

    def _compare(self, outcome: Outcome) -> None:
        if outcome.state == COMPLETE and (not self.best or outcome.score > self.best.score):
            self.best = outcome

    def _time(self) -> str:
        taken = self.clock() - self.began
        left = taken / self.here * max(self.trials - self.before - self.here, 0)
        if self.timeout is not None:
            left = min(left, max(self.timeout - taken, 0))
        return f"{in_units(taken)}, {in_units(left)} left"


def _came_of(outcome: Outcome) -> str:
    if outcome.state == COMPLETE:
        return f"{outcome.score:.5g}"
    return f"{'failed,' if outcome.state == FAILED else 'stopped'} {outcome.why}"


@contextmanager
def telling(
    verbose: int, trials: int, timeout: float | None, known: Sequence[Outcome] = ()
) -> Iterator[Callable[[Outcome], None]]:
    """Yield what says a line for each trial that has ended, if `verbose` asks for it."""
    before = [each for each in known if each.state != RUNNING]
    if not verbose:
        yield lambda outcome: None
        return
    with progress("search", trials - len(before)) as say:
        yield Lines(say, trials, timeout, before).tell
