from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pipeline import explain
from pipeline.backends.cuml.single_tree import as_forest
from tests.estimators import classes, numbers


@pytest.mark.parametrize("columns", [None, "sqrt", 3])
@pytest.mark.parametrize(
    ("kind", "data", "criterion"),
    [
        (DecisionTreeClassifier, classes, "entropy"),
        (DecisionTreeRegressor, numbers, "squared_error"),
    ],
)
def test_the_forest_learns_the_tree(kind: Any, data: Any, criterion: str, columns: Any) -> None:
    X, y = data()
    tree = kind(max_depth=4, min_samples_leaf=5, criterion=criterion, max_features=columns)
    forest = as_forest(tree, "tree").set_params(random_state=0).fit(X, y)
    (grown,) = forest.estimators_
    alone = tree.set_params(random_state=grown.random_state).fit(X, y)
    np.testing.assert_array_equal(forest.predict(X), alone.predict(X))


@pytest.mark.parametrize(
    ("params", "parameter", "why"),
    [
        ({"splitter": "random"}, "splitter", "cuML's trees take the best split"),
        ({"ccp_alpha": 0.1}, None, "`ccp_alpha=0.1` is not supported"),
    ],
)
def test_what_cuml_does_not_grow_is_refused(
    params: dict[str, Any], parameter: str | None, why: str
) -> None:
    (placed,) = explain(DecisionTreeRegressor(**params), "cuda").placements
    (reason,) = placed.reasons
    assert reason.parameter == parameter
    assert why in reason.why
