"""scikit-learn's callbacks are told of a model what they are told of the pipeline in it."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.callback import ScoringMonitor
from sklearn.callback._callback_context import get_context_path
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

from pipeline import Accelerated, explain, load, save, shared
from pipeline.errors import Unsupported

RANDOM = np.random.default_rng(0)
X = pd.DataFrame({"a": RANDOM.normal(size=200), "b": RANDOM.choice(list("xyz"), 200)})
Y = (X["a"] + RANDOM.normal(size=200) > 0).astype(int)


def program() -> Pipeline:
    columns = make_column_transformer((StandardScaler(), ["a"]), (OneHotEncoder(), ["b"]))
    return make_pipeline(columns, SelectKBest(k=3), LogisticRegression(max_iter=5, tol=1e-12))


class Tasks:
    """A callback that writes down the tasks that it is told of."""

    max_propagation_depth = None

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.torn_down = 0

    def setup(self, estimator, context) -> None:
        pass

    def teardown(self, estimator, context) -> None:
        self.torn_down += 1

    def on_fit_task_begin(self, estimator, context) -> None:
        self.begun.append(self.path(context))

    def on_fit_task_end(self, estimator, context) -> bool:
        self.ended.append(self.path(context))
        return False

    @staticmethod
    def path(context) -> str:
        return " > ".join(each.task_name for each in get_context_path(context))


def told(model, X=X, y=Y) -> Tasks:
    tasks = Tasks()
    model.set_callbacks(tasks).fit(X, y)
    assert sorted(tasks.begun) == sorted(tasks.ended)
    assert tasks.torn_down == 1
    return tasks


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
def test_a_model_tells_what_its_pipeline_tells() -> None:
    ours = told(Accelerated(program(), device="cpu"))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* does not support callbacks")
        theirs = told(program())
    steps = [path for path in theirs.begun if "columntransformer" in path or "select" in path]
    assert len(steps) == 2
    # Steps on blocks are one program.
    joined = "fit > fit-transform-columntransformer + selectkbest"
    assert set(ours.begun) - {joined} <= set(theirs.begun)
    assert set(theirs.begun) - set(ours.begun) == set(steps)


def scores(monitor: ScoringMonitor) -> pd.DataFrame:
    logs = monitor.get_logs()
    return (logs[-1] if isinstance(logs, list) else logs).data_as_pandas


def monitored() -> tuple[ScoringMonitor, Pipeline]:
    monitor, pipeline = ScoringMonitor(scoring="neg_log_loss"), program()
    pipeline[-1].set_callbacks(monitor)
    return monitor, pipeline


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
def test_scores_of_iterations_are_those_of_scikit_learn() -> None:
    found = []
    for wrapped in (False, True):
        monitor, model = monitored()
        model = Accelerated(model, device="cpu", dtype="float64") if wrapped else model
        model.fit(X, Y)
        found.append(scores(monitor)["neg_log_loss"].to_numpy())
    assert len(found[0]) >= 5
    assert found[0] == pytest.approx(found[1], abs=1e-12)


@pytest.mark.quick(1)
@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
@pytest.mark.parametrize("rows", [X, shared(X)], ids=["table", "shared"])
def test_a_search_hears_each_of_its_fits(rows) -> None:
    found = []
    for prefix in ("", "estimator__"):
        monitor, model = monitored()
        model = Accelerated(model, device="cpu", dtype="float64") if prefix else model
        space = {f"{prefix}logisticregression__C": [1, 2]}
        GridSearchCV(model, space, cv=2).fit(rows if prefix else X, Y)
        found.append(np.sort(scores(monitor)["neg_log_loss"]))
    assert len(found[0]) >= 5 * (2 * 2 + 1)
    assert found[0] == pytest.approx(found[1], abs=1e-12)


def test_what_takes_no_callbacks_is_one_task() -> None:
    model = Accelerated(
        make_pipeline(StandardScaler(), XGBClassifier(n_estimators=2)), device="cpu"
    )
    paths = ["fit", "fit > fit-transform-standardscaler", "fit > fit-final-estimator"]
    assert told(model, X[["a"]]).begun == paths


def test_callbacks_end_when_a_fit_fails_and_are_no_part_of_a_saved_model(tmp_path) -> None:
    model, tasks = Accelerated(LogisticRegression(), device="cpu"), Tasks()
    model.set_callbacks(tasks)
    with pytest.raises(ValueError, match="could not convert"):
        model.fit(X, Y)
    assert tasks.torn_down == 1
    model.fit(X[["a"]], Y)
    save(model, tmp_path / "model")
    assert not hasattr(load(tmp_path / "model", "cpu"), "_skl_callbacks")
    assert not hasattr(model, "_callback_fit_ctx")


def test_a_gpu_calls_no_callbacks() -> None:
    model = make_pipeline(StandardScaler().set_callbacks(Tasks()), LogisticRegression())
    with pytest.raises(Unsupported, match="callbacks"):
        explain(model, "cuda")
