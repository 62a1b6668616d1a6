"""Dates, integers and tables at the door: what cuDF must do as pandas does.

Each test is a row of docs/data.md or docs/gpu.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import TargetEncoder

from pipeline import Accelerated
from pipeline.data import encode, frames, parquet
from pipeline.data import read as reading
from pipeline.data.convert import convert
from pipeline.data.read import scan
from pipeline.data.schema import Schema, kind_of
from pipeline.errors import DataError
from pipeline.optional import load
from tests.contract import cases
from tests.contract.test_parquet import parquet_file  # noqa: F401

HOURS = pd.Series(pd.date_range("2020-01-01", "2020-12-31 23:00", freq="h", tz="UTC"))
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"]


def both(**columns: Any) -> tuple[pd.DataFrame, Any]:
    host = convert(pd.DataFrame(columns))
    return host, frames.to_device(host, "cuda")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_dates_become_the_same_nanoseconds(unit: str) -> None:
    text = ["2020-02-29 12:30:15", None, "1969-12-31 23:59:59", "1700-01-01 00:00:00"]
    host, X = both(d=pd.Series(pd.to_datetime(text)).astype(f"datetime64[{unit}]"))
    assert frames.datetimes(X, "d").get().tolist() == frames.datetimes(host, "d").tolist()


@pytest.mark.parametrize("zone", ZONES)
def test_wall_clocks_agree_through_a_year(zone: str) -> None:
    host, X = both(d=HOURS.dt.tz_convert(zone))
    np.testing.assert_array_equal(frames.datetimes(X, "d").get(), frames.datetimes(host, "d"))


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_dates_are_the_same_categories(zone: str | None) -> None:
    host, X = both(d=HOURS[::-1].dt.tz_convert(zone))
    found, expected = encode.categories(X, "d"), encode.categories(host, "d")
    np.testing.assert_array_equal(found.codes.get(), expected.codes)
    np.testing.assert_array_equal(found.values, expected.values)


@pytest.mark.parametrize("values", [[2**53, 2**53 + 1], [2**53, 2**53 + 1, None]])
def test_huge_integers_never_merge(values: list[int | None]) -> None:
    _, X = both(x=pd.Series(values, dtype="Int64"))
    with pytest.raises(DataError, match="which are one number as float64"):
        encode.categories(X, "x")


def test_the_first_infinite_row_is_told() -> None:
    _, X = both(x=[1.0, np.nan, -np.inf, np.inf])
    with pytest.raises(DataError, match="first is in row 2"):
        frames.numbers(X, "x")


def test_kinds_are_those_of_the_host() -> None:
    host, X = both(
        n=[1.5, None],
        i=pd.Series([1, None], dtype="Int64"),
        b=pd.Series([True, None], dtype="boolean"),
        t=["a", None],
        c=pd.Series(["a", None], dtype="category"),
        k=pd.Series([3, None], dtype="category"),
        d=pd.Series(pd.to_datetime(["2020-01-01", None])),
        z=HOURS[:2].dt.tz_convert("Europe/Berlin"),
        g=HOURS[:2] - HOURS[0],
    )
    assert [kind_of(X[name]) for name in host] == [kind_of(host[name]) for name in host]


@pytest.mark.parametrize("kind", ["str", "category", "datetime64[ns]", "float64"])
@pytest.mark.parametrize("fitted", ["n", "t", "d"])
def test_a_column_without_values_is_missing_values_of_its_kind(kind: str, fitted: str) -> None:
    host, _ = both(n=[1.0, 2.0], t=["a", "b"], d=pd.to_datetime(["2020-01-01", "2021-01-01"]))
    _, X = both(**{fitted: pd.Series([None, None]).astype(kind)})
    found = Schema.fit(host[[fitted]])[0].take(X)
    read = {"n": frames.numbers, "t": encode.categories, "d": frames.datetimes}[fitted]
    read(found, fitted)
    assert bool(found[fitted].isnull().all())


def test_calendars_of_a_file_are_those_of_the_host(path: Path) -> None:
    wanted, _ = parquet.read_parquet(path, ["when"], "late", (), "cpu")
    found, _ = parquet.read_parquet(path, ["when"], "late", (), "cuda")
    np.testing.assert_array_equal(
        frames.datetimes(found, "when").get(), frames.datetimes(wanted, "when")
    )


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


def test_a_csv_file_has_the_values_of_the_host(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("t,n,b,id,y\n" + "NA,1,True,007,1\n,,NA,A1,0\nx, 2.5,false,01,1\n" * 30)
    columns = ["t", "n", "b", "id"]
    host = reading.read(path, columns, "y")[0]
    wanted = [encode.categories(host, name) for name in columns]
    parts, _ = scan(path, columns, "y", device="cuda", partition_bytes=100)
    for X in (reading.read(path, columns, "y", device="cuda")[0], parts.compute()):
        found = [encode.categories(X, name) for name in columns]
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a.values[a.codes.get()], b.values[b.codes])
            np.testing.assert_array_equal(a.codes.get() < 0, b.codes < 0)


@pytest.mark.parametrize("there", [True, False], ids=["y on the device", "y of pandas"])
@pytest.mark.parametrize("first", [0, 9])
def test_rows_of_a_table_learn_what_they_learn_on_the_host(first: int, there: bool) -> None:
    X = cases.table(2000)
    y = pd.Series(cases.target(X))
    rows = load("cudf").from_pandas(X).iloc[first:]
    labels = load("cudf").from_pandas(y).iloc[first:] if there else y.iloc[first:]
    model = Accelerated(cases.preprocessing(), device="cuda", dtype="float64").fit(rows, labels)
    on_cpu = Accelerated(cases.preprocessing(), device="cpu", dtype="float64")
    on_cpu.fit(X.iloc[first:], y.iloc[first:])
    expected = on_cpu.transform(X.iloc[first:])
    np.testing.assert_allclose(model.transform(rows), expected, rtol=1e-9, atol=1e-9)


def test_many_categories_are_no_rows_to_a_budget_of_nothing() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4_000, 250_000)
    X = pd.DataFrame({"tail": pd.Series(codes.astype(str), dtype="str"), "flight": codes})
    estimator = make_column_transformer((TargetEncoder(cv=cases.folds()), ["tail", "flight"]))
    model = Accelerated(estimator, device="cuda", host_bytes=0).fit(X, rng.integers(0, 2, len(X)))
    assert model.execution_log_.to_host_bytes > 4_000 * 8
