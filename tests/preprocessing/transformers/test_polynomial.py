"""Products to the last bit; what all transformers share is in `test_parity`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from sklearn.preprocessing import PolynomialFeatures

from pipeline.preprocessing.engine.program import Program
from tests.names import one_in
from tests.preprocessing.cases import POLYNOMIALS, numbers
from tests.preprocessing.parity import assert_parity, close, sklearn_fit
from tests.strategies import tables

COLUMNS = ["a", "b", "int"]


def assert_same(estimator: PolynomialFeatures, X: Any, new: Any = None) -> None:
    """Compare with scikit-learn; where that has no column left, it has no names either."""
    reference, expected = sklearn_fit(estimator, X)
    if reference.n_output_features_:
        program = assert_parity(estimator, X, new=new)
    else:
        program = Program(estimator, "float64")
        close(program.fit_transform(X), expected)
    np.testing.assert_array_equal(program.transform(X), expected)
    assert program.width == reference.n_output_features_


@pytest.mark.parametrize("width", [3, 2, 1])
@pytest.mark.parametrize("estimator", one_in(3, POLYNOMIALS), ids=repr)
def test_equals_sklearn_to_the_last_bit(estimator: PolynomialFeatures, width: int) -> None:
    """There are no products of more distinct columns than there are columns."""
    X = numbers()[COLUMNS[:width]]
    assert_same(estimator, X, new=X[:9] * -3)


@pytest.mark.parametrize(
    "estimator",
    [
        *(PolynomialFeatures(degree) for degree in (3, np.int64(2), (np.int32(1), np.int64(3)))),
        PolynomialFeatures((3, 4), interaction_only=True),
    ],
    ids=repr,
)
def test_many_columns(estimator: PolynomialFeatures) -> None:
    assert_same(estimator, np.random.default_rng(0).normal(size=(20, 12)))


@given(X=tables("numbers"))
def test_any_table_of_numbers(X: pd.DataFrame) -> None:
    for estimator in POLYNOMIALS[::8]:
        assert_same(estimator, X.fillna(1.5))
