"""Texts in JSON and in frames that stand for dates, numbers and truth values, as in CSV.

The plain rules read them in CSV files alone; elsewhere a text is a text until a format says more.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.data.arrow_types import as_text, is_text
from pipeline.data.csv import infer
from pipeline.data.table_format import Boolean, ColumnFormat, Date, Number

_PARTS = {
    r"(?<=\d)(Z|[+-]00:?00)$": "%z",
    "^0000-00-00": "%Y-%m-%d",
    r"00:00:00\.0+": "%H:%M:%S.%f",
    "00:00:00": "%H:%M:%S",
    "00:00": "%H:%M",
}
"""Parts of a date with zeros for its digits, and how a format names them."""


def formats_of_texts(
    table: pa.Table, known: Collection[str]
) -> Iterator[tuple[str, ColumnFormat, str]]:
    """Yield name, format and a sentence for each column of texts that plain rules would read.

    Parameters
    ----------
    table : pyarrow.Table
    known : collection of str
        Columns that are let be.

    Examples
    --------
    >>> rows = pa.table({"at": ["2024-01-31T10:30:00.5Z"], "n": ["1.5"], "x": ["y"]})
    >>> [(name, format.format) for name, format, _ in formats_of_texts(rows, ["n"])]
    [('at', '%Y-%m-%dT%H:%M:%S.%f%z')]
    """
    for name in table.column_names:
        if name in known or not is_text(table[name].type):
            continue
        cells = as_text(table[name])
        if (format := _format(cells)) is not None:
            what = type(format).__name__.lower()
            yield name, format, f"{name!r} holds texts such as {_first(cells)!r}, read as {what}s"


def _format(cells: pa.ChunkedArray) -> ColumnFormat | None:
    kind = infer(cells).type
    if pa.types.is_timestamp(kind):
        shapes = pc.unique(pc.replace_substring_regex(cells, r"\d", "0")).drop_null().to_pylist()
        formats = tuple(dict.fromkeys(map(_of_shape, shapes)))
        return Date(format=formats if len(formats) > 1 else formats[0])
    if pa.types.is_boolean(kind):
        return Boolean(true=("true",), false=("false",))
    return Number() if pa.types.is_integer(kind) or pa.types.is_floating(kind) else None


def _of_shape(shape: str) -> str:
    """Return the format of a date with zeros for its digits.

    >>> _of_shape("0000-00-00 00:00+00:00")
    '%Y-%m-%d %H:%M%z'
    """
    for pattern, name in _PARTS.items():
        shape = re.sub(pattern, name, shape)
    return shape


def _first(cells: pa.ChunkedArray) -> str:
    return str(cells.drop_null()[0].as_py())
