from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from scipy.sparse import csr_array, csr_matrix

from pipeline import frames
from pipeline.errors import DataError
from pipeline.residency import ledger, record
from tests.preprocessing.columns import (
    ALL_MISSING,
    BOOLEANS,
    CATEGORICAL,
    MIXED,
    NUMBERS,
    OURS_ALONE,
    TEXT,
    frame,
)
from tests.strategies import bounded, tables

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


@pytest.mark.parametrize("X", [pd.DataFrame({"a": [1]}), np.zeros((2, 1))], ids=["frame", "array"])
def test_ingest_copies_nothing(X: Any) -> None:
    assert frames.ingest(X) is X


def test_ingest_reads_arrow_tables_and_lists() -> None:
    X = frames.ingest(pa.table({"a": [1, 2], "t": ["x", None]}))
    assert X["a"].tolist() == [1, 2]
    assert X["t"].isna().tolist() == [False, True]
    assert frames.ingest([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1.0, 2.0], r"1 dimension.*Reshape your data: X\.reshape\(-1, 1\) is one column"),
        (pd.Series([1.0, 2.0]), "1 dimension"),
        (np.zeros((2, 2, 2)), "3 dimension"),
        (3, "0 dimension"),
        (None, "0 dimension"),
        (csr_matrix([[1.0]]), r"X is sparse.*pass X\.toarray\(\)"),
        (csr_array([[1.0]]), "X is sparse"),
        (pd.DataFrame({"a": []}), r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        (np.zeros((0, 2)), r"0 sample\(s\)"),
        (pd.DataFrame(index=range(3)), r"0 feature\(s\) \(shape=\(3, 0\)\)"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), r"the same name: \['a'\]; rename them"),
    ],
    ids=str,
)
def test_ingest_refuses_what_is_no_table(X: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        frames.ingest(X)


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
        with pytest.raises(DataError, match="column 'x' holds infinite values; replace them"):
            read(X, "x")
    with pytest.raises(DataError, match="column 0 holds infinite"):
        frames.categories(np.array([[np.inf]]), 0)


@pytest.mark.parametrize("kind", EVERY)
def test_categories_stand_for_the_values(kind: str) -> None:
    X = frame(kind, EVERY)
    codes, values = frames.categories(X, kind)
    missing = X[kind].isna().to_numpy()
    np.testing.assert_array_equal(codes < 0, missing)
    found = values[codes[~missing]]
    assert (found == X[kind].astype(object).to_numpy()[~missing]).all()
    assert not pd.isna(values).any()


@pytest.mark.parametrize("kind", [kind for kind in EVERY if "unused" not in kind])
def test_values_of_categories_are_distinct(kind: str) -> None:
    values = frames.categories(frame(kind, EVERY), kind).values
    assert len(set(values.tolist())) == len(values)


@pytest.mark.parametrize("kind", ALL_MISSING)
def test_categories_of_nothing(kind: str) -> None:
    codes, values = frames.categories(frame(kind), kind)
    assert (codes == -1).all()
    assert len(values) == 0


def test_categories_of_object_arrays() -> None:
    X = np.array([["b", 2], [None, 1], ["a", 2]], dtype=object)
    codes, values = frames.categories(X, 0)
    assert codes.tolist() == [1, -1, 0]
    assert values.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("array", "codes", "values"),
    [
        (np.array([3.0, np.nan, 1.0, np.nan]), [1, -1, 0, -1], [1.0, 3.0]),
        (np.array([np.nan, np.nan]), [-1, -1], []),
        (np.array([2**62 + 1, 2**62]), [1, 0], [2**62, 2**62 + 1]),
        (np.array([True, False]), [1, 0], [False, True]),
        (np.array(["b", "a"]), [1, 0], ["a", "b"]),
    ],
    ids=["float", "nothing", "int", "bool", "text"],
)
def test_coded_sorts_and_leaves_missing_out(array: Any, codes: Any, values: Any) -> None:
    found = frames.coded(array)
    assert found.codes.tolist() == codes
    assert found.values.tolist() == values


def test_to_device_of_the_same_device_is_the_same_object() -> None:
    X = pd.DataFrame({"a": [1]})
    with ledger() as book, record("x", "copy", "cpu"):
        assert frames.to_device(X, "cpu") is X
        assert frames.to_device([1, 2], "cpu") == [1, 2]
    assert book.host_bytes == 0


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


@pytest.mark.parametrize("kind", ["str", "object", "string", "str, missing"])
def test_categorize_makes_text_categorical(kind: str) -> None:
    X = frame(kind, EVERY).assign(n=1.0)
    found = frames.categorize(X)
    assert str(found[kind].dtype) == "category"
    assert found["n"].dtype == "float64"
    assert str(X[kind].dtype) != "category"


def test_categorize_leaves_a_frame_without_text_alone() -> None:
    X = frame("int").assign(c=pd.Series(["a"]).astype("category"))
    assert frames.categorize(X) is X


def test_synchronize_has_nothing_to_wait_for_on_the_host() -> None:
    assert frames.synchronize("cpu") is None


@bounded
@given(X=tables())
def test_any_column_is_its_codes(X: pd.DataFrame) -> None:
    for name in X.columns:
        codes, values = frames.categories(X, name)
        missing = X[name].isna().to_numpy()
        np.testing.assert_array_equal(codes < 0, missing)
        assert values[codes[~missing]].tolist() == X[name].astype(object)[~missing].tolist()
