"""Trees of scikit-learn in XGBoost: the same answers, and Shapley values by all subsets."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix, identity
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

from pipeline import Unsupported
from pipeline.backends.xgboost import contributions
from pipeline.backends.xgboost.forests import explain_forest, to_booster

xgboost = pytest.importorskip("xgboost")

ROWS, COLUMNS = 300, 4
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, COLUMNS)).astype("float32")
VALUES = X[:, 0] * (X[:, 1] > 0) + X[:, 2] + RNG.normal(0, 0.1, ROWS)
HOLES = np.where(RNG.random(X.shape) < 0.2, np.float32(np.nan), X)
TENTHS = np.round(X, 1)
"""Thresholds lie between values, or upon one."""
CLASSES = np.digitize(VALUES, [-0.5, 0.7])
EACH = csr_matrix(identity(COLUMNS))

Answer = Callable[[Any, np.ndarray], np.ndarray]


def predict(model: Any, X: np.ndarray) -> np.ndarray:
    return np.asarray(model.predict(X)).reshape(len(X), -1)


def shares(model: Any, X: np.ndarray) -> np.ndarray:
    made = model.predict_proba(X)
    return made[:, 1:] if made.shape[1] == 2 else made


def decide(model: Any, X: np.ndarray) -> np.ndarray:
    return np.asarray(model.decision_function(X)).reshape(len(X), -1)


CASES: dict[str, tuple[Any, Any, Answer]] = {
    "tree": (DecisionTreeRegressor(random_state=0), VALUES, predict),
    "tree of classes": (DecisionTreeClassifier(max_depth=5, random_state=0), CLASSES, shares),
    "one random tree": (ExtraTreeRegressor(random_state=0), VALUES, predict),
    "stump": (DecisionTreeRegressor(max_depth=1), VALUES, predict),
    "one leaf": (DecisionTreeRegressor(min_samples_leaf=ROWS), VALUES, predict),
    "forest": (RandomForestRegressor(8, random_state=0), VALUES, predict),
    "forest of targets": (
        RandomForestRegressor(4, random_state=0),
        np.c_[VALUES, CLASSES],
        predict,
    ),
    "forest of two classes": (RandomForestClassifier(8, random_state=0), CLASSES > 0, shares),
    "forest of classes": (RandomForestClassifier(8, random_state=0), CLASSES, shares),
    "weighed classes": (
        RandomForestClassifier(8, class_weight="balanced", random_state=0),
        CLASSES,
        shares,
    ),
    "random trees": (ExtraTreesRegressor(8, random_state=0), VALUES, predict),
    "random trees of classes": (ExtraTreesClassifier(8, random_state=0), CLASSES, shares),
    "boosted": (GradientBoostingRegressor(n_estimators=9), VALUES, predict),
    "boosted from zero": (GradientBoostingRegressor(n_estimators=9, init="zero"), VALUES, predict),
    "boosted from a constant": (
        GradientBoostingRegressor(n_estimators=9, init=DummyRegressor(strategy="median")),
        VALUES,
        predict,
    ),
    "boosted, two classes": (GradientBoostingClassifier(n_estimators=9), CLASSES > 0, decide),
    "boosted, classes": (GradientBoostingClassifier(n_estimators=9), CLASSES, decide),
}


@pytest.mark.quick(14)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("rows", [X, TENTHS], ids=["any numbers", "numbers upon thresholds"])
def test_a_booster_answers_as_the_trees_do(name: str, rows: np.ndarray) -> None:
    estimator, y, answer = CASES[name]
    fitted = estimator.fit(rows, y)
    booster, offset = to_booster(fitted)
    margin = booster.predict(xgboost.DMatrix(rows), output_margin=True).reshape(ROWS, -1) + offset
    np.testing.assert_allclose(margin, answer(fitted, rows), rtol=1e-6, atol=1e-6)
    made = explain_forest(fitted, rows, EACH)
    np.testing.assert_allclose(made.sum(axis=2), answer(fitted, rows), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeRegressor(random_state=0),
        RandomForestRegressor(8, random_state=0),
        ExtraTreesRegressor(8, random_state=0),
    ],
    ids=lambda each: type(each).__name__,
)
def test_missing_values_go_where_they_went(estimator: Any) -> None:
    fitted = estimator.fit(HOLES, VALUES)
    made = explain_forest(fitted, HOLES, EACH)
    np.testing.assert_allclose(made.sum(axis=2), predict(fitted, HOLES), rtol=1e-5, atol=1e-5)


def test_numbers_next_to_a_threshold_go_the_same_way() -> None:
    fitted = DecisionTreeRegressor().fit(X, VALUES)
    limits = fitted.tree_.threshold[fitted.tree_.children_left >= 0].astype("float32")
    near = [limits, *(np.nextafter(limits, np.float32(to)) for to in (-np.inf, np.inf))]
    rows = np.repeat(np.concatenate(near)[:, None], COLUMNS, axis=1)
    booster, _ = to_booster(fitted)
    np.testing.assert_allclose(booster.predict(xgboost.DMatrix(rows)), fitted.predict(rows), 1e-6)


HISTOGRAMS: dict[str, tuple[Any, Any, Answer]] = {
    "values": (HistGradientBoostingRegressor(max_iter=9), VALUES, predict),
    "two classes": (HistGradientBoostingClassifier(max_iter=9), CLASSES > 0, decide),
    "classes": (HistGradientBoostingClassifier(max_iter=9), CLASSES, decide),
    "stopped": (
        HistGradientBoostingRegressor(max_iter=50, early_stopping=True, n_iter_no_change=2),
        VALUES,
        predict,
    ),
}


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_histograms_compare_all_digits(name: str) -> None:
    estimator, y, answer = HISTOGRAMS[name]
    close = 1e4 + HOLES.astype("float64") * 1e-6
    fitted = estimator.fit(close, y)
    assert len(np.unique(close[:, 0].astype("float32"))) < 5, "float32 would not do"
    made = explain_forest(fitted, close, EACH)
    np.testing.assert_allclose(made.sum(axis=2), answer(fitted, close), rtol=1e-5, atol=1e-5)


def test_categories_of_histograms_are_refused() -> None:
    rows = np.c_[X[:, :3], CLASSES]
    fitted = HistGradientBoostingRegressor(max_iter=2, categorical_features=[3]).fit(rows, VALUES)
    with pytest.raises(Unsupported, match="its categories have no thresholds; encode them"):
        explain_forest(fitted, rows, EACH)


def expected(tree: Any, row: np.ndarray, known: set[int], values: np.ndarray, node: int = 0) -> Any:
    """Return the mean over the training rows that fall where the known columns let them.

    EXPVALUE of Lundberg, Erion & Lee, Consistent Individualized Feature Attribution for Tree
    Ensembles, 2018.
    """
    left, right = tree.children_left[node], tree.children_right[node]
    if left < 0:
        return values[node]
    column = tree.feature[node]
    if column in known:
        there = left if row[column] <= tree.threshold[node] else right
        return expected(tree, row, known, values, there)
    weights = tree.weighted_n_node_samples
    sides = [weights[side] * expected(tree, row, known, values, side) for side in (left, right)]
    return sum(sides) / weights[node]


def shapley(tree: Any, row: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the Shapley values of one row, by all subsets of the columns."""
    made = np.zeros((COLUMNS, values.shape[1]))
    for j in range(COLUMNS):
        others = [i for i in range(COLUMNS) if i != j]
        for size in range(COLUMNS):
            weight = factorial(size) * factorial(COLUMNS - size - 1) / factorial(COLUMNS)
            for subset in map(set, combinations(others, size)):
                more, less = (expected(tree, row, s, values) for s in (subset | {j}, subset))
                made[j] += weight * (more - less)
    return made


