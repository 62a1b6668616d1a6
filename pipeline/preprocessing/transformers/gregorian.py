"""Calendar fields of points in time, by the same integer arithmetic on NumPy and CuPy.

From a count of days to a date and back: Howard Hinnant, "chrono-Compatible
Low-Level Date Algorithms", https://howardhinnant.github.io/date_algorithms.html.
Every division rounds down, so times before 1970 need no case of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from pipeline.data import frames
from pipeline.data.datetimes import MISSING
from pipeline.typing import Array

SECOND = 1_000_000_000
"""Nanoseconds; so are the three that follow."""
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

PERIODS = {
    "quarter": 4,
    "month": 12,
    "weekofyear": 53,
    "day": 31,
    "dayofyear": 366,
    "weekday": 7,
    "hour": 24,
    "minute": 60,
    "second": 60,
}
"""Number of values of each feature that starts again; the year, for one, does not."""


class GregorianDate(NamedTuple):
    """Years, months (1 to 12) and days of the month (1 to 31), an array of integers each."""

    year: Any
    month: Any
    day: Any


def date(days: Array) -> GregorianDate:
    """Return the date in the Gregorian calendar, before its adoption too.

    Parameters
    ----------
    days : array of int
        Days since 1970-01-01.

    Examples
    --------
    >>> import numpy as np
    >>> [int(part) for part in date(np.array(19_782))]
    [2024, 2, 29]
    """
    # Years that begin in March have the leap day last; an era is 400 of them.
    days = days + 719_468
    era = days // 146_097
    day = days - era * 146_097
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day = day - (365 * year + year // 4 - year // 100)
    month = (5 * day + 2) // 153
    turned = month // 10
    return GregorianDate(
        year + era * 400 + turned,
        month + 3 - 12 * turned,
        day - (153 * month + 2) // 5 + 1,
    )


def first_of_january(year: Any) -> Any:
    """Return the days from 1970-01-01 to the first day of years.

    >>> first_of_january(1971), first_of_january(1969)
    (365, -365)
    """
    before = year - 1
    return 365 * before + before // 4 - before // 100 + before // 400 - 719_162


class Fields:
    """The calendar features of points in time, by name; what several need is computed once.

    Parameters
    ----------
    nanoseconds : array of int64
        Since 1970-01-01, any shape, on either device. `MISSING` gives numbers without meaning.
    epoch : int
        Where "days_since" counts from, in nanoseconds since 1970-01-01.

    Examples
    --------
    >>> import numpy as np
    >>> Fields(np.array([DAY]))["day"].tolist()
    [2]
    """

    def __init__(self, nanoseconds: Array, epoch: int = 0) -> None:
        self.nanoseconds, self.epoch = nanoseconds, epoch

    def __getitem__(self, feature: str) -> Any:
        """Return a feature; `CalendarFeatures` says what each is."""
        return _FEATURES[feature](self)

    @cached_property
    def whole_days(self) -> Any:
        """Days since 1970-01-01, as int64."""
        return self.nanoseconds // DAY

    @cached_property
    def days(self) -> Any:
        """Days since 1970-01-01, as int32."""
        # The nanoseconds of int64 span 213,504 days; half the width is twice the speed.
        return self.whole_days.astype("int32")

    @cached_property
    def of_day(self) -> Any:
        """Nanoseconds since midnight."""
        return self.nanoseconds - self.whole_days * DAY

    @cached_property
    def date(self) -> GregorianDate:
        """Year, month and day."""
        return date(self.days)

    @cached_property
    def weekday(self) -> Any:
        """0 on Monday to 6 on Sunday."""
        return modulo(self.days + 3, 7)

    @property
    def weekofyear(self) -> Any:
        """1 to 53, of ISO 8601: the week belongs to the year that holds its Thursday."""
        thursday = self.days - self.weekday + 3
        return (thursday - first_of_january(date(thursday).year)) // 7 + 1

    @property
    def days_since(self) -> Any:
        """Days since the epoch, with the fraction of the day."""
        days, rest = divmod(self.epoch, DAY)
        return (self.whole_days - days) + (self.of_day - rest) / DAY


def modulo(values: Array, n: int) -> Any:
    """Return what is left of whole numbers divided by another; never negative."""
    return values - values // n * n


_FEATURES: dict[str, Callable[[Fields], Any]] = {
    "year": lambda at: at.date.year,
    "quarter": lambda at: (at.date.month + 2) // 3,
    "month": lambda at: at.date.month,
    "weekofyear": lambda at: at.weekofyear,
    "day": lambda at: at.date.day,
    "dayofyear": lambda at: at.days - first_of_january(at.date.year) + 1,
    "weekday": lambda at: at.weekday,
    "hour": lambda at: at.of_day // HOUR,
    "minute": lambda at: modulo(at.of_day // MINUTE, 60),
    "second": lambda at: modulo(at.of_day // SECOND, 60),
    "is_weekend": lambda at: at.weekday > 4,
    "is_month_start": lambda at: at.date.day == 1,
    "is_month_end": lambda at: date(at.days + 1).day == 1,
    "days_since": lambda at: at.days_since,
    "total_seconds": lambda at: at.nanoseconds / SECOND,
}
FEATURES = tuple(_FEATURES)
"""All features by name."""

Output = tuple[str, str]
"""A feature, and ``"sin"``, ``"cos"`` or ``""`` for itself."""


def encode_fields(nanoseconds: Array, outputs: Sequence[Output], epoch: int = 0) -> Any:
    """Return features of every column side by side, all of the first column first.

    Parameters
    ----------
    nanoseconds : array of int64, shape (n_rows, n_columns)
        Since 1970-01-01, or `MISSING`.
    outputs : sequence of (feature, wave)
    epoch : int
        See `Fields`.

    Returns
    -------
    array of float64, shape (n_rows, n_columns * n_outputs)
        On the same device; NaN where the time is missing.

    Examples
    --------
    >>> import numpy as np
    >>> fields = [("year", ""), ("month", "cos")]
    >>> encode_fields(np.array([[0], [MISSING]]), fields).round(3).tolist()
    [[1970.0, 0.866], [nan, nan]]
    """
    xp = frames.xp(nanoseconds)
    n_rows, n_columns = nanoseconds.shape
    fields = Fields(nanoseconds, epoch)
    missing = nanoseconds == MISSING
    matrix = xp.empty((n_rows, n_columns * len(outputs)), dtype="float64", order="F")
    for j, (feature, wave) in enumerate(outputs):
        values = fields[feature]
        values = _wave(values, PERIODS[feature], wave, xp) if wave else values.astype("float64")
        matrix[:, j :: len(outputs)] = xp.where(missing, xp.nan, values)
    return matrix


def _wave(values: Array, period: int, wave: str, xp: ModuleType) -> Any:
    # Looked up: the values are few, and the sines of the host are the same on every device.
    angles = np.arange(period + 1) * (2 * np.pi / period)
    return xp.take(frames.to_device_of(getattr(np, wave)(angles), values), values)
