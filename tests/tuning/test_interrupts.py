"""Ctrl-C ends a search with what was found."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState
from sklearn.base import BaseEstimator, ClassifierMixin

from pipeline import Search

X, Y = np.arange(24.0).reshape(-1, 1), np.arange(24) % 2
FITS = {"left": 0, "all": 0}
"""How many fits are left until Ctrl-C, and how many there were."""


class Pressing(ClassifierMixin, BaseEstimator):
    """A classifier during whose fits Ctrl-C is pressed, as `FITS` says."""

    def __init__(self, share: float = 0.5) -> None:
        self.share = share

    def fit(self, X: Any, y: Any) -> Pressing:
        FITS["left"] -= 1
        FITS["all"] += 1
        if FITS["left"] == 0:
            signal.raise_signal(signal.SIGINT)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return (np.arange(len(X)) < self.share * len(X)).astype(int)


def search_until(fits: int, **settings: Any) -> Search:
    """Return a search of 6 trials on 3 folds, in whose n-th fit Ctrl-C is pressed."""
    FITS.update(left=fits, all=0)
    settings = {"trials": 6, "cv": 3, "prune": False, "random_state": 0, **settings}
    return Search(Pressing(), {"share": FloatDistribution(0, 1)}, **settings)


def test_what_was_found_is_kept() -> None:
    search = search_until(8)
    with pytest.warns(UserWarning, match="by Ctrl-C after 2 of 6 trials; the best so far") as told:
        search.fit(X, Y)
    assert [each.filename for each in told] == [__file__]
    assert FITS["all"] == 8 + 1
    assert search.cv_results_["state"].tolist() == ["complete"] * 2
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    assert search.predict(X).shape == Y.shape
    states = [each.state for each in search.study_.trials]
    assert states == [TrialState.COMPLETE, TrialState.COMPLETE, TrialState.RUNNING]


def test_before_a_trial_is_complete_nothing_is_kept() -> None:
    search = search_until(2)
    with pytest.raises(KeyboardInterrupt, match="before a trial was complete"):
        search.fit(X, Y)
    assert FITS["all"] == 2
    assert not hasattr(search, "cv_results_")


def test_during_the_last_fit_it_ends_at_once() -> None:
    search = search_until(6 * 3 + 1)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert len(search.cv_results_["params"]) == 6
    assert not hasattr(search, "best_estimator_")


CHILD = """
import sys, time, warnings
from contextlib import nullcontext
import numpy as np
from optuna.distributions import IntDistribution
from sklearn.dummy import DummyClassifier
from pipeline import Search, cluster

class Slow(DummyClassifier):
    def fit(self, X, y):
        time.sleep(0.05 if len(X) < 24 else 0)
        return super().fit(X, y)

warnings.simplefilter("ignore")
space = {"random_state": IntDistribution(0, 99)}
search = Search(Slow(), space, trials=10_000, cv=3, prune=False, verbose=1)
with cluster("local", workers=2) if "workers" in sys.argv else nullcontext():
    search.fit(np.zeros((24, 1)), np.arange(24) % 2)
print("found", len(search.cv_results_["params"]), hasattr(search, "best_estimator_"))
"""


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("arguments", [[], ["workers"]])
def test_of_a_process_of_its_own_and_not_for_its_workers(arguments: list[str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, *arguments], stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdout
    with process:
        for number in range(1, 4):
            assert process.stdout.readline().startswith(f"{number} of 10000, trial ")
        os.killpg(process.pid, signal.SIGINT)
        *_, last = process.stdout.read().splitlines()
    assert process.returncode == 0
    found, number, refitted = last.split()
    assert (found, refitted) == ("found", "True")
    assert 3 <= int(number) < 10_000
