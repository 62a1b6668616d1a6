"""What a claim consists of: cases, variants that run on each of them, tables and targets."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.bench import record, report
from tools.bench.record import Cell, Report, Results

Work = Callable[[], Report]
"""Runs a variant once; it is sent to the variant's process."""


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


@dataclass(frozen=True)
class Case:
    """What the variants are given, and how each of them runs on it.

    Parameters
    ----------
    about : record.Case
    variants : mapping of str to callable
        The first one is the reference: if its first run fails, the others do not run.
    limit : float, optional
        Seconds that the first run of the reference may take.
    cells : list of Cell
        What was measured, once it was.
    """

    about: record.Case
    variants: Mapping[str, Work]
    limit: float | None = None
    cells: list[Cell] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What is measured, and which tables and targets the docs have of it.

    Parameters
    ----------
    name : str
        The record is in ``docs/results/NAME-cpu``.
    settings : mapping of str to tuple of int
        Sizes and the like that the command line can change, with their defaults.
    repeats : int
        Timed runs of each variant.
    warms_up : bool, default=True
        Whether the first run of a process does not count.
    cases : callable
        Yields the cases; the tables and models of a case are made before it is yielded.
    names : sequence of str
        Of the cases, as ``--cases`` takes them.
    variants : sequence of Variant
    clock : str
        What is timed, with settings in braces.
    tables : sequence of Table
        In the docs.
    targets : sequence of Target
        Set before any run.
    notes : callable, optional
        Returns further figures of the record, as Markdown.
    """

    name: str
    settings: Mapping[str, tuple[int, ...]]
    repeats: int
    warms_up: bool = True
    cases: Callable[[Ask], Generator[Case, None, None]]
    names: Sequence[str]
    variants: Sequence[record.Variant]
    clock: str
    tables: Sequence[report.Table] = ()
    targets: Sequence[report.Target] = ()
    notes: Callable[[Results], str] | None = None

    def part(self, results: Results) -> str:
        """Return what the docs show of a record."""
        parts = [table.text(results) for table in self.tables]
        parts += [self.notes(results)] if self.notes else []
        parts += [report.verdicts(results, self.targets)] if self.targets else []
        return "\n\n".join([*parts, report.where(results)])
