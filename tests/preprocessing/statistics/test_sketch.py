from __future__ import annotations

import pickle
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import ConfigError
from pipeline.preprocessing.statistics.quantiles import RowBlocks, quantile
from pipeline.preprocessing.statistics.sketch import MOST_ROWS, QuantileSketch, size_for, sketch
from tests.names import one_in
from tests.preprocessing.cases import METHODS
from tests.strategies import exact

ROWS = 6000
SIZE = 16
"""So small that thousands of rows collapse many times."""

_rng = np.random.default_rng(0)
_ramp = np.arange(ROWS, dtype="float64")
ORDERS = {
    "sorted": _ramp,
    "reversed": _ramp[::-1],
    "zigzag": np.where(_ramp % 2 == 0, _ramp, ROWS - _ramp),
    "outside in": np.concatenate([_ramp[::2], _ramp[1::2][::-1]]),
    "saw": _ramp % 97,
    "random": _rng.normal(size=ROWS),
    "long tail": np.exp(5 * _rng.normal(size=ROWS)),
    "constant": np.full(ROWS, 0.1),
    "one apart": np.where(_ramp == 4321, 7.0, 3.0),
    "few values": _rng.integers(0, 3, ROWS).astype("float64"),
    "many ties": np.round(_rng.normal(size=ROWS), 1),
    "holes": np.where(_rng.random(ROWS) < 0.4, np.nan, _rng.normal(size=ROWS)),
}
PARTITIONS = [1, 2, 7, 64, 1000]


def merged(parts: list[QuantileSketch], how: str) -> QuantileSketch:
    """Merge from left to right, in pairs, pairs of pairs and so on, or in any order."""
    if how == "shuffled":
        parts = [parts[i] for i in np.random.default_rng(1).permutation(len(parts))]
    while how == "tree" and len(parts) > 1:
        parts = [reduce(QuantileSketch.merge, parts[i : i + 2]) for i in range(0, len(parts), 2)]
    return reduce(QuantileSketch.merge, parts)


def of(values: np.ndarray, n_parts: int, how: str = "in turn", size: int = SIZE) -> QuantileSketch:
    X = values[:, None] if values.ndim == 1 else values
    return merged([sketch(part, size) for part in np.array_split(X, n_parts)], how)


def rank_errors(stat: QuantileSketch, values: np.ndarray) -> np.ndarray:
    """Return for every rank how far it is from the nearest rank of the value found."""
    known = np.sort(values[~np.isnan(values)])
    wanted = np.arange(len(known))
    found = stat.at(wanted[None])[0]
    assert np.isin(found, known).all()
    first = np.searchsorted(known, found, side="left")
    last = np.searchsorted(known, found, side="right") - 1
    return np.maximum(np.maximum(first - wanted, wanted - last), 0)


