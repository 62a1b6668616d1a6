"""The importance of columns in a comparison, against scikit-learn's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.inspection import permutation_importance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from datasets import breast_cancer
from pipeline.benchmark.judge import column_importance as module
from pipeline.benchmark.judge.column_importance import MOST_COLUMNS, column_importance
from pipeline.benchmark.run import measure
from pipeline.task import task
from pipeline.task.task import Job, Task

TASK = task.load("breast_cancer")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return breast_cancer.prepare(tmp_path_factory.mktemp("data"))


def job(path: Path, pipeline: str, variant: str) -> Job:
    return Job(task="breast_cancer", pipeline=pipeline, variant=variant, path=path, seed=3)


@pytest.mark.quick(1)
@pytest.mark.parametrize("pipeline", ["logistic", "boosting"])
@pytest.mark.parametrize("variant", ["reference", "cpu"])
def test_it_is_that_of_scikit_learn(path: Path, pipeline: str, variant: str) -> None:
    asked = job(path, pipeline, variant)
    outcome = measure.measure_once(TASK, TASK.pipeline(pipeline, asked.seed), asked)
    found = column_importance(TASK, outcome, asked)
    X = measure.read_test_rows(TASK, asked)
    theirs = permutation_importance(
        outcome.model, X, outcome.y_true, scoring="roc_auc", n_repeats=5, random_state=asked.seed
    )
    assert (found.metric, found.rows, found.columns) == ("roc_auc", len(X), TASK.columns)
    np.testing.assert_allclose(found.losses, theirs.importances, rtol=0, atol=1e-12)


def test_a_loss_counts_as_worse_where_it_grows(path: Path) -> None:
    what = replace(TASK, metrics={"log_loss": TASK.metrics["log_loss"]}, margins={})
    asked = job(path, "logistic", "cpu")
    outcome = measure.measure_once(what, what.pipeline("logistic", 0), asked)
    found = column_importance(what, outcome, asked)
    assert found.score is not None
    assert found.score > 0
    assert max(np.mean(found.losses, axis=1)) > 0.01


def test_what_cannot_be_asked_says_why(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = job(path, "logistic", "reference")
    outcome = measure.measure_once(TASK, TASK.pipeline("logistic", 0), asked)

    def why(what: Task) -> str:
        return column_importance(what, outcome, asked).why

    assert "nothing is predicted" in why(task.load("segments"))
    assert "one column, 'text'" in why(replace(TASK, features="text"))
    wide = [f"x{n}" for n in range(MOST_COLUMNS + 1)]
    assert f"at most {MOST_COLUMNS} columns" in why(replace(TASK, features=wide))
    monkeypatch.setattr(module, "LONGEST", 0.0)
    assert "it would take" in why(TASK)
    outcome.model = make_pipeline(FunctionTransformer())
    assert "probabilities" in why(TASK)
