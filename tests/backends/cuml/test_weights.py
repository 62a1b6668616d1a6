"""Weights with which cuML's solver finds scikit-learn's optimum, on a solver like cuML's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC, LinearSVR

from pipeline.backends.cuml.cuml_model import Cuml
from pipeline.backends.cuml.weights import scale_weights
from pipeline.backends.gpu_rules import rule
from pipeline.errors import Unsupported
from tests.backends import quasi_newton
from tests.estimators import binary, classes, numbers

UNEVEN = np.random.default_rng(0).uniform(0.1, 3.0, 400)
WEIGHTS = {
    "that sum to 1": UNEVEN / UNEVEN.sum(),
    "below 1": UNEVEN / 10,
    "above 1": UNEVEN * 100,
    "with zeros": np.where(UNEVEN < 1, 0, UNEVEN),
}
SPECS = [
    LogisticRegression(C=0.05, tol=1e-7, max_iter=5000),
    LinearSVC(C=0.005, tol=1e-7, max_iter=100_000, dual=False),
    LinearSVR(
        C=0.005,
        epsilon=0.1,
        loss="squared_epsilon_insensitive",
        tol=1e-7,
        max_iter=100_000,
        dual=False,
    ),
]
CLASSIFIERS = SPECS[:2]
ROWS, OF_CLASSES = {"sample_weight": UNEVEN}, {"class_weight": "balanced"}


def named(value: Any) -> str:
    return type(value).__name__


def on_quasi_newton(estimator: Any) -> Cuml:
    row = rule(estimator)
    twin = f"{quasi_newton.__name__}.{named(estimator)}"
    return Cuml(estimator, replace(row, twin=twin), "step")


def check_optimum(estimator: Any, X: Any, y: Any, **params: Any) -> None:
    """Check that cuML's gradient is that of its value, and 0 where scikit-learn stops."""
    model = on_quasi_newton(estimator)
    model.fit(X, y, **params)
    of = model.native.objective
    reference = clone(estimator).fit(X, y, **params)
    optimum = np.append(reference.coef_, reference.intercept_)
    steepest = np.abs(of.gradient(0 * optimum)).max()
    assert np.abs(of.gradient(optimum)).max() < 1e-3 * steepest
    halfway = optimum / 2
    steps = 1e-6 * np.eye(len(halfway))
    slopes = [(of.value(halfway + each) - of.value(halfway - each)) / 2e-6 for each in steps]
    np.testing.assert_allclose(of.gradient(halfway), slopes, atol=1e-3 * steepest)


@pytest.mark.parametrize("kind", [None, *WEIGHTS])
@pytest.mark.parametrize("estimator", SPECS, ids=named)
def test_weighted_optimum_is_that_of_scikit_learn(estimator: Any, kind: str | None) -> None:
    X, y = numbers() if isinstance(estimator, LinearSVR) else binary()
    params = {"sample_weight": WEIGHTS[kind]} if kind else {}
    check_optimum(estimator, X, y, **params)


@pytest.mark.parametrize("of_classes", [{0: 0.2, 1: 3.0}, {1: 0.01}], ids=["both", "one"])
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=named)
def test_so_is_that_with_weights_of_classes(estimator: Any, of_classes: dict[int, float]) -> None:
    X, y = binary()
    weighted = clone(estimator).set_params(class_weight=of_classes)
    check_optimum(weighted, X, y)
    check_optimum(weighted, X, y, sample_weight=WEIGHTS["below 1"])


@pytest.mark.parametrize(
    ("estimator", "params"),
    [
        (LogisticRegression(), ROWS),
        (LogisticRegression(**OF_CLASSES), {}),
        (LinearSVC(**OF_CLASSES), {}),
    ],
    ids=["rows", "classes", "one class"],
)
def test_weights_of_three_classes_are_refused(estimator: Any, params: dict[str, Any]) -> None:
    X, y = classes(3)
    name = next(iter(params or OF_CLASSES))
    with pytest.raises(Unsupported, match=f"supports {name} for two classes only, but"):
        on_quasi_newton(estimator).fit(X, y, **params)


def test_labels_of_text_have_weights_by_name() -> None:
    y = np.array(["no", "no", "no", "yes"])
    rows, changed = scale_weights({"C": 2.0, "class_weight": {"yes": 5.0}}, ("C",), y, None)
    assert rows is None
    assert changed == {"C": 4.0, "class_weight": {"no": 0.5, "yes": 2.5}}
    with pytest.raises(ValueError, match="are not in class_weight"):
        scale_weights({"class_weight": {"other": 5.0}}, (), y, None)
