"""Each twin, and each after another, on numbers that any rounding between steps would spoil."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import preprocessing
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest, SelectPercentile, VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer

from pipeline import Accelerated
from tests.twins.parity import quiet

ROWS = 60
Y = np.arange(ROWS) % 2
_rng = np.random.default_rng(0)


def cycle(values: list[float]) -> np.ndarray:
    return np.resize(values, (ROWS, 2))


TABLES: dict[str, np.ndarray] = {
    "seconds": 1.7e9 + np.sort(_rng.choice(3600, (ROWS, 2)), axis=0),
    "ids": 20_000_001 + np.arange(ROWS)[:, None] % [7, 5],
    "huge ids": 2**60 + np.arange(ROWS)[:, None] % [3, 2],
    "tenths": cycle([0.1, 0.2, 0.3, 0.1]),
    "large": cycle([1e300, -2e300, 3.5e299, 1.0, 5e299]),
    "subnormal": cycle([5e-324, 1e-310, 3e-308, 0.0, 2e-320]),
    "float32": _rng.normal(3, 7, (ROWS, 2)).astype("float32"),
    "int64": _rng.integers(-5, 9, (ROWS, 2)),
    "int8": _rng.integers(-9, 9, (ROWS, 2)).astype("int8"),
    "uint8": _rng.integers(0, 255, (ROWS, 2)).astype("uint8"),
    "bool": _rng.random((ROWS, 2)) < 0.5,
}
TWINS: dict[str, Any] = {
    "binarizer": preprocessing.Binarizer(),
    "as it is": preprocessing.FunctionTransformer(),
    "bins": preprocessing.KBinsDiscretizer(3, encode="ordinal"),
    "largest": preprocessing.MaxAbsScaler(),
    "range": preprocessing.MinMaxScaler(),
    "missing": MissingIndicator(features="all"),
    "norm": preprocessing.Normalizer(),
    "one-hot": preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    "ordinal": preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "products": preprocessing.PolynomialFeatures(),
    "powers": preprocessing.PowerTransformer(),
    "quantiles": preprocessing.QuantileTransformer(n_quantiles=9),
    "quartiles": preprocessing.RobustScaler(),
    "best": SelectKBest(k=1),
    "best half": SelectPercentile(percentile=50),
    "imputer": SimpleImputer(),
    "standard": preprocessing.StandardScaler(),
    "target": preprocessing.TargetEncoder(shuffle=False),
    "varied": VarianceThreshold(),
}
LOST = {
    "huge ids": ("PowerTransformer",),
    "large": ("PowerTransformer", "StandardScaler", "PolynomialFeatures"),
}
"""Table -> what loses sums or squares of its numbers, as the order of adding them has it."""
DIGITS = {"float32": 1e-5, "float64": 1e-12}


def answers(model: Any, X: np.ndarray, order: slice = slice(None)) -> Any:
    """Return what becomes of rows that are learnt from in some order; None if they are refused."""
    with quiet(), np.errstate(all="ignore"):
        try:
            return np.asarray(model.fit(X[order], Y[order]).transform(X))
        except (TypeError, ValueError):
            return None


def distance(a: np.ndarray, b: Any) -> Any:
    """Return how far two answers of scikit-learn's lie apart; infinitely if one is none."""
    if b is None or a.shape != b.shape:
        return np.inf
    with np.errstate(all="ignore"):
        apart = np.abs(a.astype("float64") - b.astype("float64"))
    return np.where(np.isnan(a.astype("float64")) & np.isnan(b.astype("float64")), 0.0, apart)


def check(spec: Any, table: str) -> None:
    """Compare with scikit-learn; where its digits depend on the order of sums, to those."""
    X, lost = TABLES[table], any(name in str(spec) for name in LOST.get(table, ()))
    expected = None if lost else answers(clone(spec), X)
    if expected is None:  # or scikit-learn refuses it; ours take more, as booleans for bins
        return
    found = answers(Accelerated(spec, device="cpu"), X)
    assert found is not None
    assert found.dtype == expected.dtype
    others = answers(clone(spec), X, slice(None, None, -1)), answers(clone(spec), X.copy("F"))
    noise = max(np.max(distance(expected, other), initial=0.0) for other in others)
    if np.isinf(noise):  # which columns are kept depends on the order, too
        return
    assert found.shape == expected.shape
    size = np.nanmax(np.abs(expected), initial=0.0)
    digits = DIGITS.get(str(found.dtype), 0.0)
    off = distance(expected, found)
    assert np.isnan(noise) or (off <= 1e-30 + digits * size + 16 * noise).all(), (expected, found)


@pytest.mark.quick(69)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", TWINS)
def test_each_twin(name: str, table: str) -> None:
    check(TWINS[name], table)
