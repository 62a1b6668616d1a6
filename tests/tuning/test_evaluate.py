"""One fold of one candidate: what it scores, and what comes of failures, warnings and looks."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import xgboost
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from pipeline import Accelerated, Search, shared
from pipeline.trace import Event
from pipeline.tuning.evaluate import Evaluation, Task, merged
from pipeline.tuning.first_look import SHARE
from tests.estimator.test_sharing import count_trees

X, y = load_breast_cancer(return_X_y=True)
FOLDS = list(StratifiedKFold(3).split(X, y))


class Raising(ClassifierMixin, BaseEstimator):
    """A classifier whose `fit` raises what it is told to, or warns."""

    def __init__(self, error: Any = None, said: str = "") -> None:
        self.error, self.said = error, said

    def fit(self, X: Any, y: Any) -> Raising:
        if self.error is not None:
            raise self.error(self.said)
        if self.said:
            warnings.warn(self.said, ConvergenceWarning, stacklevel=2)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X), dtype=int)


def evaluation(estimator: Any, scorer: Any = "accuracy", **more: Any) -> Evaluation:
    named = get_scorer(scorer) if isinstance(scorer, str) else scorer
    return Evaluation(estimator, X, y, FOLDS, named, **more)


XGBOOSTS = (
    "[12:34:56] /workspace/src/common/device_vector.cu:23: Memory allocation error on worker 0: "
    "std::bad_alloc: cudaErrorMemoryAllocation: out of memory\nStack trace:\n  [bt] (0) somewhere"
)


@pytest.mark.parametrize(
    ("error", "said", "told"),
    [
        (ValueError, "C is too low", "fold 2: ValueError: C is too low"),
        (MemoryError, "", "fold 2: MemoryError"),
        (
            xgboost.core.XGBoostError, XGBOOSTS,
            "fold 2: XGBoostError: Memory allocation error on worker 0: std::bad_alloc: "
            "cudaErrorMemoryAllocation: out of memory",
        ),
        (RuntimeError, "\n\n  one\n  two", "fold 2: RuntimeError: one"),
    ],
    ids=["value", "memory", "memory of a GPU", "lines"],
)  # fmt: skip
def test_an_error_is_one_line_that_says_where(error: Any, said: str, told: str) -> None:
    judged = evaluation(Raising(error, said)).run(Task(0, {}, 1))
    assert judged.error == told
    assert np.isnan(judged.score)


def test_a_long_message_is_cut() -> None:
    judged = evaluation(Raising(ValueError, "too long " * 200)).run(Task(0, {}, 0))
    assert len(judged.error) < 320
    assert judged.error.endswith("…")


def test_an_error_of_the_scorer_is_one_of_the_trial() -> None:
    judged = evaluation(Raising(), "roc_auc").run(Task(0, {}, 0))
    assert judged.error.startswith("fold 1: AttributeError: ")


def test_errors_may_be_raised_and_an_interrupt_is_no_failure() -> None:
    with pytest.raises(ValueError, match="no"):
        evaluation(Raising(ValueError, "no"), raises=True).run(Task(0, {}, 0))
    with pytest.raises(KeyboardInterrupt):
        evaluation(Raising(KeyboardInterrupt)).run(Task(0, {}, 0))


@pytest.mark.parametrize("score", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_no_number_fails_its_trial(score: float) -> None:
    def scorer(model: Any, X: Any, y: Any) -> float:
        return score if model.C > 1 else 0.5

    search = Search(
        LogisticRegression(C=10), {"C": FloatDistribution(0.01, 100, log=True)}, trials=3, cv=2,
        scoring=scorer, random_state=0,
    )  # fmt: skip
    with pytest.warns(FitFailedWarning, match="trials failed"):
        found = search.fit(X[:, :2], y)
    first = found.cv_results_["reason"][found.cv_results_["trial"] == 0]
    assert first.tolist() == [f"fold 1: the score is {score}"]
    assert found.best_params_["C"] <= 1


def test_a_warning_is_told_once_a_search() -> None:
    space = {"said": CategoricalDistribution(["did not converge", "nor did this"])}
    search = Search(Raising(), space, trials=6, cv=2, random_state=0, prune=False, refit=False)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        search.fit(X[:, :2], y)
    assert sorted(str(each.message) for each in told) == sorted(space["said"].choices)


def test_events_of_a_task_that_are_alike_are_one() -> None:
    events = [Event("a", "fit", "cpu", 1.0, 10, 1), Event("b", "fit", "cpu", 2.0)]
    events += [Event("a", "fit", "cpu", 4.0, 20, 2), Event("a", "fit", "cpu", why="other")]
    one, two, three = merged(events)
    assert (one.seconds, one.to_device_bytes, one.to_host_bytes) == (5.0, 30, 3)
    assert (two.step, three.why) == ("b", "other")
    assert events[0].seconds == 1.0


def boosted(**params: Any) -> Any:
    last = XGBClassifier(n_estimators=40, max_depth=2, n_jobs=1, random_state=0, **params)
    return Accelerated(make_pipeline(StandardScaler(), last), device="cpu")


def forest() -> Any:
    last = RandomForestClassifier(n_estimators=40, max_depth=3, random_state=0)
    return Accelerated(make_pipeline(StandardScaler(), last), device="cpu")


@pytest.mark.parametrize("model", [boosted(), forest()], ids=["XGBoost", "forest"])
def test_a_look_is_the_first_trees_and_none_is_grown_twice(model: Any, monkeypatch: Any) -> None:
    grown, rows = count_trees(monkeypatch), shared(X)
    judge = Evaluation(model, rows, y, FOLDS, get_scorer("roc_auc"))
    look = judge.run(Task(0, {}, 0, SHARE))
    whole = judge.run(Task(0, {}, 0))
    assert grown == [5, 35]
    train, test = FOLDS[0]
    for judged, trees in ((look, 5), (whole, 40)):
        last = clone(model.estimator)
        last[-1].set_params(n_estimators=trees)
        answers = last.fit(X[train], y[train]).predict_proba(X[test])[:, 1]
        assert judged.score == pytest.approx(roc_auc_score(y[test], answers), abs=1e-3)


def test_trees_of_drawn_rows_are_grown_again() -> None:
    """A look costs its share then: XGBoost does not go on drawing where it stopped."""
    rows = shared(X)
    judge = Evaluation(boosted(subsample=0.5), rows, y, FOLDS, get_scorer("roc_auc"))
    judge.run(Task(0, {}, 0, SHARE))
    whole = judge.run(Task(0, {}, 0))
    alone = Evaluation(boosted(subsample=0.5), X, y, FOLDS, get_scorer("roc_auc"))
    assert whole.score == alone.run(Task(0, {}, 0)).score


@pytest.mark.slow
def test_a_search_stops_candidates_and_finds_what_it_would_without(monkeypatch: Any) -> None:
    space = {
        "estimator__xgbclassifier__learning_rate": FloatDistribution(1e-4, 1, log=True),
        "estimator__xgbclassifier__max_depth": IntDistribution(1, 6),
    }
    grown, trees = count_trees(monkeypatch), []
    found = []
    for prune in (True, False):
        grown.clear()
        search = Search(
            boosted(), space, trials=30, scoring="neg_log_loss", prune=prune, refit=False,
            random_state=0,
        )  # fmt: skip
        found.append(search.fit(X, y))
        trees.append(sum(grown))
    stopped, full = found
    assert trees[1] == 30 * 5 * 40
    assert trees[0] < trees[1] / 2
    assert full.best_score_ - stopped.best_score_ < 0.01
    results = stopped.cv_results_
    assert set(full.cv_results_["state"]) == {"complete"}
    looked_at = [each for each in results["reason"] if each.startswith("after a first look")]
    assert looked_at
    # What a fold scores that was judged is the same, however it was begun.
    of_full = full.cv_results_["split0_test_score"][0], results["split0_test_score"][0]
    assert of_full[0] == pytest.approx(of_full[1], abs=1e-9)
    steps = [set(trial.intermediate_values) for trial in stopped.study_.trials]
    assert steps[0] == {0, 1, 2, 3, 4, 5}
    assert {0} in steps
