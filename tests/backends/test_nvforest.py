"""nvForest behind a stand-in of ours; the library itself is asked in the contract tests."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from xgboost import XGBClassifier, XGBRegressor

from pipeline import Accelerated, save
from pipeline.backends import nvforest as forests
from pipeline.backends.nvforest import Forest
from pipeline.errors import ConfigError, ParityError, Unsupported
from pipeline.serving import predict
from pipeline.serving.job import FORESTS, serve_forests
from tests import programs

X = np.random.default_rng(0).normal(size=(300, 4)).astype("float32")
TWO, THREE = (X[:, 0] > 0).astype(int), np.array(["a", "b", "c"])[np.digitize(X[:, 1], [-1, 1])]
CASES: dict[str, tuple[Any, Any]] = {
    "boosting": (XGBClassifier(n_estimators=3), TWO),
    "boosted classes": (XGBClassifier(n_estimators=3), np.digitize(X[:, 1], [-1, 1])),
    "boosted numbers": (XGBRegressor(n_estimators=3), X[:, 0]),
    "forest": (RandomForestClassifier(3), THREE),
    "histograms": (HistGradientBoostingClassifier(max_iter=3), TWO),
    "gradients": (GradientBoostingRegressor(n_estimators=3), X[:, 0]),
}


class Answering:
    """What nvForest returns: one column of a boosted pair of classes, and of numbers."""

    def __init__(self, estimator: Any, shift: float, boosts: bool) -> None:
        self.estimator, self.shift, self.boosts = estimator, shift, boosts

    def predict_proba(self, X: Any) -> Any:
        assert isinstance(X, np.ndarray)
        made = self.estimator.predict_proba(X) + self.shift
        return made[:, 1:] if self.boosts and made.shape[1] == 2 else made

    def predict(self, X: Any) -> Any:
        assert isinstance(X, np.ndarray)
        return self.estimator.predict(X).reshape(-1, 1) + self.shift


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Put the stand-ins in place; return what they were asked, and by how much they err."""
    asked: dict[str, Any] = {"devices": [], "shift": 0.0}

    def from_sklearn(model: Any, *, device: str) -> Answering:
        asked["devices"].append(device)
        boosts = "Boosting" in type(model).__name__ or type(model).__name__.startswith("XGB")
        return Answering(model, asked["shift"], boosts)

    def from_xgboost(booster: Any) -> Any:
        return next(e for e, _ in CASES.values() if getattr(e, "_Booster", None) is booster)

    nvforest, treelite = ModuleType("nvforest"), ModuleType("treelite")
    frontend = ModuleType("treelite.frontend")
    vars(nvforest).update(load_from_sklearn=from_sklearn, load_from_treelite_model=from_sklearn)
    vars(frontend).update(from_xgboost=from_xgboost)
    vars(treelite).update(frontend=frontend)
    for module in (nvforest, treelite, frontend):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(forests, "available", lambda name: name == "nvforest")
    return asked


@pytest.mark.parametrize("name", CASES)
def test_answers_are_in_the_form_of_the_estimator(name: str, library: dict[str, Any]) -> None:
    estimator, y = CASES[name]
    estimator.fit(X, y)
    served = Forest(estimator, "step", "cpu")
    assert library["devices"] == ["cpu"]
    for method in forests.METHODS:
        if hasattr(estimator, method):
            wanted, found = getattr(estimator, method)(X), served.call(method, X)
            assert found.shape == wanted.shape
            if wanted.dtype.kind == "f":
                np.testing.assert_allclose(found, wanted, rtol=1e-6)
            else:
                assert found.tolist() == wanted.tolist()
    assert served.to_sklearn() is estimator


@pytest.mark.parametrize("name", ["boosting", "boosted numbers", "forest"])
def test_absent_cells_are_missing_to_xgboost_and_zeros_to_others(
    name: str, library: dict[str, Any]
) -> None:
    (estimator, y), rows = CASES[name], csr_matrix(np.where(abs(X) < 0.7, 0, X))
    estimator.fit(rows, y)
    wanted = estimator.predict(rows)
    np.testing.assert_array_equal(Forest(estimator, "step", "cpu").call("predict", rows), wanted)


@pytest.mark.parametrize("name", CASES)
def test_rows_have_the_type_in_which_the_estimator_reads_them(
    name: str, library: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []
    estimator, y = CASES[name]
    served = Forest(estimator.fit(X, y), "step", "cpu")
    for method in forests.METHODS:
        found = getattr(served.forest, method)
        monkeypatch.setattr(
            served.forest, method, lambda X, found=found: read.append(X.dtype.name) or found(X)
        )
    for rows in (X, X.astype("float64")):
        served.call("predict", rows)
    assert read == ["float64" if name == "histograms" else "float32"] * 2


def test_other_answers_are_an_error_and_no_prediction(library: dict[str, Any]) -> None:
    library["shift"] = 0.25
    estimator = clone(CASES["forest"][0]).fit(X, THREE)
    with pytest.raises(ParityError, match=r"^step: nvForest answers otherwise .* in 256 of 256"):
        Forest(estimator, "step", "cpu").call("predict_proba", X)


@pytest.mark.usefixtures("library")
def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(Unsupported, match=r"takes tree ensembles, and this is LogisticRegression"):
        Forest(LogisticRegression(), "step", "cpu")
    served = Forest(clone(CASES["forest"][0]).fit(X, THREE), "step", "cpu")
    with pytest.raises(Unsupported, match=r"no decision_function\(\); use forests='own'"):
        served.call("decision_function", X)


def test_without_the_library_the_error_says_how_to_get_it() -> None:
    if forests.available("nvforest"):
        pytest.skip("nvForest is installed")
    with pytest.raises(Unsupported, match=r"RAPIDS brings it; `make setup GPU=cu13`"):
        Forest(RandomForestClassifier(), "step", "cpu")


def test_a_file_is_predicted_by_it_where_it_is_asked_for(
    library: dict[str, Any], tmp_path: Path
) -> None:
    estimator = programs.program(RandomForestClassifier(5, random_state=0))
    model = programs.on_cpu(estimator).fit(programs.TABLE, programs.NUMBERS)
    folder = save(model, tmp_path / "model")
    programs.TABLE.to_parquet(tmp_path / "in.parquet")
    for how in FORESTS:
        job = predict.PredictionJob(
            folder, tmp_path / "in.parquet", tmp_path / how, "cpu", forests=how
        )
        predict.run_job(job, lambda _: None)
    own, theirs = (pd.read_parquet(tmp_path / how) for how in FORESTS)
    pd.testing.assert_frame_equal(own, theirs)
    assert library["devices"] == ["cpu"], "only where it was asked for"
    with pytest.raises(ConfigError, match="forests='fil' is not one of own, nvforest"):
        predict.PredictionJob(
            folder, tmp_path / "in.parquet", tmp_path / "o", forests="fil"
        ).check()


@pytest.mark.usefixtures("library")
def test_a_model_goes_on_being_itself() -> None:
    model = Accelerated(clone(CASES["forest"][0]), device="cpu").fit(X, TWO)
    wanted = model.predict_proba(X)
    serve_forests(model.plan_, "cpu")
    np.testing.assert_array_equal(model.predict_proba(X), wanted)
    assert model.plan_.placements[-1].implementation == "nvforest"
    assert type(model.to_sklearn()) is RandomForestClassifier
