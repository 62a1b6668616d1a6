from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pipeline.data.convert import convert
from pipeline.data.datetimes import MISSING
from pipeline.errors import ConfigError, DataError
from pipeline.preprocessing import transformers
from pipeline.preprocessing.engine import table
from pipeline.preprocessing.engine.blocks import Dates
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.transformers.calendar import CalendarFeatures, CalendarFeaturesTwin
from pipeline.preprocessing.transformers.gregorian import FEATURES
from tests.preprocessing.dates import FORMS, ROWS, frame
from tests.preprocessing.parity import assert_both_refuse, assert_parity

SPECS = [
    CalendarFeatures(),
    CalendarFeatures(FEATURES),
    CalendarFeatures(["month", "days_since", "hour"], cyclical=True, epoch="2020-02-29"),
    CalendarFeatures(["weekday", "weekofyear"], cyclical=["weekofyear"]),
]


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(transformers.TWINS, CalendarFeatures, CalendarFeaturesTwin)


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
def test_one_row_and_one_column(estimator: Any, dates: pd.DataFrame) -> None:
    assert_parity(estimator, dates[:1], new=dates)
    assert_parity(estimator, dates[["zone"]])


def test_array_of_dates(dates: pd.DataFrame) -> None:
    assert_parity(SPECS[0], dates[["ns", "s"]].to_numpy())


@pytest.mark.parametrize("n_blocks", [1, 2, 7, 64])
def test_result_does_not_depend_on_the_blocks(
    n_blocks: int, dates: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Program(SPECS[1], "float64").fit_transform(dates)
    monkeypatch.setattr(table, "CHUNK_ROWS", -(-ROWS // n_blocks))
    cut = assert_parity(SPECS[1], dates).transform(dates)
    np.testing.assert_array_equal(cut, whole)


def test_steps_after_it(dates: pd.DataFrame) -> None:
    scaled = make_pipeline(SPECS[2], SimpleImputer(add_indicator=True), StandardScaler())
    coded = make_pipeline(SPECS[3], OneHotEncoder(handle_unknown="ignore"))
    both = FeatureUnion([("all", SPECS[0]), ("few", SPECS[3])], transformer_weights={"few": 0.5})
    for estimator in (scaled, coded, both):
        assert_parity(estimator, dates)


def test_beside_other_columns(dates: pd.DataFrame) -> None:
    X = dates.assign(size=np.arange(ROWS), colour=["red", "blue", "green"] * (ROWS // 3))
    estimator = make_column_transformer(
        (CalendarFeatures(["month"], cyclical=True), ["ns", "zone"]),
        (OneHotEncoder(), ["colour"]),
        ("drop", ["s", "arrow"]),
        remainder=StandardScaler(),
    )
    program = assert_parity(estimator, X)
    assert program.to_sklearn().get_feature_names_out()[:2].tolist() == [
        "calendarfeatures__ns_month_sin",
        "calendarfeatures__ns_month_cos",
    ]


def test_dates_and_their_categories_of_one_column(dates: pd.DataFrame) -> None:
    X = dates[["s"]].dropna()
    estimator = ColumnTransformer([("d", SPECS[3], ["s"]), ("c", OneHotEncoder(), ["s"])])
    assert_parity(estimator, X)


@pytest.mark.parametrize(
    "column", [[1, 2], [1.5, np.nan], ["2024-01-01", "x"], [True, False], [pd.Timedelta(1)] * 2]
)
def test_column_without_dates_is_refused(column: list[Any], dates: pd.DataFrame) -> None:
    message = assert_both_refuse(SPECS[0], dates[:2].assign(other=column))
    assert "'other'" in message


def test_columns_without_dates_at_transform_are_refused(dates: pd.DataFrame) -> None:
    program = Program(SPECS[0]).fit(dates)
    with pytest.raises(DataError, match="'s'"):
        program.transform(dates.assign(s=1))


@pytest.mark.parametrize(
    "estimator",
    [
        CalendarFeatures(["yaer"]),
        CalendarFeatures(cyclical=["year"]),
        CalendarFeatures(epoch="soon"),
        CalendarFeatures("year"),
    ],
    ids=repr,
)
def test_bad_parameter_is_refused(estimator: Any, dates: pd.DataFrame) -> None:
    assert assert_both_refuse(estimator, dates).startswith("CalendarFeatures: ")
    with pytest.raises(ConfigError):
        Program(estimator).fit(dates)


def test_every_parameter_is_honoured() -> None:
    assert CalendarFeaturesTwin.unsupported_reasons(SPECS[2], "step") == []
    assert set(CalendarFeaturesTwin.supported_params) == set(CalendarFeatures().get_params())


def test_block_of_the_least_integer_is_missing() -> None:
    twin = CalendarFeaturesTwin(CalendarFeatures(["day"]))
    twin.finalize(twin.statistics(Dates(np.zeros((3, 2), dtype="int64"))))
    found = twin.apply(Dates(np.array([[0, MISSING]]))).values
    np.testing.assert_array_equal(found, [[1, np.nan]])
    assert twin.fitted.n_features_in_ == 2


@given(
    st.lists(
        st.one_of(st.none(), st.datetimes(pd.Timestamp(1700, 1, 1), pd.Timestamp(2200, 1, 1))),
        min_size=1,
        max_size=24,
    )
)
def test_any_times(times: list[Any]) -> None:
    X = pd.DataFrame({"t": pd.Series(times, dtype="datetime64[us]")})
    for estimator in SPECS:
        assert_parity(estimator, X)
