"""Every estimator that has a rule, on the stand-ins: learnt, lifted, saved, and refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC, LinearSVR

from pipeline import Accelerated, Unsupported, load, save
from pipeline.backends.base import METHODS
from pipeline.backends.gpu_rules import rule
from pipeline.optional import load as load_package
from tests.contract.cases import EVERYWHERE
from tests.contract.recorder import OnDevice, Recorder
from tests.estimators import CASES, Case, binary, classes, named, numbers
from tests.names import one_in

pytestmark = pytest.mark.usefixtures("device")

FOREST = RandomForestClassifier(20, random_state=0)


ON_CUML = [case for case in CASES if rule(case.estimator).runner == "cuml"]


def fitted(estimator: Any, X: Any, y: Any = None, **params: Any) -> Any:
    return Accelerated(clone(estimator), device="cuda").fit(X, y, **params)


def learnt(estimator: Any, X: np.ndarray) -> np.ndarray:
    """Return rows in the type that they are learnt in on a GPU where none is named."""
    return X.astype("float64") if rule(estimator).dtype == "float64" else X


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
    exact = X.astype("float64") if rule(case.estimator).dtype == "scaled" else X
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
    assert (placed.device, placed.note) == ("cpu", f"on the host: {reason.why}")
    np.testing.assert_array_equal(ours.predict(X), reference.predict(X))
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
    found = []
    for seed in (None, 7, 7):
        np.random.seed(seed)
        found.append(fitted(RandomForestClassifier(), X, y).predict_proba(X))
    assert np.abs(found[0] - found[1]).max() > 0
    np.testing.assert_array_equal(*found[1:])


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


def test_what_could_not_be_lifted_is_not_learnt_on_the_gpu() -> None:
    X, y = classes(3)
    assert refused(SVC(), X, y) == "scikit-learn can only load cuML's SVC for two classes"
    forest = RandomForestClassifier(bootstrap=False, random_state=0)
    assert "ignores weights" in refused(forest, X, y, sample_weight=np.ones(len(y)))
    assert "ignores weights" in refused(forest.set_params(class_weight="balanced"), X, y)


def test_forests_do_not_take_missing_values(device: Recorder) -> None:
    X, y = classes()
    X[3, 2] = np.nan
    assert refused(FOREST, X, y) == "cuML does not support missing values (NaN)"
    assert device.copies[0].to == "device"


ANSWERS = ("predict_proba", "decision_function", "predict", "transform", "score_samples")


def answer(model: Accelerated, X: np.ndarray) -> np.ndarray | None:
    method = next((name for name in ANSWERS if hasattr(model, name)), None)
    return None if method is None else getattr(model, method)(X)


def assert_same(a: Accelerated, b: Accelerated, X: np.ndarray) -> None:
    found, wanted = answer(a, X), answer(b, X)
    if wanted is not None:
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("case", one_in(5, ON_CUML), ids=named)
def test_a_model_of_the_cpu_answers_on_the_gpu_or_says_why_it_runs_on_the_host(
    case: Case, tmp_path: Path, device: Recorder
) -> None:
    X, y = case.data()
    model = Accelerated(clone(case.estimator), device="cpu").fit(X, y)
    folder, row = save(model, tmp_path / "model"), rule(case.estimator)
    if row.translation:
        with pytest.raises(Unsupported, match="cuML cannot load a fitted .* of scikit-learn"):
            load(folder, "cuda")
        loaded = load(folder, "auto")
        (placed,) = loaded.plan_.placements
        assert (placed.device, "cuML cannot load a fitted" in placed.note) == ("cpu", True)
    else:
        loaded = load(folder, "cuda")
        assert {step.device for step in loaded.plan_.placements} == {"cuda"}
        asked = [call.name for call in device.calls if call.owner == row.twin]
        assert asked[-1:] == ["_sync_attrs_from_cpu"]
    if named(case) not in ("TSNE", "SpectralEmbedding", "PCA"):
        assert_same(loaded, model, X)


WEIGHED = [
    (LogisticRegression(C=0.05), binary),
    (LogisticRegression(C=0.05, class_weight={0: 0.1, 1: 3.0}), binary),
    (LinearSVC(C=0.005, dual=False), binary),
    (LinearSVR(C=0.005, loss="squared_epsilon_insensitive", dual=False), numbers),
    (Lasso(0.05), numbers),
    (ElasticNet(0.05), numbers),
    (LinearRegression(), numbers),
    (Ridge(), numbers),
]


@EVERYWHERE
@pytest.mark.parametrize("total", [0, 1, 40, 40_000], ids=lambda total: f"sum {total}")
@pytest.mark.parametrize(
    ("estimator", "data"), WEIGHED, ids=lambda value: getattr(value, "__name__", str(value)[:25])
)
def test_weights_have_the_optimum_of_scikit_learn(estimator: Any, data: Any, total: float) -> None:
    X, y = data()
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(X))
    given = {"sample_weight": weights * total / weights.sum()} if total else {}
    reference = clone(estimator).fit(X.astype("float64"), y, **given)
    lifted: Any = fitted(estimator, X, y, **given).to_sklearn()
    far = np.abs(lifted.coef_ - reference.coef_).max()
    assert far <= 0.02 * np.abs(reference.coef_).max()
