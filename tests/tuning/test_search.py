"""`Search` against scikit-learn's own searches."""

from __future__ import annotations

import numpy as np
import pytest
from optuna.distributions import FloatDistribution
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pipeline import Accelerated, Search

X, y = load_breast_cancer(return_X_y=True)
NAME = "estimator__logisticregression__C"
SPACE = {NAME: FloatDistribution(1e-4, 1e2, log=True)}


def model() -> Accelerated:
    return Accelerated(make_pipeline(StandardScaler(), LogisticRegression()), device="cpu")


@pytest.fixture(scope="module")
def search() -> Search:
    return Search(model(), SPACE, trials=8, scoring="roc_auc", random_state=0).fit(X, y)


def test_scores_are_those_of_cross_val_score(search: Search) -> None:
    best = model().set_params(**search.best_params_)
    expected = cross_val_score(best, X, y, scoring="roc_auc")
    splits = [search.cv_results_[f"split{i}_test_score"][search.best_index_] for i in range(5)]
    np.testing.assert_allclose(splits, expected, rtol=0, atol=1e-7)


def test_the_first_candidate_is_the_estimator_itself(search: Search) -> None:
    assert search.cv_results_["params"][0] == {NAME: 1.0}


def test_the_best_is_fitted_on_all_rows(search: Search) -> None:
    again = model().set_params(**search.best_params_).fit(X, y)
    np.testing.assert_allclose(search.predict_proba(X), again.predict_proba(X), atol=1e-7)
