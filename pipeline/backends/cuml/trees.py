"""What cuML's converted trees lack: weights, values of splits, impurities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import xlogy

PHI: dict[str, Callable[[Any], Any]] = {
    "gini": np.square,
    "entropy": lambda share: xlogy(share, share) / np.log(2),
    "squared_error": np.square,
    "poisson": lambda mean: xlogy(mean, mean),
}
"""Criterion -> the function whose mean over the leaves below, less its value, is an impurity."""


def complete(forest: Any) -> None:
    """Fill the trees of a fitted random forest in place, from their leaves and counts of rows.

    So `feature_importances_` is what it would be. How far rows lie apart within a leaf is not
    known of numbers: it is left out of the impurities, and plays no part in what a split gains.
    """
    for tree in forest.estimators_:
        if np.isnan(tree.tree_.impurity).any():
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
