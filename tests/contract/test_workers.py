"""Transformers of cuML inside preprocessing, on stand-ins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pipeline import Accelerated, Unsupported, explain, load, save
from tests.contract.recorder import Recorder
from tests.estimators import blobs

pytestmark = pytest.mark.usefixtures("device")
ROWS, _ = blobs(3.0)
TABLE = pd.DataFrame(ROWS.astype("float64"), columns=list("abcdef"))
TABLE["c0"] = pd.Series(list("xyz") * 200)[: len(TABLE)]
NUMBERS = list("abcdef")
TARGET = (ROWS[:, 0] > 0).astype(int)
SVD = TruncatedSVD(3, random_state=0)
PROGRAMS = {
    "columns": (
        make_column_transformer((PCA(3), NUMBERS), (OneHotEncoder(), ["c0"])),
        TABLE,
    ),
    "behind a scaler": (
        make_column_transformer(
            (make_pipeline(StandardScaler(), PCA(3)), NUMBERS), (OneHotEncoder(), ["c0"])
        ),
        TABLE,
    ),
    "union": (make_union(PCA(3), SVD, StandardScaler()), ROWS),
    "nested": (make_pipeline(make_pipeline(StandardScaler(), PCA(3)), StandardScaler()), ROWS),
    "distances": (make_union(KMeans(4, random_state=0), StandardScaler()), ROWS),
}


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_they_run_on_the_device_and_are_lifted(name: str, device: Recorder, tmp_path: Path) -> None:
    preprocessing, X = PROGRAMS[name]
    whole = make_pipeline(clone(preprocessing), StandardScaler(), LogisticRegression())
    places = {place.step: place for place in explain(whole, "cuda").placements}
    assert {place.device for place in places.values()} == {"cuda"}
    assert any(place.implementation.startswith("cuml.") for place in [*places.values()][:-1])
    model = Accelerated(clone(whole), device="cuda", dtype="float64").fit(X, TARGET)
    assert {p.step: p.implementation for p in model.plan_.placements} == {
        step: place.implementation for step, place in places.items()
    }
    assert model.execution_log_.to_host_bytes == device.nbytes("host", "explicit")
    assert model.execution_log_.rows_bytes == 0, "no rows come back"
    reference = clone(whole).fit(X, TARGET)
    loaded: Any = load(save(model, tmp_path / "model"), "cuda")
    for made in (model, model.to_sklearn(), loaded, load(tmp_path / "model", "cpu")):
        np.testing.assert_allclose(
            made.predict_proba(X), reference.predict_proba(X), rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_comes_to_the_host_does_not_grow_with_the_rows(name: str, device: Recorder) -> None:
    preprocessing, X = PROGRAMS[name]
    whole, trips = make_pipeline(preprocessing, StandardScaler(), LogisticRegression()), []
    for rows in (np.arange(len(X)), np.tile(np.arange(len(X)), 4)):
        device.clear()
        model = Accelerated(clone(whole), device="cuda").fit(
            X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows], TARGET[rows]
        )
        booked = model.execution_log_.to_host_bytes
        trips.append((booked, device.syncs(), device.nbytes("host") - booked))
    (few, *rest), (many, *as_often) = trips
    assert rest == as_often
    assert many - few < 8, "not one number more"


def test_a_parameter_that_cuml_refuses_is_told_with_its_path() -> None:
    whole = make_pipeline(make_union(PCA(0.5), StandardScaler()), LogisticRegression())
    with pytest.raises(Unsupported, match=r"featureunion\.pca\(n_components\): cuML has no equiv"):
        Accelerated(whole, device="cuda").fit(ROWS, TARGET)
    model = Accelerated(whole, device="cuda", fallback=True).fit(ROWS, TARGET)
    placed = {place.step: place for place in model.plan_.placements}["featureunion.pca"]
    assert placed.device == "cpu"
    assert "cuML has no equivalent" in placed.note
