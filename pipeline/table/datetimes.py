"""Dates and durations as integers, and the clocks of time zones, the same on every device.

The libraries' own `tz_convert` disagree for distant dates: cuDF uses a table that is not in order
after the last change in the system's files (2037), and PyArrow applies no daylight saving time
there. The table here comes from pandas, which follows the rules of `zoneinfo` for all years.
"""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from pipeline import trace
from pipeline.errors import DataError
from pipeline.typing import Array, Column, DType, Name

MISSING = int(np.iinfo("int64").min)
"""Stands for a missing date; it is what NaT is in memory."""

_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def zone(dtype: DType) -> str | None:
    """Return the time zone of a type of dates, None without one.

    >>> zone(pd.DatetimeTZDtype(tz="Asia/Tokyo")), zone(np.dtype("datetime64[ns]"))
    ('Asia/Tokyo', None)
    """
    found = getattr(getattr(dtype, "pyarrow_dtype", dtype), "tz", None)
    return None if found is None else str(found)


def ticks(series: Column) -> tuple[Any, str]:
    """Return dates or durations as counts, int64 with `MISSING`, and their unit; in UTC."""
    if zone(series.dtype):
        series = series.dt.tz_convert(None)
    arrow = getattr(series.dtype, "pyarrow_dtype", None)
    unit = np.datetime_data(series.dtype)[0] if arrow is None else getattr(arrow, "unit", "s")
    unit = unit if unit in _NANOSECONDS else "s"
    if hasattr(series, "to_cupy"):
        return series.astype("int64").fillna(MISSING).to_cupy(), unit
    dtype = f"{series.dtype.kind}8[{unit}]"
    return np.asarray(series.astype(dtype)).view("int64"), unit


def wall_clock(series: Column, name: Name, xp: ModuleType) -> Any:
    """Return dates as nanoseconds since 1970 by the clock on their wall.

    `DataError` says that there are no dates, or some that nanoseconds do not reach.
    """
    if series.dtype.kind != "M":
        raise DataError(
            f"column {name!r} holds {series.dtype} values, but dates are needed; "
            "convert text with pandas.to_datetime"
        )
    counts, unit = ticks(series)
    factor = _NANOSECONDS[unit]
    if zone(series.dtype):
        counts = local(counts, 10**9 // factor, zone(series.dtype), xp)
    # The absolute value of MISSING has no place in int64 and stays negative.
    far = abs(counts) > np.iinfo("int64").max // factor
    if factor > 1 and bool(far.any()):
        row = int(far.argmax())
        raise DataError(
            f"column {name!r} holds a date outside the years 1678 to 2261, the range of "
            f"nanosecond timestamps (the first is in row {row}); replace it with a missing value"
        )
    return counts if factor == 1 else xp.where(counts == MISSING, MISSING, counts * factor)


def dates_of(counts: np.ndarray, unit: str, dtype: DType) -> np.ndarray:
    """Return counts as the values that scikit-learn sees in a column of a type.

    >>> dates_of(np.array([86400]), "s", np.dtype("datetime64[s]"))
    array(['1970-01-02T00:00:00'], dtype='datetime64[s]')
    """
    values = counts.view(f"{dtype.kind}8[{unit}]")
    if not zone(dtype):
        return values
    return pd.DatetimeIndex(values, tz="UTC").tz_convert(zone(dtype)).astype(object).to_numpy()


_DAYS = np.arange(-106_751, 106_751) * 86_400
"""Of the nanoseconds of int64, in seconds."""


@lru_cache(maxsize=64)
def changes(zone: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the seconds UTC, from 1677 to 2262, at which the clocks of a zone are set.

    With them come the offsets in between, of which the first is the one before any change. Two
    changes within one day are not seen; the nearest of any zone are four days apart.

    >>> changes("Asia/Kolkata")[1][-1].item()
    19800
    """
    ahead = _ahead(_DAYS, zone)
    before = np.flatnonzero(np.diff(ahead))
    old, low, high = ahead[before], _DAYS[before], _DAYS[before + 1]
    while (high - low > 1).any():
        middle = (low + high) // 2
        same = _ahead(middle, zone) == old
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return high, np.append(old, ahead[-1])


def _ahead(seconds: np.ndarray, zone: Any) -> np.ndarray:
    utc = pd.DatetimeIndex(seconds.view("datetime64[s]"), tz="UTC")
    local = utc.tz_convert(zone).tz_localize(None).to_numpy("datetime64[s]")
    return local.view("int64") - seconds


def local(counts: Array, per_second: int, zone: Any, xp: ModuleType) -> Any:
    """Return what the clocks of a zone show at counts since 1970 UTC; `MISSING` stays.

    >>> local(np.array([0, 1_720_000_000]), 1, "Europe/Berlin", np).tolist()
    [3600, 1720007200]
    """
    starts, offsets = (array * per_second for array in changes(zone))
    if xp is not np:
        trace.record_transfer(to_device=starts.nbytes + offsets.nbytes)
    place = xp.searchsorted(xp.asarray(starts), counts, side="right")
    shown = counts + xp.take(xp.asarray(offsets), place)
    return xp.where(counts == MISSING, MISSING, shown)
