from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.preprocessing.statistics.categories import (
    CategorySums,
    count_codes,
    missing_value,
    positions,
)
from tests.strategies import cuts, words

texts = st.lists(st.one_of(words, st.none()), min_size=1, max_size=20)
numbers = st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=20)


def tally(values: list[Any]) -> CategorySums:
    """Every block has the dictionary of its own values, in the order of their appearance."""
    dtype = "int64" if isinstance(values[0], int) else object
    codes, found = pd.factorize(np.array(values, dtype=dtype))
    return CategorySums(found, count_codes(codes, len(found), np)[None].astype("float64"))


def as_dict(counts: CategorySums) -> dict[Any, float]:
    known = zip(counts.values.tolist(), counts.sums[0, :-1].tolist(), strict=True)
    return {value: n for value, n in [*known, (None, counts.sums[0, -1])] if n}


@given(data=st.data(), values=st.one_of(texts, numbers))
def test_merged_blocks_are_the_whole_in_any_order(data: st.DataObject, values: list[Any]) -> None:
    parts = [tally(values[rows]) for rows in data.draw(cuts(len(values)))]
    parts = data.draw(st.permutations(parts))
    at = data.draw(st.integers(1, len(parts)))
    halves = [reduce(CategorySums.merge, half) for half in (parts[:at], parts[at:]) if half]
    assert as_dict(reduce(CategorySums.merge, halves)) == as_dict(tally(values))


def test_integers_and_floats_are_one_value() -> None:
    a = CategorySums(np.array([1, 2]), np.array([[1.0, 1.0, 0.0]]))
    b = CategorySums(np.array([2.0, 3.0]), np.array([[5.0, 5.0, 0.0]]))
    assert as_dict(a.merge(b)) == {1.0: 1.0, 2.0: 6.0, 3.0: 5.0}


def test_present_leaves_out_what_does_not_occur() -> None:
    counts = CategorySums(np.array(["a", "b"], dtype=object), np.array([[0.0, 2.0, 0.0]]))
    assert counts.present().tolist() == ["b"]


@pytest.mark.parametrize(
    ("dtype", "expected"), [("float32", "float32"), ("float64", "float64"), (object, "object")]
)
def test_present_puts_missing_last_and_keeps_the_type(dtype: Any, expected: str) -> None:
    found = CategorySums(np.array([2, 1], dtype=dtype), np.array([[1.0, 1.0, 4.0]])).present()
    assert found.dtype == expected
    assert found[:2].tolist() == [2, 1]
    assert np.isnan(found[2])


def test_nothing_is_one_missing_value() -> None:
    assert np.isnan(missing_value(np.dtype("float32"))).tolist() == [True]
    assert missing_value(np.dtype("int64")).dtype == object


def test_positions_of_large_integers_are_exact() -> None:
    known = np.array([2**62, 2**62 + 1])
    assert positions(known, np.array([2**62 + 1, 2**62 + 2])).tolist() == [1, -1]
