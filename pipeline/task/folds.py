"""Folds of the training rows that mirror a split: by later rows, by other groups, or at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

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

from pipeline.data import frames
from pipeline.errors import DataError
from pipeline.task.learnt_rows import LearntRows
from pipeline.task.task import Job, Split, Task
from pipeline.task.truth import typed_split

_ORDERED = ("<", "<=", ">", ">=")
_WHEN = ("date", "datetime", "datetime64", "decimal", "floating", "integer", "mixed-integer-float")
"""Values that are in the order of time, as :func:`pandas.api.types.infer_dtype` calls them."""


@dataclass(frozen=True)
class FoldPlan:
    """What the training rows of a task are cut by.

    Parameters
    ----------
    name : str
        Of the task, for messages.
    splitter : splitter
    time : tuple of str
        Columns of the time, the first one first: folds are judged by later rows than they learn
        from. Rows of one time stay in the order of the file.
    groups : str
        The column whose groups are not parted.
    classes : bool
        Whether classes are learnt, which no fold may lack.
    cautions : tuple of str
        How the folds may be easier than the test rows.
    """

    name: str
    splitter: Any
    time: tuple[str, ...] = ()
    groups: str = ""
    classes: bool = True
    cautions: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """Columns that the folds go by."""
        return [*self.time, *filter(None, [self.groups])]

    def arrange(self, rows: LearntRows) -> tuple[LearntRows, np.ndarray | None]:
        """Return rows in the order that the splitter takes them in, and the group of each.

        Raises
        ------
        DataError
            The rows cannot be cut so.
        """
        if not self.columns:
            return rows, None
        codes = {name: self._codes(name, rows.by[name]) for name in self.columns}
        if self.time:
            if all(np.ptp(each) == 0 for each in codes.values()):
                raise DataError(
                    f"{self._where(*self.time)} is the same in all training rows; name columns "
                    "with more values as Split(..., time=[...])"
                )
            rows = _in_order(rows, np.lexsort([codes[name] for name in reversed(self.time)]))
        groups = codes.get(self.groups)
        self._check_folds(rows.y, groups)
        return rows, groups

    def _codes(self, name: str, values: np.ndarray) -> np.ndarray:
        """Return the place of each value among the sorted ones."""
        if missing := int(pd.isna(values).sum()):
            raise DataError(
                f"{self._where(name)} is missing in {missing:,} of the {len(values):,} training "
                "rows; fill it, or leave these rows out of the split"
            )
        kind = infer_dtype(values, skipna=False)
        if name in self.time and kind not in _WHEN:
            raise DataError(f"{self._where(name)} holds {kind}; store dates or numbers")
        return np.asarray(pd.factorize(values, sort=True)[0])

    def _where(self, *names: str) -> str:
        what = "time" if self.time else "group"
        return f"{self.name}: the {what} of the split, {', '.join(map(repr, names))}"

    def _check_folds(self, y: np.ndarray, groups: np.ndarray | None) -> None:
        """Refuse folds that scikit-learn does not make, or that lack a class."""
        folds, every = self.splitter.get_n_splits(), np.unique(y)
        try:
            parts = [*self.splitter.split(y, y, groups)]
        except ValueError as error:
            raise DataError(f"{self.name}: {folds} folds by {self.columns}: {error}") from error
        for number, (train, test) in enumerate(parts if self.classes else (), start=1):
            lacking = np.setdiff1d(every, y[train])
            if len(lacking) or len(np.unique(y[test])) < 2:
                why = (
                    f"no row to learn from is of the class {lacking[0]}"
                    if len(lacking)
                    else ("all rows to judge by are of one class")
                )
                raise DataError(
                    f"{self.name}: fold {number} of {folds} by {self.columns}: {why}; ask for "
                    "fewer folds (--cv), or choose another --split"
                )


def plan_folds(task: Task, job: Job, folds: int) -> FoldPlan:
    """Return what the training rows are cut by, as the split of the task parts them from the test.

    A split by time gives `TimeSeriesSplit` of the rows in the order of time; one by groups
    `StratifiedGroupKFold`, of numbers `GroupKFold`; any other one random rows.

    Parameters
    ----------
    task : Task
    job : Job
        The split and the seed.
    folds : int
    """
    name, split = task.split(job.split)
    split = typed_split(split, job.path)
    numbers, time = task.kind == "regression", times_of(name, split)
    if time:
        return FoldPlan(task.name, TimeSeriesSplit(folds), time, classes=not numbers)
    kind: Any = KFold if numbers else StratifiedKFold
    if split.groups:
        kind = GroupKFold if numbers else StratifiedGroupKFold
    splitter = kind(folds, shuffle=True, random_state=job.seed)
    noted: tuple[str, ...] = ()
    if name in ("time", "groups") and not split.groups:
        noted = (
            f"The split {name!r} names no column of the {name}, so that searches are by folds of "
            f"random rows, whose scores may be too good; write Split(..., {name}=COLUMN).",
        )
    return FoldPlan(task.name, splitter, (), split.groups, not numbers, noted)


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
    cut = _cut_at(name, split.train) & _cut_at(name, split.test)
    return (*cut,) if len(cut) == 1 else ()


def _cut_at(name: str, rows: Sequence[tuple[str, str, Any]]) -> set[str]:
    return {
        column
        for column, test, value in rows
        if test in _ORDERED and (name == "time" or isinstance(value, date | np.datetime64))
    }


def _in_order(rows: LearntRows, order: np.ndarray) -> LearntRows:
    if (np.diff(order) > 0).all():
        return rows
    params = {name: each[order] for name, each in rows.params.items()}
    return rows._replace(X=frames.at(rows.X, order), y=rows.y[order], params=params)
