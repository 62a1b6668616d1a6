"""One runner of all claims: each variant has a process, and the processes take turns."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import TimeoutError as OutOfTime
from contextlib import ExitStack, closing

import numpy as np
from pebble import ProcessExpired, ProcessPool

from pipeline.benchmark.report.format import seconds
from pipeline.benchmark.results import Protocol
from pipeline.errors import PipelineError
from pipeline.system import environment
from tools.bench import record
from tools.bench.claim import Ask, Case, Claim, Work
from tools.bench.record import Cell, Report, Results, say

ISOLATION = "a process for each variant and case, idle while another one runs"
PATIENCE = 5
"""Limits of time that the first run of a variant beside the reference may take."""


class Side:
    """A variant of a case, in a process of its own.

    Parameters
    ----------
    case, variant : str
    work : callable
    """

    def __init__(self, case: str, variant: str, work: Work) -> None:
        self.case, self.variant, self._work = case, variant, work
        self.reports: list[Report] = []
        self.threads: dict[str, str] = {}
        self.why = ""
        self._pool = ProcessPool(1, context=multiprocessing.get_context("spawn"))

    def __enter__(self) -> Side:
        """Return it."""
        return self

    def __exit__(self, *exc: object) -> None:
        """End the process."""
        self._pool.stop()
        self._pool.join()

    def turn(self, limit: float | None = None) -> None:
        """Run once, within some seconds; not at all after a failure."""
        if self.why:
            return
        try:
            asked = self._pool.schedule(_answer, (self._work,), timeout=limit)
            made, self.threads = asked.result()
            self.reports.append(made)
        except OutOfTime:
            self.why = f"over {limit:g} s" if limit else "out of time"
        except ProcessExpired as error:
            self.why = f"the process ended with exit code {error.exitcode}"
        except Exception as error:
            said = (str(error).strip() or "no message").splitlines()[0]
            self.why = f"{type(error).__name__}: {said}"

    def cell(self, *, warms_up: bool) -> Cell:
        """Return the record of all turns."""
        first = int(warms_up)
        values = [each.values for each in self.reports]
        return Cell(
            case=self.case,
            variant=self.variant,
            why=self.why,
            warmup=self.reports[0].run if first and self.reports else None,
            runs=[each.run for each in self.reports[first:]],
            values={name: value for each in values for name, value in each.items()},
        )


def _answer(work: Work) -> tuple[Report, dict[str, str]]:
    return work(), environment.threads()


def measure(claim: Claim, ask: Ask) -> Results:
    """Measure all cases and return the record.

    Raises
    ------
    PipelineError
        No variant of any case succeeded.
    """
    load, cases = environment.load_average(), list[Case]()
    order: list[str] = []
    threads: dict[str, str] = {}
    with closing(claim.cases(ask)) as every:
        for case in every:
            order += _run(claim, case, ask, threads)
            cases.append(case)
    cells = [cell for case in cases for cell in case.cells]
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
        cases=[case.about for case in cases],
        variants=list(claim.variants),
        cells=cells,
        **record.fingerprint("tools.bench", load, threads),
    )


def _run(claim: Claim, case: Case, ask: Ask, threads: dict[str, str]) -> list[str]:
    """Run a case, fill its cells, and return the order of the timed runs."""
    order = []
    with ExitStack() as stack:
        sides = [
            stack.enter_context(Side(case.about.name, name, work))
            for name, work in case.variants.items()
        ]
        for number, side in enumerate(sides if claim.warms_up else ()):
            if sides[0].why and number:
                side.why = f"not run: {sides[0].variant} failed"
            side.turn(case.limit and case.limit * (PATIENCE if number else 1))
        random = np.random.default_rng(ask.seed)
        for _ in range(ask.repeats):
            for place in random.permutation(len(sides)):
                order += [f"{sides[place].case}/{sides[place].variant}"]
                sides[place].turn()
    case.cells.extend(side.cell(warms_up=claim.warms_up) for side in sides)
    for side in sides:
        threads |= side.threads
    say(f"[bench] {case.about.name}: {', '.join(map(_summary, case.cells))}")
    return order


def _summary(cell: Cell) -> str:
    if not cell.ok:
        return f"{cell.variant} failed: {cell.why}"
    longest = max(cell.runs[0].seconds, key=cell.median)
    return f"{cell.variant} {seconds(cell.median(longest))} s"
