"""`Search` against scikit-learn's own searches."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from optuna.distributions import FloatDistribution
from sklearn.callback import ProgressBar
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pipeline import Accelerated, Search
from pipeline.errors import ConfigError, DataError
from pipeline.tuning import loop
from pipeline.tuning.evaluate import Judged
from pipeline.tuning.tuned import Outcome, tabulate

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


WRONG = [
    ({"trials": 0}, "'trials' parameter of Search must be an int in the range [1, inf)"),
    ({"timeout": 0}, "must be a float in the range (0.0, inf) or None. Got 0"),
    ({"validation_fraction": 0.0}, "must be a float in the range (0.0, 1.0)"),
    ({"cv": 1}, "'cv' parameter of Search must be an int in the range [2, inf)"),
    ({"cv": []}, "yields no folds"),
    ({"scoring": "area"}, "scoring='area': pass a name of sklearn.metrics.get_scorer_names()"),
    ({"scoring": ["roc_auc", "f1"]}, "a search uses one metric; pass its name"),
    ({"refit": "roc_auc"}, "'refit' parameter of Search must be an instance of 'bool'"),
    ({"error_score": 0.0}, "must be a str among {'raise'} or numpy.nan. Got 0.0"),
    ({"prune": "median"}, "'prune' parameter of Search must be an instance of 'bool'"),
    ({"storage": 3}, "'storage' parameter of Search"),
    ({"random_state": "x"}, "'random_state' parameter of Search"),
    ({"estimator": "logistic"}, "'estimator' parameter of Search"),
]


@pytest.mark.parametrize(("settings", "said"), WRONG, ids=map(str, range(len(WRONG))))
def test_what_cannot_be_used_is_said(settings: dict[str, Any], said: str) -> None:
    search = Search(model(), SPACE, trials=2).set_params(**settings)
    with pytest.raises(ValueError, match=re.escape(said)) as error:
        search.fit(X, y)
    assert isinstance(error.value, ConfigError)
    assert not hasattr(search, "study_")


class Failing(LogisticRegression):
    """Fails where C is large, or on all rows."""

    def __init__(self, C: float = 1.0, worst: float = 1.0, most: int = 1000) -> None:
        super().__init__(C=C)
        self.worst, self.most = worst, most

    def fit(self, X: Any, y: Any) -> Failing:
        if self.worst < self.C or len(y) > self.most:
            raise MemoryError(f"C={self.C:.2f} wants more than there is")
        return super().fit(X, y)


SCALED = StandardScaler().fit_transform(X)


def failing(**settings: Any) -> Search:
    space = {"C": FloatDistribution(0.5, 2)}
    settings = {"trials": 8, "cv": 3, "random_state": 0, "prune": False, **settings}
    return Search(Failing(), space, **settings)


@pytest.mark.filterwarnings("ignore:. of 8 trials failed")
def test_trials_that_fail_are_recorded_and_the_search_goes_on() -> None:
    search = failing().fit(SCALED, y)
    values, states = search.cv_results_["param_C"].data, search.cv_results_["state"]
    assert (states == np.where(values > 1, "failed", "complete")).all()
    assert set(states) == {"failed", "complete"}
    for value, state, reason in zip(values, states, search.cv_results_["reason"], strict=True):
        said = f"fold 1: MemoryError: C={value:.2f} wants more than there is"
        assert reason == (said if state == "failed" else "")
    assert (search.cv_results_["mean_fit_time"][states == "complete"] > 0).all()
    assert np.isnan(search.cv_results_["split1_test_score"][states == "failed"]).all()
    told = [trial.state.name for trial in search.study_.trials]
    assert told == np.where(values > 1, "FAIL", "COMPLETE").tolist()


def test_an_error_ends_the_search_where_that_is_asked_for() -> None:
    with pytest.raises(MemoryError, match="wants more"):
        failing(error_score="raise").fit(SCALED, y)


def test_where_all_fail_the_reasons_are_said() -> None:
    search = failing().set_params(estimator__worst=0.0)
    said = (
        "none of 8 trials was completed; the first one failed with: fold 1: MemoryError: C=.*raise"
    )
    with pytest.raises(DataError, match=said):
        search.fit(SCALED, y)
    assert not hasattr(search, "cv_results_")


def test_where_the_last_fit_fails_what_was_found_is_kept() -> None:
    search = failing(trials=1).set_params(estimator__most=500)
    with pytest.raises(MemoryError) as error:
        search.fit(SCALED, y)
    assert error.value.__notes__ == ["Search: while fitting best_params_={'C': 1.0} on all rows"]
    assert search.best_params_ == {"C": 1.0}
    with pytest.raises(NotFittedError):
        search.predict(SCALED)


def test_a_score_is_one_number() -> None:
    with pytest.raises(ConfigError, match="returned a dict; return one number"):
        failing(scoring=lambda *_: {"accuracy": 1.0}).fit(SCALED, y)


class Clock:
    """A clock that a fit moves on by a second."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def scorer(self, *_: Any) -> float:
        self.now += 1
        return self.now


