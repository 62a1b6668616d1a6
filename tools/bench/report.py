"""Tables of a record, and what follows of the targets: every figure of the docs comes from here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.benchmark.report.format import MISSING, size
from pipeline.benchmark.statistics import Ratio
from tools.bench.record import Cell, Results, Variant

MIB = 2**20
SHORT = 0.015
"""Seconds below which two times are written in milliseconds."""
PACKAGES = ("numpy", "pandas", "pyarrow", "scikit-learn", "polars", "skrub")


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    title : str
    text : callable
        Returns what stands in the row of a cell.
    right : bool, default=True
        Whether it holds numbers.
    """

    title: str
    text: Callable[[Results, Cell], str]
    right: bool = True


@dataclass(frozen=True)
class Table:
    """Cells of a record, one in a row.

    Parameters
    ----------
    columns : sequence of Column
    cases : sequence of str
        All if empty.
    caption : callable, optional
        Returns what stands before it.
    """

    columns: Sequence[Column]
    cases: Sequence[str] = ()
    caption: Callable[[Results], str] | None = None

    def text(self, results: Results) -> str:
        """Return it as Markdown; nothing if there is no such cell."""
        cells = [cell for cell in results.cells if not self.cases or cell.case in self.cases]
        if not cells:
            return ""
        rows = [[column.text(results, cell) for column in self.columns] for cell in cells]
        right = [i for i, column in enumerate(self.columns) if column.right]
        made = table([column.title for column in self.columns], rows, right)
        return f"{self.caption(results)}\n\n{made}" if self.caption else made


@dataclass(frozen=True)
class Wide:
    """Median times of a phase, a case in a row and a variant in a column.

    Parameters
    ----------
    title, phase : str
    write : callable
        Returns seconds as text.
    cases : sequence of str
    """

    title: str
    phase: str
    write: Callable[[float], str]
    cases: Sequence[str]

    def text(self, results: Results) -> str:
        """Return it as Markdown; nothing if there is no such cell."""
        rows = [[name, *self._row(results, name)] for name in self.cases if _has(results, name)]
        head = [self.title, *(variant.title for variant in results.variants)]
        return table(head, rows, right=range(1, len(head))) if rows else ""

    def _row(self, results: Results, case: str) -> Iterator[str]:
        for variant in results.variants:
            cell = results.cell(case, variant.name)
            yield self.write(cell.median(self.phase)) if cell else MISSING


def case(title: str = "case", *, right: bool = False) -> Column:
    """Return the column of the names of the cases."""
    return Column(title, lambda results, cell: cell.case, right)


def variant(title: str = "variant") -> Column:
    """Return the column of what the variants are called."""
    return Column(title, lambda results, cell: _variant(results, cell.variant).title, right=False)


def about(title: str, field: str) -> Column:
    """Return the column of a field of the variants."""
    return Column(
        title, lambda results, cell: str(getattr(_variant(results, cell.variant), field)), False
    )


def took(
    title: str, phase: str, write: Callable[[float], str], *, says_why: bool = False
) -> Column:
    """Return the column of the median seconds of a phase; it may say why there are none."""

    def text(results: Results, cell: Cell) -> str:
        if not any(phase.partition("+")[0] in run.seconds for run in cell.runs):
            return f"failed: {cell.why}" if says_why and cell.why else MISSING
        return write(cell.median(phase))

    return Column(title, text)


def most(title: str, name: str, write: Callable[[float], str] = size) -> Column:
    """Return the column of the most bytes of all runs."""
    return Column(title, lambda results, c: write(n) if c.runs and (n := c.most(name)) else MISSING)


def value(title: str, name: str, write: Callable[[float], str]) -> Column:
    """Return the column of what the last run gave."""

    def text(results: Results, cell: Cell) -> str:
        found = cell.values.get(name)
        return MISSING if found is None else write(found)

    return Column(title, text)


def factor(
    title: str, phase: str, against: str, *, faster: bool = False, digits: int = 2
) -> Column:
    """Return the column of the time in that of another variant, or how many times as fast."""

    def text(results: Results, cell: Cell) -> str:
        if cell.variant == against:
            return MISSING
        found = results.ratio(cell.case, phase, cell.variant, against)
        return times(found, faster=faster, digits=digits)

    return Column(title, text)


def times(ratio: Ratio | None, *, faster: bool = True, digits: int = 1) -> str:
    """Write a ratio, or how many times as fast, with its interval.

    >>> times(Ratio(0.125, (0.1, 0.2), 7))
    '8.0× (5.0–10.0)'
    >>> times(Ratio(0.125, (0.1, 0.2), 7), faster=False, digits=2)
    '0.12× (0.10–0.20)'
    >>> times(Ratio(0.125, None, 1))
    '8.0×'
    """
    if ratio is None:
        return MISSING
    ends = ratio.interval or ()
    shown = (
        [ratio.speed_up, *(1 / end for end in reversed(ends))] if faster else [ratio.value, *ends]
    )
    value, *interval = (f"{each:.{digits}f}" for each in shown)
    return f"{value}×" + (f" ({'–'.join(interval)})" if interval else "")


Found = tuple[str, bool]
"""What was found, in words, and whether it meets the target."""


