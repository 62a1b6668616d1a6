"""The statistics of blocks merge to those of all rows, however the rows are cut."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import resample

from pipeline.twins.statistics.categories import CategorySums, count_codes, positions
from pipeline.twins.statistics.moments import MinMax, Moments, min_max, moments
from pipeline.twins.statistics.quantiles import RowBlocks, draw_rows, median, quantile
from tests.strategies import cuts, exact, words

COLUMNS = st.lists(st.one_of(exact, st.just(np.nan)), min_size=1, max_size=20)
TEXTS = st.lists(st.one_of(words, st.none()), min_size=1, max_size=20)
INTEGERS = st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=20)


def tally(values: list[Any]) -> CategorySums:
    """Every block has the dictionary of its own values, in the order of their appearance."""
    dtype = "int64" if isinstance(values[0], int) else object
    codes, found = pd.factorize(np.array(values, dtype=dtype))
    return CategorySums(found, count_codes(codes, len(found), np)[None].astype("float64"))


def as_dict(counts: CategorySums) -> dict[Any, float]:
    known = zip(counts.values.tolist(), counts.sums[0, :-1].tolist(), strict=True)
    return {value: n for value, n in [*known, (None, counts.sums[0, -1])] if n}


@given(data=st.data(), values=st.one_of(TEXTS, INTEGERS))
def test_counts_merge_in_any_order(data: st.DataObject, values: list[Any]) -> None:
    parts = [tally(values[rows]) for rows in data.draw(cuts(len(values)))]
    parts = data.draw(st.permutations(parts))
    assert as_dict(reduce(CategorySums.merge, parts)) == as_dict(tally(values))


def test_integers_and_floats_are_one_value_and_large_ones_are_exact() -> None:
    a = CategorySums(np.array([1, 2]), np.array([[1.0, 1.0, 0.0]]))
    b = CategorySums(np.array([2.0, 3.0]), np.array([[5.0, 5.0, 0.0]]))
    assert as_dict(a.merge(b)) == {1.0: 1.0, 2.0: 6.0, 3.0: 5.0}
    known = np.array([2**62, 2**62 + 1])
    assert positions(known, np.array([2**62 + 1, 2**62 + 2])).tolist() == [1, -1]


@given(data=st.data(), values=COLUMNS, weighted=st.booleans())
def test_moments_merge_in_any_order(
    data: st.DataObject, values: list[float], weighted: bool
) -> None:
    X, n = np.array(values)[:, None], len(values)
    shares = st.sampled_from([0.0, 1e-3, 0.25, 1.0, 3.0])  # all of a block may be less than one row
    weights = np.array(data.draw(st.lists(shares, min_size=n, max_size=n))) if weighted else None
    parts = [
        moments(X[rows], np, None if weights is None else weights[rows])
        for rows in data.draw(cuts(n))
    ]
    found = reduce(Moments.merge, data.draw(st.permutations(parts)))
    for name in ("rows", "mean", "squares"):
        expected = getattr(moments(X, np, weights), name)
        np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-12, atol=1e-6)


def test_moments_keep_their_digits() -> None:
    rng = np.random.default_rng(0)
    values = 1e9 + rng.normal(0, 1, (6400, 1))
    blocks = [moments(block, np) for block in np.array_split(values, 64)]
    rng.shuffle(blocks)
    variance = reduce(Moments.merge, blocks).variance
    np.testing.assert_allclose(variance, moments(values, np).variance, rtol=1e-13)
    assert 0.0 <= moments(np.full((1001, 1), 0.1), np).variance[0] < 1e-30
    values = np.r_[np.float32(2**25), np.ones(1000, dtype="float32")][:, None]
    assert moments(values, np).mean[0] == pytest.approx((2**25 + 1000) / 1001, rel=1e-14)


@given(data=st.data(), values=COLUMNS)
def test_bounds_merge(data: st.DataObject, values: list[float]) -> None:
    X = np.array(values)[:, None]
    found = reduce(MinMax.merge, [min_max(X[rows]) for rows in data.draw(cuts(len(X)))])
    known = X[~np.isnan(X)]
    assert found.low.tolist() == [known.min() if len(known) else np.inf]
    assert found.high.tolist() == [known.max() if len(known) else -np.inf]
    assert (found.n_rows, found.empty.tolist()) == (len(X), [len(known) == 0])


@given(values=COLUMNS, data=st.data())
def test_quantiles_are_those_of_numpy(values: list[float], data: st.DataObject) -> None:
    X = np.array(values)
    stat = reduce(RowBlocks.merge, [RowBlocks([X[rows, None]]) for rows in data.draw(cuts(len(X)))])
    q = np.linspace(0, 1, data.draw(st.integers(1, 30)) + 1)
    found, middle = quantile(stat, q)[:, 0], median(stat)
    if np.isnan(X).all():
        assert np.isnan([*found, *middle]).all()
    else:
        np.testing.assert_array_equal(found, np.nanquantile(X, q))
        assert middle == np.nanmedian(X)


def test_difference_of_small_integers_does_not_overflow() -> None:
    stat = RowBlocks([np.array([[-100], [100]], dtype="int8")])
    assert quantile(stat, [0.25]).tolist() == [[-50.0]]


@pytest.mark.parametrize("replace", [False, True])
def test_rows_are_drawn_as_in_sklearn_where_there_are_more(replace: bool) -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    stat = RowBlocks(np.array_split(X, 7))
    chosen = resample(np.arange(200), replace=replace, n_samples=30, random_state=5)
    found = draw_rows(stat, 30, 5, replace=replace)
    np.testing.assert_array_equal(found.column(2), X[np.sort(chosen), 2])
    assert draw_rows(stat, 200, 5, replace=replace) is stat