def test_time_that_is_over_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(loop, "time", clock)
    search = failing(trials=50, timeout=7.5, scoring=clock.scorer)
    search.set_params(estimator__worst=2.0).fit(SCALED, y)
    assert search.cv_results_["state"].tolist() == ["complete"] * 2
    assert clock.now == 8
    assert [trial.state.name for trial in search.study_.trials][2:] == ["RUNNING"]


@pytest.mark.parametrize("prune", [True, False])
def test_a_timeout_before_the_first_trial_ends_lets_it_end(
    monkeypatch: pytest.MonkeyPatch, prune: bool
) -> None:
    clock = Clock()
    monkeypatch.setattr(loop, "time", clock)
    search = failing(trials=50, timeout=0.5, prune=prune, scoring=clock.scorer)
    search.set_params(estimator__worst=2.0)
    message = "timeout=0.5 ended before .* after 3.00 s; one trial .* about 15 s, enough for 5"
    with pytest.warns(UserWarning, match=message) as warned:
        search.fit(SCALED, y)
    assert [each.filename for each in warned] == [__file__]
    assert search.cv_results_["state"].tolist() == ["complete"]
    assert len(search.study_.trials) == 1
    assert search.predict(SCALED[:1]).shape == (1,)


def test_a_first_trial_that_fails_after_the_timeout_ends_the_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr(loop, "time", clock)

    def scorer(*arguments: Any) -> float:
        return np.nan if clock.scorer(*arguments) == 2 else 1.0

    search = failing(trials=50, timeout=0.5, scoring=scorer).set_params(estimator__worst=2.0)
    with pytest.raises(DataError, match="none of 1 trials was completed; .* fold 2: the score"):
        search.fit(SCALED, y)


def test_the_table_has_what_is_known_of_a_stopped_trial() -> None:
    folds = {0: Judged(0.9, 1.0, 0.1), 1: Judged(0.8, 3.0, 0.3)}
    outcomes = [
        Outcome(0, {"C": 1.0}, {**folds, 2: Judged(0.7, 2.0, 0.2)}, "complete"),
        Outcome(1, {"C": 2.0}, folds, "pruned", "unlikely"),
    ]
    table = tabulate(outcomes, 3, failing()._format_results)
    np.testing.assert_array_equal(table["mean_fit_time"], [2.0, np.nan])
    assert table["split1_test_score"].tolist() == [0.8, 0.8]
    np.testing.assert_array_equal(table["split2_test_score"], [0.7, np.nan])
    np.testing.assert_array_equal(table["mean_test_score"], [np.mean([0.9, 0.8, 0.7]), np.nan])
    assert table["rank_test_score"].tolist() == [1, 2]
    assert table["reason"].tolist() == ["", "unlikely"]


def test_callbacks_are_refused_where_they_are_set(search: Search) -> None:
    with pytest.raises(AttributeError, match="call set_callbacks on its estimator"):
        search.set_callbacks(ProgressBar())
    with pytest.warns(UserWarning, match="The estimator Search does not support callbacks"):
        make_pipeline(StandardScaler(), failing(trials=1)).set_callbacks(ProgressBar()).fit(X, y)


@pytest.mark.parametrize("score", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_no_number_fails_its_trial(score: float) -> None:
    def scorer(model: Any, X: Any, y: Any) -> float:
        return score if model.C > 1 else 0.5

    search = Search(
        LogisticRegression(C=10.0), {"C": FloatDistribution(0.01, 100, log=True)}, trials=3, cv=2,
        scoring=scorer, random_state=0,
    )  # fmt: skip
    with pytest.warns(FitFailedWarning, match="trials failed"):
        found = search.fit(X[:, :2], y)
    first = found.cv_results_["reason"][found.cv_results_["trial"] == 0]
    assert first.tolist() == [f"fold 1: the score is {score}"]
    assert found.best_params_["C"] <= 1
