from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.data import datetimes
from pipeline.errors import DataError
from tests.strategies import bounded

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


def test_arrow_days_are_midnights() -> None:
    days = pd.Series([pd.Timestamp("1969-12-31").date(), None], dtype=pd.ArrowDtype(pa.date32()))
    assert wall_clock(days).tolist() == [-86_400 * 10**9, datetimes.MISSING]


def test_the_clock_on_the_wall_is_not_utc() -> None:
    noon = pd.Series(pd.to_datetime(["2020-07-01 12:00"])).dt.tz_localize("UTC")
    tokyo = noon.dt.tz_convert("Asia/Tokyo")
    assert wall_clock(tokyo) - wall_clock(noon) == [9 * 3600 * 10**9]
    assert datetimes.ticks(tokyo).counts == datetimes.ticks(noon).counts


def test_the_marker_is_that_of_numpy() -> None:
    assert np.array(["NaT"], dtype="datetime64[ns]").view("int64")[0] == datetimes.MISSING


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


@bounded
@given(
    dates=st.lists(
        st.none() | st.datetimes(pd.Timestamp("1678-01-01"), pd.Timestamp("2261-12-31")), min_size=1
    )
)
def test_counts_are_those_of_pandas(dates: list[Any]) -> None:
    column = pd.Series(dates, dtype="datetime64[us]")
    expected = column.astype("datetime64[ns]").to_numpy()
    assert wall_clock(column).tolist() == expected.view("int64").tolist()


def test_dates_of_counts_have_the_type_of_the_column() -> None:
    for form in ("s", "us", "zone"):
        column = FORMS[form].dropna()
        counts, unit = datetimes.ticks(column)
        assert datetimes.dates_of(counts, unit, column.dtype).tolist() == column.to_numpy().tolist()
