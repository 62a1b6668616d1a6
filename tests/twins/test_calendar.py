from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import check_array
from sklearn.utils.estimator_checks import check_estimator

from pipeline.errors import DataError
from pipeline.table.convert import convert
from pipeline.twins.calendar import FEATURES, PERIODS, CalendarFeatures
from tests.twins.dates import CLOCKS, FORMS, frame
from tests.twins.parity import assert_both_refuse, assert_parity

SPECS = [
    CalendarFeatures(FEATURES),
    CalendarFeatures(["month", "days_since", "hour"], cyclical=True, epoch="2020-02-29"),
]


class DaysAsNumbers(CalendarFeatures):
    """Reads numbers as days since 1970, as scikit-learn's checks have no tables of dates."""

    def fit(self, X: Any, y: Any = None) -> DaysAsNumbers:
        return super().fit(self._times(X, reset=True))

    def transform(self, X: Any) -> Any:
        return super().transform(self._times(X, reset=False))

    def _times(self, X: Any, *, reset: bool) -> Any:
        if hasattr(X, "columns"):
            return X.astype("int64").astype("datetime64[s]")
        X = check_array(X, ensure_all_finite="allow-nan", estimator=self, dtype="numeric")
        return (X * 86_400).astype("datetime64[s]")


def test_keeps_the_conventions_of_sklearn() -> None:
    results = check_estimator(DaysAsNumbers(), on_fail=None, on_skip=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []
    assert sum(r["status"] == "passed" for r in results) > 40


def reference(time: datetime) -> list[float]:
    """Return all features as Python has them."""
    day, next_day, start = time.date(), time + timedelta(1), datetime(1970, 1, 1)
    return [
        *(day.year, (day.month + 2) // 3, day.month, day.isocalendar()[1], day.day),
        *(day.timetuple().tm_yday, day.weekday(), time.hour, time.minute, time.second),
        *(day.weekday() > 4, day.day == 1, next_day.day == 1),
        *((time - start) / timedelta(1), (time - start).total_seconds()),
    ]


@given(
    times=st.lists(
        st.datetimes(datetime(1678, 1, 1), datetime(2262, 1, 1)), min_size=1, max_size=20
    )
)
def test_any_times_have_the_features_that_python_gives_them(times: list[datetime]) -> None:
    X = pd.DataFrame({"t": pd.Series(times, dtype="datetime64[us]")})
    found = CalendarFeatures(FEATURES).fit_transform(X)
    np.testing.assert_allclose(found, [*map(reference, times)], rtol=1e-14, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_column_is_read_by_the_clock_on_the_wall(form: str) -> None:
    found = CalendarFeatures(["year", "dayofyear", "hour"]).fit_transform(frame(form))
    clock = CLOCKS[form].dt
    expected = [
        each.mask(CLOCKS[form].isna()) for each in (clock.year, clock.dayofyear, clock.hour)
    ]
    np.testing.assert_array_equal(found, np.stack(expected, axis=1).astype("float64"))
    assert_parity(SPECS[0], convert(frame(form)))


def test_time_that_nanoseconds_cannot_say_is_refused() -> None:
    X = pd.DataFrame({"far": np.array(["2024-01-01", "2300-01-01"], dtype="datetime64[us]")})
    with pytest.raises(DataError, match="'far'"):
        CalendarFeatures().fit_transform(X)


@pytest.mark.parametrize("feature", PERIODS)
def test_cyclical_feature_is_a_sine_and_a_cosine(feature: str) -> None:
    X = frame("ns")
    plain = CalendarFeatures([feature]).fit_transform(X)[:, 0]
    pair = CalendarFeatures([feature], cyclical=True).fit_transform(X)
    angle = 2 * np.pi * plain / PERIODS[feature]
    np.testing.assert_allclose(pair, np.stack([np.sin(angle), np.cos(angle)], 1), atol=1e-15)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"features": "year"},
            r"CalendarFeatures: features='year' is not a list of names; pass \['year'\]",
        ),
        ({"features": []}, "CalendarFeatures: features is empty"),
        (
            {"features": ["year", "yaer"]},
            "unknown name in features of CalendarFeatures 'yaer'; did you mean 'year'",
        ),
        ({"features": ["day", "day"]}, "CalendarFeatures: features contains a name twice"),
        ({"cyclical": "hour"}, "CalendarFeatures: cyclical='hour' is not a list of names"),
        ({"cyclical": None}, "CalendarFeatures: cyclical=None is not a list of names"),
        (
            {"cyclical": ["year"]},
            "unknown name in cyclical of CalendarFeatures 'year'; choose from: day, hour, month",
        ),
        ({"epoch": "2400-01-01"}, "CalendarFeatures: epoch='2400-01-01' is not a date"),
        ({"epoch": None}, "CalendarFeatures: epoch=None is missing"),
    ],
)
def test_parameter_that_cannot_be_used(params: dict[str, Any], message: str) -> None:
    found = assert_both_refuse(CalendarFeatures(**params), frame("ns"))
    assert re.match(message, found)


@pytest.mark.parametrize("names", [np.array(["month", "hour"]), pd.Index(["month", "hour"])])
def test_names_may_be_in_an_array(names: Any) -> None:
    expected = CalendarFeatures(cyclical=["month", "hour"]).fit_transform(frame("ns"))
    np.testing.assert_array_equal(
        CalendarFeatures(cyclical=names).fit_transform(frame("ns")), expected
    )


@pytest.mark.parametrize("missing", [None, np.nan, pd.NaT, pd.NA])
def test_column_at_transform_may_be_all_missing(missing: Any) -> None:
    model = CalendarFeatures(["year", "hour"], cyclical=["hour"]).fit(frame("ns"))
    assert (
        np.isnan(model.transform(pd.DataFrame({"ns": [missing, missing]}))).tolist()
        == [[True] * 3] * 2
    )
    assert np.isnan(model.transform(pd.DataFrame({"ns": [missing]}, dtype=object))).all()
    with pytest.raises(DataError, match="'ns'"):
        model.transform(pd.DataFrame({"ns": [np.nan, 1.0]}))


@pytest.fixture
def dates() -> pd.DataFrame:
    return pd.concat([frame(form) for form in ("ns", "s", "zone", "arrow")], axis=1)


@pytest.mark.parametrize("estimator", SPECS, ids=repr)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_equals_the_estimator(estimator: Any, dates: pd.DataFrame, dtype: str) -> None:
    assert_parity(estimator, dates, new=dates[7:20], dtype=dtype)
    assert_parity(estimator, dates[["ns", "s"]][:1].to_numpy(), dtype=dtype)


@pytest.mark.parametrize("column", [[1, 2], ["2024-01-01", "x"], [True, False]], ids=str)
def test_column_without_dates_is_refused(column: list[Any], dates: pd.DataFrame) -> None:
    message = assert_both_refuse(SPECS[0], dates[:2].assign(other=column))
    assert "'other'" in message
