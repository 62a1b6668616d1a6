"""A search on workers finds what one in this process finds, also where workers are lost."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pipeline
from pipeline import Accelerated, Search
from pipeline.table.shared import SharedTable
from pipeline.tuning import trial_workers as workers
from tests.clusters import in_process

pytest.importorskip("distributed")

X, y = load_breast_cancer(return_X_y=True)
FRAME = pd.DataFrame(X, columns=load_breast_cancer().feature_names)
PLAIN = make_pipeline(StandardScaler(), LogisticRegression())
OURS = Accelerated(PLAIN, device="cpu")
C = FloatDistribution(1e-3, 10, log=True)
CASES = {
    "ours": (OURS, X, "estimator__logisticregression__C"),
    "ours, a frame": (OURS, FRAME, "estimator__logisticregression__C"),
    "plain": (PLAIN, X, "logisticregression__C"),
    "plain, a frame": (PLAIN, FRAME, "logisticregression__C"),
}


def search(name: str, **params: Any) -> Search:
    estimator, rows, parameter = CASES[name]
    draws = {"trials": 6, "cv": 3, "prune": False, "random_state": 0, "refit": False}
    given = {**draws, "scoring": "roc_auc", **params}
    return Search(estimator, {parameter: C}, **given).fit(rows, y)


def scores(found: Search) -> dict[str, list[float]]:
    results = found.cv_results_
    splits = [results[f"split{i}_test_score"] for i in range(found.n_splits_)]
    return dict(zip(map(str, results["params"]), np.transpose(splits).tolist(), strict=True))


@pytest.fixture(scope="module")
def threads() -> Iterator[Any]:
    with in_process(2) as client:
        yield client


@pytest.fixture(scope="module")
def processes() -> Iterator[Any]:
    with pipeline.cluster("local", workers=2, timeout=60) as cluster:
        yield cluster


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", CASES)
def test_scores_are_those_of_a_search_in_this_process(
    name: str, threads: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = search(name)
    monkeypatch.setattr(workers, "active", lambda: None)
    here = search(name)
    assert {event.worker for event in here.execution_log_.entries} <= {""}
    assert scores(there) == scores(here)


class Refusing(LogisticRegression):
    def fit(self, X: Any, y: Any) -> Refusing:
        if self.C < 1:
            raise ValueError("C is too low")
        return super().fit(X, y)


@pytest.mark.usefixtures("threads")
def test_an_error_of_a_fit_ends_its_trial_or_the_search() -> None:
    space = {"C": CategoricalDistribution([1.0, 0.5])}
    asked = {"trials": 2, "cv": 2, "random_state": 1, "refit": False}
    with pytest.warns(FitFailedWarning, match="C is too low"):
        found = Search(Refusing(), space, **asked).fit(X[:, :3], y)
    reasons = dict(zip(found.cv_results_["param_C"], found.cv_results_["reason"], strict=True))
    assert reasons == {1.0: "", 0.5: "fold 2: ValueError: C is too low"}  # It begins there.
    with pytest.raises(ValueError, match="C is too low"):
        Search(Refusing(), space, error_score="raise", **asked).fit(X[:, :3], y)


@pytest.mark.usefixtures("threads")
def test_a_timeout_before_the_first_trial_ends_lets_it_end_alone() -> None:
    with pytest.warns(UserWarning, match="timeout=0.0001 ended before the first trial did"):
        found = search("plain", timeout=1e-4)
    assert found.cv_results_["state"].tolist() == ["complete"]
    assert found.cv_results_["trial"].tolist() == [0]


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", ["ours", "plain"])
def test_workers_that_cannot_see_the_file_are_sent_the_table(
    name: str, threads: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    near, sent, hold = search(name), [], workers.hold_on_workers
    monkeypatch.setattr(SharedTable, "file", "/nowhere/table")
    monkeypatch.setattr(
        workers, "hold_on_workers", lambda client, each: sent.append(each) or hold(client, each)
    )
    assert scores(search(name)) == scores(near)
    assert [type(each.X) for each in sent] == [np.ndarray]


class Odd(LogisticRegression):
    """Does what its mood says."""

    def __init__(self, mood: str = "good") -> None:
        super().__init__()
        self.mood = mood

    def fit(self, X: Any, y: Any) -> Odd:
        if self.mood == "deadly":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.mood == "slow":
            time.sleep(600)
        return super().fit(X, y)


def odd(*moods: str, **params: Any) -> dict[str, str]:
    """Return the reason for which each candidate has failed."""
    space = {"mood": CategoricalDistribution(moods)}
    seed = {2: 1}.get(len(moods), 0)  # by which each mood is drawn once
    found = Search(Odd(), space, trials=len(moods), cv=2, random_state=seed, **params)
    results = found.fit(X[:, :3], y).cv_results_
    return dict(zip(results["param_mood"], results["reason"], strict=True))


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:. of 4 trials failed")
@pytest.mark.usefixtures("processes")
def test_a_candidate_that_kills_its_workers_has_failed_and_the_search_goes_on() -> None:
    reasons = odd("good", "deadly", "fine", "well")
    assert reasons.pop("deadly").startswith("WorkerLost: ")
    assert "" in reasons.values()  # A fold that waits on the same worker can be lost with it.


@pytest.mark.alone
@pytest.mark.slow
def test_when_the_time_is_over_a_fit_that_goes_on_is_left_behind() -> None:
    with pipeline.cluster("local", workers=2, timeout=60):
        assert odd("good") == {"good": ""}
        start = time.monotonic()
        with pytest.warns(UserWarning, match="1 workers are still busy .*restart_workers"):
            assert odd("good", "slow", timeout=10) == {"good": ""}
    assert time.monotonic() - start < 100  # The worker ends with its cluster.


class Brief(BaseEstimator):
    """Takes a while."""

    def __init__(self, number: float = 0.0) -> None:
        self.number = number

    def fit(self, X: Any, y: Any) -> Brief:
        time.sleep(0.2)
        return self

    def score(self, X: Any, y: Any) -> float:
        return -self.number


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2])
def test_no_trial_is_lost_with_a_worker(n_workers: int) -> None:
    with pipeline.cluster("local", workers=n_workers, timeout=60) as cluster:
        victim = min(cluster.client.run(os.getpid).values())
        blow = threading.Timer(1.5, os.kill, (victim, signal.SIGKILL))
        blow.start()
        asked = {"trials": 10, "cv": 4, "random_state": 0, "prune": False}
        found = Search(Brief(), {"number": FloatDistribution(0, 1)}, **asked).fit(X[:, :3], y)
        blow.join()
    assert set(found.cv_results_["state"]) == {"complete"}
    expected = -np.array([params["number"] for params in found.cv_results_["params"]])
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], expected)
