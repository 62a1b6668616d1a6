"""One fold of one candidate: what it scores, and what comes of failures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xgboost
from optuna.distributions import FloatDistribution
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedKFold

from pipeline import Search
from pipeline.tuning.evaluate import Evaluation, Task

X, y = load_breast_cancer(return_X_y=True)
FOLDS = list(StratifiedKFold(3).split(X, y))


class Raising(ClassifierMixin, BaseEstimator):
    """A classifier whose `fit` raises what it is told to."""

    def __init__(self, error: Any = None, said: str = "") -> None:
        self.error, self.said = error, said

    def fit(self, X: Any, y: Any) -> Raising:
        if self.error is not None:
            raise self.error(self.said)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X), dtype=int)


def evaluation(estimator: Any, scorer: str = "accuracy", **more: Any) -> Evaluation:
    return Evaluation(estimator, X, y, FOLDS, get_scorer(scorer), **more)


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
    ],
    ids=["value", "memory", "memory of a GPU"],
)  # fmt: skip
def test_an_error_is_one_line_that_says_where(error: Any, said: str, told: str) -> None:
    judged = evaluation(Raising(error, said)).run(Task(0, {}, 1))
    assert judged.error == told
    assert np.isnan(judged.score)


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
        LogisticRegression(C=10.0), {"C": FloatDistribution(0.01, 100, log=True)}, trials=3, cv=2,
        scoring=scorer, random_state=0,
    )  # fmt: skip
    with pytest.warns(FitFailedWarning, match="trials failed"):
        found = search.fit(X[:, :2], y)
    first = found.cv_results_["reason"][found.cv_results_["trial"] == 0]
    assert first.tolist() == [f"fold 1: the score is {score}"]
    assert found.best_params_["C"] <= 1