def formula(n: int, size: int) -> float:
    """Return the bound as the module states it."""
    levels = max((n // size).bit_length() - 1, 0)
    return n * (levels + 1) / (4 * size) if n >= 2 * size else 0.0


@pytest.mark.quick(52)
@pytest.mark.parametrize("how", ["in turn", "tree", "shuffled"])
@pytest.mark.parametrize("n_parts", one_in(2, PARTITIONS))
@pytest.mark.parametrize("order", ORDERS)
def test_bound_holds_for_every_rank(order: str, n_parts: int, how: str) -> None:
    values = ORDERS[order]
    stat = of(values, n_parts, how)
    known = int(stat.counts[0])
    assert known == (~np.isnan(values)).sum()
    worst = rank_errors(stat, values).max()
    assert worst <= stat.columns[0].error <= formula(known, SIZE)


def test_bound_is_not_wide_of_the_mark() -> None:
    """An order made to be hard comes within a third of it, so a laxer code would not pass."""
    columns = [ORDERS[order] for order in ("sorted", "reversed", "zigzag", "outside in")]
    stats = [of(values, n_parts) for values in columns for n_parts in (64, 1000)]
    shares = [
        rank_errors(stat, values).max() / stat.columns[0].error
        for stat, values in zip(stats, np.repeat(columns, 2, axis=0), strict=True)
    ]
    assert max(shares) > 1 / 3


@given(data=st.data(), size=st.integers(1, 5))
def test_bound_holds_for_any_values_and_partitions(data: st.DataObject, size: int) -> None:
    values = np.array(data.draw(st.lists(exact | st.just(np.nan), min_size=1, max_size=120)))
    edges = sorted(data.draw(st.sets(st.integers(1, len(values)), max_size=30)) - {len(values)})
    parts = [sketch(part[:, None], size) for part in np.split(values, edges)]
    parts = data.draw(st.permutations(parts))
    while len(parts) > 1:
        at = data.draw(st.integers(0, len(parts) - 2))
        parts[at : at + 2] = [parts[at].merge(parts[at + 1])]
    stat = parts[0]
    assert rank_errors(stat, values).max(initial=0) <= stat.columns[0].error
    assert stat.columns[0].error <= formula(int(stat.counts[0]), size)


@pytest.mark.parametrize("rank_error", [0.3, 0.1, 0.03, 0.01])
@pytest.mark.parametrize("order", ORDERS)
def test_rank_error_asked_for_holds(order: str, rank_error: float) -> None:
    values = ORDERS[order]
    stat = of(values, 64, "shuffled", size_for(rank_error))
    assert rank_errors(stat, values).max() <= rank_error * stat.counts[0]


@pytest.mark.parametrize("rank_error", [0.9, 0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-6, 1e-9, 1e-12])
def test_size_keeps_the_bound_for_many_rows(rank_error: float) -> None:
    size = size_for(rank_error)
    for n in (1000, 10**6, 10**9, MOST_ROWS):
        assert formula(n, size) <= rank_error * n


def test_size_is_the_least() -> None:
    assert formula(MOST_ROWS, size_for(0.001) - 1) > 0.001 * MOST_ROWS


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_parts", [1, 2, 7])
def test_exact_below_twice_the_size(n_parts: int, method: str) -> None:
    X = np.stack([ORDERS["random"], ORDERS["holes"], ORDERS["saw"]], axis=1)[:199]
    q = np.linspace(0, 1, 31)
    found = quantile(of(X, n_parts, "shuffled", 100), q, method)
    np.testing.assert_array_equal(found, quantile(RowBlocks([X]), q, method))
    np.testing.assert_array_equal(found, np.nanquantile(X, q, axis=0, method=method))


@pytest.mark.quick(33)
@pytest.mark.parametrize("n_parts", PARTITIONS)
@pytest.mark.parametrize("order", ORDERS)
def test_count_and_ends_are_exact_and_ranks_in_order(order: str, n_parts: int) -> None:
    values = ORDERS[order]
    stat = of(values, n_parts, "shuffled")
    assert stat.n_rows == ROWS
    found = quantile(stat, np.linspace(0, 1, 1001))[:, 0]
    assert found[[0, -1]].tolist() == [np.nanmin(values), np.nanmax(values)]
    assert (np.diff(found) >= 0).all()


def test_same_partitions_in_the_same_order_give_the_same_values() -> None:
    q = np.linspace(0, 1, 101)
    again = [quantile(of(ORDERS["random"], 64), q) for _ in range(2)]
    np.testing.assert_array_equal(*again)


def test_merging_changes_neither() -> None:
    a, b = (sketch(part[:, None], 4) for part in np.array_split(ORDERS["random"], 2))
    before = pickle.dumps((a, b))
    a.merge(b)
    assert pickle.dumps((a, b)) == before


@pytest.mark.parametrize("n_parts", [1, 64])
def test_room_grows_with_the_logarithm_of_the_rows(n_parts: int) -> None:
    def room(n_rows: int) -> int:
        column = of(np.resize(ORDERS["random"], n_rows), n_parts).columns[0]
        parts = [column.rest, *column.levels.values()]
        # What a view is cut from would be kept with it.
        return sum((part if part.base is None else part.base).size for part in parts)

    for n_rows in (2**10 - 1, 2**14 - 1, 2**17 - 1):
        assert room(n_rows) <= SIZE * (np.log2(n_rows / SIZE) + 2)


def test_columns_do_not_share_their_holes() -> None:
    X = np.stack([ORDERS["holes"], ORDERS["sorted"], np.full(ROWS, np.nan)], axis=1)
    stat = of(X, 7)
    assert stat.counts.tolist() == [(~np.isnan(X[:, 0])).sum(), ROWS, 0]
    found = quantile(stat, [0.0, 0.5, 1.0])
    assert np.isnan(found[:, 2]).all()
    assert found[0, :2].tolist() == [np.nanmin(X[:, 0]), 0.0]


@pytest.mark.parametrize("dtype", ["float32", "int64", "int8", "bool"])
def test_types_of_columns(dtype: str) -> None:
    X = (ORDERS["few values"] > 0)[:, None].astype(dtype)
    stat = of(X, 7)
    assert stat.dtype == dtype
    assert quantile(stat, [0.0, 0.1, 0.9, 1.0]).ravel().tolist() == [0.0, 0.0, 1.0, 1.0]


def test_large_integers_stay_apart() -> None:
    X = 2**62 + np.arange(500)[:, None]
    assert of(X, 7).at(np.array([[0, 499]])).tolist() == [[2**62, 2**62 + 499]]


def test_types_of_partitions_may_differ() -> None:
    stat = sketch(np.array([[1], [2]]), 4).merge(sketch(np.array([[np.nan], [0.5]]), 4))
    assert stat.dtype == "float64"
    assert quantile(stat, [0.5]).tolist() == [[1.0]]


def test_partition_of_nothing_but_holes() -> None:
    nothing = sketch(np.full((5, 1), np.nan), 4)
    stat = nothing.merge(sketch(np.array([[3.0]]), 4)).merge(nothing)
    assert (stat.n_rows, stat.counts.tolist()) == (11, [1])
    assert quantile(stat, [0.0, 0.5, 1.0]).ravel().tolist() == [3.0] * 3


@pytest.mark.parametrize("rank_error", [0, 1, 1.5, -0.01, 1e-13, float("nan")])
def test_sizes_of_no_sense_are_refused(rank_error: Any) -> None:
    with pytest.raises(ConfigError, match=f"rank_error={rank_error!r} is no share"):
        size_for(rank_error)
