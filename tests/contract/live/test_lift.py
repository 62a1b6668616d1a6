"""The lift of every class that cuML translates, and of those that we do, by cuML's own code."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.preprocessing import LabelBinarizer, LabelEncoder, OneHotEncoder, StandardScaler

from pipeline.backends.cuml import trees
from pipeline.backends.cuml.estimator import Cuml
from pipeline.backends.cuml.tables import APART, CUML, public_name, rule
from pipeline.optional import load
from tests.contract.live import cuml_on_numpy
from tests.contract.live.sources import of_class
from tests.estimators import CASES, Case, classes, counts, named

pytestmark = pytest.mark.filterwarnings("ignore")

ONE_WAY = {
    "sklearn.cluster.HDBSCAN": "a supported single-linkage tree",
    "sklearn.ensemble.IsolationForest": "fitted sklearn IsolationForest is not supported",
}
"""Classes that cuML hands over but does not take, with what it says: they have to be fitted on
a GPU to be lifted."""

TRANSLATED = [case for case in CASES if (found := rule(case.estimator)) and not found.translation]
BOTH_WAYS = [case for case in TRANSLATED if public_name(case.estimator) not in ONE_WAY]
OURS = [case for case in CASES if (found := rule(case.estimator)) and found.translation]


@pytest.mark.parametrize("name", ONE_WAY)
def test_cuml_says_what_it_does_not_take(name: str) -> None:
    (case,) = (case for case in TRANSLATED if public_name(case.estimator) == name)
    X, y = case.data()
    reference = clone(case.estimator).fit(X, y)
    with pytest.raises(load("cuml.internals.interop.UnsupportedOnGPU"), match=ONE_WAY[name]):
        cuml_on_numpy.lifted(load(rule(case.estimator).twin), case.estimator, reference)
    assert callable(load(rule(case.estimator).twin)._attrs_to_cpu)


@pytest.mark.parametrize("name", ["RandomForestClassifier", "RandomForestRegressor"])
def test_cuml_hands_trees_over_without_impurities(name: str) -> None:
    (case,) = (case for case in BOTH_WAYS if named(case) == name)
    reference = clone(case.estimator).set_params(bootstrap=False).fit(*case.data())
    lifted = cuml_on_numpy.lifted(load(rule(case.estimator).twin), reference, reference)
    assert np.isnan(lifted.feature_importances_).all()
    trees.complete(lifted)
    np.testing.assert_allclose(
        lifted.feature_importances_, reference.feature_importances_, rtol=1e-4
    )


class Asked:
    """Answers for any attribute and remembers its name."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.names.add(name)
        return np.float64(1) if name == "epsilon_" else np.ones((1, 1, 1))


@pytest.mark.parametrize("case", OURS, ids=named)
def test_the_attributes_that_we_read_are_those_that_cuml_sets(case: Case) -> None:
    asked = Asked()
    rule(case.estimator).translation.attributes(asked)
    kinds = load(rule(case.estimator).twin).__mro__
    text = "".join(of_class(kind) for kind in kinds if kind.__module__.startswith("cuml."))
    optional = {"density_"}  # of sparse projections only, and asked for by hasattr
    assert asked.names
    assert {name for name in asked.names - optional if f"self.{name}" not in text} == set()


def test_no_class_is_left_out() -> None:
    seen = {public_name(case.estimator) for case in (*BOTH_WAYS, *OURS)}
    assert set(CUML) == seen | set(ONE_WAY) | set(APART)
    assert (len(BOTH_WAYS), len(OURS)) == (26, 6)


COUNTED = [case for case in OURS if named(case).endswith("NB")]
DRAWN = [case for case in OURS if named(case).endswith("Projection")]
METHODS = ("predict", "predict_proba", "decision_function", "score_samples", "transform")
LOST = {
    "ElasticNet": {"dual_gap_"},
    "Lasso": {"dual_gap_"},
    "LinearRegression": {"rank_", "singular_"},
    "SpectralClustering": {"affinity_matrix_"},
    "SpectralEmbedding": {"affinity_matrix_"},
}
"""Fitted attributes that cuML does not hand over."""

PREPARING = [StandardScaler(), OneHotEncoder(), LabelEncoder(), LabelBinarizer()]
"""cuML converts these; they have no rule, as their twins are ours."""

WITHOUT_RULE = {
    "sklearn.preprocessing.TargetEncoder": "cuML keeps its encodings in a cuDF frame",
}
ELSEWHERE = ("accel", "benchmark", "dask", "testing", "tests")
"""Parts of cuML that hold no estimator of their own."""


def import_everything() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for found in pkgutil.walk_packages(load("cuml").__path__, "cuml."):
            if found.name.split(".")[1] not in ELSEWHERE:
                importlib.import_module(found.name)
        for row in CUML.values():
            load(row.twin)


@pytest.fixture(autouse=True)
def _numpy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    import_everything()
    cuml_on_numpy.install(monkeypatch)
    # Looking for values that are not finite is a kernel, which this skips.
    with config_context(assume_finite=True):
        yield


def fitted(case: Case) -> tuple[Any, np.ndarray, Any]:
    X, y = case.data()
    X = X.astype("float64")
    return clone(case.estimator).fit(X, y), X, y


