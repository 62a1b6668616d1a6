"""Cautions of a split: parts that are too unlike, or the wrong way round in time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

import numpy as np

from pipeline.task.cautions.caution import Caution, of_names
from pipeline.task.cautions.columns import CodedColumn, TableSample
from pipeline.task.cautions.rows import says_when, starts_after
from pipeline.task.numerals import named, share

DRIFTED = 0.65
"""AUC of one column, or of the target, as to which part a row is in."""


def of_split(table: TableSample, groups: str = "", times: Sequence[str] = ()) -> Iterator[Caution]:
    """Yield the cautions about the parts of a split, which may go by groups or by times."""
    here, there = table.train, table.test
    if table.kind in ("ranking", "clusters") or not (here.any() and there.any() and table.target):
        return
    yield from _late(table, here, there, times)
    if table.kind != "regression":
        yield from _classes(table, here, there)
    if not groups:  # Few groups are unlike by chance.
        later = {c.name for c in table.every if says_when(c) and starts_after(c, here, there)}
        moved = [table.target, *(c for c in table.columns if c.name not in {*times, *later})]
        way = "draw the test rows at random (--split random), unless time or groups separate them"
        way = "train on newer rows" if times or later else way
        yield from _drifted(table, moved, way)


def _late(
    table: TableSample, here: np.ndarray, there: np.ndarray, times: Sequence[str]
) -> Iterator[Caution]:
    """Yield how much of the training is later than the test, which no split by time has."""
    if times and {*times} <= {*table.frame}:
        when = table.frame[[*times]].groupby([*times], sort=True).ngroup().to_numpy()
        first = when[there & (when >= 0)].min(initial=len(when))
        if late := (when[here] > first).mean():
            yield Caution(
                "late-training",
                f"The split goes by {named(times)}, but {share(late)} of the training rows are "
                "later than the first test row: train only on rows before it.",
                times,
            )
        return
    for column in table.every:
        if says_when(column) and starts_after(column, there, here):
            yield Caution(
                "late-training",
                f"By {column.name!r}, all training rows are later than the test rows, but a model "
                "in use learns from the past: test on the last rows "
                f"(--split time --by {quote(column.name)}).",
                [column.name],
            )
            return


def _classes(table: TableSample, here: np.ndarray, there: np.ndarray) -> Iterator[Caution]:
    """Yield classes that one part lacks."""
    y = table.frame[table.target_name]
    counts = {name: y[part].value_counts() for name, part in (("training", here), ("test", there))}
    for part, way in {"training": "no model can learn it", "test": "it is not evaluated"}.items():
        lost = sorted(str(name) for name in y.unique() if counts[part].get(name, 0) == 0)
        what = f"Classes of {table.target_name!r} without a {part} row"
        way = f"{way}; give both parts rows of it, or merge it with another class"
        yield from of_names("lacking-class", what, dict.fromkeys(lost, ""), way, table.target_name)


def _drifted(table: TableSample, columns: Sequence[CodedColumn], way: str) -> Iterator[Caution]:
    """Yield which columns separate the parts, by more than few rows do by chance."""
    sizes = np.array([table.train.sum(), table.test.sum()])
    least = max(DRIFTED, 0.5 + 4 * (np.sum(1 / sizes) / 12) ** 0.5)
    scores = {column.name: table.drift(column) or 0.0 for column in columns}
    far = {name: f" ({score:.2f})" for name, score in scores.items() if score > least}
    yield from of_names("drift", "Training and test rows differ (AUC of each column)", far, way)
