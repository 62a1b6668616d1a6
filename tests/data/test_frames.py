from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pipeline.data import frames
from pipeline.errors import DataError
from pipeline.trace import execution_log, record
from tests.preprocessing.columns import (
    BOOLEANS,
    CATEGORICAL,
    MIXED,
    NUMBERS,
    OURS_ALONE,
    TEXT,
    frame,
)

EVERY = CATEGORICAL | OURS_ALONE


class OwnFrame(pd.DataFrame):
    """As GeoPandas has it."""


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (pd.DataFrame(), "pandas"),
        (pd.Series(dtype=float), "pandas"),
        (OwnFrame(), "pandas"),
        (np.zeros(1), "numpy"),
        (np.float64(1), "numpy"),
        (pa.table({"a": [1]}), "pyarrow"),
        ([], "builtins"),
        (None, "builtins"),
    ],
    ids=lambda value: str(type(value).__name__),
)
def test_library_and_device(obj: object, expected: str) -> None:
    assert frames.library(obj) == expected
    assert frames.device_of(obj) == "cpu"


def test_library_goes_by_the_module_of_the_type() -> None:
    cupy_like = type("ndarray", (), {"__module__": "cupy._core.core"})
    cudf_like = type("DataFrame", (), {"__module__": "cudf.core.dataframe", "columns": ()})
    assert frames.device_of(cupy_like()) == frames.device_of(cudf_like()) == "cuda"
    assert frames.is_frame(cudf_like())
    assert not frames.is_frame(cupy_like())


@pytest.mark.parametrize(
    ("obj", "expected"),
    [(pd.DataFrame({"a": [1]}), True), (pd.Series([1]), False), (np.zeros((1, 1)), False)],
)
def test_is_frame(obj: object, expected: bool) -> None:
    assert frames.is_frame(obj) is expected


def test_array_module_of_the_host() -> None:
    assert frames.array_module("cpu") is np


def test_head_is_the_first_row_with_its_types() -> None:
    X = pd.DataFrame(CATEGORICAL)
    first = frames.head(X)
    assert len(first) == 1
    assert first.dtypes.equals(X.dtypes)
    assert frames.head(np.arange(6).reshape(2, 3)).columns.tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", NUMBERS | BOOLEANS)
def test_numbers_have_nan_for_missing_and_no_object_type(kind: str) -> None:
    X = frame(kind)
    found = frames.numbers(X, kind)
    assert found.dtype.kind in "iufb"
    np.testing.assert_array_equal(pd.isna(found), X[kind].isna())
    known = ~pd.isna(found)
    assert (found[known] == X[kind].to_numpy()[known]).all()


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("int", "int64"),
        ("uint8", "uint8"),
        ("bool", "bool"),
        ("float32, missing", "float32"),
        ("Int64", "float64"),
        ("Int64, missing", "float64"),
        ("arrow int", "float64"),
        ("boolean", "float64"),
    ],
)
def test_numbers_have_the_type_that_sklearn_sees(kind: str, dtype: str) -> None:
    assert frames.numbers(frame(kind), kind).dtype == dtype


def test_numbers_of_arrays_are_columns() -> None:
    X = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert frames.numbers(X, 1).tolist() == [2.0, 4.0]
    assert np.shares_memory(frames.numbers(X, 1), X)


@pytest.mark.parametrize("kind", TEXT | MIXED)
def test_numbers_refuse_other_columns_by_name(kind: str) -> None:
    with pytest.raises(
        DataError, match=f"^column '{kind}' holds .* values where numbers"
    ) as caught:
        frames.numbers(frame(kind), kind)
    for way_out in ("astype", "OneHotEncoder", "leave it out"):
        assert way_out in str(caught.value)


@pytest.mark.parametrize(
    "column",
    [
        pd.to_datetime(pd.Series(["2020-01-01"])),
        pd.to_timedelta(pd.Series([1]), unit="D"),
        pd.Series([1 + 2j]),
        pd.Series([b"x"]),
        pd.Series(pd.period_range("2020", periods=1)),
    ],
    ids=lambda column: str(column.dtype),
)
def test_numbers_refuse_what_only_looks_like_numbers(column: pd.Series) -> None:
    with pytest.raises(DataError, match="column 'x' holds"):
        frames.numbers(pd.DataFrame({"x": column}), "x")


@pytest.mark.parametrize("dtype", ["float32", "float64", "Float64"])
def test_infinite_values_are_refused_by_name(dtype: str) -> None:
    X = pd.DataFrame({"x": pd.Series([1.0, -np.inf], dtype=dtype)})
    for read in (frames.numbers, frames.categories):
        with pytest.raises(DataError, match=r"column 'x' holds infinite .*first is in row 1\)$"):
            read(X, "x")
    with pytest.raises(DataError, match="column 0 holds infinite"):
        frames.categories(np.array([[np.inf]]), 0)


def test_infinite_categories_are_refused_by_row() -> None:
    X = pd.DataFrame({"x": pd.Series([2.0, 1.0, np.inf], dtype="category")})
    with pytest.raises(DataError, match="column 'x' holds infinite .*row 2"):
        frames.categories(X, "x")


@pytest.mark.parametrize(
    ("column", "way_out"),
    [
        (pd.to_datetime(pd.Series(["2020-01-01"])), "CalendarFeatures"),
        (pd.to_timedelta(pd.Series([1]), unit="D"), r"\.dt\.total_seconds"),
    ],
    ids=["date", "duration"],
)
def test_times_where_numbers_are_needed_name_the_way_out(column: Any, way_out: str) -> None:
    with pytest.raises(DataError, match=f"column 'x' holds .*needed; .*{way_out}"):
        frames.numbers(pd.DataFrame({"x": column}), "x")


def test_to_device_of_the_same_device_is_the_same_object() -> None:
    X = pd.DataFrame({"a": [1]})
    with execution_log() as book, record("x", "copy", "cpu"):
        assert frames.to_device(X, "cpu") is X
        assert frames.to_device([1, 2], "cpu") == [1, 2]
    assert book.to_host_bytes == 0


def test_nbytes_counts_values_without_the_index() -> None:
    X = pd.DataFrame({"a": np.zeros(10), "b": np.zeros(10, dtype="int8")}, index=list("abcdefghij"))
    assert frames.nbytes(X) == 90
    assert frames.nbytes(X["a"]) == 80
    assert frames.nbytes(np.zeros((10, 2), dtype="float32")) == 80


def test_select_orders_and_leaves_out() -> None:
    X = pd.DataFrame({"a": [1], "b": [2], "c": [3]})
    assert frames.select(X, ["c", "a"]).columns.tolist() == ["c", "a"]
    assert frames.select(X, ["a", "b", "c"]) is X


def test_select_names_every_missing_column() -> None:
    with pytest.raises(DataError, match=r"X lacks the columns \['z', 'y'\]"):
        frames.select(pd.DataFrame({"a": [1]}), ["z", "a", "y"])


def test_synchronize_has_nothing_to_wait_for_on_the_host() -> None:
    assert frames.synchronize("cpu") is None
