"""Tables and targets of a record: the docs have every figure from here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from pipeline.benchmark.judge.statistics import Ratio
from pipeline.task.numerals import MISSING
from tools.bench.record import Cell, Results


class Column(NamedTuple):
    """A column of a table: its title, what stands in the row of a cell, whether it is numbers."""

    title: str
    text: Callable[[Results, Cell], str]
    right: bool = True


def cells(results: Results, columns: Sequence[Column], variants: Sequence[str] = ()) -> str:
    """Return a table with a row for each case and variant, of these variants if any are named."""
    shown = [cell for cell in results.cells if not variants or cell.variant in variants]
    rows = [[column.text(results, cell) for column in columns] for cell in shown]
    right = [i for i, column in enumerate(columns) if column.right]
    return table([column.title for column in columns], rows, right)


def _variant(results: Results, cell: Cell) -> str:
    name = results.variant(cell.variant).title
    return f"{name} (failed: {cell.why})" if cell.why else name


CASE = Column("case", lambda results, cell: cell.case, right=False)
VARIANT = Column("variant", _variant, right=False)
"""The title of the variant, and why it failed."""


def took(title: str, phase: str, write: Callable[[float], str]) -> Column:
    """Return the column of the median seconds of a phase."""
    return Column(title, lambda _, cell: write(cell.median(phase)) if cell.ok else MISSING)


def value(title: str, name: str, write: Callable[[float], str]) -> Column:
    """Return the column of a value of the last run."""

    def text(results: Results, cell: Cell) -> str:
        found = cell.values.get(name)
        return MISSING if found is None else write(found)

    return Column(title, text)


def against(title: str, phase: str, other: str) -> Column:
    """Return the column of the speed beside another variant's."""

    def text(results: Results, cell: Cell) -> str:
        is_other = cell.variant == other
        return MISSING if is_other else speed(results.ratio(cell.case, phase, cell.variant, other))

    return Column(title, text)


def speed(found: Ratio | None) -> str:
    """Write how much faster or slower it is, with the interval.

    >>> speed(Ratio(0.125, (0.1, 0.2)))
    '8.0× faster (5.0–10.0)'
    >>> speed(Ratio(1.25, (0.8, 1.3)))
    '1.25× slower (1.30× slower to 1.25× faster)'
    >>> speed(Ratio(0.5, None))
    '2.00× faster'
    >>> speed(Ratio(1.001, (0.9, 1.1)))
    'as fast (1.10× slower to 1.11× faster)'
    """
    if found is None:
        return MISSING
    text = _pace(found.value) if abs(found.value - 1) >= 0.005 else "as fast"
    if found.interval is None:
        return text
    ends = sorted(found.interval, reverse=found.value <= 1)
    if found.outcome == "no difference shown":
        return f"{text} ({_pace(max(ends))} to {_pace(min(ends))})"
    digits = _digits(found.value)
    low, high = (f"{1 / end if found.value <= 1 else end:.{digits}f}" for end in ends)
    return f"{text} ({low}–{high})"


def _pace(ratio: float) -> str:
    factor, word = (1 / ratio, "faster") if ratio <= 1 else (ratio, "slower")
    return f"{factor:.{_digits(ratio)}f}× {word}"


def _digits(ratio: float) -> int:
    return 2 if 1 / 3 < ratio < 3 else 1


Found = tuple[str, bool]
"""What was measured, in words, and whether it meets the target."""


class Target(NamedTuple):
    """A target that was set before any run."""

    phase: str
    variant: str
    against: str
    wanted: str
    find: Callable[[Results, str], Found | None]
    """Returns what was measured in a case, or None where nothing was."""
    cases: Sequence[str] = ()
    """All if empty."""


def as_fast(
    phase: str, variant: str, against: str, least: float, cases: Sequence[str] = ()
) -> Target:
    """Return a target for how many times as fast as another a variant is; below 1 it is slower."""
    wanted = f"{least:g}× faster" if least >= 1 else f"≤ {1 / least:g}× slower"

    def find(results: Results, case: str) -> Found | None:
        found = results.ratio(case, phase, variant, against)
        return (speed(found), 1 / found.value >= least) if found else None

    return Target(phase, variant, against, wanted, find, cases)


def equal(phase: str, variant: str, against: str, most: float, cases: Sequence[str] = ()) -> Target:
    """Return a target for the largest difference of the values of two variants."""

    def find(results: Results, case: str) -> Found | None:
        ours, other = (results.cell(case, name) for name in (variant, against))
        if ours is None or other is None:
            return None
        found = max(
            np.inf if a is None or b is None else abs(a - b)
            for a, b in ((a, other.values.get(name)) for name, a in ours.values.items())
        )
        return f"{found:.1e} apart", found <= most

    wanted = f"≤ {most:.0e} apart" if most else "the same"
    return Target(phase, variant, against, wanted, find, cases)


class Outcome(NamedTuple):
    """What was measured of a target in a case."""

    name: str
    wanted: str
    measured: str
    met: bool


def outcomes(results: Results, targets: Sequence[Target]) -> list[Outcome]:
    """Compare a record with the targets, in every case that they are set for."""
    measured, rows = {variant.name for variant in results.variants}, []
    for case, (phase, variant, against, wanted, find, cases) in product(results.cases, targets):
        if variant in measured and case.name in (cases or [case.name]):
            found, met = find(results, case.name) or (MISSING, False)
            name = f"{case.name}, {phase}, `{variant}` and `{against}`"
            rows.append(Outcome(name, wanted, found, met))
    return rows


def verdicts(results: Results, targets: Sequence[Target]) -> str:
    """Return how many targets are met, and a line for each that is missed."""
    rows = outcomes(results, targets)
    missed = [row for row in rows if not row.met]
    text = f"Targets met: {len(rows) - len(missed)} of {len(rows)}."
    lines = [f"- {row.name}: {row.wanted} wanted, {row.measured} measured" for row in missed]
    return "\n".join([f"{text} Missed:", "", *lines]) if missed else text


def where(results: Results) -> str:
    """Return how, where and when it was measured, in a line."""
    here, protocol = results.machine, results.protocol
    counts = {len(cell.runs) for cell in results.cells if cell.ok}
    many = " to ".join(map(str, sorted({min(counts), max(counts)})))
    runs = "run" if counts == {1} else "runs"
    return (
        f"{many} {runs}; {protocol.clock}; {here.cpu}, {here.cores} cores, "
        f"load {here.load_before:.1f} before; {results.created[:10]}."
    )


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
