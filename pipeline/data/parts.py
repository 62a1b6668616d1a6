"""Tables in other files than Parquet, in memory or as partitions that workers read.

A partition is a span of a CSV file, or a whole file where rows cannot be found in the middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from pipeline.data import csv, frames
from pipeline.data.arrow_types import decoded
from pipeline.data.convert import from_column
from pipeline.data.csv_file import CsvFile, Span
from pipeline.data.files import check_columns, table_files
from pipeline.data.opened import OpenedFile, as_formatted, open_files, read_cells_of
from pipeline.data.partitioned import compute
from pipeline.data.table_format import TableFormat
from pipeline.data.text import compression_of, open_bytes
from pipeline.errors import DataError
from pipeline.optional import load
from pipeline.typing import Table

_CHUNK = 1 << 20


def read_values(
    path: Path, format: TableFormat | None, columns: Sequence[str] | None = None
) -> pa.Table:
    """Return columns of a file or folder, all by default, as the values that they stand for."""
    files = open_files(path, format)
    names = _check(files, files[0].names if columns is None else columns)
    table = format_table(read_cells_of(files, names), format, f"{path}: ")
    free = [name for name in names if _is_free(files[0], name, format)]
    return pa.table({n: csv.infer(table[n]) if n in free else table[n] for n in names})


def format_table(table: pa.Table, format: TableFormat | None, where: str = "") -> pa.Table:
    """Return a table with its columns read by their formats."""
    named = [(name, table[name]) for name in table.column_names]
    columns = {n: as_formatted(each, n, format, f"{where}column {n!r}") for n, each in named}
    return pa.table(columns)


def _check(files: Sequence[OpenedFile], columns: Sequence[str]) -> list[str]:
    """Return the names of columns, each once; `DataError` if a file lacks one."""
    for file in files:
        check_columns(file.path, file.names, columns)
    return list(dict.fromkeys(columns))


def _is_free(file: OpenedFile, name: str, format: TableFormat | None) -> bool:
    """Whether all cells of a column together tell what they stand for."""
    return isinstance(file, CsvFile) and (format is None or name not in format.columns)


def to_frame(table: pa.Table) -> pd.DataFrame:
    """Return a table as a frame whose types are those of `pandas.read_csv`."""
    return pd.DataFrame({name: _series(table[name]) for name in table.column_names})


def _series(values: csv.Cells) -> pd.Series:
    if pa.types.is_integer(values.type) and values.null_count:
        values = values.cast(csv.ColumnType.seen(values).type)
    return from_column(values)


def size_of(path: Path) -> int:
    """Return about what a table that is not Parquet takes in memory."""
    return sum(map(_size, table_files(path)))


def _size(path: Path) -> int:
    compression = compression_of(path)
    if not compression:
        return path.stat().st_size
    with open_bytes(path, compression) as file:
        return sum(map(len, iter(lambda: file.read(_CHUNK), b"")))


class _Part(NamedTuple):
    """Rows of a file: of a span of bytes, or all."""

    file: OpenedFile
    span: Span

    def values(self, names: Sequence[str], format: TableFormat | None) -> dict[str, csv.Cells]:
        """Return columns, those of CSV without a format as cells of text."""
        cells = (
            self.file.cells(names, self.span)
            if isinstance(self.file, CsvFile)
            else read_cells_of([self.file], names)
        )
        try:
            return self._formatted(cells, format, 0)
        except DataError:
            # Only now does it matter how many rows are before.
            return self._formatted(cells, format, self._first())

    def _formatted(
        self, cells: pa.Table, format: TableFormat | None, row: int
    ) -> dict[str, csv.Cells]:
        where = f"{self.file.path}: column"
        return {
            name: _plain(as_formatted(cells[name], name, format, f"{where} {name!r}", row))
            for name in cells.column_names
        }

    def _first(self) -> int:
        if not isinstance(self.file, CsvFile) or self.span is None:
            return 0
        return self.file.rows_before(self.span[0])


def _plain(values: csv.Cells) -> csv.Cells:
    """Return values in the type that parts of a column have in common."""
    values = decoded(values)
    kind = values.type
    if pa.types.is_large_string(kind) or kind == pa.string_view():
        return values.cast(pa.string())
    if pa.types.is_floating(kind):
        return values.cast(pa.float64())
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return values.cast(pa.int64())
    return values.cast(pa.timestamp("ms")) if pa.types.is_date(kind) else values


def scan_files(
    path: Path,
    features: Sequence[str],
    target: str,
    format: TableFormat | None,
    device: str,
    size: int,
) -> tuple[Any, np.ndarray]:
    """Return the features as a Dask frame, and the target; see `pipeline.data.read.scan`."""
    files = open_files(path, format)
    names = _check(files, [*features, target])
    parts = [_Part(file, span) for file in files for span in _spans(file, size)]
    look = load("dask.delayed")(_look, pure=False)
    seen = compute([look(part, names, target, format) for part in parts])
    types = csv.merge_types(each for each, _ in seen)
    kind = types[target]
    y = to_frame(pa.concat_tables(pa.table({target: kind.values(found)}) for _, found in seen))
    read = _Reader({name: types[name] for name in features}, format, device)
    X = load("dask.dataframe.from_map")(read, parts, meta=read(None))
    return X, y[target].to_numpy()


def _spans(file: OpenedFile, size: int) -> list[Span]:
    if not isinstance(file, CsvFile):
        return [None]
    file.warn_open_end()
    return file.spans(size)


def _look(
    part: _Part, names: Sequence[str], target: str, format: TableFormat | None
) -> tuple[dict[str, csv.ColumnType], csv.Cells]:
    """Return the types of columns in a part, and the target's values."""
    values = part.values(names, format)
    types = {}
    for name, each in values.items():
        free = _is_free(part.file, name, format)
        types[name] = csv.ColumnType.of(each) if free else csv.ColumnType.seen(each)
    return types, values[target]


@dataclass(frozen=True)
class _Reader:
    """Reads parts to frames of the same types."""

    types: dict[str, csv.ColumnType]
    format: TableFormat | None
    device: str

    def __call__(self, part: _Part | None, columns: Sequence[str] | None = None) -> Table:
        """Return the rows of a part, on the device; none of no part."""
        types = {name: self.types[name] for name in columns or self.types}
        if part is None:
            values = {name: pa.chunked_array([], each.type) for name, each in types.items()}
        else:
            values = part.values(list(types), self.format)
        return frames.to_device(csv.frame_of_cells(values, types), self.device)


def format_partitions(frame: Table, format: TableFormat, path: Path, device: str) -> Table:
    """Return a Dask frame of Parquet files with its columns of text read by their formats."""
    meta = _format_partition(frame._meta, format, path, device)
    return frame.map_partitions(_format_partition, format, path, device, meta=meta)


def _format_partition(frame: Table, format: TableFormat, path: Path, device: str) -> Table:
    named = [name for name in frame.columns if name in format.columns or format.missing]
    host = frames.to_device(frame[named], "cpu")
    read = {}
    for name in named:
        cells = pa.chunked_array([pa.array(host[name], from_pandas=True)])
        where = f"{path}: column {name!r} (of which rows are counted in their partition)"
        read[name] = from_column(as_formatted(cells, name, format, where)).set_axis(host.index)
        if read[name].dtype == bool:  # Others may lack a value.
            read[name] = read[name].astype("boolean")
    return frame.assign(**frames.to_device(pd.DataFrame(read), device))


def is_read_by(format: TableFormat | None, names: Sequence[str]) -> bool:
    """Whether a format says something of columns."""
    return format is not None and bool(format.missing or {*names} & {*format.columns})
