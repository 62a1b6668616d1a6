"""Weights of rows, in every transformer that scikit-learn weighs."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler

from pipeline import Accelerated
from pipeline.errors import Unsupported
from pipeline.twins import TWINS
from tests.names import plain
from tests.twins.cases import ROWS, numbers
from tests.twins.parity import assert_handed_over, cut, dense, quiet

X = numbers().drop(columns=["mostly zero", "rounded"])
LABELS = np.arange(ROWS) % 2
WEIGHTS = np.random.default_rng(0).exponential(size=ROWS) * (np.arange(ROWS) % 5 > 0)
WEIGHTS[:9] = 0

TAKERS: list[Any] = [
    StandardScaler(),
    StandardScaler(with_std=False),
    StandardScaler(with_mean=False),
    KBinsDiscretizer(4),
    KBinsDiscretizer(4, quantile_method="inverted_cdf", encode="ordinal"),
    KBinsDiscretizer(3, strategy="uniform"),
    KBinsDiscretizer(3, strategy="kmeans", encode="onehot-dense"),
    KBinsDiscretizer(5, subsample=60, random_state=3, dtype=np.float32),
    KBinsDiscretizer([2, 3, 4, 5, 6], subsample=None),
]


def test_all_that_take_weights_are_in_the_table() -> None:
    takers = {kind for kind in TWINS if "sample_weight" in inspect.signature(kind.fit).parameters}
    assert {type(each) for each in TAKERS} == takers
    assert takers == {kind for kind, twin in TWINS.items() if twin.weighted}


@pytest.mark.quick(32)
@pytest.mark.parametrize("weights", [WEIGHTS, np.full(ROWS, 0.3), pd.Series(LABELS)], ids=str)
@pytest.mark.parametrize("n_blocks", [1, 7])
@pytest.mark.parametrize("estimator", TAKERS, ids=plain)
def test_weights_count_as_in_sklearn(
    estimator: Any, n_blocks: int, weights: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut(monkeypatch, ROWS, n_blocks)
    with quiet():
        expected = clone(estimator).fit(X, sample_weight=weights)
        model = Accelerated(estimator, device="cpu").fit(X, sample_weight=weights)
        assert_handed_over(model.to_sklearn(), expected, X)
        found = dense(model.transform(X))
        np.testing.assert_allclose(found, dense(expected.transform(X)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weights", [0, np.zeros(ROWS)], ids=["number", "array"])
@pytest.mark.parametrize("estimator", TAKERS, ids=plain)
def test_weights_that_are_all_zero_are_refused(estimator: Any, weights: Any) -> None:
    for each in (clone(estimator), Accelerated(estimator, device="cpu")):
        with pytest.raises(ValueError, match="must contain at least one non-zero number"):
            each.fit(X, sample_weight=weights)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", TAKERS[:4], ids=plain)
def test_weighted_partitions(estimator: Any) -> None:
    dd = pytest.importorskip("dask.dataframe")
    model, parts = Accelerated(estimator, device="cpu"), dd.from_pandas(X, npartitions=4)
    if isinstance(estimator, KBinsDiscretizer):
        with pytest.raises(Unsupported, match="scikit-learn computes the bin edges"):
            model.fit(parts, sample_weight=WEIGHTS)
        return
    expected = clone(estimator).fit(X, sample_weight=WEIGHTS)
    model.fit(parts, sample_weight=WEIGHTS)
    assert_handed_over(model.to_sklearn(), expected, X)
