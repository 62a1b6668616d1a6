from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BSpline
from sklearn.preprocessing import SplineTransformer

from pipeline.errors import DataError, Unsupported
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.transformers.splines import Basis, splines
from tests.preprocessing.parity import assert_both_refuse, assert_parity, quiet
from tests.strategies import tables

ROWS = 150
KNOTS = ["uniform", "quantile"]
BEYOND = ["constant", "linear", "continue", "periodic"]
LEAST = {"constant": 1, "linear": 2}
CASES = [
    SplineTransformer(6, degree, knots=knots, extrapolation=beyond)
    for degree, knots, beyond in product(range(5), KNOTS, BEYOND)
    if degree >= LEAST.get(beyond, 0)
]
OTHERS = [
    SplineTransformer(2),
    SplineTransformer(20, knots="quantile"),
    SplineTransformer(4, 3, extrapolation="periodic"),
    *(SplineTransformer(include_bias=False, extrapolation=beyond) for beyond in BEYOND),
    SplineTransformer(order="F"),
    SplineTransformer(sparse_output=True),
]


@pytest.fixture
def numbers() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(3, 7, (ROWS, 2)), columns=["a", "b"])
    X["rounded"] = X["a"].round()
    X["mostly zero"] = np.where(np.arange(ROWS) % 5 == 0, X["a"], 0.0)
    X["int"] = rng.integers(0, 9, ROWS)
    return X


def name(estimator: SplineTransformer) -> str:
    return f"{estimator.degree}-{estimator.knots}-{estimator.extrapolation}"


@pytest.mark.parametrize("estimator", CASES, ids=name)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_equals_sklearn(estimator: Any, numbers: pd.DataFrame, dtype: str) -> None:
    assert_parity(estimator, numbers, new=pd.concat([numbers * 2, numbers - 9]), dtype=dtype)


@pytest.mark.parametrize("estimator", OTHERS, ids=repr)
def test_other_parameters(estimator: Any, numbers: pd.DataFrame) -> None:
    # The sparse way of scikit-learn refuses knots that coincide.
    X = numbers.drop(columns="mostly zero")
    assert_parity(estimator, X, new=X * 2)


@pytest.mark.parametrize("knots", KNOTS)
def test_values_on_the_knots(knots: str, numbers: pd.DataFrame) -> None:
    estimator = SplineTransformer(5, knots=knots)
    splines_ = assert_parity(estimator, numbers).to_sklearn().bsplines_
    new = pd.DataFrame({n: s.t for n, s in zip(numbers, splines_, strict=True)})
    assert_parity(estimator, numbers, new=new)


@pytest.mark.parametrize("beyond", BEYOND)
@pytest.mark.parametrize("knots", KNOTS)
def test_missing_values_become_zeros_if_told(
    knots: str, beyond: str, numbers: pd.DataFrame
) -> None:
    numbers.loc[::3, "a"] = np.nan
    numbers["b"] = np.nan
    estimator = SplineTransformer(7, knots=knots, extrapolation=beyond, handle_missing="zeros")
    new = numbers * 2
    program = assert_parity(estimator, numbers, new=new)
    assert not program.transform(new)[::3, :6].any()
    # Values in a column that had none.
    with quiet():
        assert_parity(estimator, numbers, new=new.fillna(0.5))


def test_missing_values_are_refused_like_in_sklearn(numbers: pd.DataFrame) -> None:
    numbers.loc[3, "b"] = np.nan
    message = assert_both_refuse(SplineTransformer(), numbers)
    assert message.startswith("SplineTransformer: the columns ['b'] hold missing values")
    assert "handle_missing='zeros'" in message


def test_missing_values_in_new_rows_are_refused(numbers: pd.DataFrame) -> None:
    program = Program(SplineTransformer()).fit(numbers)
    with pytest.raises(DataError, match=r"columns \['int'\] hold missing values"):
        program.transform(numbers.assign(int=np.nan))


def test_given_knots(numbers: pd.DataFrame) -> None:
    knots = np.stack([np.array([-9.0, 0.0, 1.0, 4.0, 10.0]) + j for j in range(5)], axis=1)
    for beyond in BEYOND:
        estimator = SplineTransformer(knots=knots, extrapolation=beyond)
        assert_parity(estimator, numbers, new=numbers * 2)
    one = SplineTransformer(knots=[[0.0], [1.0], [2.0]], degree=2)
    assert_parity(one, numbers[["int"]])


def test_inside_the_knots_splines_sum_to_one(numbers: pd.DataFrame) -> None:
    out = Program(SplineTransformer(knots="quantile"), "float64").fit_transform(numbers[["a"]])
    np.testing.assert_allclose(out.sum(axis=1), 1.0, rtol=1e-14)


@pytest.mark.parametrize("knots", KNOTS)
def test_values_beyond_the_knots_can_be_an_error(knots: str, numbers: pd.DataFrame) -> None:
    estimator = SplineTransformer(knots=knots, extrapolation="error", handle_missing="zeros")
    numbers.loc[0, "b"] = np.nan
    program = assert_parity(estimator, numbers)
    new = numbers.assign(int=99)
    with pytest.raises(ValueError, match="beyond the limits of the knots"):
        program.to_sklearn().transform(new)
    with pytest.raises(DataError, match=r"columns \['int'\] hold values beyond the limits"):
        program.transform(new)


