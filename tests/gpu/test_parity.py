"""`Accelerated` on a GPU against scikit-learn on the CPU, strict, on generated tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from pipeline import Accelerated
from tests.contract.cases import preprocessing, table, target

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
