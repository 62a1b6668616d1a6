"""Infinite numbers that a step makes are refused by the next one where scikit-learn does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import preprocessing
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline

from pipeline import Accelerated
from tests.names import plain
from tests.twins.parity import cut

ROWS = 40
X = np.random.default_rng(0).integers(1, 9, (ROWS, 3)).astype("float64")
ZERO = X.copy()
ZERO[ROWS - 2, 1] = 0
Y = np.arange(ROWS) % 2
MAKERS = [
    preprocessing.FunctionTransformer(np.log),
    preprocessing.FunctionTransformer(np.reciprocal),
]
TAKERS = [
    preprocessing.Binarizer(),
    preprocessing.KBinsDiscretizer(2, encode="ordinal"),
    preprocessing.MaxAbsScaler(),
    preprocessing.MinMaxScaler(),
    MissingIndicator(features="all"),
    preprocessing.Normalizer(),
    preprocessing.PowerTransformer(),
    preprocessing.QuantileTransformer(n_quantiles=5),
    preprocessing.RobustScaler(),
    SelectKBest(k=1),
    SimpleImputer(),
    preprocessing.StandardScaler(),
    VarianceThreshold(),
]


@pytest.mark.quick(42)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("n_blocks", [1, 4])
@pytest.mark.parametrize("maker", MAKERS, ids=plain)
@pytest.mark.parametrize("taker", TAKERS, ids=plain)
def test_infinite_numbers_between_steps_are_refused(
    taker: Any, maker: Any, n_blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut(monkeypatch, ROWS, n_blocks)
    spec = make_pipeline(maker, taker)
    for model in (clone(spec), Accelerated(spec, device="cpu")):
        with pytest.raises(ValueError, match="Input X contains infinity"):
            model.fit(ZERO, Y)
        model.fit(X, Y)
        if not isinstance(taker, VarianceThreshold):  # which takes them then
            with pytest.raises(ValueError, match="Input X contains infinity"):
                model.transform(ZERO)
