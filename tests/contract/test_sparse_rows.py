"""Models of a GPU that are given sparse rows: as they are, on the host, dense, or not at all."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import DBSCAN
from sklearn.compose import make_column_transformer
from sklearn.covariance import LedoitWolf
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeCV,
)
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import (
    KernelDensity,
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC, SVR, LinearSVC
from xgboost import XGBClassifier, XGBRanker, XGBRegressor

from pipeline import Accelerated, Unsupported, load, save
from pipeline.backends.xgboost.estimator import XGBoostModel
from pipeline.data import frames, partitioned
from pipeline.planning.lower import LoweringOptions, lower
from pipeline.system.devices import obstacle
from pipeline.trace import DENSIFY, execution_log, record
from tests.contract.recorder import Recorder

ROWS = 120
RNG = np.random.default_rng(3)
X = sparse.random(ROWS, 9, 0.2, "csr", "float32", RNG)
Y = (RNG.random(ROWS) < 0.4).astype("int64")
FEW = 1000
"""Bytes that are no room for the rows."""

TAKERS = [
    BernoulliNB(),
    ComplementNB(),
    ElasticNet(),
    KNeighborsClassifier(),
    KNeighborsRegressor(),
    Lasso(),
    LinearRegression(),
    LogisticRegression(),
    MultinomialNB(),
    NearestNeighbors(),
    PCA(),
    Ridge(),
    SVC(),
    SVR(),
]
DENSE = [
    DBSCAN(),
    KernelRidge(),
    LinearSVC(),
    RandomForestClassifier(random_state=0),
    TruncatedSVD(n_components=3),
]
ON_CUPY = [Nystroem(), PoissonRegressor(), RidgeCV()]
ASKED = ("predict", "predict_proba", "decision_function", "transform")
REFUSED = [GaussianNB(), KernelDensity(), LedoitWolf(), LinearDiscriminantAnalysis()]


def name_of(estimator: Any) -> str:
    return type(estimator).__name__


@pytest.fixture
def rows(device: Recorder) -> Any:
    return frames.to_device(X, "cuda")


def learn(estimator: Any, rows: Any, **options: Any) -> tuple[Any, list[Any]]:
    plan = lower(clone(estimator), "cuda", LoweringOptions(**options))
    with execution_log() as log:
        plan.fit(rows, Y)
        made = [plan.call(name, rows) for name in ASKED if hasattr(estimator, name)]
    return plan, [log.entries, [frames.to_device(each, "cpu") for each in made]]


@pytest.mark.parametrize("estimator", TAKERS, ids=name_of)
def test_estimators_of_cuml_learn_from_them_as_they_are(estimator: Any, rows: Any) -> None:
    _, (entries, _) = learn(estimator, rows, dtype="float64")
    assert DENSIFY not in {entry.call for entry in entries}
    assert sum(entry.to_host_bytes for entry in entries) < frames.csr_nbytes(X)


NEIGHBORS = [each for each in TAKERS if "Neighbors" in name_of(each)]


@pytest.mark.parametrize("estimator", NEIGHBORS, ids=name_of)
def test_neighbors_among_sparse_rows_are_found_of_dense_ones(
    estimator: Any, rows: Any, tmp_path: Path
) -> None:
    asked = "predict" if hasattr(estimator, "predict") else "kneighbors"
    model = Accelerated(clone(estimator), device="cuda").fit(X, Y)
    save(model, tmp_path / "m.model")
    wanted = getattr(model, asked)(X)
    for each in (model, load(tmp_path / "m.model", device="cuda")):
        np.testing.assert_array_equal(getattr(each, asked)(X.toarray()), wanted)


@pytest.mark.parametrize("estimator", DENSE, ids=name_of)
def test_what_takes_none_is_given_a_matrix_that_the_log_tells_of(estimator: Any, rows: Any) -> None:
    plan, (entries, made) = learn(estimator, rows, dtype="float64")
    _, (_, expected) = learn(estimator, frames.to_device(X.toarray(), "cuda"), dtype="float64")
    for ours, theirs in zip(made, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    told = [entry.why for entry in entries if entry.call == DENSIFY]
    assert len(told) == 1 + len(made)
    size = X.astype(plan.steps[-1].worker.dtype).toarray().nbytes
    assert set(told) == {f"{name_of(estimator)} takes no sparse rows on the GPU: {size:,} bytes"}


@pytest.mark.parametrize("estimator", [*DENSE, *ON_CUPY], ids=name_of)
def test_without_room_for_a_matrix_it_is_refused_with_sizes_or_learnt_on_the_host(
    estimator: Any, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitioned, "room", lambda device: FEW)
    size = X.toarray().nbytes
    sizes = f"{ROWS} rows of 9 columns are {size:,} bytes, .* {FEW:,} are free"
    with pytest.raises(Unsupported, match=sizes):
        learn(estimator, rows, dtype="float32")
    plan, (entries, _) = learn(estimator, rows, fallback=True)
    assert plan.placements[0].device == "cpu"
    assert "takes no sparse rows on the GPU" in plan.placements[0].note
    assert DENSIFY not in {entry.call for entry in entries}


@pytest.mark.parametrize("estimator", REFUSED, ids=name_of)
def test_what_scikit_learn_refuses_is_refused_in_its_words(estimator: Any, rows: Any) -> None:
    with pytest.raises(TypeError) as theirs:
        clone(estimator).fit(X, Y)
    with pytest.raises(TypeError) as ours:
        learn(estimator, rows)
    assert str(ours.value) == str(theirs.value)


BOOSTED: dict[str, tuple[Any, dict[str, Any]]] = {
    "classes": (XGBClassifier(n_estimators=4), {}),
    "weights": (XGBRegressor(n_estimators=4), {"sample_weight": np.linspace(1, 2, ROWS)}),
    "margins": (XGBRegressor(n_estimators=4), {"base_margin": np.linspace(-1, 1, ROWS)}),
    "queries": (XGBRanker(n_estimators=4), {"qid": np.repeat(np.arange(12), 10)}),
    "stopped early": (
        XGBClassifier(n_estimators=30, early_stopping_rounds=2),
        {"eval_set": [(X[:40], Y[:40])], "verbose": False},
    ),
}


@pytest.mark.skipif(not obstacle(), reason="XGBoost would train on the GPU of this machine")
@pytest.mark.filterwarnings("ignore:.*(No visible GPU|not compiled with CUDA|Device is).*")
@pytest.mark.parametrize("name", BOOSTED)
def test_xgboost_takes_them_on_the_host_where_absent_cells_are_missing(
    name: str, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimator, params = BOOSTED[name]
    model, sets = XGBoostModel(estimator, "cuda"), params.get("eval_set", [])
    monkeypatch.setattr(model, "_check_device", lambda booster: None)
    there = {"eval_set": [(frames.to_device(Z, "cuda"), z) for Z, z in sets]} if sets else {}
    with execution_log() as log, record("model", "fit", "cuda"):
        model.fit(rows, Y, **{**params, **there})
    copied = sum(frames.csr_nbytes(each) for each in (X, *(Z for Z, _ in sets)))
    assert log.to_host_bytes == copied
    plain = clone(estimator).fit(X, Y, **params)
    np.testing.assert_array_equal(model.call("predict", rows), plain.predict(X))


@pytest.mark.skipif(not obstacle(), reason="XGBoost would train on the GPU of this machine")
def test_that_they_are_on_the_host_is_no_news(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def told(X: Any) -> Any:
        warnings.warn("[1] WARNING: a.cc: Falling back to prediction using DMatrix", stacklevel=1)
        return np.zeros(X.shape[0])

    model = XGBoostModel(XGBRegressor(), "cuda")
    monkeypatch.setattr(model.native, "predict", told)
    assert len(model.call("predict", rows)) == ROWS
    with pytest.warns(UserWarning, match="Falling back"):
        model.call("predict", frames.to_device(X.toarray(), "cuda"))


@pytest.mark.skipif(not obstacle(), reason="XGBoost would train on the GPU of this machine")
@pytest.mark.filterwarnings("ignore:.*(No visible GPU|not compiled with CUDA|Device is).*")
def test_behind_preprocessing_xgboost_makes_the_model_of_scikit_learns_rows(
    device: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(XGBoostModel, "_check_device", lambda self, booster: None)
    towns, numbers = RNG.integers(0, 40, ROWS), RNG.integers(0, 3, ROWS).astype("float64")
    table = pd.DataFrame({"town": [f"t{i:02}" for i in towns], "number": numbers})
    hot, passed = (OneHotEncoder(), ["town"]), ("passthrough", ["number"])
    prepare = make_column_transformer(hot, passed)
    judged = {"eval_set": [(table[:30], Y[:30])], "verbose": False}
    program = make_pipeline(prepare, XGBClassifier(n_estimators=5))
    model = Accelerated(program, device="cuda").fit(table, Y, **judged)
    rows = clone(prepare).fit_transform(table)
    plain = XGBClassifier(n_estimators=5).fit(rows, Y)
    np.testing.assert_array_equal(model.predict_proba(table), plain.predict_proba(rows))
    lifted = model.to_sklearn().predict_proba(table)
    np.testing.assert_array_equal(lifted, plain.predict_proba(rows))
    zeros = XGBClassifier(n_estimators=5).fit(rows.toarray(), Y).predict_proba(rows.toarray())
    assert not np.array_equal(zeros, lifted)


def test_what_scikit_learn_refuses_behind_preprocessing_is_refused_here(device: Recorder) -> None:
    table = pd.DataFrame({"town": [f"t{i % 40:02}" for i in range(ROWS)]})
    program = make_pipeline(make_column_transformer((OneHotEncoder(), ["town"])), GaussianNB())
    with pytest.raises(TypeError, match="dense data is required"):
        clone(program).fit(table, Y)
    with pytest.raises(TypeError, match="dense data is required"):
        Accelerated(program, device="cuda").fit(table, Y)
