"""The column to predict: classes, and which of two is the positive one, or a number."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import ConfigError, DataError
from pipeline.table.arrow_types import decoded, is_date, is_number, is_text, usable
from pipeline.task.task import Kind

Class: TypeAlias = bool | int | str
KINDS: tuple[Kind, ...] = ("binary", "multiclass", "regression")
MOST_CLASSES = 100
FEWEST = 20
"""Rows of a class below which it cannot be learnt and judged."""
GRADES = 10
"""Whole numbers up to which, each in many rows, they are guessed to be classes."""
AFFIRMATIVE = {"yes", "y", "true", "t", "1", "on", "+", "x", "positive", "pos"}


@dataclass(frozen=True)
class Target:
    """A target as it is stored."""

    kind: Kind
    values: Any
    """An array of Arrow, missing where the row is left out."""
    classes: dict[Class, int] = field(default_factory=dict)
    """Class -> its rows."""
    left_out: dict[Class, int] = field(default_factory=dict)
    """Classes of too few rows."""
    positive: Class | None = None
    """The class that a binary task is about."""
    notes: tuple[str, ...] = ()
    """What was guessed."""


def read_target(
    name: str, values: pa.ChunkedArray, kind: str = "", *, min_rows: int = FEWEST
) -> Target:
    """Read a target column, as what it is or as what it is said to be.

    `ConfigError` is raised if it does not fit the kind, `DataError` if it cannot be learned.
    """
    if kind and kind not in KINDS:
        raise ConfigError(f"--kind {kind}: choose from {', '.join(KINDS)}")
    values = _plain(name, values)
    found = kind or _guess(values, min_rows)
    if found == "regression":
        return _number(name, values, kind)
    return _classes(name, values, kind, min_rows)


def choose_positive(classes: dict[Class, int]) -> Class:
    """Return the class of a yes, else the larger number, else the rarer.

    >>> choose_positive({"bad": 30, "good": 70}), choose_positive({1: 30, 2: 70})
    ('bad', 2)
    """
    if not any(isinstance(each, str) for each in classes):
        return max(classes)
    yes = [each for each in classes if str(each).strip().lower() in AFFIRMATIVE]
    if len(yes) == 1:
        return yes[0]
    return min(sorted(classes, key=_order, reverse=True), key=classes.__getitem__)


def _plain(name: str, values: pa.ChunkedArray) -> pa.Array:
    """Return text, booleans, whole numbers or others, whatever they were stored as."""
    values = decoded(values)
    kind = values.type
    if values.null_count == len(values):
        raise DataError(f"target {name!r}: has no values; choose another TARGET")
    if is_number(kind):
        # Integers where all numbers are whole, as those with gaps in a CSV; else float64.
        numbers = usable(values).combine_chunks()
        if not pa.types.is_integer(numbers.type):
            numbers = numbers.cast("float64", safe=False)
        with suppress(pa.ArrowInvalid):
            numbers = numbers.cast("int64")
        return numbers
    if pa.types.is_boolean(kind):
        return values.combine_chunks()
    if is_text(kind):
        return values.cast("string").combine_chunks()
    what = "dates or times" if is_date(kind) else str(kind)
    raise DataError(
        f"target {name!r}: holds {what}, not classes or numbers; choose another TARGET, "
        "or add a column with the number or the text to predict"
    )


def _guess(values: pa.Array, min_rows: int) -> Kind:
    counts = _counts(values)
    if len(counts) <= 2 or not is_number(values.type):
        return "multiclass"
    grades = pa.types.is_integer(values.type) and len(counts) <= GRADES
    return "multiclass" if grades and min(counts.values()) >= min_rows else "regression"


def _number(name: str, values: pa.Array, kind: str) -> Target:
    if _holds_digits(values):  # with zeros before them, as 0042
        values = values.cast("float64")
    if pa.types.is_string(values.type):
        rows = pc.indices_nonzero(pc.is_valid(values))[:1].to_pylist()
        raise ConfigError(
            f"target {name!r}: --kind regression needs numbers, but row {rows[0]} holds "
            f"{values[rows[0]].as_py()!r}; choose another --kind"
        )
    distinct = pc.count_distinct(values).as_py()
    if distinct < 2:
        raise DataError(f"target {name!r}: has a single value; choose another TARGET")
    whole = pa.types.is_integer(values.type) and distinct <= MOST_CLASSES and not kind
    note = f"{name!r} holds {distinct} different integers, read as numbers; if they are "
    notes = (note + "classes, use --kind multiclass",) if whole else ()
    return Target("regression", values.cast("float64", safe=False), notes=notes)


def _classes(name: str, values: pa.Array, kind: str, min_rows: int) -> Target:
    number = is_number(values.type) or _holds_digits(values)
    if pa.types.is_floating(values.type):
        values = values.cast("string")
    counts = _counts(values)
    counts = {each: counts[each] for each in sorted(counts, key=_order)}
    kept = {each: rows for each, rows in counts.items() if rows >= min_rows}
    if kind == "binary" and len(kept) > 2:
        raise ConfigError(
            f"target {name!r}: --kind binary needs two classes, not {len(kept)}; use multiclass"
        )
    if len(counts) == 1:
        raise DataError(f"target {name!r}: all rows are {[*counts][0]!r}; choose another TARGET")
    if not 2 <= len(kept) <= MOST_CLASSES:
        raise DataError(
            f"target {name!r}: {len(kept)} of {len(counts)} classes have {min_rows} rows or more; "
            f"2 to {MOST_CLASSES} are needed, or {'--kind regression' if number else 'numbers'}"
        )
    of_these = pc.is_in(values, value_set=pa.array(list(kept), values.type))
    stored = pc.if_else(of_these, values, pa.scalar(None, values.type))
    whole = pa.types.is_integer(values.type) and len(kept) > 2 and not kind
    note = f"{name!r} holds {len(counts)} different integers, read as classes; if they are "
    notes = (note + "amounts or counts, use --kind regression",) if whole else ()
    found: Kind = "binary" if len(kept) == 2 and kind != "multiclass" else "multiclass"
    left_out = {each: rows for each, rows in counts.items() if each not in kept}
    return Target(found, stored, kept, left_out, notes=notes)


def _holds_digits(values: pa.Array) -> bool:
    """Whether all texts are digits."""
    text = pa.types.is_string(values.type)
    return text and bool(pc.all(pc.match_substring_regex(values, r"^\d+$")).as_py())


def _counts(values: pa.Array) -> dict[Class, int]:
    pairs = pc.value_counts(values.drop_null()).to_pylist()
    return {pair["values"]: pair["counts"] for pair in pairs}


def _order(value: Class) -> tuple[float, str]:
    """Sort numbers by value, before texts."""
    try:
        return float(value), str(value)
    except ValueError:
        return float("inf"), str(value)
