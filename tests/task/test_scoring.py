"""Metrics: each reads what its scorer reads, and has the value that scikit-learn gives."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.manifold import trustworthiness
from sklearn.metrics import get_scorer, make_scorer, ndcg_score, silhouette_score
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neighbors import KNeighborsClassifier

from pipeline.benchmark.run import beforehand, measure
from pipeline.errors import ConfigError, DataError
from pipeline.task.metrics import fields, judge, scoring_of
from pipeline.task.scoring import SAMPLE, of_embedding, of_rows
from pipeline.task.task import Job, Split, Task

ROWS = 240
RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(ROWS, 2)).round(1)
LEVEL = X[:, 0] + RANDOM.normal(size=ROWS)
TEST = np.arange(ROWS) % 4 == 3
TWO = np.where(LEVEL > 0.6, "bad", "good").astype(object)
THREE = np.select([LEVEL > 0.7, LEVEL > -0.4], ["c", "a"], "b").astype(object)
PROGRAMS = {
    "linear": LogisticRegression,
    "ties": partial(KNeighborsClassifier, n_neighbors=4),
    "threshold": lambda: FixedThresholdClassifier(LogisticRegression(), threshold=0.3),
    "number": LinearRegression,
    "outliers": lambda: IsolationForest(contamination=0.2, random_state=0),
}
TASK = Task(
    name="own", title="Own", prepare=lambda home: home, features=["a", "b"], target="y",
    pipelines={name: lambda seed, make=make: make() for name, make in PROGRAMS.items()},
    splits={"random": Split([("fold", "<", 3)], [("fold", "==", 3)], "")},
    metrics=["roc_auc"], margins={}, licence="own", source="own",
)  # fmt: skip
MULTICLASS, REGRESSION, RANKING, CLUSTERS = (
    replace(TASK, kind="multiclass", metrics=["accuracy"]),
    replace(TASK, kind="regression", metrics=["r2"]),
    replace(TASK, kind="ranking", query="query", metrics={"gain": make_scorer(ndcg_score)}),
    replace(TASK, kind="clusters", metrics=["adjusted_rand_score"]),
)


def named(*names: str) -> dict[str, str]:
    return dict(zip(names, names, strict=True))


def judged(folder: Path, task: Task, y: Any, program: str, variant: str) -> dict[str, float]:
    """Return the metrics of a run, from a file to predictions."""
    table = {"a": X[:, 0], "b": X[:, 1], "y": y, "fold": np.arange(ROWS) % 4}
    pd.DataFrame(table).to_parquet(folder / "own.parquet")
    job = Job("own", program, variant, folder / "own.parquet")
    assert beforehand.before_runs(task, job).baseline.keys() == task.metrics.keys()
    return measure.judge_outcome(task, measure.measure_once(task, task.pipeline(program, 0), job))


@pytest.mark.quick(6)
@pytest.mark.parametrize("positive", ["bad", "good"])
@pytest.mark.parametrize(("program", "variant"), [
    ("linear", "cpu"), ("linear", "reference"), ("ties", "cpu"), ("threshold", "reference"),
    ("threshold", "cpu"),
])  # fmt: skip
def test_binary_metrics_are_those_of_scikit_learns_scorers(
    program: str, variant: str, positive: str, tmp_path: Path
) -> None:
    every = named(
        "roc_auc", "average_precision", "neg_log_loss", "neg_brier_score", "accuracy", "f1",
        "precision", "recall", "jaccard", "balanced_accuracy", "matthews_corrcoef", "f1_macro",
    )  # fmt: skip
    own = make_scorer(lambda y, said: float(np.mean(said & ~y)), greater_is_better=False)
    task = replace(TASK, metrics={**every, "own": own}, positive=positive)
    found = judged(tmp_path, task, TWO, program, variant)
    model = PROGRAMS[program]().fit(X[~TEST], TWO[~TEST])
    chance = model.predict_proba(X[TEST])[:, list(model.classes_).index(positive)]
    y, said = TWO[TEST] == positive, model.predict(X[TEST]) == positive
    scorers = {name: get_scorer(name) for name in every}
    wanted = {
        name: each._score_func(
            y, said if each._response_method == "predict" else chance, **each._kwargs
        )
        for name, each in scorers.items()
    }
    assert found == pytest.approx({**wanted, "own": np.mean(said & ~y)})


def test_metrics_of_several_classes_are_those_of_scikit_learns_scorers(tmp_path: Path) -> None:
    every = ["roc_auc_ovr", "neg_log_loss", "accuracy", "f1_macro", "top_k_accuracy"]
    found = judged(tmp_path, replace(MULTICLASS, metrics=named(*every)), THREE, "linear", "cpu")
    model = LogisticRegression().fit(X[~TEST], THREE[~TEST])
    wanted = {name: get_scorer(name)(model, X[TEST], THREE[TEST]) for name in every}
    wanted["neg_log_loss"] *= -1
    assert found == pytest.approx(wanted)


def test_numbers_and_outliers_are_those_of_scikit_learns_scorers(tmp_path: Path) -> None:
    task = replace(REGRESSION, metrics=["r2", "neg_root_mean_squared_error"])
    said = LinearRegression().fit(X[~TEST], LEVEL[~TEST]).predict(X[TEST])
    assert judged(tmp_path, task, LEVEL, "number", "cpu") == pytest.approx({
        "r2": metrics.r2_score(LEVEL[TEST], said),
        "root_mean_squared_error": metrics.root_mean_squared_error(LEVEL[TEST], said),
    })  # fmt: skip
    y = (np.abs(X[:, 0]) > 1.5).astype(int)
    called = PROGRAMS["outliers"]().fit(X[~TEST]).predict(X[TEST]) == -1
    found = judged(tmp_path, replace(TASK, metrics=["f1"]), y, "outliers", "cpu")
    assert found == {"f1": pytest.approx(metrics.f1_score(y[TEST], called))}


REFUSED: list[tuple[Task, Any, str]] = [
    (TASK, "roc_au", "is 'roc_au', not a scorer of scikit-learn; did you mean 'roc_auc'"),
    (TASK, 7, "is 7, not a scorer"),
    (TASK, metrics.hamming_loss, r"make_scorer\(hamming_loss, greater_is_better=..."),
    (TASK, metrics.r2_score, "the metric 'm' is r2_score, which is for numbers"),
    (MULTICLASS, "neg_mean_squared_error", "for numbers; choose one for kind 'multiclass'"),
    (REGRESSION, "accuracy", "which is for classes; choose one for kind 'regression'"),
    (CLUSTERS, "accuracy", "is accuracy_score, which is for classes"),
    (TASK, make_scorer(metrics.hinge_loss, response_method="decision_function"),
     "hinge_loss, which needs decision_function; runs store predict or predict_proba"),
    (TASK, of_rows(silhouette_score), "reads rows; this needs kind 'clusters'"),
    (MULTICLASS, "f1", "is f1_score for two classes; set average="),
]  # fmt: skip


@pytest.mark.parametrize(("task", "metric", "words"), REFUSED)
def test_a_metric_that_cannot_be_taken_is_refused(task: Task, metric: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=f"own: .*{words}"):
        replace(task, metrics={"m": metric})


def test_a_metric_is_left_out_where_what_it_reads_is_not_there() -> None:
    task = replace(MULTICLASS, metrics=["accuracy", "neg_log_loss"])
    y_true, names = np.array([0, 1, 2]), np.array(["a", "b", "c"])
    both = fields(prediction=[0, 1, 1], probability=np.full((3, 3), 1 / 3))
    wanted = {"accuracy": 2 / 3, "log_loss": np.log(3)}
    assert judge(task, y_true, both, names) == pytest.approx(wanted)
    assert judge(task, y_true[:2], both[:2], names)["log_loss"] == pytest.approx(np.log(3))
    bare = np.array([0, 1, 1])
    assert judge(task, y_true, bare, names) == pytest.approx({"accuracy": 2 / 3})
    with pytest.raises(DataError, match="own: no metric uses predict; add one"):
        judge(replace(task, metrics=["neg_log_loss"]), y_true, bare, names)


def test_distances_are_taken_of_a_sample_of_the_rows() -> None:
    rows, labels = RANDOM.normal(size=(5_000, 2)), RANDOM.integers(0, 2, 5_000)
    seen = np.linspace(0, 4_999, SAMPLE).astype(int)
    y_true = fields(target=labels, row=rows)
    given = {"near": of_rows(silhouette_score), "map": of_embedding(trustworthiness)}
    task = replace(CLUSTERS, metrics=given)
    found = judge(task, y_true, labels)
    assert found == pytest.approx({"near": silhouette_score(rows[seen], labels[seen])})
    kept = judge(task, y_true, fields(embedding=rows[:, :1]))
    assert kept == pytest.approx({"map": trustworthiness(rows[seen], rows[seen, :1])})


def test_a_ranking_is_scored_query_by_query() -> None:
    lengths = RANDOM.integers(1, 6, 60)
    query = RANDOM.permutation(np.repeat(np.arange(60), lengths))
    y_true = fields(target=RANDOM.integers(0, 5, len(query)), query=query)
    scores = RANDOM.normal(size=len(query))
    wanted = [
        ndcg_score(y_true["target"][None, query == q], scores[None, query == q])
        for q, length in enumerate(lengths)
        if length > 1
    ]
    assert judge(RANKING, y_true, scores) == {"gain": pytest.approx(np.mean(wanted))}
    with pytest.raises(DataError, match="gain of the 2 test rows: no query has two rows"):
        judge(RANKING, fields(target=[1, 2], query=[0, 1]), np.array([0.5, 0.1]))


def test_signs_and_best_values_are_those_of_the_scorers() -> None:
    y_true = np.arange(90) % 3
    several = replace(MULTICLASS, metrics=["accuracy", "neg_log_loss"])
    found = scoring_of(several, y_true, np.array(["a", "b", "c"]))
    assert found.signs == {"accuracy": 1, "log_loss": -1}
    assert found.best == pytest.approx({"accuracy": 1, "log_loss": 0}, abs=1e-9)
    two = replace(TASK, metrics=["roc_auc", "f1"], mute=["drift"])
    found = scoring_of(two, y_true // 2, np.array(["a", "b"]))
    assert (found.best, found.mute) == ({"roc_auc": 1, "f1": 1}, ["drift"])
    numbers = replace(REGRESSION, metrics=["r2", "neg_mean_absolute_error"])
    assert scoring_of(numbers, y_true * 1.5).best == {"r2": 1, "mean_absolute_error": 0}
    assert scoring_of(numbers).best == {}
