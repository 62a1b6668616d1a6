"""What signatures cannot show: the semantics of cuDF and CuPy that our code relies on.

Held on the stand-ins and on a GPU. See docs/gpu.md.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pipeline.optional import load
from pipeline.table import encode, frames
from pipeline.table.output import categorize
from pipeline.twins.calendar import DAY, FEATURES, encode_fields
from pipeline.twins.statistics.categories import SPREAD, count_codes, tally
from pipeline.twins.statistics.quantiles import RowBlocks, quantile
from tests.contract.cases import EVERYWHERE

pytestmark = [EVERYWHERE, pytest.mark.usefixtures("device")]

TEXT = ["b", "a", None, "Z", "é", "a"]
"""Sorted by code point: Z, a, b, é."""


def frame(**columns: object) -> object:
    return load("cudf").from_pandas(pd.DataFrame(columns))


def array(*values: object, dtype: str | None = None) -> object:
    return load("cupy").asarray(np.array(values, dtype=dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "Float64"])
def test_nan_and_null_are_both_missing(dtype: str) -> None:
    values = frames.numbers(frame(x=pd.Series([1.5, None, 2.5], dtype=dtype)), "x")
    assert values.dtype.kind == "f"
    np.testing.assert_array_equal(values.get(), [1.5, np.nan, 2.5])


@pytest.mark.parametrize(
    ("values", "dtype"),
    [([1, None, 3], "Int64"), ([True, None, False], "boolean"), ([True, None, False], "object")],
)
def test_nulls_of_integers_and_bools_become_nan(values: list[object], dtype: str) -> None:
    found = frames.numbers(frame(x=pd.Series(values, dtype=dtype)), "x")
    np.testing.assert_array_equal(found.get(), [float(values[0]), np.nan, float(values[2])])


def decoded(found: encode.Coded) -> list[object]:
    return [None if code < 0 else found.values[code] for code in found.codes.get()]


@pytest.mark.parametrize("dtype", ["str", "object"])
def test_text_becomes_codes_into_its_distinct_values(dtype: str) -> None:
    found = encode.categories(frame(x=pd.Series(TEXT, dtype=dtype)), "x")
    assert decoded(found) == TEXT
    assert sorted(found.values) == ["Z", "a", "b", "é"]


@pytest.mark.parametrize("dtype", ["str", "category"])
@pytest.mark.parametrize("start", [0, 2, 3, 40])
def test_rows_of_a_table_have_their_own_nulls(start: int, dtype: str) -> None:
    X = frame(x=pd.Series(TEXT * 9, dtype=dtype))
    assert decoded(encode.categories(X.iloc[start:], "x")) == (TEXT * 9)[start:]
    assert decoded(encode.categories(X[start:50], "x")) == (TEXT * 9)[start:50]
    made = categorize(X.iloc[start:])["x"].to_pandas()
    assert made.astype(object).where(made.notna(), None).tolist() == (TEXT * 9)[start:]


def test_categories_of_some_rows_have_the_nulls_of_the_first_ones() -> None:
    rows = frame(x=pd.Series(["a", None, "b", "c", None, "d"], dtype="str"))["x"].iloc[2:]
    assert rows.astype("category").isnull().to_numpy().tolist() == [False, True, True, False]
    assert rows.copy().astype("category").isnull().to_numpy().tolist() == [False] * 2 + [
        True,
        False,
    ]


def test_rows_of_text_take_the_memory_of_the_whole_column_and_a_copy_does_not() -> None:
    X = frame(x=["text"] * 10_000, d=[pd.Timestamp("2020-01-01")] * 10_000)
    assert frames.nbytes(X[:1]) > 100_000
    assert frames.nbytes(X[:1].copy()) < 1_000


ARRAYS = {
    "a NaN with its sign set is sorted before all numbers": (
        lambda xp: xp.sort(array(1.0, -np.nan, -2.0, np.nan)),
        [np.nan, -2.0, 1.0, np.nan],
    ),
    "negative codes gather from the end": (
        lambda xp: array(10.0, 20.0, 30.0)[array(0, -1, 1, -2, dtype="int8")],
        [10.0, 30.0, 20.0, 20.0],
    ),
    "two index arrays gather together": (
        lambda xp: array([0.0, 1.0, 2.0], [3.0, 4.0, 5.0])[array(1, 0, 1), array(0, -1, 2)],
        [3.0, 2.0, 5.0],
    ),
    "the remainder of a negative number is positive": (lambda xp: array(-1, 0, 2) % 4, [3, 0, 2]),
    "integers are never NaN": (lambda xp: xp.isnan(array(1, 2)), [False, False]),
    "the median of an even count": (lambda xp: xp.median(array(4.0, 1.0, 2.0, 3.0)), 2.5),
    "missing is counted last": (
        lambda xp: count_codes(array(0, -1, 2, 2, -1, dtype="int8"), 4, xp),
        [1, 0, 2, 0, 2],
    ),
    "no rows are counted as zero": (
        lambda xp: count_codes(xp.empty(0, dtype="int64"), 2, xp),
        [0, 0, 0],
    ),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_are_what_our_code_expects(name: str) -> None:
    make, expected = ARRAYS[name]
    np.testing.assert_array_equal(make(load("cupy")).get(), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_nan_with_its_sign_set_is_missing(dtype: str) -> None:
    values = array(2.0, -np.nan, 1.0, np.nan, 4.0, dtype=dtype)
    codes, distinct = encode.coded(values)
    assert (codes.get().tolist(), distinct.tolist()) == ([1, -1, 0, -1, 2], [1.0, 2.0, 4.0])
    assert quantile(RowBlocks([values[:, None]]), [0.0, 0.5, 1.0]).ravel().tolist() == [
        1.0,
        2.0,
        4.0,
    ]


@pytest.mark.parametrize("size", [1, SPREAD, SPREAD + 1])
def test_tallies_are_those_of_the_host(size: int) -> None:
    rng = np.random.default_rng(0)
    places, weights = rng.integers(0, size, 200_000), rng.normal(size=200_000)
    cupy = load("cupy")
    there = cupy.asarray(places)
    assert tally(there, size, cupy).get().tolist() == tally(places, size, np).tolist()
    found = tally(there, size, cupy, cupy.asarray(weights))
    np.testing.assert_allclose(found.get(), tally(places, size, np, weights), rtol=1e-9, atol=1e-9)


EVERY_DAY = np.arange(-106_751, 106_752) * DAY


@pytest.mark.parametrize("feature", FEATURES)
def test_every_day_has_the_features_it_has_on_the_cpu(feature: str) -> None:
    at = EVERY_DAY[:-1] + 86_399_999_999_999
    asked = [(feature, "")], DAY // 3
    found = encode_fields(load("cupy").asarray(at[:, None]), *asked)
    np.testing.assert_array_equal(found.get(), encode_fields(at[:, None], *asked))


@pytest.mark.parametrize(
    ("zone", "year"),
    [("Europe/Berlin", 1883), ("America/New_York", 2038), ("Australia/Lord_Howe", 2024)],
)
def test_zone_gives_the_time_on_the_wall(zone: str, year: int) -> None:
    hours = pd.date_range(f"{year}-01-01", f"{year + 1}-01-01", freq="h", tz="UTC", unit="ns")
    X = pd.DataFrame({"t": hours.tz_convert(zone)})
    found = frames.datetimes(load("cudf").from_pandas(X), "t").get()
    np.testing.assert_array_equal(found, frames.datetimes(X, "t"))
