"""Cautions about rows: copies, groups and times that a random split mixes, rare classes."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from shlex import quote

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from pipeline.task.cautions.caution import Caution, of_names
from pipeline.task.cautions.columns import (
    FEWEST,
    CodedColumn,
    TableSample,
    held_out_score,
    is_row_id,
    plain_frame,
)
from pipeline.task.numerals import share

REPEATED = 0.01
"""Share of copies from which there is a caution."""
GROUPS = {
    "account", "batch", "client", "customer", "device", "donor", "employee", "family", "group",
    "guid", "household", "id", "ids", "machine", "member", "participant", "patient", "person",
    "player", "school", "sensor", "session", "speaker", "student", "subject", "user", "uuid",
}  # fmt: skip
FEWEST_GROUPS, MOST_ROWS_OF_ONE = 10, 200
CALENDAR = {"date", "datetime", "epoch", "period", "timestamp", "ts", "year"}
"""Names of numbers that are times."""
BORN = {"birth", "birthday", "born", "dob"}
LEAST_TIMES = 8
CHANGES = {"binary": 0.6, "multiclass": 0.05, "continuous": 0.05}
"""Held-out score of the time alone, above which the target changes with it."""


def of_rows(table: TableSample) -> Iterator[Caution]:
    """Yield the cautions about the rows of a table."""
    if not table.varies:
        return
    yield from _copies(table)
    yield from _groups(table)
    yield from _times(table)
    if table.kind != "regression":
        yield from _classes(table)


def _copies(table: TableSample) -> Iterator[Caution]:
    """Yield how many rows are there again, aside from row numbers."""
    names = [column.name for column in table.columns if not is_row_id(column)]
    if not names:
        return
    frame = plain_frame(table.whole.select([*names, table.target_name]))
    keys = pd.util.hash_pandas_object(frame, index=False)
    again, test = keys.duplicated(), table.in_test
    copied, where = again.to_numpy(), "rows repeat an earlier one"
    if test.any() and not test.all():
        copied = np.isin(keys[test], keys[~test])
        where = "test rows are among the training rows"
    enough = copied.mean() >= REPEATED and copied.sum() >= 3
    if enough and not _by_chance(frame[~again], len(frame)):
        yield Caution(
            "copies",
            f"{share(copied.mean())} of the {where}: scores are too good; remove the copies, "
            "unless each is a separate case.",
        )


def _by_chance(different: pd.DataFrame, n: int) -> bool:
    """Return whether 1 % of n rows would repeat if the columns were independent of each other."""
    counts = [different[name].value_counts(dropna=False) for name in different]
    pairs = len(different) * (len(different) - 1) or 1
    return bool(n / 2 * prod((c * (c - 1)).sum() / pairs for c in counts) > REPEATED)


def _groups(table: TableSample) -> Iterator[Caution]:
    for column in table.every:
        if not (column.kind == "text" or column.whole) or not column.words & GROUPS:
            continue
        values = table.whole[column.name]
        rows, count = len(values) - values.null_count, len(pc.unique(values.drop_null()))
        several = count >= FEWEST_GROUPS and 1.2 * count <= rows <= MOST_ROWS_OF_ONE * count
        here, there = column.codes[~table.test], np.unique(column.codes[table.test])
        # Most values are in one part of the split alone where it goes by them.
        apart = len(there) > 0 and np.isin(there, here).mean() < 0.5
        if several and not apart:
            yield Caution(
                "groups",
                f"{column.name!r} has {count:,} values in {rows:,} rows: training and test share "
                "values, so scores are too good for new values; to score those, use "
                f"--split groups --by {quote(column.name)}.",
                [column.name],
            )
            return


def _times(table: TableSample) -> Iterator[Caution]:
    """Yield whether the target changes with a time that the split does not go by."""
    times = [column for column in table.every if says_when(column)]
    if len(table.frame) < 100 or any(starts_after(c, ~table.test, table.test) for c in times):
        return
    for column in times:
        if held_out_score(column, *table.labels) > CHANGES[table.labels[1]]:
            yield Caution(
                "time",
                f"{table.target_name!r} changes with {column.name!r}: some training rows are later "
                "than test rows, so scores are too good for future rows; to score those, use "
                f"--split time --by {quote(column.name)}.",
                [column.name],
            )
            return


def says_when(column: CodedColumn) -> bool:
    """Return whether a column says when: a date, or a number of such a name."""
    if column.distinct < LEAST_TIMES or column.missing > 0.1 or column.words & BORN:
        return False
    return column.kind == "date" or (column.kind == "number" and column.name.lower() in CALENDAR)


def starts_after(column: CodedColumn, first: np.ndarray, second: np.ndarray) -> bool:
    """Return whether no known value of the second rows is below one of the first."""
    low, high = (column.codes[rows & (column.codes >= 0)] for rows in (first, second))
    return bool(len(low) and len(high) and low.max() <= high.min())


def _classes(table: TableSample) -> Iterator[Caution]:
    if len(table.rows) < len(table.whole):
        return
    counts = table.frame[table.target_name].value_counts().sort_index()
    rare = {str(name): f" ({n} rows)" for name, n in counts.items() if n < FEWEST}
    what = f"Classes of {table.target_name!r} with fewer than {FEWEST} rows"
    way = "too few to learn and to evaluate; merge them with others"
    yield from of_names("rare-class", what, rare, way, table.target_name)
