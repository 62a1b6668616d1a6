"""Tables in files, read a bounded number of rows at a time, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from pipeline.data import csv
from pipeline.data.arrow_types import is_text, plain_types, usable
from pipeline.data.containers import container_of
from pipeline.data.csv_file import CsvFile
from pipeline.data.files import reading, table_files
from pipeline.data.opened import BROKEN, ArrowFile, OpenedFile, as_formatted, open_files
from pipeline.data.table_format import TableFormat


@dataclass(frozen=True)
class TableFile:
    """A file that holds a table, or a folder of such of one kind.

    Parameters
    ----------
    path : Path
        CSV, JSON lines, Parquet or Feather.
    wanted : sequence of str or None
        Columns to read, those of them that there are; None for all.
    kinds : mapping of str to str
        Of columns of text files, for those that have no types.
    format : TableFormat, optional
        Of the cells of columns; those that it does not name are read by their kinds. What no model
        takes is missing then, see `usable`.
    copied : sequence of str
        Columns that are also there as the file has them, under the name that `copy_of` says.
    tell : bool
        Whether to warn of any cell that is missing because it does not fit its format.
    """

    path: Path
    wanted: Sequence[str] | None
    kinds: Mapping[str, str]
    format: TableFormat | None = None
    copied: Sequence[str] = ()
    tell: bool = False

    @cached_property
    def files(self) -> list[OpenedFile]:
        """The file, or those of the folder."""
        return open_files(self.path, self.format)

    def reading(
        self, wanted: Sequence[str], kinds: Mapping[str, str], copied: Sequence[str]
    ) -> TableFile:
        """Return the same for other columns, without opening the files again."""
        other = replace(self, wanted=wanted, kinds=kinds, copied=copied)
        vars(other)["files"] = self.files
        return other

    def names(self) -> list[str]:
        """Return the names of the columns in the file.

        Raises
        ------
        DataError
            The file is missing or cannot be read.
        """
        return list(self.files[0].names)

    def rows(self) -> int | None:
        """Return the number of rows; None where all of the file would have to be read."""
        paths = table_files(self.path)
        if {container_of(path) for path in paths} != {"parquet"}:
            return None
        return sum(ArrowFile.open(path, "parquet").rows() or 0 for path in paths)

    def index(self) -> list[str]:
        """Return the columns in which pandas keeps the labels of the rows."""
        first = self.files[0]
        return first.index() if isinstance(first, ArrowFile) else []

    def tables(self, size: int, skip: int = 0) -> Iterator[pa.Table]:
        """Yield tables of `size` rows, the last one of fewer, after the first `skip` rows.

        Raises
        ------
        DataError
            The file is damaged, or a value is not of the column's type.
        """
        names = self.names()
        wanted = {*names} if self.wanted is None else {*self.wanted}
        columns = [n for n in names if n in wanted]
        wanted.update(self.copied)
        read = [n for n in names if n in wanted]
        with reading(self.path, *BROKEN):
            types, row = self._types(columns), skip
            for cells in _cut(self._batches(read, size), size, skip):
                values = {n: self._values(cells[n], n, row, types) for n in columns}
                if self.format is not None:
                    values = {n: usable(each) for n, each in values.items()}
                yield pa.table(values | {copy_of(n): cells[n] for n in self.copied})
                row += len(cells)
        for file in self.files:
            if isinstance(file, CsvFile):
                file.warn_open_end()

    def _batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        """Yield columns of all files, with one type for each."""
        schemas = [file.schema for file in self.files if not isinstance(file, CsvFile)]
        several = pa.unify_schemas(schemas, promote_options="permissive") if schemas[1:] else None
        for file in self.files:
            for batch in file.batches(columns, size):
                if several is not None:
                    batch = batch.cast(pa.schema([several.field(name) for name in columns]))
                yield batch

    def _types(self, columns: Sequence[str]) -> dict[str, csv.ColumnType]:
        """Return the types of cells of CSV that have neither a kind nor a format."""
        free = [n for n in columns if self.kinds.get(n) not in csv.NOUNS and not self._formatted(n)]
        files = [file for file in self.files if isinstance(file, CsvFile)]
        return csv.merge_types(file.types(free) for file in files) if files else {}

    def _formatted(self, name: str) -> bool:
        """Whether a column is read by its format."""
        return self.format is not None and name in self.format.columns

    def _values(
        self, cells: csv.Cells, name: str, row: int, types: Mapping[str, csv.ColumnType]
    ) -> csv.Cells:
        kind, where = self.kinds.get(name, ""), f"{self.path}: column {name!r}"
        formatted = self._formatted(name)
        if formatted or not isinstance(self.files[0], CsvFile):
            cells = as_formatted(cells, name, self.format, where, row, tell=self.tell)
        if formatted:
            return cells
        if name in types:
            return types[name].values(cells)
        if not isinstance(self.files[0], ArrowFile) and is_text(cells.type) and kind in csv.NOUNS:
            return csv.as_kind(cells, where, kind, row)
        return plain_types(pa.table({name: cells}))[name] if kind in ("number", "date") else cells


def copy_of(name: str) -> str:
    """Return the name of a column as the file has it, which no column has."""
    return f"\0{name}"


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
