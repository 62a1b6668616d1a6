"""Every estimator that has a rule, on a GPU, against scikit-learn within its tolerance."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC, LinearSVR

from pipeline import Accelerated
from pipeline.backends.base import METHODS
from pipeline.optional import available, load
from pipeline.system import devices
from tests.estimators import (
    CASES,
    ROWS,
    Case,
    binary,
    blobs,
    classes,
    grouping,
    named,
    neighbourhoods,
    numbers,
    score,
)

LIFTED = 1e-4
"""How far the lifted model may be from the device's own answers."""
ONE_ROW = 1 / ROWS
CUT = "a value within rounding of a cut falls on its other side"
TIE = "of two neighbours that are equally far within rounding another one is taken"
DIFFERING = {
    **dict.fromkeys(("RandomForestClassifier", "RandomForestRegressor", "IsolationForest"), CUT),
    **dict.fromkeys(("KNeighborsClassifier", "KNeighborsRegressor"), TIE),
}
"""Estimator -> why a lifted model may answer otherwise for one row."""
SUMMED_OTHERWISE = ("XGBClassifier", "XGBRFClassifier", "XGBRFRegressor", "XGBRegressor")
"""Gradients are added up in another order, so cuts and rows differ: these are held to the score."""
AS_GOOD = 0.03


@pytest.mark.parametrize("case", CASES, ids=named)
def test_comes_as_near_to_the_reference_as_its_row_says(case: Case) -> None:
    X, y = case.data()
    reference = clone(case.estimator).fit(X, y, **case.params)
    ours = Accelerated(clone(case.estimator), device="cuda").fit(X, y, **case.params)
    assert {entry.device for entry in ours.execution_log_.entries if entry.call == "fit"} == {
        "cuda"
    }
    assert ours.execution_log_.to_host_bytes == 0
    if named(case) in SUMMED_OTHERWISE:
        assert score(ours, reference, X, y) <= AS_GOOD
    else:
        assert case.compare(ours, reference, X, y) <= case.tolerance


class OnTheHost(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        assert module.partition(".")[0] not in devices.STACK, f"{module}.{name}"
        return super().find_class(module, name)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_the_lifted_model_answers_like_the_device(case: Case) -> None:
    X, y = case.data()
    ours = Accelerated(clone(case.estimator), device="cuda").fit(X, y, **case.params)
    lifted: Any = ours.to_sklearn()
    # On a machine without a GPU it can be unpickled as well.
    assert type(OnTheHost(io.BytesIO(pickle.dumps(lifted))).load()) is type(case.estimator)
    if any(hasattr(ours, name) for name in METHODS):
        differing = ONE_ROW if named(case) in DIFFERING else 0
        ours.certify(X, rtol=LIFTED, atol=LIFTED, differing=differing).require()
    for name in ("labels_", "embedding_"):
        if hasattr(lifted, name):
            assert len(getattr(lifted, name)) == len(X)


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if any(hasattr(case.estimator, name) for name in METHODS)],
    ids=named,
)
def test_float64_is_learnt_in_float32_and_the_lifted_model_answers_alike(case: Case) -> None:
    X, y = case.data()
    X = X.astype("float64") * (1 + 2.0**-30)
    ours = Accelerated(clone(case.estimator), device="cuda").fit(X, y, **case.params)
    differing = ONE_ROW if named(case) in DIFFERING else 0
    ours.certify(X, rtol=LIFTED, atol=LIFTED, differing=differing).require()


WEIGHTED = [
    (LogisticRegression(C=0.05), binary),
    (LogisticRegression(C=0.05, class_weight={0: 0.1, 1: 3.0}), binary),
    (LinearSVC(C=0.005, dual=False), binary),
    (LinearSVR(C=0.005, loss="squared_epsilon_insensitive", dual=False), numbers),
    (Lasso(0.05), numbers),
    (ElasticNet(0.05), numbers),
    (LinearRegression(), numbers),
    (Ridge(), numbers),
]


@pytest.mark.parametrize("total", [1, 40, 40_000], ids=lambda total: f"sum {total}")
@pytest.mark.parametrize(
    ("estimator", "data"), WEIGHTED, ids=lambda value: getattr(value, "__name__", str(value)[:25])
)
def test_weights_have_the_optimum_of_scikit_learn(estimator: Any, data: Any, total: float) -> None:
    X, y = data()
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(X))
    weights *= total / weights.sum()
    assert_same_coefficients(estimator, X, y, sample_weight=weights)


@pytest.mark.parametrize("rows", [2000, 2_000_000])
def test_redundant_columns_have_no_say(rows: int) -> None:
    random = np.random.default_rng(0)
    X = random.integers(0, [12, 30], (rows, 2))
    y = random.normal(size=12)[X[:, 0]] + random.normal(size=30)[X[:, 1]] + random.normal(size=rows)
    encoder = OneHotEncoder(handle_unknown="ignore")
    ours = Accelerated(make_pipeline(encoder, LinearRegression()), device="cuda").fit(X, y)
    reference = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LinearRegression()).fit(X, y)
    asked = np.vstack([X[:1000], [[99, 99]]])
    difference = np.abs(ours.predict(asked) - reference.predict(asked)).max()
    assert difference < 1e-3 * y.std()


