"""Tables as numbers and as categories: any value, huge integers, dates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pipeline.data import datetimes, encode, frames
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
    assert frames.xp(obj) is np
    assert frames.is_frame(obj) == isinstance(obj, pd.DataFrame)


def test_library_goes_by_the_module_of_the_type() -> None:
    cupy_like = type("ndarray", (), {"__module__": "cupy._core.core"})
    cudf_like = type("DataFrame", (), {"__module__": "cudf.core.dataframe", "columns": ()})
    assert frames.device_of(cupy_like()) == frames.device_of(cudf_like()) == "cuda"
    assert frames.is_frame(cudf_like())
    assert not frames.is_frame(cupy_like())


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


@pytest.mark.parametrize("kind", MIXED)
def test_objects_and_categories_that_are_numbers_are_read_as_such(kind: str) -> None:
    X = frame(kind)
    expected = X[kind].astype(object).to_numpy("float64", na_value=np.nan)
    np.testing.assert_array_equal(frames.numbers(X, kind), expected)


@pytest.mark.parametrize("kind", TEXT)
def test_numbers_refuse_other_columns_by_name(kind: str) -> None:
    with pytest.raises(
        DataError, match=f"^column '{kind}' holds .* values where numbers"
    ) as caught:
        frames.numbers(frame(kind), kind)
    for suggestion in ("astype", "OneHotEncoder", "leave it out"):
        assert suggestion in str(caught.value)


@pytest.mark.parametrize(
    ("column", "suggestion"),
    [
        (pd.to_datetime(pd.Series(["2020-01-01"])), "needed; .*CalendarFeatures"),
        (pd.to_timedelta(pd.Series([1]), unit="D"), r"needed; .*\.dt\.total_seconds"),
        (pd.Series([1 + 2j]), "needed"),
        (pd.Series([b"x"]), "needed"),
        (pd.Series(pd.period_range("2020", periods=1)), "needed"),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)
def test_numbers_refuse_what_only_looks_like_numbers(column: pd.Series, suggestion: str) -> None:
    with pytest.raises(DataError, match=f"column 'x' holds .*{suggestion}"):
        frames.numbers(pd.DataFrame({"x": column}), "x")


@pytest.mark.parametrize("dtype", ["float32", "float64", "Float64"])
def test_infinite_values_are_refused_by_name(dtype: str) -> None:
    X = pd.DataFrame({"x": pd.Series([1.0, -np.inf, np.inf], dtype=dtype)})
    for read in (frames.numbers, encode.categories):
        with pytest.raises(DataError, match=r"column 'x' holds infinite .*first is in row 1\)$"):
            read(X, "x")
    with pytest.raises(DataError, match="column 'x' holds infinite .*row 1"):
        encode.categories(X.astype("category"), "x")
    with pytest.raises(DataError, match="column 0 holds infinite"):
        encode.categories(np.array([[np.inf]]), 0)


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


HUGE = [2**53, 2**53 + 1]


def test_numbers_of_huge_integers_keep_their_magnitude() -> None:
    X = pd.DataFrame({"x": pd.Series([*HUGE, None], dtype="Int64")})
    np.testing.assert_allclose(frames.numbers(X, "x")[:2], HUGE, rtol=1e-15)


DATES = pd.Series(pd.to_datetime(["2021-03-01 00:00", "2020-01-01 12:00", "2021-03-01 00:00"]))


def test_datetimes_of_an_array() -> None:
    X = np.array([["1970-01-02", "NaT"]], dtype="datetime64[D]")
    assert frames.datetimes(X, 0).tolist() == [86_400 * 10**9]
    assert frames.datetimes(X, 1).tolist() == [datetimes.MISSING]
