"""Where the predictions are wrong: calibration and thresholds, residuals, confused classes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.stats import binomtest

from pipeline.benchmark.judge.diagnostics import QUANTILES
from pipeline.benchmark.judge.statistics import measured
from pipeline.benchmark.record.results import (
    CalibrationBin,
    Diagnostics,
    ResidualBin,
    Results,
    Threshold,
)
from pipeline.benchmark.report.figures import Curves, Line, each_variant, hue
from pipeline.benchmark.report.table import ReportTable, TableCell, Values, by_pair, pairs, row
from pipeline.task.numerals import MISSING, integer

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


def calibration_figure(results: Results, pipeline: str) -> Curves | None:
    """Return the share of the positive class over the probability."""
    found = each_variant(results, lambda name: _bins(results, pipeline, name))
    if not found:
        return None
    lines = [_curve(name, hue(results, name), bins) for name, bins in found.items()]
    end = max(max(*line.x, *line.high) for line in lines)
    ideal = Line(IDEAL, None, (0, end), (0, end), "ideal")
    title = f"Share of the positive class over the probability, {pipeline}"
    return Curves(title, (*lines, ideal), "mean probability", "share that is positive")


def _bins(results: Results, pipeline: str, variant: str) -> list[CalibrationBin]:
    found = _of_cell(results, pipeline, variant)
    return found.calibration if found else []


def _curve(label: str, number: int, bins: list[CalibrationBin]) -> Line:
    """Return shares with Wilson's intervals; of rows with weights those of as many without."""
    tests = [binomtest(round(each.positive * each.rows), each.rows) for each in bins]
    ends = [each.proportion_ci(method="wilson") for each in tests]
    x, y = [each.predicted for each in bins], [each.positive for each in bins]
    return Line(label, number, x, y, "both", [e.low for e in ends], [e.high for e in ends])


@by_pair(
    "Probabilities, and classes by threshold",
    (
        "Calibration error",
        "Threshold",
        "Called positive",
        "Precision",
        "Recall",
        "False positive rate",
        "F1",
    ),
    "rrrrrrr",
    "Calibration error: mean distance of the dots from the diagonal, weighted by their rows "
    "(expected calibration error, Naeini et al. 2015, with bins of as many rows each). Threshold: "
    "the probability from which a row is called positive; the one with the largest F1 is chosen on "
    "these very rows, which flatters it.",
)
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
        each.true_positive,
        each.false_positive,
        each.false_negative,
        each.true_negative,
    )
    parts = (
        (tp + fp, tp + fp + fn + tn),
        (tp, tp + fp),
        (tp, tp + fn),
        (fp, fp + tn),
        (2 * tp, 2 * tp + fp + fn),
    )
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
                f"Thresholds of {pipeline.name}",
                (*head, "False positive rate", "F1"),
                "lrrrrrr",
                tuple(rows),
                "",
            )


def residual_figure(results: Results, pipeline: str) -> Curves | None:
    """Return the residuals over the prediction."""
    found = each_variant(results, lambda name: _spread(results, pipeline, name))
    if not found:
        return None
    every = [each.predicted for bins in found.values() for each in bins]
    ideal = Line("no residual", None, (min(every), max(every)), (0, 0), "ideal")
    lines = [_spread_line(name, hue(results, name), bins) for name, bins in found.items()]
    title = f"Residuals over the prediction, {pipeline}"
    return Curves(title, (*lines, ideal), "prediction", "residual")


def _spread(results: Results, pipeline: str, variant: str) -> list[ResidualBin]:
    found = _of_cell(results, pipeline, variant)
    return found.residuals if found else []


def _spread_line(label: str, number: int, bins: list[ResidualBin]) -> Line:
    x, y = [each.predicted for each in bins], [each.median for each in bins]
    return Line(label, number, x, y, "dots", [b.low for b in bins], [b.high for b in bins])


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


def confusion_tables(results: Results) -> Iterator[ReportTable]:
    """Yield a matrix for each cell, where its classes are few enough for a table."""
    names = results.task.classes
    for pipeline, variant in pairs(results):
        found = _of_cell(results, pipeline, variant)
        if found and 0 < len(found.confusion) <= WIDEST and len(names) == len(found.confusion):
            caption = f"True class by predicted class, {pipeline}, {variant}"
            yield _matrix(caption, names, found.confusion)


def _matrix(caption: str, names: list[str], counts: list[list[float]]) -> ReportTable:
    columns = [sum(each) for each in zip(*counts, strict=True)]
    rows = [
        row(
            name,
            *(_count(value, i == j) for j, value in enumerate(values)),
            _share(values[i], sum(values)),
        )
        for i, (name, values) in enumerate(zip(names, counts, strict=True))
    ]
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
