from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from sklearn.preprocessing import PowerTransformer

from pipeline.compile.program import Program
from pipeline.errors import DataError
from pipeline.preprocessing.transformers.power import most_likely_power, signed_logs
from tests.preprocessing.columns import BOOLEANS, NUMBERS, frame
from tests.preprocessing.parity import assert_both_refuse, assert_parity, quiet
from tests.strategies import tables

ROWS = 150
METHODS = ["yeo-johnson", "box-cox"]
TRANSFORMERS = [
    PowerTransformer(method, standardize=standardize, copy=copy)
    for method in METHODS
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


def data(estimator: Any) -> pd.DataFrame:
    return positives() if estimator.method == "box-cox" else any_sign()


@pytest.mark.quick(7)
@pytest.mark.parametrize("estimator", TRANSFORMERS, ids=repr)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_equals_sklearn(estimator: Any, dtype: str) -> None:
    X = data(estimator)
    assert_parity(estimator, X, None, X[::-1] * 1.5, dtype)


@pytest.mark.parametrize("estimator", TRANSFORMERS, ids=repr)
def test_missing_values_stay_missing(estimator: Any) -> None:
    X = data(estimator)
    X.loc[::3, "skewed"] = np.nan
    X.loc[::4, "int"] = np.nan
    out = assert_parity(estimator, X).transform(X)
    assert np.isnan(out[::3, 0]).all()
    assert np.isfinite(out[:, 1]).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["skewed", "cubed", "small", "int", "negative", "both"])
def test_the_power_that_a_gpu_finds_is_that_of_sklearn(name: str, method: str) -> None:
    if method == "box-cox" and name in ("negative", "both"):
        pytest.skip("Box-Cox takes positive values")
    values = any_sign()[name].to_numpy("float64")[:, None]
    logs = signed_logs(values, method)
    found = most_likely_power(logs, values.min(), values.max(), method)
    expected = PowerTransformer(method).fit(values).lambdas_[0]
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.filterwarnings("ignore:The optimal lambda")
@pytest.mark.parametrize("method", METHODS)
def test_the_power_of_float32_stays_in_its_range(method: str) -> None:
    years = np.float32(np.random.default_rng(0).integers(1950, 2010, (200, 1)))
    logs = signed_logs(years.astype("float64"), method)
    found = most_likely_power(logs, years.min(), years.max(), method)
    expected = PowerTransformer(method=method).fit(years).lambdas_[0]
    assert found == pytest.approx(expected, rel=1e-4)


def test_column_without_values_is_refused_like_in_sklearn() -> None:
    for method in METHODS:
        message = assert_both_refuse(PowerTransformer(method), positives().assign(small=np.nan))
        assert message.endswith(
            "PowerTransformer: the columns ['small'] hold no values; leave them out"
        )


def test_box_cox_refuses_constants_like_sklearn() -> None:
    message = assert_both_refuse(PowerTransformer("box-cox"), positives().assign(small=2.0))
    assert "the columns ['small'] hold one value only" in message


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_box_cox_refuses_what_is_not_positive_like_sklearn(bad: float) -> None:
    estimator = PowerTransformer("box-cox")
    message = assert_both_refuse(estimator, positives().assign(small=bad))
    assert "the columns ['small'] hold values that are not positive" in message
    assert "method='yeo-johnson'" in message
    program = Program(estimator).fit(positives())
    with pytest.raises(DataError, match=r"\['int'\] hold values that are not positive"):
        program.transform(positives().assign(int=bad))


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
