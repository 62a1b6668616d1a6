from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.preprocessing.statistics.min_max import MinMax, min_max
from tests.strategies import cuts, exact

columns = st.lists(st.one_of(exact, st.just(np.nan)), min_size=1, max_size=20)


@given(data=st.data(), values=columns)
def test_merged_blocks_are_the_whole(data: st.DataObject, values: list[float]) -> None:
    X = np.array(values)[:, None]
    found = reduce(MinMax.merge, [min_max(X[rows]) for rows in data.draw(cuts(len(X)))])
    assert found.n_rows == len(X)
    known = X[~np.isnan(X)]
    assert found.low.tolist() == [known.min() if len(known) else np.inf]
    assert found.high.tolist() == [known.max() if len(known) else -np.inf]
    assert found.empty.tolist() == [len(known) == 0]


def test_infinities_are_values() -> None:
    found = min_max(np.array([[np.inf, -np.inf], [np.nan, np.nan]]))
    assert found.low.tolist() == found.high.tolist() == [np.inf, -np.inf]
    assert not found.empty.any()


def test_integers_stay_apart_that_are_one_float() -> None:
    found = min_max(np.array([[2**62], [2**62 + 1]]))
    assert found.low.tolist() == [2**62]
    assert found.high.tolist() == [2**62 + 1]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float32"])
def test_type_is_kept(dtype: str) -> None:
    found = min_max(np.array([[0], [1]], dtype=dtype))
    assert found.low.dtype == found.high.dtype == dtype
    assert found.merge(MinMax(0, np.array([np.inf]), np.array([-np.inf]))).high.tolist() == [1]
