"""What each model uses: the importance of the table's columns, the variants side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from pipeline.benchmark.judge.statistics import LEVEL, REFERENCE, measured
from pipeline.benchmark.record.results import Importance, Results
from pipeline.benchmark.report.figures import Bar, Bars, Scale, each_variant, hue
from pipeline.task.numerals import count, integer, named

SHOWN = 10
"""Columns of a figure; the rest is in the record."""
HOW = (
    "A column's cells change places among the rows, and the metric gets worse by so much: near 0, "
    "the model does without the column, or has another one that says the same. The line is the "
    "95 % interval of the mean over the permutations (Student's): their noise, and not that of "
    "other rows or of another fit."
)


class Use(NamedTuple):
    """The importance of a column to a model, in units of the metric, and half its interval."""

    mean: float
    half: float


def uses(importance: Importance) -> dict[str, Use]:
    """Return the importance of each column, the largest first.

    Examples
    --------
    >>> found = uses(Importance(columns=["a", "b"], losses=[[0.0, 0.1], [0.3, 0.3]]))
    >>> [(name, round(use.mean, 3), round(use.half, 3)) for name, use in found.items()]
    [('b', 0.3, 0.0), ('a', 0.05, 0.635)]
    """
    losses = np.asarray(importance.losses)
    means, n = losses.mean(axis=1), losses.shape[1]
    halves = np.zeros(len(losses))
    if n > 1:
        halves = student.ppf((1 + LEVEL) / 2, n - 1) * losses.std(axis=1, ddof=1) / np.sqrt(n)
    order = np.argsort(-means, kind="stable")
    return {importance.columns[i]: Use(float(means[i]), float(halves[i])) for i in order}


def _found(results: Results, pipeline: str) -> dict[str, Importance]:
    """Return what the variants of a pipeline use, the reference first."""
    cells = each_variant(results, lambda name: measured(results, pipeline, name))
    every = {name: cell.importance for name, cell in cells.items() if cell.importance}
    return {name: found for name, found in every.items() if found.columns}


def importance_sentences(results: Results) -> Iterator[str]:
    """Yield whether the variants use the same columns, and where nothing is known of it."""
    for cell in results.cells:
        if cell.importance and cell.importance.why:
            yield f"{cell.pipeline}, {cell.variant}: not known, {cell.importance.why}."
    for pipeline in results.pipelines:
        found = _found(results, pipeline.name)
        if reference := found.pop(REFERENCE, None):
            margin = results.task.margins.get(reference.metric, 0.0)
            for name, other in found.items():
                yield f"{pipeline.name}: {name} {_agreement(reference, other, margin)}"


def _agreement(reference: Importance, other: Importance, margin: float) -> str:
    """Say whether two models use the same columns.

    They do where no column's importance differs by more than the metric's margin, or where the
    intervals meet.
    """
    if reference.columns != other.columns or reference.rows != other.rows:
        return "was asked about other columns or rows, so it is not compared."
    theirs, ours = uses(reference), uses(other)
    apart = [
        name
        for name, use in theirs.items()
        if abs(use.mean - ours[name].mean) > max(margin, use.half + ours[name].half)
    ]
    same = "uses the same columns as the reference."
    return f"uses these columns otherwise than the reference: {named(apart)}." if apart else same


def importance_figure(results: Results, pipeline: str) -> Bars | None:
    """Return the columns that matter most, a mark for each variant."""
    found = _found(results, pipeline)
    if not found:
        return None
    first, asked = next(iter(found.items()))
    values = {name: uses(each) for name, each in found.items()}
    marks = [
        (column, name, each[column])
        for column in [*uses(asked)][:SHOWN]
        for name, each in values.items()
        if column in each
    ]
    ends = [end for *_, use in marks for end in (use.mean - use.half, use.mean + use.half)]
    scale = Scale(min(0.0, *ends), max(0.0, *ends))
    bars = []
    for column, name, use in marks:
        parts = scale.interval(use.mean - use.half, use.mean, use.mean + use.half)
        label = column if name == first else ""
        bars.append(
            Bar(label, f"{name} {use.mean:.3g} ± {use.half:.2g}", parts, hue(results, name))
        )
    rest = len(asked.columns) - SHOWN
    title = (
        f"What {pipeline} uses: loss of {asked.metric} with a column permuted, of "
        f"{integer(asked.rows)} test rows and {len(asked.losses[0])} permutations"
        + (f"; {count(rest, 'column')} of less importance in the record" if rest > 0 else "")
    )
    return Bars(title, tuple(bars), scale.ticks(), scale(0.0))
