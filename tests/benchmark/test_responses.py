"""A metric gets what it reads: classes, probabilities or numbers, whatever the task calls them."""

from __future__ import annotations

from collections.abc import Callable
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
from sklearn.metrics import accuracy_score, f1_score, log_loss, roc_auc_score
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neighbors import KNeighborsClassifier

from pipeline.benchmark import dummy, measure
from pipeline.benchmark.metrics import decision_metric, fields, judge, of_rows, probability_metric
from pipeline.benchmark.task import Job, Split, Task
from pipeline.errors import ConfigError, DataError

ROWS = 240
draw = np.random.default_rng(3)
X = draw.normal(size=(ROWS, 2)).round(1)
LEVEL = X[:, 0] + draw.normal(size=ROWS)
TEST = np.arange(ROWS) % 4 == 3
PROGRAMS = {
    "linear": LogisticRegression,
    "ties": partial(KNeighborsClassifier, n_neighbors=4),
    "threshold": lambda: FixedThresholdClassifier(LogisticRegression(), threshold=0.3),
}
TASK = Task(
    name="own", title="Own", prepare=lambda home: home, features=["a", "b"], target="y",
    pipelines={name: lambda seed, make=make: make() for name, make in PROGRAMS.items()},
    splits={"random": Split([("fold", "<", 3)], [("fold", "==", 3)], "")},
    metrics={"roc_auc": roc_auc_score}, margins={}, licence="own", source="own",
)  # fmt: skip
CHANCES = ("roc_auc_score", "average_precision_score", "log_loss", "brier_score_loss")
DECISIONS = (
    "accuracy_score", "balanced_accuracy_score", "cohen_kappa_score", "f1_score", "hamming_loss",
    "jaccard_score", "matthews_corrcoef", "precision_score", "recall_score", "zero_one_loss",
)  # fmt: skip


def judged(folder: Path, y: Any, program: str, variant: str, **task: Any) -> dict[str, float]:
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y, "fold": np.arange(ROWS) % 4}).to_parquet(
        folder / "own.parquet"
    )
    what, job = replace(TASK, **task), Job("own", program, variant, folder / "own.parquet")
    assert dummy.baseline(what, job).keys() == what.metrics.keys()
    return measure.judge_outcome(what, measure.measure_once(what, what.pipeline(program, 0), job))


