"""The rows of a generated table: its columns, and the target that depends on them.

A column's effect is a function of the visible value, and 0 if it is missing. The effects of the
informative columns add up to a signal; the noise of the target is drawn independently for every
row, so no model can do better than one that knows the signal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._tables import fold
from .draws import Floats, bits, quantile, uniform, zipf, zipf_edges
from .recipe import INFORMATIVE, LEAST_ROWS, Feature, Recipe

Ints = NDArray[np.int64]

CLUSTERS = 8
SPREAD = 1.2
"""Standard deviation of the centres of clusters, in that of the rows about them."""
LOGIT_SCALE, INTERCEPT = 2.0, -1.0
NOISE = 0.5
LEVEL, SCALE = 10.0, 3.0
GRADES = (0.4, 1.0, 1.6, 2.2)
QUERY_ENDS = (8, 20, 40, 65, 100)
"""Queries have 8, 12, 20, 25 and 35 rows, in turn."""

VOCABULARY, MAX_WORDS = 500, 6
_TARGET_STREAM = 2**40
_STREAMS = 16
_MISSING, _EFFECT, _LENGTH, _FIRST_WORD = 1, 2, 3, 4
_INTEGERS = 20
_FIRST_DAY, _DAYS, _SECONDS = 18_262, 1_461, 86_400
_THURSDAY = 4  # of the day 0, 1970-01-01, counted from Sunday


GROUP_ROWS, GROUP_CELLS = 131_072, 4_300_000
"""Upper bounds of the rows and values of a row group, which is generated in memory."""
THREADS = min(8, pa.cpu_count())
"""Row groups that are generated at once."""


def groups(recipe: Recipe) -> Iterator[pa.Table]:
    """Yield the whole table, a row group at a time: fewer rows where there are many columns."""
    size = min(GROUP_ROWS, GROUP_CELLS // (recipe.columns + 2))
    firsts = range(0, recipe.rows, size)
    with ThreadPoolExecutor(THREADS) as pool:
        for turn in range(0, len(firsts), THREADS):
            mine = firsts[turn : turn + THREADS]
            yield from pool.map(lambda k: table(recipe, k, min(k + size, recipe.rows)), mine)


def table(recipe: Recipe, start: int, stop: int) -> pa.Table:
    """Return the rows of a generated table from `start` to before `stop`.

    >>> table(Recipe(columns=2), 10, 15).column_names
    ['number_0', 'category_1', 'target']
    """
    drawn = {each.name: _draw(recipe, each, start, stop) for each in recipe.features()}
    values = {name: column for name, (column, _) in drawn.items()}
    if recipe.kind == "ranking":
        values["query"] = pa.array(queries(start, stop))
    if recipe.fold:
        unit = queries(start, stop) if recipe.kind == "ranking" else np.arange(start, stop)
        values["fold"] = pa.array(fold(unit))
    told = [effect for _, effect in drawn.values()][:INFORMATIVE]
    return pa.table(values | {"target": pa.array(_target(recipe, told, start, stop))})


def effects(recipe: Recipe, start: int, stop: int) -> list[Floats]:
    """Return what each informative column of a range of rows contributes to the target."""
    used = recipe.features()[:INFORMATIVE]
    return [_draw(recipe, feature, start, stop)[1] for feature in used]


def queries(start: int, stop: int) -> Ints:
    """Return the number of the query of each row of a range.

    >>> queries(6, 10).tolist()
    [0, 0, 1, 1]
    """
    rows = np.arange(start, stop)
    inside = np.searchsorted(QUERY_ENDS, rows % LEAST_ROWS, side="right")
    return np.asarray(rows // LEAST_ROWS * len(QUERY_ENDS) + inside, np.int64)


def clusters(recipe: Recipe, start: int, stop: int) -> Ints:
    """Return the cluster, 0 to 7, that each row of a range is drawn from."""
    return (uniform(recipe.seed, _TARGET_STREAM, start, stop) * CLUSTERS).astype(np.int64)


def centres(recipe: Recipe, feature: Feature) -> Floats | None:
    """Return the centres of the clusters along a feature that separates them, shape (8,)."""
    real = feature.column().type == "float32" and feature.index < INFORMATIVE
    if recipe.kind != "clusters" or not real:
        return None
    return SPREAD * _normals(recipe.seed, feature.index, CLUSTERS)


def signal(effects: Sequence[Floats]) -> Floats:
    """Return the weighted sum of effects, of variance about 1, and a product of two."""
    weights = [1 / (1 + place / 2) for place in range(len(effects))]
    if len(effects) > 1:
        weights.append(0.7)
        effects = [*effects, effects[0] * effects[-1]]
    total = np.zeros_like(effects[0])
    for weight, effect in zip(weights, effects, strict=True):
        total += weight * effect
    return np.asarray(total / np.sqrt(sum(weight * weight for weight in weights)))


def probabilities(effects: Sequence[Floats]) -> Floats:
    """Return the true probability of class 1."""
    return np.asarray(1 / (1 + np.exp(-(LOGIT_SCALE * signal(effects) + INTERCEPT))))


def _target(recipe: Recipe, effects: Sequence[Floats], start: int, stop: int) -> Any:
    if recipe.kind == "clusters":
        return clusters(recipe, start, stop).astype(np.int8)
    ranks = uniform(recipe.seed, _TARGET_STREAM, start, stop)
    if recipe.kind == "binary":
        return (ranks < probabilities(effects)).astype(np.int8)
    noisy = signal(effects) + NOISE * quantile(ranks, "normal")
    if recipe.kind == "regression":
        return (LEVEL + SCALE * noisy).astype(np.float32)
    return np.searchsorted(GRADES, noisy, side="right").astype(np.int8)


def _draw(recipe: Recipe, feature: Feature, start: int, stop: int) -> tuple[Any, Floats]:
    """Return the values of a feature as an Arrow array, and their effects."""
    stream = feature.index * _STREAMS
    absent = uniform(recipe.seed, stream + _MISSING, start, stop) < feature.missing
    ranks = uniform(recipe.seed, stream, start, stop)
    around = centres(recipe, feature)
    if feature.shape == "text":
        values, told = _texts(recipe, feature, start, stop, absent)
    elif around is not None:
        values = quantile(ranks, "normal") + around[clusters(recipe, start, stop)]
        values, told = pa.array(values.astype(np.float32), mask=absent), ranks
    else:
        values, told = _values(recipe.seed, feature, ranks, absent)
    return values, np.where(absent, 0.0, told)


def _values(
    seed: int, feature: Feature, ranks: Floats, absent: NDArray[np.bool_]
) -> tuple[Any, Floats]:
    if feature.levels:
        codes, names = zipf(ranks, feature.levels), _levels(feature.levels)
        coded = pa.array(codes, mask=absent)
        is_coded = feature.column().type == "category"
        values = pa.DictionaryArray.from_arrays(coded, names) if is_coded else names.take(coded)
        return values, _level_effects(seed, feature.index, feature.levels)[codes]
    if feature.shape == "date":
        seconds = (ranks * (_DAYS * _SECONDS)).astype(np.int64) + _FIRST_DAY * _SECONDS
        weekday = (seconds // _SECONDS + _THURSDAY) % 7
        told = np.where((weekday == 0) | (weekday == 6), 1.58, -0.63)
        return pa.array(seconds * 1000, pa.timestamp("ms"), mask=absent), told
    if feature.shape == "integer":
        # Whole numbers with missing values stay whole: Arrow has nulls for every type.
        whole = (ranks * _INTEGERS).astype(np.int16)
        return pa.array(whole, mask=absent), _curve(feature.index, (whole + 0.5) / _INTEGERS)
    values = ranks * 100 if feature.shape == "uniform" else quantile(ranks, feature.shape)
    return pa.array(values.astype(np.float32), mask=absent), _curve(feature.index, ranks)


def _texts(
    recipe: Recipe, feature: Feature, start: int, stop: int, absent: NDArray[np.bool_]
) -> tuple[Any, Floats]:
    """Return one to six words per row, and the mean of their effects, scaled."""
    stream = feature.index * _STREAMS
    drawn = bits(recipe.seed, stream + _LENGTH, start, stop)
    lengths = 1 + (drawn % np.uint64(MAX_WORDS)).astype(int)
    weights = _level_effects(recipe.seed, feature.index, VOCABULARY)
    words = pa.array([f"word{number:03d}" for number in range(VOCABULARY)])
    slots, total = [], np.zeros(stop - start)
    for slot in range(MAX_WORDS):
        codes = zipf(uniform(recipe.seed, stream + _FIRST_WORD + slot, start, stop), VOCABULARY)
        used = slot < lengths
        slots.append(words.take(pa.array(codes, mask=~used)))
        total += np.where(used, weights[codes], 0.0)
    texts = pc.binary_join_element_wise(*slots, " ", null_handling="skip")
    texts = pc.if_else(pa.array(absent), pa.scalar(None, pa.string()), texts)
    return texts, total / 1.8708287


def _curve(index: int, ranks: Floats) -> Floats:
    """Return a line, a V or a step of the ranks: mean 0, variance 1."""
    line = (2 * ranks - 1) * 1.7320508
    if index % 3 == 0:
        return np.asarray(line)
    if index % 3 == 1:
        return np.asarray((2 * np.abs(2 * ranks - 1) - 1) * 1.7320508)
    return np.where(ranks < 0.7, -0.6546537, 1.5275252)


def _normals(seed: int, index: int, count: int) -> Floats:
    return quantile(uniform(seed, index * _STREAMS + _EFFECT, 0, count), "normal")


@cache
def _level_effects(seed: int, index: int, levels: int) -> Floats:
    """Return an effect per level, mean 0 and variance 1 over the rows."""
    effects = _normals(seed, index, levels)
    weights = np.diff(zipf_edges(levels), prepend=0.0)
    # cumsum adds in order, where sum may add in another on another machine.
    effects = effects - np.cumsum(weights * effects)[-1]
    return np.asarray(effects / np.sqrt(np.cumsum(weights * effects * effects)[-1]))


@cache
def _levels(count: int) -> Any:
    return pa.array([f"v{level:07d}" for level in range(count)])
