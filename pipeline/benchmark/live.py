"""What a comparison says while it runs: a line for each run, or on a terminal one that lives.

How long the rest takes is told from what each pipeline has taken by each variant.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from statistics import fmean, median
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.live import Live
from rich.text import Text

from pipeline.benchmark.report.format import times
from pipeline.benchmark.statistics import REFERENCE
from pipeline.errors import clean
from pipeline.system.progress import Say, can_draw, in_units, printing, saying

WARM_UP, RUN, EXPLAINED, SEED, PROFILE = "warm-up", "run", "explained", "seed", "profile"
"""Kinds of turns; an explained run is asked for the importance of its columns."""
TIMED = (RUN, EXPLAINED)
PATIENCE = 300.0
"""Seconds beyond which a user is told how to measure less."""
REDRAWN = 0.5
"""Seconds between two drawings, which must not take processor time from what is measured."""
SEPARATOR = "  "
Name = tuple[str, ...]
"""Pipeline and variant, and before them the size where it is not the whole table."""


class Turn(NamedTuple):
    """Something that runs once."""

    name: Name
    kind: str


class TimeLeft:
    """How long the turns that are left will take.

    A turn takes what the timed runs of its pipeline by its variant took in the median; before there
    is one, what the warm-up took on the clock; before that, what others took in the mean: the same
    pipeline and variant at another size, in proportion to the rows, the same variant, or any. To
    this comes what turns of its kind took beyond that in the median, such as the start of a
    process, the judging, the importance of the columns.

    Attributes
    ----------
    turns : Counter of Turn
        Those that are left.
    seconds : dict
        Name -> seconds on the clock of the timed runs.

    Examples
    --------
    >>> left, run = TimeLeft(), Turn(("forest", "cpu"), RUN)
    >>> left.expect([run] * 3)
    >>> print(left.remaining())
    None
    >>> left.end(run, seconds=2.0, wall=2.5)
    >>> left.remaining()
    5.0
    """

    def __init__(self) -> None:
        self.turns: Counter[Turn] = Counter()
        self.seconds: dict[Name, list[float]] = defaultdict(list)
        self._shares: dict[str, float] = {}
        self._first: dict[Name, float] = {}
        self._beyond: dict[tuple[str, str], list[float]] = defaultdict(list)

    def expect(self, turns: Iterable[Turn], shares: Mapping[str, float] | None = None) -> None:
        """Add turns, with the share of the whole table's rows that each size has."""
        self.turns.update(turns)
        self._shares.update(shares or {})

    def end(self, turn: Turn, seconds: float | None, wall: float | None) -> None:
        """Count a turn as done.

        Parameters
        ----------
        turn : Turn
        seconds : float or None
            On the clock of the run; None where it failed.
        wall : float or None
            Seconds until its report was there; None where it had run in an earlier command.
        """
        self.turns[turn] = max(0, self.turns[turn] - 1)
        if seconds is None:
            return
        if turn.kind in TIMED:
            self.seconds[turn.name].append(seconds)
        elif turn.kind == WARM_UP:
            self._first[turn.name] = seconds
        base = self._base(turn.name)
        if wall is not None and base is not None:
            self._beyond[turn.kind, turn.name[-1]].append(wall - base)

    def give_up(self, name: Name) -> None:
        """Expect no further turn of a pipeline by a variant; at another size, at none of these."""
        sized = len(name) > 2
        for turn in self.turns:
            if turn.name == name or (sized and turn.name[1:] == name[1:]):
                self.turns[turn] = 0

    def remaining(self, running: Turn | None = None, since: float = 0.0) -> float | None:
        """Return the seconds that are left; None before anything is known.

        Parameters
        ----------
        running : Turn, optional
            What runs now; it is among those that are left.
        since : float
            For so many seconds.
        """
        left = {turn: n for turn, n in self.turns.items() if n}
        expected = {turn: self._expected(turn) for turn in left}
        if None in expected.values():
            return None
        total = sum(n * (expected[turn] or 0.0) for turn, n in left.items())
        return total - min(since, expected.get(running, 0.0) or 0.0) if running else total

    @property
    def guesses(self) -> bool:
        """Whether something is left of which nothing has run."""
        known = self._known()
        return any(n and turn.name not in known for turn, n in self.turns.items())

    def _expected(self, turn: Turn) -> float | None:
        base = self._base(turn.name)
        if base is None:
            return None
        alike = {key: took for key, took in self._beyond.items() if key[0] == turn.kind}
        own = alike.get((turn.kind, turn.name[-1])) or [x for took in alike.values() for x in took]
        return max(0.0, base + (median(own) if own else 0.0))

    def _base(self, name: Name) -> float | None:
        known = self._known()
        if name in known:
            return known[name]
        for length in (2, 1, 0):
            found = [
                seconds / self._share(other)
                for other, seconds in known.items()
                if other[len(other) - length :] == name[len(name) - length :]
            ]
            if found:
                return fmean(found) * self._share(name)
        return None

    def _known(self) -> dict[Name, float]:
        return self._first | {name: median(took) for name, took in self.seconds.items() if took}

    def _share(self, name: Name) -> float:
        return self._shares.get(name[0], 1.0) if len(name) > 2 else 1.0


