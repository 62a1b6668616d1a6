"""What a GPU does with values that the stand-ins do not; see docs/gpu.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline

from pipeline import Accelerated
from pipeline.files import parquet
from pipeline.files.read import scan
from pipeline.optional import load
from pipeline.table import encode, frames
from pipeline.table.convert import convert
from pipeline.table.schema import kind_of
from tests.contract.cases import preprocessing, table, target
from tests.contract.test_parquet import parquet_file  # noqa: F401
from tests.contract.test_semantics import array, frame


def test_nan_that_is_no_null_is_missing_too() -> None:
    X = load("cudf").DataFrame({"x": array(1.5, np.nan, 2.5)}, nan_as_null=False)
    np.testing.assert_array_equal(frames.numbers(X, "x").get(), [1.5, np.nan, 2.5])
    assert encode.categories(X, "x").codes.get().tolist() == [0, -1, 1]


@pytest.mark.parametrize("first", [0, 1])
def test_the_head_does_not_depend_on_what_the_first_row_lacks(first: int) -> None:
    X = frame(
        b=pd.Series([True, None, False], dtype=object),
        t=pd.Series(["x", None, "y"], dtype="str"),
    )
    X.insert(0, "i", X["t"].str.len())
    found = [str(dtype) for dtype in frames.head(X.iloc[first:]).dtypes]
    assert found == ["Int64", "boolean", "str"]


def test_a_nan_that_the_device_makes_is_missing() -> None:
    cupy = load("cupy")
    made = cupy.log(array(-1.0, 1.0)) + array(0.0, 0.0) / array(0.0, 1.0)
    assert encode.coded(made).codes.get().tolist() == [-1, 0]


def test_kinds_are_those_of_the_host() -> None:
    hours = pd.Series(pd.date_range("2020-01-01", periods=2, freq="h", tz="UTC"))
    host = convert(
        pd.DataFrame(
            {
                "n": [1.5, None],
                "i": pd.Series([1, None], dtype="Int64"),
                "b": pd.Series([True, None], dtype="boolean"),
                "t": ["a", None],
                "c": pd.Series(["a", None], dtype="category"),
                "k": pd.Series([3, None], dtype="category"),
                "d": pd.Series(pd.to_datetime(["2020-01-01", None])),
                "z": hours.dt.tz_convert("Europe/Berlin"),
                "g": hours - hours[0],
            }
        )
    )
    X = frames.to_device(host, "cuda")
    assert [kind_of(X[name]) for name in host] == [kind_of(host[name]) for name in host]


@pytest.mark.parametrize("rows", [(), [("month", "<=", 9)]], ids=str)
def test_partitions_of_a_file_are_those_of_the_host(rows: Any, path: Path) -> None:
    pytest.importorskip("dask_cudf")
    columns = ["when", "carrier", "n"]
    wanted, y = parquet.read_parquet(path, columns, "late", rows, "cpu")
    X, same = scan(path, columns, "late", rows=rows, device="cuda", partition_bytes=1)
    assert X.npartitions == 6
    found = X.compute().to_pandas().reset_index(drop=True)
    pd.testing.assert_frame_equal(found, wanted)
    np.testing.assert_array_equal(same, y)


def test_cuml_finds_other_neighbors_among_rows_far_off_zero() -> None:
    """If this fails, `FAR` in pipeline/backends/cuml/cuml_model.py can go."""
    X = (np.random.default_rng(0).normal(size=(2_000, 4)) + 1e4).astype("float32")
    found = load("cuml.neighbors.NearestNeighbors")(n_neighbors=5).fit(X).kneighbors(X)[1]
    wanted = NearestNeighbors(n_neighbors=5).fit(X).kneighbors(X)[1]
    assert (np.asarray(found) == wanted).mean() < 0.5


def test_partitions_of_pandas_are_prepared_and_learnt_from_on_the_gpu() -> None:
    pytest.importorskip("dask_cudf")
    X = table(1_200)
    program, y = make_pipeline(preprocessing(), LogisticRegression()), target(X)
    parts = load("dask.dataframe").from_pandas(X, npartitions=3)
    model = Accelerated(program, device="cuda").fit(parts, y)
    assert {place.device for place in model.plan_.placements} == {"cuda"}
    wanted = Accelerated(program, device="cpu").fit(X, y).predict_proba(X)
    np.testing.assert_allclose(np.asarray(model.predict_proba(parts)), wanted, atol=0.02)


@pytest.mark.parametrize(
    ("params", "texts", "terms"),
    [
        ({"max_features": 2}, ["bb cc dd aa", "dd"], ["aa", "dd"]),
        ({}, ["\U00020000\U00020001 ab"], ["ab"]),
        ({}, ["οδοσ"], ["οδος"]),
    ],
    ids=["equal counts", "letters beyond the first plane", "final sigma"],
)
def test_terms_differ_as_the_documentation_says(
    params: dict[str, int], texts: list[str], terms: list[str]
) -> None:
    model = Accelerated(CountVectorizer(**params), device="cuda").fit(texts)
    assert sorted(model.to_sklearn().vocabulary_) == terms
