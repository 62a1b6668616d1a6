from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler

from pipeline import Accelerated
from pipeline.twins.power import most_likely_power, signed_logs
from tests.strategies import tables
from tests.twins.columns import BOOLEANS, NUMBERS, frame
from tests.twins.parity import assert_both_refuse, assert_parity, quiet

ROWS = 150
TRANSFORMERS = [
    PowerTransformer(standardize=standardize, copy=copy)
    for standardize, copy in ((True, True), (False, True), (True, False))
]


def positives() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"skewed": rng.gamma(1.5, 3.0, ROWS), "cubed": rng.normal(9, 1, ROWS) ** 3})
    X["small"] = rng.gamma(2.0, 1e-3, ROWS)
    X["int"] = rng.integers(1, 9, ROWS)
    return X


def any_sign() -> pd.DataFrame:
    X = positives()
    X = X.assign(negative=-X["skewed"], both=X["cubed"] - 700.0)
    X["zeros and ones"] = np.arange(ROWS) % 3 == 0
    return X.assign(constant=0.1, zero=0.0)


@pytest.mark.quick(7)
@pytest.mark.parametrize("estimator", TRANSFORMERS, ids=repr)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_equals_sklearn(estimator: Any, dtype: str) -> None:
    X = any_sign()
    assert_parity(estimator, X, None, X[::-1] * 1.5, dtype)


@pytest.mark.parametrize("estimator", TRANSFORMERS, ids=repr)
def test_missing_values_stay_missing(estimator: Any) -> None:
    X = any_sign()
    X.loc[::3, "skewed"] = np.nan
    X.loc[::4, "int"] = np.nan
    out = assert_parity(estimator, X).transform(X)
    assert np.isnan(out[::3, 0]).all()
    assert np.isfinite(out[:, 1]).all()


@pytest.mark.parametrize("name", ["skewed", "cubed", "small", "int", "negative", "both"])
def test_the_power_that_a_gpu_finds_is_that_of_sklearn(name: str) -> None:
    values = any_sign()[name].to_numpy("float64")[:, None]
    found = most_likely_power(signed_logs(values), values.min(), values.max())
    expected = PowerTransformer().fit(values).lambdas_[0]
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.filterwarnings("ignore:The optimal lambda")
def test_the_power_of_float32_stays_in_its_range() -> None:
    years = np.float32(np.random.default_rng(0).integers(1950, 2010, (200, 1)))
    logs = signed_logs(years.astype("float64"))
    found = most_likely_power(logs, years.min(), years.max())
    expected = PowerTransformer().fit(years).lambdas_[0]
    assert found == pytest.approx(expected, rel=1e-4)


def test_column_without_values_is_refused_like_in_sklearn() -> None:
    message = assert_both_refuse(PowerTransformer(), positives().assign(small=np.nan))
    assert message == "PowerTransformer: the columns ['small'] hold no values; drop them"


@pytest.mark.parametrize(
    "kind", sorted((NUMBERS | BOOLEANS).keys() - {"float32, missing", "huge int"})
)
def test_kinds_of_columns(kind: str) -> None:
    assert_parity(PowerTransformer(), frame(kind))


@given(X=tables("numbers"))
def test_any_table_of_numbers(X: pd.DataFrame) -> None:
    X = X.clip(-1e3, 1e3).dropna(axis=1, how="all")
    # What SciPy finds for a constant beside missing values is rounding.
    X = X.loc[:, (X.nunique() > 1) | X.notna().all()]
    if len(X.columns):
        with quiet():
            assert_parity(PowerTransformer(), X)


def test_few_rows_of_columns_side_by_side_are_transformed_bit_for_bit() -> None:
    X = pd.DataFrame(np.random.default_rng(3).normal(size=(2000, 5)) * 3, columns=list("abcde"))
    scaled = make_column_transformer((StandardScaler(), list("abcde")))
    estimator = make_pipeline(scaled, PowerTransformer())
    made = Accelerated(estimator, device="cpu").fit_transform(X)
    np.testing.assert_array_equal(made, clone(estimator).fit_transform(X))
