"""What a claim consists of: cases, variants that run on each of them, tables and targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.bench import record, report
from tools.bench.record import Report, Results

Turn = Callable[[], Report]


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
    """What is measured, and which tables and targets the docs have of it.

    Parameters
    ----------
    name : str
        The record is in ``docs/results/NAME-cpu``.
    settings : mapping of str to tuple of int
        Sizes and the like that the command line can change, with their defaults. ``"budget"`` is
        the seconds that the first run of a reference may take.
    repeats : int
        Timed runs of each variant.
    warms_up : bool, default=True
        Whether the first run of a process does not count.
    cases : callable
        Yields each case with the names of its variants, the reference first, once it has made the
        tables and models that they need.
    start : callable
        ``start(ask, case, variant)`` loads what a variant needs and returns what runs it once. It
        is called in the variant's process.
    names : sequence of str
        Of the cases, as ``--cases`` takes them.
    variants : sequence of Variant
    clock : str
        What is timed, with settings in braces.
    columns : sequence of Column
        Of the table of all cells in the docs; none if there is no such table.
    targets : sequence of Target
        Set before any run.
    notes : callable, optional
        Returns further figures of the record, as Markdown.
    """

    name: str
    settings: Mapping[str, tuple[int, ...]]
    repeats: int
    warms_up: bool = True
    cases: Callable[[Ask], Iterator[tuple[record.Case, Sequence[str]]]]
    start: Callable[[Ask, record.Case, str], Turn]
    names: Sequence[str]
    variants: Sequence[record.Variant]
    clock: str
    columns: Sequence[report.Column] = ()
    targets: Sequence[report.Target] = ()
    notes: Callable[[Results], str] | None = None

    def part(self, results: Results) -> str:
        """Return what the docs show of a record."""
        parts = [report.cells(results, self.columns)] if self.columns else []
        parts += [self.notes(results)] if self.notes else []
        parts += [report.verdicts(results, self.targets)] if self.targets else []
        return "\n\n".join([*parts, report.where(results)])
