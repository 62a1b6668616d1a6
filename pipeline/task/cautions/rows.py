"""Cautions of rows: copies, groups and times that a random split mixes, rare classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from sklearn.metrics import accuracy_score

from pipeline.task.cautions.caution import Caution
from pipeline.task.cautions.columns import (
    FEWEST,
    CodedColumn,
    TableSample,
    held_out_score,
    is_row_id,
    plain_frame,
)
from pipeline.task.numerals import NAMED, rest, share

MOST_HASHED = 1_000_000
"""Rows among which copies are looked for, the first of a table."""
REPEATED = 0.01
"""Share of copies that deserves a word."""
LEAST_DIFFERENT = 0.05
"""Share of the rows that differ, below which all are of a few kinds."""
RARE = 0.05
"""Share of a class that accuracy says little of."""
GROUP_ID = {"id", "ids", "uuid", "guid"}
GROUPS = {
    "account", "animal", "athlete", "batch", "client", "cluster", "customer", "device", "donor",
    "driver", "employee", "family", "group", "hospital", "household", "individual", "machine",
    "member", "participant", "patient", "person", "plant", "player", "plot", "respondent",
    "school", "sensor", "session", "site", "speaker", "store", "student", "subject", "user",
    "vehicle", "visitor", "well", "writer",
}  # fmt: skip
MANY_GROUPS, MOST_ROWS_OF_ONE = 10, 200
"""Of groups that their name alone makes known: how many, and rows of one at most."""
TIMES = {
    "created", "date", "datetime", "day", "epoch", "hour", "minute", "month", "period", "quarter",
    "season", "t", "time", "timestamp", "ts", "week", "year",
}  # fmt: skip
CALENDAR = {"date", "datetime", "epoch", "period", "timestamp", "ts", "year"}
"""Names of numbers that are times, in whatever order the rows are."""
BORN = {"birth", "birthday", "born", "dob"}
LEAST_TIMES = 8
CHANGES = {"AUC": 0.6, "accuracy beyond guessing": 0.05, "R²": 0.05}
"""Held-out score of the time alone, above which the target changes with it."""


def of_rows(table: TableSample, metrics: Mapping[str, Any]) -> Iterator[Caution]:
    """Yield what to know of the rows of a table; `metrics` are the scorers of a task, if any."""
    if not table.varies:
        return
    yield from _copies(table)
    yield from _groups(table)
    yield from _times(table)
    if table.kind != "regression":
        yield from _classes(table, metrics)


def _copies(table: TableSample) -> Iterator[Caution]:
    """Yield how many rows are there again, aside from row numbers."""
    columns = [column for column in table.columns if not is_row_id(column)]
    names = [column.name for column in columns]
    if not columns:
        return
    frame = plain_frame(table.whole.select([*names, table.target_name])[:MOST_HASHED])
    keys = pd.util.hash_pandas_object(frame, index=False).to_numpy()
    test = table.in_test[: len(keys)]
    again, where = pd.Series(keys).duplicated().to_numpy(), "rows repeat an earlier one"
    copied = again
    if test.any() and not test.all():
        copied = np.isin(keys[test], keys[~test])
        where = "test rows are among the training rows"
    if copied.mean() < REPEATED or copied.sum() < 3:
        return
    if not _by_chance([*columns, table.target], again[table.rows[table.rows < len(again)]]):
        yield Caution(
            "copies",
            f"{share(copied.mean())} of the {where}: scores are too good; remove the copies, "
            "unless each is a case of its own.",
        )


def _by_chance(columns: Sequence[Any], again: np.ndarray) -> bool:
    """Tell whether rows would repeat if the columns were independent of each other.

    Rows that do not repeat an earlier one tell how often two rows share a value.
    """
    n, m = len(again), int((~again).sum())
    if len(columns) < 2 or m < LEAST_DIFFERENT * n:
        return True
    pairs = n * (n - 1) / 2
    for column in columns:
        counts = np.bincount(column.codes[:n][~again] + 1).astype(float)
        pairs *= (counts * (counts - 1)).sum() / (m * (m - 1))
    return bool(pairs > 0.01 * n)


def _groups(table: TableSample) -> Iterator[Caution]:
    for column in (*table.columns, *table.others):
        if not (column.kind == "text" or column.whole) or not column.words & (GROUP_ID | GROUPS):
            continue
        values = table.whole[column.name]
        rows, count = len(values) - values.null_count, len(pc.unique(values.drop_null()))
        named = column.words & GROUP_ID or (
            count >= MANY_GROUPS and rows <= MOST_ROWS_OF_ONE * count
        )
        if named and count >= 5 and rows >= 1.2 * count and not _apart(table, column):
            yield Caution(
                "groups",
                f"{column.name!r} has {count:,} values in {rows:,} rows: those of the same one "
                "are in training and test, and scores are too good for new ones; to judge these: "
                f"--split groups --by {quote(column.name)}.",
            )
            return


def _apart(table: TableSample, column: CodedColumn) -> bool:
    """Tell whether most values of a column are in one part of the split alone."""
    here, there = column.codes[~table.test], np.unique(column.codes[table.test])
    return len(there) > 0 and bool(np.isin(there, here).mean() < 0.5)


def _times(table: TableSample) -> Iterator[Caution]:
    """Yield whether the target changes with a time that the split does not go by."""
    times = [column for column in (*table.columns, *table.others) if says_when(column)]
    if len(table.frame) < 100 or any(_later(table, column.numbers) for column in times):
        return
    for column in times:
        if held_out_score(column, *table.answer) > CHANGES[table.measure]:
            sure = column.kind == "date" or column.name.lower() in CALENDAR
            unsure = "" if sure else f"if {column.name!r} says when a row was made, "
            yield Caution(
                "time",
                f"{table.target_name!r} changes with {column.name!r}: {unsure}training has rows "
                "that are later than those of the test, and scores are too good for what is to "
                f"come; to judge that: --split time --by {quote(column.name)}.",
            )
            return


def says_when(column: CodedColumn) -> bool:
    """Tell whether a column says when: a date, or a number of such a name that rises."""
    mostly_missing = column.gaps > 0.1 * len(column.codes)
    if column.distinct < LEAST_TIMES or mostly_missing or column.words & BORN:
        return False
    if column.kind == "date":
        return bool(np.nanmax(column.numbers) - np.nanmin(column.numbers) > 86_400)
    rises = bool((np.diff(column.numbers) >= 0).all())
    named = column.name.lower() in CALENDAR or bool(column.words & TIMES and rises)
    return column.kind == "number" and named


def _later(table: TableSample, when: np.ndarray) -> bool:
    """Tell whether all rows to be judged on come after the others."""
    known = np.isfinite(when)
    here, there = when[known & ~table.test], when[known & table.test]
    return len(here) > 0 and len(there) > 0 and bool(there.min() >= here.max())


def _classes(table: TableSample, metrics: Mapping[str, Any]) -> Iterator[Caution]:
    counts = table.frame[table.target_name].value_counts().sort_index()
    counts = counts[counts > 0] if len(table.rows) == len(table.whole) else counts[:0]
    rare = counts[counts < FEWEST]
    if len(rare):
        said = ", ".join(f"{name!s} ({count} rows)" for name, count in rare.iloc[:NAMED].items())
        yield Caution(
            "rare-class",
            f"{len(rare)} class{'' if len(rare) == 1 else 'es'} of {table.target_name!r} with "
            f"fewer than {FEWEST} rows: {said}{rest(len(rare))}: too few to learn and to judge; "
            "put them together with others.",
        )
    least, all_rows = counts.min() if len(counts) else 0, counts.sum()
    blind = all(scorer._score_func is accuracy_score for scorer in metrics.values())
    if metrics and blind and FEWEST <= least < RARE * all_rows:
        yield Caution(
            "imbalance",
            f"{table.target_name!r} is {counts.idxmin()!s} in {share(least / all_rows)} of the "
            "rows: accuracy says little; judge by average precision or balanced accuracy.",
        )
