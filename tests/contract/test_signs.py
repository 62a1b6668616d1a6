"""NaN of either sign are missing: x86 makes 0/0 a NaN with its sign set, which CUB sorts first."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from pipeline import Accelerated
from tests.contract.cases import folds
from tests.contract.recorder import Recorder
from tests.contract.test_accelerated import dense
from tests.contract.verify import faults

ROWS = 600
SPECS = [
    MinMaxScaler(),
    MissingIndicator(),
    OneHotEncoder(),
    OrdinalEncoder(),
    PowerTransformer(),
    QuantileTransformer(n_quantiles=50),
    RobustScaler(),
    SimpleImputer(strategy="median"),
    SimpleImputer(strategy="most_frequent"),
    SplineTransformer(3, knots="quantile", handle_missing="zeros"),
    StandardScaler(),
    TargetEncoder(cv=folds()),
    make_pipeline(FunctionTransformer(np.negative), OrdinalEncoder()),
    make_pipeline(FunctionTransformer(np.sqrt), RobustScaler()),
    make_pipeline(SimpleImputer(strategy="median"), KBinsDiscretizer(3)),
]


def ratios(dtype: str = "float64") -> np.ndarray:
    """Return ratios of small numbers: NaN from 0/0, of either sign whatever the processor makes."""
    rng = np.random.default_rng(0)
    above, below = rng.integers(-3, 6, (2, ROWS, 3)).astype(dtype)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = above / below
    values[np.isinf(values)] = 7.0
    missing = np.isnan(values)
    values[missing] = np.copysign(np.nan, rng.choice([-1.0, 1.0], missing.sum()))
    return values


def frame(matrix: np.ndarray) -> Any:
    """Return a matrix as columns of cuDF, whose NaN are no nulls."""
    return sys.modules["cudf"].DataFrame(sys.modules["cupy"].asarray(matrix), columns=list("abc"))


def test_the_cases_have_nan_of_both_signs() -> None:
    signs = np.signbit(ratios()[np.isnan(ratios())])
    assert 0.2 < signs.mean() < 0.8


def test_the_stand_in_sorts_a_nan_with_its_sign_set_first(device: Recorder) -> None:
    cupy = sys.modules["cupy"]
    array = cupy.asarray(np.array([1.0, -np.nan, 0.0, np.nan, -2.0]))
    expected = [np.nan, -2.0, 0.0, 1.0, np.nan]
    np.testing.assert_array_equal(cupy.sort(array).get(), expected)
    np.testing.assert_array_equal(array[array.argsort()].get(), expected)
    # What comes after a NaN falls together with it: the least number is lost.
    np.testing.assert_array_equal(cupy.unique(array).get(), [np.nan, 0.0, 1.0, np.nan])
    array.sort()
    np.testing.assert_array_equal(array.get(), expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("made", [np.asarray, frame], ids=["matrix", "columns"])
@pytest.mark.parametrize("estimator", SPECS, ids=str)
def test_nan_of_either_sign_is_missing(estimator: Any, made: Any, device: Recorder) -> None:
    X = ratios()
    y = (np.nan_to_num(X[:, 0]) + X[:, 1] > 1).astype("int64")
    reference = clone(estimator).fit(X, y)
    model = Accelerated(clone(estimator), device="cuda", dtype="float64").fit(made(X), y)
    found, expected = np.asarray(model.transform(made(X))), dense(reference.transform(X))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9)
    assert faults(device.calls) == []


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_single_precision_has_signs_as_well(dtype: str, device: Recorder) -> None:
    X = ratios(dtype)
    model = Accelerated(RobustScaler(), device="cuda", dtype="float64").fit(X)
    fitted, reference = model.to_sklearn(), RobustScaler().fit(X)
    np.testing.assert_allclose(fitted.center_, reference.center_, rtol=1e-6)
    np.testing.assert_allclose(fitted.scale_, reference.scale_, rtol=1e-6)
