"""scikit-learn's callbacks hear of a search what they hear of `GridSearchCV`."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from sklearn.callback import ProgressBar
from sklearn.callback._callback_context import get_context_path
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from pipeline import Accelerated, Search
from pipeline.tuning import search
from pipeline.tuning.evaluate import Evaluation, unwatched
from pipeline.tuning.workers import InProcess

X, Y = make_classification(n_samples=90, n_features=5, random_state=0)
X[:, 0] *= 1e3
WEIGHTS = np.random.default_rng(0).uniform(1, 2, 90)
STEP = "logisticregression__C"
VALUES = [1.0, 2.0, 4.0]


class Heard:
    """A callback that writes down what it hears."""

    max_propagation_depth = None

    def __init__(self) -> None:
        self.begun: list[Any] = []
        self.ended: list[str] = []
        self.torn_down = 0

    def setup(self, estimator: Any, context: Any) -> None:
        pass

    def teardown(self, estimator: Any, context: Any) -> None:
        self.torn_down += 1

    def on_fit_task_begin(
        self, estimator: Any, context: Any, *, X: Any, y: Any, metadata: Any
    ) -> None:
        weights = (metadata or {}).get("sample_weight")
        lengths = tuple(0 if each is None else len(each) for each in (X, y, weights))
        self.begun.append((self.path(context), type(estimator).__name__, lengths))

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        self.ended.append(self.path(context))
        return False

    @staticmethod
    def path(context: Any) -> str:
        return " > ".join(f"{each.task_name} {each.task_id}" for each in get_context_path(context))


def model() -> Pipeline:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=5, tol=1e-12))


def search_of(estimator: Any, name: str = STEP) -> Search:
    space = {name: CategoricalDistribution(VALUES)}
    return Search(estimator, space, trials=3, cv=2, prune=False, random_state=0)


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
@pytest.mark.filterwarnings("ignore:.* does not support callbacks")
def test_as_of_a_grid() -> None:
    ours, theirs = Heard(), Heard()
    fitted = search_of(model()).set_callbacks(ours).fit(X, Y)
    grid = [{STEP: [params[STEP]]} for params in fitted.cv_results_["params"]]
    GridSearchCV(model(), grid, cv=2).set_callbacks(theirs).fit(X, Y)
    named = [(path, name.replace("GridSearchCV", "Search"), n) for path, name, n in theirs.begun]
    assert ours.begun == named
    assert sorted(ours.ended) == sorted(theirs.ended)
    assert ours.torn_down == 1


def test_weights_are_those_of_the_fold() -> None:
    heard = Heard()
    model = Search(LogisticRegression(), {"C": FloatDistribution(0.1, 1)}, trials=1, cv=3)
    model.set_callbacks(heard).fit(X, Y, sample_weight=WEIGHTS)
    told = [lengths for path, name, lengths in heard.begun if name == "Search" and lengths[0]]
    assert told[0] == told[-1] == (90, 90, 90)
    assert all(lengths == (60, 60, 60) for lengths in told[1:-1])


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
def test_a_bar_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    accelerated = Accelerated(model(), device="cpu")
    search_of(accelerated, f"estimator__{STEP}").set_callbacks(ProgressBar()).fit(X, Y)
    shown = capsys.readouterr().out
    assert "Search - fit" in shown
    assert "Search - search" in shown
    assert "Search - refit-with-best-params" in shown


def test_folds_of_a_search_that_goes_on_are_told_once(tmp_path: Path) -> None:
    found = []
    for trials in (2, 3, 1):
        heard = Heard()
        heard.max_propagation_depth = 0
        model = search_of(LogisticRegression(), "C").set_callbacks(heard)
        model.set_params(trials=trials, storage=tmp_path / "study").fit(X, Y)
        found.append([path for path, *_ in heard.begun if "candidate-split" in path])
    assert [len(paths) for paths in found] == [4, 2, 0]
    assert not set(found[0]) & set(found[1])


def test_they_stay_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sent to a worker tells nothing; what it has judged is told here, once."""

    @contextmanager
    def elsewhere(evaluation: Evaluation, *limits: Any) -> Iterator[InProcess]:
        sent = pickle.loads(pickle.dumps(evaluation))
        assert sent.watch is unwatched is not evaluation.watch
        yield InProcess(sent)

    found = []
    for where in (None, elsewhere):
        if where:
            monkeypatch.setattr(search, "open_slots", where)
        heard = Heard()
        heard.max_propagation_depth = 0
        search_of(LogisticRegression(), "C").set_callbacks(heard).fit(X, Y)
        found.append((heard.begun, heard.ended))
    assert found[0] == found[1]
    assert sum("candidate-split" in path for path, *_ in found[1][0]) == 3 * 2
