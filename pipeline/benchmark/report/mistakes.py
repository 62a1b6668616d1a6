"""Where the predictions are wrong: ROC, calibration, residuals, confused classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scipy.stats import binomtest

from pipeline.benchmark.judge.diagnostics import QUANTILES
from pipeline.benchmark.judge.statistics import measured
from pipeline.benchmark.record.results import Diagnostics, Results
from pipeline.benchmark.report.figures import Curves, Line, each_variant, hue
from pipeline.benchmark.report.html_table import ReportTable, TableCell, Values, by_pair, pairs, row
from pipeline.task.numerals import MISSING, metric

HOW_CURVED = (
    "ROC and precision–recall: over all thresholds of the probability or score. The areas are of "
    "all test rows; the lines have at most 100 points. The line of the first variant is the "
    "widest, so that equal lines stay visible. Calibration: a dot is a tenth of the test rows, "
    "ordered by probability, with the 95 % interval (Wilson) of the share that is positive. On the "
    "diagonal, the probabilities are right."
)
Matrix = tuple[tuple[float, ...], ...]
_TITLES = {0.0: "Least", 0.5: "Median", 1.0: "Largest"}


def _of_cell(results: Results, pipeline: str, variant: str) -> Diagnostics:
    cell = measured(results, pipeline, variant)
    return (cell.diagnostics if cell else None) or Diagnostics()


def curves(results: Results, pipeline: str) -> Iterator[Curves]:
    """Yield ROC, precision–recall and calibration of a pipeline of a binary task."""
    if lines := _lines(results, pipeline, "roc", "roc_auc"):
        chance = Line("random scores", None, (0, 1), (0, 1), "ideal")
        axes = "false positive rate", "true positive rate"
        yield Curves(f"ROC curve, {pipeline}", (*lines, chance), *axes)
    if lines := _lines(results, pipeline, "precision_recall", "average precision"):
        # Of the least threshold, the precision is the share of the positive class.
        share = lines[0].y[-1]
        chance = Line("random scores", None, (0, 1), (share, share), "ideal")
        title = f"Precision–recall curve, {pipeline}"
        yield Curves(title, (*lines, chance), "recall", "precision")
    if calibrated := calibration_figure(results, pipeline):
        yield calibrated


def _lines(results: Results, pipeline: str, curve_name: str, area: str) -> list[Line]:
    """Return the curve of this name in the diagnostics of each variant, with what its area is."""
    found = each_variant(results, lambda n: getattr(_of_cell(results, pipeline, n), curve_name))
    return [
        Line(f"{name}, {area} {metric(curve.area)}", hue(results, name), curve.x, curve.y, "line")
        for name, curve in found.items()
    ]


def calibration_figure(results: Results, pipeline: str) -> Curves | None:
    """Return the share of the positive class over the probability."""
    found = each_variant(results, lambda name: _of_cell(results, pipeline, name).calibration)
    if not found:
        return None
    lines = []
    for name, bins in found.items():
        # Of rows with weights, the intervals are those of as many without.
        tests = [binomtest(round(each.positive * each.rows), each.rows) for each in bins]
        ends = [each.proportion_ci(method="wilson") for each in tests]
        x, y = [each.predicted for each in bins], [each.positive for each in bins]
        low, high = [each.low for each in ends], [each.high for each in ends]
        lines.append(Line(name, hue(results, name), x, y, "both", low, high))
    end = max(max(*line.x, *line.high) for line in lines)
    ideal = Line("the diagonal", None, (0, end), (0, end), "ideal")
    title = f"Calibration, {pipeline}"
    return Curves(title, (*lines, ideal), "mean probability", "share that is positive")


@by_pair(
    "Residuals of the test rows",
    tuple(_TITLES.get(share, f"{share:.0%}".replace("%", " %")) for share in QUANTILES),
    "r" * len(QUANTILES),
    "The truth less the prediction, in the target's unit; so many of the rows are below.",
)
def residual_table(results: Results, pipeline: str, variant: str) -> Values | None:
    """Return the quantiles of the residuals of each cell."""
    found = _of_cell(results, pipeline, variant).quantiles
    values = (found.get(f"{share:g}") for share in QUANTILES)
    return [MISSING if value is None else f"{value:.4g}" for value in values] if found else None


def confusion_tables(results: Results) -> Iterator[ReportTable]:
    """Yield the true classes by the predicted ones, one matrix for the variants that agree."""
    agreed: dict[tuple[str, Matrix], list[str]] = {}
    for pipeline, variant in pairs(results):
        counts = _of_cell(results, pipeline, variant).confusion
        if counts and len(counts) == len(results.task.classes):
            agreed.setdefault((pipeline, tuple(map(tuple, counts))), []).append(variant)
    for (pipeline, matrix), variants in agreed.items():
        yield _matrix(results.task.classes, pipeline, variants, matrix)


def _matrix(
    names: Sequence[str], pipeline: str, variants: Sequence[str], counts: Matrix
) -> ReportTable:
    columns = [sum(each) for each in zip(*counts, strict=True)]
    precision = [_share(counts[i][i], column) for i, column in enumerate(columns)]
    rows = (
        row(name, *map(_count, values), _share(values[i], sum(values)))
        for i, (name, values) in enumerate(zip(names, counts, strict=True))
    )
    return ReportTable(
        f"True class by predicted class, {pipeline}, {', '.join(variants)}",
        ("True class", *names, "Recall"),
        "l" + "r" * (len(names) + 1),
        (*rows, row("Precision", *precision, "")),
    )


def _count(value: float) -> TableCell:
    return TableCell(f"{value:.1f}" if value % 1 else f"{value:,.0f}", "" if value else "quiet")


def _share(value: float, whole: float) -> str:
    return f"{value / whole:.4f}" if whole else MISSING
