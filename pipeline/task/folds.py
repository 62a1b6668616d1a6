"""Folds of the training rows that mirror a split: by later rows, by other groups, or at random."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.preprocessing import LabelEncoder

from pipeline.errors import DataError
from pipeline.files import parquet
from pipeline.system.devices import prepare_memory
from pipeline.table import frames
from pipeline.task import truth
from pipeline.task.metrics import TaskScorer, first_metric_of, judges
from pipeline.task.task import Job, Split, Task
from pipeline.typing import Estimator, Table

_ORDERED = ("<", "<=", ">", ">=")
_WHEN = ("date", "datetime", "datetime64", "decimal", "floating", "integer", "mixed-integer-float")
"""Values that are in the order of time, as :func:`pandas.api.types.infer_dtype` calls them."""


class FoldPlan(NamedTuple):
    """What the training rows of a task are cut by."""

    splitter: Any
    time: tuple[str, ...] = ()
    """Columns of the time, the first one first: the test rows of a fold are later."""
    groups: str = ""
    """The column whose groups are not parted."""
    cautions: tuple[str, ...] = ()
    """How the folds may be easier than the test rows."""


def plan_folds(task: Task, job: Job, folds: int) -> FoldPlan:
    """Return what the training rows are cut by, as the split of the task parts them from the test.

    A split by time gives `TimeSeriesSplit` of the rows in the order of time; one by groups
    `StratifiedGroupKFold`, of numbers `GroupKFold`; any other one random rows.
    """
    name, split = truth.split_of(task, job)
    if time := times_of(name, split):
        return FoldPlan(TimeSeriesSplit(folds), time)
    splitter = splitter_of(task.kind, split.groups, folds, job.seed)
    noted: tuple[str, ...] = ()
    if name in ("time", "groups") and not split.groups:
        noted = (
            f"The split {name!r} does not name its {name} column, so searches use folds of random "
            f"rows and their scores may be too good; write Split(..., {name}=COLUMN).",
        )
    return FoldPlan(splitter, (), split.groups, noted)


def splitter_of(kind: str, groups: str, folds: int, seed: int) -> Any:
    """Return what splits rows at random: classes by their shares, and groups undivided."""
    if kind == "regression":
        cuts = GroupKFold if groups else KFold
    else:
        cuts = StratifiedGroupKFold if groups else StratifiedKFold
    return cuts(folds, shuffle=True, random_state=seed)


def times_of(name: str, split: Split) -> tuple[str, ...]:
    """Return the columns of the time of a split: those it names, or the one that it is cut at.

    It is cut at a column where both its conditions ask for less or more of it than a date, or,
    of a split that is called "time", than anything.

    >>> times_of("time", Split([("month", "<=", 9)], [("month", ">", 9)], ""))
    ('month',)
    >>> times_of("random", Split([("fold", "<", 75)], [("fold", ">=", 75)], ""))
    ()
    """
    if split.time or split.groups:
        return (split.time,) if isinstance(split.time, str) and split.time else (*split.time,)
    first, second = (
        {
            column
            for column, test, value in rows
            if test in _ORDERED and (name == "time" or isinstance(value, date | np.datetime64))
        }
        for rows in (split.train, split.test)
    )
    return (*(first & second),) if len(first & second) == 1 else ()


class LearntRows(NamedTuple):
    """What a search over a pipeline is given, in the order that the splitter takes it in."""

    X: Table
    y: np.ndarray
    """As the pipeline learns it: one that knows no names of classes learns their codes."""
    params: Mapping[str, Any]
    """Other parameters of `fit`, and the group of each row, if there are any."""
    scorer: TaskScorer


def read_learnt_rows(
    task: Task, job: Job, pipeline: Estimator, device: str, plan: FoldPlan
) -> LearntRows:
    """Read what a pipeline learns a task from onto a device, in the order of a plan of folds.

    The task is one of classes or of numbers; `DataError` says that its rows cannot be cut so.
    """
    prepare_memory(device)
    _, split = truth.split_of(task, job)
    by = [*plan.time, *filter(None, [plan.groups])]
    others = [*dict.fromkeys([*task.others, *by])]
    X, known = parquet.read_parquet(job.path, task.features, others, split.train, device)
    truth.require_weights(task, pipeline)
    y, params = truth.learnt(task, known, "training")
    classes, plain, place = None, None, 1
    if task.kind != "regression":
        classes = truth.classes_of(task, y)
        place = truth.place_of_positive(task, classes)
        plain, _ = truth.encode_truth(task, classes, y)
        if truth.knows_places_alone(pipeline, classes):
            y, classes = LabelEncoder().fit_transform(y), np.arange(len(classes))
    what = "time" if plan.time else "group"
    codes = {name: _codes(task.name, what, name, known[name]) for name in by}
    if plan.time:
        order = np.lexsort([codes[name] for name in reversed(plan.time)])
        X, y = frames.at(X, order), y[order]
        params = {name: each[order] for name, each in params.items()}
    params |= {"groups": codes[plan.groups]} if plan.groups else {}
    if by:
        _check_folds(task, plan, ", ".join(by), y, params.get("groups"))
    metric = judges(task, plain)[first_metric_of(task)[0]]
    return LearntRows(X, y, params, TaskScorer(metric, classes, place))


def _codes(task: str, what: str, name: str, values: np.ndarray) -> np.ndarray:
    """Return the place of each time or group among the sorted ones."""
    where = f"{task}: the {what} column of the split, {name!r},"
    if missing := int(pd.isna(values).sum()):
        raise DataError(
            f"{where} is missing in {missing:,} of the {len(values):,} training rows; fill it, or "
            "remove these rows"
        )
    if what == "time" and (kind := infer_dtype(values, skipna=False)) not in _WHEN:
        raise DataError(f"{where} holds {kind}; store dates or numbers")
    return np.asarray(pd.factorize(values, sort=True)[0])


def _check_folds(
    task: Task, plan: FoldPlan, by: str, y: np.ndarray, groups: np.ndarray | None
) -> None:
    """Reject folds that scikit-learn rejects, or that lack a class."""
    what = f"{task.name}: {plan.splitter.get_n_splits()} folds by {by}"
    try:
        parts = [*plan.splitter.split(y, y, groups)]
    except ValueError as error:
        raise DataError(f"{what}: {error}") from error
    if task.kind == "regression":
        return
    for number, (train, test) in enumerate(parts, start=1):
        if len(np.unique(y[train])) < len(np.unique(y)) or len(np.unique(y[test])) < 2:
            raise DataError(
                f"{what}: fold {number} lacks rows of a class; use fewer folds (--cv), or "
                "choose another --split"
            )
