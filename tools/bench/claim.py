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
    """What is measured, and which tables and targets the docs have of it."""

    name: str
    """The record is in ``docs/results/NAME-cpu``."""
    settings: Mapping[str, tuple[int, ...]]
    """Sizes and the like; ``"budget"`` is the seconds for the first run of a reference."""
    repeats: int
    """Timed runs of each variant."""
    warms_up: bool = True
    """Whether the first run of a process does not count."""
    cases: Callable[[Ask], Iterator[tuple[record.Case, Sequence[str]]]]
    """Yields each case with its variants, the reference first, once what they need is made."""
    start: Callable[[Ask, record.Case, str], Turn]
    """Loads what a variant needs, in its process, and returns what runs it once."""
    names: Sequence[str]
    """Of the cases, as ``--cases`` takes them."""
    variants: Sequence[record.Variant]
    clock: str
    """What is timed, with settings in braces."""
    columns: Sequence[report.Column] = ()
    """Of the table of all cells in the docs; none if there is no such table."""
    targets: Sequence[report.Target] = ()
    """Set before any run."""
    notes: Callable[[Results], str] | None = None
    """Returns further figures of the record, as Markdown."""

    def part(self, results: Results) -> str:
        """Return what the docs show of a record."""
        parts = [report.cells(results, self.columns)] if self.columns else []
        parts += [self.notes(results)] if self.notes else []
        parts += [report.verdicts(results, self.targets)] if self.targets else []
        return "\n\n".join([*parts, report.where(results)])
