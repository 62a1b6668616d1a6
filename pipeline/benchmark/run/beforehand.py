"""What is known of a task before its runs: cautions, and what the dummy scores.

The dummy is a program that never looks at the columns.

For classes `DummyClassifier(strategy="prior")`, which answers with their shares among the training
rows; for a number `DummyRegressor()`, which answers with its mean there. Rankings and clusters
have none.
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
from pipeline.task.scoring import ScoringInfo
from pipeline.task.task import Job, Task

WITHOUT = ("ranking", "clusters")
"""Kinds of tasks that have no dummy."""


class Known(NamedTuple):
    """What is known before the runs."""

    cautions: list[str]
    """What to know before a score is believed, the worst first."""
    baseline: dict[str, float]
    """Metric -> the dummy's value."""
    scoring: ScoringInfo


def before_runs(task: Task, job: Job) -> Known:
    """Look through the table of a task, and score a dummy.

    An error is put among the cautions, and ends no run.
    """
    noted: list[str] = []
    baseline: dict[str, float] = {}
    scoring, lacking = metrics.scoring_of(task), "The table was not looked through"
    try:
        noted += of_task(task, job)
        lacking = "No dummy was scored"
        baseline, scoring = _score(task, job)
    except Exception as error:
        why = " ".join(str(error).split())
        noted.insert(0, f"{lacking}: {type(error).__name__}: {why}")
    return Known(noted, baseline, scoring)


def _score(task: Task, job: Job) -> tuple[dict[str, float], ScoringInfo]:
    """Return the dummy's value of each metric that has one, and what is known of the metrics.

    Parameters
    ----------
    task : Task
    job : Job
        It learns from the same training rows, and is judged on the same test rows.
    """
    if task.kind in WITHOUT:
        return {}, metrics.scoring_of(task)
    number = task.kind == "regression"
    dummy = DummyRegressor() if number else DummyClassifier(strategy="prior")
    # It looks at no column, so one will do.
    narrow = replace(task, features=task.columns[:1])
    job = replace(job, pipeline="dummy", variant="reference", changes={}, checkpoint=None)
    outcome = measure.measure_once(narrow, dummy, job)
    scored = outcome.y_true, outcome.predicted, outcome.classes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        found = metrics.judge(task, *scored, all_of_them=False)
    return found, metrics.scoring_of(task, outcome.y_true, outcome.classes)
