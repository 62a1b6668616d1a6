"""Tables in files, read a bounded number of rows at a time, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from pipeline.data import csv, opened
from pipeline.data.arrow_types import is_text, plain_values, usable
from pipeline.data.files import reading
from pipeline.data.source import BROKEN, Source
from pipeline.data.table_format import TableFormat


@dataclass(frozen=True)
class TableStream:
    """The rows of a file, or of a folder of such of one kind.

    Columns of text files are read by the `format` or else by their `kinds`; with a format, what no
    model takes is missing, see `usable`. Columns to copy are also there as the file has them, under
    the name that `copy_of` says.
    """

    path: Path
    sources: Sequence[Source]
    wanted: Sequence[str]
    kinds: Mapping[str, str]
    format: TableFormat | None = None
    copied: Sequence[str] = ()

    def tables(self, size: int) -> Iterator[pa.Table]:
        """Yield tables of `size` rows, the last one of fewer.

        Raises
        ------
        DataError
            The file is damaged, or a value is not of the column's type.
        """
        names = self.sources[0].names
        columns = [n for n in names if n in {*self.wanted}]
        read = [n for n in names if n in {*columns, *self.copied}]
        with reading(self.path, *BROKEN):
            types, row = self._types(columns), 0
            for cells in _cut(self._batches(read, size), size):
                values = {n: self._values(cells[n], n, row, types) for n in columns}
                if self.format is not None:
                    values = {n: usable(each) for n, each in values.items()}
                yield pa.table(values | {copy_of(n): cells[n] for n in self.copied})
                row += len(cells)

    def _batches(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        """Yield columns of all files, with one type for each."""
        schemas = [source.schema for source in self.sources]
        whole = pa.unify_schemas(schemas, promote_options="permissive")
        for source in self.sources:
            for batch in source.batches(columns, size):
                several = len(schemas) > 1
                yield batch.cast(pa.schema(map(whole.field, columns))) if several else batch

    def _types(self, columns: Sequence[str]) -> dict[str, pa.DataType]:
        """Return the types of cells of CSV that have neither a kind nor a format."""
        free = opened.free_columns(self.sources[0], columns, self.format)
        types = {}
        for name in (each for each in free if self.kinds.get(each) not in csv.NOUNS):
            cells = opened.read_cells_of(self.sources, [name])[name]
            whole = csv.infer(opened.as_formatted(cells, name, self.format, ""))
            types[name] = csv.plain_integers(whole).type
        return types

    def _values(
        self, cells: csv.Cells, name: str, row: int, types: Mapping[str, pa.DataType]
    ) -> csv.Cells:
        kind, where = self.kinds.get(name, ""), f"{self.path}: column {name!r}"
        cells = opened.as_formatted(cells, name, self.format, where, row, tell=True)
        if self.format is not None and name in self.format.columns:
            return cells
        if name in types:
            return csv.values_of(cells, types[name])
        texts = self.sources[0].kind in ("csv", "json") and is_text(cells.type)
        if texts and kind in csv.NOUNS:
            return csv.as_kind(cells, where, kind, row)
        return plain_values(cells) if kind in ("number", "date") else cells


def copy_of(name: str) -> str:
    """Return the name of a column as the file has it, which no column has."""
    return f"\0{name}"


def _cut(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
    """Return tables of the same size, whatever the sizes of the batches."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        held.append(batch)
        count += batch.num_rows
        while count >= size:
            whole = pa.Table.from_batches(held)
            yield whole.slice(0, size)
            held, count = whole.slice(size).to_batches(), count - size
    if count:
        yield pa.Table.from_batches(held)
