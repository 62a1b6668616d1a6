"""Impurities from leaves and counts, of forests whose impurities were wiped out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from pipeline.backends.cuml.trees import complete
from tests.contract.trees import handed_over
from tests.estimators import classes, numbers

FORESTS = {
    "gini": (RandomForestClassifier(10, max_depth=4, random_state=0), classes),
    "entropy": (RandomForestClassifier(10, max_depth=4, random_state=0), classes),
    "squared_error": (RandomForestRegressor(10, max_depth=4, random_state=0), numbers),
    "poisson": (RandomForestRegressor(10, min_samples_leaf=9, random_state=0), numbers),
}


def fitted(criterion: str) -> Any:
    estimator, data = FORESTS[criterion]
    return estimator.set_params(criterion=criterion).fit(*data())


@pytest.mark.parametrize("criterion", FORESTS)
def test_importances_values_and_impurities_are_those_of_the_forest(criterion: str) -> None:
    forest = fitted(criterion)
    made = handed_over(forest)
    assert np.isnan(made.feature_importances_).all()
    complete(made)
    np.testing.assert_allclose(made.feature_importances_, forest.feature_importances_, rtol=1e-6)
    for tree, wanted in zip(made.estimators_, forest.estimators_, strict=True):
        np.testing.assert_allclose(tree.tree_.value, wanted.tree_.value, rtol=1e-6, atol=1e-9)
        if criterion in ("gini", "entropy"):
            np.testing.assert_allclose(tree.tree_.impurity, wanted.tree_.impurity, atol=1e-6)


def test_a_tree_without_splits_has_no_importances() -> None:
    X, y = numbers()
    made = handed_over(RandomForestRegressor(2, max_depth=1, min_samples_leaf=300).fit(X, y))
    complete(made)
    assert made.feature_importances_.tolist() == [0.0] * X.shape[1]


def test_a_forest_that_lacks_nothing_stays_as_it_is() -> None:
    forest = fitted("squared_error")
    before = forest.estimators_[0].tree_.impurity.copy()
    complete(forest)
    np.testing.assert_array_equal(forest.estimators_[0].tree_.impurity, before)
