"""Rows in another type: what is merged by it is told, and what is only rounded is not."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pipeline.backends import casting

ROWS = 3000
RANDOM = np.random.default_rng(0)
NOISE = RANDOM.normal(size=(ROWS, 1))
MERGED: dict[str, Any] = {
    "seconds": 1_700_000_000 + RANDOM.choice(3600, (ROWS, 1)).astype("float64"),
    "ids": 20_000_001 + np.arange(ROWS)[:, None],
}
KEPT: dict[str, Any] = {
    "noise": NOISE,
    "rounded": np.resize([0.1, 0.2, 0.3], (ROWS, 1)) * (1 + 1e-15 * NOISE),
    "far away": 1e3 + NOISE,
    "constant": np.full((ROWS, 1), 0.1),
    "bools": NOISE > 0,
    "one row": np.array([[1e9 + 1]]),
    "no rows": np.empty((0, 1)),
}


def told(X: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        casting.warn_of_merged(X, np.asarray(X, "float32"), "KMeans", ", or wait")
    return [str(each.message) for each in caught]


@pytest.mark.parametrize("name", MERGED)
def test_numbers_that_become_one_are_named(name: str) -> None:
    for X in (MERGED[name], pd.DataFrame(MERGED[name], columns=[0])):
        (said,) = told(X)
        assert said.startswith("column 0: KMeans reads float32, in which numbers such as ")
        assert said.endswith("are one; subtract a base, or encode them as categories, or wait")
    a, b = said.partition("such as ")[2].partition(" are one")[0].split(" and ")
    assert float(a) != float(b)
    assert np.float32(a) == np.float32(b)


@pytest.mark.parametrize("name", KEPT)
def test_of_numbers_that_are_only_rounded_nothing_is_said(name: str) -> None:
    assert told(KEPT[name]) == []


def test_rows_that_have_the_type_need_no_step() -> None:
    assert casting.make_cast(np.zeros((1, 2), "float32"), "float32") is None
    row = casting.make_zero_row(pd.DataFrame({"a": [1.5], "b": [2.5]}, dtype="float32"))
    assert casting.make_cast(row, "float32") is None
    name, how = casting.make_cast(row, "float64") or ("", None)
    assert (name, how.feature_names_in_.tolist()) == ("to_float64", ["a", "b"])


def test_columns_whose_names_are_no_text_are_taken_by_position() -> None:
    row = casting.make_zero_row(pd.DataFrame({0: [1], 1: [2.5]}))
    _, how = casting.make_cast(row, "float32") or ("", None)
    assert how.transform(pd.DataFrame({0: [0.1], 1: [3]})).dtype == "float32"
