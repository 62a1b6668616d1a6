"""Permutation importance of the columns of a table, by the first metric of its task."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.inspection import permutation_importance

from pipeline.benchmark.record.results import Importance
from pipeline.benchmark.run.measure import Outcome, read_test_rows
from pipeline.estimator.accelerated import Accelerated
from pipeline.task import metrics, truth
from pipeline.task.faults import describe_fault
from pipeline.task.metrics import first_metric_of
from pipeline.task.task import Job, Task

REPEATS = 5
MOST_ROWS = 5_000
"""Of the test rows, that are asked about."""
MOST_COLUMNS = 200
LONGEST = 60.0
"""Seconds that the answers of one model may take."""


def column_importance(task: Task, outcome: Outcome, job: Job) -> Importance:
    """Return how much worse the first metric is with the cells of one column permuted.

    Plain scikit-learn is asked by `sklearn.inspection.permutation_importance`, `Accelerated` by its
    own method, which gives the same numbers; both about the same rows, in the same orders. It
    never fails: where there is no importance, the reason is returned.
    """
    if why := _why_none(task):
        return Importance(why=why)
    try:
        return _ask(task, outcome, job)
    except Exception as error:
        return Importance(why=describe_fault(error))


def _why_none(task: Task) -> str:
    if task.kind == "clusters":
        return "nothing is predicted that a metric could lose"
    if len(task.columns) == 1:
        return f"there is one column, {task.columns[0]!r}"
    if len(task.columns) > MOST_COLUMNS:
        return f"it is asked of at most {MOST_COLUMNS} columns, and there are {len(task.columns):,}"
    return ""


def _ask(task: Task, outcome: Outcome, job: Job) -> Importance:
    name, _ = first_metric_of(task)
    rows, place = sample(outcome.y_true, job.seed), 1
    X, y = read_test_rows(task, job).iloc[rows], outcome.y_true[rows]
    if task.kind in ("binary", "multiclass"):
        place = truth.place_of_positive(task, outcome.classes)
    metric = metrics.judges(task, outcome.classes)[name]
    scorer = metrics.TaskScorer(metric, outcome.classes, place, encoded=True)
    start = time.perf_counter()
    score = scorer(outcome.model, X, y)
    needed = (time.perf_counter() - start) * len(task.columns) * REPEATS
    if needed > LONGEST:
        return Importance(why=f"it would take {needed:.0f} s, more than {LONGEST:.0f} s")
    asked: dict[str, Any] = {"scoring": scorer, "random_state": job.seed}
    if isinstance(outcome.model, Accelerated):
        found = outcome.model.importance(X, y, repeats=REPEATS, **asked)
    else:
        found = permutation_importance(outcome.model, X, y, n_repeats=REPEATS, **asked)
    return Importance(
        metric=name,
        rows=len(rows),
        score=scorer.sign * score,
        columns=task.columns,
        losses=np.asarray(found.importances, dtype=float).tolist(),
    )


def sample(y_true: np.ndarray, seed: int, most: int = MOST_ROWS) -> np.ndarray:
    """Return some of the rows in ascending order; those of a query are taken together.

    Examples
    --------
    >>> sample(np.zeros(9), seed=0, most=4).tolist()
    [2, 4, 7, 8]
    >>> pairs = metrics.fields(target=[0, 1, 0, 1, 0, 1], query=[7, 7, 8, 8, 9, 9])
    >>> sample(pairs, seed=0, most=4).tolist()
    [2, 3, 4, 5]
    """
    query = metrics.part(y_true, "query")
    places = np.arange(len(y_true)) if query is None else np.unique(query, return_inverse=True)[1]
    turns = np.random.default_rng(seed).permutation(int(places.max()) + 1)
    return np.sort(np.argsort(turns[places], kind="stable")[:most])
