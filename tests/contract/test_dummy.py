"""Dummies beside preprocessing on stand-ins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pipeline import Accelerated, load, save
from tests.contract.recorder import Recorder
from tests.estimators import classes, numbers


@pytest.mark.parametrize(
    ("estimator", "data"),
    [
        (DummyClassifier(), classes),
        (DummyClassifier(strategy="stratified", random_state=0), classes),
        (DummyRegressor(strategy="median"), numbers),
    ],
    ids=["prior", "stratified", "median"],
)
def test_no_row_comes_to_the_host_for_a_dummy(
    estimator: Any, data: Any, device: Recorder, tmp_path: Path
) -> None:
    X, y = data()
    whole = make_pipeline(StandardScaler(), estimator)
    reference = clone(whole).fit(X, y)
    model = Accelerated(whole, device="cuda").fit(X, y)
    assert [place.device for place in model.plan_.placements] == ["cuda", "cuda"]
    loaded = load(save(model, tmp_path / "model"), "cuda")
    for made in (model, model.to_sklearn(), loaded):
        np.testing.assert_array_equal(made.predict(X), reference.predict(X))
    assert model.execution_log_.rows_bytes == 0
    assert model.to_sklearn()[-1].n_features_in_ == X.shape[1]
