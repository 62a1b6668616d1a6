"""What is known of a task before its runs: cautions, and what a dummy scores.

The dummy looks at no column: `DummyClassifier(strategy="prior")` predicts the shares of the classes
in the training rows, `DummyRegressor()` their mean. Rankings and clusters have none.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import NamedTuple

from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import UndefinedMetricWarning

from pipeline.benchmark.run import measure
from pipeline.task import metrics
from pipeline.task.cautions.examine import of_task
from pipeline.task.cautions.overview import TableSummary
from pipeline.task.scoring import ScoringInfo
from pipeline.task.task import Job, Task


class Known(NamedTuple):
    """Cautions, the worst first; the dummy's value of each metric; the metrics; the columns."""

    cautions: list[str]
    baseline: dict[str, float]
    scoring: ScoringInfo
    table: TableSummary | None = None


def before_runs(task: Task, job: Job) -> Known:
    """Look through the table of a task, and score a dummy on the same rows.

    An error is put among the cautions, and ends no run.
    """
    noted: list[str] = []
    baseline: dict[str, float] = {}
    table: TableSummary | None = None
    scoring, lacking = metrics.scoring_of(task), "The table was not looked through"
    try:
        noted, table = of_task(task, job)
        lacking = "No dummy was scored"
        if task.kind not in ("ranking", "clusters"):
            baseline, scoring = _score(task, job)
    except Exception as error:
        why = " ".join(str(error).split())
        noted.insert(0, f"{lacking}: {type(error).__name__}: {why}")
    return Known(noted, baseline, scoring, table)


def _score(task: Task, job: Job) -> tuple[dict[str, float], ScoringInfo]:
    number = task.kind == "regression"
    dummy = DummyRegressor() if number else DummyClassifier(strategy="prior")
    # It looks at no column, so one will do.
    narrow = replace(task, features=task.columns[:1])
    job = replace(job, pipeline="dummy", variant="reference", changes={}, checkpoint=None)
    outcome = measure.measure_once(narrow, dummy, job)
    scored = outcome.y_true, outcome.predicted, outcome.classes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        found = metrics.judge(task, *scored, strict=False)
    return found, metrics.scoring_of(task, outcome.y_true, outcome.classes)
