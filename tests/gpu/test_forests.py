"""Predictions of tree ensembles by nvForest on a GPU, against the estimators'."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor, RandomForestClassifier
from xgboost import XGBClassifier

from pipeline.backends.nvforest import Forest
from pipeline.optional import load

X = np.random.default_rng(0).normal(size=(5_000, 8)).astype("float32")
Y = (X[:, 0] + X[:, 1] > 0).astype(int)


@pytest.mark.parametrize(
    "estimator",
    [RandomForestClassifier(20), ExtraTreesRegressor(20), XGBClassifier(n_estimators=20)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_answers_are_those_of_the_estimator_and_stay_on_the_gpu(estimator: Any) -> None:
    fitted = estimator.fit(X, Y)
    there = load("cupy").asarray(X)
    method = "predict_proba" if hasattr(fitted, "predict_proba") else "predict"
    found = Forest(fitted, "step", "cuda").call(method, there)
    assert type(found).__module__.startswith("cupy")
    np.testing.assert_allclose(found.get(), getattr(fitted, method)(X), rtol=1e-4, atol=1e-5)
