"""Dates, huge integers and the policy for tables, on the GPU path."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pipeline.data import frames, partitioned
from pipeline.data import read as reading
from pipeline.data.convert import convert
from pipeline.data.schema import Schema
from pipeline.data.target import check_target
from pipeline.errors import DataError
from tests.contract.recorder import Recorder
from tests.contract.verify import faults

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


@pytest.mark.parametrize("kind", TIMES)
def test_dates_are_the_same_numbers(kind: str, device: Recorder) -> None:
    host, X = upload(d=TIMES[kind].where([True, True, False]))
    found = frames.datetimes(X, "d")
    assert frames.library(found) == "cupy"
    assert frames.to_host(found).tolist() == frames.datetimes(host, "d").tolist()
    assert faults(device.calls) == []


@pytest.mark.parametrize("kind", [*TIMES, "duration"])
def test_dates_are_the_same_categories(kind: str, device: Recorder) -> None:
    host, X = upload(d=(TIMES | {"duration": DATES - DATES[0]})[kind])
    found, expected = frames.categories(X, "d"), frames.categories(host, "d")
    assert frames.to_host(found.codes).tolist() == expected.codes.tolist()
    np.testing.assert_array_equal(found.values, expected.values)
    assert found.values.dtype == expected.values.dtype
    assert faults(device.calls) == []


@pytest.mark.parametrize(
    ("column", "read"),
    [
        (pd.Series([1.0, np.inf]), frames.numbers),
        (pd.Series([1.0, np.inf]), frames.categories),
        (pd.Series(HUGE, dtype="Int64"), frames.categories),
        (DATES, frames.numbers),
        (DATES.where([True, False, True]), frames.categories),
        (pd.Series(["a"]), frames.datetimes),
        (pd.Series(np.array(["2020", "3000"], dtype="datetime64[s]")), frames.datetimes),
    ],
    ids=["inf", "inf category", "huge", "date", "missing date", "text", "far"],
)
def test_the_same_columns_are_refused(column: pd.Series, read: Any, device: Recorder) -> None:
    messages = []
    for X in upload(x=column):
        with pytest.raises(DataError, match="column 'x' holds") as caught:
            read(X, "x")
        messages.append(str(caught.value).replace("object", "str"))
    assert messages[0] == messages[1]
    assert faults(device.calls) == []


def test_huge_integers_without_holes_stay_apart(device: Recorder) -> None:
    _, X = upload(x=np.array(HUGE[:2], dtype="int64"))
    assert frames.categories(X, "x").values.tolist() == HUGE[:2]


def test_the_policy_holds_for_frames_of_the_device(device: Recorder) -> None:
    host, X = upload(n=[1.0, 2.0, 3.0], t=["a", "b", "a"], d=TIMES["zone"])
    schema, _ = Schema.fit(host)
    assert schema.take(X) is X
    _, other = upload(
        more=[1, 2, 3], d=TIMES["zone"].dt.tz_convert("UTC"), t=["b", None, "c"], n=[None] * 3
    )
    with pytest.warns(UserWarning, match=r"left out: \['more'\]"):
        found = schema.take(other)
    assert list(found.columns) == ["n", "t", "d"]
    dates = frames.to_host(frames.datetimes(found, "d"))
    assert dates.tolist() == frames.datetimes(host, "d").tolist()
    _, wrong = upload(n=["low", "high", None], t=["a", "b", "c"], d=TIMES["zone"])
    with pytest.raises(DataError, match="column 'n' holds text, such as 'low' in row 0"):
        schema.take(wrong)
    assert faults(device.calls) == []


def test_missing_text_becomes_missing_numbers(device: Recorder) -> None:
    schema, _ = Schema.fit(pd.DataFrame({"n": [1.0]}))
    _, X = upload(n=pd.Series([None, None], dtype="str"))
    found = frames.to_host(frames.numbers(schema.take(X), "n"))
    assert np.isnan(found).all()
    assert faults(device.calls) == []


def test_stand_ins_are_in_place(device: Recorder) -> None:
    assert frames.library(upload(x=[1])[1]) == "cudf" == sys.modules["cudf"].__name__


SIDES = pytest.mark.parametrize("sides", [("cudf", "pandas"), ("pandas", "cudf"), ("cudf", "cudf")])


def labelled(sides: tuple[str, str], rows: Any, labels: Any) -> tuple[Any, Any]:
    """Return a table and a target that have these labels, each of one of the two libraries."""
    X = pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=rows)
    y = pd.Series([0, 1, 1], index=labels)
    upload = sys.modules["cudf"].from_pandas
    X, y = (upload(o) if side == "cudf" else o for o, side in zip((X, y), sides, strict=True))
    return X, y


@SIDES
@pytest.mark.parametrize("labels", [range(3), [4, 2, 9], ["a", "c", "b"]], ids=str)
def test_rows_match_by_their_labels_whichever_library_holds_them(
    sides: tuple[str, str], labels: Any, device: Recorder
) -> None:
    X, y = labelled(sides, labels, labels)
    assert check_target(y, X).tolist() == [0, 1, 1]
    assert device.nbytes("host", "explicit") == (24 if sides[1] == "cudf" else 0)
    assert faults(device.calls) == []


@SIDES
def test_rows_that_do_not_match_are_refused_whichever_library_holds_them(
    sides: tuple[str, str], device: Recorder
) -> None:
    X, y = labelled(sides, [0, 1, 2], [0, 2, 1])
    with pytest.raises(DataError, match="index of y differs"):
        check_target(y, X)


def test_labels_that_the_device_cannot_hold_are_told(device: Recorder) -> None:
    X, y = labelled(("cudf", "pandas"), range(3), [0, "a", 1])
    with pytest.raises(DataError, match=r"^cuDF cannot hold the index: .*convert it"):
        check_target(y, X)


def test_a_csv_file_has_the_values_of_the_host(
    device: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device has no reader of its own: what it takes for missing is not what pandas does."""
    path = tmp_path / "rows.csv"
    path.write_text('t,n,b,id,y\nNA,1,True,007,1\n"",,NA,A1,0\nx, 2.5,false,01,1\n')
    monkeypatch.setattr(partitioned, "room", lambda device: 10**9)
    columns = ["t", "n", "b", "id"]
    wanted, y = reading.read(path, columns, "y")
    found, same = reading.read(path, columns, "y", device="cuda")
    assert frames.library(found) == "cudf"
    pd.testing.assert_frame_equal(found.to_pandas(), wanted)
    np.testing.assert_array_equal(same, y)
    assert faults(device.calls) == []
