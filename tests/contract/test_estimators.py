"""Every estimator that has a rule, on the stand-ins: learnt, lifted, saved, and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

from pipeline import Accelerated, DataError, Unsupported, load, save
from pipeline.backends.base import METHODS
from pipeline.backends.cuml.tables import rule
from pipeline.optional import load as load_package
from tests.contract.cases import EVERYWHERE
from tests.contract.recorder import OnDevice, Recorder
from tests.estimators import CASES, Case, blobs, classes, counts, named, numbers
from tests.names import one_in

pytestmark = pytest.mark.usefixtures("device")

FOREST = RandomForestClassifier(20, random_state=0)


ON_CUML = [case for case in CASES if rule(case.estimator)]


def fitted(estimator: Any, X: Any, y: Any = None, **params: Any) -> Any:
    return Accelerated(clone(estimator), device="cuda").fit(X, y, **params)


def learnt(estimator: Any, X: np.ndarray) -> np.ndarray:
    """Return rows in the type that they are learnt in on a GPU where none is named."""
    return X.astype("float64") if rule(estimator).unsafe_in_float32 else X


def on_device(value: Any) -> bool:
    return isinstance(value, OnDevice) or (
        isinstance(value, list | tuple) and any(map(on_device, value))
    )


@pytest.mark.quick(9)
@pytest.mark.parametrize("case", ON_CUML, ids=named)
def test_equals_scikit_learn_and_so_do_the_lifted_and_the_saved_model(
    case: Case, device: Recorder, tmp_path: Path
) -> None:
    X, y = case.data()
    X = learnt(case.estimator, X)
    ours = fitted(case.estimator, X, y)
    assert {e.device for e in ours.execution_log_.entries if e.call == "fit"} == {"cuda"}
    assert ours.execution_log_.to_host_bytes == device.nbytes("host", "explicit") == 0
    exact = X.astype("float64") if rule(case.estimator).cutoff else X
    reference = clone(case.estimator).fit(exact, y)
    lifted = ours.to_sklearn()
    for model in (ours, lifted):
        assert case.compare(model, reference, X, y) == pytest.approx(0, abs=1e-9)
    loaded = load(save(ours, tmp_path / "model"), "cpu")
    assert {step.device for step in loaded.plan_.placements} == {"cpu"}
    assert_same(loaded, ours, X)
    assert lifted.get_params().keys() == case.estimator.get_params().keys()
    assert (type(lifted), repr(lifted)) == (type(case.estimator), repr(case.estimator))
    assert [name for name, value in vars(lifted).items() if on_device(value)] == []
    if any(hasattr(case.estimator, name) for name in METHODS):
        assert ours.certify(X).require().device == "cuda"
    if named(case).startswith("RandomF"):
        wanted = reference.feature_importances_
        np.testing.assert_allclose(lifted.feature_importances_, wanted, rtol=1e-6)


def refused(estimator: Any, X: Any, y: Any, **params: Any) -> str:
    """Return the reason of a strict refusal; told a host may help, the host learns the same."""
    with pytest.raises(Unsupported) as caught:
        fitted(estimator, X, y, **params)
    (reason,) = caught.value.reasons
    ours = Accelerated(clone(estimator), device="cuda", fallback=True).fit(X, y, **params)
    reference = clone(estimator).fit(X, y, **params)
    (placed,) = ours.plan_.placements
    assert placed.device == "cpu"
    assert placed.note == f"on the host: {reason.why}"
    assert "device='auto'" in reason.instead
    np.testing.assert_array_equal(ours.predict(X), reference.predict(X))
    assert type(ours.to_sklearn()) is type(estimator)
    return reason.why


def test_numbers_of_a_grid_are_numbers_to_cuml(device: Recorder) -> None:
    forest = RandomForestClassifier(min_samples_leaf=np.int64(4))
    fitted(forest, *classes())
    (made,) = [call for call in device.calls if call.name == "__init__"]
    assert type(made.kwargs["min_samples_leaf"]) is int


REDUNDANT = make_column_transformer((OneHotEncoder(), [0, 1]), remainder=StandardScaler())
CURVED = make_pipeline(StandardScaler(), PolynomialFeatures(5, include_bias=False))


@EVERYWHERE
@pytest.mark.parametrize(("prepare", "n_targets"), [(REDUNDANT, 1), (CURVED, 2)])
def test_redundant_columns_have_no_say(prepare: Any, n_targets: int) -> None:
    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(0, [12, 30], (2000, 2)), random.gamma(2, size=(2000, 2))])
    y = random.normal(size=(30, n_targets))[X[:, 1].astype(int)] + np.sin(X[:, 2:3])
    y = y + random.normal(size=y.shape)
    estimator = make_pipeline(clone(prepare), LinearRegression())
    ours = fitted(estimator, X, y.squeeze())
    wanted = clone(estimator).fit(X, y.squeeze()).predict(X)
    assert np.abs(ours.predict(X) - wanted).max() < 1e-3 * y.std()
    assert np.abs(ours.to_sklearn().predict(X) - wanted).max() < 1e-3 * y.std()


WEIGHTS = np.random.default_rng(1).gamma(0.5, size=400)
WEIGHTED: dict[str, Any] = {
    "rows": (RandomForestClassifier(random_state=0), WEIGHTS),
    "numbers": (RandomForestRegressor(random_state=0), WEIGHTS),
    "classes": (RandomForestClassifier(class_weight={0: 9, 1: 0.5}, random_state=0), None),
}


@pytest.mark.parametrize("name", WEIGHTED)
def test_forests_that_draw_rows_by_their_weights_have_their_importances(name: str) -> None:
    (estimator, weights), (X, y) = WEIGHTED[name], classes()
    model = fitted(estimator, X, y, sample_weight=weights)
    wanted = clone(estimator).fit(X, y, sample_weight=weights).feature_importances_
    lifted = model.to_sklearn()
    np.testing.assert_allclose(lifted.feature_importances_, wanted, rtol=1e-6)


def test_forests_without_a_seed_differ_and_follow_the_seed_of_numpy() -> None:
    X, y = classes()
    estimator = RandomForestClassifier()

    def trained() -> Any:
        return fitted(estimator, X, y).predict_proba(X)

    assert np.abs(trained() - trained()).max() > 0
    np.random.seed(7)
    first = trained()
    np.random.seed(7)
    np.testing.assert_array_equal(trained(), first)


@EVERYWHERE
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("estimator", [PCA(3), IncrementalPCA(3), Lasso(), ElasticNet()])
def test_rows_of_the_caller_stay_as_they_are(estimator: Any, dtype: str) -> None:
    X, y = numbers()
    X = np.asfortranarray(X.astype(dtype) * np.float32(np.pi) + np.float32(0.1))
    given = load_package("cupy").asarray(X)
    model = Accelerated(clone(estimator), device="cuda", dtype=dtype).fit(given, y)
    np.testing.assert_array_equal(given.get(), X)
    model.transform(given) if hasattr(estimator, "transform") else model.predict(given)
    np.testing.assert_array_equal(given.get(), X)


@EVERYWHERE
def test_rows_within_a_radius_are_those_of_scikit_learn() -> None:
    X, _ = blobs()
    model = fitted(NearestNeighbors(radius=2.0), X)
    reference = NearestNeighbors(radius=2.0).fit(X)
    for radius in (None, 0.5):
        found = model.radius_neighbors_graph(X[:50], radius=radius)
        wanted = reference.radius_neighbors_graph(X[:50], radius=radius)
        assert sparse.issparse(found)
        assert found.shape == (50, len(X))
        assert (found != wanted).nnz <= 2  # at the very radius


def test_forests_do_not_take_missing_values(device: Recorder) -> None:
    X, y = classes()
    X[3, 2] = np.nan
    assert refused(FOREST, X, y) == "cuML does not take missing values (NaN)"
    assert device.copies[0].to == "device"


def test_missing_values_that_scikit_learn_refuses_too_are_bad_data() -> None:
    X, y = classes()
    model = Accelerated(LogisticRegression(), device="cuda", fallback=True).fit(X, y)
    X[3, 2] = np.nan
    for ask in (model.predict, lambda X: model.fit(X, y)):
        with pytest.raises(DataError, match="logisticregression: cuML does not take missing"):
            ask(X)


def test_what_could_not_be_lifted_is_not_learnt_on_the_gpu() -> None:
    X, y = classes(3)
    assert refused(SVC(), X, y) == "scikit-learn takes over cuML's SVC of two classes"
    forest = RandomForestClassifier(bootstrap=False, random_state=0)
    assert "forget the weights of rows" in refused(forest, X, y, sample_weight=np.ones(len(y)))
    assert "forget the weights" in refused(forest.set_params(class_weight="balanced"), X, y)


def test_several_targets() -> None:
    X, y = numbers()
    Y = np.column_stack([y, -y])
    assert refused(Lasso(), X, Y) == "cuML's Lasso learns one target and y has 2"
    X = learnt(Ridge(), X)
    ours = fitted(Ridge(), X, Y)
    np.testing.assert_allclose(ours.predict(X), Ridge().fit(X, Y).predict(X), rtol=1e-6)


def test_weights_go_to_those_who_take_them() -> None:
    X, y = classes()
    weights = np.linspace(0.1, 1.0, len(y))
    ours = fitted(GaussianNB(), X, y, sample_weight=weights)
    reference = GaussianNB().fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.predict_proba(X), reference.predict_proba(X), rtol=1e-6)
    assert ours.execution_log_.entries[1].to_device_bytes == y.nbytes + weights.nbytes
    told = refused(MultinomialNB(), *counts(), sample_weight=weights)
    assert told == "the fit of cuML's MultinomialNB takes no sample_weight"


def test_a_method_that_cuml_lacks_is_on_the_lifted_model() -> None:
    X = learnt(PCA(), blobs()[0])
    model = fitted(PCA(3), X)
    with pytest.raises(Unsupported, match=r"no score_samples; use to_sklearn\(\).score_samples"):
        model.score_samples(X)
    np.testing.assert_allclose(
        model.to_sklearn().score_samples(X), PCA(3).fit(X).score_samples(X), rtol=1e-6
    )


ANSWERS = ("predict_proba", "decision_function", "predict", "transform", "score_samples")
TAKEN_OVER = [case for case in ON_CUML if rule(case.estimator).translation is None]
OWN = [case for case in ON_CUML if rule(case.estimator).translation]


def answer(model: Accelerated, X: np.ndarray) -> np.ndarray | None:
    method = next((name for name in ANSWERS if hasattr(model, name)), None)
    return None if method is None else getattr(model, method)(X)


def assert_same(a: Accelerated, b: Accelerated, X: np.ndarray) -> None:
    found, wanted = answer(a, X), answer(b, X)
    if wanted is not None:
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("case", one_in(5, TAKEN_OVER), ids=named)
def test_a_model_of_the_cpu_answers_on_the_gpu(
    case: Case, tmp_path: Path, device: Recorder
) -> None:
    X, y = case.data()
    model = Accelerated(clone(case.estimator), device="cpu").fit(X, y)
    loaded = load(save(model, tmp_path / "model"), "cuda")
    assert {step.device for step in loaded.plan_.placements} == {"cuda"}
    twin = rule(case.estimator).twin
    assert [c.name for c in device.calls if c.owner == twin][-1:] == ["_sync_attrs_from_cpu"]
    if case.estimator.__class__.__name__ not in ("TSNE", "SpectralEmbedding", "PCA"):
        assert_same(loaded, model, X)


@pytest.mark.parametrize("case", one_in(3, OWN), ids=named)
def test_what_cuml_cannot_take_over_runs_on_the_host_and_says_so(
    case: Case, tmp_path: Path
) -> None:
    X, y = case.data()
    model = Accelerated(clone(case.estimator), device="cpu").fit(X, y)
    folder = save(model, tmp_path / "model")
    with pytest.raises(Unsupported, match="cuML takes no fitted .* over from scikit-learn"):
        load(folder, "cuda")
    loaded = load(folder, "auto")
    (placed,) = loaded.plan_.placements
    assert placed.device == "cpu"
    assert "cuML takes no fitted" in placed.note
    assert_same(loaded, model, X)
