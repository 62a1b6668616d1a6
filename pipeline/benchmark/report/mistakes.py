"""Where the answers are wrong: calibration and thresholds, residuals, confused classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from scipy.stats import binomtest

from pipeline.benchmark.diagnostics import QUANTILES
from pipeline.benchmark.report.figures import (
    Axis,
    Dot,
    Figure,
    Line,
    each_pipeline,
    each_variant,
    hue,
    join_points,
)
from pipeline.benchmark.report.format import MISSING, integer, share
from pipeline.benchmark.report.table import ReportTable, TableCell, Values, by_pair, pairs, row
from pipeline.benchmark.results import (
    CalibrationBin,
    Diagnostics,
    ResidualBin,
    Results,
    Threshold,
)
from pipeline.benchmark.statistics import measured

WIDEST = 12
"""Classes beyond which a matrix is no table that can be read."""
MOST_PAIRS = 5
_TITLES = {0.0: "Least", 0.5: "Median", 1.0: "Largest"}
IDEAL = "the diagonal"
HOW_CALIBRATED = (
    "A dot is a tenth of the test rows by probability: their mean probability, and the share that "
    "is positive, with its 95 % interval (Wilson's). On the diagonal, probabilities hold."
)
HOW_RESIDUAL = (
    "A residual is the truth less the prediction. A dot is a tenth of the test rows by prediction: "
    "their mean prediction and their median residual; the bar holds 80 % of their residuals."
)


def _of_cell(results: Results, pipeline: str, variant: str) -> Diagnostics | None:
    cell = measured(results, pipeline, variant)
    return cell.diagnostics if cell else None


def calibration_figures(results: Results) -> list[Figure]:
    """Return one figure per pipeline: the share of the positive class over the probability."""
    return each_pipeline(results, _calibration)


def _calibration(results: Results, pipeline: str) -> Figure | None:
    found = each_variant(results, lambda name: _bins(results, pipeline, name))
    if not found:
        return None
    end = max(max(b.predicted, _wilson(b)[1]) for bins in found.values() for b in bins)
    axis = Axis(0, end)
    ideal = Line(IDEAL, None, (), join_points([(0, 0), (end, end)], axis, axis), "what is ideal")
    lines = (_curve(name, hue(results, name), bins, axis) for name, bins in found.items())
    title = f"Share of the positive class over the probability, {pipeline}"
    return Figure(title, (*lines, ideal), axis.ticks(), down=axis.ticks(down=True))


def _bins(results: Results, pipeline: str, variant: str) -> list[CalibrationBin]:
    found = _of_cell(results, pipeline, variant)
    return found.calibration if found else []


def _wilson(each: CalibrationBin) -> tuple[float, float]:
    """Return the interval of a share; of rows with weights it is that of as many without."""
    interval = binomtest(round(each.positive * each.rows), each.rows).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


def _curve(label: str, number: int, bins: list[CalibrationBin], axis: Axis) -> Line:
    dots = tuple(
        Dot(axis(b.predicted), axis.down(b.positive), axis.down(_wilson(b)[0]),
            axis.down(_wilson(b)[1]),
            f"{share(b.positive)} positive at {share(b.predicted)}, {integer(b.rows)} rows")
        for b in bins
    )  # fmt: skip
    points = [(b.predicted, b.positive) for b in bins]
    return Line(label, number, dots, join_points(points, axis, axis), _words(dots))


def _words(dots: Iterable[Dot]) -> str:
    return ", ".join(dot.text for dot in dots)


@by_pair(
    "Probabilities, and classes by threshold",
    ("Calibration error", "Threshold", "Called positive", "Precision", "Recall",
     "False positive rate", "F1"),
    "rrrrrrr",
    "Calibration error: mean distance of the dots from the diagonal, weighted by their rows "
    "(expected calibration error, Naeini et al. 2015, with bins of as many rows each). Threshold: "
    "the probability from which a row is called positive; the one with the largest F1 is chosen on "
    "these very rows, which flatters it.",
)  # fmt: skip
def calibration_table(results: Results, pipeline: str, variant: str) -> Values | None:
    """Return the calibration error of each cell, and its classes at the threshold of most F1."""
    found = _of_cell(results, pipeline, variant)
    if not found or not found.calibration:
        return None
    best = next((each for each in found.thresholds if each.best), None)
    chosen = _rates(best) if best else [MISSING] * 6
    return f"{calibration_error(found.calibration):.4f}", *chosen


def calibration_error(bins: list[CalibrationBin]) -> float:
    """Return the expected calibration error.

    Examples
    --------
    >>> one = CalibrationBin(rows=3, weight=3.0, predicted=0.2, positive=0.3)
    >>> other = CalibrationBin(rows=1, weight=1.0, predicted=0.9, positive=0.4)
    >>> round(calibration_error([one, other]), 6)
    0.2
    """
    gaps = [abs(each.predicted - each.positive) for each in bins]
    return float(np.average(gaps, weights=[each.weight for each in bins]))


def _rates(each: Threshold) -> tuple[str, ...]:
    """Return threshold, share called positive, precision, recall, false positive rate and F1."""
    tp, fp, fn, tn = (
        each.true_positive, each.false_positive, each.false_negative, each.true_negative,
    )  # fmt: skip
    parts = (
        (tp + fp, tp + fp + fn + tn), (tp, tp + fp), (tp, tp + fn), (fp, fp + tn),
        (2 * tp, 2 * tp + fp + fn),
    )  # fmt: skip
    return f"{each.threshold:.3g}", *(f"{a / b:.4f}" if b else MISSING for a, b in parts)


def threshold_tables(results: Results) -> Iterator[ReportTable]:
    """Yield one table per pipeline: the classes at each threshold, by variant."""
    head = "Variant", "Threshold", "Called positive", "Precision", "Recall"
    for pipeline in results.pipelines:
        rows = [
            row(name, *_rates(each))
            for owner, name in pairs(results)
            if owner == pipeline.name and (found := _of_cell(results, owner, name))
            for each in found.thresholds
        ]
        if rows:
            yield ReportTable(
                f"Thresholds of {pipeline.name}", (*head, "False positive rate", "F1"), "lrrrrrr",
                tuple(rows), "",
            )  # fmt: skip


def residual_figures(results: Results) -> list[Figure]:
    """Return one figure per pipeline: residuals over the prediction."""
    return each_pipeline(results, _residuals)


def _residuals(results: Results, pipeline: str) -> Figure | None:
    found = each_variant(results, lambda name: _spread(results, pipeline, name))
    if not found:
        return None
    every = [each for bins in found.values() for each in bins]
    x = Axis(min(b.predicted for b in every), max(b.predicted for b in every))
    y = Axis(min(0.0, *(b.low for b in every)), max(0.0, *(b.high for b in every)))
    ideal = Line("no residual", None, (), join_points([(x.low, 0), (x.high, 0)], x, y), "0")
    lines = (_spread_line(name, hue(results, name), bins, x, y) for name, bins in found.items())
    title = f"Residuals over the prediction, {pipeline}"
    return Figure(title, (*lines, ideal), x.ticks(), down=y.ticks(down=True))


def _spread(results: Results, pipeline: str, variant: str) -> list[ResidualBin]:
    found = _of_cell(results, pipeline, variant)
    return found.residuals if found else []


def _spread_line(label: str, number: int, bins: list[ResidualBin], x: Axis, y: Axis) -> Line:
    dots = tuple(
        Dot(x(b.predicted), y.down(b.median), y.down(b.low), y.down(b.high),
            f"median residual {b.median:.4g} at {b.predicted:.4g}, {integer(b.rows)} rows")
        for b in bins
    )  # fmt: skip
    return Line(label, number, dots, (), _words(dots))


@by_pair(
    "Residuals of the test rows",
    tuple(_TITLES.get(share, f"{share:.0%}".replace("%", " %")) for share in QUANTILES),
    "r" * len(QUANTILES),
    "The truth less the prediction, in the target's unit; so many of the rows are below.",
)
def residual_table(results: Results, pipeline: str, variant: str) -> Values | None:
    """Return the quantiles of the residuals of each cell."""
    found = _of_cell(results, pipeline, variant)
    if not found or not found.quantiles:
        return None
    values = (found.quantiles.get(f"{share:g}") for share in QUANTILES)
    return [MISSING if value is None else f"{value:.4g}" for value in values]


def confusion_tables(results: Results) -> Iterator[tuple[str, ReportTable]]:
    """Yield a name and a matrix for each cell, where its classes are few enough for a table."""
    names = results.task.classes
    for pipeline, variant in pairs(results):
        found = _of_cell(results, pipeline, variant)
        if found and 0 < len(found.confusion) <= WIDEST and len(names) == len(found.confusion):
            caption = f"True class by predicted class, {pipeline}, {variant}"
            yield f"{pipeline}, {variant}", _matrix(caption, names, found.confusion)


def _matrix(caption: str, names: list[str], counts: list[list[float]]) -> ReportTable:
    columns = [sum(each) for each in zip(*counts, strict=True)]
    rows = [
        row(name, *(_count(value, i == j) for j, value in enumerate(values)),
            _share(values[i], sum(values)))
        for i, (name, values) in enumerate(zip(names, counts, strict=True))
    ]  # fmt: skip
    precision = [_share(counts[i][i], column) for i, column in enumerate(columns)]
    return ReportTable(
        caption,
        ("True class", *names, "Recall"),
        "l" + "r" * (len(names) + 1),
        (*rows, row("Precision", *precision, "")),
    )


def _count(value: float, right: bool) -> TableCell:
    said = integer(int(value)) if value == int(value) else f"{value:.1f}"
    return TableCell(said, "good" if right else "" if value else "quiet")


def _share(value: float, whole: float) -> str:
    return f"{value / whole:.4f}" if whole else MISSING


@by_pair(
    "Classes that are confused most",
    ("Rows", "Most confused: true class as predicted class, rows"),
    "rl",
    "Rows: test rows that were taken for another class, or their weights.",
)
def confused_table(results: Results, pipeline: str, variant: str) -> Values | None:
    """Return the pairs of classes that each cell confuses most."""
    found = _of_cell(results, pipeline, variant)
    if not found or not (found.confusion or found.confused):
        return None
    matrix = np.asarray(found.confusion)
    wrong = f"{matrix.sum() - np.trace(matrix):g}" if matrix.size else MISSING
    most = found.confused[:MOST_PAIRS]
    return wrong, ", ".join(f"{c.truth} as {c.predicted}: {c.rows:g}" for c in most) or "none"
