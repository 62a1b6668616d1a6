from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import check_array
from sklearn.utils.estimator_checks import check_estimator

from pipeline.data.convert import convert
from pipeline.errors import ConfigError, DataError
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.transformers.calendar import (
    CalendarFeatures,
)
from pipeline.preprocessing.transformers.gregorian import FEATURES, PERIODS
from tests.preprocessing.dates import CLOCKS, FORMS, frame
from tests.preprocessing.parity import assert_both_refuse, assert_parity

PLAIN = [name for name in FEATURES if name not in ("weekofyear", "is_weekend")][:-2]
"""What pandas' `.dt` has under the same name."""


SPECS = [
    CalendarFeatures(),
    CalendarFeatures(FEATURES),
    CalendarFeatures(["month", "days_since", "hour"], cyclical=True, epoch="2020-02-29"),
    CalendarFeatures(["weekday", "weekofyear"], cyclical=["weekofyear"]),
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


def test_takes_nothing_but_dates_of_what_sklearn_checks() -> None:
    results = check_estimator(CalendarFeatures(), on_fail=None, on_skip=None)
    errors = [r["exception"] for r in results if r["status"] == "failed"]
    assert len(errors) > 20
    assert [str(e) for e in errors if not isinstance(e.__cause__ or e, DataError)] == []


@pytest.mark.parametrize("feature", PLAIN)
@pytest.mark.parametrize("form", FORMS)
def test_equals_pandas(form: str, feature: str) -> None:
    X = frame(form)
    found = CalendarFeatures([feature]).fit_transform(X)
    expected = getattr(CLOCKS[form].dt, feature).astype("float64").mask(CLOCKS[form].isna())
    np.testing.assert_array_equal(found[:, 0], expected)


def test_zone_gives_the_time_on_the_wall() -> None:
    utc = pd.Series(pd.to_datetime(["2024-03-31 00:59", "2024-03-31 01:00", "2024-12-31 23:30"]))
    berlin = utc.dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")
    X = pd.DataFrame({"utc": utc, "berlin": berlin})
    found = CalendarFeatures(["year", "hour", "minute"]).fit_transform(X)
    assert found[:, 3:].tolist() == [[2024, 1, 59], [2024, 3, 0], [2025, 0, 30]]
    assert found[:, :3].tolist() == [[2024, 0, 59], [2024, 1, 0], [2024, 23, 30]]


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms", "us", "ns"])
def test_arrays_of_any_unit(unit: str) -> None:
    X = np.array([["1969-12-31", "2024-02-29"], ["NaT", "1700-03-01"]], dtype=f"datetime64[{unit}]")
    model = CalendarFeatures(["year", "dayofyear"]).fit(X)
    np.testing.assert_array_equal(
        model.transform(X), [[1969, 365, 2024, 60], [np.nan, np.nan, 1700, 60]]
    )
    assert model.get_feature_names_out().tolist() == [
        "x0_year",
        "x0_dayofyear",
        "x1_year",
        "x1_dayofyear",
    ]


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
    "epoch",
    [
        "2024-01-02 12:00",
        datetime(2024, 1, 2, 12),
        datetime(2024, 1, 2, 12, tzinfo=UTC),
        np.datetime64("2024-01-02T12"),
        pd.Timestamp("2024-01-02 12:00", tz="Asia/Tokyo"),
    ],
)
def test_epoch_of_every_type(epoch: Any) -> None:
    X = pd.DataFrame({"d": pd.to_datetime(["2024-01-01 00:00", "2024-01-03 18:00"])})
    assert CalendarFeatures(["days_since"], epoch=epoch).fit_transform(X).tolist() == [
        [-1.5],
        [1.25],
    ]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"features": "year"}, r"features='year' is no list of names; write \['year'\]"),
        ({"features": 3}, "features=3 is no list of names"),
        ({"features": []}, "features is empty"),
        ({"features": ["year", "yaer"]}, r"features has \['yaer'\]; choose from \['year'"),
        ({"features": ["day", "day"]}, "features repeats a name"),
        ({"features": [["day"]]}, r"features has \[\['day'\]\]"),
        ({"cyclical": "hour"}, "cyclical='hour' is no list of names"),
        ({"cyclical": None}, "cyclical=None is no list of names"),
        ({"cyclical": ["year"]}, r"cyclical has \['year'\]; choose from \['month', 'day'"),
        ({"cyclical": ["minute"]}, r"cyclical has \['minute'\]"),
        ({"epoch": "soon"}, "epoch='soon' is no date"),
        ({"epoch": "2400-01-01"}, "epoch='2400-01-01' is no date"),
        ({"epoch": None}, "epoch=None is missing"),
        ({"epoch": [1]}, r"epoch=\[1\] is no date"),
    ],
)
def test_parameter_that_cannot_be_used(params: dict[str, Any], message: str) -> None:
    found = assert_both_refuse(CalendarFeatures(**params), frame("ns"))
    assert re.match(f"CalendarFeatures: {message}", found)
    with pytest.raises(ConfigError, match=message):
        Program(CalendarFeatures(**params)).fit(frame("ns"))


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


def test_input_is_not_changed() -> None:
    X = frame("ns")
    CalendarFeatures().fit_transform(X)
    pd.testing.assert_frame_equal(X, frame("ns"))


@pytest.fixture
def dates() -> pd.DataFrame:
    return pd.concat([frame(form) for form in ("ns", "s", "zone", "arrow")], axis=1)


@pytest.mark.parametrize("estimator", SPECS, ids=repr)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_equals_the_estimator(estimator: Any, dates: pd.DataFrame, dtype: str) -> None:
    assert_parity(estimator, dates, new=dates[7:20], dtype=dtype)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_column(form: str) -> None:
    assert_parity(SPECS[1], convert(frame(form)))


@pytest.mark.parametrize("estimator", SPECS, ids=repr)
def test_one_row_one_column_and_arrays(estimator: Any, dates: pd.DataFrame) -> None:
    assert_parity(estimator, dates[:1], new=dates)
    assert_parity(estimator, dates[["zone"]])
    assert_parity(estimator, dates[["ns", "s"]].to_numpy())


@pytest.mark.parametrize(
    "column", [[1, 2], [1.5, np.nan], ["2024-01-01", "x"], [True, False], [pd.Timedelta(1)] * 2]
)
def test_column_without_dates_is_refused(column: list[Any], dates: pd.DataFrame) -> None:
    message = assert_both_refuse(SPECS[0], dates[:2].assign(other=column))
    assert "'other'" in message


@given(
    seconds=st.lists(
        st.one_of(st.none(), st.integers(-9_000_000_000, 9_000_000_000)), min_size=1, max_size=20
    )
)
def test_any_times(seconds: list[int | None]) -> None:
    times = pd.Series(pd.to_datetime(pd.array(seconds, dtype="Int64"), unit="s"))
    found = CalendarFeatures(PLAIN).fit_transform(times.to_frame("t"))
    expected = [getattr(times.dt, name).astype("float64").mask(times.isna()) for name in PLAIN]
    np.testing.assert_array_equal(found, np.stack(expected, axis=1))
    for estimator in SPECS:
        assert_parity(estimator, times.to_frame("t"))
