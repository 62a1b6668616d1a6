"""A search inside what scikit-learn has, and around what we have."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from optuna.distributions import FloatDistribution
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pipeline import Accelerated, Search, load, save, shared
from pipeline.errors import ConfigError

_BUNCH = load_breast_cancer(as_frame=True)
X, Y = _BUNCH.data.iloc[::3], _BUNCH.target.iloc[::3]
C = FloatDistribution(1e-3, 1e2, log=True)


def accelerated() -> Accelerated:
    steps = make_pipeline(StandardScaler(), LogisticRegression())
    return Accelerated(steps, device="cpu", dtype="float64")


def search_of(estimator: Any = None, **settings: Any) -> Search:
    estimator = accelerated() if estimator is None else estimator
    names = [name for name in estimator.get_params() if name.rpartition("__")[2] == "C"]
    return Search(estimator, dict.fromkeys(names, C), trials=4, cv=3, random_state=0, **settings)


@pytest.fixture(scope="module")
def fitted() -> Search:
    return search_of().fit(X, Y)


def test_nested_folds_share_what_they_have_in_common() -> None:
    found = cross_validate(search_of(), shared(X), Y, cv=2, return_estimator=True)
    for search in found["estimator"]:
        assert {"fit", "reused"} <= {event.call for event in search.execution_log_.entries}


@pytest.mark.parametrize(
    "outer",
    [
        lambda search: make_pipeline(StandardScaler(), search),
        lambda search: CalibratedClassifierCV(search, cv=2),
        lambda search: StackingClassifier([("search", search)], cv=2),
    ],
    ids=["pipeline", "calibrated", "stacked"],
)
def test_within_estimators_of_scikit_learn(outer: Any) -> None:
    model = outer(search_of(make_pipeline(StandardScaler(), LogisticRegression())))
    assert clone(model).fit(X, Y).score(X, Y) > 0.95


def test_copies_of_what_is_fitted(fitted: Search, tmp_path: Path) -> None:
    joblib.dump(fitted, tmp_path / "search")
    for each in (joblib.load(tmp_path / "search"), copy.deepcopy(fitted)):
        np.testing.assert_array_equal(each.predict_proba(X), fitted.predict_proba(X))
        assert each.study_.best_value == fitted.best_score_
        assert each.cv_results_.keys() == fitted.cv_results_.keys()
        assert each.fit(X, Y).best_params_ == fitted.best_params_
    assert not hasattr(clone(fitted), "best_params_")


def test_another_fit_forgets_the_last_one(fitted: Search) -> None:
    again = copy.deepcopy(fitted).set_params(refit=False)
    again.fit(X.to_numpy(), Y)
    assert not hasattr(again, "best_estimator_")
    assert not hasattr(again, "feature_names_in_")
    with pytest.raises(AttributeError, match="has no attribute 'predict'"):
        again.predict(X)


def test_the_best_is_a_model_like_any_other(fitted: Search, tmp_path: Path) -> None:
    assert isinstance(fitted.best_estimator_, Accelerated)
    calls = [event.call for event in fitted.best_estimator_.execution_log_.events]
    assert "fit" in calls
    assert fitted.n_features_in_ == X.shape[1]
    assert fitted.feature_names_in_.tolist() == list(X)
    model = load(save(fitted.best_estimator_, tmp_path / "model"), "cpu")
    np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))
    with pytest.raises(ConfigError, match="not Search; pass its best_estimator_"):
        save(fitted, tmp_path / "search")


def test_rows_of_any_kind_are_taken(fitted: Search) -> None:
    for rows in (X.to_numpy(), shared(X), X.to_numpy().tolist()):
        search = search_of().fit(rows, Y)
        assert search.best_params_ == fitted.best_params_
        np.testing.assert_allclose(
            search.cv_results_["mean_test_score"], fitted.cv_results_["mean_test_score"]
        )
