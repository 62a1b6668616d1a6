"""Tables, rows of a table that are a view of it, dates, targets and sparse rows on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

from pipeline import Accelerated, trace
from pipeline.errors import DataError
from pipeline.table import encode, frames
from pipeline.table.convert import convert
from pipeline.table.schema import Schema
from pipeline.table.target import check_target
from tests.contract import tables
from tests.contract.cases import EVERYWHERE, table, to_cudf
from tests.contract.recorder import LIVE, Recorder

pytestmark = pytest.mark.usefixtures("device")

DATES = pd.Series(pd.to_datetime(["2020-03-01 12:00", "1969-12-31 23:00", "2020-03-01 12:00"]))
TIMES = {
    "us": DATES,
    "s": DATES.astype("datetime64[s]"),
    "zone": DATES.dt.tz_localize("Asia/Tokyo"),
}
HUGE = [2**53, 2**53 + 1, None]


def upload(**columns: Any) -> tuple[pd.DataFrame, Any]:
    """Return a table on the host and the same on the device."""
    X = convert(pd.DataFrame(columns))
    return X, frames.to_device(X, "cuda")


@EVERYWHERE
@pytest.mark.parametrize("kind", [*TIMES, "duration"])
def test_dates_are_the_same_numbers_and_categories(kind: str) -> None:
    host, X = upload(d=(TIMES | {"duration": DATES - DATES[0]})[kind])
    found, expected = encode.categories(X, "d"), encode.categories(host, "d")
    assert frames.to_host(found.codes).tolist() == expected.codes.tolist()
    np.testing.assert_array_equal(found.values, expected.values, strict=True)
    if kind in TIMES:
        host, X = upload(d=TIMES[kind].where([True, True, False]))
        times = frames.to_host(frames.datetimes(X, "d"))
        assert times.tolist() == frames.datetimes(host, "d").tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_missing_is_filled_without_a_look_at_what_fills_it(
    dtype: str, device: Recorder
) -> None:
    _, X = upload(x=pd.Series([1.5, np.nan], dtype=dtype))
    device.clear()
    found = frames.values_of(X["x"], "x")
    assert (found.dtype, device.syncs()) == (dtype, 0)
    np.testing.assert_array_equal(frames.to_host(found), [1.5, np.nan])


@EVERYWHERE
@pytest.mark.parametrize(
    ("column", "read"),
    [
        (pd.Series([1.0, np.inf]), frames.numbers),
        (pd.Series([1.0, np.inf]), encode.categories),
        (pd.Series(HUGE, dtype="Int64"), encode.categories),
        (DATES, frames.numbers),
        (DATES.where([True, False, True]), encode.categories),
        (pd.Series(["a"]), frames.datetimes),
        (pd.Series(np.array(["2020", "3000"], dtype="datetime64[s]")), frames.datetimes),
    ],
    ids=["inf", "inf category", "huge", "date", "missing date", "text", "far"],
)
def test_the_same_columns_are_refused(column: pd.Series, read: Any) -> None:
    messages = []
    for X in upload(x=column):
        with pytest.raises(DataError, match="column 'x' holds") as caught:
            read(X, "x")
        messages.append(str(caught.value).replace("object", "str"))
    assert messages[0] == messages[1]


@EVERYWHERE
def test_the_policy_holds_for_frames_of_the_device() -> None:
    host, X = upload(n=[1.0, 2.0, 3.0], t=["a", "b", "a"], d=TIMES["zone"])
    schema, _ = Schema.fit(host)
    assert schema.take(X) is X
    _, other = upload(
        more=[1, 2, 3], d=TIMES["zone"].dt.tz_convert("UTC"), t=["b", None, "c"], n=[None] * 3
    )
    found = schema.take(other)
    assert list(found.columns) == ["n", "t", "d"]
    dates = frames.to_host(frames.datetimes(found, "d"))
    assert dates.tolist() == frames.datetimes(host, "d").tolist()
    _, wrong = upload(n=["low", "high", None], t=["a", "b", "c"], d=TIMES["zone"])
    with pytest.raises(DataError, match="column 'n' holds text, such as 'low' in row 0"):
        schema.take(wrong)


SIDES = pytest.mark.parametrize("sides", [("cudf", "pandas"), ("pandas", "cudf"), ("cudf", "cudf")])


def labelled(sides: tuple[str, str], rows: Any, labels: Any) -> tuple[Any, Any]:
    """Return a table and a target that have these labels, each of one of the two libraries."""
    X = pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=rows)
    y = pd.Series([0, 1, 1], index=labels)
    X, y = (to_cudf(o) if side == "cudf" else o for o, side in zip((X, y), sides, strict=True))
    return X, y


@EVERYWHERE
@SIDES
@pytest.mark.parametrize("labels", [range(3), [4, 2, 9], ["a", "c", "b"]], ids=str)
def test_rows_match_by_their_labels_whichever_library_holds_them(
    sides: tuple[str, str], labels: Any
) -> None:
    X, y = labelled(sides, labels, labels)
    assert check_target(y, X).tolist() == [0, 1, 1]
    with pytest.warns(UserWarning, match="index of y differs"):
        check_target(labelled(sides, labels, list(labels)[::-1])[1], X)


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


@pytest.mark.parametrize("first", [0, 2, 4])
def test_what_a_program_reads_does_not_depend_on_the_first_row(first: int) -> None:
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


def test_the_first_row_costs_the_bytes_of_a_row(device: Recorder) -> None:
    X = to_cudf(table(5000))
    device.clear()
    with trace.execution_log(host_bytes=0, n_rows=5000) as book, trace.record("x", "fit", "cuda"):
        frames.head(X)
    assert book.to_host_bytes == device.nbytes("host", "explicit") < 4000


def test_a_matrix_by_column_comes_back_as_such_without_a_copy_on_the_device(
    device: Recorder,
) -> None:
    X = to_cudf(table()[["amount", "count"]])
    model = Accelerated(StandardScaler(), device="cuda").fit(X)
    made = model.plan_.call("transform", X)
    with LIVE.counted() as live:
        assert frames.to_device(made, "cpu").flags.f_contiguous
    assert live.peak == 0
    assert model.transform(X).flags.f_contiguous


def test_partitions_of_the_host_are_uploaded_one_by_one(device: Recorder) -> None:
    da = pytest.importorskip("dask.array")
    rows = da.from_array(np.arange(12.0).reshape(6, 2), chunks=(4, 2))
    there = frames.to_device(rows, "cuda")
    assert frames.device_of(there) == "cuda"
    parts = [part.compute(scheduler="sync") for part in there.to_delayed().ravel()]
    assert [frames.device_of(part) for part in parts] == ["cuda", "cuda"]
    np.testing.assert_array_equal(parts[1].get(), [[8, 9], [10, 11]])
    assert frames.to_device(there, "cuda") is there
