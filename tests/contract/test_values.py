"""Values that CuPy computes otherwise: NaN of either sign, counts, and quantiles."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from pipeline import Accelerated, trace
from pipeline.optional import load
from pipeline.table import frames
from pipeline.twins.statistics.categories import SPREAD
from pipeline.twins.statistics.quantiles import RowBlocks, quantile
from tests.contract.cases import EVERYWHERE, dense, folds
from tests.contract.recorder import Recorder

pytestmark = pytest.mark.usefixtures("device")

ROWS = 600
SPECS = [
    OneHotEncoder(),
    QuantileTransformer(n_quantiles=50),
    RobustScaler(),
    SimpleImputer(strategy="most_frequent"),
    TargetEncoder(cv=folds()),
    make_pipeline(FunctionTransformer(np.sqrt), StandardScaler()),
    make_pipeline(SimpleImputer(strategy="median"), KBinsDiscretizer(3)),
]


def ratios() -> np.ndarray:
    """Return ratios of small numbers: NaN from 0/0, of either sign whatever the processor makes."""
    rng = np.random.default_rng(0)
    above, below = rng.integers(-3, 6, (2, ROWS, 3)).astype("float64")
    with np.errstate(invalid="ignore", divide="ignore"):
        values = above / below
    values[np.isinf(values)] = 7.0
    missing = np.isnan(values)
    values[missing] = np.copysign(np.nan, rng.choice([-1.0, 1.0], missing.sum()))
    return values


def frame(matrix: np.ndarray) -> Any:
    """Return a matrix as columns of cuDF, whose NaN are no nulls."""
    return load("cudf").DataFrame(load("cupy").asarray(matrix), columns=list("abc"))


@EVERYWHERE
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("made", [np.asarray, frame], ids=["matrix", "columns"])
@pytest.mark.parametrize("estimator", SPECS, ids=str)
def test_nan_of_either_sign_is_missing(estimator: Any, made: Any) -> None:
    X = ratios()
    y = (np.nan_to_num(X[:, 0]) + X[:, 1] > 1).astype("int64")
    reference = clone(estimator).fit(X, y)
    model = Accelerated(clone(estimator), device="cuda", dtype="float64").fit(made(X), y)
    found, expected = dense(model.transform(made(X))), dense(reference.transform(X))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9)


MANY = 3 * SPREAD
COUNTING = [
    OneHotEncoder(max_categories=5),
    SimpleImputer(strategy="most_frequent"),
    TargetEncoder(cv=KFold(3)),
    SelectKBest(f_classif, k=1),
]


@pytest.mark.parametrize("estimator", COUNTING, ids=str)
def test_no_histogram_is_asked_of_cub(estimator: Any, device: Recorder) -> None:
    X = np.stack([np.arange(MANY), np.arange(MANY) % 3], axis=1).astype("float64")
    y = np.random.default_rng(0).integers(0, 2, MANY)
    model = Accelerated(clone(estimator), device="cuda", dtype="float64").fit(X, y)
    assert [call for call in device.calls if call.name == "bincount"] == []
    expected = dense(clone(estimator).fit(X, y).transform(X[:50]))
    np.testing.assert_allclose(dense(model.transform(X[:50])), expected, rtol=1e-9)


def test_rows_that_came_from_another_process_are_booked_once(device: Recorder) -> None:
    there = frames.to_device(ratios(), "cuda")
    with trace.execution_log() as book, trace.record("scaler", "fit", "cuda"):
        came = pickle.loads(pickle.dumps(RowBlocks([there])))
        once, again = quantile(came, [0.5]), quantile(came, [0.5])
    np.testing.assert_array_equal(once, again)
    assert book.to_host_bytes == device.nbytes("host", "explicit") + there.nbytes
    assert device.nbytes("host", "pickle") >= there.nbytes
