"""The format of predictions, by the name of their file: Parquet or CSV."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from pipeline.errors import ConfigError
from pipeline.table.arrow_types import decoded_type


def is_csv(target: Path) -> bool:
    """Return whether CSV is written to a file, and not Parquet, by its name.

    >>> is_csv(Path("late.CSV")), is_csv(Path("run.2/late"))
    (True, False)
    """
    ending = target.suffix.lower()
    if ending not in ("", ".parquet", ".csv"):
        raise ConfigError(
            f"{target}: predictions are written as Parquet or CSV; choose a name that ends in "
            ".parquet or .csv"
        )
    return ending == ".csv"


def _cell_type(target: Path, column: pa.Field) -> pa.DataType:
    """Return what the cells of a column are as text; lists, bytes and the like are rejected."""
    kind = decoded_type(column.type)
    if pa.types.is_nested(kind) or "binary" in str(kind):
        raise ConfigError(
            f"{target}: the column {column.name!r} holds {kind}, which CSV does not support; write "
            "a .parquet file, or do not copy the column"
        )
    return pa.string() if pa.types.is_string_view(kind) else kind


class TableWriter:
    """Writes tables to a draft one after the other; all get the types of the first one.

    The name that the file has later, its `target`, says what it is.
    """

    def __init__(self, draft: Path, target: Path) -> None:
        self.csv, self.target = is_csv(target), target
        self.stream = draft.open("wb")
        self.writer: Any = None

    def write(self, table: pa.Table) -> None:
        """Write some rows."""
        if self.writer is None and self.csv:
            types = [(each.name, _cell_type(self.target, each)) for each in table.schema]
            self.schema = pa.schema(types)
            self.writer = pyarrow.csv.CSVWriter(self.stream, self.schema)
        elif self.writer is None:
            self.schema = table.schema
            self.writer = pq.ParquetWriter(self.stream, self.schema, write_page_checksum=True)
        self.writer.write_table(table.cast(self.schema))

    def __enter__(self) -> TableWriter:
        """Return the writer, whose file is closed with the block."""
        return self

    def __exit__(self, *raised: object) -> None:
        with closing(self.stream):
            if self.writer is not None:
                self.writer.close()

    def finish(self, name: str, record: bytes) -> None:
        """End the file, on the disk; Parquet keeps a record in its metadata under a name."""
        if not self.csv:
            self.writer.add_key_value_metadata({name: record})
        self.writer.close()
        self.stream.flush()
        os.fsync(self.stream.fileno())
