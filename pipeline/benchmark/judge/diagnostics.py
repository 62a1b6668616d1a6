"""Where predictions are right and wrong: calibration, ROC, residuals, confusion."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_outlier_detector
from sklearn.metrics import (
    average_precision_score,
    confusion_matrix,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from pipeline.benchmark.record.results import CalibrationBin, Curve, Diagnostics
from pipeline.task.metrics import part
from pipeline.task.task import Kind
from pipeline.typing import Estimator

BINS = 10
"""By quantiles, of as many rows each; fewer where predictions are equal."""
POINTS = 100
"""Most points of a curve that are kept."""
QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
MOST_CLASSES = 20
"""Classes beyond which no matrix is kept."""


def diagnose(
    y_true: np.ndarray, predicted: np.ndarray, kind: Kind, classes: Any, program: Estimator
) -> Diagnostics | None:
    """Return where predictions for the test rows are right and wrong; None where the kind has none.

    Truth and predictions are as `pipeline.task.metrics` has them. The program says whether the
    predictions are probabilities, which the scores of a detector of outliers are not.
    """
    truth, said = part(y_true, "target"), part(predicted, "prediction")
    if truth is None or said is None:
        return None
    weights = part(y_true, "weight")
    weights = np.ones(len(truth)) if weights is None else weights.astype(float)
    if kind == "regression":
        rest = (truth - said).astype(float)
        # Of the methods of NumPy, this one alone takes weights.
        found = np.quantile(rest, QUANTILES, weights=weights, method="inverted_cdf")
        named = zip(QUANTILES, found, strict=True)
        return Diagnostics(quantiles={f"{share:g}": float(value) for share, value in named})
    if kind == "multiclass" and len(classes) > MOST_CLASSES:
        return Diagnostics()
    if kind == "multiclass":
        labels = np.arange(len(classes))
        matrix = confusion_matrix(truth, said, labels=labels, sample_weight=weights)
        return Diagnostics(confusion=matrix.astype(float).tolist())
    if kind != "binary":
        return None
    chances = not is_outlier_detector(program) and said.min() >= 0 and said.max() <= 1
    roc, precision_recall = curves(truth, said, weights)
    bins = calibration(truth, said, weights) if chances else []
    return Diagnostics(calibration=bins, roc=roc, precision_recall=precision_recall)


def curves(
    truth: np.ndarray, score: np.ndarray, weights: np.ndarray
) -> tuple[Curve | None, Curve | None]:
    """Return the ROC curve and the precision–recall curve, thinned to `POINTS` points.

    There are none where the rows that count are all of one class, or a score is not finite.

    >>> roc, both = curves(np.array([0, 1, 1]), np.array([0.2, 0.1, 0.7]), np.ones(3))
    >>> roc.x, roc.y, roc.area
    ([0.0, 0.0, 1.0, 1.0], [0.0, 0.5, 0.5, 1.0], 0.5)
    >>> both.x, both.y
    ([0.0, 0.5, 0.5, 1.0], [1.0, 1.0, 0.5, 0.66667])
    """
    if len(np.unique(truth[weights > 0])) < 2 or not np.all(np.isfinite(score)):
        return None, None
    asked = {"sample_weight": weights, "drop_intermediate": True}
    false, true, _ = roc_curve(truth, score, **asked)
    precision, recall, _ = precision_recall_curve(truth, score, **asked)
    roc_auc = roc_auc_score(truth, score, sample_weight=weights)
    average = average_precision_score(truth, score, sample_weight=weights)
    return _thinned(false, true, roc_auc), _thinned(recall[::-1], precision[::-1], average)


def _thinned(x: np.ndarray, y: np.ndarray, area: float) -> Curve:
    """Return a curve of at most `POINTS` points, evenly spaced along it."""
    if len(x) > POINTS:
        way = np.cumsum(np.hypot(np.diff(x, prepend=x[0]), np.diff(y, prepend=y[0])))
        kept = np.unique(np.searchsorted(way, np.linspace(0, way[-1], POINTS)))
        x, y = x[kept], y[kept]
    return Curve(x=x.round(5).tolist(), y=y.round(5).tolist(), area=float(area))


def calibration(truth: np.ndarray, chance: np.ndarray, weights: np.ndarray) -> list[CalibrationBin]:
    """Return the share of the positive class over the probability.

    The bins are those of `sklearn.calibration.calibration_curve` with ``strategy="quantile"``,
    which takes no weights and says no counts.

    >>> chance = np.array([0.1, 0.1, 0.8, 0.8])
    >>> found = calibration(np.array([0, 0, 1, 0]), chance, np.ones(4))
    >>> [(each.rows, each.predicted, each.positive) for each in found]
    [(2, 0.1, 0.0), (2, 0.8, 0.5)]
    """
    edges = np.quantile(chance, np.linspace(0, 1, BINS + 1))
    places = np.searchsorted(edges[1:-1], chance)
    bins = (np.flatnonzero(places == place) for place in np.unique(places))
    return [
        CalibrationBin(
            rows=len(rows),
            weight=float(weights[rows].sum()),
            predicted=float(np.average(chance[rows], weights=weights[rows])),
            positive=float(np.average(truth[rows], weights=weights[rows])),
        )
        for rows in bins
        if weights[rows].sum() > 0
    ]
