"""Small tasks whose pipelines are tuned, and what is said of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from optuna.distributions import FloatDistribution, IntDistribution
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, log_loss, mean_absolute_error, r2_score, roc_auc_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from pipeline.benchmark.tune import TunedBatch
from pipeline.task.task import Job, Split, Task

ROWS = 400
C = {"logisticregression__C": FloatDistribution(1e-3, 10, log=True)}
DEPTH = {"xgbclassifier__max_depth": IntDistribution(1, 4)}
ALPHA = {"ridge__alpha": FloatDistribution(1e-3, 1e3, log=True)}


def logistic(seed: int) -> Pipeline:
    """A linear model."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=0.01))


def boosting(seed: int) -> Pipeline:
    """Few trees."""
    return make_pipeline(
        StandardScaler(), XGBClassifier(n_estimators=4, max_depth=2, random_state=seed)
    )


def ridge(seed: int) -> Pipeline:
    """A line."""
    return make_pipeline(StandardScaler(), Ridge(alpha=10.0))


def prepare(home: Path, path: Path) -> Path:
    """Write the table."""
    draw = np.random.default_rng(0)
    table = pd.DataFrame(draw.normal(size=(ROWS, 3)), columns=["a", "b", "c"])
    drift = table["a"] + table["b"] * table["c"] + draw.normal(size=ROWS)
    table["size"] = drift
    table["good"] = np.where(drift > 0, "yes", "no")
    table["kind"] = np.select([drift > 0.7, drift > -0.7], ["low", "mid"], "top")
    table["weight"] = draw.uniform(0.1, 3, ROWS)
    table["fold"] = draw.integers(0, 4, ROWS)
    table.to_parquet(path)
    return path


def task_of(path: Path, **changes: Any) -> Task:
    """Return a task of two classes with names; `changes` make it another one."""
    what = Task(
        name="small",
        title="A small table",
        prepare=partial(prepare, path=path),
        features=["a", "b", "c"],
        target="good",
        positive="yes",
        pipelines={"logistic": logistic, "boosting": boosting},
        splits={"random": Split([("fold", "<", 3)], [("fold", "==", 3)], "three quarters")},
        metrics={"roc_auc": roc_auc_score, "log_loss": log_loss},
        margins={},
        licence="",
        source="",
        spaces={"logistic": C, "boosting": DEPTH},
    )
    return replace(what, **changes)


NUMBERS: dict[str, Any] = {
    "kind": "regression",
    "target": "size",
    "positive": None,
    "pipelines": {"ridge": ridge},
    "metrics": {"mean_absolute_error": mean_absolute_error, "r2": r2_score},
    "spaces": {"ridge": ALPHA},
    "weight": "weight",
}
SEVERAL: dict[str, Any] = {
    "kind": "multiclass",
    "target": "kind",
    "positive": None,
    "metrics": {"log_loss": log_loss, "accuracy": accuracy_score},
}


def batch_of(path: Path, what: Task, **options: Any) -> TunedBatch:
    """Return a batch on the CPU, of few trials."""
    names = list(what.pipelines)
    job = Job(what.name, names[0], "cpu", what.data(path.parent))
    given = {"pipelines": names, "device": "cpu", "trials": 5, "folds": 3, **options}
    return TunedBatch(what, job, **given)
