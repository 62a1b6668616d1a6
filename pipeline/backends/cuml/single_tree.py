"""A decision tree as a forest of cuML's that has one, grown from all rows and all columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from pipeline.backends.base import Backend, Model, Placement
from pipeline.backends.cuml.estimator import Cuml, CumlBackend
from pipeline.backends.cuml.tables import CUML, public_name
from pipeline.errors import Reason, Unsupported
from pipeline.typing import Estimator, Params, Table, Target

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


def _rule(forest: Estimator) -> Any:
    return CUML[public_name(forest)]


class SingleTreeBackend(Backend):
    """Runs a decision tree by cuML's forests."""

    order = "C"
    sparse = False

    def place(self, estimator: Estimator, step: str, dtype: str = "float32") -> Model:
        """Return cuML's forest in the place of scikit-learn's tree."""
        return SingleTree(estimator, step)

    def describe(self, estimator: Estimator, step: str) -> Placement:
        """Return cuML's class, and its parameters."""
        forest = as_forest(estimator, step)
        placed = CumlBackend(_rule(forest)).describe(forest, step)
        parameters = {**ALONE, **placed.parameters}
        note = "; ".join(filter(None, (NOTE, placed.note)))
        return replace(placed, parameters=parameters, note=note)


SINGLE_TREE_BACKEND = SingleTreeBackend()


class SingleTree(Cuml):
    """A cuML forest in the place of a decision tree.

    Parameters
    ----------
    tree : DecisionTreeClassifier or DecisionTreeRegressor
    step : str
        Path of the step, for messages.
    """

    def __init__(self, tree: Estimator, step: str) -> None:
        forest = as_forest(tree, step)
        super().__init__(forest, _rule(forest), step)
        self.tree = tree

    def trains_distributed(self, call: str, X: Table, y: Target, params: Params) -> str:
        """Return that it does not: GPUs together grow one tree each."""
        return ""

    def why_gathered(self, call: str, X: Table, y: Target, params: Params) -> str:
        """Return why one GPU of several learns."""
        return "one tree is grown on one GPU"

    def to_sklearn(self) -> Any:
        """Return the fitted tree."""
        return take_tree(super().to_sklearn(), self.tree)

    def resume(self, fitted: Estimator) -> None:
        """Take a fitted tree over to the device."""
        super().resume(make_forest(fitted, self.estimator))


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
