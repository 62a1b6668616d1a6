"""Where answers are wrong, against scikit-learn's own functions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    average_precision_score,
    confusion_matrix,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from pipeline.benchmark.judge import diagnostics
from pipeline.benchmark.judge.diagnostics import diagnose
from pipeline.benchmark.record.results import Diagnostics
from pipeline.task import metrics


def binary(n: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    """Return truth and probabilities, many of them equal."""
    random = np.random.default_rng(0)
    chance = np.round(random.beta(1, 4, n), 2)
    return (random.random(n) < chance**1.2).astype(int), chance


def found(*args: object) -> Diagnostics:
    result = diagnose(*args, LogisticRegression())  # type: ignore[arg-type]
    assert result is not None
    return result


def test_calibration_is_that_of_scikit_learn() -> None:
    truth, chance = binary()
    bins = found(truth, chance, "binary", None).calibration
    positive, predicted = calibration_curve(truth, chance, n_bins=10, strategy="quantile")
    np.testing.assert_allclose([each.positive for each in bins], positive, rtol=1e-12)
    np.testing.assert_allclose([each.predicted for each in bins], predicted, rtol=1e-12)
    assert sum(each.rows for each in bins) == len(truth)


def test_equal_probabilities_are_in_one_bin() -> None:
    bins = found(np.array([0, 1, 1, 1]), np.full(4, 0.5), "binary", None).calibration
    assert [(each.rows, each.positive) for each in bins] == [(4, 0.75)]


def test_scores_of_outliers_are_no_probabilities() -> None:
    truth, chance = binary(50)
    for scores, program in ((chance, IsolationForest()), (chance * 3, LogisticRegression())):
        result = diagnose(truth, scores, "binary", None, program)
        assert result is not None
        assert result.calibration == []
        assert result.roc is not None
        assert result.roc.area == roc_auc_score(truth, scores)


@pytest.mark.parametrize("rows", [200, 5_000])
def test_curves_are_those_of_scikit_learn_in_few_points(rows: int) -> None:
    random = np.random.default_rng(5)
    truth, weight = random.integers(0, 2, rows), random.integers(0, 4, rows).astype(float)
    chance = 1 / (1 + np.exp(-(truth - 0.5 + random.normal(size=rows))))
    result = found(metrics.fields(target=truth, weight=weight), chance, "binary", None)
    roc, both = result.roc, result.precision_recall
    assert roc is not None
    assert both is not None
    assert roc.area == roc_auc_score(truth, chance, sample_weight=weight)
    assert both.area == average_precision_score(truth, chance, sample_weight=weight)
    false, true, _ = roc_curve(truth, chance, sample_weight=weight)
    precision, recall, _ = precision_recall_curve(truth, chance, sample_weight=weight)
    for curve, x, y in ((roc, false, true), (both, recall, precision)):
        assert 50 < len(curve.x) <= diagnostics.POINTS
        points = np.column_stack([x, y])
        each = np.column_stack([curve.x, curve.y])
        apart = np.linalg.norm(each[:, None] - points, axis=2)
        assert apart.min(axis=1).max() < 1e-5, "each kept point is one of the curve's"
        assert apart.min(axis=0).max() < 0.05, "no part of the curve is without a point"
    assert np.trapezoid(roc.y, roc.x) == pytest.approx(roc.area, abs=0.005)


def test_one_class_or_a_score_that_is_not_finite_has_no_curve() -> None:
    one = found(np.ones(9), np.linspace(0, 1, 9), "binary", None)
    assert (one.roc, one.precision_recall) == (None, None)
    odd = found(np.arange(9) % 2, np.array([np.inf, *range(8)]), "binary", None)
    assert odd.roc is None


def test_residuals_are_those_of_a_quantile() -> None:
    random = np.random.default_rng(2)
    said = random.normal(10, 3, 2000)
    truth = said + random.normal(0, 1, 2000) * (1 + (said > 10))
    result = found(truth, said, "regression", None)
    rest = truth - said
    for share, value in result.quantiles.items():
        assert value == np.quantile(rest, float(share), method="inverted_cdf")


def test_rows_without_weight_are_no_residuals() -> None:
    truth = metrics.fields(target=[1.0, 2.0, 90.0], weight=[1.0, 1.0, 0.0])
    result = found(truth, np.zeros(3), "regression", None)
    assert result.quantiles["1"] == 2.0


def test_confusion_is_that_of_scikit_learn() -> None:
    random = np.random.default_rng(3)
    truth, said = random.integers(0, 4, 500), random.integers(0, 4, 500)
    names = np.array(["a", "b", "c", "d", "never seen"])
    result = found(truth, metrics.fields(prediction=said), "multiclass", names)
    assert result.confusion == confusion_matrix(truth, said, labels=range(5)).tolist()


def test_many_classes_have_no_matrix() -> None:
    n = diagnostics.MOST_CLASSES + 1
    places = np.arange(n)
    result = found(places, np.roll(places, 1), "multiclass", places)
    assert result.confusion == []


@pytest.mark.parametrize("kind", ["ranking", "clusters"])
def test_other_kinds_have_none(kind: str) -> None:
    assert diagnose(np.arange(3), np.arange(3), kind, None, None) is None  # type: ignore[arg-type]
