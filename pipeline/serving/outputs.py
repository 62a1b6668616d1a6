"""What predictions are written as, by the name of their file: Parquet, CSV or JSON lines."""

from __future__ import annotations

import os
import re
from contextlib import closing
from pathlib import Path
from typing import Final, Literal

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from pipeline.data.arrow_types import decoded_type
from pipeline.errors import ConfigError

Kind = Literal["parquet", "csv", "jsonl"]
KINDS: Final[dict[str, Kind]] = {
    "": "parquet",
    ".parquet": "parquet",
    ".csv": "csv",
    ".jsonl": "jsonl",
}
_FORMULA: Final = r"^\s*[=+\-@\t\r]"
"""Text that a spreadsheet runs."""
_NUMBER: Final = r"^\s*[+-]?([0-9][0-9.,]*|[.,][0-9]+)([eE][+-]?[0-9]+)?\s*$"
_SLICE: Final = 8192
"""Rows that are Python objects at a time."""
_CELLS: Final = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_time,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_null,
)
"""What a cell of text can stand for."""


def output_kind(target: Path) -> Kind:
    """Return what is written to a file, by its name.

    >>> output_kind(Path("late.CSV")), output_kind(Path("run.2/late"))
    ('csv', 'parquet')

    Raises
    ------
    ConfigError
        The name says that it is something else.
    """
    kind = KINDS.get(target.suffix.lower())
    if kind is None:
        raise ConfigError(
            f"{target}: predictions are written as .parquet, .csv or .jsonl; choose such a name"
        )
    return kind


def check_cells(target: Path, table: pa.Table) -> None:
    """Refuse columns that are no cells of text, where the file holds text.

    Raises
    ------
    ConfigError
        A column holds lists, bytes or the like; or infinite numbers, for JSON.
    """
    kind = output_kind(target)
    for field, column in zip(table.schema, table.columns, strict=True):
        if kind != "parquet" and not any(fits(_decoded(field.type)) for fits in _CELLS):
            raise ConfigError(
                f"{target}: the column {field.name!r} holds {field.type}, which is no cell of "
                "text; write a .parquet file, or do not copy the column"
            )
        infinite = pa.types.is_floating(field.type) and pc.any(pc.is_inf(column)).as_py()
        if kind == "jsonl" and infinite:
            raise ConfigError(
                f"{target}: the column {field.name!r} holds infinite numbers, which JSON does not "
                "have; write a .csv or .parquet file"
            )


def _decoded(kind: pa.DataType) -> pa.DataType:
    kind = decoded_type(kind)
    return pa.string() if pa.types.is_string_view(kind) else kind


class TableWriter:
    """Writes tables to a file one after the other; all get the types of the first one.

    Parameters
    ----------
    draft, target : Path
        The file, and the name that it has later, which says what it is.
    quote_formulas : bool
        Put a ``'`` before text that a spreadsheet would run.
    """

    def __init__(self, draft: Path, target: Path, *, quote_formulas: bool = False) -> None:
        self.kind, self.quotes = output_kind(target), quote_formulas
        self.schema: pa.Schema | None = None
        self.stream = draft.open("wb")
        self.parquet: pq.ParquetWriter | None = None

    def write(self, table: pa.Table) -> None:
        """Write some rows."""
        first = self.schema is None
        if self.schema is None:
            self.schema = table.schema
        table = table.cast(self.schema)
        if self.kind == "parquet":
            if self.parquet is None:
                self.parquet = pq.ParquetWriter(self.stream, self.schema, write_page_checksum=True)
            self.parquet.write_table(table)
            return
        table = table.cast(pa.schema([(each.name, _decoded(each.type)) for each in table.schema]))
        if self.quotes:
            table = _quoted(table)
        if self.kind == "csv":
            how = pyarrow.csv.WriteOptions(include_header=first)
            pyarrow.csv.write_csv(table, self.stream, how)
        else:
            encode = msgspec.json.Encoder().encode_lines
            for start in range(0, len(table), _SLICE):
                self.stream.write(encode(_written_out(table.slice(start, _SLICE)).to_pylist()))

    def __enter__(self) -> TableWriter:
        """Return the writer, whose file is closed with the block."""
        return self

    def __exit__(self, *raised: object) -> None:
        with closing(self.stream):
            if self.parquet is not None:
                self.parquet.close()

    def finish(self, name: str, record: bytes) -> None:
        """End the file, on the disk; Parquet keeps a record in its metadata under a name."""
        if self.parquet is not None:
            self.parquet.add_key_value_metadata({name: record})
            self.parquet.close()
        self.stream.flush()
        os.fsync(self.stream.fileno())


def _quoted(table: pa.Table) -> pa.Table:
    """Return a table of which a spreadsheet runs no text; a number is none, whatever its sign.

    >>> _quoted(pa.table({"=a": ["=1+1", "-5", "-5+A1", "b"]})).to_pydict()
    {"'=a": ["'=1+1", '-5', "'-5+A1", 'b']}
    """
    for number, field in enumerate(table.schema):
        column = table.column(number)
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            runs = pc.match_substring_regex(column, _FORMULA)
            plain = pc.match_substring_regex(column, _NUMBER)
            mark = pa.scalar("'", field.type)
            quoted = pc.binary_join_element_wise(mark, column, pa.scalar("", field.type))
            column = pc.if_else(pc.and_not(runs, plain), quoted, column)
        name = f"'{field.name}" if re.match(_FORMULA, field.name) else field.name
        table = table.set_column(number, name, column)
    return table


def _written_out(table: pa.Table) -> pa.Table:
    """Return a table whose dates are texts of full precision."""
    for number, field in enumerate(table.schema):
        if pa.types.is_temporal(field.type):
            text = table.column(number).cast(pa.string())
            table = table.set_column(number, field.name, text)
    return table
