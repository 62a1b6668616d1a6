"""`Search` without stopping, against `GridSearchCV` over the candidates that it has drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.svm import SVC

from pipeline import Search

X, Y = make_classification(n_samples=120, n_features=6, random_state=0)
VALUES = make_regression(n_samples=120, n_features=6, n_targets=2, noise=5, random_state=0)
WEIGHTS = np.random.default_rng(0).integers(1, 4, 120).astype(float)
GROUPS = np.arange(120) % 7
C = {"C": FloatDistribution(1e-3, 1e2, log=True)}
ALPHA = {"alpha": FloatDistribution(1e-3, 1e4, log=True)}
TIMES = {f"{what}_{name}_time" for what in ("mean", "std") for name in ("fit", "score")}


def assert_same(search: Search, X: Any, y: Any = None, **params: Any) -> Search:
    """Compare a search with the grid of one-value grids of its candidates."""
    search.fit(X, y, **params)
    grids = [{name: [value] for name, value in p.items()} for p in search.cv_results_["params"]]
    grid = GridSearchCV(
        search.estimator, grids, cv=search.cv, scoring=search.scoring, refit=search.refit
    ).fit(X, y, **params)
    ours, theirs = search.cv_results_, grid.cv_results_
    assert set(ours) - set(theirs) == {"state", "reason", "trial"}
    assert set(theirs) <= set(ours)
    for name in theirs.keys() - TIMES - {"params"}:
        assert type(ours[name]) is type(theirs[name]), name
        assert ours[name].dtype == theirs[name].dtype, name
        np.testing.assert_array_equal(ours[name], theirs[name], name)
    assert ours["params"] == theirs["params"]
    for name in ("n_splits_", "best_index_", "best_score_", "best_params_", "multimetric_"):
        assert getattr(search, name) == getattr(grid, name), name
    if search.refit:
        for name in ("score", "n_features_in_"):
            assert hasattr(search, name) == hasattr(grid, name), name
        assert search.score(X, y) == grid.score(X, y)
        assert hasattr(search, "feature_names_in_") == hasattr(grid, "feature_names_in_")
    return search


def plain(estimator: Any, space: Any, **settings: Any) -> Search:
    settings = {"trials": 4, "prune": False, "cv": 3, "random_state": 0, **settings}
    return Search(estimator, space, **settings)


LOGISTIC, FRAME = LogisticRegression(), pd.DataFrame(X, index=np.arange(120)[::-1])
CUTS = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(50))]
CLUSTERS = {"n_clusters": IntDistribution(2, 6)}
CASES: dict[str, tuple[Search, Any, Any]] = {
    "no metric": (plain(LOGISTIC, C), X, Y),
    "a loss": (plain(LOGISTIC, C, scoring="neg_log_loss"), X, Y),
    "a scorer": (plain(LOGISTIC, C, scoring=get_scorer("f1")), X, Y),
    "a function": (plain(LOGISTIC, C, scoring=lambda model, X, y: -model.C), X, Y),
    "equal scores": (plain(LOGISTIC, C, scoring=lambda *_: 0.5), X, Y),
    "a frame": (plain(LOGISTIC, C), FRAME, pd.Series(Y, index=FRAME.index)),
    "shuffled": (plain(LOGISTIC, C, cv=KFold(3, shuffle=True, random_state=1)), X, Y),
    "positions": (plain(LOGISTIC, C, cv=CUTS), X, Y),
    "several targets": (plain(Ridge(), ALPHA), *VALUES),
    "clusters": (plain(KMeans(n_init=1, random_state=0), CLUSTERS), X, None),
    "distances": (plain(SVC(kernel="precomputed"), C), X @ X.T, Y),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_found_is_what_a_grid_finds(name: str) -> None:
    search = assert_same(*CASES[name])
    assert search.cv_results_["state"].tolist() == ["complete"] * 4
    assert search.cv_results_["trial"].tolist() == [0, 1, 2, 3]


def test_groups_and_weights() -> None:
    search = plain(LogisticRegression(), C, cv=GroupKFold(3), scoring="accuracy")
    assert_same(search, X, Y, groups=GROUPS, sample_weight=WEIGHTS)
    with pytest.raises(ValueError, match="groups"):
        search.fit(X, Y)


def test_without_a_last_fit_there_is_nothing_to_predict_with() -> None:
    search = assert_same(plain(LogisticRegression(), C, refit=False), X, Y)
    grid = GridSearchCV(LogisticRegression(), {"C": [1]}, refit=False).fit(X, Y)
    for name in ("predict", "predict_proba", "classes_", "n_features_in_"):
        with pytest.raises(AttributeError) as ours:
            getattr(search, name)
        with pytest.raises(AttributeError) as theirs:
            getattr(grid, name)
        assert str(ours.value).replace("Search", "GridSearchCV") == str(theirs.value)
    with pytest.raises(AttributeError, match="refit=False"):
        search.score(X, Y)
