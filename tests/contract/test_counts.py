"""Counts per category on the device: no histogram that grows with them, and no waiting."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

from pipeline import Accelerated
from pipeline.preprocessing.statistics.categories import SPREAD, count_codes, tally
from tests.contract.recorder import Recorder
from tests.contract.test_accelerated import dense
from tests.contract.verify import faults

ROWS = 3 * SPREAD
SPECS = [
    OneHotEncoder(max_categories=5),
    OrdinalEncoder(),
    SimpleImputer(strategy="most_frequent"),
    TargetEncoder(cv=KFold(3)),
    TargetEncoder(cv=KFold(3), target_type="continuous"),
    SelectKBest(f_classif, k=1),
]


@pytest.mark.parametrize("size", [1, 3, SPREAD - 1, SPREAD, SPREAD + 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_tallies_are_those_of_the_host(size: int, weighted: bool, device: Recorder) -> None:
    rng = np.random.default_rng(size)
    places, weights = rng.integers(0, size, 1000), rng.normal(size=1000) if weighted else None
    cupy = sys.modules["cupy"]
    there = None if weights is None else cupy.asarray(weights)
    device.clear()
    found = tally(cupy.asarray(places), size, cupy, there)
    assert device.syncs() == 0
    np.testing.assert_allclose(found.get(), tally(places, size, np, weights), atol=1e-12)
    assert faults(device.calls) == []


def test_nothing_is_counted_as_nothing(device: Recorder) -> None:
    cupy = sys.modules["cupy"]
    assert count_codes(cupy.empty(0, dtype="int32"), 2, cupy).get().tolist() == [0, 0, 0]


@pytest.mark.parametrize("estimator", SPECS, ids=str)
def test_no_histogram_is_asked_of_cub(estimator: Any, device: Recorder) -> None:
    X = np.stack([np.arange(ROWS), np.arange(ROWS) % 3], axis=1).astype("float64")
    y = np.random.default_rng(0).integers(0, 2, ROWS)
    model = Accelerated(clone(estimator), device="cuda", dtype="float64").fit(X, y)
    assert [call for call in device.calls if call.name == "bincount"] == []
    expected = dense(clone(estimator).fit(X, y).transform(X[:50]))
    np.testing.assert_allclose(dense(model.transform(X[:50])), expected, rtol=1e-9)
