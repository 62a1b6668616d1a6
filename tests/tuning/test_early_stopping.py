"""Rows that early stopping is judged by, against scikit-learn and XGBoost by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from optuna.distributions import CategoricalDistribution, IntDistribution
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.metrics import get_scorer, roc_auc_score
from sklearn.model_selection import GroupKFold, StratifiedKFold, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder
from xgboost import XGBClassifier, XGBRegressor

from pipeline import Accelerated, Search
from pipeline.errors import ConfigError, DataError
from pipeline.tuning.early_stopping import hold_out

rng = np.random.default_rng(0)
N = 600
X = pd.DataFrame({
    "place": pd.Categorical(rng.integers(0, 40, N).astype(str)),
    "a": rng.normal(size=N), "b": rng.normal(size=N),
})  # fmt: skip
y = (X["a"] + 0.5 * X["b"] + rng.normal(size=N) > 0).astype(int).to_numpy()
WEIGHTS = rng.uniform(0.5, 1.5, N)
GROUPS = rng.integers(0, 30, N)
BOOSTED = XGBClassifier(n_estimators=60, learning_rate=0.3, early_stopping_rounds=4, n_jobs=1)
DEPTH = "xgbclassifier__max_depth"


def program() -> Any:
    encoder = TargetEncoder(cv=StratifiedKFold(3, shuffle=True, random_state=0))
    columns = make_column_transformer((encoder, ["place"]), ("passthrough", ["a", "b"]))
    return make_pipeline(columns, clone(BOOSTED))


def search(**settings: Any) -> Search:
    asked = {"trials": 1, "cv": 3, "scoring": "roc_auc", "random_state": 0, **settings}
    space = {f"estimator__{DEPTH}": IntDistribution(3, 3)}
    return Search(Accelerated(program(), device="cpu", dtype="float64"), space, **asked)


def by_hand(train: np.ndarray, test: np.ndarray | None, held: Any, weights: Any = None) -> Any:
    """Return the score on a fold, or the fitted steps: the prefix sees what it learns from."""
    prefix, last = clone(program()[:-1]), clone(BOOSTED).set_params(max_depth=3)
    taught, judging = held
    more: dict[str, Any] = {}
    if weights is not None:
        more = {"sample_weight": weights[taught], "sample_weight_eval_set": [weights[judging]]}
    made = prefix.fit_transform(X.iloc[taught], y[taught])
    judged = [(prefix.transform(X.iloc[judging]), y[judging])]
    last.fit(made, y[taught], eval_set=judged, verbose=False, **more)
    if test is None:
        return prefix, last
    answers = last.predict_proba(prefix.transform(X.iloc[test]))[:, 1]
    # Without routing, the searches of scikit-learn weigh the rows of a score too.
    weighed = None if weights is None else weights[test]
    return roc_auc_score(y[test], answers, sample_weight=weighed)


CASES = {
    "stratified": (StratifiedKFold(3), {}),
    "weights": (StratifiedKFold(3), {"sample_weight": WEIGHTS}),
    "groups": (GroupKFold(3), {"groups": GROUPS}),
    "time": (TimeSeriesSplit(3), {}),
}


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", CASES)
def test_scores_are_those_of_steps_that_never_saw_the_judging_rows(name: str) -> None:
    cv, given = CASES[name]
    found = search(cv=cv).fit(X, y, **given)
    seed = int(np.random.RandomState(0).randint(2**31))
    choose = {"fraction": 0.1, "groups": given.get("groups"), "seed": seed}
    choose["folds"] = [*cv.split(X, y, given.get("groups"))]
    for i, (train, test) in enumerate(cv.split(X, y, given.get("groups"))):
        held = hold_out(BOOSTED, train, y, **choose)
        expected = by_hand(train, test, held, given.get("sample_weight"))
        assert found.cv_results_[f"split{i}_test_score"][0] == pytest.approx(expected, abs=1e-7)
    held = hold_out(BOOSTED, np.arange(N), y, **choose)
    prefix, last = by_hand(np.arange(N), None, held, given.get("sample_weight"))
    refitted = found.best_estimator_.to_sklearn()
    assert refitted[-1].best_iteration == last.best_iteration < 59
    np.testing.assert_allclose(
        found.predict_proba(X), last.predict_proba(prefix.transform(X)), atol=1e-6
    )


def test_metadata_routing() -> None:
    with config_context(enable_metadata_routing=True):
        last = clone(BOOSTED).set_fit_request(sample_weight=True)
        model = Accelerated(make_pipeline(program()[0], last), device="cpu", dtype="float64")
        scorer = get_scorer("roc_auc").set_score_request(sample_weight=True)
        space = {f"estimator__{DEPTH}": IntDistribution(3, 3)}
        found = Search(model, space, trials=1, cv=3, scoring=scorer, random_state=0)
        found.fit(X, y, sample_weight=WEIGHTS)
    unrouted = search().fit(X, y, sample_weight=WEIGHTS)
    assert found.best_score_ == unrouted.best_score_


@pytest.mark.parametrize("drawn", [False, True])
def test_what_does_not_prepare_the_rows_is_refused(drawn: bool) -> None:
    rounds = "xgbclassifier__early_stopping_rounds"
    model = program().set_params(**{rounds: None if drawn else 5})
    space = CategoricalDistribution([None, 5]) if drawn else IntDistribution(2, 3)
    with pytest.raises(ConfigError, match=f"{rounds}: a .* does not transform .* Accelerated"):
        Search(model, {rounds if drawn else DEPTH: space}, trials=1).fit(X, y)
    inner = TransformedTargetRegressor(XGBRegressor(early_stopping_rounds=5))
    with pytest.raises(ConfigError, match="estimator__regressor__early_stopping_rounds: a Transf"):
        Search(Accelerated(inner), {"estimator__regressor__max_depth": [2, 3]}, trials=1).fit(X, y)


def test_shares_of_classes_are_kept() -> None:
    labels = np.repeat([0, 1, 2], [800, 150, 50])
    taught, judging = choose(np.arange(1000), labels, fraction=0.2)
    assert np.bincount(labels[judging]).tolist() == [160, 30, 10]
    assert sorted([*taught, *judging]) == list(range(1000))


def test_groups_stay_whole() -> None:
    taught, judging = choose(np.arange(100, N), y, groups=GROUPS)
    assert not set(GROUPS[taught]) & set(GROUPS[judging])
    assert sorted([*taught, *judging]) == list(range(100, N))


def test_the_last_rows_judge_where_they_are_in_order() -> None:
    taught, judging = choose(np.arange(50, 150), y, folds=[UNORDERED[0][::-1]])
    assert judging.tolist() == list(range(140, 150))
    assert taught.tolist() == list(range(50, 140))


@pytest.mark.parametrize("fraction", [0.01, 0.99])
def test_too_few_rows(fraction: float) -> None:
    with pytest.raises(DataError, match=f"validation_fraction={fraction} of 20 rows leaves"):
        choose(np.arange(20), y, fraction=fraction)


UNORDERED = [(np.array([1]), np.array([0]))]


def choose(positions: np.ndarray, y: np.ndarray, model: Any = BOOSTED, **changed: Any) -> Any:
    asked = {
        "fraction": 0.1,
        "groups": None,
        "folds": UNORDERED,
        "seed": 0,
        **changed,
    }
    return hold_out(model, positions, y, **asked)
