"""What is special to splines; what all transformers share is in `test_parity`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BSpline
from sklearn.preprocessing import SplineTransformer

from pipeline.errors import DataError
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.transformers.splines import Basis, splines
from tests.preprocessing.cases import BEYOND, KNOTS, MORE, holes, numbers
from tests.preprocessing.parity import assert_both_refuse, assert_parity, quiet
from tests.strategies import tables


def test_sparse_output() -> None:
    # The sparse way of scikit-learn refuses knots that coincide.
    X = numbers()[["a", "b", "int"]]
    assert_parity(SplineTransformer(sparse_output=True), X, new=X * 2)


@pytest.mark.parametrize("knots", KNOTS)
def test_values_on_the_knots(knots: str) -> None:
    estimator = SplineTransformer(5, knots=knots)
    fitted = assert_parity(estimator, numbers()).to_sklearn().bsplines_
    new = pd.DataFrame({n: s.t for n, s in zip(numbers(), fitted, strict=True)})
    assert_parity(estimator, numbers(), new=new)


@pytest.mark.parametrize("beyond", BEYOND)
@pytest.mark.parametrize("knots", KNOTS)
def test_missing_values_become_zeros_if_told(knots: str, beyond: str) -> None:
    X = holes().assign(b=np.nan)
    estimator = SplineTransformer(7, knots=knots, extrapolation=beyond, handle_missing="zeros")
    program = assert_parity(estimator, X, new=X * 2)
    assert not program.transform(X * 2)[::3, :6].any()
    # Values in a column that had none.
    with quiet():
        assert_parity(estimator, X, new=(X * 2).fillna(0.5))


def test_missing_values_are_refused_like_in_sklearn() -> None:
    X = numbers()
    X.loc[3, "b"] = np.nan
    message = assert_both_refuse(SplineTransformer(), X)
    assert "SplineTransformer: the columns ['b'] hold missing values" in message
    assert message.startswith("Input X contains NaN values and `SplineTransformer` is")
    assert "handle_missing='zeros'" in message
    with pytest.raises(DataError, match=r"columns \['b'\] hold missing values"):
        Program(SplineTransformer()).fit(numbers()).transform(X)


@pytest.mark.parametrize("beyond", BEYOND)
def test_given_knots(beyond: str) -> None:
    X = numbers()
    knots = np.array([-9.0, 0.0, 1.0, 4.0, 10.0])[:, None] + np.arange(X.shape[1])
    assert_parity(SplineTransformer(knots=knots, extrapolation=beyond), X, new=X * 2)
    one = SplineTransformer(knots=[[0.0], [1.0], [2.0]], degree=2, extrapolation=beyond)
    assert_parity(one, X[["int"]])


def test_inside_the_knots_splines_sum_to_one() -> None:
    out = Program(SplineTransformer(knots="quantile"), "float64").fit_transform(numbers()[["a"]])
    np.testing.assert_allclose(out.sum(axis=1), 1.0, rtol=1e-14)


@pytest.mark.parametrize("knots", KNOTS)
def test_values_beyond_the_knots_can_be_an_error(knots: str) -> None:
    estimator = SplineTransformer(knots=knots, extrapolation="error", handle_missing="zeros")
    X = numbers()
    X.loc[0, "b"] = np.nan
    program = assert_parity(estimator, X)
    new = X.assign(int=99)
    with pytest.raises(ValueError, match="beyond the limits of the knots"):
        program.to_sklearn().transform(new)
    with pytest.raises(DataError, match=r"columns \['int'\] hold values beyond the limits"):
        program.transform(new)


@pytest.mark.parametrize(
    "estimator", [e for e in MORE if isinstance(e, SplineTransformer) and e.n_knots == 6], ids=repr
)
def test_quantiles_that_coincide(estimator: Any) -> None:
    X = np.array([0.0] * 12 + [1.0, 2.0, 3.0, 3.0] + [4.0] * 5)[:, None]
    new = np.linspace(-1, 5, 61)[:, None]
    assert_parity(estimator, X, new=np.concatenate([new, X]))


@pytest.mark.parametrize("knots", [*KNOTS, np.array([[0.0], [1.0], [2.0]])], ids=str)
def test_one_row_is_refused_like_in_sklearn(knots: Any) -> None:
    message = assert_both_refuse(SplineTransformer(3, 2, knots=knots), numbers()[:1][["a"]])
    assert message.startswith("SplineTransformer on the columns ['a']: ")
    assert "a minimum of 2 is required" in message


def test_sklearn_still_extrapolates_low_degrees_wrongly() -> None:
    """The refusals of `engine.test_twin` are there for this, and can go with it."""
    x = np.arange(10.0)[:, None]
    with pytest.raises(ValueError, match="shape mismatch"):
        SplineTransformer(degree=0).fit(x).transform([[11.0]])
    twice = SplineTransformer(degree=1, extrapolation="linear").fit_transform(np.hstack([x, x]))
    left, right = np.split(twice, 2, axis=1)
    assert not np.allclose(left, right)


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
    params = {"knots": knots, "extrapolation": beyond, "handle_missing": "zeros"}
    with quiet():
        assert_parity(SplineTransformer(6, degree, **params), X, new=X * 1.5)
