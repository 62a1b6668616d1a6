"""What a comparison says while it runs: a line for each run; on a terminal, what runs now."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress

from pipeline.errors import clean
from pipeline.system.progress import Say, can_draw, drawing, in_units, printing, saying


class Watch:
    """Counts the runs, and says a line for each one that has ended.

    Parameters
    ----------
    say : callable
        Takes a line.
    clock : callable, optional
        Returns seconds.

    Attributes
    ----------
    total, done : int
        Runs that are expected, and those that have ended.

    Examples
    --------
    >>> watch = Watch(print)
    >>> watch.expect(2)
    >>> watch.begin("forest  cpu  1/2")
    >>> watch.end("forest  cpu  1/2  2.00 s")
    forest  cpu  1/2  2.00 s
    """

    def __init__(self, say: Say, clock: Callable[[], float] = time.perf_counter) -> None:
        self.say, self.clock, self.start = say, clock, clock()
        self.total = self.done = 0

    def expect(self, runs: int) -> None:
        """Add runs to those that are expected; a number below 0 takes some away."""
        self.total += runs

    def begin(self, said: str) -> None:
        """Say what runs now."""

    def end(self, line: str, *, failed: bool = False) -> None:
        """Say that a run is over."""
        self.done += 1
        self.say(line)

    @property
    def times(self) -> str:
        """Return how long it has run, and how long it will run on at this rate.

        >>> watch = Watch(print, clock=iter([0.0, 30.0, 60.0]).__next__)
        >>> watch.times
        '30 s'
        >>> watch.expect(4)
        >>> watch.end("forest  cpu  1/4")
        forest  cpu  1/4
        >>> watch.times
        '1 min 0 s, about 3 min 0 s left'
        """
        elapsed, left = self.clock() - self.start, self.total - self.done
        said = in_units(elapsed)
        if not self.done or left <= 0:
            return said
        return f"{said}, about {in_units(elapsed / self.done * left)} left"


class Bar(Watch):
    """A line of a terminal that says what runs now; of those that ended, only failures are kept.

    Parameters
    ----------
    progress : rich.progress.Progress
    title : str
        Stands there until something runs.
    """

    def __init__(self, progress: Progress, title: str) -> None:
        super().__init__(self._print)
        self.progress, self.row = progress, progress.add_task(clean(title), total=None)

    def _print(self, line: str) -> None:
        with saying():
            self.progress.console.print(clean(line), markup=False, highlight=False, soft_wrap=True)

    def expect(self, runs: int) -> None:
        """Change the number of runs that are expected."""
        super().expect(runs)
        self.progress.update(self.row, total=self.total)

    def begin(self, said: str) -> None:
        """Show what runs."""
        self.progress.update(self.row, description=clean(said).replace("\n", " "))

    def end(self, line: str, *, failed: bool = False) -> None:
        """Count a run; say what failed."""
        self.done += 1
        self.progress.advance(self.row)
        if failed:
            self.say(line)


@contextmanager
def watching(title: str, *, stderr: bool = False) -> Iterator[Watch]:
    """Yield what is told of the runs: it draws on a terminal, and says plain lines elsewhere.

    Parameters
    ----------
    title : str
        Of what runs.
    stderr : bool, default=False
        Write to the standard error.
    """
    console = Console(stderr=stderr)
    if can_draw(console):
        with drawing(console) as progress:
            yield Bar(progress, title)
        return
    say = printing(console)
    watch = Watch(lambda text: say(f"{text}  ({watch.times})"))
    yield watch
