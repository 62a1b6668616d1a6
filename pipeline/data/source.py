"""What holds a table: the names of its columns, their types, and its rows in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.data.files import reading

BROKEN = (
    *(MemoryError, OverflowError),
    *(AttributeError, LookupError, TypeError, ValueError),
)
"""A damaged footer may be anything, to Arrow or to the JSON that pandas left in it."""
BATCH = 65_536
_BUFFER = 1024**2
"""Bytes of a column that are read ahead."""


@dataclass(frozen=True)
class Source:
    """A file of a table, opened; `guesses` says in words what is only likely of it.

    Of CSV all columns are text: the cells, of which the types are found from all rows.
    """

    kind: ClassVar[str]
    path: Path
    schema: pa.Schema
    encoding: str = "utf-8"
    guesses: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self.schema.names)

    def index(self) -> list[str]:
        """Return the columns in which pandas keeps the labels of the rows."""
        with reading(self.path, *BROKEN):
            stored = (self.schema.pandas_metadata or {}).get("index_columns", [])
        return [name for name in stored if isinstance(name, str)]

    def batches(self, columns: Sequence[str], size: int = BATCH) -> Iterator[pa.RecordBatch]:
        """Yield columns, a bounded number of rows at a time."""
        raise NotImplementedError

    def table(self, columns: Sequence[str]) -> pa.Table:
        """Return columns of all rows."""
        schema = pa.schema([self.schema.field(name) for name in columns])
        return pa.Table.from_batches(self.batches(columns), schema).unify_dictionaries()


class ParquetSource(Source):
    """A Parquet file."""

    kind = "parquet"

    @classmethod
    def open(cls, path: Path) -> ParquetSource:
        """Read what a file says of its columns."""
        with reading(path, *BROKEN):
            return cls(path, pq.read_schema(path))

    def batches(self, columns: Sequence[str], size: int = BATCH) -> Iterator[pa.RecordBatch]:
        """Yield columns, a bounded number of rows at a time; checksums are verified."""
        with (
            reading(self.path, *BROKEN),
            pq.ParquetFile(
                self.path, buffer_size=_BUFFER, pre_buffer=False, page_checksum_verification=True
            ) as file,
        ):
            yield from file.iter_batches(batch_size=size, columns=list(columns))


class FeatherSource(Source):
    """A file of Arrow's own: Feather, or an IPC file."""

    kind = "feather"

    @classmethod
    def open(cls, path: Path) -> FeatherSource:
        """Read what a file says of its columns."""
        with reading(path, *BROKEN), pa.ipc.open_file(pa.memory_map(str(path))) as reader:
            return cls(path, reader.schema)

    def batches(self, columns: Sequence[str], size: int = BATCH) -> Iterator[pa.RecordBatch]:
        """Yield columns in the batches of the file."""
        with reading(self.path, *BROKEN), pa.ipc.open_file(pa.memory_map(str(self.path))) as reader:
            for number in range(reader.num_record_batches):
                read = reader.get_batch(number).select(list(columns))
                # Where a text ends is taken from the file as it is, damaged or not.
                read.validate(full=True)
                yield read
