"""The values of a generated column, and what each tells of the target.

An effect is a function of the value that is seen, 0 where it is missing, so that the
best prediction from the row is the prediction from its effects.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from datasets.synthetic.draws import Floats, bits, quantile, uniform, zipf, zipf_edges
from datasets.synthetic.recipe import INFORMATIVE, Feature, Recipe

CLUSTERS = 8
SPREAD = 1.2
"""Standard deviation of the centres of clusters, in that of the rows about them."""

VOCABULARY = 500
MAX_WORDS = 6
TARGET_STREAMS = 2**40
_STREAMS = 16
_MISSING, _EFFECT, _FIRST_WORD = 1, 2, 4
_INTEGERS = 20
_FIRST_DAY, _DAYS, _SECONDS = 18_262, 1_461, 86_400
_THURSDAY = 4  # of the day 0, 1970-01-01, counted from Sunday

Made = tuple[Any, Floats]


def clusters(recipe: Recipe, start: int, stop: int) -> NDArray[np.int64]:
    """Return the cluster, 0 to 7, that each row of a range is drawn from."""
    ranks = uniform(recipe.seed, TARGET_STREAMS, start, stop)
    return (ranks * CLUSTERS).astype(np.int64)


def centres(recipe: Recipe, feature: Feature) -> Floats:
    """Return the centres of the clusters along a feature, shape (8,)."""
    return SPREAD * _effects(recipe.seed, feature.index, CLUSTERS)


def clustered(recipe: Recipe, feature: Feature) -> bool:
    """Return whether a feature tells clusters apart: a real number among the informative."""
    real = feature.column().type == "float32"
    return recipe.kind == "clusters" and real and feature.index < INFORMATIVE


def make(recipe: Recipe, feature: Feature, start: int, stop: int) -> Made:
    """Return the values and the effects of a feature for a range of rows.

    Parameters
    ----------
    recipe : Recipe
        Of the table.
    feature : Feature
        One of its features.
    start, stop : int
        First row, and the row after the last.

    Returns
    -------
    pyarrow.Array, ndarray of float64
        Of ``stop - start`` elements each.
    """
    stream = feature.index * _STREAMS
    absent = uniform(recipe.seed, stream + _MISSING, start, stop) < feature.missing
    if feature.shape == "text":
        values, effects = _texts(recipe, feature, start, stop)
    else:
        ranks = uniform(recipe.seed, stream, start, stop)
        if clustered(recipe, feature):
            shift = centres(recipe, feature)[clusters(recipe, start, stop)]
            values, effects = quantile(ranks, "normal") + shift, ranks
        else:
            values, effects = _values(recipe, feature, ranks)
    return _with_missing(feature, values, absent), np.where(absent, 0.0, effects)


def _with_missing(feature: Feature, values: Any, absent: NDArray[np.bool_]) -> Any:
    kind = feature.column().type
    if feature.levels:
        codes = pa.array(values, mask=absent)
        names = _levels(feature.levels)
        is_coded = kind == "category"
        return pa.DictionaryArray.from_arrays(codes, names) if is_coded else names.take(codes)
    if feature.shape == "text":
        return pc.if_else(pa.array(absent), pa.scalar(None, pa.string()), values)
    if feature.shape == "date":
        return pa.array(values, pa.timestamp("ms"), mask=absent)
    # Whole numbers with missing values stay whole: Arrow has nulls for every type.
    return pa.array(values.astype(kind), mask=absent)


def _values(recipe: Recipe, feature: Feature, ranks: Floats) -> tuple[Any, Floats]:
    if feature.levels:
        codes = zipf(ranks, feature.levels)
        return codes, _level_effects(recipe.seed, feature.index, feature.levels)[codes]
    if feature.shape == "date":
        seconds = (ranks * (_DAYS * _SECONDS)).astype(np.int64) + _FIRST_DAY * _SECONDS
        weekday = (seconds // _SECONDS + _THURSDAY) % 7
        return seconds * 1000, np.where((weekday == 0) | (weekday == 6), 1.58, -0.63)
    if feature.shape == "integer":
        whole = (ranks * _INTEGERS).astype(np.int64)
        return whole, _curve(feature.index, (whole + 0.5) / _INTEGERS)
    values = ranks * 100 if feature.shape == "uniform" else quantile(ranks, feature.shape)
    return values, _curve(feature.index, ranks)


def _curve(index: int, ranks: Floats) -> Floats:
    """Return a line, a V or a step of the ranks: mean 0, variance 1."""
    line = (2 * ranks - 1) * 1.7320508
    if index % 3 == 0:
        return np.asarray(line)
    if index % 3 == 1:
        return np.asarray((2 * np.abs(2 * ranks - 1) - 1) * 1.7320508)
    return np.where(ranks < 0.7, -0.6546537, 1.5275252)


def _effects(seed: int, index: int, count: int) -> Floats:
    return quantile(uniform(seed, index * _STREAMS + _EFFECT, 0, count), "normal")


@cache
def _level_effects(seed: int, index: int, levels: int) -> Floats:
    """Return an effect per level, mean 0 and variance 1 over the rows."""
    effects = _effects(seed, index, levels)
    weights = np.diff(zipf_edges(levels), prepend=0.0)
    # cumsum adds in order, where sum may add in another on another machine.
    effects = effects - np.cumsum(weights * effects)[-1]
    return np.asarray(effects / np.sqrt(np.cumsum(weights * effects * effects)[-1]))


@cache
def _levels(count: int) -> Any:
    return pa.array([f"v{level:07d}" for level in range(count)])


@cache
def _words() -> Any:
    return pa.array([f"word{number:03d}" for number in range(VOCABULARY)])


def _texts(recipe: Recipe, feature: Feature, start: int, stop: int) -> tuple[Any, Floats]:
    """Return one to six words per row, and the mean of their effects, scaled."""
    first = feature.index * _STREAMS + _FIRST_WORD
    lengths = 1 + (bits(recipe.seed, first - 1, start, stop) % np.uint64(MAX_WORDS)).astype(int)
    weights = _level_effects(recipe.seed, feature.index, VOCABULARY)
    slots, total = [], np.zeros(stop - start)
    for slot in range(MAX_WORDS):
        codes = zipf(uniform(recipe.seed, first + slot, start, stop), VOCABULARY)
        used = slot < lengths
        slots.append(_words().take(pa.array(codes, mask=~used)))
        total += np.where(used, weights[codes], 0.0)
    return pc.binary_join_element_wise(*slots, " ", null_handling="skip"), total / 1.8708287
