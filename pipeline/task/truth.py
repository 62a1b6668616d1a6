"""The target of a task: what it may hold, its classes, which of them is positive, its weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from pipeline.errors import ConfigError, DataError
from pipeline.files import parquet
from pipeline.table import target
from pipeline.task.numerals import named
from pipeline.task.task import Job, Split, Task
from pipeline.typing import Estimator

_CLASSES = "classes must be text, integers or booleans"
_PLACES_ALONE = ("XGBClassifier", "XGBRFClassifier")
"""Classifiers that take the classes 0, 1, …, n - 1 and no others."""

_OTHERWISE = {
    "FixedThresholdClassifier", "NuSVC", "RadiusNeighborsClassifier", "SGDClassifier", "SVC",
    "TunedThresholdClassifierCV",
}  # fmt: skip


def learnt(task: Task, columns: dict[str, Any], part: str) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the target and other parameters of `fit`, of the "training" or the "test" rows.

    The columns are the target, the query and the weights. `DataError` says that there are no
    rows, or names the first that cannot be used.
    """
    y, where = columns[task.target], f"{task.name}: the target {task.target!r}"
    if not len(y):
        raise DataError(f"{task.name}: the split has no {part} rows; choose another --split")
    missing = np.asarray(pd.isna(y))
    told = f"is missing in {missing.sum():,} of the {len(y):,} {part} rows, first in"
    _refuse(where, told, missing, part, "remove these rows")
    if task.kind in ("binary", "multiclass"):
        y = _classes(where, y, part)
    else:
        y = _numbers(where, y, f"kind {task.kind!r} needs numbers")
        bad = ~np.isfinite(y)
        _refuse(where, f"is {y[bad.argmax()]} in", bad, part, "replace it, or remove the row")
    if task.query:
        # scikit-learn's target encoder takes no int8 but of two classes.
        return y.astype(np.int64), {"qid": columns[task.query]}
    if not task.weight:
        return y, {}
    where = f"{task.name}: the weight {task.weight!r}"
    weights = _numbers(where, np.asarray(columns[task.weight]), "give numbers")
    bad = ~(np.isfinite(weights) & (weights >= 0))
    way = "replace it with a finite number of 0 or more"
    _refuse(where, f"is {weights[bad.argmax()]} in", bad, part, way)
    if not weights.any():
        raise DataError(f"{where} is 0 in all {part} rows; some must be positive")
    return y, {"sample_weight": weights}


def _numbers(where: str, values: np.ndarray, way: str) -> np.ndarray:
    """Return numbers, decimals among them, as they are learnt."""
    kind = infer_dtype(values, skipna=False)
    if values.dtype.kind not in "biuf" and kind != "decimal":
        raise DataError(f"{where} holds {kind}, such as {_shown(values[0])}; {way}")
    return (
        values.astype("float64") if values.dtype == object or values.dtype == np.uint64 else values
    )


def _classes(where: str, y: np.ndarray, part: str) -> np.ndarray:
    """Return classes of one type."""
    kind = infer_dtype(y, skipna=False)
    if y.dtype == object and kind == "boolean":
        return y.astype(bool)
    if y.dtype.kind in "biuU" or (y.dtype == object and kind == "string"):
        return y
    if y.dtype.kind != "f":
        raise DataError(f"{where} holds {kind}, such as {_shown(y[0])}; {_CLASSES}")
    bad = ~np.isfinite(y) | (y != np.round(y))
    way = f"{_CLASSES}; to predict numbers, use kind='regression'"
    _refuse(where, f"is {y[bad.argmax()]} in", bad, part, way)
    return y


def _shown(value: Any) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)


def _refuse(where: str, told: str, bad: np.ndarray, part: str, way: str) -> None:
    """Name the first of the bad rows, if there is one."""
    if bad.any():
        row = int(bad.argmax())
        raise DataError(f"{where} {told} row {row:,} of the {part} rows; {way}")


