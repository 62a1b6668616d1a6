from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from sklearn.preprocessing import PolynomialFeatures

from pipeline.errors import DataError
from pipeline.preprocessing.engine.blocks import Numbers
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.transformers.polynomial import PolynomialFeaturesTwin, products, terms
from tests.preprocessing.parity import (
    assert_both_refuse,
    assert_parity,
    close,
    sklearn_fit,
)
from tests.strategies import tables

DEGREES: list[Any] = [0, 1, 2, 3, 5, (0, 2), (1, 1), (2, 2), (2, 4), (3, 3), (0, 0), (4, 4), [1, 2]]
SPECS = [
    PolynomialFeatures(degree, interaction_only=alone, include_bias=bias)
    for degree, alone, bias in product(DEGREES, [False, True], [False, True])
    if bias or degree not in (0, (0, 0))
]
ROWS = 150


@pytest.fixture
def numbers() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(0, 2, (ROWS, 2)), columns=["a", "b"])
    X["int"] = rng.integers(-4, 9, ROWS)
    return X


def assert_same(estimator: PolynomialFeatures, X: Any, new: Any = None) -> Program:
    """Compare with scikit-learn; where that has no column left, it has no names either."""
    reference, expected = sklearn_fit(estimator, X)
    if reference.n_output_features_:
        program = assert_parity(estimator, X, new=new)
    else:
        program = Program(estimator, "float64")
        close(program.fit_transform(X), expected)
    np.testing.assert_array_equal(program.transform(X), expected)
    assert program.width == reference.n_output_features_
    return program


@pytest.mark.parametrize("estimator", SPECS, ids=repr)
def test_equals_sklearn_to_the_last_bit(
    estimator: PolynomialFeatures, numbers: pd.DataFrame
) -> None:
    assert_same(estimator, numbers, new=numbers[:9] * -3)


@pytest.mark.parametrize("estimator", SPECS, ids=repr)
@pytest.mark.parametrize("width", [1, 2])
def test_few_columns(estimator: PolynomialFeatures, width: int, numbers: pd.DataFrame) -> None:
    """There are no products of more distinct columns than there are columns."""
    assert_same(estimator, numbers.iloc[:, :width])


def test_many_columns() -> None:
    X = np.random.default_rng(0).normal(size=(20, 12))
    for estimator in (PolynomialFeatures(3), PolynomialFeatures((3, 4), interaction_only=True)):
        assert_same(estimator, X)


def test_float32_output(numbers: pd.DataFrame) -> None:
    assert_parity(PolynomialFeatures(3), numbers, dtype="float32")


def test_order_does_not_matter(numbers: pd.DataFrame) -> None:
    assert_parity(PolynomialFeatures(2, order="F"), numbers)


@pytest.mark.parametrize("degree", [np.int64(2), (np.int32(1), np.int64(3))], ids=str)
def test_degrees_of_numpy(degree: Any, numbers: pd.DataFrame) -> None:
    assert_parity(PolynomialFeatures(degree), numbers)


@pytest.mark.parametrize("offset", [1e9, -1e15, 1e150])
def test_large_offset(numbers: pd.DataFrame, offset: float) -> None:
    assert_parity(PolynomialFeatures(2), numbers + offset)


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
def test_arrays_are_multiplied_as_floats(numbers: pd.DataFrame, dtype: str) -> None:
    assert_parity(PolynomialFeatures(4), (numbers.abs() * 9).to_numpy().astype(dtype))


def test_block_is_not_changed(numbers: pd.DataFrame) -> None:
    twin = PolynomialFeaturesTwin(PolynomialFeatures(2))
    twin.finalize(3)
    values = numbers.to_numpy()
    before = values.copy()
    twin.apply(Numbers(values))
    np.testing.assert_array_equal(values, before)


def test_missing_values_are_refused_like_in_sklearn(numbers: pd.DataFrame) -> None:
    numbers.loc[140, "b"] = np.nan
    assert assert_both_refuse(PolynomialFeatures(), numbers) == (
        "PolynomialFeatures: column 'b' holds missing values (NaN), which it does not take; "
        "impute them before this step (SimpleImputer)"
    )
    with pytest.raises(DataError, match="column 'b' holds missing values"):
        Program(PolynomialFeatures()).fit(numbers[:50]).transform(numbers)


@pytest.mark.parametrize(
    "params",
    [
        {"degree": -1},
        {"degree": 2.5},
        {"degree": (3, 2)},
        {"degree": (1, 2, 3)},
        {"degree": (-1, 2)},
        {"degree": 0, "include_bias": False},
        {"degree": (0, 0), "include_bias": False},
        {"order": "K"},
        {"interaction_only": 2},
    ],
    ids=str,
)
def test_bad_parameters_are_refused(params: dict[str, Any], numbers: pd.DataFrame) -> None:
    message = assert_both_refuse(PolynomialFeatures(**params), numbers)
    assert message.startswith("PolynomialFeatures on the columns ['a', 'b', 'int']: ")


def test_every_product_uses_what_is_there_already() -> None:
    """Each source comes before its target, and what it is times the factor is the target."""
    order, hidden = terms(PolynomialFeatures((3, 4), include_bias=False), 4)
    assert order[:hidden] == [t for t in order if len(t) < 3]
    made = 0
    for factor, source, target in products(order):
        assert source.stop <= target.start
        for before, after in zip(order[source], order[target], strict=True):
            assert (*order[factor], *before) == after
        made += target.stop - target.start
    assert made == sum(len(term) > 1 for term in order)


@given(X=tables("numbers"))
def test_any_table_of_numbers(X: pd.DataFrame) -> None:
    for estimator in SPECS[::4]:
        assert_same(estimator, X.fillna(1.5))
