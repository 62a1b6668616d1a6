"""Forests as cuML hands them over, by way of treelite."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np


def handed_over(forest: Any) -> Any:
    """Return a copy of a forest whose trees know their leaves, splits and counts alone.

    The counts are those of the rows that were drawn, one by one.
    """
    made = deepcopy(forest)
    for tree in (each.tree_ for each in made.estimators_):
        if forest.bootstrap:
            tree.n_node_samples[:] = np.rint(tree.weighted_n_node_samples)
        tree.value[tree.children_left >= 0] = 0
        tree.weighted_n_node_samples[:] = np.nan
        tree.impurity[:] = np.nan
    return made
