"""A search on workers finds what one in this process finds, also where workers are lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.samplers import RandomSampler
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

import pipeline
from pipeline import Accelerated, Search, shared
from pipeline.data.shared import SharedTable
from pipeline.distributed.cluster import active
from pipeline.distributed.restarts import restarting
from pipeline.distributed.retry import await_workers
from pipeline.tuning import slots, workers
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
    draws = {"trials": 6, "cv": 3, "prune": False, "sampler": RandomSampler(seed=0), "refit": False}
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
    with pipeline.cluster("local", workers=2, timeout=60, retries=1) as cluster:
        yield cluster


@pytest.mark.quick(1)
@pytest.mark.parametrize("per_worker", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_scores_are_those_of_a_search_in_this_process(
    name: str, per_worker: int, threads: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = search(name, trials_per_worker=per_worker)
    monkeypatch.setattr(slots, "active", lambda: None)
    here = search(name)
    assert {event.worker for event in here.execution_log_.entries} <= {""}
    assert scores(there) == scores(here)


def test_the_log_says_which_worker_did_what(threads: Any) -> None:
    events = search("ours").execution_log_.entries
    assert {event.worker for event in events} == {"0", "1"}
    assert str(events[0]).startswith(f"{events[0].worker}: ")


class Meeting(LogisticRegression):
    """Is fitted once as many others are about to be."""

    barrier = threading.Barrier(4)

    def fit(self, X: Any, y: Any) -> Meeting:
        self.barrier.wait(60)
        return super().fit(X, y)


@pytest.mark.usefixtures("threads")
def test_a_worker_of_one_thread_runs_several_trials_by_choice() -> None:
    found = Search(
        Meeting(), {"C": C}, trials=4, cv=2, trials_per_worker=2, refit=False, prune=False,
        error_score="raise", random_state=0,
    ).fit(X[:, :3], y)  # fmt: skip
    assert set(found.cv_results_["state"]) == {"complete"}


class InTurn(RandomSampler):
    """Draws each choice once."""

    def sample_independent(self, study: Any, trial: Any, name: str, distribution: Any) -> Any:
        return distribution.choices[trial.number]


class Refusing(LogisticRegression):
    def fit(self, X: Any, y: Any) -> Refusing:
        if self.C < 1:
            raise ValueError("C is too low")
        return super().fit(X, y)


@pytest.mark.usefixtures("threads")
def test_an_error_of_a_fit_ends_its_trial_or_the_search() -> None:
    space = {"C": CategoricalDistribution([1.0, 0.5])}
    asked = {"trials": 2, "cv": 2, "sampler": InTurn(), "refit": False}
    with pytest.warns(FitFailedWarning, match="C is too low"):
        found = Search(Refusing(), space, **asked).fit(X[:, :3], y)
    reasons = dict(zip(found.cv_results_["param_C"], found.cv_results_["reason"], strict=True))
    assert reasons == {1.0: "", 0.5: "fold 2: ValueError: C is too low"}  # It begins there.
    with pytest.raises(ValueError, match="C is too low"):
        Search(Refusing(), space, error_score="raise", **asked).fit(X[:, :3], y)


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", ["ours", "plain"])
def test_a_worker_that_cannot_see_the_file_is_sent_the_table(
    name: str, threads: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = search(name)
    monkeypatch.setattr(SharedTable, "file", "/nowhere/table")
    assert scores(search(name)) == scores(near)


def test_a_fit_has_the_threads_of_its_worker(threads: Any) -> None:
    forest = RandomForestClassifier(n_jobs=-1)
    assert workers._with_threads(forest, 3).n_jobs == 3
    assert workers._with_threads(Accelerated(forest), 3).estimator.n_jobs == 3
    assert forest.n_jobs == -1
    assert workers._with_threads(PLAIN, 3) is PLAIN


class Scorer:
    """Writes a line for each process that reads it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        with self.path.open("a") as file:
            file.write(f"{os.getpid()}\n")

    def __call__(self, model: Any, X: Any, y: Any) -> float:
        return float(model.score(X, y))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_each_process_is_sent_the_search_once(name: str, processes: Any, tmp_path: Path) -> None:
    path = tmp_path / "read"
    there = search(name, scoring=Scorer(path))
    pids = {str(pid) for pid in processes.client.run(os.getpid).values()}
    assert Counter(path.read_text().split()) == Counter(pids)
    scored = search(name, scoring="accuracy")
    assert scores(there) == scores(scored)


class Odd(LogisticRegression):
    """Does what its regularization says."""

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
    found = Search(Odd(), space, trials=len(moods), cv=2, sampler=InTurn(), **params).fit(
        X[:, :3], y
    )
    results = found.cv_results_
    return dict(zip(results["param_mood"], results["reason"], strict=True))


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:1 of 2 trials failed")
@pytest.mark.usefixtures("processes")
def test_a_candidate_that_kills_its_worker_has_failed_and_the_search_goes_on() -> None:
    reasons = odd("good", "deadly")
    assert reasons["good"] == ""
    assert "was lost, after 2 attempt(s)" in reasons["deadly"]


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:1 of 2 trials failed")
@pytest.mark.usefixtures("processes")
def test_a_candidate_that_takes_too_long_is_broken_off_and_the_search_goes_on() -> None:
    reasons = odd("good", "slow", trial_timeout=20)
    assert reasons == {"good": "", "slow": "TimeoutError: took longer than trial_timeout=20 s"}