@pytest.mark.parametrize("span", [2e5, 4e8])
def test_what_is_small_beside_another_column_is_nothing_where_it_is_to_scikit_learn(
    span: float,
) -> None:
    random = np.random.default_rng(0)
    X = np.column_stack([1.7e9 + random.uniform(0, span, 20_000), random.uniform(size=20_000)])
    y = X @ [1 / span, 2] + random.normal(size=len(X))
    ours = Accelerated(LinearRegression(), device="cuda", dtype="float64").fit(X, y)
    assert np.abs(ours.predict(X) - LinearRegression().fit(X, y).predict(X)).max() < 1e-5


@pytest.mark.parametrize("estimator", [RandomForestClassifier(), RandomForestRegressor()])
def test_forests_are_cumls_own_and_come_back_whole(estimator: Any) -> None:
    X, y = classes()
    model = Accelerated(clone(estimator).set_params(min_samples_leaf=np.int64(5)), device="cuda")
    lifted: Any = model.fit(X, y).to_sklearn()
    assert min(tree.tree_.n_node_samples.min() for tree in lifted.estimators_) >= 5
    assert len(lifted.estimators_[0].tree_.feature) > 3  # and not one leaf of all rows
    reference = clone(estimator).set_params(min_samples_leaf=5).fit(X, y).feature_importances_
    assert np.abs(lifted.feature_importances_ - reference).max() < 0.1
    again = clone(model).fit(X, y).to_sklearn()
    assert (again.feature_importances_ != lifted.feature_importances_).any()


@pytest.mark.parametrize("estimator", [RandomForestClassifier(), RandomForestRegressor()])
def test_forests_draw_rows_by_their_weights_and_hand_none_over(estimator: Any) -> None:
    X, y = classes()
    weights = np.where(X[:, 0] > 0, 4.0, 0.0)
    model = Accelerated(clone(estimator), device="cuda").fit(X, y, sample_weight=weights)
    lifted: Any = model.to_sklearn()
    assert {int(tree.tree_.n_node_samples[0]) for tree in lifted.estimators_} == {len(X)}
    reference = clone(estimator).fit(X, y, sample_weight=weights).feature_importances_
    assert np.abs(lifted.feature_importances_ - reference).max() < 0.1


@pytest.mark.parametrize("C", [0.001, 0.005, 1.0])
def test_strength_of_the_squared_hinge_is_that_of_scikit_learn(C: float) -> None:
    assert_same_coefficients(LinearSVC(C=C, dual=False), *binary())
    assert_same_coefficients(LinearSVC(C=C, dual=False), *classes(3))


def assert_same_coefficients(estimator: Any, X: Any, y: Any, **params: Any) -> None:
    reference = clone(estimator).fit(X.astype("float64"), y, **params)
    lifted: Any = Accelerated(clone(estimator), device="cuda").fit(X, y, **params).to_sklearn()
    far = np.abs(lifted.coef_ - reference.coef_).max()
    assert far <= 0.02 * np.abs(reference.coef_).max()


@pytest.mark.skipif(not available("hdbscan"), reason="hdbscan is not installed")
def test_the_packaged_hdbscan_finds_its_groups() -> None:
    X, _ = blobs()
    estimator = load("hdbscan.HDBSCAN")()
    ours = Accelerated(clone(estimator), device="cuda")
    assert grouping(ours, estimator, X, None) <= 0.02
    assert type(ours.to_sklearn()) is type(estimator)


@pytest.mark.skipif(not available("umap"), reason="umap-learn is not installed")
def test_umap_keeps_neighbours_together() -> None:
    X, _ = blobs()
    estimator = load("umap.UMAP")(random_state=0)
    ours = Accelerated(estimator, device="cuda")
    assert neighbourhoods(ours, estimator, X, None) <= 0.02


@pytest.mark.parametrize("labels", [["a", "b", "c"], [3, 5, 7]], ids=["text", "numbers"])
@pytest.mark.parametrize(
    "case",
    [c for c in CASES if hasattr(c.estimator, "predict_proba") and "XGB" not in named(c)],
    ids=named,
)
def test_labels_of_any_kind_come_back(case: Case, labels: list[Any]) -> None:
    X, y = case.data()
    if y is None or case.data.__name__ == "binary":
        pytest.skip("no three classes")
    y = np.array(labels, dtype=object if isinstance(labels[0], str) else "int64")[y]
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    ours = Accelerated(clone(case.estimator), device="cuda").fit(X, y)
    assert set(ours.predict(X_test)) <= set(labels)
    assert ours.score(X_test, y_test) > 0.5
    assert list(ours.to_sklearn().classes_) == labels
