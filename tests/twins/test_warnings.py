"""Twins warn where scikit-learn does, by its words and class, once and not once a block."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)

from pipeline import Accelerated
from tests.names import plain
from tests.twins.parity import cut

ROWS = 60
_RNG = np.random.default_rng(3)
X = np.column_stack([_RNG.normal(size=(ROWS, 3)), np.ones(ROWS), np.arange(ROWS) // 40])
HOLES = X.copy()
HOLES[:, 1] = np.nan
Y = np.arange(ROWS) % 3
NOISE = _RNG.normal(size=(ROWS, 4))

LINEAR = {"quantile_method": "linear"}
CASES: list[tuple[Any, Any]] = [
    (KBinsDiscretizer(4), X),
    (KBinsDiscretizer(4, strategy="uniform", encode="ordinal"), X),
    (KBinsDiscretizer(9, **LINEAR), np.round(X)),
    (QuantileTransformer(), X),
    (QuantileTransformer(n_quantiles=9, ignore_implicit_zeros=True), X),
    (QuantileTransformer(n_quantiles=9), HOLES),
    (SelectKBest(k=9), NOISE),
    (make_pipeline(StandardScaler(), SelectKBest(k=0)), NOISE),
    (MinMaxScaler(), HOLES),
    (StandardScaler(), HOLES),
    (FunctionTransformer(np.sqrt, np.log, check_inverse=True), np.abs(NOISE)),
    (FunctionTransformer(np.log), np.ceil(np.abs(NOISE)) - 1),
    (PowerTransformer(), X),
    *((SimpleImputer(strategy=s), HOLES) for s in ("mean", "median", "most_frequent", "constant")),
    (SimpleImputer(keep_empty_features=True), HOLES),
]  # fmt: skip


def said(act: Callable[[], Any]) -> list[tuple[type[Warning], str]]:
    """Return the warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    found = [(each.category, str(each.message)) for each in caught]
    # NumPy's come from each function that meets them.
    own = [each for each in found if each[0] is not RuntimeWarning]
    return own + sorted({each for each in found if each[0] is RuntimeWarning}, key=str)


@pytest.mark.parametrize(("estimator", "table"), CASES, ids=plain)
@pytest.mark.parametrize("n_blocks", [1, 7])
def test_warnings_are_those_of_sklearn(
    estimator: Any, table: Any, n_blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut(monkeypatch, ROWS, n_blocks)
    theirs, ours = clone(estimator), Accelerated(estimator, device="cpu")
    assert said(lambda: ours.fit(table, Y)) == said(lambda: theirs.fit(table, Y))
    assert said(lambda: ours.transform(table)) == said(lambda: theirs.transform(table))
