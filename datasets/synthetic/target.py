"""The target of a generated table, and what the best model would predict of it.

The informative columns add up to a signal. What the target adds to it is drawn anew
for every row, so no model can do better than one that knows the signal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datasets.synthetic import features
from datasets.synthetic.draws import Floats, quantile, uniform
from datasets.synthetic.recipe import CUT, INFORMATIVE, Recipe

CLASSES = 4
LOGIT_SCALE, INTERCEPT = 2.0, -1.0
NOISE = 0.5
LEVEL, SCALE = 10.0, 3.0
GRADES = (0.4, 1.0, 1.6, 2.2)
QUERY_ENDS = (8, 20, 40, 65, 100)
"""Queries have 8, 12, 20, 25 and 35 rows, in turn."""

Ints = NDArray[np.int64]


def signal(effects: Sequence[Floats], turn: int = 0) -> Floats:
    """Return the weighted sum of effects, of variance about 1, and a product of two.

    Parameters
    ----------
    effects : sequence of ndarray
        One per informative column.
    turn : int, default=0
        Another turn gives other weights: each class has its own.
    """
    count = len(effects)
    weights = [1 / (1 + ((place + 3 * turn) % count) / 2) for place in range(count)]
    if count > 1:
        weights.append(0.7)
        effects = [*effects, effects[0] * effects[-1]]
    total = np.zeros_like(effects[0])
    for weight, effect in zip(weights, effects, strict=True):
        total += weight * effect
    return np.asarray(total / np.sqrt(sum(weight * weight for weight in weights)))


def probabilities(kind: str, effects: Sequence[Floats]) -> Floats:
    """Return the true probabilities of a classification.

    Parameters
    ----------
    kind : {"binary", "multiclass"}
        Of the table.
    effects : sequence of ndarray
        One per informative column.

    Returns
    -------
    ndarray, shape (rows,) of class 1, or (rows, 4)
    """
    if kind == "binary":
        return np.asarray(1 / (1 + np.exp(-(LOGIT_SCALE * signal(effects) + INTERCEPT))))
    odds = [np.exp(LOGIT_SCALE * signal(effects, turn)) for turn in range(CLASSES)]
    total = odds[0] + odds[1] + odds[2] + odds[3]
    return np.stack([each / total for each in odds], axis=1)


def queries(start: int, stop: int) -> Ints:
    """Return the number of the query of each row of a range.

    Examples
    --------
    >>> queries(6, 10).tolist()
    [0, 0, 1, 1]
    """
    rows = np.arange(start, stop)
    inside = np.searchsorted(QUERY_ENDS, rows % CUT, side="right")
    return np.asarray(rows // CUT * len(QUERY_ENDS) + inside, np.int64)


def target(recipe: Recipe, effects: Sequence[Floats], start: int, stop: int) -> Any:
    """Return the target of a range of rows.

    Parameters
    ----------
    recipe : Recipe
        Of the table.
    effects : sequence of ndarray
        One per informative column, of ``stop - start`` elements.
    start, stop : int
        First row, and the row after the last.

    Returns
    -------
    ndarray of int8 or, of a regression, float32
    """
    if recipe.kind == "clusters":
        return features.clusters(recipe, start, stop).astype(np.int8)
    ranks = uniform(recipe.seed, features.TARGET_STREAMS, start, stop)
    if recipe.kind == "binary":
        return (ranks < probabilities("binary", effects)).astype(np.int8)
    if recipe.kind == "multiclass":
        edges = np.cumsum(probabilities("multiclass", effects), axis=1)
        return (ranks[:, None] >= edges[:, :-1]).sum(axis=1).astype(np.int8)
    noisy = signal(effects) + NOISE * quantile(ranks, "normal")
    if recipe.kind == "regression":
        return (LEVEL + SCALE * noisy).astype(np.float32)
    return np.searchsorted(GRADES, noisy, side="right").astype(np.int8)


def truth(recipe: Recipe, start: int, stop: int) -> Any:
    """Return what the best model would predict of each row: see `datasets.synthetic.truth`."""
    if recipe.kind == "clusters":
        return _nearest(recipe, start, stop)
    used = recipe.features()[:INFORMATIVE]
    effects = [features.make(recipe, feature, start, stop)[1] for feature in used]
    if recipe.kind in ("binary", "multiclass"):
        return probabilities(recipe.kind, effects)
    return LEVEL + SCALE * signal(effects) if recipe.kind == "regression" else signal(effects)


def _nearest(recipe: Recipe, start: int, stop: int) -> Ints:
    """Return the nearest centre by the columns that are there: the noise is that of all."""
    distance = np.zeros((stop - start, features.CLUSTERS))
    for feature in recipe.features()[:INFORMATIVE]:
        if features.clustered(recipe, feature):
            values = features.make(recipe, feature, start, stop)[0]
            away = values.to_numpy(zero_copy_only=False)[:, None] - features.centres(
                recipe, feature
            )
            distance += np.nan_to_num(away**2)
    return np.asarray(distance.argmin(axis=1), np.int64)
