"""Every estimator that has a rule, on the stand-ins: the same answers, and no call cuML lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import CategoricalNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

from pipeline import Accelerated, DataError, Unsupported, explain, load, save
from pipeline.backends.base import METHODS
from pipeline.backends.cuml.tables import rule
from tests.contract import arrays
from tests.contract.recorder import OnDevice, Recorder
from tests.contract.verify import faults
from tests.estimators import CASES, Case, blobs, classes, counts, named, numbers

FOREST = RandomForestClassifier(20, random_state=0)


def answers(estimator: Any) -> bool:
    """Return whether an estimator has something to say of new rows."""
    return any(hasattr(estimator, name) for name in METHODS)


ON_CUML = [case for case in CASES if rule(case.estimator)]


@pytest.mark.parametrize("case", ON_CUML, ids=named)
def test_equals_scikit_learn_and_so_does_the_lifted_model(case: Case, device: Recorder) -> None:
    X, y = case.data()
    reference = clone(case.estimator).fit(
        X.astype("float64") if rule(case.estimator).cutoff else X, y
    )
    ours = Accelerated(clone(case.estimator), device="cuda").fit(X, y)
    assert {entry.device for entry in ours.execution_log_.entries if entry.call == "fit"} == {
        "cuda"
    }
    assert case.compare(ours, reference, X, y) == pytest.approx(0, abs=1e-9)
    assert faults(device.calls) == []
    lifted: Any = ours.to_sklearn()
    assert lifted.get_params().keys() == case.estimator.get_params().keys()
    assert repr(lifted) == repr(case.estimator)
    assert type(lifted) is type(case.estimator)
    assert case.compare(lifted, reference, X, y) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("case", [case for case in ON_CUML if answers(case.estimator)], ids=named)
def test_the_lift_is_certified(case: Case, device: Recorder) -> None:
    X, y = case.data()
    found = Accelerated(clone(case.estimator), device="cuda").fit(X, y).certify(X).require()
    assert found.device == "cuda"
    assert faults(device.calls) == []


@pytest.mark.parametrize("case", ON_CUML, ids=named)
def test_only_answers_come_back_to_the_host(case: Case, device: Recorder) -> None:
    X, y = case.data()
    model = Accelerated(clone(case.estimator), device="cuda").fit(X, y)
    assert model.execution_log_.to_host_bytes == 0
    assert model.execution_log_.to_host_bytes == device.nbytes("host", "explicit")


def refused(estimator: Any, X: Any, y: Any, **params: Any) -> str:
    """Return the reason of a strict refusal; told a host may help, the host learns the same."""
    with pytest.raises(Unsupported) as caught:
        Accelerated(clone(estimator), device="cuda").fit(X, y, **params)
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
    Accelerated(forest, device="cuda").fit(*classes())
    (made,) = [call for call in device.calls if call.name == "__init__"]
    assert type(made.kwargs["min_samples_leaf"]) is int


REDUNDANT = make_column_transformer((OneHotEncoder(), [0, 1]), remainder=StandardScaler())
CURVED = make_pipeline(StandardScaler(), PolynomialFeatures(5, include_bias=False))


@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize("prepare", [REDUNDANT, CURVED], ids=["redundant", "curved"])
def test_redundant_columns_have_no_say(prepare: Any, n_targets: int, device: Recorder) -> None:
    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(0, [12, 30], (2000, 2)), random.gamma(2, size=(2000, 2))])
    y = random.normal(size=(30, n_targets))[X[:, 1].astype(int)] + np.sin(X[:, 2:3])
    y = y + random.normal(size=y.shape)
    estimator = make_pipeline(clone(prepare), LinearRegression())
    ours = Accelerated(estimator, device="cuda").fit(X, y.squeeze())
    wanted = clone(estimator).fit(X, y.squeeze()).predict(X)
    assert np.abs(ours.predict(X) - wanted).max() < 1e-3 * y.std()
    assert np.abs(ours.to_sklearn().predict(X) - wanted).max() < 1e-3 * y.std()


@pytest.mark.parametrize("case", [c for c in ON_CUML if named(c).startswith("RandomF")], ids=named)
def test_lifted_forests_have_their_importances(case: Case, device: Recorder) -> None:
    lifted: Any = Accelerated(clone(case.estimator), device="cuda").fit(*case.data()).to_sklearn()
    reference = clone(case.estimator).fit(*case.data())
    wanted = reference.feature_importances_
    np.testing.assert_allclose(lifted.feature_importances_, wanted, rtol=1e-6)


WEIGHTS = np.random.default_rng(1).gamma(0.5, size=400)
WEIGHTED: dict[str, Any] = {
    "rows": (RandomForestClassifier(random_state=0), WEIGHTS),
    "numbers": (RandomForestRegressor(random_state=0), WEIGHTS),
    "classes": (RandomForestClassifier(class_weight={0: 9, 1: 0.5}, random_state=0), None),
}


@pytest.mark.parametrize("name", WEIGHTED)
def test_forests_that_draw_rows_by_their_weights_have_their_importances(
    name: str, device: Recorder
) -> None:
    (estimator, weights), (X, y) = WEIGHTED[name], classes()
    model = Accelerated(clone(estimator), device="cuda").fit(X, y, sample_weight=weights)
    wanted = clone(estimator).fit(X, y, sample_weight=weights).feature_importances_
    lifted: Any = model.to_sklearn()
    np.testing.assert_allclose(lifted.feature_importances_, wanted, rtol=1e-6)


@pytest.mark.parametrize("name", WEIGHTED)
def test_importances_that_cannot_be_had_are_missing_and_told(
    name: str, device: Recorder, tmp_path: Path
) -> None:
    (estimator, weights), (X, y) = WEIGHTED[name], classes()
    model = Accelerated(clone(estimator).set_params(bootstrap=False), device="cuda")
    model.fit(X, y, sample_weight=weights)
    told = r"the trees of cuML do not hold .*; bootstrap=True draws rows by their weights"
    with pytest.warns(UserWarning, match=told):
        lifted: Any = model.to_sklearn()
    assert np.isnan(lifted.feature_importances_).all()
    np.testing.assert_allclose(lifted.predict(X), model.predict(X))
    with pytest.warns(UserWarning, match=told):
        save(model, tmp_path / "model")
    with pytest.warns(UserWarning, match=told):
        again: Any = load(tmp_path / "model", "cuda").to_sklearn()
    assert np.isnan(again.feature_importances_).all()


@pytest.mark.parametrize(("column", "category"), [(1, 40), (0, 6), (3, -1)])
def test_a_category_that_is_new_has_no_probability(
    column: int, category: int, device: Recorder
) -> None:
    X, y = counts()
    X = np.minimum(X, [5, 9, 9, 9, 9, 9, 9, 9, 9, 9]).astype("float32")
    model = Accelerated(CategoricalNB(), device="cuda").fit(X, y)
    np.testing.assert_allclose(
        model.predict_proba(X), CategoricalNB().fit(X, y).predict_proba(X), rtol=1e-6
    )
    X[7, column] = category
    with pytest.raises(DataError, match=f"column {column} holds the category {category} in row 7"):
        model.predict_proba(X)
    with pytest.raises((IndexError, ValueError)):
        CategoricalNB().fit(*counts()).predict_proba(np.where(X == 6, 60, X))


@pytest.mark.parametrize(
    "estimator", [MultinomialNB(class_prior=[0.2, 0.3, 0.5]), GaussianNB(priors=(0.2, 0.3, 0.5))]
)
def test_a_list_of_priors_is_an_array_to_cuml(estimator: Any, device: Recorder) -> None:
    X, y = counts()
    model = Accelerated(clone(estimator), device="cuda").fit(X, y)
    (made,) = [call for call in device.calls if call.name == "__init__"]
    assert {type(made.kwargs[name]) for name in made.kwargs if "prior" in name} >= {np.ndarray}
    wanted = clone(estimator).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), wanted, rtol=1e-6)
    assert repr(model.to_sklearn()) == repr(estimator)


def test_a_share_of_the_variance_is_refused_before_the_fit(device: Recorder) -> None:
    X, _ = blobs()
    with pytest.raises(Unsupported, match="cuML has no equivalent of 0.95") as caught:
        Accelerated(PCA(0.95), device="cuda").fit(X)
    assert caught.value.reasons[0].parameter == "n_components"
    assert not device.calls
    ours = Accelerated(PCA(0.95), device="cuda", fallback=True).fit(X)
    np.testing.assert_allclose(ours.transform(X), PCA(0.95).fit_transform(X), atol=1e-4)


def on_device(value: Any) -> bool:
    return isinstance(value, OnDevice) or (
        isinstance(value, list | tuple) and any(map(on_device, value))
    )


@pytest.mark.parametrize("case", ON_CUML, ids=named)
def test_nothing_of_the_lifted_model_is_on_the_device(case: Case, device: Recorder) -> None:
    lifted: Any = Accelerated(clone(case.estimator), device="cuda").fit(*case.data()).to_sklearn()
    assert [name for name, value in vars(lifted).items() if on_device(value)] == []


def test_forests_without_a_seed_differ_and_follow_the_seed_of_numpy(device: Recorder) -> None:
    X, y = classes()
    estimator = RandomForestClassifier()

    def trained() -> Any:
        return Accelerated(clone(estimator), device="cuda").fit(X, y).predict_proba(X)

    assert np.abs(trained() - trained()).max() > 0
    np.random.seed(7)
    first = trained()
    np.random.seed(7)
    np.testing.assert_array_equal(trained(), first)


@pytest.mark.parametrize("estimator", [PCA(3), IncrementalPCA(3), Lasso(), ElasticNet()])
def test_rows_of_the_caller_stay_as_they_are(estimator: Any, device: Recorder) -> None:
    X, y = numbers()
    X = np.asfortranarray(X * np.float32(1e-3) + 1000)
    given = arrays.ndarray(X.copy(order="F"))
    model = Accelerated(estimator, device="cuda").fit(
        given, None if hasattr(estimator, "copy") else y
    )
    np.testing.assert_array_equal(given._host, X)
    model.transform(given) if hasattr(estimator, "transform") else model.predict(given)
    np.testing.assert_array_equal(given._host, X)


def test_rows_that_a_step_has_made_are_not_copied(device: Recorder) -> None:
    X, _ = blobs()
    model = Accelerated(make_pipeline(StandardScaler(), PCA(3)), device="cuda").fit(X)
    device.clear()
    model.transform(X)
    assert [call for call in device.calls if call.name == "copy"] == []


def test_rows_within_a_radius_are_those_of_scikit_learn(device: Recorder) -> None:
    X, _ = blobs()
    model = Accelerated(NearestNeighbors(radius=2.0), device="cuda").fit(X)
    reference = NearestNeighbors(radius=2.0).fit(X)
    for radius in (None, 0.5):
        found = model.radius_neighbors_graph(X[:50], radius=radius)
        wanted = reference.radius_neighbors_graph(X[:50], radius=radius)
        assert sparse.issparse(found)
        assert found.shape == (50, len(X))
        assert (found != wanted).nnz == 0
    assert faults(device.calls) == []


def test_a_radius_that_cuml_does_not_take_is_told(device: Recorder) -> None:
    X, _ = blobs()
    model = Accelerated(NearestNeighbors(), device="cuda").fit(X)
    with pytest.raises(Unsupported, match=r"use to_sklearn\(\).radius_neighbors_graph"):
        model.radius_neighbors_graph(X, radius="far")


def test_forests_do_not_take_missing_values(device: Recorder) -> None:
    X, y = classes()
    X[3, 2] = np.nan
    assert refused(FOREST, X, y) == "cuML does not take missing values (NaN)"
    assert device.copies[0].to == "device"


def test_missing_values_that_scikit_learn_refuses_too_are_bad_data(device: Recorder) -> None:
    X, y = classes()
    model = Accelerated(LogisticRegression(), device="cuda", fallback=True).fit(X, y)
    X[3, 2] = np.nan
    for ask in (model.predict, lambda X: model.fit(X, y)):
        with pytest.raises(DataError, match="logisticregression: cuML does not take missing"):
            ask(X)


@pytest.mark.parametrize("labels", [[0, 1, 2], ["a", "b", "c"]], ids=["numbers", "text"])
def test_support_vectors_of_three_classes_learn_and_stay_where_they_are(
    labels: list[Any], device: Recorder
) -> None:
    X, y = classes(3)
    y = np.array(labels)[y]
    ours = Accelerated(SVC(), device="cuda").fit(X, y)
    assert ours.execution_log_.to_host_bytes == X.nbytes
    np.testing.assert_array_equal(ours.predict(X), SVC().fit(X, y).predict(X))
    (made,) = [call for call in device.calls if call.name == "__init__"]
    assert made.kwargs["decision_function_shape"] == "ovo", "as scikit-learn trains"
    (place,) = explain(SVC(), "cuda").placements
    assert "of more than two classes" in place.note
    assert "to_sklearn() is not possible" in place.note
    with pytest.raises(Unsupported, match="cannot take over cuML's SVC of more than two classes"):
        ours.to_sklearn()
    told = refused(SVC(decision_function_shape="ovo"), X, y)
    assert told == "cuML's SVC has no decisions of each pair of classes"


def test_several_targets(device: Recorder) -> None:
    X, y = numbers()
    Y = np.column_stack([y, -y])
    assert refused(Lasso(), X, Y) == "cuML's Lasso learns one target and y has 2"
    assert refused(FOREST, X, np.int64(Y > 1)).endswith("learns one target and y has 2")
    ours = Accelerated(Ridge(), device="cuda").fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), Ridge().fit(X, Y).predict(X), rtol=1e-6)


def test_weights_go_to_those_who_take_them(device: Recorder) -> None:
    X, y = classes()
    weights = np.linspace(0.1, 1.0, len(y))
    ours = Accelerated(GaussianNB(), device="cuda").fit(X, y, sample_weight=weights)
    reference = GaussianNB().fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.predict_proba(X), reference.predict_proba(X), rtol=1e-6)
    assert ours.execution_log_.entries[1].to_device_bytes == y.nbytes + weights.nbytes
    told = refused(MultinomialNB(), *counts(), sample_weight=weights)
    assert told == "the fit of cuML's MultinomialNB takes no sample_weight"


def test_a_method_that_cuml_lacks_is_on_the_lifted_model(device: Recorder) -> None:
    X, _ = blobs()
    model = Accelerated(PCA(3), device="cuda").fit(X)
    with pytest.raises(Unsupported, match=r"no score_samples; use to_sklearn\(\).score_samples"):
        model.score_samples(X)
    np.testing.assert_allclose(
        model.to_sklearn().score_samples(X), PCA(3).fit(X).score_samples(X), rtol=1e-6
    )


def test_reduction_in_the_middle_stays_on_the_device(device: Recorder) -> None:
    X, y = classes()
    estimator = make_pipeline(StandardScaler(), PCA(3), KNeighborsClassifier())
    model = Accelerated(estimator, device="cuda").fit(X, y)
    assert model.execution_log_.to_host_bytes < 1000  # the statistics of the scaler
    assert [step.device for step in model.plan_.steps] == ["cuda"] * 3
    np.testing.assert_array_equal(model.predict(X), clone(estimator).fit(X, y).predict(X))
    assert faults(device.calls) == []


def test_learns_in_batches(device: Recorder) -> None:
    X, y = counts()
    ours = Accelerated(MultinomialNB(), device="cuda")
    reference = MultinomialNB()
    for rows in (slice(0, 200), slice(200, None)):
        ours.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
        reference.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    np.testing.assert_allclose(ours.predict_proba(X), reference.predict_proba(X), rtol=1e-6)


def test_none_is_the_category_that_sklearn_has(device: Recorder) -> None:
    X = pd.DataFrame({"c": pd.Series(["a", None, "b"] * 10, dtype=object)})
    model = Accelerated(OneHotEncoder(), device="cuda").fit(X)
    assert model.certify(X).require().passed == "pandas.DataFrame, as it was passed"
    names = OneHotEncoder().fit(X).get_feature_names_out().tolist()
    assert model.get_feature_names_out().tolist() == names
    assert faults(device.calls) == []
