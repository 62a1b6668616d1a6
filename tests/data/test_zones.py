from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data.datetimes import MISSING, changes, local
from tests.strategies import bounded

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
    starts = changes(zone).starts
    seconds = np.concatenate([starts - 1, starts, starts + 1, np.arange(-9e9, 9e9, 4e7)])
    seconds = seconds.astype("int64")
    expected = [shown(second, zone) for second in seconds.tolist()]
    assert local(seconds, 1, zone, np).tolist() == expected


@bounded
@given(
    zone=st.sampled_from(ZONES),
    seconds=st.lists(st.integers(-9_000_000_000, 9_000_000_000), min_size=1, max_size=30),
)
def test_agrees_with_zoneinfo_at_any_time(zone: str, seconds: list[int]) -> None:
    expected = [shown(second, zone) for second in seconds]
    assert local(np.array(seconds), 1, zone, np).tolist() == expected


def test_every_change_is_a_change() -> None:
    starts, offsets = changes("America/New_York")
    assert (np.diff(starts) > 0).all()
    assert (np.diff(offsets) != 0).all()
    assert len(offsets) == len(starts) + 1
    assert pd.Timestamp("2099-03-08 07:00").timestamp() in starts


@pytest.mark.parametrize(("unit", "per_second"), [("s", 1), ("ms", 10**3), ("ns", 10**9)])
def test_units(unit: str, per_second: int) -> None:
    times = pd.Series(["1899-12-31 23:59:59", None, "2200-07-01 00:00:00"], dtype="M8[s]")
    zoned = times.astype(f"M8[{unit}]").dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")
    counts = times.astype(f"M8[{unit}]").to_numpy().view("int64")
    expected = zoned.dt.tz_localize(None).to_numpy().view("int64")
    assert local(counts, per_second, "Europe/Berlin", np).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("zone", "seconds"),
    [("UTC", 0), (timezone(timedelta(hours=-3)), -10_800), (ZoneInfo("Asia/Tokyo"), 32_400)],
)
def test_zones_of_every_type(zone: Any, seconds: int) -> None:
    assert local(np.array([0, 10**9, MISSING]), 1, zone, np).tolist() == [
        seconds,
        10**9 + seconds,
        MISSING,
    ]


def test_no_rows() -> None:
    assert local(np.array([], dtype="int64"), 1, "Europe/Berlin", np).tolist() == []