@pytest.mark.alone
@pytest.mark.slow
def test_when_the_time_is_over_nobody_waits_for_what_still_runs(processes: Any) -> None:
    await_workers(processes, 2)
    before = set(processes.client.run(os.getpid).values())
    reasons = odd("good", "slow", timeout=15)
    assert reasons == {"good": ""}
    await_workers(processes, 2)
    assert len(before & set(processes.client.run(os.getpid).values())) == 1


class Parting(Odd):
    """Sees, in the fit on all rows, which workers are being restarted."""

    seen: set[str] = set()

    def fit(self, X: Any, y: Any) -> Odd:
        if len(X) == len(FRAME):
            type(self).seen = restarting(active())
        return super().fit(X, y)


@pytest.mark.alone
@pytest.mark.slow
def test_the_last_fit_does_not_wait_for_a_restart_which_harms_no_other_search() -> None:
    with pipeline.cluster("local", workers=2, timeout=60, retries=0) as cluster:
        space = {"mood": CategoricalDistribution(["good", "slow"])}
        asked = {"trials": 2, "cv": 2, "sampler": InTurn()}
        left = set(cluster.workers())
        Search(Parting(), space, timeout=15, **asked).fit(X[:, :3], y)
        assert len(Parting.seen) == 1
        assert left > Parting.seen
        found = search("ours", trials=12)  # A lost fold would be a failed trial.
        assert set(found.cv_results_["state"]) == {"complete"}
        assert {event.worker for event in found.execution_log_.entries} == {"0", "1"}


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:1 of 3 trials failed")
def test_a_search_goes_on_when_its_only_worker_is_restarted() -> None:
    with pipeline.cluster("local", workers=1, timeout=60):
        reasons = odd("good", "slow", "better", trial_timeout=15)
    assert reasons == {
        "good": "", "slow": "TimeoutError: took longer than trial_timeout=15 s", "better": ""
    }  # fmt: skip


FITTED = [
    RandomForestClassifier(5, random_state=0),
    XGBClassifier(n_estimators=5, n_jobs=1),
    LogisticRegression(),
]


@pytest.mark.parametrize("last", FITTED, ids=lambda last: type(last).__name__)
def test_fits_in_two_threads_are_those_of_one(last: Any) -> None:
    model = Accelerated(make_pipeline(SimpleImputer(), StandardScaler(), last), device="cpu")
    train, test = np.arange(0, len(X), 2), np.arange(1, len(X), 2)
    both = threading.Barrier(2)

    def fitted(rows: Any, wait: bool) -> tuple[np.ndarray, list[str]]:
        if wait:
            both.wait(60)
        own = clone(model).fit(rows[train], y[train])
        answers = own.predict_proba(rows[test])
        return answers, [event.step for event in own.execution_log_.entries]

    expected, steps = fitted(shared(X), False)
    for rows in (shared(X) for _ in range(3)):
        with ThreadPoolExecutor(2) as pool:
            made = [pool.submit(fitted, rows, True) for _ in range(2)]
        for answers, own_steps in (future.result() for future in made):
            np.testing.assert_array_equal(answers, expected)
            assert own_steps == steps


def fill(dask_worker: Any) -> None:
    """Let a worker take its memory for full."""
    dask_worker.memory_manager.memory_pause_fraction = 1e-6


@pytest.mark.alone
@pytest.mark.slow
def test_a_worker_whose_memory_stays_full_is_restarted(processes: Any) -> None:
    await_workers(processes, 2)
    full, other = processes.workers()
    processes.client.run(fill, workers=[full])
    found = search("ours", trials=12)
    assert set(found.cv_results_["state"]) == {"complete"}
    await_workers(processes, 2)
    assert other in processes.workers()
    assert full not in processes.workers()


class Brief(BaseEstimator):
    """Takes a while."""

    def __init__(self, number: float = 0.0) -> None:
        self.number = number

    def fit(self, X: Any, y: Any) -> Brief:
        time.sleep(0.2)
        return self

    def score(self, X: Any, y: Any) -> float:
        return -self.number


INTERRUPTED = """
import time
from optuna.distributions import FloatDistribution
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier
from pipeline import Search, cluster

class Slow(DecisionTreeClassifier):
    def fit(self, X, y):
        time.sleep(0.05 if self.ccp_alpha == 0 else 600)
        return super().fit(X, y)

if __name__ == "__main__":
    with cluster("local", workers=1):
        print("begins", flush=True)
        space = {"ccp_alpha": FloatDistribution(0, 1)}
        search = Search(Slow(), space, trials=5, cv=2).fit(*load_iris(return_X_y=True))
        print(search.best_params_)
"""


@pytest.mark.alone
@pytest.mark.slow
def test_ctrl_c_in_a_terminal_ends_a_search_on_a_cluster_cleanly(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED)
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "begins\n"
    time.sleep(10)
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=120)
    assert said == "{'ccp_alpha': 0.0}\n"  # Nothing else, also when the cluster ends.
    assert process.returncode == 0


@pytest.mark.alone
@pytest.mark.slow
def test_no_trial_is_lost_with_a_worker(processes: Any) -> None:
    await_workers(processes, 2)
    victims = list(processes.client.run(os.getpid).values())
    blow = threading.Timer(1.5, os.kill, (victims[0], signal.SIGKILL))
    blow.start()
    found = Search(
        Brief(), {"number": FloatDistribution(0, 1)}, trials=10, cv=4, random_state=0, prune=False
    ).fit(X[:, :3], y)
    blow.join()
    assert set(found.cv_results_["state"]) == {"complete"}
    expected = -np.array([params["number"] for params in found.cv_results_["params"]])
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], expected)
