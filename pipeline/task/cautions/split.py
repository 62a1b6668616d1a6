"""Cautions of a split: parts that are too unlike, or the wrong way round in time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

import numpy as np
from sklearn.metrics import roc_auc_score

from pipeline.task.cautions.caution import Caution
from pipeline.task.cautions.columns import CodedColumn, TableSample, held_out_score
from pipeline.task.cautions.rows import says_when
from pipeline.task.numerals import NAMED, ignore, named, rest, share

FEWEST_JUDGED = 10
"""Test rows of a class below which it deserves a word."""
DRIFTED = 0.65
"""AUC of one column, or of the target, as to which part a row is in."""
UNSEEN = 0.05
"""Share of test rows with values that training lacks, above which it deserves a word."""
FEWEST_GROUPS = 20


def of_split(
    table: TableSample, train: np.ndarray, groups: str = "", times: Sequence[str] = ()
) -> Iterator[Caution]:
    """Yield what to know of the parts of a split.

    Parameters
    ----------
    table : TableSample
        With the test rows.
    train : numpy.ndarray of bool
        The training rows of the whole table.
    groups : str
        The column that the split goes by, if it does: rows of one group count as one.
    times : sequence of str
        Columns of the time that the split goes by, if it does, the first one first.
    """
    here, there = train[table.rows], table.test
    target = table.target
    if table.kind in ("ranking", "clusters") or not (here.any() and there.any()) or not target:
        return
    every = [*table.columns, *table.others]
    later = [c.name for c in every if says_when(c) and _starts_after(c, here, there)]
    groups = groups or next((c.name for c in every if _divides(c, here, there)), "")
    yield from _late(table, here, there, times, every)
    if table.kind != "regression":
        yield from _classes(table, here, there)
    yield from _constant(table, here, there)
    yield from _unseen(table, here, there, groups)
    way = (
        "time or groups part them: train on newer rows, or on more groups"
        if groups or times or later
        else "draw the test rows at random (--split random), unless time or groups are to part them"
    )
    moved = [c for c in table.columns if c.name not in {groups, *times, *later}]
    rows = np.flatnonzero(here | there)
    if groups:
        rows = rows[~table.frame[groups].iloc[rows].duplicated().to_numpy()]
    yield from _drifted([each.at(rows) for each in (target, *moved)], there[rows], way)


def _starts_after(column: CodedColumn, first: np.ndarray, second: np.ndarray) -> bool:
    """Tell whether the known values of the second rows are all above those of the first."""
    low, high = column.numbers[second], column.numbers[first]
    low, high = low[np.isfinite(low)], high[np.isfinite(high)]
    return bool(len(low) and len(high) and low.min() > high.max())


def _divides(column: CodedColumn, here: np.ndarray, there: np.ndarray) -> bool:
    """Tell whether the rows of each of many texts are all in the same part."""
    many = FEWEST_GROUPS <= column.distinct <= len(column.codes) / 2
    if column.kind != "text" or not many:
        return False
    first, second = (np.unique(column.codes[part & (column.codes >= 0)]) for part in (here, there))
    return len(first) > 1 and not np.isin(second, first).any()


def _late(
    table: TableSample, here: np.ndarray, there: np.ndarray, times: Sequence[str],
    columns: Sequence[CodedColumn],
) -> Iterator[Caution]:  # fmt: skip
    """Yield how much of the training is later than the test, which no split by time has."""
    if times and {*times} <= {*table.frame}:
        when = table.frame[[*times]].groupby([*times], sort=True).ngroup().to_numpy()
        first = when[there & (when >= 0)].min(initial=len(when))
        if late := (when[here] > first).mean():
            yield Caution(
                "late-training",
                f"The split goes by {named(times)}, and {share(late)} of the training rows are "
                "later than the first test row: train on the rows before it alone.",
            )
        return
    for column in columns:
        if says_when(column) and _starts_after(column, there, here):
            yield Caution(
                "late-training",
                f"All training rows are later than the test rows by {column.name!r}: a model that "
                "is used learns from the past; judge on the last rows "
                f"(--split time --by {quote(column.name)}).",
            )
            return


def _classes(table: TableSample, here: np.ndarray, there: np.ndarray) -> Iterator[Caution]:
    """Yield classes that one part lacks, and those that too few test rows are of."""
    y = table.frame[table.target_name]
    counts = {name: y[part].value_counts() for name, part in (("training", here), ("test", there))}
    ways = {"training": "no model can learn it", "test": "nothing judges it"}
    for part, way in ways.items():
        lost = sorted(str(name) for name in y.unique() if counts[part].get(name, 0) == 0)
        if lost:
            yield Caution(
                "lacking-class",
                f"No {part} row is of the class {', '.join(lost[:NAMED])}{rest(len(lost))} of "
                f"{table.target_name!r}: {way}; give both parts rows of it, or put it together "
                "with another.",
            )
    tested = counts["test"]
    few = tested[(tested > 0) & (tested < FEWEST_JUDGED)].sort_index()
    if len(few) and len(table.rows) == len(table.whole):
        said = ", ".join(f"{name!s} ({n})" for name, n in few.iloc[:NAMED].items())
        yield Caution(
            "lacking-class",
            f"Fewer than {FEWEST_JUDGED} test rows are of the class {said}{rest(len(few))} of "
            f"{table.target_name!r}: too few to judge it; judge on more rows, or put it together "
            "with another.",
        )


def _constant(table: TableSample, here: np.ndarray, there: np.ndarray) -> Iterator[Caution]:
    """Yield which columns vary in the test rows alone."""
    same = []
    for column in table.columns:
        known = np.unique(column.codes[here & (column.codes >= 0)])
        other = there & (column.codes >= 0) & ~np.isin(column.codes, known)
        if len(known) == 1 and other.sum() > UNSEEN * there.sum():
            same.append(column.name)
    if same:
        yield Caution(
            "constant-in-training",
            f"{named(same)} {'has' if len(same) == 1 else 'have'} one value in the training rows "
            "and others in the test rows: nothing can be learnt from it; leave it out "
            f"({ignore(same)}), or train on rows that show them.",
        )


def _unseen(
    table: TableSample, here: np.ndarray, there: np.ndarray, groups: str
) -> Iterator[Caution]:
    """Yield which texts of the test rows no training row has."""
    parts = {}
    for column in table.columns:
        if column.kind == "text" and column.distinct <= len(column.codes) / 2:
            known = np.isin(column.codes[there], [-1, *column.codes[here]])
            parts[column.name] = 1 - known.mean()
    new = {name: part for name, part in parts.items() if part > UNSEEN and name != groups}
    if new:
        said = ", ".join(f"{name!r} ({share(part)})" for name, part in [*new.items()][:NAMED])
        yield Caution(
            "unseen-values",
            f"Test rows with a value that no training row has: {said}{rest(len(new))}: take an "
            "encoder that allows for these (handle_unknown=…), or leave the column out.",
        )


def _drifted(columns: Sequence[CodedColumn], test: np.ndarray, way: str) -> Iterator[Caution]:
    """Yield which columns tell the parts apart, by more than few rows do by chance."""
    sizes = np.bincount(test, minlength=2)
    if sizes.min() < 2:
        return
    least = max(DRIFTED, 0.5 + 4 * (np.sum(1 / sizes) / 12) ** 0.5)
    far = {c.name: score for c in columns if (score := _tells(c, test)) > least}
    if far:
        said = ", ".join(f"{name!r} ({score:.2f})" for name, score in [*far.items()][:NAMED])
        yield Caution(
            "drift",
            f"Training and test rows differ in {said}{rest(len(far))} (AUC of telling the parts "
            f"apart by it alone; 0.5 is alike): {way}.",
        )


def _tells(column: CodedColumn, test: np.ndarray) -> float:
    """Return the AUC of a column as to which part a row is in; missing numbers are the least."""
    if column.kind == "text":
        return held_out_score(column, test.astype(int), "binary")
    area = roc_auc_score(test, column.codes)
    return float(max(area, 1 - area))
