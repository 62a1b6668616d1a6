"""What is said while a comparison runs: the time that is left, and the line of a terminal."""

from __future__ import annotations

import io
import re
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from pipeline.benchmark import live
from pipeline.benchmark.live import (
    EXPLAINED,
    PROFILE,
    RUN,
    SEED,
    WARM_UP,
    LiveLine,
    Name,
    TimeLeft,
    Turn,
    Watch,
)
from pipeline.benchmark.resume import FinishedRuns
from pipeline.benchmark.rounds import VariantRunner, VariantRuns
from tests.commands import Tty

REFERENCE, CPU = ("forest", "reference"), ("forest", "cpu")
OTHER = ("logistic", "cpu")


class Clock:
    """Shows the seconds it was set to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


# The time that is left.


def planned(*names: Name, repeats: int = 3) -> TimeLeft:
    found = TimeLeft()
    for name in names:
        found.expect([Turn(name, WARM_UP), *[Turn(name, RUN)] * repeats])
    return found


def test_before_anything_is_known_no_time_is_told() -> None:
    assert planned(CPU).remaining() is None
    assert TimeLeft().remaining() == 0, "nothing is left"


def test_a_warm_up_on_the_clock_is_the_first_estimate_without_the_start_of_its_process() -> None:
    time_left = planned(CPU)
    time_left.end(Turn(CPU, WARM_UP), seconds=2.0, wall=6.0)
    assert time_left.remaining() == 3 * 2.0


def test_timed_runs_replace_it_and_what_is_not_on_the_clock_counts() -> None:
    time_left = planned(CPU)
    time_left.end(Turn(CPU, WARM_UP), seconds=2.0, wall=6.0)
    time_left.end(Turn(CPU, RUN), seconds=1.0, wall=1.25)
    assert time_left.remaining() == 2 * 1.25


def test_pipelines_and_variants_have_times_of_their_own() -> None:
    """Equal steps would say 7 turns of 20 s."""
    time_left = planned(REFERENCE, CPU)
    for name, seconds in ((REFERENCE, 30.0), (CPU, 1.0)):
        time_left.end(Turn(name, WARM_UP), seconds=seconds, wall=seconds + 5)
    time_left.end(Turn(REFERENCE, RUN), seconds=30.0, wall=30.0)
    assert time_left.remaining() == 2 * 30 + 3 * 1
    assert not time_left.guesses


def test_what_has_not_run_is_guessed_after_the_same_variant_and_starts_a_process() -> None:
    time_left = planned(REFERENCE, CPU, OTHER)
    for name, seconds in ((REFERENCE, 30.0), (CPU, 1.0)):
        time_left.end(Turn(name, WARM_UP), seconds=seconds, wall=seconds + 5)
    assert time_left.guesses
    assert time_left.remaining() == 3 * 30 + 3 * 1 + (1 + 5) + 3 * 1


def test_untimed_turns_count() -> None:
    name = REFERENCE
    time_left = planned(name, repeats=2)
    time_left.expect([Turn(name, EXPLAINED), Turn(name, PROFILE), *[Turn(name, SEED)] * 2])
    time_left.end(Turn(name, WARM_UP), seconds=4.0, wall=8.0)
    time_left.end(Turn(name, RUN), seconds=4.0, wall=4.0)
    assert time_left.remaining() == 5 * 4
    time_left.end(Turn(name, EXPLAINED), seconds=4.0, wall=14.0)
    time_left.expect([Turn(OTHER, EXPLAINED)])
    assert time_left.remaining() == 4 * 4 + (4 + 10), "the importance of columns took 10 s"


def test_another_size_takes_its_share() -> None:
    small = ("size 0.1", *CPU)
    time_left = planned(CPU, small, repeats=2)
    time_left.expect([], {"size 0.1": 0.1})
    time_left.end(Turn(CPU, WARM_UP), seconds=10.0, wall=13.0)
    assert time_left.remaining() == pytest.approx(2 * 10 + (1 + 3) + 2 * 1)


def test_what_failed_is_no_longer_expected() -> None:
    small, large = ("size 0.1", *CPU), ("size 0.5", *CPU)
    time_left = planned(CPU, REFERENCE, small, large)
    time_left.give_up(CPU)
    time_left.give_up(small)
    assert {turn.name for turn, n in time_left.turns.items() if n} == {REFERENCE}


def test_what_had_run_before_is_known_and_took_no_time_now() -> None:
    time_left = planned(CPU)
    time_left.end(Turn(CPU, WARM_UP), seconds=2.0, wall=None)
    time_left.end(Turn(CPU, RUN), seconds=2.0, wall=None)
    assert time_left.remaining() == 2 * 2.0


def test_what_runs_now_takes_no_more_than_was_expected() -> None:
    time_left = planned(CPU)
    time_left.end(Turn(CPU, WARM_UP), seconds=2.0, wall=2.0)
    run = Turn(CPU, RUN)
    assert [time_left.remaining(run, since) for since in (0.5, 2.0, 60.0)] == [5.5, 4.0, 4.0]


def test_a_new_process_that_warms_up_again_counts_for_nothing() -> None:
    clock = Clock()

    class Worker:
        """Takes 10 s for the first run and 2 s for others."""

        total = 0.0

        def __enter__(self) -> Worker:
            return self

        def __exit__(self, *exc: object) -> None:
            """Nothing has to end."""

        def run(self) -> Worker:
            self.total = 2.0 if self.total else 10.0
            clock.now += self.total
            return self

    class Kept(FinishedRuns):
        """Has the warm-up of an earlier command."""

        def find(self, *name: str) -> Any:
            return Worker() if name[-1] == WARM_UP else None

    watch = Watch(str, clock)
    watch.expect([Turn(CPU, WARM_UP), *[Turn(CPU, RUN)] * 3])
    runner: VariantRunner[Any] = VariantRunner(VariantRuns(*CPU), Worker, Kept())
    runner.warm(watch)
    runner.time(3, watch)
    assert clock.now == 12
    assert watch.time.remaining() == 2 * 2.0


# What is said.


def test_a_long_comparison_says_once_how_it_would_be_shorter() -> None:
    lines: list[str] = []
    watch = Watch(lines.append, clock := Clock())
    turns = [Turn(CPU, WARM_UP), *[Turn(CPU, RUN)] * 5]
    watch.expect(turns, shorter="--repeats 3, fewer --pipelines")
    watch.begin(turns[0], "warm-up")
    clock.now = 100.0
    watch.end(turns[0], "warm", 100.0)
    for number in range(5):
        watch.begin(turns[1], f"{number + 1}/5")
        clock.now += 100.0
        watch.end(turns[1], "timed", 100.0)
    assert lines == [
        "warm",
        "This will take about 8 min 20 s; shorter with --repeats 3, fewer --pipelines.",
        *["timed"] * 5,
    ]


def test_a_short_one_does_not() -> None:
    lines: list[str] = []
    watch = Watch(lines.append, Clock())
    watch.expect([Turn(CPU, WARM_UP), Turn(CPU, RUN)], shorter="--repeats 3")
    watch.end(Turn(CPU, WARM_UP), "warm", 100.0)
    watch.begin(Turn(CPU, RUN), "1/1")
    assert lines == ["warm"]


@pytest.fixture
def drawn() -> tuple[LiveLine, Clock, Tty]:
    """A line of a terminal, in the middle of a comparison of 70 s."""
    out = Tty()
    line = LiveLine(Console(file=out, force_terminal=True), "flights", clock := Clock())
    turns = [Turn(name, RUN) for name in (REFERENCE, CPU)]
    line.expect(turns * 3)
    for turn, seconds in zip(turns, (20.0, 15.0), strict=True):
        line.begin(turn, "1/3")
        clock.now += seconds
        line.end(turn, "not said", seconds)
    line.begin(turns[0], "2/3")
    clock.now += 5.0
    return line, clock, out


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (200, "flights  forest  reference  2/3  40 s elapsed  1 min 5 s left"
              "  so far cpu 0.750× reference"),
        (80, "forest  reference  2/3  40 s  1 min 5 s left  so far cpu 0.750× reference"),
        (60, "forest  reference  2/3  1 min 5 s left  so far cpu 0.750×"),
        (40, "forest  reference  2/3  1 min 5 s left"),
        (30, "forest  reference  2/3"),
    ],
)  # fmt: skip
def test_the_line_fits_the_terminal(
    drawn: tuple[LiveLine, Clock, Tty], width: int, text: str
) -> None:
    line, _, out = drawn
    assert line.line(width) == text
    console = Console(file=Tty(), width=width, force_terminal=True, record=True)
    console.print(line)
    assert console.export_text() == text
    assert out.getvalue() == "", "no line for a run"


def test_a_name_cannot_move_the_cursor_or_break_the_line() -> None:
    line = LiveLine(Console(file=Tty(), force_terminal=True), "a\x1b[2Jb\nc", Clock())
    assert line.line(200) == "a\ufffd[2Jb c  preparing  0.0 s elapsed"


def test_a_failure_and_a_finished_pipeline_stay(drawn: tuple[LiveLine, Clock, Tty]) -> None:
    line, _, out = drawn
    line.give_up(Turn(CPU, RUN), "forest  cpu  failed in run 2: no [room]\x1b[2J")
    line.keep("forest: reference 20.00 s, cpu failed")
    assert out.getvalue().splitlines() == [
        "forest  cpu  failed in run 2: no [room]\ufffd[2J",
        "forest: reference 20.00 s, cpu failed",
    ]
    assert "1 min 5 s left" not in line.line(200), "its runs are no longer expected"


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Callable[..., io.StringIO]:
    """Put what is written to in the place of the standard output."""

    def put(out: io.StringIO, **environment: str) -> io.StringIO:
        monkeypatch.setattr(sys, "stdout", out)
        for name, value in {"TERM": "xterm", **environment}.items():
            monkeypatch.setenv(name, value)
        return out

    return put


def run_two(title: str = "flights") -> None:
    with live.watching(title) as watch:
        watch.expect([Turn(CPU, RUN)] * 2)
        for number in (1, 2):
            watch.begin(Turn(CPU, RUN), f"{number}/2")
            time.sleep(2.5 * live.REDRAWN)
            watch.end(Turn(CPU, RUN), f"forest  cpu  {number}/2  1.00 s", 1.0)
        watch.keep("forest: cpu 1.00 s")


@pytest.mark.parametrize(
    ("out", "environment"),
    [(io.StringIO, {}), (io.StringIO, {"FORCE_COLOR": "1"}), (Tty, {"TERM": "dumb"})],
    ids=["pipe", "log of a CI", "dumb terminal"],
)
def test_where_nothing_can_be_drawn_each_run_has_a_plain_line(
    console: Callable[..., io.StringIO],
    monkeypatch: pytest.MonkeyPatch,
    out: type[io.StringIO],
    environment: dict[str, str],
) -> None:
    monkeypatch.setattr(live, "REDRAWN", 0.01)
    written = console(out(), **environment)
    run_two()
    found = written.getvalue().splitlines()
    first, second = (re.sub(r"\(0\.\d s", "(0.1 s", line) for line in found)
    assert re.fullmatch(r"forest  cpu  1/2  1\.00 s  \(0\.1 s, \d\.\d s left\)", first)
    assert second == "forest  cpu  2/2  1.00 s  (0.1 s)"


@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}])
def test_a_terminal_has_a_line_that_goes_and_one_for_each_pipeline_that_stays(
    console: Callable[..., io.StringIO],
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
) -> None:
    monkeypatch.setattr(live, "REDRAWN", 0.01)
    written = console(Tty(), COLUMNS="100", **environment)
    run_two()
    found = written.getvalue()
    assert "flights  forest  cpu  1/2  0.0 s elapsed  time left unknown" in found
    assert "flights  forest  cpu  2/2" in found
    assert shown(found) == ["forest: cpu 1.00 s"]


def shown(written: str) -> list[str]:
    """Return what a terminal shows in the end: lines that were erased are gone."""
    lines = [""]
    for part in re.split(r"(\x1b\[\d*[A-Za-z]|\x1b\[\?\d+[hl]|\r|\n)", written):
        if part == "\n":
            lines.append("")
        elif part == "\x1b[2K":
            lines[-1] = ""
        elif part == "\x1b[1A":
            lines.pop()
        elif part != "\r" and not part.startswith("\x1b"):
            lines[-1] += part
    return [line for line in lines if line]


def test_drawing_takes_no_time_from_what_is_measured(
    console: Callable[..., io.StringIO],
) -> None:
    console(Tty(), COLUMNS="100")
    with live.watching("flights") as watch:
        watch.expect([Turn(CPU, RUN)])
        watch.begin(Turn(CPU, RUN), "1/1")
        before = time.process_time()
        time.sleep(3)
        assert time.process_time() - before < 0.02 * 3
