"""What the columns of a table can be used for; what cannot be used is named, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

FEW = 20
"""Distinct texts up to which each gets a column of its own."""
OWN = 0.5
"""Share of distinct texts among the rows above which a column tells rows apart, no more."""
PARTS = ("year", "month", "day", "weekday", "hour")


@dataclass
class Columns:
    """The columns to learn from.

    Attributes
    ----------
    values : dict of str to pyarrow array
        By name, as they are stored.
    numbers, few, many : list of str
        Numbers; categories of few values; categories of many.
    dates : dict of str to list of str
        Date -> the numbers it became.
    unused : dict of str to str
        Column -> why it cannot be used.
    """

    values: dict[str, Any] = field(default_factory=dict)
    numbers: list[str] = field(default_factory=list)
    few: list[str] = field(default_factory=list)
    many: list[str] = field(default_factory=list)
    dates: dict[str, list[str]] = field(default_factory=dict)
    unused: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, values: pa.ChunkedArray) -> None:
        """Take a column as what it is."""
        kind, distinct = values.type, _distinct(values)
        if values.null_count == len(values):
            distinct = 0
        if distinct is not None and distinct < 2:
            self.unused[name] = "has one value" if distinct else "has no values"
        elif pa.types.is_boolean(kind) or _is_number(kind):
            self._number(name, values)
        elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            self._date(name, values)
        elif _is_text(kind):
            self._text(name, values, distinct or 0)
        else:
            self.unused[name] = f"is of type {kind}, which no program here takes"

    def _number(self, name: str, values: pa.ChunkedArray) -> None:
        real = pc.cast(values, "float64", safe=False)
        self.values[name] = pc.if_else(pc.is_finite(real), real, pa.scalar(None, "float64"))
        self.numbers.append(name)

    def _date(self, name: str, values: pa.ChunkedArray) -> None:
        found = {f"{name}: {part}": each for part, each in _parts(values) if _distinct(each) != 1}
        for part, each in found.items():
            self.values[part] = pc.cast(each, "float64")
        self.dates[name] = list(found)
        self.numbers.extend(found)

    def _text(self, name: str, values: pa.ChunkedArray, distinct: int) -> None:
        if distinct > FEW and distinct > OWN * len(values):
            self.unused[name] = f"has {distinct:,} texts in {len(values):,} rows, one or two each"
            return
        self.values[name] = encoded(values)
        (self.few if distinct <= FEW else self.many).append(name)


def counts(values: pa.ChunkedArray) -> bool:
    """Tell whether whole numbers rise by one from row to row."""
    if not pa.types.is_integer(values.type) or values.null_count or len(values) < 2:
        return False
    steps = pc.pairwise_diff(pc.cast(values.combine_chunks(), "int64")).drop_null()
    return bool(pc.all(pc.equal(steps, 1)).as_py())


def encoded(values: pa.ChunkedArray) -> Any:
    """Return texts as codes into their sorted levels."""
    texts = pc.cast(values, "string").combine_chunks()
    levels = pc.unique(texts).drop_null()
    levels = levels.take(pc.sort_indices(levels))
    return pa.DictionaryArray.from_arrays(pc.index_in(texts, value_set=levels), levels)


def _distinct(values: Any) -> int | None:
    try:
        return int(pc.count_distinct(values).as_py())
    except pa.ArrowNotImplementedError:
        return None


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _parts(values: pa.ChunkedArray) -> Iterator[tuple[str, Any]]:
    times = pc.cast(values, "timestamp[us]") if pa.types.is_date(values.type) else values
    functions = (pc.year, pc.month, pc.day, pc.day_of_week, pc.hour)
    for part, function in zip(PARTS, functions, strict=True):
        yield part, function(times)
