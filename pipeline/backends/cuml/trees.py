"""What cuML leaves out of the trees that it hands over: weights, values of splits, impurities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import xlogy

from pipeline.typing import Array, Estimator

PHI: dict[str, Callable[[Any], Any]] = {
    "gini": np.square,
    "entropy": lambda share: xlogy(share, share) / np.log(2),
    "squared_error": np.square,
    "poisson": lambda mean: xlogy(mean, mean),
}
"""Criterion -> the function whose mean over the leaves below, less its value, is an impurity."""


UNKNOWN = (
    "the trees of cuML do not hold the weights that rows had at fit, so feature_importances_ of "
    "the lifted forest are NaN; bootstrap=True draws rows by their weights, and counts say it all"
)


def counted(estimator: Estimator, weights: Array) -> bool:
    """Return whether counts of rows are all that a forest of cuML knows of their weights.

    It draws rows by their weights, as scikit-learn does; those that it does not draw it weighs.
    """
    given = weights is not None or getattr(estimator, "class_weight", None) is not None
    return getattr(estimator, "bootstrap", True) or not given


def is_complete(fitted: Estimator) -> bool:
    """Return whether the trees of a fitted forest, where there are some, have impurities."""
    trees = (each.tree_ for each in getattr(fitted, "estimators_", ()))
    return not any(np.isnan(tree.impurity).any() for tree in trees)


def complete(forest: Any) -> None:
    """Fill the trees of a fitted random forest in place, from their leaves and counts of rows.

    So `feature_importances_` is what it would be. How far rows lie apart within a leaf is not
    known of numbers: it is left out of the impurities, and plays no part in what a split gains.
    """
    for tree in () if is_complete(forest) else forest.estimators_:
        _fill(tree.tree_, forest.criterion)


def _fill(tree: Any, criterion: str) -> None:
    weights, values, phi = tree.weighted_n_node_samples, tree.value, PHI[criterion]
    weights[np.isnan(weights)] = tree.n_node_samples[np.isnan(weights)]
    below = phi(values).sum(axis=(1, 2))
    for splits in reversed(list(_levels(tree))):
        sides = tree.children_left[splits], tree.children_right[splits]
        weights[splits] = sum(weights[side] for side in sides)
        shares = [weights[side] / weights[splits] for side in sides]
        for of_nodes in (values, below):
            parts = zip(shares, sides, strict=True)
            of_nodes[splits] = sum((share * of_nodes[side].T).T for share, side in parts)
    pure = {"gini": 1.0, "entropy": 0.0}.get(criterion, below)
    tree.impurity[:] = pure - phi(values).sum(axis=(1, 2))


def _levels(tree: Any) -> Iterator[np.ndarray]:
    """Yield the nodes that split, from the root down."""
    nodes = np.zeros(1, dtype=int)
    while len(nodes := nodes[tree.children_left[nodes] >= 0]):
        yield nodes
        nodes = np.concatenate([tree.children_left[nodes], tree.children_right[nodes]])