def classes_of(task: Task, y: np.ndarray) -> np.ndarray:
    """Return the classes of the training rows, sorted; DataError if all are of one class."""
    found: np.ndarray = target.classes(y)
    if len(found) > 1:
        return found
    raise DataError(
        f"{task.name}: all {len(y):,} training rows have the class {found[0]!s}; choose "
        "another --split, or other data"
    )


def place_of_positive(task: Task, classes: np.ndarray) -> int:
    """Return which of the classes a binary task is about, by place; ConfigError if none is."""
    if task.kind != "binary":
        return 1
    names, where = classes.tolist(), f"{task.name}: the target {task.target!r} holds"
    if len(names) > 2:
        raise ConfigError(f"{where} {len(names)} classes: {named(names)}; use kind='multiclass'")
    where, positive = f"{where} {names[0]!r} and {names[1]!r}", task.positive
    if positive is None and names != [0, 1]:
        way = f"set the positive class, such as positive={names[1]!r}"
        raise ConfigError(f"{where}; {way}")
    positive = 1 if positive is None else positive
    if positive not in names:
        raise ConfigError(f"{where}, but positive={positive!r}; choose one of them")
    return names.index(positive)


def encode_truth(task: Task, classes: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes as an array without objects, and what is scored in each row.

    Of a binary task that is 1 for the positive class and 0 for the other, else the place among
    the classes, of which those that no training row has come last. A binary task has no third one.
    """
    places = places_of(y, classes)
    if (places < 0).any():
        classes = np.append(classes, target.classes(y[places < 0]))
        places = places_of(y, classes)
    positive = place_of_positive(task, classes)
    plain = classes.astype(str) if classes.dtype == object else classes
    if task.kind == "binary":
        return plain, (places == positive).astype("int64")
    return plain, places.astype(np.min_scalar_type(len(classes)))


def places_of(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the place of each label among the classes, -1 where it is none of them.

    >>> places_of(np.array([9, 3, 9]), np.array([3, 5, 9])).tolist()
    [2, 0, 2]
    """
    kind = object if classes.dtype.kind == "U" else classes.dtype
    return np.asarray(pd.Index(classes, dtype=kind).get_indexer(pd.Index(y, dtype=kind)))


def knows_places_alone(program: Estimator, classes: np.ndarray) -> bool:
    """Return whether a program takes the classes 0, 1, …, n - 1 alone, and these are others."""
    numbers = classes.dtype.kind in "iu"  # of truth values XGBoost makes 0 and 1
    others = not (numbers and np.array_equal(classes, np.arange(len(classes))))
    return others and _last_names(program)[-1] in _PLACES_ALONE


def decides_otherwise(program: Estimator) -> bool:
    """Return whether `predict` may return another class than the most probable one."""
    return not _OTHERWISE.isdisjoint(_last_names(program))


def _last_names(program: Estimator) -> list[str]:
    """Return the names of the last step's class and of those of the estimators inside of it."""
    names, last = [], program
    while last is not None:
        names.append(type(last).__name__)
        last = last[-1] if isinstance(last, Pipeline) else getattr(last, "estimator", None)
    return names


def require_weights(task: Task, program: Estimator) -> None:
    """Reject weights if the last step of a program does not support them."""
    last = program[-1] if isinstance(program, Pipeline) else program
    takes = hasattr(last, "estimator") or has_fit_parameter(last, "sample_weight")
    if task.weight and not takes:
        raise ConfigError(
            f"{task.name}: {type(last).__name__} does not support weights, but the task has "
            f"weight={task.weight!r}; remove it, or this pipeline"
        )


def split_of(task: Task, job: Job) -> tuple[str, Split]:
    """Return the split of a job by name, its conditions of the types of the columns."""
    name, split = task.split(job.split)
    train, test = (parquet.typed(job.path, rows) for rows in (split.train, split.test))
    return name, replace(split, train=train, test=test)
