"""Opened sources of all kinds, and their columns as values, of all rows or of some at a time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from msgspec import structs

from pipeline.errors import DataError
from pipeline.files import csv
from pipeline.files.csv import CsvSource, Given
from pipeline.files.files import check_columns, check_different, container_of, reading, table_files
from pipeline.files.notations import read_cells
from pipeline.files.source import BROKEN, FeatherSource, JsonSource, ParquetSource, Source
from pipeline.files.table_format import TableFormat
from pipeline.table.arrow_types import Cells, is_text, plain_values, usable


def open_sources(
    path: Path, format: TableFormat | None = None, given: Given | None = None
) -> list[Source]:
    """Open a file, or those of a folder, which have the same columns.

    How a text is cut is given, by default by the format.
    """
    paths = table_files(path)
    if any("=" in part for part in paths[0].relative_to(path).parts[:-1]):
        raise DataError(
            f"{path}: its folder names contain values of a column; store this column in the files"
        )
    sources = [_open(file, format, given) for file in paths]
    first = sources[0]
    for source in sources:
        check_different(source.path, source.names)
        if other := {*source.names} ^ {*first.names}:
            raise DataError(
                f"{source.path}: its columns differ from those of {first.path.name} in "
                f"{sorted(other)}; use the same columns in all files of a folder"
            )
        if source.kind != first.kind:
            two = f"{first.path.name} and {source.path.name}"
            raise DataError(f"{path}: {two} have different formats; keep one per folder")
        for guess in source.guesses if given is None else ():
            said = f"{source.path}: {guess}; to choose otherwise, pass a TableFormat"
            warnings.warn(said, UserWarning, stacklevel=4)
    return sources


def _open(path: Path, format: TableFormat | None, given: Given | None) -> Source:
    kind = container_of(path)
    if kind == "parquet":
        return ParquetSource.open(path)
    if kind == "feather":
        return FeatherSource.open(path)
    if given is None and format is not None:
        given = Given(format.encoding, format.delimiter, format.skip_rows, format.strip_names)
    given = given or Given()
    if kind == "json":
        return JsonSource.open(path, given.encoding)
    columns = {} if format is None else format.columns
    return CsvSource.open(path, given, [n for n in columns if getattr(columns[n], "values", ())])


def read_cells_of(sources: Sequence[Source], columns: Sequence[str]) -> pa.Table:
    """Return columns of all rows: of CSV as text, of other files as the types that they have."""
    tables = [source.table(columns) for source in sources]
    try:
        return pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        folder = sources[0].path.parent
        raise DataError(
            f"{folder}: column types differ between the files: {error}; use the same types in all"
        ) from error


def read_values(
    path: Path, format: TableFormat | None = None, columns: Sequence[str] | None = None
) -> pa.Table:
    """Return columns of all rows, all by default, as the values that they stand for."""
    sources = open_sources(path, format)
    names = sources[0].names if columns is None else list(dict.fromkeys(columns))
    check_columns(path, sources[0].names, names)
    free = free_columns(sources[0], names, format)
    if format is None and free:
        tables = [source.values(names) for source in sources if isinstance(source, CsvSource)]
        if all(table.schema == tables[0].schema for table in tables):
            return pa.concat_tables(tables)
    table = format_table(read_cells_of(sources, names), format, f"{path}: ")
    return pa.table({n: csv.infer(table[n]) if n in free else table[n] for n in names})


def free_columns(source: Source, columns: Sequence[str], format: TableFormat | None) -> list[str]:
    """Return the columns whose type all their cells tell together: of CSV, without a format."""
    formatted = {} if format is None else format.columns
    return [n for n in columns if n not in formatted] if source.kind == "csv" else []


def format_table(table: pa.Table, format: TableFormat | None, where: str = "") -> pa.Table:
    """Return a table with its columns read by their formats."""
    names = table.column_names
    return pa.table({n: as_formatted(table[n], n, format, f"{where}column {n!r}") for n in names})


def as_formatted(
    cells: Cells,
    name: str,
    format: TableFormat | None,
    where: str,
    row: int = 0,
    quiet: float = 0.5,
) -> Cells:
    """Return a column as `read_cells` does; without a format as it is, but for what is missing.

    >>> as_formatted(pa.array(["?", "a"]), "x", TableFormat(missing=("?",)), "").to_pylist()
    [None, 'a']
    """
    if format is None:
        return cells
    of_column = format.columns.get(name)
    if format.missing and is_text(cells.type) and not getattr(of_column, "values", ()):
        cells = csv.without(cells.cast(pa.string()), format.missing)
    if of_column is None:
        return cells
    marks = (*of_column.missing, *format.missing)
    return read_cells(cells, structs.replace(of_column, missing=marks), where, row, quiet)


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
        """Yield tables of `size` rows, the last one of fewer."""
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
        wanted = pa.schema(map(whole.field, columns))
        for source in self.sources:
            for batch in source.batches(columns, size):
                yield batch.cast(wanted) if len(schemas) > 1 else batch

    def _types(self, columns: Sequence[str]) -> dict[str, pa.DataType]:
        """Return the types of cells of CSV that have neither a kind nor a format."""
        free = free_columns(self.sources[0], columns, self.format)
        types = {}
        for name in (each for each in free if self.kinds.get(each) not in csv.NOUNS):
            cells = read_cells_of(self.sources, [name])[name]
            whole = csv.infer(as_formatted(cells, name, self.format, ""))
            types[name] = csv.plain_integers(whole).type
        return types

    def _values(self, cells: Cells, name: str, row: int, types: Mapping[str, pa.DataType]) -> Cells:
        kind, where = self.kinds.get(name, ""), f"{self.path}: column {name!r}"
        cells = as_formatted(cells, name, self.format, where, row, quiet=0)
        if self.format is not None and name in self.format.columns:
            return cells
        if name in types:
            whole = types[name]
            return cells if whole == pa.string() else csv.infer(cells).cast(whole, safe=False)
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