def state(estimator: Any) -> set[str]:
    return {name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")}


def numeric(value: Any) -> bool:
    return not isinstance(value, list) and np.asarray(value).dtype.kind in "iufb"


def assert_same(made: Any, wanted: Any, X: np.ndarray) -> int:
    """Compare what two estimators answer, and their state; return how much was compared."""
    asked = [method for method in METHODS if hasattr(wanted, method)]
    names = [n for n in state(wanted) & state(made) if numeric(getattr(wanted, n))]
    pairs = {m: (getattr(made, m)(X), getattr(wanted, m)(X)) for m in asked}
    pairs |= {name: (getattr(made, name), getattr(wanted, name)) for name in names}
    for name, (ours, theirs) in pairs.items():
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6, err_msg=name)
    return len(pairs.keys() - {"n_features_in_"})


def model_of(case: Case) -> Cuml:
    return Cuml(case.estimator, rule(case.estimator), "step")


def assert_of_the_spec(made: Any, case: Case) -> None:
    assert type(made) is type(case.estimator)
    assert repr(made.get_params()) == repr(case.estimator.get_params())


@pytest.mark.parametrize("case", COUNTED, ids=named)
def test_what_cuml_counts_is_lifted_by_us(case: Case) -> None:
    reference, X, y = fitted(case)
    model = model_of(case)
    model.native.fit(X, y)
    made = model.to_sklearn()
    assert_of_the_spec(made, case)
    assert assert_same(made, reference, X) > 4
    assert state(reference) == state(made)


def test_cuml_asks_a_prior_for_its_shape() -> None:
    (case,) = (case for case in COUNTED if named(case) == "MultinomialNB")
    X, y = case.data()
    estimator = clone(case.estimator).set_params(class_prior=[0.2, 0.3, 0.5])
    with pytest.raises(AttributeError, match="shape"):
        load(rule(estimator).twin)(class_prior=estimator.class_prior).fit(X, y)
    model = Cuml(estimator, rule(estimator), "step")
    model.native.fit(X, y)
    np.testing.assert_allclose(
        model.to_sklearn().predict_proba(X), clone(estimator).fit(X, y).predict_proba(X), rtol=1e-3
    )


@pytest.mark.parametrize("case", DRAWN, ids=named)
def test_the_axes_that_cuml_draws_are_lifted_by_us(case: Case) -> None:
    reference, X, _ = fitted(case)
    model = model_of(case)
    model.native.fit(X)
    made, axes = model.to_sklearn(), model.native.components_
    assert_of_the_spec(made, case)
    assert sparse.issparse(axes) == sparse.issparse(reference.components_)
    assert axes.shape == reference.components_.shape
    np.testing.assert_allclose(made.transform(X), X @ axes.T, rtol=1e-9, atol=1e-9)
    assert state(reference) == state(made)
    assert list(made.get_feature_names_out()) == list(reference.get_feature_names_out())


@pytest.mark.parametrize("case", BOTH_WAYS, ids=named)
def test_every_answer_and_attribute_comes_back_from_cuml(case: Case) -> None:
    reference, X, _ = fitted(case)
    model = model_of(case)
    model.native._sync_attrs_from_cpu(reference)
    made = model.to_sklearn()
    assert_of_the_spec(made, case)
    assert assert_same(made, reference, X) > 0
    assert state(reference) - state(made) == LOST.get(named(case), set())


DAMAGED = [("LogisticRegression", "coef_"), ("Ridge", "coef_"), ("KMeans", "cluster_centers_")]


@pytest.mark.parametrize(("name", "attribute"), DAMAGED)
def test_a_damaged_state_shows(name: str, attribute: str) -> None:
    (case,) = (case for case in BOTH_WAYS if named(case) == name)
    reference, X, _ = fitted(case)
    model = model_of(case)
    model.native._sync_attrs_from_cpu(reference)
    with load("cuml.using_output_type")("cupy"):
        value = np.array(getattr(model.native, attribute))
    value[-1] += 0.01
    setattr(model.native, attribute, value.view(cuml_on_numpy.Array))
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        assert_same(model.to_sklearn(), reference, X)


def convertible() -> dict[str, type]:
    """Return cuML's classes that name a class of scikit-learn's as theirs, by its path.

    Those for one part of a Dask estimator share the conversion of the whole.
    """

    def below(base: type) -> Iterator[type]:
        for each in base.__subclasses__():
            yield each
            yield from below(each)

    return {
        each._cpu_class_path: each
        for each in below(load("cuml.internals.interop.InteropMixin"))
        if getattr(each, "_cpu_class_path", None)
        and not each.__module__.endswith("_mg")
        and not each.__module__.startswith("cuml.accel.")
    }


@pytest.mark.parametrize("estimator", PREPARING, ids=lambda estimator: type(estimator).__name__)
def test_preparing_estimators_come_back_too(estimator: Any) -> None:
    X = counts()[0] if hasattr(estimator, "get_feature_names_out") else classes()[1]
    reference = clone(estimator).fit(X)
    twin: Any = convertible()[f"sklearn.preprocessing.{type(estimator).__name__}"]
    native = twin(**twin._params_from_cpu(estimator))
    native._sync_attrs_from_cpu(reference)
    made = native.as_sklearn()
    assert type(made) is type(estimator)
    assert np.abs(reference.transform(X) - made.transform(X)).max() <= 1e-9


def test_every_class_that_cuml_converts_is_tried_or_named() -> None:
    tried = {f"sklearn.preprocessing.{type(estimator).__name__}" for estimator in PREPARING}
    ruled = {load(row.twin)._cpu_class_path for row in CUML.values() if not row.translation}
    accelerated = {"sklearn.cluster.HDBSCAN"}
    assert set(convertible()) | accelerated == tried | ruled | set(WITHOUT_RULE)
