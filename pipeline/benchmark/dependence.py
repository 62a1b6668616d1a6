"""Which rows belong together, and which columns only say so: groups, times, numbers of rows."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import f_oneway

from pipeline.benchmark.leaks import Answer, CodedColumn
from pipeline.data.schema import kind_of

CODES = {"zip", "zipcode", "postal", "postcode", "plz", "code", "id", "ids"}
GROUP_ID = {"id", "ids", "uuid", "guid"}
ROW_ID = {*GROUP_ID, "row", "index", "idx", "key", "serial", "no", "nr", "number"}
GROUPS = {
    "account", "animal", "athlete", "batch", "client", "cluster", "customer", "device", "donor",
    "driver", "employee", "family", "group", "hospital", "household", "individual", "machine",
    "member", "participant", "patient", "person", "plant", "player", "plot", "respondent",
    "school", "sensor", "session", "site", "speaker", "store", "student", "subject", "user",
    "vehicle", "visitor", "well", "writer",
}  # fmt: skip
TIMES = {
    "created", "date", "datetime", "day", "epoch", "hour", "minute", "month", "period", "quarter",
    "season", "t", "time", "timestamp", "ts", "week", "year",
}  # fmt: skip
CALENDAR = {"date", "datetime", "epoch", "period", "timestamp", "ts", "year"}
"""Names of numbers that say when, in whatever order the rows are."""
BORN = {"birth", "birthday", "born", "dob"}
LEAST_DIFFERENT = 0.05
"""Share of the rows that differ, below which all are of a few kinds."""
LEAST_TIMES = 8
MANY_KINDS, MOST_ROWS_OF_ONE = 10, 200
"""Of a group that is known by its name alone: values at least, rows of one at most."""


_TOTAL = re.compile(
    r"(?i)\s*(?:grand[ _-]?|sub[ _-]?)?(?:totals?|sum|overall|average|mean|gesamt|summe|insgesamt|"
    r"durchschnitt|somme|moyenne|suma|totale)\b.*"
)
_ADDED = 4
"""So many numbers of which a row that no word names is the sum are no chance."""
_MOMENTS = (946_684_800, 4_102_444_800)
"""Unix time in seconds, from 2000 to 2100."""


def totals(frame: pd.DataFrame) -> np.ndarray:
    """Return the places of rows that sum up others.

    A word calls them so, as "Subtotal", and half of their numbers or more are the sum of the rows
    since the last such one, or of all above. A last row is one by its word or by its numbers alone.

    >>> totals(pd.DataFrame({"in": ["a", "b", "Total", "c", "d", "Sum"], "n": [1, 2, 3, 4, 5, 9]}))
    array([2, 5])
    """
    kinds = {name: kind_of(frame[name].infer_objects()) for name in frame}
    called = np.zeros(len(frame), dtype=bool)
    for name in (name for name, kind in kinds.items() if kind == "text"):
        codes, words = pd.factorize(frame[name])
        called |= np.array([*(bool(_TOTAL.fullmatch(str(each))) for each in words), False])[codes]
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    if len(frame) < 2 or not (numbers or called.any()):
        return np.empty(0, dtype=int)
    X = np.nan_to_num(frame[numbers].to_numpy("float64", na_value=np.nan), posinf=0, neginf=0)
    summed = np.cumsum(np.where(called[:, None], 0, X), axis=0)
    rows = np.flatnonzero(called)
    since = summed[rows] - np.vstack([np.zeros((1, len(numbers))), summed[rows[:-1]]])[: len(rows)]
    sums = np.isclose(X[rows], since, rtol=1e-6) | np.isclose(X[rows], summed[rows], rtol=1e-6)
    held = X[rows] != 0
    found = rows[2 * (sums & held).sum(axis=1) >= np.maximum(held.sum(axis=1), 1)]
    last, above = len(frame) - 1, X[:-1]
    enough = (above != 0).sum(axis=0) >= _ADDED
    below = enough & (X[last] != 0) & np.isclose(X[last], above.sum(axis=0), rtol=1e-9)
    if rows.tolist() == [last] or 2 * below.sum() > (X[last] != 0).sum():
        found = np.union1d(found, [last])
    return found


def by_chance(columns: Sequence[CodedColumn], again: np.ndarray) -> bool:
    """Tell whether rows would repeat if the columns knew nothing of each other.

    Parameters
    ----------
    columns : sequence of Coded
    again : numpy.ndarray of bool
        The rows that repeat an earlier one. The others tell how often two rows share a value.
    """
    n, m = len(again), int((~again).sum())
    if len(columns) < 2 or m < LEAST_DIFFERENT * n:
        return True
    pairs = n * (n - 1) / 2
    for column in columns:
        counts = np.bincount(column.codes[~again] + 1).astype(float)
        pairs *= (counts * (counts - 1)).sum() / (m * (m - 1))
    return bool(pairs > 0.01 * n)


def named_group(column: CodedColumn, rows: int, values: int) -> bool:
    """Tell by its name whether a column says to whom or what a row belongs."""
    words = words_of(column.name)
    if words & GROUP_ID:
        return True
    return bool(words & GROUPS) and values >= MANY_KINDS and rows <= MOST_ROWS_OF_ONE * values


def is_group(column: CodedColumn, columns: Sequence[CodedColumn], answer: Answer) -> bool:
    """Tell whether the rows of a value are alike, in the target and in another column."""
    n = len(column.codes) - column.gaps
    if not (20 <= column.distinct <= n / 2 and n / column.distinct <= 100):
        return False
    if _alike(column, answer.y) < 0.5 or _follows(column, answer):
        return False
    numbers = [c for c in columns if c.kind == "number" and c.distinct >= 20 and c is not column]
    answers = (Answer(np.nan_to_num(c.numbers)[:, None], "regression") for c in numbers)
    return any(_alike(column, a.y) > 0.9 and not _follows(column, a) for a in answers)


def _follows(column: CodedColumn, answer: Answer) -> bool:
    """Tell whether a number explains another by its size, which the numbers of a group do not."""
    explained = _alike(column.at(np.arange(len(column.codes))), answer.y, bins=16)
    return column.kind == "number" and explained > 0.5 * _alike(column, answer.y)


def _alike(column: CodedColumn, y: np.ndarray, bins: int = 0) -> float:
    """Return the share of the variance between the values of a column, less that by chance."""
    codes = column.codes
    if bins and column.distinct > bins:
        codes = codes * bins // column.distinct
    known = codes >= 0
    codes, y = codes[known], y[known]
    k, n = len(np.unique(codes)), len(codes)
    if n <= k or k < 2:
        return 0.0
    rows = np.maximum(np.bincount(codes), 1)[:, None]
    means = np.stack([np.bincount(codes, each) for each in y.T], axis=1) / rows
    total = ((y - y.mean(axis=0)) ** 2).sum()
    within = ((y - means[codes]) ** 2).sum()
    return float(1 - (within / (n - k)) / max(total / (n - 1), 1e-300))


def says_when(column: CodedColumn) -> bool:
    """Tell whether a column says when: a date, or a number of that name that rises."""
    words = words_of(column.name)
    if column.distinct < LEAST_TIMES or words & BORN:
        return False
    if column.kind == "date":
        return bool(np.nanmax(column.numbers) - np.nanmin(column.numbers) > 86_400)
    if column.kind != "number":
        return False
    named = column.name.lower() in CALENDAR or bool(words & TIMES and _rises(column.numbers))
    return named or _is_moment(column)


def _is_moment(column: CodedColumn) -> bool:
    """Tell whether whole numbers are Unix time; in seconds, the name has to say so too."""
    named = bool(words_of(column.name) & TIMES)
    first, last = np.nanmin(column.numbers), np.nanmax(column.numbers)
    units = (1, 10**3, 10**6, 10**9) if named else (10**3, 10**6, 10**9)
    low, high = _MOMENTS
    return column.whole and any(low * unit <= first <= last < high * unit for unit in units)


def _rises(values: np.ndarray) -> bool:
    return bool((np.diff(values) >= 0).all())


def drifts(answer: Answer, when: np.ndarray) -> bool:
    """Tell whether the target changes from one tenth of the time to the next."""
    known = np.isfinite(when)
    y = answer.y[known][np.argsort(when[known], kind="stable")]
    if _follow_each_other(y) > 0.3:
        return True
    return any(_moves(np.array_split(each, 10)) for each in y.T)


def _moves(tenths: Sequence[np.ndarray]) -> bool:
    """Tell whether means differ by more than chance, and by enough to matter."""
    whole = np.concatenate(tenths)
    if all(np.ptp(tenth) == 0 for tenth in tenths):
        return bool(np.ptp(whole) > 0)
    between = sum(len(tenth) * (tenth.mean() - whole.mean()) ** 2 for tenth in tenths)
    return bool(between > 0.02 * whole.var() * len(whole) and f_oneway(*tenths).pvalue < 1e-4)


def _follow_each_other(y: np.ndarray) -> float:
    """Return the correlation of the target with that of the row before."""
    away = y - y.mean(axis=0)
    return float((away[1:] * away[:-1]).sum() / max((away**2).sum(), 1e-300))


def in_order(answer: Answer, target: CodedColumn, columns: Sequence[CodedColumn]) -> bool:
    """Tell whether neighbouring rows have alike targets, and are not merely sorted by a column."""
    if _follow_each_other(answer.y) < 0.3 or _sorted([target, *columns]):
        return False
    changes = int((np.diff(target.codes) != 0).sum())
    return changes > 5 * target.distinct or answer.kind == "regression"


def _sorted(columns: Sequence[CodedColumn]) -> bool:
    """Tell whether a column rises or falls down the rows, or has each value in one place."""
    few = [c.codes for c in columns if 1 < c.distinct <= len(c.codes) / 2]
    if any((np.diff(codes) != 0).sum() < codes.max() + 1 for codes in few):
        return True
    numbers = [c.numbers for c in columns if c.distinct > 1 and not c.gaps]
    return any(_rises(values) or _rises(-values) for values in numbers)


def is_id(column: CodedColumn) -> bool:
    """Tell whether a column numbers or names each row."""
    n, words = len(column.codes), words_of(column.name)
    if column.gaps or column.distinct < max(0.99 * n, 50) or column.kind not in ("number", "text"):
        return False
    if column.kind == "text":
        return bool(words & ROW_ID)
    if not column.whole or words & ROW_ID:
        return column.whole
    if _is_moment(column):
        return False
    return bool(np.ptp(column.numbers) < 1.02 * n) or _rises(column.numbers)


def is_code(column: CodedColumn) -> bool:
    """Tell by its name whether whole numbers are codes."""
    return column.whole and column.distinct > 2 and bool(words_of(column.name) & CODES)


def words_of(name: str) -> set[str]:
    """Return the words of a name.

    >>> sorted(words_of("customerID_2")), sorted(words_of("zip code"))
    (['2', 'customer', 'id'], ['code', 'zip'])
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return set(re.findall(r"[^\W\d_]+|\d+", spaced.lower()))
