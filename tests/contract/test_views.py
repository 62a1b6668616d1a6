"""Some rows of a table on the device are a view of it: what cuDF makes of that, and what we do."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from pipeline import Accelerated, trace
from pipeline.backends.base import Model
from pipeline.backends.xgboost.estimator import XGBoostModel
from pipeline.data import frames, output
from pipeline.data.schema import Schema
from pipeline.errors import DataError
from tests.contract import tables
from tests.contract.cases import table
from tests.contract.recorder import Recorder
from tests.contract.verify import faults

TEXT = ["a", None, "b", "c", None, "a", "d", "b"]


def upload(table: Any) -> Any:
    return sys.modules["cudf"].from_pandas(table)


def decoded(found: frames.Coded) -> list[Any]:
    """Return the values that codes stand for."""
    return [None if code < 0 else found.values[code] for code in frames.to_host(found.codes)]


def test_the_stand_in_says_that_rows_of_text_take_what_the_whole_column_takes(
    device: Recorder,
) -> None:
    X = upload(pd.DataFrame({"n": np.zeros(1000), "t": "text", "d": pd.Timestamp("2020-01-01")}))
    whole, row = X.memory_usage(index=False), X[:1].memory_usage(index=False)
    assert [int(row._host[name]) for name in ("n", "t", "d")] == [
        8,
        whole._host["t"],
        whole._host["d"],
    ]
    assert int(X["t"].iloc[5:7].memory_usage(index=False)) == whole._host["t"]
    assert int(X[:1].copy().memory_usage(index=False).sum()) < 100


def test_the_stand_in_masks_categories_from_the_first_row_of_the_whole_column(
    device: Recorder,
) -> None:
    column = upload(pd.Series(TEXT, dtype="str"))
    made = column.iloc[3:].astype("category").to_pandas()
    assert made.isna().tolist() == [False, True, False, False, True]
    assert made.iloc[4] is np.nan
    assert column.iloc[3:].copy().astype("category").to_pandas().tolist() == [
        "c",
        np.nan,
        "a",
        "d",
        "b",
    ]


@pytest.mark.parametrize("dtype", ["str", "category"])
@pytest.mark.parametrize("start", [0, 1, 2, 3])
def test_rows_have_their_own_missing_values(start: int, dtype: str, device: Recorder) -> None:
    X = upload(pd.DataFrame({"t": pd.Series(TEXT, dtype=dtype)}))
    assert decoded(frames.categories(X.iloc[start:], "t")) == TEXT[start:]
    assert decoded(frames.categories(X[start:6], "t")) == TEXT[start:6]
    assert faults(device.calls) == []


@pytest.mark.parametrize("start", [0, 1, 2, 3])
def test_rows_of_text_become_categories_for_xgboost(start: int, device: Recorder) -> None:
    X = upload(pd.DataFrame({"n": np.arange(8.0), "t": pd.Series(TEXT, dtype="str")}))
    made = output.categorize(X.iloc[start:])["t"].to_pandas()
    assert made.dtype == "category"
    assert made.astype(object).where(made.notna(), None).tolist() == TEXT[start:]
    assert faults(device.calls) == []


def test_xgboost_is_given_columns_that_own_their_nulls(device: Recorder) -> None:
    X = upload(pd.DataFrame({"n": np.arange(8.0), "m": [None, 1.0] * 4, "t": TEXT}))
    made = output.with_own_nulls(X.iloc[2:])
    starts = {name: made[name].to_pylibcudf()[0].offset() for name in made}
    assert starts == {"n": 2, "m": 0, "t": 0}
    pd.testing.assert_frame_equal(made.to_pandas(), X.iloc[2:].to_pandas())
    assert faults(device.calls) == []


def test_the_first_row_costs_the_bytes_of_a_row(device: Recorder) -> None:
    X = upload(table(5000))
    device.clear()
    with trace.execution_log(host_bytes=0, n_rows=5000) as book, trace.record("x", "fit", "cuda"):
        frames.head(X)
    assert book.to_host_bytes == device.nbytes("host", "explicit") < 4000


@pytest.mark.parametrize("name", [None, "town"])
def test_rows_that_come_to_the_host_are_booked_as_what_they_are(
    name: str | None, device: Recorder
) -> None:
    X = upload(table(5000)) if name is None else upload(table(5000))[name]
    device.clear()
    with trace.execution_log() as book, trace.record("x", "copy", "cpu"):
        found = frames.to_device(X[40:60], "cpu")
    assert len(found) == 20
    assert book.to_host_bytes == device.nbytes("host", "explicit") < 4000


def test_a_table_of_much_text_keeps_a_budget_of_nothing(device: Recorder) -> None:
    X = upload(pd.DataFrame({"t": np.array(["a long text " * 9, "b"])[np.arange(20_000) % 2]}))
    estimator = make_column_transformer((OneHotEncoder(sparse_output=False), ["t"]))
    model = Accelerated(estimator, device="cuda", host_bytes=0).fit(X)
    assert model.execution_log_.to_host_bytes < 4000


def test_declared_categories_are_no_rows_to_a_budget_of_nothing(device: Recorder) -> None:
    names = [f"a category with the number {number:05}" for number in range(9000)]
    host = pd.DataFrame({"k": pd.Categorical.from_codes(np.arange(3000) % 7, categories=names)})
    estimator = make_column_transformer((OrdinalEncoder(), ["k"]))
    model = Accelerated(estimator, device="cuda", host_bytes=0).fit(upload(host))
    # What is fitted are the categories; a row that is looked at does not bring them.
    brought = device.nbytes("host", "explicit")
    assert 0 < brought - model.execution_log_.to_host_bytes < 200
    assert (
        model.to_sklearn().named_transformers_["ordinalencoder"].categories_[0].tolist()
        == names[:7]
    )


def nullable(first: int) -> Any:
    """Return a table on the device whose nulls are in another row, depending on the first."""
    row = (np.arange(6) + first) % 6
    host = pd.DataFrame(
        {
            "i": pd.array([1, 2, None, 4, 5, 6], dtype="Int64")[row],
            "b": pd.array([True, False, None, True, False, True], dtype="boolean")[row],
            "t": pd.Series(["x", "y", None, "x", "y", "z"], dtype="str").to_numpy()[row],
        }
    ).astype({"t": "str"})
    return tables.DataFrame(host, {"i": np.dtype("int64"), "b": np.dtype("bool")})


def test_the_stand_in_brings_nulls_to_the_host_in_another_type(device: Recorder) -> None:
    X = nullable(2)
    assert X.dtypes.astype(str).tolist() == ["int64", "bool", "str"]
    assert X[:1].to_pandas().dtypes.astype(str).tolist() == ["float64", "object", "str"]
    assert X[1:2].to_pandas().dtypes.astype(str).tolist() == ["int64", "bool", "str"]


@pytest.mark.parametrize("first", range(6))
def test_what_a_program_reads_does_not_depend_on_the_first_row(
    first: int, device: Recorder
) -> None:
    X = nullable(first)
    head = frames.head(X)
    assert head.shape == (1, 3)
    # As on the host, where integers and bools with nulls have types of their own.
    assert head.dtypes.astype(str).tolist() == ["Int64", "boolean", "str"]
    estimator = make_column_transformer(
        (OrdinalEncoder(), make_column_selector(dtype_include="bool")),
        (StandardScaler(), make_column_selector(dtype_include="int64")),
    )
    model = Accelerated(estimator, device="cuda", dtype="float64").fit(X)
    assert model.transform(X).shape == (6, 2)
    assert model.to_sklearn().transform(head).shape == (1, 2)
    assert list(Schema.fit(X)[0].columns or ()) == ["i", "b", "t"]


def test_the_head_knows_every_kind_of_column(device: Recorder) -> None:
    host = table()
    found, expected = frames.head(upload(host)), frames.head(host)
    assert found.columns.tolist() == expected.columns.tolist()
    kinds = [str(dtype).replace("object", "str") for dtype in expected.dtypes]
    assert [str(dtype) for dtype in found.dtypes] == kinds


def test_a_category_that_was_not_there_at_fit_is_told_of_a_table_on_the_device(
    device: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: Any, **__: Any) -> None:
        raise ValueError("a new category for the 1th (0-based) column: `d`")

    X = upload(pd.DataFrame({"n": np.arange(8.0), "t": pd.Series(TEXT, dtype="str")}))
    model = XGBoostModel(pytest.importorskip("xgboost").XGBClassifier(), "cuda")
    monkeypatch.setattr(Model, "call", refuses)
    with pytest.raises(DataError, match="column 't' holds 'd', which was not there at fit"):
        model.call("predict", X)
