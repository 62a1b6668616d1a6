"""What a target column asks for: a class of two, one of several, or a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import DataError
from pipeline.task import Kind

MOST_CLASSES = 100
FEWEST = 20
"""Rows of a class below which it cannot be learnt and judged."""


@dataclass(frozen=True)
class Target:
    """A target as it is stored.

    Attributes
    ----------
    kind : {"binary", "multiclass", "regression"}
    values : pyarrow array
        Codes of classes, or numbers; missing where the row is left out.
    classes : tuple of str
        Their names, in the order of the codes.
    left_out : tuple of str
        Classes of too few rows.
    """

    kind: Kind
    values: Any
    classes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def target(name: str, values: pa.ChunkedArray) -> Target:
    """Read a target column.

    Raises
    ------
    DataError
        It has one value, too many classes, or a type that is neither class nor number.
    """
    real = pa.types.is_floating(values.type) or pa.types.is_decimal(values.type)
    if real or (pa.types.is_integer(values.type) and pc.count_distinct(values).as_py() > FEWEST):
        numbers = pc.cast(values, "float64", safe=False)
        if pc.count_distinct(numbers).as_py() > 2:
            finite = pc.if_else(pc.is_finite(numbers), numbers, pa.scalar(None, "float64"))
            return Target("regression", finite)
    try:
        texts = pc.cast(values, "string").combine_chunks()
    except pa.ArrowException as error:
        raise DataError(f"target {name!r}: is of type {values.type}, not classes") from error
    return _classes(name, texts)


def _classes(name: str, texts: pa.Array) -> Target:
    counts = {c["values"]: c["counts"] for c in pc.value_counts(texts.drop_null()).to_pylist()}
    kept = sorted((c for c, count in counts.items() if count >= FEWEST), key=_order)
    if not 2 <= len(kept) <= MOST_CLASSES:
        raise DataError(
            f"target {name!r}: {len(kept)} classes of {FEWEST} rows or more, of {len(counts)} "
            f"in all; a class takes 2 to {MOST_CLASSES}, a number a column of numbers"
        )
    codes = pc.cast(pc.index_in(texts, value_set=pa.array(kept)), "int64")
    kind: Kind = "binary" if len(kept) == 2 else "multiclass"
    return Target(kind, codes, tuple(kept), tuple(sorted(set(counts) - set(kept))))


def _order(text: str) -> tuple[float, str]:
    """Sort numbers by value, before texts."""
    try:
        return float(text), text
    except ValueError:
        return float("inf"), text
