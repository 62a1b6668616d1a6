"""What each model uses: the importance of the table's columns, the variants side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from pipeline.benchmark.judge.statistics import LEVEL, REFERENCE, measured
from pipeline.benchmark.record.results import Importance, Results
from pipeline.benchmark.report.figures import Bar, Bars, Part, Scale, each_variant, hue
from pipeline.task.numerals import NAMED, count, integer

SHOWN = 10
"""Columns of a figure; the rest is in the record."""
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


def importance_figure(results: Results, pipeline: str) -> Bars | None:
    """Return the columns that matter most, a mark for each variant."""
    found = _found(results, pipeline)
    if not found:
        return None
    values = {name: uses(each) for name, each in found.items()}
    marks = [
        (column, name, each[column])
        for column in _top(found)
        for name, each in values.items()
        if column in each
    ]
    ends = [end for *_, use in marks for end in (use.mean - use.half, use.mean + use.half)]
    scale = Scale(min(0.0, *ends), max(0.0, *ends))
    first, bars = next(iter(found)), []
    for column, name, use in marks:
        interval = scale.span("range", use.mean - use.half, use.mean + use.half)
        parts = interval, Part("point", scale(use.mean))
        label = column if name == first else ""
        bars.append(Bar(label, f"{name} {use.text}", parts, hue(results, name)))
    asked = found[first]
    rest = len(asked.columns) - SHOWN
    title = (
        f"What {pipeline} uses: loss of {asked.metric} with a column permuted, of "
        f"{integer(asked.rows)} test rows and {len(asked.losses[0])} permutations"
        + (f"; {count(rest, 'column')} of less importance in the record" if rest > 0 else "")
    )
    return Bars(title, tuple(bars), scale.ticks(), scale(0.0))
