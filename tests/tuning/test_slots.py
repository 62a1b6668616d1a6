"""Where the tasks of a search run, and how long a trial may take in this process."""

from __future__ import annotations

import threading
from pathlib import Path
from time import sleep

import pytest
from optuna.distributions import FloatDistribution
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier

from pipeline import Search
from pipeline.errors import ClusterUnavailable, ConfigError
from pipeline.tuning import slots
from pipeline.tuning.evaluate import Evaluation, Task
from tests.clusters import in_process

X, y = load_iris(return_X_y=True)


class Clock:
    """Gains a second whenever it is looked at."""

    now = 0.0

    def monotonic(self) -> float:
        self.now += 1
        return self.now


def accuracy(model: DecisionTreeClassifier, X: object, y: object) -> float:
    return float(model.score(X, y))


def evaluation() -> Evaluation:
    return Evaluation(DecisionTreeClassifier(), X, y, list(KFold(3).split(X)), accuracy)


def test_without_a_cluster_tasks_run_here_one_after_the_other() -> None:
    with slots.open_slots(evaluation()) as here:
        assert here.free == 1
        tasks = [Task(0, {}, 0), Task(1, {}, 0)]
        for task in tasks:
            here.submit(task)
        assert [here.wait(None)[0][0] for _ in tasks] == tasks
        assert here.free == 1


def test_a_trial_that_takes_too_long_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "time", Clock())
    with slots.open_slots(evaluation(), trial_timeout=2.5) as here:
        errors = []
        for fold in range(3):
            here.submit(Task(0, {}, fold))
            errors += [judged.error for _, judged in here.wait(None)]
    assert [bool(error) for error in errors] == [False, True, True]
    assert errors[1] == "TimeoutError: took longer than trial_timeout=2.5 s"


@pytest.mark.parametrize("wrong", [{"trials_per_worker": 0}, {"trial_timeout": 0}])
def test_numbers_that_no_slots_have_are_refused(wrong: dict[str, int]) -> None:
    (name,) = wrong
    with pytest.raises(ConfigError, match=name), slots.open_slots(evaluation(), **wrong):
        pass


def kind_of_slots() -> str:
    with slots.open_slots(evaluation()) as opened:
        return type(opened).__name__


def test_a_search_in_a_task_of_a_cluster_does_not_wait_for_its_workers() -> None:
    with in_process(1) as client:
        assert kind_of_slots() == "OnWorkers"
        assert client.submit(kind_of_slots).result() == "InProcess"


class Brief(DecisionTreeClassifier):
    """Takes a while."""

    begun = threading.Event()

    def fit(self, X: object, y: object) -> Brief:
        self.begun.set()
        sleep(0.2)
        return super().fit(X, y)


def test_without_its_cluster_a_search_ends_and_its_study_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "study"
    asked = {"trials": 12, "cv": 2, "random_state": 0, "prune": False, "storage": path}
    search = Search(Brief(), {"ccp_alpha": FloatDistribution(0, 0.1)}, **asked)
    with in_process(1) as client:
        end = threading.Thread(target=lambda: Brief.begun.wait(60) and client.close())
        end.start()
        with pytest.raises(ClusterUnavailable, match="is lost"):
            search.fit(X, y)
        end.join()
    assert search.fit(X, y).cv_results_["trial"].tolist() == [*range(12)]
