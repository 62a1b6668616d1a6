"""Dates as counts, and the clocks of time zones against `zoneinfo`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import DataError
from pipeline.table import datetimes
from pipeline.table.datetimes import MISSING, changes, local

TEXT = ["2020-06-01 01:30:00", None, "1969-12-31 23:59:59", "1970-01-01 00:00:00"]
NAIVE = pd.Series(pd.to_datetime(TEXT))
EXPECTED = NAIVE.astype("datetime64[ns]").to_numpy().view("int64")

FORMS = {
    "s": NAIVE.astype("datetime64[s]"),
    "ms": NAIVE.astype("datetime64[ms]"),
    "us": NAIVE.astype("datetime64[us]"),
    "ns": NAIVE.astype("datetime64[ns]"),
    # pandas 3.0 writes zeros over NaT in the column that it casts to Arrow.
    "arrow": NAIVE.copy().astype(pd.ArrowDtype(pa.timestamp("us"))),
    "zone": NAIVE.dt.tz_localize("America/New_York"),
    "arrow with zone": NAIVE.dt.tz_localize("Asia/Kolkata").astype(
        pd.ArrowDtype(pa.timestamp("us", "Asia/Kolkata"))
    ),
    "array": NAIVE.to_numpy(),
}


def wall_clock(column: Any) -> np.ndarray:
    return datetimes.wall_clock(column, "d", np)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_date_is_the_same_nanoseconds(form: str) -> None:
    found = wall_clock(FORMS[form])
    assert found.dtype == "int64"
    assert found.tolist() == EXPECTED.tolist()
    assert found[1] == datetimes.MISSING


def test_the_clock_on_the_wall_is_not_utc() -> None:
    noon = pd.Series(pd.to_datetime(["2020-07-01 12:00"])).dt.tz_localize("UTC")
    tokyo = noon.dt.tz_convert("Asia/Tokyo")
    assert wall_clock(tokyo) - wall_clock(noon) == [9 * 3600 * 10**9]
    assert datetimes.ticks(tokyo)[0] == datetimes.ticks(noon)[0]


@pytest.mark.parametrize("date", ["1500-01-01", "2262-04-12", "9999-12-31"])
@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_dates_that_nanoseconds_do_not_reach_are_refused(date: str, unit: str) -> None:
    column = pd.Series(np.array(["2020-01-01", "NaT", date], dtype=f"datetime64[{unit}]"))
    with pytest.raises(DataError, match=r"column 'd' holds a date outside .*first is in row 2"):
        wall_clock(column)


@pytest.mark.parametrize("column", [pd.Series(["2020-01-01"]), pd.Series([1]), np.array([1.5])])
def test_what_is_no_date_is_refused(column: Any) -> None:
    with pytest.raises(DataError, match=r"column 'd' holds .* dates are needed; .*to_datetime"):
        wall_clock(column)


@given(
    dates=st.lists(
        st.none() | st.datetimes(pd.Timestamp("1678-01-01"), pd.Timestamp("2261-12-31")), min_size=1
    )
)
def test_counts_are_those_of_pandas(dates: list[Any]) -> None:
    column = pd.Series(dates, dtype="datetime64[us]")
    expected = column.astype("datetime64[ns]").to_numpy()
    assert wall_clock(column).tolist() == expected.view("int64").tolist()


ZONES = [
    "America/New_York",
    "Europe/Berlin",
    "Africa/Casablanca",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "UTC",
]
"""Two changes a year, four a year, offsets of 45 minutes, changes of half an hour and of a day."""


def shown(seconds: int, zone: str) -> int:
    """Return what Python's own clocks show."""
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    wall = at.astimezone(ZoneInfo(zone)).replace(tzinfo=UTC)
    return round((wall - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())


@pytest.mark.parametrize("zone", ZONES)
def test_agrees_with_zoneinfo_around_every_change(zone: str) -> None:
    starts = changes(zone)[0]
    seconds = np.concatenate([starts - 1, starts, starts + 1, np.arange(-9e9, 9e9, 4e7)])
    seconds = seconds.astype("int64")
    expected = [shown(second, zone) for second in seconds.tolist()]
    assert local(seconds, 1, zone, np).tolist() == expected


@given(
    zone=st.sampled_from(ZONES),
    seconds=st.lists(st.integers(-9_000_000_000, 9_000_000_000), min_size=1, max_size=30),
)
def test_agrees_with_zoneinfo_at_any_time(zone: str, seconds: list[int]) -> None:
    expected = [shown(second, zone) for second in seconds]
    assert local(np.array(seconds), 1, zone, np).tolist() == expected


def test_arrow_days_are_midnights() -> None:
    days = pd.Series([pd.Timestamp("1969-12-31").date(), None], dtype=pd.ArrowDtype(pa.date32()))
    assert wall_clock(days).tolist() == [-86_400 * 10**9, MISSING]
