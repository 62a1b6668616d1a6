"""What each model uses: the importance of the table's columns, the variants side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from pipeline.benchmark.report.figures import Axis, Figure, Group, Mark, each_variant, hue
from pipeline.benchmark.report.format import NAMED, integer
from pipeline.benchmark.report.table import ReportTable, TableCell, row
from pipeline.benchmark.results import Importance, Results
from pipeline.benchmark.statistics import LEVEL, REFERENCE, measured

SHOWN = 10
"""Columns of a figure and a table; the rest is in the record."""
_EXACT = 1e-6
"""Half an interval below which the mean has four digits: it has too many decimals to print."""
HOW = (
    "A column's cells change places among the rows, and the metric gets worse by so much: near 0, "
    "the model does without the column, or has another one that says the same. The line is the "
    "95 % interval of the mean over the permutations (Student's): their noise, and not that of "
    "other rows or of another fit."
)


@dataclass(frozen=True)
class Use:
    """The importance of one column to one model, in units of the metric.

    Parameters
    ----------
    mean : float
    half : float
        Half the width of the interval of the mean; 0 of a single permutation.
    """

    mean: float
    half: float

    @property
    def text(self) -> str:
        """Both, to the decimals of the interval's second digit.

        >>> Use(1.4312, 0.0333).text, Use(0.000278, 0.000371).text, Use(812.3, 64.2).text
        ('1.431 ± 0.033', '0.00028 ± 0.00037', '812 ± 64')
        >>> Use(0.25, 0.0).text, Use(0.25, 1e-9).text
        ('0.25 ± 0', '0.25 ± 1e-09')
        """
        if self.half < _EXACT:
            return f"{self.mean:.4g} ± {self.half:.2g}"
        decimals = max(0, 1 - math.floor(math.log10(self.half)))
        return f"{self.mean:.{decimals}f} ± {self.half:.{decimals}f}"


def uses(importance: Importance) -> dict[str, Use]:
    """Return the importance of each column, the largest first.

    Examples
    --------
    >>> found = uses(Importance(columns=["a", "b"], losses=[[0.0, 0.1], [0.3, 0.3]]))
    >>> [(name, use.text) for name, use in found.items()]
    [('b', '0.3 ± 0'), ('a', '0.05 ± 0.64')]
    """
    found = {
        name: Use(float(np.mean(losses)), _half(np.asarray(losses)))
        for name, losses in zip(importance.columns, importance.losses, strict=True)
    }
    return dict(sorted(found.items(), key=lambda item: -item[1].mean))


def _half(losses: np.ndarray) -> float:
    n = len(losses)
    if n < 2:
        return 0.0
    return float(student.ppf((1 + LEVEL) / 2, n - 1) * losses.std(ddof=1) / np.sqrt(n))


def _found(results: Results, pipeline: str) -> dict[str, Importance]:
    """Return what the variants of a pipeline use, the reference first."""
    return each_variant(results, lambda name: _of_cell(results, pipeline, name))


def _of_cell(results: Results, pipeline: str, variant: str) -> Importance | None:
    cell = measured(results, pipeline, variant)
    return cell.importance if cell and cell.importance and cell.importance.columns else None


def _top(found: dict[str, Importance]) -> list[str]:
    """Return the columns that matter most to the first variant."""
    return [*uses(next(iter(found.values())))][:SHOWN]


def importance_sentences(results: Results) -> Iterator[str]:
    """Yield whether the variants use the same columns, and where nothing is known of it."""
    for pipeline in results.pipelines:
        found = _found(results, pipeline.name)
        for variant in results.variants:
            cell = measured(results, pipeline.name, variant.name)
            if cell and cell.importance and cell.importance.why:
                yield f"{pipeline.name}, {variant.name}: not known, {cell.importance.why}."
        if reference := found.get(REFERENCE):
            margin = results.task.margins.get(reference.metric, 0.0)
            for name, other in found.items():
                if name != REFERENCE:
                    said = _agreement(reference, other, margin)
                    yield f"{pipeline.name}: {name} {said}"


def _agreement(reference: Importance, other: Importance, margin: float) -> str:
    """Say whether two models use the same columns.

    They do where no column's importance differs by more than the metric's margin, or where the
    intervals meet.
    """
    if reference.columns != other.columns or reference.rows != other.rows:
        return "was asked about other columns or rows, so it is not compared."
    theirs, ours = uses(reference), uses(other)
    gaps = {name: abs(theirs[name].mean - ours[name].mean) for name in theirs}
    apart = [
        name
        for name, gap in sorted(gaps.items(), key=lambda item: -item[1])
        if gap > max(margin, theirs[name].half + ours[name].half)
    ]
    most = max(gaps, key=lambda name: gaps[name])
    if not apart:
        gap = f"the largest difference is {gaps[most]:.2g}, of {most!r}" if gaps[most] else ""
        return f"uses the same columns as the reference: {gap or 'all numbers are equal'}."
    named = ", ".join(
        f"{c!r} ({ours[c].mean:.3g}, not {theirs[c].mean:.3g})" for c in apart[:NAMED]
    )
    more = f" and {len(apart) - NAMED} more" if len(apart) > NAMED else ""
    return f"uses columns otherwise than the reference: {named}{more}."


def importance_figures(results: Results) -> list[Figure]:
    """Return one figure per pipeline: the columns that matter most, a mark for each variant."""
    every = (_figure(results, each.name) for each in results.pipelines)
    return [figure for figure in every if figure]


def _figure(results: Results, pipeline: str) -> Figure | None:
    found = _found(results, pipeline)
    if not found:
        return None
    values, columns = {name: uses(each) for name, each in found.items()}, _top(found)
    ends = [
        end
        for each in values.values()
        for name in columns
        if (use := each.get(name))
        for end in (0.0, use.mean - use.half, use.mean + use.half)
    ]
    axis = Axis(min(ends), max(ends))
    rows: list[Group] = []
    for column in columns:
        marks = tuple(
            _mark(name, hue(results, name), each[column], axis)
            for name, each in values.items()
            if column in each
        )
        rows.append(Group(column, marks, sum(each.height for each in rows)))
    metric = next(iter(found.values())).metric
    title = f"What {pipeline} uses: loss of {metric} with a column permuted"
    return Figure(title, tuple(rows), axis.ticks(), axis(0.0))


def _mark(label: str, number: int, use: Use, axis: Axis) -> Mark:
    low, high = axis(use.mean - use.half), axis(use.mean + use.half)
    return Mark(label, number, (), low, high, axis(use.mean), use.text)


def importance_tables(results: Results) -> Iterator[ReportTable]:
    """Yield one table per pipeline: the columns that matter most, by variant."""
    for pipeline in results.pipelines:
        if found := _found(results, pipeline.name):
            yield _table(pipeline.name, found)


def _table(pipeline: str, found: dict[str, Importance]) -> ReportTable:
    values, first = [uses(each) for each in found.values()], next(iter(found.values()))
    rest = len(first.columns) - SHOWN
    note = f"Of {integer(first.rows)} test rows and {len(first.losses[0])} permutations each."
    return ReportTable(
        f"What {pipeline} uses: loss of {first.metric} with a column permuted",
        ("Column", *found),
        "l" + "r" * len(found),
        tuple(row(name, *(_cell(each.get(name)) for each in values)) for name in _top(found)),
        note + (f" {rest} columns of less importance are in the record." if rest > 0 else ""),
    )


def _cell(use: Use | None) -> TableCell:
    return TableCell(use.text) if use else TableCell("–", "quiet")