def answered(program: str, y: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    model = PROGRAMS[program]().fit(X[~TEST], y[~TEST])
    return model.classes_, model.predict(X[TEST]), model.predict_proba(X[TEST])


@pytest.mark.quick(6)
@pytest.mark.parametrize("positive", ["bad", "good"])
@pytest.mark.parametrize(("program", "variant"), [
    ("linear", "cpu"), ("linear", "reference"), ("ties", "cpu"), ("threshold", "reference"),
    ("threshold", "cpu"),
])  # fmt: skip
def test_a_binary_metric_gets_classes_or_chances_as_it_reads_them(
    program: str, variant: str, positive: str, tmp_path: Path
) -> None:
    y = np.where(LEVEL > 0.6, "bad", "good").astype(object)
    every = {name: getattr(metrics, name) for name in (*CHANCES, *DECISIONS)}
    every["f2"] = partial(metrics.fbeta_score, beta=2)
    every["named"] = partial(f1_score, pos_label=positive)
    every["both"] = probability_metric(lambda y_true, both: float(np.mean(both[:, 0] * y_true)))
    every["own"] = decision_metric(lambda y_true, said: float(np.mean(said & ~y_true)))
    found = judged(tmp_path, y, program, variant, metrics=every, positive=positive)
    classes, said, chance = answered(program, y)
    is_it, said_it = y[TEST] == positive, said == positive
    chance = chance[:, list(classes).index(positive)]
    wanted = {name: getattr(metrics, name)(is_it, chance) for name in CHANCES}
    wanted |= {name: getattr(metrics, name)(is_it, said_it) for name in DECISIONS}
    wanted["f2"] = metrics.fbeta_score(is_it, said_it, beta=2)
    wanted["named"] = wanted["f1_score"]
    wanted["both"] = np.mean((1 - chance) * is_it)
    wanted["own"] = np.mean(said_it & ~is_it)
    assert found == pytest.approx(wanted)


def test_a_metric_of_several_classes_gets_classes_or_chances_as_it_reads_them(
    tmp_path: Path,
) -> None:
    y = np.select([LEVEL > 0.7, LEVEL > -0.4], ["c", "a"], "b").astype(object)
    auc = partial(roc_auc_score, multi_class="ovr")
    every = {
        "auc": auc, "log_loss": log_loss, "top": partial(metrics.top_k_accuracy_score, k=2),
        "accuracy": accuracy_score, "f1": partial(f1_score, average="macro"),
    }  # fmt: skip
    found = judged(tmp_path, y, "linear", "cpu", metrics=every, kind="multiclass")
    _, said, chance = answered("linear", y)
    reads = {name: said if name in ("accuracy", "f1") else chance for name in every}
    assert found == pytest.approx({n: metric(y[TEST], reads[n]) for n, metric in every.items()})


def test_an_outlier_is_the_positive_class(tmp_path: Path) -> None:
    y = (np.abs(X[:, 0]) > 1.5).astype(int)
    make = partial(IsolationForest, contamination=0.2, random_state=0)
    told = {"linear": lambda seed: make()}
    found = judged(tmp_path, y, "linear", "cpu", metrics={"f1": f1_score}, pipelines=told)
    said = make().fit(X[~TEST]).predict(X[TEST]) == -1
    assert found == {"f1": pytest.approx(f1_score(y[TEST], said))}


@pytest.mark.parametrize(("kind", "metric", "words"), [
    ("binary", metrics.r2_score, "the metric 'm' is r2_score, which judges numbers"),
    ("multiclass", metrics.mean_squared_error, "which judges numbers; kind 'multiclass'"),
    ("regression", accuracy_score, "which judges classes; kind 'regression' takes another"),
    ("regression", partial(f1_score, average="macro"), "is f1_score, which judges classes"),
    ("regression", roc_auc_score, "is roc_auc_score, which judges classes"),
    ("clusters", accuracy_score, "is accuracy_score, which judges classes"),
    ("binary", metrics.make_scorer(f1_score), "is a scorer, which takes a model; give f1_score"),
    ("binary", metrics.hinge_loss, "reads a decision_function"),
    ("binary", of_rows(metrics.silhouette_score), "reads rows, which are judged of kind 'clu"),
], ids=["r2", "mse", "accuracy", "f1", "auc", "clusters", "scorer", "hinge", "rows"])  # fmt: skip
def test_a_metric_of_another_kind_is_refused(
    kind: str, metric: Callable[..., float], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        replace(TASK, kind=kind, metrics={"m": metric})


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_a_name_says_whether_less_is_better(kind: str) -> None:
    for name, metric in {"hamming": metrics.hamming_loss, "error": accuracy_score}.items():
        with pytest.raises(
            ConfigError, match=f"and its name says otherwise; name it '{metric.__name__}'"
        ):
            replace(TASK, kind=kind, metrics={name: metric})
    fine = ("log_loss", "d2_log_loss_score", "zero_one_loss", "f1_score", "brier_score_loss")
    replace(TASK, kind=kind, metrics={name: getattr(metrics, name) for name in fine})


@pytest.mark.parametrize(("kind", "metric", "words"), [
    ("binary", partial(f1_score, pos_label="good"), "pos_label='good', and .* is about 'bad'"),
    ("binary", lambda y_true, said: f1_score(y_true, said), "decision_metric.* gives it classes"),
    ("multiclass", f1_score, "pos_label=1 is not a valid label"),
], ids=["other class", "own", "two of several"])  # fmt: skip
def test_a_metric_that_cannot_be_taken_says_the_way(
    kind: str, metric: Callable[..., float], words: str
) -> None:
    y = np.where(LEVEL > 0.6, "bad", "good").astype(object)
    task = {"kind": kind, "positive": "bad" if kind == "binary" else None}
    y_true, said = (y == "bad").astype(int), np.linspace(0, 1, ROWS)
    if kind == "multiclass":
        said = fields(prediction=y_true, probability=np.eye(2)[y_true])
    with pytest.raises((ConfigError, DataError), match=words):
        judge(replace(TASK, metrics={"m": metric}, **task), y_true, said, np.array(["bad", "good"]))


def test_numbers_are_judged_by_their_metrics(tmp_path: Path) -> None:
    told = {"linear": lambda seed: LinearRegression()}
    every = {"r2": metrics.r2_score, "rmse": metrics.root_mean_squared_error}
    found = judged(
        tmp_path, LEVEL, "linear", "cpu", metrics=every, kind="regression", pipelines=told
    )
    said = LinearRegression().fit(X[~TEST], LEVEL[~TEST]).predict(X[TEST])
    assert found == pytest.approx({n: metric(LEVEL[TEST], said) for n, metric in every.items()})