class Watch:
    """Is told what runs, and says a line for each run.

    Parameters
    ----------
    say : callable
        Takes a line.
    clock : callable, optional
        Returns seconds.

    Attributes
    ----------
    part : str
        Of what the time left is told, where it is not that of everything.

    Examples
    --------
    >>> watch, run = Watch(print), Turn(("forest", "cpu"), RUN)
    >>> watch.expect([run])
    >>> watch.begin(run, "1/1")
    >>> watch.end(run, "forest  cpu  1/1  2.00 s", seconds=2.0)
    forest  cpu  1/1  2.00 s
    """

    def __init__(self, say: Say, clock: Callable[[], float] = time.perf_counter) -> None:
        self.say, self.clock, self.time = say, clock, TimeLeft()
        self.start, self.shorter, self.part = clock(), "", ""
        self._running: tuple[Turn, str, float] | None = None

    def expect(
        self,
        turns: Iterable[Turn],
        shares: Mapping[str, float] | None = None,
        shorter: str = "",
    ) -> None:
        """Say what will run, and how less would."""
        self.time.expect(turns, shares)
        self.shorter = shorter

    def begin(self, turn: Turn, said: str) -> None:
        """Say that something runs now; `said` tells which run of how many it is."""
        if turn.kind in TIMED:
            self._warn()
        self._running = turn, said, self.clock()

    def end(self, turn: Turn, line: str, seconds: float | None = None) -> None:
        """Say that it is over: with its seconds, or None where it failed.

        It may have begun in an earlier command.
        """
        wall = self.clock() - self._running[2] if self._running else None
        self._running = None
        self.time.end(turn, seconds, wall)
        if seconds is None:
            self.say(line)
        else:
            self.tell(line)

    def give_up(self, turn: Turn, line: str) -> None:
        """Say that it failed, and that its variant runs this pipeline no more."""
        self.end(turn, line)
        self.time.give_up(turn.name)

    def tell(self, line: str) -> None:
        """Say a line about one run."""
        self.say(line)

    def keep(self, line: str) -> None:
        """Say a line about all runs of a pipeline, where none was said about each."""

    @property
    def elapsed(self) -> str:
        """Return how long it has run."""
        return in_units(self.clock() - self.start)

    @property
    def left(self) -> str:
        """Return how long it will run on, as far as that is known; nothing at the end."""
        if not self.time.turns.total():
            return ""
        running, since = (self._running[0], self._running[2]) if self._running else (None, 0.0)
        seconds = self.time.remaining(running, self.clock() - since)
        if seconds is None:
            return "time left unknown"
        return f"{'about ' if self.time.guesses else ''}{in_units(seconds)} left{self.part}"

    def _warn(self) -> None:
        """Say once, when one pipeline has warmed up, how long it will be if that is long."""
        seconds, self.shorter, shorter = self.time.remaining(), "", self.shorter
        if shorter and seconds is not None and seconds > PATIENCE:
            self.say(f"This will take about {in_units(seconds)}; shorter with {shorter}.")


