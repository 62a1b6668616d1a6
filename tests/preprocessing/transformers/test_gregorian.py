"""Every feature against pandas, on every day that nanoseconds can say."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data.datetimes import MISSING
from pipeline.preprocessing.transformers.gregorian import (
    DAY,
    FEATURES,
    PERIODS,
    Fields,
    date,
    encode_fields,
)

FIRST, LAST = pd.Timestamp.min.value, pd.Timestamp.max.value
EVERY_DAY = np.arange(-(-FIRST // DAY), LAST // DAY + 1) * DAY
EPOCH = pd.Timestamp("2000-02-29 06:00")


def reference(feature: str, nanoseconds: np.ndarray) -> np.ndarray:
    """Return what pandas says."""
    times = pd.Series(nanoseconds.view("datetime64[ns]"))
    made: dict[str, Any] = {
        "weekofyear": lambda: times.dt.isocalendar().week,
        "is_weekend": lambda: times.dt.day_name().isin(["Saturday", "Sunday"]),
        # 64 bits hold a difference of nanoseconds that int64 does not.
        "days_since": lambda: (np.longdouble(nanoseconds) - EPOCH.value) / DAY,
        "total_seconds": lambda: np.longdouble(nanoseconds) / 1e9,
    }
    return np.asarray(made.get(feature, lambda: getattr(times.dt, feature))()).astype("float64")


def assert_equals_pandas(nanoseconds: np.ndarray) -> None:
    fields = Fields(nanoseconds, EPOCH.value)
    for feature in FEATURES:
        np.testing.assert_allclose(
            fields[feature],
            reference(feature, nanoseconds),
            rtol=4e-16,
            atol=2e-11 if feature == "days_since" else 0,
            err_msg=feature,
        )


def test_every_day_from_1677_to_2262_at_midnight() -> None:
    assert len(EVERY_DAY) == 213_503
    assert_equals_pandas(EVERY_DAY)


def test_every_day_at_its_last_nanosecond() -> None:
    assert_equals_pandas(EVERY_DAY[:-1] + (DAY - 1))


def test_first_and_last_nanosecond() -> None:
    assert_equals_pandas(np.array([FIRST, LAST]))


@pytest.mark.parametrize("day", ["1969-12-31", "1970-01-01", "2024-02-29", "1677-12-31"])
def test_every_second_of_a_day(day: str) -> None:
    seconds = np.arange(86_400) * 1_000_000_000
    assert_equals_pandas(pd.Timestamp(day).value + seconds)
    assert_equals_pandas(pd.Timestamp(day).value + seconds - 1)


@given(values=st.lists(st.integers(FIRST, LAST), min_size=1, max_size=50))
def test_any_times(values: list[int]) -> None:
    assert_equals_pandas(np.array(values))


def test_dates_of_many_centuries() -> None:
    """Beyond nanoseconds: the arithmetic has no bounds of its own."""
    days = np.arange(datetime.min.toordinal(), datetime.max.toordinal() + 1, 37)
    years, months, month_days = date(days - datetime(1970, 1, 1).toordinal())
    expected = [datetime.fromordinal(day) for day in days.tolist()]
    assert years.tolist() == [day.year for day in expected]
    assert months.tolist() == [day.month for day in expected]
    assert month_days.tolist() == [day.day for day in expected]


@pytest.mark.parametrize("feature", PERIODS)
def test_period_is_the_number_of_values(feature: str) -> None:
    times = np.arange(0, 2**60, 61_003 * 1_000_000_000)
    values = np.unique(Fields(times)[feature])
    assert len(values) == PERIODS[feature] == values[-1] - values[0] + 1


def test_missing_time_is_missing_in_every_feature() -> None:
    times = np.array([[0, MISSING], [MISSING, 0]])
    every = [(f, end) for f in FEATURES for end in (("", "sin") if f in PERIODS else ("",))]
    matrix = encode_fields(times, every).reshape(2, 2, -1)
    assert np.isnan(matrix[[0, 1], [1, 0]]).all()
    np.testing.assert_array_equal(matrix[0, 0], matrix[1, 1])
    assert not np.isnan(matrix[0, 0]).any()
