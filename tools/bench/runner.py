"""One runner of all claims: each variant has a process, and the processes take turns."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import TimeoutError as OutOfTime
from contextlib import ExitStack
from datetime import UTC, datetime

import numpy as np
from pebble import ProcessExpired, ProcessPool

from pipeline.benchmark.record.results import Protocol
from pipeline.errors import PipelineError
from pipeline.system import environment
from pipeline.task.numerals import seconds
from tools.bench import record
from tools.bench.claim import Ask, Claim, Turn
from tools.bench.record import Cell, Report, Results, say

ISOLATION = "a process for each variant and case, idle while another one runs"
PATIENCE = 5
"""Limits of time that the first run of a variant beside the reference may take."""


class Side:
    """A variant of a case, in a process of its own."""

    def __init__(self, claim: Claim, ask: Ask, case: record.Case, variant: str) -> None:
        self.name, self.variant = f"{case.name}/{variant}", variant
        self.reports: list[Report] = []
        self.threads: dict[str, str] = {}
        self.why = ""
        self._work = claim.start, ask, case, variant
        self._pool = ProcessPool(1, context=multiprocessing.get_context("spawn"))

    def __enter__(self) -> Side:
        """Return it."""
        return self

    def __exit__(self, *exc: object) -> None:
        """End the process."""
        self._pool.stop()  # type: ignore[no-untyped-call]
        self._pool.join()

    def turn(self, limit: float = 0) -> None:
        """Run once, within a limit of seconds if there is one; not at all after a failure."""
        if self.why:
            return
        try:
            asked = self._pool.schedule(_turn, self._work, timeout=limit or None)
            made, self.threads = asked.result()
            self.reports.append(made)
        except OutOfTime:
            self.why = f"over {limit:g} s"
        except ProcessExpired as error:
            self.why = f"the process ended with exit code {error.exitcode}"
        except Exception as error:
            said = (str(error).strip() or "no message").splitlines()[0]
            self.why = f"{type(error).__name__}: {said}"

    def cell(self, case: str, *, warms_up: bool) -> Cell:
        """Return the record of all turns."""
        first = int(warms_up)
        values = [each.values for each in self.reports]
        return Cell(
            case=case,
            variant=self.variant,
            why=self.why,
            warmup=self.reports[0].run if first and self.reports else None,
            runs=[each.run for each in self.reports[first:]],
            values={name: value for each in values for name, value in each.items()},
        )


_started: list[Turn] = []
"""Of the variant whose process this is."""


def _turn(
    start: Callable[[Ask, record.Case, str], Turn], ask: Ask, case: record.Case, variant: str
) -> tuple[Report, dict[str, str]]:
    if not _started:
        _started.append(start(ask, case, variant))
    return _started[0](), environment.threads()


def measure(claim: Claim, ask: Ask) -> Results:
    """Measure all cases and return the record.

    Raises
    ------
    PipelineError
        No variant of any case succeeded.
    """
    load = environment.load_average()
    cases: list[record.Case] = []
    cells: list[Cell] = []
    order: list[str] = []
    threads: dict[str, str] = {}
    for case, variants in claim.cases(ask):
        cases.append(case)
        with ExitStack() as stack:
            sides = [stack.enter_context(Side(claim, ask, case, name)) for name in variants]
            order += take_turns(claim, ask, sides)
        made = [side.cell(case.name, warms_up=claim.warms_up) for side in sides]
        say(f"[bench] {case.name}: {', '.join(map(_summary, made))}")
        cells += made
        for side in sides:
            threads |= side.threads
    if not any(cell.ok for cell in cells):
        raise PipelineError("no run succeeded: " + "; ".join(cell.why for cell in cells))
    words = {name: ", ".join(f"{n:,}" for n in numbers) for name, numbers in ask.settings.items()}
    return Results(
        schema=record.SCHEMA,
        claim=claim.name,
        settings={name: list(numbers) for name, numbers in ask.settings.items()},
        protocol=Protocol(
            seed=ask.seed,
            repeats=ask.repeats,
            warmups=int(claim.warms_up),
            order=order,
            clock=claim.clock.format(**words),
            isolation=ISOLATION,
        ),
        cases=cases,
        variants=list(claim.variants),
        cells=cells,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=environment.machine(threads, load),
        source=environment.source(sys.argv[1:], "tools.bench"),
    )


def take_turns(claim: Claim, ask: Ask, sides: Sequence[Side]) -> list[str]:
    """Run all sides, in rounds of a random order, and return the order of the timed runs."""
    order, random = [], np.random.default_rng(ask.seed)
    (limit,) = ask.settings.get("budget", [0])
    for number, side in enumerate(sides if claim.warms_up else ()):
        if sides[0].why and number:
            side.why = f"not run: {sides[0].variant} failed"
        side.turn(limit * (PATIENCE if number else 1))
    for _ in range(ask.repeats):
        for place in random.permutation(len(sides)):
            order += [sides[place].name] * (not sides[place].why)
            sides[place].turn()
    return order


def _summary(cell: Cell) -> str:
    if not cell.ok:
        return f"{cell.variant} failed: {cell.why}"
    longest = max(cell.runs[0].seconds, key=cell.median)
    return f"{cell.variant} {seconds(cell.median(longest))} s"