@pytest.mark.parametrize("beyond", BEYOND)
@pytest.mark.parametrize("knots", KNOTS)
def test_constant_column(knots: str, beyond: str, numbers: pd.DataFrame) -> None:
    X = numbers.assign(b=5.0)
    assert_parity(SplineTransformer(knots=knots, extrapolation=beyond), X, new=X * 2)


@pytest.mark.parametrize("estimator", CASES, ids=name)
def test_quantiles_that_coincide(estimator: Any) -> None:
    X = np.array([0.0] * 12 + [1.0, 2.0, 3.0, 3.0] + [4.0] * 5)[:, None]
    new = np.linspace(-1, 5, 61)[:, None]
    assert_parity(estimator, X, new=np.concatenate([new, X]))


@pytest.mark.parametrize("knots", KNOTS)
def test_large_offset(knots: str, numbers: pd.DataFrame) -> None:
    assert_parity(SplineTransformer(knots=knots), numbers + 1e9)


@pytest.mark.parametrize("knots", [*KNOTS, np.array([[0.0], [1.0], [2.0]])], ids=str)
def test_one_row_is_refused_like_in_sklearn(knots: Any, numbers: pd.DataFrame) -> None:
    message = assert_both_refuse(SplineTransformer(3, 2, knots=knots), numbers[:1][["a"]])
    assert message.startswith("SplineTransformer on the columns ['a']: ")
    assert "a minimum of 2 is required" in message


@pytest.mark.parametrize(
    ("degree", "beyond"), [(0, "constant"), (0, "linear"), (1, "linear")], ids=str
)
def test_what_sklearn_extrapolates_wrongly_is_refused(
    degree: int, beyond: str, numbers: pd.DataFrame
) -> None:
    estimator = SplineTransformer(degree=degree, extrapolation=beyond)
    with pytest.raises(Unsupported) as caught:
        Program(estimator).fit(numbers)
    (reason,) = caught.value.reasons
    assert reason.parameter == "extrapolation"
    assert "'continue'" in reason.instead


def test_sklearn_still_extrapolates_low_degrees_wrongly() -> None:
    """The refusals above are there for this, and can go with it."""
    x = np.arange(10.0)[:, None]
    with pytest.raises(ValueError, match="shape mismatch"):
        SplineTransformer(degree=0).fit(x).transform([[11.0]])
    twice = SplineTransformer(degree=1, extrapolation="linear").fit_transform(np.hstack([x, x]))
    left, right = np.split(twice, 2, axis=1)
    assert not np.allclose(left, right)


@pytest.mark.parametrize("knots", KNOTS)
def test_float32_is_computed_in_float64(knots: str, numbers: pd.DataFrame) -> None:
    X = numbers.to_numpy("float32")
    estimator = SplineTransformer(knots=knots)
    ours = Program(estimator, "float64").fit_transform(X)
    np.testing.assert_allclose(ours, estimator.fit_transform(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"n_knots": 1}, "'n_knots' parameter"),
        ({"n_knots": 1, "knots": "quantile"}, "'n_knots' parameter"),
        ({"degree": -1, "extrapolation": "continue"}, "'degree' parameter"),
        ({"degree": 1.5}, "'degree' parameter"),
        ({"knots": "even"}, "'knots' parameter"),
        ({"knots": [[0.0], [1.0]]}, "knots.shape[1] == n_features is violated"),
        ({"knots": np.zeros((3, 5))}, "knots must be sorted without duplicates"),
        ({"n_knots": 3, "extrapolation": "periodic"}, "Periodic splines require degree < n_knots"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused_in_the_words_of_sklearn(
    params: dict[str, Any], said: str, numbers: pd.DataFrame
) -> None:
    message = assert_both_refuse(SplineTransformer(**params), numbers)
    assert message.startswith("SplineTransformer on the columns ['a', 'b', 'rounded'")
    assert said in message


@pytest.mark.parametrize("degree", range(6))
def test_splines_equal_scipy_to_the_last_bit(degree: int) -> None:
    rng = np.random.default_rng(degree)
    knots = np.sort(rng.normal(size=(2, 2 * degree + 5)))
    width = knots.shape[1] - degree - 1
    x = rng.normal(size=(200, 2))
    found = splines(Basis(knots, degree, width), x)
    for j in range(2):
        spline = BSpline(knots[j], np.eye(width), degree, extrapolate=True)
        np.testing.assert_array_equal(found[:, j], spline(x[:, j]))


@given(
    X=tables("numbers"),
    knots=st.sampled_from(KNOTS),
    beyond=st.sampled_from(BEYOND),
    degree=st.integers(2, 4),
)
def test_any_table_of_numbers(X: pd.DataFrame, knots: str, beyond: str, degree: int) -> None:
    X = pd.concat([X, X], ignore_index=True).clip(-(2**40), 2**40)
    estimator = SplineTransformer(
        6, degree, knots=knots, extrapolation=beyond, handle_missing="zeros"
    )
    with quiet():
        assert_parity(estimator, X, new=X * 1.5)
