from __future__ import annotations

import io
import logging
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pipeline import Accelerated, explain
from pipeline.backends import intelex, parity, x86
from pipeline.backends.base import HostModel
from pipeline.backends.cuml.tables import public_name
from pipeline.data import files
from pipeline.serving.load import load
from pipeline.serving.save import save
from tests.estimators import classes
from tools.calibrate import tables
from tools.calibrate.twins import PAIRS, Pair, answer, difference

needs_package = pytest.mark.skipif(
    not intelex.installed(), reason=f"needs {intelex.PACKAGE}, as it was measured"
)
ON = [pair for pair in PAIRS if intelex.holds(public_name(pair.pipeline))]


def named(pair: Pair) -> str:
    return type(pair.pipeline).__name__


def small(pair: Pair, dtype: str = "float32") -> tuple[Any, Any]:
    X, y = pair.table(1000, pair.columns)
    return X.astype(dtype), y


class OwnRidge(Ridge):
    pass


class WithoutPackage(pickle.Unpickler):
    """Loads what was pickled where the package is not installed."""

    def find_class(self, module: str, name: str) -> Any:
        assert module.partition(".")[0] not in ("sklearnex", "onedal", "daal4py")
        return super().find_class(module, name)


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it look as if the package were installed, faithful and fast."""
    monkeypatch.setattr(intelex, "installed", lambda: True)
    monkeypatch.setattr(intelex, "holds", lambda name: True)


def test_without_the_package_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intelex, "available", lambda package: False)
    for pair in PAIRS:
        assert intelex.twin(pair.pipeline) is None
        assert isinstance(intelex.place(pair.pipeline, "model"), HostModel)
        assert intelex.describe(pair.pipeline, "model").implementation == f"sklearn.{named(pair)}"


@pytest.mark.parametrize(("version", "same"), [("2026.2.7", True), ("2026.3.0", False)])
def test_another_release_was_not_measured(monkeypatch, version: str, *, same: bool) -> None:
    monkeypatch.setattr(intelex, "available", lambda package: True)
    monkeypatch.setattr(intelex.metadata, "version", lambda package: version)
    assert parity.load().version == "2026.2.0"
    assert intelex.installed() is same


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        ({}, True),
        ({"difference": 0.5}, False),
        ({"twin": 5.0}, False),
        ({"estimator": "sklearn.linear_model.Lasso"}, False),
    ],
)
def test_only_what_was_measured_to_be_near_and_faster_is_used(
    monkeypatch, change: dict[str, Any], *, holds: bool
) -> None:
    name = "sklearn.linear_model.Ridge"
    good = {"estimator": name, "difference": 1e-6, "stock": 2.0, "twin": 1.0}
    known = parity.load()
    replace = parity.msgspec.structs.replace
    found = replace(known, found=[replace(known.found[0], **good | change)])
    monkeypatch.setattr(parity, "load", lambda: found)
    assert intelex.holds(name) is holds


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    "estimator",
    [
        OwnRidge(),
        Ridge(solver="svd"),
        Ridge(positive=True),
        Ridge(alpha=np.array([1.0, 2.0])),
        LinearRegression(positive=True),
        LogisticRegression(solver="newton-cholesky"),
        LogisticRegression(l1_ratio=0.5, solver="saga"),
        LogisticRegression(class_weight="balanced"),
        PCA(2),
        KMeans(3),
        KMeans(2, init=np.zeros((2, 3)), algorithm="elkan"),
        DBSCAN(metric="manhattan"),
        DBSCAN(algorithm="kd_tree"),
        KNeighborsClassifier(weights="distance"),
        KNeighborsClassifier(algorithm="kd_tree"),
        KNeighborsClassifier(p=1),
        NearestNeighbors(algorithm="brute"),
        SVC(kernel="precomputed"),
        SVC(max_iter=10),
        RandomForestClassifier(),
        StandardScaler(),
    ],
    ids=str,
)
def test_what_is_another_algorithm_there_stays_with_scikit_learn(estimator: Any) -> None:
    assert intelex.twin(estimator) is None


@pytest.mark.usefixtures("package")
def test_explain_names_the_twin_its_tolerance_and_the_switch() -> None:
    (placed,) = explain(LinearRegression(), "cpu").placements
    assert placed.implementation == "sklearnex.linear_model.LinearRegression"
    assert "within 0.0001 of scikit-learn's" in placed.note
    assert parity.load().source in placed.note
    assert "without rank_, singular_" in placed.note
    assert "scikit-learn itself for sparse rows and weights and several targets" in placed.note
    assert "columns that depend on each other" in placed.note
    assert "intelex=False switches it off" in placed.note


def test_the_switch_gives_scikit_learns_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intelex, "installed", lambda: True)
    X, y = classes()
    model = Accelerated(LogisticRegression(), device="cpu", intelex=False).fit(X, y)
    assert isinstance(model.plan_.steps[0].worker, HostModel)
    assert [p.implementation for p in model.plan_.placements] == ["sklearn.LogisticRegression"]


def test_columns_that_depend_on_each_other_are_found() -> None:
    X, _ = tables.numbers(40_000, 6)
    far = X + np.float32(1000)
    flat = np.column_stack([X, np.ones(len(X), "float32")])
    codes = np.eye(5, dtype="float32")[np.arange(len(X)) % 5]
    for table, centred, expected in [
        (X, True, False),
        (far, True, False),
        (np.column_stack([X, X[:, 0] + X[:, 1]]), True, True),
        (np.column_stack([X, X[:, 0] + X[:, 1]]), False, True),
        (flat, True, True),
        (flat, False, False),
        (np.column_stack([X, codes]), True, True),
        (np.column_stack([X, codes[:, 1:]]), True, False),
        (X[:6], True, True),
        (np.where(X > 3, np.nan, X), True, False),
    ]:
        assert intelex.dependent(table, centred=centred) is expected


@needs_package
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("pair", PAIRS, ids=named)
def test_comes_as_near_to_scikit_learn_as_its_row_says(pair: Pair, dtype: str) -> None:
    found = x86.TWINS[public_name(pair.pipeline)]
    X, y = small(pair, dtype)
    wanted = answer(HostModel(pair.pipeline), pair, X, y)
    made = answer(intelex.Intelex(pair.pipeline, found, "model"), pair, X, y)
    assert difference(made, wanted) <= found.tolerance


@needs_package
@pytest.mark.parametrize("pair", PAIRS, ids=named)
def test_is_given_nothing_that_it_leaves_to_scikit_learn(pair: Pair, caplog) -> None:
    found = x86.TWINS[public_name(pair.pipeline)]
    with caplog.at_level(logging.INFO, "sklearnex"):
        answer(intelex.Intelex(pair.pipeline, found, "model"), pair, *small(pair))
    told = [record.message for record in caplog.records if record.name.startswith("sklearnex")]
    assert any("running accelerated version" in line for line in told)
    assert not [line for line in told if "fallback" in line]


@needs_package
@pytest.mark.parametrize("pair", PAIRS, ids=named)
def test_the_lifted_model_is_scikit_learns_with_all_it_learnt(pair: Pair, tmp_path) -> None:
    found = x86.TWINS[public_name(pair.pipeline)]
    X, y = small(pair)
    ours = intelex.Intelex(pair.pipeline, found, "model")
    made = answer(ours, pair, X, y)
    lifted, reference = ours.to_sklearn(), clone(pair.pipeline).fit(X, y)
    assert type(lifted) is type(reference)
    assert repr(lifted) == repr(pair.pipeline)
    wanted = {name: value for name, value in vars(reference).items() if name.endswith("_")}
    assert {name for name in vars(lifted) if name.endswith("_")} == {*wanted} - {*found.lacks}
    for name in {*wanted} - {*found.lacks}:
        mine = np.asarray(getattr(lifted, name))
        assert mine.dtype == np.asarray(wanted[name]).dtype, name
        if name not in ("dual_coef_", "_dual_coef_", "support_", "support_vectors_"):
            assert mine.shape == np.asarray(wanted[name]).shape, name
    if pair.answer != "labels_":
        assert difference(getattr(lifted, pair.answer)(X), made) < 1e-5
    path = tmp_path / "model.skops"
    loaded = files.load(path, files.save(lifted, path))
    assert vars(loaded).keys() == vars(lifted).keys()


@needs_package
@pytest.mark.parametrize("pair", ON, ids=named)
def test_accelerated_takes_it_and_hands_back_scikit_learns(pair: Pair) -> None:
    X, y = small(pair)
    model = Accelerated(clone(pair.pipeline), device="cpu").fit(X, y)
    assert isinstance(model.plan_.steps[0].worker, intelex.Intelex)
    assert type(model.to_sklearn()) is type(pair.pipeline)


@needs_package
@pytest.mark.usefixtures("package")
def test_three_classes_of_text() -> None:
    X, y = classes()
    labels = np.array(["a", "b", "c"], dtype=object)[y]
    for estimator in (SVC(), LogisticRegression(), KNeighborsClassifier(algorithm="brute")):
        model = Accelerated(estimator, device="cpu").fit(X, labels)
        reference = clone(estimator).fit(X, labels)
        assert (model.predict(X) != reference.predict(X)).mean() < 0.01
        assert (model.to_sklearn().predict(X) != reference.predict(X)).mean() < 0.01
        if isinstance(estimator, SVC):
            wanted = reference.decision_function(X)
            assert difference(model.decision_function(X), wanted) < 0.01
            assert difference(model.to_sklearn().decision_function(X), wanted) < 0.01


@needs_package
@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("given", ["sparse", "weights", "targets", "narrow", "dependent"])
def test_what_it_would_leave_to_scikit_learn_is_learnt_there_and_said(given: str) -> None:
    X, y = tables.numbers(200, 20)
    estimator, params = LinearRegression(), {}
    if given == "weights":
        params = {"sample_weight": np.ones(200)}
    elif given == "targets":
        y = np.column_stack([y, y])
    elif given == "dependent":
        X = np.column_stack([X, 2 * X[:, 0] - X[:, 1]])
    elif given == "narrow":
        estimator, X = KNeighborsClassifier(), X[:, :3]
        y = (y > 0).astype(int)
    else:
        worker = intelex.place(estimator, "model")
        with pytest.raises(intelex.Unsupported, match="leaves sparse rows to scikit-learn"):
            worker.fit(sparse.csr_matrix(X), y)
        return
    model = Accelerated(estimator, device="cpu").fit(X, y, **params)
    reference = clone(estimator).fit(X, y, **params)
    np.testing.assert_array_equal(model.predict(X), reference.predict(X))
    (placed,) = model.plan_.placements
    assert placed.implementation == f"sklearn.{type(estimator).__name__}"
    assert "as it is: scikit-learn-intelex leaves" in placed.note


@needs_package
@pytest.mark.usefixtures("package")
def test_a_saved_model_needs_the_package_no_more(tmp_path) -> None:
    Ours = intelex.load("sklearnex.svm.SVC")
    X, y = tables.classes(500, 20)
    model = Accelerated(make_pipeline(StandardScaler(), SVC()), device="cpu").fit(X, y)
    unpickled = WithoutPackage(io.BytesIO(pickle.dumps(model))).load()
    loaded = load(save(model, tmp_path / "model"), "cpu")
    for again in (unpickled, loaded):
        assert not isinstance(getattr(again.plan_.steps[-1].worker, "estimator", None), Ours)
        np.testing.assert_allclose(
            again.decision_function(X), model.decision_function(X), rtol=1e-4, atol=1e-5
        )


@needs_package
@pytest.mark.usefixtures("package")
def test_threads_may_predict_at_once() -> None:
    X, y = tables.classes(2000, 20)
    model = Accelerated(SVC(), device="cpu").fit(X, y)
    wanted = model.predict(X)
    with ThreadPoolExecutor(4) as pool:
        for made in pool.map(model.predict, [X] * 16):
            np.testing.assert_array_equal(made, wanted)


@needs_package
@pytest.mark.usefixtures("package")
def test_labels_and_axes_of_the_training_rows() -> None:
    X, _ = tables.clusters(600, 16)
    labels = Accelerated(DBSCAN(eps=0.9), device="cpu").fit_predict(X)
    np.testing.assert_array_equal(labels, DBSCAN(eps=0.9).fit_predict(X))
    assert labels.dtype == "int64"
    estimator = PCA(4, svd_solver="full")
    axes = Accelerated(clone(estimator), device="cpu").fit_transform(X)
    np.testing.assert_allclose(axes, estimator.fit_transform(X), atol=1e-3)
