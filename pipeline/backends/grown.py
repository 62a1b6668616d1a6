"""Trees that another fit on the same rows has grown, with the same parameters but their number.

A forest draws the seed of one tree after the other from its own, so the first trees of a larger
one are those of a smaller one: https://scikit-learn.org/stable/glossary.html#term-warm_start.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from pipeline.backends.identity import identify_if_known
from pipeline.system.cache import Drawer
from pipeline.typing import Estimator, Params, Table, Target

FORESTS = (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
OF_A_RUN = ("n_estimators", "n_jobs", "verbose")
"""Parameters that make no difference to a tree."""
NODE_BYTES = 64
"""Bytes of a node of a tree beside its values."""


def shares_trees(forest: BaseEstimator, params: Params) -> bool:
    """Return whether the trees of a forest are those of a larger one, up to its own number.

    >>> shares_trees(RandomForestClassifier(random_state=0), {})
    True
    >>> shares_trees(RandomForestClassifier(), {})  # of no seed
    False
    """
    if type(forest) not in FORESTS or params:
        return False
    # A balanced weight warns where trees are added to others.
    plain = not isinstance(getattr(forest, "class_weight", None), str)
    seeded = isinstance(forest.random_state, int | np.integer)
    return seeded and plain and not (forest.oob_score or forest.warm_start)


def fit_forest(forest: Estimator, X: Table, y: Target, drawer: Drawer) -> None:
    """Fit a forest; only the trees are grown that no other fit has grown."""
    own = {n: v for n, v in forest.get_params(deep=False).items() if n not in OF_A_RUN}
    key = identify_if_known([type(forest), own])
    known, wanted = drawer.get(key) if key else None, forest.n_estimators
    if known is None:
        forest.fit(X, y)
    else:
        _take(forest, known)
        if len(known.estimators_) < wanted:
            forest.set_params(warm_start=True).fit(X, y).set_params(warm_start=False)
    if key and (known is None or len(known.estimators_) < wanted):
        drawer.put(key, copy(forest), _nbytes(forest))


def _take(forest: Estimator, known: Any) -> None:
    """Let a forest be fitted as another one, of as many trees as it has to have at most."""
    own = forest.get_params(deep=False)
    for name, value in vars(known).items():
        if name not in own:
            setattr(forest, name, value)
    forest.estimators_ = known.estimators_[: forest.n_estimators]


def _nbytes(forest: Estimator) -> int:
    trees = [tree.tree_ for tree in forest.estimators_]
    return sum(tree.value.nbytes + NODE_BYTES * tree.node_count for tree in trees)
