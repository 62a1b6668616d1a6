"""The lift of every class that cuML translates, and of those that we do, by cuML's own code."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone

from pipeline.backends.cuml import trees
from pipeline.backends.cuml.cuml_model import Cuml
from pipeline.backends.gpu_rules import APART, CUML, public_name, rule
from pipeline.optional import load
from tests.contract.live import cuml_on_numpy
from tests.contract.live.sources import of_class
from tests.estimators import CASES, Case, named

pytestmark = pytest.mark.filterwarnings("ignore")

ONE_WAY = {"sklearn.cluster.HDBSCAN", "sklearn.ensemble.IsolationForest"}
"""Classes that cuML hands over but does not take: to be lifted, they are fitted on a GPU."""
LIFTED = [case for case in CASES if public_name(case.estimator) in CUML.keys() - ONE_WAY]
NAMED = {named(case): case for case in LIFTED}
METHODS = ("predict", "predict_proba", "decision_function", "score_samples", "transform")
LOST = {
    "ElasticNet": {"dual_gap_"},
    "Lasso": {"dual_gap_"},
    "LinearRegression": {"rank_", "singular_"},
    "SpectralClustering": {"affinity_matrix_"},
    "SpectralEmbedding": {"affinity_matrix_"},
}
"""Fitted attributes that cuML does not hand over."""


@pytest.fixture(autouse=True)
def _numpy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in CUML.values():
            load(row.twin)
    cuml_on_numpy.install(monkeypatch)
    # Looking for values that are not finite is a kernel, which this skips.
    with config_context(assume_finite=True):
        yield


def model_of(estimator: Any) -> Cuml:
    return Cuml(estimator, rule(estimator), "step")


def state(estimator: Any) -> set[str]:
    return {name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")}


def numeric(value: Any) -> bool:
    return not isinstance(value, list) and np.asarray(value).dtype.kind in "iufb"


def learn(model: Cuml, reference: Any, X: np.ndarray, y: Any) -> None:
    """Give cuML's class what its kernels would learn; it counts, and draws axes, by itself."""
    name = type(reference).__name__
    if rule(reference).translation is None:
        model.native._sync_attrs_from_cpu(reference)
    elif name.endswith(("NB", "Projection")):
        model.native.fit(X, y)
    else:
        kinds = type(model.native).__mro__
        source = "".join(of_class(each) for each in kinds if each.__module__.startswith("cuml."))
        for each in state(reference):
            if each == "n_features_in_" or f"self.{each}" in source:
                setattr(model.native, each, getattr(reference, each))


@pytest.mark.parametrize("case", LIFTED, ids=named)
def test_every_answer_and_attribute_comes_back_from_cuml(case: Case) -> None:
    X, y = case.data()
    X = X.astype("float64")
    reference, model = clone(case.estimator).fit(X, y), model_of(case.estimator)
    learn(model, reference, X, y)
    with load("cuml.using_output_type")("numpy"):  # it may have met no rows to take the type from
        made = model.to_sklearn()
    assert type(made) is type(reference)
    assert repr(made.get_params()) == repr(case.estimator.get_params())
    assert state(reference) - state(made) == LOST.get(named(case), set())
    if named(case).endswith("Projection"):  # which draws other axes
        axes = model.native.components_
        assert axes.shape == reference.components_.shape
        np.testing.assert_allclose(made.transform(X), X @ axes.T, rtol=1e-9, atol=1e-9)
        return
    pairs = {m: (getattr(made, m)(X), getattr(reference, m)(X)) for m in METHODS
             if hasattr(reference, m)}  # fmt: skip
    names = {n for n in state(reference) & state(made) if numeric(getattr(reference, n))}
    pairs |= {name: (getattr(made, name), getattr(reference, name)) for name in names}
    assert pairs.keys() - {"n_features_in_"}
    for name, (ours, theirs) in pairs.items():
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6, err_msg=name)


def test_no_class_is_left_out() -> None:
    assert set(CUML) == {public_name(case.estimator) for case in LIFTED} | ONE_WAY | set(APART)


@pytest.mark.parametrize("name", ["RandomForestClassifier", "RandomForestRegressor"])
def test_cuml_hands_trees_over_without_impurities(name: str) -> None:
    case = NAMED[name]
    reference = clone(case.estimator).set_params(bootstrap=False).fit(*case.data())
    model = load(rule(case.estimator).twin).from_sklearn(reference)
    model.output_type = None
    lifted = model.as_sklearn()
    assert np.isnan(lifted.feature_importances_).all()
    trees.complete(lifted)
    wanted = reference.feature_importances_
    np.testing.assert_allclose(lifted.feature_importances_, wanted, rtol=1e-4)


def test_a_forest_of_few_rows_is_grown_without_the_warning_of_its_bins() -> None:
    case = NAMED["RandomForestRegressor"]
    said = "The number of bins, `n_bins` is greater than "
    assert said in of_class(load("cuml.ensemble.randomforest_common.BaseRandomForestModel"))
    model = model_of(case.estimator)
    model.native.fit = lambda X, y: warnings.warn(said, UserWarning, stacklevel=1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with model._handling_trees():
            model.native.fit(*case.data())
        assert not told
        model.native.fit(*case.data())
    assert len(told) == 1


def test_trees_of_a_newer_treelite_are_read_without_its_warning() -> None:
    case = NAMED["RandomForestRegressor"]
    X, y = case.data()
    newer = bytearray(
        load("treelite.sklearn.import_model")(clone(case.estimator).fit(X, y)).serialize_bytes()
    )
    newer[4] += 1  # the second number of the version
    model, read = model_of(case.estimator), load("treelite.Model").deserialize_bytes
    model.native.predict = lambda X: read(bytes(newer))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.call("predict", X)
        assert not told
        model.native.predict(X)
    assert "newer Treelite" in str(told[0].message)


def test_cuml_asks_a_prior_for_its_shape() -> None:
    X, y = NAMED["MultinomialNB"].data()
    estimator = clone(NAMED["MultinomialNB"].estimator).set_params(class_prior=[0.2, 0.3, 0.5])
    with pytest.raises(AttributeError, match="shape"):
        load(rule(estimator).twin)(class_prior=estimator.class_prior).fit(X, y)
    model_of(estimator).native.fit(X, y)
