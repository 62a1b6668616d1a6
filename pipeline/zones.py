"""What the clocks of a time zone show, from one table for every library and device.

Others disagree far from today: cuDF looks times up in a table that is not in order after the
last change in the system's files (2037), and PyArrow knows no daylight saving time there. The
table here is read off pandas, whose clocks follow the rules of `zoneinfo` for all years.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pipeline import residency

_MISSING = np.iinfo("int64").min
_DAY = 86_400
_DAYS = (-106_751, 106_751)
"""Of the nanoseconds of int64."""


class Changes(NamedTuple):
    """When the clocks of a zone are set, and how far they are ahead of UTC in between.

    Parameters
    ----------
    starts : numpy.ndarray of int64, shape (n_changes,)
        Seconds since 1970 UTC at which a new offset begins, sorted.
    offsets : numpy.ndarray of int64, shape (n_changes + 1,)
        Seconds; the first is the one before any change.
    """

    starts: np.ndarray
    offsets: np.ndarray


@lru_cache(maxsize=64)
def changes(zone: Any) -> Changes:
    """Return the changes of the clocks from 1677 to 2262.

    Parameters
    ----------
    zone : str or tzinfo
        As pandas takes it. Two changes within one day are not seen; the nearest in any zone of
        the IANA database are four days apart.

    Examples
    --------
    >>> changes("Asia/Kolkata").offsets[-1].item()
    19800
    """
    days = np.arange(*_DAYS) * _DAY
    ahead = _ahead(days, zone)
    before = np.flatnonzero(np.diff(ahead))
    old, low, high = ahead[before], days[before], days[before + 1]
    while (high - low > 1).any():
        middle = (low + high) // 2
        same = _ahead(middle, zone) == old
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return Changes(high, np.append(old, ahead[-1]))


def _ahead(seconds: np.ndarray, zone: Any) -> np.ndarray:
    utc = pd.DatetimeIndex(seconds.view("datetime64[s]"), tz="UTC")
    local = utc.tz_convert(zone).tz_localize(None).to_numpy("datetime64[s]")
    return local.view("int64") - seconds


def local(counts: Any, per_second: int, zone: Any, xp: Any) -> Any:
    """Return what the clocks of a zone show at points in time.

    Parameters
    ----------
    counts : array of int64, shape (n_rows,)
        Since 1970 UTC; the least integer, which is NaT in memory, stays.
    per_second : int
        Counts a second.
    zone : str or tzinfo
    xp : module
        NumPy or CuPy, whichever has `counts`.

    Returns
    -------
    array of int64, shape (n_rows,)
        Counts that as UTC would show the same.

    Examples
    --------
    >>> local(np.array([0, 1_720_000_000]), 1, "Europe/Berlin", np).tolist()
    [3600, 1720007200]
    """
    starts, offsets = (array * per_second for array in changes(zone))
    if xp is not np:
        residency.moved(to_device=starts.nbytes + offsets.nbytes)
    found = xp.searchsorted(xp.asarray(starts), counts, side="right")
    shown = counts + xp.take(xp.asarray(offsets), found)
    return xp.where(counts == _MISSING, _MISSING, shown)
