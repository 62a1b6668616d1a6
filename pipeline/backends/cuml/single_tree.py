"""A decision tree as a forest of cuML's that has one, grown from all rows and all columns."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pipeline.errors import Reason, Unsupported
from pipeline.typing import Estimator

FORESTS: dict[type, type] = {
    DecisionTreeClassifier: RandomForestClassifier,
    DecisionTreeRegressor: RandomForestRegressor,
}
"""Class of a tree -> that of the forest."""
ALONE = {"n_estimators": 1, "bootstrap": False}
NOTE = "a forest of one tree, which is cut at quantiles of the columns, as cuML's forests are"


def as_forest(tree: Estimator, step: str) -> Any:
    """Return the forest of one tree that learns what a tree does.

    >>> as_forest(DecisionTreeRegressor(max_depth=3), "tree")
    RandomForestRegressor(bootstrap=False, max_depth=3, n_estimators=1)

    Raises
    ------
    Unsupported
        The tree is split at random.
    """
    params = tree.get_params(deep=False)
    if params.pop("splitter") != "best":
        why, instead = "cuML's trees take the best split", "use splitter='best'"
        raise Unsupported(Reason(step, why, f"{instead}, or device='auto'", "splitter"))
    columns = params.pop("max_features")
    return FORESTS[type(tree)](**params, **ALONE, max_features=1.0 if columns is None else columns)


def take_tree(forest: Any, tree: Estimator) -> Any:
    """Return the only tree of a fitted forest, with the parameters and labels of a tree."""
    (grown,) = forest.estimators_
    lifted = clone(tree)
    vars(lifted).update(_learnt(grown))
    if hasattr(forest, "classes_"):
        lifted.classes_, lifted.n_classes_ = forest.classes_, forest.n_classes_
    return lifted


def make_forest(fitted: Any, forest: Estimator) -> Any:
    """Return a fitted forest that holds one fitted tree."""
    made = clone(forest)
    vars(made).update(_learnt(fitted))
    made.estimator_, made.estimators_ = type(fitted)(), [fitted]
    made._n_samples = made._n_samples_bootstrap = int(fitted.tree_.n_node_samples[0])
    return made


def _learnt(fitted: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(fitted).items() if name.endswith("_")}
