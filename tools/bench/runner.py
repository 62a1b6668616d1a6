"""What a claim consists of, and how it is measured: variants have processes, which take turns."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import TimeoutError as OutOfTime
from concurrent.futures import wait
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pebble import ProcessExpired, ProcessPool

from pipeline.benchmark.record.results import Protocol
from pipeline.errors import PipelineError
from pipeline.system import environment, hardware
from pipeline.task.numerals import seconds
from tools.bench import record, report
from tools.bench.record import SCHEMA, Case, Cell, Measured, Results, Run, Values, Variant, say

ISOLATION = "a process for each variant{}, idle while another one runs"
PATIENCE = 2
"""How many times as long as the reference the first run of another variant may take."""
SHORT = 5.0
"""Seconds that any first run may take, and of timed runs, after which there are no more of them
than asked for."""

Turn = Callable[[], tuple[Run, Values]]


@dataclass(frozen=True)
class Ask:
    """What to measure: settings of the claim, timed runs of each variant, cases (all if empty).

    `home` is the folder of generated tables and of models, which is removed afterwards, and
    `data` that of the datasets.
    """

    settings: Mapping[str, Sequence[int]]
    repeats: int
    seed: int = 0
    home: Path = Path()
    data: Path = Path("data")
    cases: Sequence[str] = ()

    def one(self, name: str) -> int:
        """Return a setting of a single number."""
        (number,) = self.settings[name]
        return number

    def wants(self, case: str) -> bool:
        """Return whether a case is to be measured."""
        return not self.cases or case in self.cases


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What is measured, and which tables and targets the docs have of it."""

    name: str
    """The record is in ``docs/results/NAME-cpu``."""
    settings: Mapping[str, tuple[int, ...]]
    """Sizes and the like; ``"budget"`` is the seconds for the first run of a reference. With it,
    variants are not timed that take `PATIENCE` times as long."""
    repeats: int
    """Timed runs of each variant."""
    most: int = 0
    """If more, so many while those of a case took less than `SHORT`."""
    shares: Literal["case", "title", "claim"] = "case"
    """Of what all cases, one after the other, share the processes, which start once."""
    warms_up: bool = True
    """Whether the first run of a process does not count."""
    cases: Callable[[Ask], Iterator[Case]]
    """Yields each case, once what its variants need is made."""
    start: Callable[[Ask, Case, str], Turn]
    """Loads what a variant needs, in its process, and returns what runs it once."""
    names: Sequence[str]
    """Of the cases, as ``--cases`` takes them."""
    variants: Sequence[Variant]
    """Run on each case; the first one is the reference."""
    runs: Callable[[Case, str], bool] = lambda case, variant: True
    """Whether a variant runs on a case."""
    clock: str
    """What is timed, with settings in braces."""
    columns: Sequence[report.Column] = ()
    """Of the table of variants in the docs; none if there is no such table."""
    shown: Sequence[str] = ()
    """The variants that have a row in that table; all if empty."""
    targets: Sequence[report.Target] = ()
    """Set before any run."""
    notes: Callable[[Results], str] | None = None
    """Returns further figures of the record, as Markdown."""

    def part(self, results: Results) -> str:
        """Return what the docs show of a record."""
        parts = [report.cells(results, self.columns, self.shown)] if self.columns else []
        parts += [self.notes(results)] if self.notes else []
        parts += [report.verdicts(results, self.targets)] if self.targets else []
        return "\n\n".join([*filter(None, parts), report.where(results)])


class Processes(dict[str, Any]):
    """Of each variant one, which starts when it is asked for."""

    def __missing__(self, variant: str) -> Any:
        self[variant] = ProcessPool(1, context=multiprocessing.get_context("spawn"))
        return self[variant]

    def end(self) -> None:
        """End all of them."""
        for pool in self.values():
            pool.stop()
        for pool in self.values():
            pool.join()
        self.clear()


class Side:
    """A variant of a case, in a process of its own."""

    def __init__(
        self, claim: Claim, ask: Ask, case: Case, variant: str, processes: Processes
    ) -> None:
        self.name, self.variant = f"{case.name}/{variant}", variant
        self.made: list[tuple[Run, Values]] = []
        self.threads: dict[str, str] = {}
        self.why = ""
        self._work = claim.start, ask, case, variant
        self._pool = processes[variant]
        self.started = self._pool.schedule(_begin, self._work)

    def turn(self, limit: float = 0) -> None:
        """Run once, within a limit of seconds if there is one; not at all after a failure."""
        if self.why:
            return
        try:
            asked = self._pool.schedule(_turn, self._work, timeout=limit or None)
            made, self.threads = asked.result()
            self.made.append(made)
        except OutOfTime:
            self.why = f"{record.LATE}{limit:g} s"
        except ProcessExpired as error:
            self.why = f"the process ended with exit code {error.exitcode}"
        except Exception as error:
            said = (str(error).strip() or "no message").splitlines()[0]
            self.why = f"{type(error).__name__}: {said}"

    def cell(self, case: str, *, warms_up: bool) -> Cell:
        """Return the record of all turns."""
        runs = [run for run, _ in self.made]
        return Cell(
            case=case,
            variant=self.variant,
            why=self.why,
            warmup=runs[0] if warms_up and runs else None,
            runs=runs[int(warms_up) :],
            values={name: value for _, values in self.made for name, value in values.items()},
        )


