"""Tables as numbers and as categories: any value, huge integers, dates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pipeline.errors import DataError
from pipeline.table import datetimes, encode, frames
from tests.twins.columns import BOOLEANS, CATEGORICAL, MIXED, NUMBERS, OURS_ALONE, TEXT, frame

EVERY = CATEGORICAL | OURS_ALONE


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


@pytest.mark.parametrize("kind", MIXED)
def test_objects_and_categories_that_are_numbers_are_read_as_such(kind: str) -> None:
    X = frame(kind)
    expected = X[kind].astype(object).to_numpy("float64", na_value=np.nan)
    np.testing.assert_array_equal(frames.numbers(X, kind), expected)


@pytest.mark.parametrize("kind", TEXT)
def test_numbers_refuse_other_columns_by_name(kind: str) -> None:
    with pytest.raises(DataError, match=f"^column '{kind}' holds .* values, but numbers") as caught:
        frames.numbers(frame(kind), kind)
    for suggestion in ("astype", "OneHotEncoder", "drop it"):
        assert suggestion in str(caught.value)


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


def test_select_names_every_missing_column() -> None:
    with pytest.raises(DataError, match=r"X lacks the columns \['z', 'y'\]"):
        frames.select(pd.DataFrame({"a": [1]}), ["z", "a", "y"])


HUGE = [2**53, 2**53 + 1]


DATES = pd.Series(pd.to_datetime(["2021-03-01 00:00", "2020-01-01 12:00", "2021-03-01 00:00"]))


def test_datetimes_of_an_array() -> None:
    X = np.array([["1970-01-02", "NaT"]], dtype="datetime64[D]")
    assert frames.datetimes(X, 0).tolist() == [86_400 * 10**9]
    assert frames.datetimes(X, 1).tolist() == [datetimes.MISSING]
