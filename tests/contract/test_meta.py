"""Estimators of cuML inside others: in meta-estimators, in preprocessing, behind importance."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import BaggingRegressor, VotingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from pipeline import Accelerated, Unsupported, explain, load, save
from pipeline.errors import BudgetExceeded
from pipeline.planning.lower import LoweringOptions, lower
from tests.contract import cases
from tests.contract.cases import EVERYWHERE
from tests.contract.recorder import Recorder
from tests.estimators import blobs, classes, numbers
from tests.meta_estimators import META, answers, named

pytestmark = pytest.mark.usefixtures("device")


@pytest.mark.quick(8)
@pytest.mark.parametrize("case", META, ids=named)
def test_equals_scikit_learn_and_so_does_the_lifted_model(case: Any, device: Recorder) -> None:
    estimator, data = case
    X, y = data()
    X = X.astype("float64")
    whole = make_pipeline(StandardScaler(), estimator)
    reference = clone(whole).fit(X, y)
    model = Accelerated(clone(whole), device="cuda", dtype="float64").fit(X, y)
    events = model.execution_log_.entries
    assert [e.call for e in events if e.step == "standardscaler"] == ["fit_transform"]
    inner = [e for e in events if e.call == "fit" and "." in e.step and e.device == "cuda"]
    assert inner
    assert {e.step.partition(".")[0] for e in inner} == {model.plan_.steps[-1].name}
    assert model.execution_log_.to_host_bytes == device.nbytes("host", "explicit")
    lifted = model.to_sklearn()
    assert type(lifted[-1]) is type(estimator)
    assert b"pipeline.backends.meta" not in pickle.dumps(lifted)
    wanted = answers(reference, X)
    for found in (answers(model, X), answers(lifted, X)):
        for method, arrays in wanted.items():
            for made, expected in zip(found[method], arrays, strict=True):
                np.testing.assert_allclose(made, expected, rtol=1e-6, atol=1e-6, err_msg=method)


@pytest.mark.quick(5)
@pytest.mark.parametrize("case", META, ids=named)
def test_more_rows_are_waited_for_no_more_often_and_each_is_booked(
    case: Any, device: Recorder
) -> None:
    estimator, data = case
    X, y = data()
    trips = []
    for rows in (np.arange(len(X)), np.tile(np.arange(len(X)), 4)):
        device.clear()
        model = Accelerated(clone(estimator), device="cuda").fit(X[rows], y[rows])
        unbooked = device.nbytes("host") - model.execution_log_.to_host_bytes
        trips.append((device.syncs(), unbooked))
    assert trips[1][0] <= trips[0][0]
    assert trips[1][1] <= trips[0][1]


def test_a_selector_in_the_middle_hands_its_columns_on() -> None:
    X, y = numbers()
    whole = make_pipeline(StandardScaler(), SelectFromModel(Lasso(0.01)), Ridge())
    model = Accelerated(whole, device="cuda").fit(X, y)
    reference = clone(whole).fit(X.astype("float64"), y)
    assert [p.device for p in model.plan_.placements] == ["cuda", "cpu", "cuda", "cuda"]
    for made in (model, model.to_sklearn()):
        np.testing.assert_allclose(made.predict(X), reference.predict(X), rtol=1e-4, atol=1e-4)


def test_what_knows_float32_only_is_lifted_behind_a_step_that_makes_it() -> None:
    X, y = numbers()
    model = Accelerated(BaggingRegressor(KNeighborsRegressor(), 2), device="cuda", dtype="float64")
    model.fit(X.astype("float64"), y)
    lifted = model.to_sklearn()
    assert [type(step).__name__ for step in lifted.estimators_[0]] == [
        "FunctionTransformer",
        "KNeighborsRegressor",
    ]
    np.testing.assert_allclose(lifted.predict(X), model.predict(X), rtol=1e-6)


def test_sparse_rows_are_cut_on_the_host_too() -> None:
    texts = ["red green", "blue", "green", "blue red", "red", "blue green"] * 5
    y = ["r", "b", "g", "b", "r", "g"] * 5
    whole = make_pipeline(TfidfVectorizer(), OneVsRestClassifier(MultinomialNB()))
    model = Accelerated(whole, device="cuda").fit(texts, y)
    assert model.predict(texts).tolist() == clone(whole).fit(texts, y).predict(texts).tolist()


def test_rows_that_come_to_the_host_are_on_the_budget() -> None:
    X, y = classes()
    X = np.tile(X, (20, 1))
    whole = make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression()))
    model = Accelerated(whole, device="cuda", host_bytes=0)
    with pytest.raises(BudgetExceeded, match="onevsrestclassifier: copy would bring"):
        model.fit(X, np.tile(y, 20))


def test_what_only_the_data_show_sends_all_of_it_to_the_host_where_that_is_allowed() -> None:
    X, y = classes()
    estimator = BaggingRegressor(LogisticRegression(), 2)
    voting = VotingClassifier([("a", LogisticRegression()), ("b", GaussianNB())])
    plan = lower(voting, "cuda", LoweringOptions(fallback=True))
    assert plan.steps[0].on_host is not None
    model = Accelerated(estimator, device="cuda", fallback=True).fit(X, y)
    (place,) = model.plan_.placements
    assert place.device == "cpu"
    assert "sample_weight" in place.note, "bags are weights, which three classes have none of"


def test_a_saved_one_answers_on_the_host(tmp_path: Path) -> None:
    X, y = classes()
    whole = make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression()))
    model = Accelerated(whole, device="cuda").fit(X, y)
    loaded = load(save(model, tmp_path / "model"), "cuda")
    assert [place.device for place in loaded.plan_.placements] == ["cuda", "cpu"]
    assert "no way onto the GPU" in loaded.plan_.placements[1].note
    np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), rtol=1e-5)


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
    "union": (make_union(PCA(3), SVD, StandardScaler()), ROWS),
    "nested": (make_pipeline(make_pipeline(StandardScaler(), PCA(3)), StandardScaler()), ROWS),
    "distances": (make_union(KMeans(4, random_state=0), StandardScaler()), ROWS),
}


@EVERYWHERE
@pytest.mark.parametrize("name", PROGRAMS)
def test_transformers_of_cuml_run_inside_preprocessing_and_are_lifted(
    name: str, tmp_path: Path
) -> None:
    preprocessing, X = PROGRAMS[name]
    whole = make_pipeline(clone(preprocessing), StandardScaler(), LogisticRegression())
    places = {place.step: place for place in explain(whole, "cuda").placements}
    assert {place.device for place in places.values()} == {"cuda"}
    assert any(place.implementation.startswith("cuml.") for place in [*places.values()][:-1])
    model = Accelerated(clone(whole), device="cuda", dtype="float64").fit(X, TARGET)
    assert {p.step: p.implementation for p in model.plan_.placements} == {
        step: place.implementation for step, place in places.items()
    }
    assert model.execution_log_.rows_bytes == 0, "no rows come back"
    reference = clone(whole).fit(X, TARGET)
    loaded: Any = load(save(model, tmp_path / "model"), "cuda")
    for made in (model, model.to_sklearn(), loaded, load(tmp_path / "model", "cpu")):
        np.testing.assert_allclose(made.predict_proba(X), reference.predict_proba(X), atol=1e-3)


def test_a_parameter_that_cuml_refuses_is_told_with_its_path() -> None:
    whole = make_pipeline(make_union(PCA(0.5), StandardScaler()), LogisticRegression())
    with pytest.raises(Unsupported, match=r"featureunion\.pca\(n_components\): cuML has no equiv"):
        Accelerated(whole, device="cuda").fit(ROWS, TARGET)
    model = Accelerated(whole, device="cuda", fallback=True).fit(ROWS, TARGET)
    placed = {place.step: place for place in model.plan_.placements}["featureunion.pca"]
    assert placed.device == "cpu"
    assert "cuML has no equivalent" in placed.note


@pytest.mark.parametrize(
    ("products", "there", "max_samples"), [(True, False, 1.0), (False, True, 0.5)]
)
def test_importance_is_that_of_sklearn(products: bool, there: bool, max_samples: float) -> None:
    numbers: Any = [SimpleImputer(), StandardScaler(), *([PolynomialFeatures(2)] * products)]
    columns = make_column_transformer(
        (make_pipeline(*numbers), ["amount", "count"]), (OneHotEncoder(), ["colour"])
    )
    X = cases.table()
    y = cases.target(X, 2)
    model = Accelerated(
        make_pipeline(columns, LogisticRegression()), device="cuda", dtype="float64"
    ).fit(X, y)
    given = cases.to_cudf(X) if there else X
    asked: Any = {"scoring": "neg_log_loss", "random_state": 0, "max_samples": max_samples}
    found = model.importance(given, pd.Series(y), repeats=2, **asked)
    expected = permutation_importance(model, X, y, n_repeats=2, **asked)
    np.testing.assert_allclose(found.importances, expected.importances, rtol=1e-9, atol=1e-12)
    assert list(found.feature_names) == list(X)
    idle = ~np.isin(found.feature_names.astype(str), ["amount", "count", "colour"])
    assert np.ptp(found.importances[idle]) == 0
    assert np.ptp(found.importances[~idle], axis=1).min() > 0


def test_the_table_is_copied_to_the_device_once(device: Recorder) -> None:
    X = cases.table()
    columns = make_column_transformer((OneHotEncoder(), ["colour"]))
    y = cases.target(X, 2)
    model = Accelerated(make_pipeline(columns, LogisticRegression()), device="cuda").fit(X, y)
    model.importance(X, y, repeats=3)
    log = model.execution_log_.last
    assert [event.call for event in log.events if event.to_device_bytes > len(X) * 8] == ["copy"]
