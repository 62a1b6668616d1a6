"""Tables in files, read a bounded number of rows at a time, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.data import csv
from pipeline.data.containers import container_of
from pipeline.data.files import check_different, reading

_BUFFER = 1024**2
"""Bytes of a column that are read ahead."""
_BROKEN = (
    *(MemoryError, OverflowError),
    *(AttributeError, LookupError, TypeError, ValueError),
)
"""A damaged footer may be anything, to Arrow or to the JSON that pandas left in it."""


@dataclass(frozen=True)
class TableFile:
    """A Parquet or CSV file.

    Parameters
    ----------
    path : Path
        CSV has a line of names, with what that line has most of as delimiter: comma, semicolon,
        tab or bar.
    wanted : sequence of str or None
        Columns to read, those of them that there are; None for all.
    kinds : mapping of str to str
        Of columns of CSV files, for those that have no types.
    """

    path: Path
    wanted: Sequence[str] | None
    kinds: Mapping[str, str]

    @property
    def is_csv(self) -> bool:
        """Whether the file is read as CSV."""
        return container_of(self.path) == "csv"

    def names(self) -> list[str]:
        """Return the names of the columns in the file.

        Raises
        ------
        DataError
            The file is missing or cannot be read.
        """
        with reading(self.path, *_BROKEN):
            if self.is_csv:
                return list(csv.CsvFile.open(self.path).names)
            return list(pq.read_schema(self.path).names)

    def rows(self) -> int | None:
        """Return the number of rows; None for CSV, which would have to be read."""
        if self.is_csv:
            return None
        with reading(self.path, *_BROKEN):
            return int(pq.read_metadata(self.path).num_rows)

    def index(self) -> list[str]:
        """Return the columns in which pandas keeps the labels of the rows."""
        if self.is_csv:
            return []
        with reading(self.path, *_BROKEN):
            stored = (pq.read_schema(self.path).pandas_metadata or {}).get("index_columns", [])
        return [name for name in stored if isinstance(name, str)]

    def tables(self, size: int, skip: int = 0) -> Iterator[pa.Table]:
        """Yield tables of `size` rows, the last one of fewer, after the first `skip` rows.

        Raises
        ------
        DataError
            The file is damaged, or a value is not of the column's type.
        """
        with reading(self.path, *_BROKEN):
            if self.is_csv:
                yield from self._csv(size, skip)
            else:
                yield from _cut(self._parquet(size), size, skip)

    def _columns(self) -> list[str]:
        there = self.names()
        check_different(self.path, there)
        return there if self.wanted is None else [name for name in there if name in self.wanted]

    def _parquet(self, size: int) -> Iterator[pa.RecordBatch]:
        with pq.ParquetFile(
            self.path, buffer_size=_BUFFER, pre_buffer=False, page_checksum_verification=True
        ) as file:
            yield from file.iter_batches(batch_size=size, columns=self._columns())

    def _csv(self, size: int, row: int) -> Iterator[pa.Table]:
        file, columns = csv.CsvFile.open(self.path), self._columns()
        types = file.types([name for name in columns if self.kinds.get(name) not in csv.NOUNS])
        for cells in _cut(file.batches(columns), size, row):
            values = {name: self._values(cells[name], name, row, types) for name in columns}
            yield pa.table(values)
            row += len(cells)
        file.warn_open_end()

    def _values(
        self, cells: csv.Cells, name: str, row: int, types: Mapping[str, csv.ColumnType]
    ) -> csv.Cells:
        if name in types:
            return types[name].values(cells)
        return csv.as_kind(cells, f"{self.path}: column {name!r}", self.kinds[name], row)


def _cut(batches: Iterator[pa.RecordBatch], size: int, skip: int) -> Iterator[pa.Table]:
    """Return tables of the same size, whatever the sizes of the batches."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        dropped = min(skip, batch.num_rows)
        skip -= dropped
        held.append(batch.slice(dropped))
        count += batch.num_rows - dropped
        while count >= size:
            whole = pa.Table.from_batches(held)
            yield whole.slice(0, size)
            held, count = whole.slice(size).to_batches(), count - size
    if count:
        yield pa.Table.from_batches(held)