class LiveLine(Watch):
    """One line of a terminal that says what runs now, and lines about what has ended.

    Parameters
    ----------
    console : rich.console.Console
    title : str
        Stands first where there is room.
    clock : callable, optional
        Returns seconds.
    """

    def __init__(
        self, console: Console, title: str, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        super().__init__(self._print, clock)
        self.console, self.title = console, title
        self._last: Name = ()

    def _print(self, line: str) -> None:
        with saying():
            self.console.print(clean(line), markup=False, highlight=False, soft_wrap=True)

    def begin(self, turn: Turn, said: str) -> None:
        """Show what runs."""
        super().begin(turn, said)
        self._last = turn.name

    def tell(self, line: str) -> None:
        """Say nothing: the line that lives tells of it."""

    def keep(self, line: str) -> None:
        """Say a line about a pipeline."""
        self.say(line)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Yield the line, as wide as there is room for."""
        # The last column stays free: some terminals begin a new line after it.
        yield Text(self.line(options.max_width - 1), no_wrap=True, overflow="ellipsis", end="")

    def line(self, width: int) -> str:
        """Return the line in a width; what matters least is left out first."""
        running = self._running
        over = self.time.turns and not self.time.turns.total()
        idle = "judging" if over else "preparing"
        now = [*running[0].name, running[1]] if running else [idle]
        return fit(
            [
                (4, [self.title]),
                (0, [SEPARATOR.join(now)]),
                (3, [f"{self.elapsed} elapsed", self.elapsed]),
                (1, [self.left]),
                (2, self._ratios()),
            ],
            width,
        )

    def _ratios(self) -> list[str]:
        """Return how the pipeline's variants compare so far, in full and in short."""
        *pipeline, _ = self._last or ("",)
        took = {n[-1]: median(s) for n, s in self.time.seconds.items() if [*n[:-1]] == pipeline}
        reference = took.pop(REFERENCE, 0.0)
        if not (took and reference):
            return []
        each = ", ".join(f"{name} {times(each / reference)}" for name, each in took.items())
        return [f"so far {each} {REFERENCE}", f"so far {each}"]


def fit(parts: list[tuple[int, list[str]]], width: int) -> str:
    """Join texts that fit into a width: of the highest rank first a shorter one, then none.

    Parameters
    ----------
    parts : list of tuple
        Rank, and the texts to choose from, the longest first. Those of rank 0 stay.
    width : int
        In cells of a terminal.

    Examples
    --------
    >>> parts = [(2, ["flights"]), (0, ["forest  cpu"]), (1, ["2 min 3 s left", "2 min"])]
    >>> for width in (40, 30, 20, 12):
    ...     fit(parts, width)
    'flights  forest  cpu  2 min 3 s left'
    'forest  cpu  2 min 3 s left'
    'forest  cpu  2 min'
    'forest  cpu'
    """
    left = [(rank, [clean(each).replace("\n", " ") for each in texts]) for rank, texts in parts]
    while True:
        said = SEPARATOR.join(texts[0] for _, texts in left if texts and texts[0])
        ranks = [rank for rank, texts in left if texts and rank]
        if cell_len(said) <= width or not ranks:
            return said
        next(texts for rank, texts in left if texts and rank == max(ranks)).pop(0)


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
        line = LiveLine(console, title)
        with _drawing(line):
            yield line
        return
    say = printing(console)
    watch = Watch(
        lambda text: say(f"{text}  ({', '.join(filter(None, (watch.elapsed, watch.left)))})")
    )
    yield watch


@contextmanager
def _drawing(line: LiveLine) -> Iterator[None]:
    over = threading.Event()
    with Live(line, console=line.console, auto_refresh=False, transient=True) as live:

        def draw() -> None:
            with suppress(OSError):  # The terminal is gone; what is said next tells so.
                while not over.wait(REDRAWN):
                    live.refresh()

        thread = threading.Thread(target=draw, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
