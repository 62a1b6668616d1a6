from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy
from hypothesis import given
from packaging.version import Version
from scipy.stats import boxcox_normmax, yeojohnson_normmax
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PowerTransformer

from pipeline.errors import DataError
from pipeline.preprocessing.engine.program import Program
from tests.preprocessing.columns import BOOLEANS, NUMBERS, frame
from tests.preprocessing.parity import assert_both_refuse, assert_parity, cut, quiet, sklearn_fit
from tests.strategies import tables

SAME_DIGITS = Version(scipy.__version__) < Version("1.18")
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


def assert_near(estimator: Any, X: Any, new: Any = None, dtype: str = "float64") -> Program:
    """Compare as `parity.assert_parity` does, by the digits that an optimum has.

    SciPy's likelihood of Box-Cox is rounded in another way than ours, and from 1.18 on that of
    Yeo-Johnson where all values have one sign, so the optimiser stops at another eighth digit.
    """
    last, new = (
        (estimator[-1] if isinstance(estimator, Pipeline) else estimator),
        (X if new is None else new),
    )
    if last.method == "yeo-johnson" and SAME_DIGITS:
        return assert_parity(estimator, X, new=new, dtype=dtype)
    reference, expected = sklearn_fit(estimator, X)
    program = Program(estimator, dtype)
    atol = 1e-7 * (1.0 if last.standardize else np.nanmax(np.abs(expected)))
    np.testing.assert_allclose(program.fit_transform(X), expected, rtol=1e-6, atol=atol)
    expected = reference.transform(new)
    plain = program.to_sklearn()
    for found in (program.transform(new), plain.transform(new)):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=atol)
    ours, theirs = (f[-1] if isinstance(f, Pipeline) else f for f in (plain, reference))
    np.testing.assert_allclose(ours.lambdas_, theirs.lambdas_, rtol=1e-6)
    assert set(vars(plain)) == set(vars(reference))
    assert list(plain.get_feature_names_out()) == list(reference.get_feature_names_out())
    return program


def best(method: str, column: np.ndarray) -> float:
    estimator = PowerTransformer(method, standardize=False)
    return float(Program(estimator).fit(column[:, None]).to_sklearn().lambdas_[0])


@pytest.mark.quick(7)
@pytest.mark.parametrize("estimator", TRANSFORMERS, ids=repr)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_equals_sklearn(estimator: Any, dtype: str) -> None:
    X = data(estimator)
    assert_near(estimator, X, X[::-1] * 1.5, dtype)


@pytest.mark.parametrize("estimator", TRANSFORMERS, ids=repr)
def test_missing_values_stay_missing(estimator: Any) -> None:
    X = data(estimator)
    X.loc[::3, "skewed"] = np.nan
    X.loc[::4, "int"] = np.nan
    out = assert_near(estimator, X, X).transform(X)
    assert np.isnan(out[::3, 0]).all()
    assert np.isfinite(out[:, 1]).all()


@pytest.mark.parametrize("sign", ["positive", "negative", "both"])
def test_yeo_johnson_power_equals_scipy(sign: str) -> None:
    x = np.random.default_rng(0).gamma(2.0, 1.0, 500)
    x = {"positive": x, "negative": -x, "both": x - 1.0}[sign]
    digits = 1e-9 if SAME_DIGITS or sign == "both" else 1e-7
    assert best("yeo-johnson", x) == pytest.approx(yeojohnson_normmax(x), rel=digits)


NARROW = {
    "seconds": 1.7e9 + np.arange(1500.0) ** 1.1,
    "before zero": -1e4 - np.random.default_rng(0).gamma(2.0, 100.0, 1500),
    "both signs": np.random.default_rng(0).normal(1.0, 1e4, 1500),
}


@pytest.mark.parametrize("column", NARROW)
def test_values_that_hardly_vary_get_the_power_of_the_scipy_at_hand(column: str) -> None:
    x = NARROW[column][:, None]
    ours = Program(PowerTransformer(), "float64").fit(x).to_sklearn()
    theirs = PowerTransformer().fit(x)
    # From logarithms SciPy has few digits of them.
    digits = 1e-9 if SAME_DIGITS or column == "both signs" else 1e-3
    np.testing.assert_allclose(ours.lambdas_, theirs.lambdas_, rtol=digits)
    np.testing.assert_allclose(ours.transform(x), theirs.transform(x), atol=1e-12)


def test_power_that_would_overflow_is_bounded_as_in_scipy() -> None:
    x = np.array([2003.0, 1950.0, 1997.0, 2000.0, 2009.0, 2009.0, 1980.0, 1999.0, 2007.0, 1991.0])
    with pytest.warns(UserWarning, match="constrained optimum"):
        ours = best("box-cox", x)
    with pytest.warns(UserWarning, match="constrained optimum"):
        theirs = boxcox_normmax(x, method="mle")
    assert ours == pytest.approx(theirs, rel=1e-9)


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


@pytest.mark.parametrize("method", METHODS)
def test_powers_of_float32_are_those_of_sklearn(method: str) -> None:
    X = positives().to_numpy("float32")
    program, reference = Program(PowerTransformer(method)), PowerTransformer(method)
    found, expected = program.fit_transform(X), reference.fit_transform(X)
    np.testing.assert_array_equal(program.to_sklearn().lambdas_, reference.lambdas_)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@given(X=tables("numbers"))
def test_any_table_of_numbers(X: pd.DataFrame) -> None:
    X = X.clip(-1e3, 1e3).dropna(axis=1, how="all")
    if not SAME_DIGITS:  # what SciPy finds for a constant beside missing values is rounding
        X = X.loc[:, (X.nunique() > 1) | X.notna().all()]
    if len(X.columns):
        with quiet():
            assert_near(PowerTransformer(), X)


@pytest.mark.parametrize("n_blocks", [1, 7])
def test_box_cox_is_that_of_scipy_to_the_last_digits(
    n_blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut(monkeypatch, ROWS, n_blocks)
    X = positives()
    expected = PowerTransformer("box-cox").fit(X)
    program = Program(PowerTransformer("box-cox"), "float64").fit(X)
    np.testing.assert_array_equal(program.to_sklearn().lambdas_, expected.lambdas_)
    np.testing.assert_allclose(program.transform(X), expected.transform(X), rtol=1e-12, atol=1e-12)
