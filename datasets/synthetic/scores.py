"""The best score that a model can reach on a generated table.

It is that of the model which knows how the target is drawn: see `target.truth`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from datasets.synthetic import target
from datasets.synthetic.draws import Floats
from datasets.synthetic.features import clusters, make
from datasets.synthetic.recipe import CUT, INFORMATIVE, Recipe
from datasets.synthetic.target import Ints

SAMPLE = 262_144 // CUT * CUT
TOP = 10


def best(recipe: Recipe, rows: int = SAMPLE) -> dict[str, Any]:
    """Return the best score, estimated on the first rows: see `datasets.synthetic.best`."""
    metric, score = _SCORES[recipe.kind]
    known = target.truth(recipe, 0, rows)
    return {"metric": metric, "value": round(score(recipe, known), 4), "rows": rows}


def _accuracy(_: Recipe, chances: Floats) -> float:
    return float(chances.max(axis=1).mean())


def _r2(_: Recipe, expected: Floats) -> float:
    noise = (target.SCALE * target.NOISE) ** 2
    return 1 - noise / (noise + float(expected.var()))


def _ndcg(recipe: Recipe, scores: Floats) -> float:
    rows = len(scores)
    used = recipe.features()[:INFORMATIVE]
    effects = [make(recipe, feature, 0, rows)[1] for feature in used]
    grades = target.target(recipe, effects, 0, rows).astype(np.float64)
    return ndcg(grades, scores, target.queries(0, rows))


def _clusters(recipe: Recipe, predicted: Ints) -> float:
    return adjusted_rand(clusters(recipe, 0, len(predicted)), predicted)


_SCORES: dict[str, tuple[str, Callable[[Recipe, Any], float]]] = {
    "binary": ("roc_auc", lambda _, chances: auc(chances)),
    "multiclass": ("accuracy", _accuracy),
    "regression": ("r2", _r2),
    "ranking": ("ndcg_at_10", _ndcg),
    "clusters": ("adjusted_rand", _clusters),
}


def auc(chances: Floats) -> float:
    """Return the expected area under the ROC curve of the true probabilities themselves.

    Examples
    --------
    >>> auc(np.array([0.0, 1.0]))
    1.0
    """
    chances, counts = np.unique(chances, return_counts=True)
    ones, zeros = chances * counts, (1 - chances) * counts
    below = np.cumsum(zeros) - zeros
    return float((ones * (below + zeros / 2)).sum() / (ones.sum() * zeros.sum()))


def ndcg(grades: Floats, scores: Floats, groups: Ints) -> float:
    """Return the mean over queries of the normalised gain of the first ten, by `scores`.

    Parameters
    ----------
    grades, scores, groups : ndarray
        Relevance, score and number of the query, per row; the gain is ``2**grade - 1``.
        Queries without a relevant row do not count.
    """
    reached, ideal = (_gains(grades, by, groups) for by in (scores, grades))
    counted = ideal > 0
    return float((reached[counted] / ideal[counted]).mean())


def _gains(grades: Floats, scores: Floats, groups: Ints) -> Floats:
    order = np.lexsort((-scores, groups))
    _, first, sizes = np.unique(groups, return_index=True, return_counts=True)
    place = np.arange(len(groups)) - np.repeat(first, sizes)
    gain = np.where(place < TOP, (2.0 ** grades[order] - 1) / np.log2(place + 2), 0.0)
    return np.asarray(np.bincount(np.repeat(np.arange(len(sizes)), sizes), gain), np.float64)


def adjusted_rand(first: Ints, second: Ints) -> float:
    """Return how far two partitions agree: 1 if they are the same, about 0 by chance.

    Examples
    --------
    >>> adjusted_rand(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))
    1.0
    """
    table = np.bincount(first * (second.max() + 1) + second, minlength=0).astype(np.float64)
    cells = _pairs(table)
    rows, columns = (_pairs(np.bincount(each).astype(np.float64)) for each in (first, second))
    expected = rows * columns / _pairs(np.array([float(len(first))]))
    return float((cells - expected) / ((rows + columns) / 2 - expected))


def _pairs(counts: Floats) -> float:
    return float((counts * (counts - 1) / 2).sum())
