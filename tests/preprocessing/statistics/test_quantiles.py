from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import resample

from pipeline.preprocessing.statistics.quantiles import (
    RowBlocks,
    draw_rows,
    quantile,
    take_rows,
)
from tests.preprocessing.cases import METHODS
from tests.strategies import cuts, exact

BLOCKS = [1, 2, 7, 64]
columns = st.lists(st.one_of(exact, st.just(np.nan)), min_size=1, max_size=30)


def matrix(n_rows: int = 200) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    X[:, 1] = np.round(X[:, 1])
    X[:, 2] = 1e9 + X[:, 2]
    X[::3, 3] = np.nan
    return X


def cut(X: np.ndarray, n_blocks: int) -> RowBlocks:
    return reduce(RowBlocks.merge, [RowBlocks([part]) for part in np.array_split(X, n_blocks)])


@pytest.mark.quick(137)
@pytest.mark.parametrize("n_blocks", BLOCKS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_levels", [1, 3, 6, 101])
def test_equals_numpy_for_any_blocks(n_levels: int, method: str, n_blocks: int) -> None:
    X, q = matrix(), np.linspace(0, 1, n_levels)
    found = quantile(cut(X, n_blocks), q, method)
    np.testing.assert_array_equal(found, np.nanquantile(X, q, axis=0, method=method))


@pytest.mark.parametrize("method", METHODS)
@given(values=columns, data=st.data())
def test_equals_numpy_for_any_values(method: str, values: list[float], data: st.DataObject) -> None:
    # Simple fractions of small counts are ranks to the last bit, or not.
    parts = data.draw(st.integers(1, 30))
    X = np.array(values)
    stat = reduce(RowBlocks.merge, [RowBlocks([X[rows, None]]) for rows in data.draw(cuts(len(X)))])
    q = np.linspace(0, 1, parts + 1)
    found = quantile(stat, q, method)[:, 0]
    if np.isnan(X).all():
        assert np.isnan(found).all()
    else:
        np.testing.assert_array_equal(found, np.nanquantile(X, q, method=method))


@pytest.mark.parametrize("dtype", ["float32", "int64", "int8", "bool"])
@pytest.mark.parametrize("method", METHODS)
def test_types_of_columns(dtype: str, method: str) -> None:
    X = np.array([[0], [1], [1], [0], [1], [0], [1]]).astype(dtype)
    q = [0.0, 0.3, 0.5, 1.0]
    expected = np.nanquantile(X if dtype == "float32" else X.astype("float64"), q, 0, method=method)
    np.testing.assert_allclose(quantile(RowBlocks([X]), q, method), expected, rtol=1e-7)


def test_difference_of_small_integers_does_not_overflow() -> None:
    stat = RowBlocks([np.array([[-100], [100]], dtype="int8")])
    assert quantile(stat, [0.25]).tolist() == [[-50.0]]


def test_column_without_values() -> None:
    stat = cut(np.full((5, 1), np.nan), 2)
    assert np.isnan(quantile(stat, [0.0, 0.5, 1.0])).all()


@pytest.mark.parametrize("replace", [False, True])
def test_rows_are_drawn_where_there_are_more(replace: bool) -> None:
    stat = cut(matrix(), 7)
    chosen = resample(np.arange(200), replace=replace, n_samples=30, random_state=5)
    found = draw_rows(stat, 30, 5, replace=replace)
    assert isinstance(found, RowBlocks)
    np.testing.assert_array_equal(found.column(2), matrix()[np.sort(chosen), 2])
    assert draw_rows(stat, 200, 5, replace=replace) is stat
    assert draw_rows(stat, None, 5, replace=replace) is stat


@given(data=st.data(), n_rows=st.integers(1, 20))
def test_taken_rows_are_those_asked_for(data: st.DataObject, n_rows: int) -> None:
    X = np.arange(n_rows)[:, None]
    stat = reduce(RowBlocks.merge, [RowBlocks([X[rows]]) for rows in data.draw(cuts(n_rows))])
    chosen = data.draw(st.lists(st.integers(0, n_rows - 1), min_size=1, max_size=30))
    found = take_rows(stat, np.array(chosen))
    assert found.column(0).tolist() == sorted(chosen)
    assert found.n_rows == len(chosen)
