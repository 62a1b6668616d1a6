"""Where answers are right and wrong: calibration, residuals, confusion."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_outlier_detector
from sklearn.metrics import confusion_matrix

from pipeline.benchmark.record.results import CalibrationBin, Diagnostics
from pipeline.task.metrics import part
from pipeline.task.task import Kind
from pipeline.typing import Estimator

BINS = 10
"""By quantiles, of as many rows each; fewer where answers are equal."""
QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
MOST_CLASSES = 20
"""Classes beyond which no matrix is kept."""


def diagnose(
    y_true: np.ndarray, predicted: np.ndarray, kind: Kind, classes: Any, program: Estimator
) -> Diagnostics | None:
    """Return where answers for the test rows are right and wrong.

    Parameters
    ----------
    y_true, predicted : numpy.ndarray, shape (n_test,)
        As `pipeline.task.metrics` has them.
    kind : {"binary", "multiclass", "regression", "ranking", "clusters"}
    classes : numpy.ndarray or None
        For whose places truth and prediction stand.
    program : estimator
        That answered; the scores of a detector of outliers are no probabilities.

    Returns
    -------
    Diagnostics or None
        None where the kind has none.
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
    if kind != "binary" or is_outlier_detector(program) or said.min() < 0 or said.max() > 1:
        return None
    return Diagnostics(calibration=calibration(truth, said, weights))


def calibration(truth: np.ndarray, chance: np.ndarray, weights: np.ndarray) -> list[CalibrationBin]:
    """Return the share of the positive class over the probability.

    The bins are those of `sklearn.calibration.calibration_curve` with ``strategy="quantile"``,
    which takes no weights and says no counts.

    Parameters
    ----------
    truth : numpy.ndarray of {0, 1}, shape (n_rows,)
    chance, weights : numpy.ndarray of float, shape (n_rows,)

    Examples
    --------
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
