"""`Accelerated` on a GPU against scikit-learn on the CPU, strict, on generated tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pipeline import Accelerated
from tests.contract.cases import TRANSFORMERS, Case, dense, preprocessing, table, target

ROWS = 4_000
LOGISTIC = LogisticRegression(C=0.5, tol=1e-6, max_iter=1000)
FOREST = RandomForestClassifier(50, max_depth=8, random_state=0)


def boosting() -> Any:
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBClassifier(n_estimators=20, max_depth=3, random_state=0)


def program(name: str) -> Any:
    estimators = {"logistic": lambda: LOGISTIC, "forest": lambda: FOREST, "boosting": boosting}
    return make_pipeline(preprocessing(), clone(estimators[name]()))


def data(n_rows: int = ROWS) -> tuple[pd.DataFrame, np.ndarray]:
    X = table(n_rows)
    return X, target(X)


@pytest.mark.parametrize("case", TRANSFORMERS.values(), ids=list(TRANSFORMERS))
def test_transformer_gives_what_sklearn_gives(case: Case) -> None:
    X = table(ROWS)
    y = target(X, case.n_classes)
    model = Accelerated(clone(case.estimator), device="cuda", dtype="float64").fit(X, y)
    reference = clone(case.estimator).fit(X, y)
    expected = dense(reference.transform(X))
    for found in (model.transform(X), dense(model.to_sklearn().transform(X))):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=case.atol)


@pytest.mark.parametrize("case", TRANSFORMERS.values(), ids=list(TRANSFORMERS))
def test_transformer_takes_a_table_that_is_on_the_device(case: Case) -> None:
    import cudf

    X = table(ROWS)
    model = Accelerated(clone(case.estimator), device="cuda").fit(X, target(X, case.n_classes))
    expected = model.transform(X)
    np.testing.assert_array_equal(model.transform(cudf.from_pandas(X)), expected)


def test_arrays_take_the_same_way() -> None:
    X = np.random.default_rng(0).normal(5, 2, (500, 3))
    model = Accelerated(StandardScaler(), device="cuda", dtype="float64").fit(X)
    np.testing.assert_allclose(model.transform(X), StandardScaler().fit_transform(X), rtol=1e-9)


def test_logistic_regression_agrees_with_sklearn() -> None:
    X, y = data()
    model = Accelerated(program("logistic"), device="cuda").fit(X, y)
    reference = program("logistic").fit(X, y)
    difference = np.abs(model.predict_proba(X) - reference.predict_proba(X))
    assert difference.mean() < 0.01


@pytest.mark.parametrize("name", ["logistic", "forest", "boosting"])
def test_classifier_is_as_good_as_on_the_cpu(name: str) -> None:
    X, y = data()
    X_new, y_new = table(ROWS, seed=7), target(table(ROWS, seed=7))
    model = Accelerated(program(name), device="cuda").fit(X, y)
    reference = program(name).fit(X, y)
    assert abs(model.score(X_new, y_new) - reference.score(X_new, y_new)) < 0.05
    assert {placement.device for placement in model.plan_.placements} == {"cuda"}


@pytest.mark.parametrize("name", ["logistic", "forest", "boosting"])
def test_handed_over_model_predicts_the_same(name: str) -> None:
    X, y = data()
    model = Accelerated(program(name), device="cuda").fit(X, y)
    difference = np.abs(model.predict_proba(X) - model.to_sklearn().predict_proba(X))
    # A value within rounding of a split may fall on its other side.
    assert (difference > 1e-3).mean() < 0.01


@pytest.mark.parametrize("name", ["logistic", "forest"])
def test_text_labels(name: str) -> None:
    X, y = data()
    labels = np.array(["no", "yes"], dtype=object)[y]
    model = Accelerated(program(name), device="cuda").fit(X, labels)
    assert set(model.predict(X)) == {"no", "yes"}
    assert (model.predict(X) == labels).mean() > 0.7
    assert list(model.to_sklearn().classes_) == ["no", "yes"]


def test_estimator_without_preprocessing_takes_a_frame() -> None:
    X, y = data()
    numbers = X[["count", "member"]]
    model = Accelerated(LOGISTIC, device="cuda").fit(numbers, y)
    expected = clone(LOGISTIC).fit(numbers, y).predict_proba(numbers)
    assert np.abs(model.predict_proba(numbers) - expected).mean() < 0.01


@pytest.mark.parametrize("name", ["logistic", "forest", "boosting"])
def test_state_that_comes_back_does_not_grow_with_the_rows(name: str) -> None:
    booked = []
    for n_rows in (ROWS, 4 * ROWS):
        X, y = data(n_rows)
        model = Accelerated(program(name), device="cuda").fit(X, y)
        assert {entry.device for entry in model.execution_log_.entries} == {"cuda"}
        booked.append(model.execution_log_.to_host_bytes)
    assert booked[1] < 1.1 * booked[0] < 50_000


def test_repeated_transforms_are_equal() -> None:
    X, y = data()
    estimator = make_column_transformer((StandardScaler(), ["amount"]))
    model = Accelerated(estimator, device="cuda").fit(X, y)
    np.testing.assert_array_equal(model.transform(X), model.transform(X))