def test_values_are_those_of_all_subsets() -> None:
    weights = RNG.uniform(0.2, 3, ROWS)
    fitted = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, VALUES, weights)
    made = explain_forest(fitted, X[:12], EACH)
    values = fitted.tree_.value[:, :, 0]
    wanted = np.stack([shapley(fitted.tree_, row, values) for row in X[:12]])
    np.testing.assert_allclose(made[:, 0, :-1], wanted[:, :, 0], atol=1e-6)
    np.testing.assert_allclose(made[:, 0, -1], np.average(VALUES, weights=weights), rtol=1e-5)


def test_values_of_a_forest_are_the_means_of_its_trees_class_by_class() -> None:
    fitted = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, CLASSES)
    made = explain_forest(fitted, X[:5], EACH)
    trees = [each.tree_ for each in fitted.estimators_]
    for row, found in zip(X[:5], made, strict=True):
        wanted = np.mean([shapley(tree, row, tree.value[:, 0]) for tree in trees], axis=0)
        np.testing.assert_allclose(found[:, :-1], wanted.T, atol=1e-6)


def test_an_absent_cell_is_zero() -> None:
    sparse = csr_matrix(np.where(np.abs(X) < 0.7, 0, X))
    fitted = RandomForestRegressor(5, random_state=0).fit(sparse, VALUES)
    made = explain_forest(fitted, sparse, EACH)
    np.testing.assert_allclose(made.sum(axis=2), predict(fitted, sparse.toarray()), atol=1e-5)


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = RandomForestClassifier(5, random_state=0).fit(X, CLASSES)
    whole = explain_forest(fitted, X, EACH)
    monkeypatch.setattr(contributions, "CELLS", 70 * COLUMNS)
    np.testing.assert_array_equal(explain_forest(fitted, X, EACH), whole)


@pytest.mark.parametrize(
    ("estimator", "y", "said"),
    [
        (GradientBoostingRegressor(init=LinearRegression()), VALUES, "begins with LinearRegres"),
        (RandomForestClassifier(2), np.c_[CLASSES, CLASSES], "several targets that are classes"),
    ],
    ids=["beginning", "targets"],
)
def test_what_is_no_sum_of_trees_is_refused(estimator: Any, y: np.ndarray, said: str) -> None:
    with pytest.raises(Unsupported, match=said):
        to_booster(estimator.fit(X, y))
