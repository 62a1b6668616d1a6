"""Estimators of cuML inside others: in meta-estimators, in preprocessing, behind importance."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from pipeline import Accelerated, Unsupported, explain, load, save
from tests.contract import cases
from tests.contract.cases import EVERYWHERE
from tests.contract.recorder import Recorder
from tests.estimators import blobs
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


ROWS, APART = (blobs(spread)[0].astype("float64") for spread in (3.0, 0.8))
"""Clusters that touch, and those where k-means ends at the same centres wherever it starts."""
TABLE = pd.DataFrame(ROWS, columns=list("abcdef"))
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
    "distances": (
        make_union(KMeans(4, n_init=10, random_state=0), StandardScaler()),
        APART,
    ),
}


@EVERYWHERE
@pytest.mark.parametrize("name", PROGRAMS)
def test_transformers_of_cuml_run_inside_preprocessing_and_are_lifted(
    name: str, tmp_path: Path
) -> None:
    preprocessing, X = PROGRAMS[name]
    # With tol=1e-4 the solvers stop up to 2e-3 apart, scikit-learn's farther from the optimum.
    last = LogisticRegression(tol=1e-6)
    whole = make_pipeline(clone(preprocessing), StandardScaler(), last)
    places = {place.step: place for place in explain(whole, "cuda").placements}
    assert {place.device for place in places.values()} == {"cuda"}
    assert any(place.implementation.startswith("cuml.") for place in [*places.values()][:-1])
    model = Accelerated(clone(whole), device="cuda", dtype="float64").fit(X, TARGET)
    assert {p.step: p.implementation for p in model.plan_.placements} == {
        step: place.implementation for step, place in places.items()
    }
    assert model.execution_log_.rows_bytes == 0, "no rows come back"
    answered = model.predict_proba(X)
    wanted = clone(whole).fit(X, TARGET).predict_proba(X)
    np.testing.assert_allclose(answered, wanted, atol=1e-4)
    loaded: Any = load(save(model, tmp_path / "model"), "cuda")
    for made in (model.to_sklearn(), loaded, load(tmp_path / "model", "cpu")):
        np.testing.assert_allclose(made.predict_proba(X), answered, atol=1e-6)


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


@EVERYWHERE
@pytest.mark.parametrize("max_samples", [1.0, 0.5])
def test_importance_of_sparse_rows_is_that_of_dense_ones(max_samples: float) -> None:
    X = csr_matrix(np.where(ROWS > 0, ROWS, 0))
    asked: Any = {"scoring": "neg_log_loss", "random_state": 0, "max_samples": max_samples}
    model = Accelerated(LogisticRegression(), device="cuda", dtype="float64").fit(X, TARGET)
    found, lifted = model.importance(X, TARGET, repeats=2, **asked), model.to_sklearn()
    expected = permutation_importance(lifted, X.toarray(), TARGET, n_repeats=2, **asked)
    np.testing.assert_allclose(found.importances, expected.importances, rtol=1e-6, atol=1e-9)


def test_a_parameter_that_cuml_refuses_is_told_with_its_path() -> None:
    whole = make_pipeline(make_union(PCA(0.5), StandardScaler()), LogisticRegression())
    with pytest.raises(Unsupported, match=r"featureunion\.pca\(n_components\): cuML has no equiv"):
        Accelerated(whole, device="cuda").fit(ROWS, TARGET)
    model = Accelerated(whole, device="cuda", fallback=True).fit(ROWS, TARGET)
    placed = {place.step: place for place in model.plan_.placements}["featureunion.pca"]
    assert placed.device == "cpu"
    assert "cuML has no equivalent" in placed.note
