from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.preprocessing.statistics.moments import Moments, moments
from tests.strategies import cuts, exact

columns = st.lists(st.one_of(exact, st.just(np.nan)), min_size=1, max_size=20)


def of(values: list[float]) -> Moments:
    return moments(np.array(values, dtype="float64")[:, None], np)


def assert_same(a: Moments, b: Moments) -> None:
    for name in ("rows", "mean", "squares"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-12, atol=1e-6)


@given(data=st.data(), values=columns)
def test_merged_blocks_are_the_whole_in_any_order(data: st.DataObject, values: list[float]) -> None:
    parts = data.draw(st.permutations([of(values[rows]) for rows in data.draw(cuts(len(values)))]))
    at = data.draw(st.integers(1, len(parts)))
    halves = [reduce(Moments.merge, half) for half in (parts[:at], parts[at:]) if half]
    assert_same(reduce(Moments.merge, halves), of(values))


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_statistics_are_float64(dtype: str) -> None:
    found = moments(np.array([[0], [1], [1]]).astype(dtype), np)
    assert [array.dtype for array in found] == [np.dtype("float64")] * 4
    np.testing.assert_allclose(found.variance, [2 / 9], rtol=1e-15)


def test_float32_sums_do_not_lose_rows() -> None:
    values = np.r_[np.float32(2**25), np.ones(1000, dtype="float32")][:, None]
    assert moments(values, np).mean[0] == pytest.approx((2**25 + 1000) / 1001, rel=1e-14)


@pytest.mark.parametrize("n_blocks", [2, 7, 64])
def test_shuffled_blocks_beside_a_large_mean(n_blocks: int) -> None:
    rng = np.random.default_rng(0)
    values = 1e9 + rng.normal(0, 1, (6400, 1))
    blocks = [moments(block, np) for block in np.array_split(values, n_blocks)]
    rng.shuffle(blocks)
    whole, found = moments(values, np), reduce(Moments.merge, blocks)
    np.testing.assert_allclose(found.variance, whole.variance, rtol=1e-13)
    np.testing.assert_allclose(found.mean, whole.mean, rtol=1e-15)


def test_variance_is_never_negative() -> None:
    found = moments(np.full((1001, 1), 0.1), np)
    assert 0.0 <= found.variance[0] < 1e-30


@given(data=st.data(), values=columns)
def test_weighted_rows_may_be_cut_anywhere(data: st.DataObject, values: list[float]) -> None:
    shares = st.sampled_from([0.0, 1e-3, 0.25, 1.0, 3.0])  # all of a block may be less than one row
    weights = np.array(data.draw(st.lists(shares, min_size=len(values), max_size=len(values))))
    X = np.array(values)[:, None]
    parts = [moments(X[rows], np, weights[rows]) for rows in data.draw(cuts(len(values)))]
    assert_same(reduce(Moments.merge, parts), moments(X, np, weights))


def test_weights_of_whole_numbers_are_rows() -> None:
    X, times = np.array([[1.0, np.nan], [4.0, 2.0], [9.0, 5.0]]), np.array([2, 0, 3])
    assert_same(moments(X, np, times), moments(X.repeat(times, axis=0), np))