@dataclass(frozen=True)
class Target:
    """What was set before any run.

    Parameters
    ----------
    phase, variant, against, wanted : str
        In words.
    find : callable
        Returns what was found of a case, or None where it was not measured.
    cases : sequence of str
        All if empty.
    """

    phase: str
    variant: str
    against: str
    wanted: str
    find: Callable[[Results, str], Found | None]
    cases: Sequence[str] = ()


def as_fast(
    phase: str, variant: str, against: str, least: float, *,
    digits: int = 1, cases: Sequence[str] = (), also: Callable[[Cell], bool] = lambda cell: True,
) -> Target:  # fmt: skip
    """Return a target for how many times as fast as another a variant is.

    Parameters
    ----------
    phase, variant, against : str
    least : float
    digits : int
        Of what is shown.
    cases : sequence of str
    also : callable
        What else has to be true of the variant's cell.
    """

    def find(results: Results, case: str) -> Found | None:
        found, cell = results.ratio(case, phase, variant, against), results.cell(case, variant)
        if found is None or cell is None:
            return None
        return times(found, digits=digits), also(cell) and found.speed_up >= least

    return Target(phase, variant, against, f"{least:g}×", find, cases)


def at_most(
    phase: str, variant: str, against: str, most: float, *,
    digits: int = 2, cases: Sequence[str] = (),
) -> Target:  # fmt: skip
    """Return a target for the time of a variant in that of another; see `as_fast`."""

    def find(results: Results, case: str) -> Found | None:
        found = results.ratio(case, phase, variant, against)
        if found is None:
            return None
        said = times(found, faster=False, digits=digits)
        return f"{_both(results, case, phase, variant, against)}: {said}", found.value <= most

    return Target(phase, variant, against, f"≤ {most:g}×", find, cases)


def adds_at_most(phase: str, variant: str, against: str, seconds: float) -> Target:
    """Return a target for what a variant adds to the time of another."""

    def find(results: Results, case: str) -> Found | None:
        ours, theirs = results.cell(case, variant), results.cell(case, against)
        if ours is None or theirs is None:
            return None
        added = ours.median(phase) - theirs.median(phase)
        both = _both(results, case, phase, variant, against)
        return f"{both}: {1e3 * added:+.3f} ms", added <= seconds

    return Target(phase, variant, against, f"≤ +{1e3 * seconds:g} ms", find)


def _both(results: Results, case: str, phase: str, *variants: str) -> str:
    """Return the medians of two variants, in milliseconds where one is short."""
    cells = [results.cell(case, variant) for variant in variants]
    medians = [cell.median(phase) for cell in cells if cell]
    if min(medians) < SHORT:
        return "/".join(f"{1e3 * each:.3f}" for each in medians) + " ms"
    return "/".join(f"{each:.3f}" for each in medians) + " s"


def verdicts(results: Results, targets: Sequence[Target]) -> str:
    """Return the targets with what was found of each, as a table."""
    head = ["case", "phase", "variant/against", "wanted", "found", "met"]
    return table(head, _verdicts(results, targets), right=(3, 4))


def _verdicts(results: Results, targets: Sequence[Target]) -> Iterator[list[str]]:
    shown = {variant.name for variant in results.variants}
    for case in results.cases:
        for target in targets:
            if target.variant not in shown or (target.cases and case.name not in target.cases):
                continue
            found, met = target.find(results, case.name) or (MISSING, False)
            sides = "/".join(filter(None, (target.variant, target.against)))
            words = (target.phase, sides, target.wanted, found)
            yield [case.name, *words, "yes" if met else "**no**"]


def where(results: Results) -> str:
    """Return how, where and when it was measured, in a line."""
    here, protocol = results.machine, results.protocol
    runs = "run" if protocol.repeats == 1 else "runs"
    return (
        f"{protocol.repeats} {runs} of each; {protocol.clock}; {protocol.isolation}; {here.cpu}, "
        f"{here.cores} cores, load before {here.load_before:.1f}; {results.created[:10]}."
    )


def machine(results: Results) -> str:
    """Return the same with the versions of the packages and of the code."""
    here, protocol = results.machine, results.protocol
    packages = ", ".join(f"{n} {here.packages[n]}" for n in PACKAGES if n in here.packages)
    return (
        f"{here.cpu}, {here.cores} cores, {size(here.memory_bytes)}, Python {here.python}, "
        f"{packages}; {results.created[:10]}. Medians of {protocol.repeats} runs in random order "
        f"after a warm-up; {protocol.isolation}. Load average before: {here.load_before:.2f}. "
        f"Code: {results.source.commit[:12]}{' and changes' if results.source.dirty else ''}."
    )


def in_mib(count: float) -> str:
    """Write bytes in MiB."""
    return f"{count / MIB:,.0f}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    r"""Return a Markdown table.

    >>> print(table(["a", "b"], [["x|y", "1"]], right=[1]))
    | a | b |
    |---|---:|
    | x\|y | 1 |
    """
    marks = ["---:" if i in set(right) else "---" for i in range(len(head))]
    cells = [head, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    first, *lines = (f"| {' | '.join(line)} |" for line in cells)
    return "\n".join([first, f"|{'|'.join(marks)}|", *lines])


def median(values: Iterable[float]) -> float:
    """Return the median of values."""
    return float(np.median(list(values)))


def _has(results: Results, case: str) -> bool:
    return any(each.name == case for each in results.cases)


def _variant(results: Results, name: str) -> Variant:
    return next(each for each in results.variants if each.name == name)