_turns: dict[str, Turn] = {}
"""Of the case that was begun last, by its name, and of the variant whose process this is."""


def _begin(start: Callable[[Ask, Case, str], Turn], ask: Ask, case: Case, variant: str) -> None:
    if case.name not in _turns:
        _turns.clear()
        _turns[case.name] = start(ask, case, variant)


def _turn(*work: Any) -> tuple[tuple[Run, Values], dict[str, str]]:
    _begin(*work)  # again, where it failed
    (turn,) = _turns.values()
    return turn(), environment.threads()


def measure(claim: Claim, ask: Ask, kept: Path | None = None) -> Results:
    """Measure all cases and return the record.

    Parameters
    ----------
    claim : Claim
    ask : Ask
    kept : Path, optional
        Where each case is written once all its runs succeeded. Those that are there already, of
        the same code, packages, data and machine, are not measured again.

    Raises
    ------
    PipelineError
        No variant of any case succeeded.
    """
    load = environment.load_average()
    here, code = hardware.describe(), record.code("pipeline", "datasets", "tasks", "tools/bench")
    said = {name: os.environ.get(name) for name in environment.SETTINGS}
    packages = environment.packages()
    of = record.hashed(code, packages, here.cpu, here.cores, sys.version, said, str(ask.data))
    done = record.read_kept(kept, of) if kept else {}
    if done:
        say(f"[bench] goes on after the cases in {kept}; --again measures them again")
    cases: list[Case] = []
    parts: list[Measured] = []
    processes, of_processes = Processes(), ""
    try:
        for case in claim.cases(ask):
            asked = record.hashed(case, claim.variants, ask.settings, ask.repeats, ask.seed)
            if asked not in done:
                now = {"case": case.name, "title": case.title, "claim": claim.name}[claim.shares]
                if now != of_processes:
                    processes.end()
                    of_processes = now
                part = _measured(claim, ask, case, load, processes)
                found = part.cells
                if kept and (found[0].late or all(cell.ok or cell.late for cell in found)):
                    done[asked] = part
                    record.write_kept(kept, of, done)
            else:
                part = done[asked]
            cases.append(case)
            parts.append(part)
    finally:
        processes.end()
    cells = [cell for part in parts for cell in part.cells]
    if not any(cell.ok for cell in cells):
        raise PipelineError("no run succeeded: " + "; ".join(cell.why for cell in cells))
    threads = {name: many for part in parts for name, many in part.threads.items()}
    load = max(part.load for part in parts)
    words = {name: ", ".join(f"{n:,}" for n in numbers) for name, numbers in ask.settings.items()}
    return Results(
        schema=SCHEMA,
        claim=claim.name,
        settings={name: list(numbers) for name, numbers in ask.settings.items()},
        protocol=Protocol(
            seed=ask.seed,
            repeats=ask.repeats,
            warmups=int(claim.warms_up),
            order=[name for part in parts for name in part.order],
            clock=claim.clock.format(**words),
            isolation=ISOLATION.format("" if claim.shares == "claim" else f" and {claim.shares}"),
        ),
        cases=cases,
        variants=list(claim.variants),
        cells=cells,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=environment.machine(threads, load),
        source=environment.source(sys.argv[1:], "tools.bench"),
    )


def _measured(claim: Claim, ask: Ask, case: Case, load: float, processes: Processes) -> Measured:
    """Measure a case, and say how long its variants took."""
    names = [each.name for each in claim.variants if claim.runs(case, each.name)]
    sides = [Side(claim, ask, case, name, processes) for name in names]
    wait([side.started for side in sides])
    order = take_turns(claim, ask, sides)
    cells = [side.cell(case.name, warms_up=claim.warms_up) for side in sides]
    say(f"[bench] {case.name}: {', '.join(map(_summary, cells))}")
    threads = dict(sides[0].threads)
    for side in sides[1:]:
        others = {name: n for name, n in side.threads.items() if threads.get(name, n) != n}
        threads = side.threads | threads | {f"{k}: {side.variant}": n for k, n in others.items()}
    return Measured(cells=cells, order=order, threads=threads, load=load)


def take_turns(claim: Claim, ask: Ask, sides: Sequence[Side]) -> list[str]:
    """Run all sides, in rounds of a random order, and return the order of the timed runs."""
    order, random = [], np.random.default_rng(ask.seed)
    limit: float = ask.settings.get("budget", [0])[0]
    for number, side in enumerate(sides if claim.warms_up else ()):
        if sides[0].why and number:
            side.why = f"not run: {sides[0].variant} failed"
        begun = time.perf_counter()
        side.turn(limit)
        if limit and not number:
            limit = round(max(SHORT, PATIENCE * (time.perf_counter() - begun)), 1)
    begun = time.perf_counter()
    for number in range(max(ask.repeats, claim.most)):
        if number >= ask.repeats and time.perf_counter() - begun > SHORT:
            break
        for place in random.permutation(len(sides)):
            order += [sides[place].name] * (not sides[place].why)
            sides[place].turn()
    return order


def _summary(cell: Cell) -> str:
    if not cell.ok:
        return f"{cell.variant} failed: {cell.why}"
    longest = max(cell.runs[0].seconds, key=cell.median)
    return f"{cell.variant} {seconds(cell.median(longest))} s"
