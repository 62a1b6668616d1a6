"""The columns of a task's table at a glance: kinds, gaps, ranges, drift and cautions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from pipeline.task.cautions.caution import Caution
from pipeline.task.cautions.columns import CodedColumn, TableSample

MOST_SHOWN = 200
"""Columns, the target and the first features, that are summarized."""
LONGEST = 60
"""Letters of a value that are kept."""


class ColumnSummary(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A column of the training and test rows."""

    name: str
    kind: str
    """number, date, boolean, category or text; of other columns, which have no values here, the
    type that Arrow gives them. A text has more than one distinct value for two rows."""
    missing: float
    """Share of the rows, 0 to 1, without a value or with an infinite number."""
    distinct: int | None = None
    """Different values, without missing ones."""
    low: float | str | None = None
    """The least number or date (ISO 8601)."""
    median: float | str | None = None
    """The lower one, where two are in the middle."""
    high: float | str | None = None
    most_frequent: str = ""
    """Of the other kinds, the first letters of the most frequent value."""
    share: float | None = None
    """Of the rows with a value, those with the most frequent one."""
    drift: float | None = None
    """How well the column alone separates test rows from training rows, as an AUC on held-out
    rows: about 0.5 where they are alike, 1 where no value is in both. None without two parts."""
    cautions: list[str] = []
    """Ids of the cautions about it."""


class TableSummary(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The columns of a table as the model gets them, over a sample of its rows if it is long."""

    rows: int
    """That were looked at: training and test rows with a known target."""
    sampled: bool
    """Whether they are a random sample."""
    columns: list[ColumnSummary]
    """The target, then the first features."""
    left_out: int = 0
    """Features beyond those."""


def summarize(table: TableSample, cautions: Sequence[Caution], *, sampled: bool) -> TableSummary:
    """Return the columns of a sample at a glance, with the cautions about them.

    `sampled` says whether its table holds a part of the rows only.

    >>> rows = pa.table({"x": [1.0, None, 3.0, 4.0], "y": ["a", "b"] * 2})
    >>> found = summarize(TableSample(rows, "y", "binary", ["x"]), [], sampled=False)
    >>> [(each.name, each.kind, each.distinct) for each in found.columns]
    [('y', 'category', 2), ('x', 'number', 3)]
    """
    known = {column.name: column for column in table.columns}
    if table.target is not None:
        known[table.target_name] = table.target
    names = [table.target_name, *table.features]
    columns = [_summary(table, known.get(n), n, cautions) for n in names[:MOST_SHOWN]]
    return TableSummary(
        rows=int((table.train | table.test).sum()),
        sampled=sampled or table.is_part,
        columns=columns,
        left_out=max(len(names) - MOST_SHOWN, 0),
    )


def _summary(
    table: TableSample, column: CodedColumn | None, name: str, cautions: Sequence[Caution]
) -> ColumnSummary:
    field, here = table.whole.schema.field(name), table.train | table.test
    ids = [each.id for each in cautions if name in each.columns]
    if column is None:
        values = table.whole[name]
        missing = values.null_count / max(len(values), 1)
        return ColumnSummary(name=name, kind=str(field.type), missing=missing, cautions=ids)
    codes = column.codes[here]
    counts = np.bincount(codes[codes >= 0])
    rows, distinct = int(counts.sum()), int(np.count_nonzero(counts))
    kind = _kind(field.type, column, rows, distinct)
    if column is table.target and table.kind in ("binary", "multiclass"):
        kind = "category"
    found: dict[str, Any] = {}
    if rows and kind in ("number", "date"):
        numbers = np.sort(column.numbers[here][codes >= 0])
        ends = [float(numbers[place]) for place in (0, (rows - 1) // 2, -1)]
        values = ends if kind == "number" else _moments(ends)
        found = dict(zip(("low", "median", "high"), values, strict=True))
    elif rows:
        value = table.frame[name].iloc[np.flatnonzero(column.codes == counts.argmax())[0]]
        said = str(bool(value)) if kind == "boolean" else str(value)
        found = {"most_frequent": said[:LONGEST], "share": float(counts.max() / rows)}
    return ColumnSummary(
        name=name,
        kind=kind,
        missing=1 - rows / len(codes) if len(codes) else 1.0,
        distinct=distinct,
        drift=table.drift(column),
        cautions=ids,
        **found,
    )


def _kind(type_: pa.DataType, column: CodedColumn, rows: int, distinct: int) -> str:
    if pa.types.is_boolean(type_):
        return "boolean"
    if pa.types.is_dictionary(type_):
        return "category"
    if column.kind != "text":
        return column.kind
    return "text" if 2 * distinct > rows else "category"


def _moments(seconds: Sequence[float]) -> list[str]:
    """Write seconds since 1970 as days, or to the second where one is within a day.

    >>> _moments([0.0, 86_400.0]), _moments([1.0])
    (['1970-01-01', '1970-01-02'], ['1970-01-01T00:00:01'])
    """
    whole = all(each % 86_400 == 0 for each in seconds)
    moments = np.array(seconds).astype("datetime64[s]")
    return np.datetime_as_string(moments, unit="D" if whole else "s").tolist()
