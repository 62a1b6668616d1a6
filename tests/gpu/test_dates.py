"""Calendar features on a GPU: what cuDF and CuPy make of dates.

Each test is a row of docs/gpu.md.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pipeline import Accelerated
from pipeline.data import frames
from pipeline.data.datetimes import MISSING
from pipeline.optional import load
from pipeline.preprocessing.transformers.calendar import CalendarFeatures
from pipeline.preprocessing.transformers.gregorian import DAY, FEATURES, Fields, encode_fields
from pipeline.system.devices import obstacle

NO_GPU = obstacle()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(bool(NO_GPU), reason=NO_GPU)]

EVERY_DAY = np.arange(-106_751, 106_752) * DAY


@pytest.mark.parametrize("feature", FEATURES)
def test_every_day_has_the_features_it_has_on_the_cpu(feature: str) -> None:
    at = EVERY_DAY[:-1] + 86_399_999_999_999
    here, there = Fields(at, epoch=DAY // 3), Fields(load("cupy").asarray(at), epoch=DAY // 3)
    found = getattr(there, feature)
    assert found.dtype == getattr(here, feature).dtype
    np.testing.assert_array_equal(found.get(), getattr(here, feature))


def test_missing_time_is_nan() -> None:
    times = load("cupy").asarray(np.array([[MISSING, 0]]))
    found = encode_fields(times, [("year", ""), ("hour", "cos")]).get()
    np.testing.assert_array_equal(found, [[np.nan, np.nan, 1970, 1]])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_null_becomes_the_least_integer_in_every_unit(unit: str) -> None:
    times = pd.Series(np.array(["1969-12-31T23:59:59", "NaT"], dtype=f"datetime64[{unit}]"))
    X = load("cudf").from_pandas(times.to_frame("t"))
    assert frames.datetimes(X, "t").get().tolist() == [-1_000_000_000, MISSING]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
@pytest.mark.parametrize("year", [1883, 1930, 2024, 2037, 2038, 2150])
def test_zone_gives_the_time_on_the_wall(zone: str, year: int) -> None:
    hours = pd.date_range(f"{year}-01-01", f"{year + 1}-01-01", freq="h", tz="UTC", unit="ns")
    X = pd.DataFrame({"t": hours.tz_convert(zone)})
    found = frames.datetimes(load("cudf").from_pandas(X), "t").get()
    np.testing.assert_array_equal(found, frames.datetimes(X, "t"))


def test_program_gives_what_it_gives_on_the_cpu() -> None:
    hours = pd.date_range("1960-01-01", periods=5_000, freq="59h", tz="Europe/Berlin", unit="us")
    X = pd.DataFrame({"plain": hours.tz_localize(None), "zone": hours}).mask(hours.hour == 7)
    estimator = CalendarFeatures(FEATURES, cyclical=("hour", "weekofyear"))
    expected = estimator.fit_transform(X)
    for table in (X, load("cudf").from_pandas(X)):
        model = Accelerated(estimator, device="cuda", dtype="float64").fit(table)
        np.testing.assert_array_equal(model.transform(table), expected)
