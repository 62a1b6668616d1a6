"""Files of all kinds, opened: their names, and their columns in batches."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.data.arrow_types import is_text
from pipeline.data.containers import Container, container_of
from pipeline.data.csv import without
from pipeline.data.csv_file import CsvFile, mark_counts
from pipeline.data.dialect import Given, given_by
from pipeline.data.files import check_different, reading, table_files
from pipeline.data.jsonlines import JsonFile
from pipeline.data.notations import read_cells
from pipeline.data.table_format import TableFormat
from pipeline.errors import DataError

Cells: TypeAlias = "pa.ChunkedArray | pa.Array"
BROKEN = (
    *(MemoryError, OverflowError),
    *(AttributeError, LookupError, TypeError, ValueError),
)
"""A damaged footer may be anything, to Arrow or to the JSON that pandas left in it."""
_BUFFER = 1024**2
"""Bytes of a column that are read ahead."""


@dataclass(frozen=True)
class ArrowFile:
    """A Parquet file, or one of Arrow's own: Feather, IPC file or stream.

    Parameters
    ----------
    path : Path
    container : {"parquet", "feather"}
    schema : pyarrow.Schema
    """

    path: Path
    container: Container
    schema: pa.Schema

    @classmethod
    def open(cls, path: Path, container: Container) -> ArrowFile:
        """Read what a file says of its columns."""
        with reading(path, *BROKEN):
            if container == "parquet":
                return cls(path, container, pq.read_schema(path))
            with _ipc(path) as reader:
                return cls(path, container, reader.schema)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self.schema.names)

    def rows(self) -> int | None:
        """Return the number of rows, where the file tells."""
        if self.container != "parquet":
            return None
        with reading(self.path, *BROKEN):
            return int(pq.read_metadata(self.path).num_rows)

    def index(self) -> list[str]:
        """Return the columns in which pandas keeps the labels of the rows."""
        with reading(self.path, *BROKEN):
            stored = (self.schema.pandas_metadata or {}).get("index_columns", [])
        return [name for name in stored if isinstance(name, str)]

    def batches(self, columns: Sequence[str], size: int = 65_536) -> Iterator[pa.RecordBatch]:
        """Yield columns, a bounded number of rows at a time."""
        with reading(self.path, *BROKEN):
            if self.container == "parquet":
                with pq.ParquetFile(
                    self.path, buffer_size=_BUFFER, pre_buffer=False,
                    page_checksum_verification=True,
                ) as file:  # fmt: skip
                    yield from file.iter_batches(batch_size=size, columns=list(columns))
            else:
                with _ipc(self.path) as reader:
                    for batch in _ipc_batches(reader):
                        read = batch.select(list(columns))
                        # Where a text ends is taken from the file as it is, damaged or not.
                        read.validate(full=True)
                        yield read


def _ipc(path: Path) -> Any:
    with path.open("rb") as file:
        stream = file.read(6) != b"ARROW1"
    # A footer tells where the batches of a file are; a stream has none.
    source = pa.memory_map(str(path))
    return pa.ipc.open_stream(source) if stream else pa.ipc.open_file(source)


def _ipc_batches(reader: Any) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.ipc.RecordBatchStreamReader):
        return iter(reader)
    return map(reader.get_batch, range(reader.num_record_batches))


OpenedFile: TypeAlias = CsvFile | JsonFile | ArrowFile


def open_file(
    path: Path, format: TableFormat | None = None, given: Given | None = None
) -> OpenedFile:
    """Open a file of a table as what it is.

    Raises
    ------
    DataError
        It is damaged, or of no kind that is read; see `container_of`.
    """
    container = container_of(path)
    if container == "csv":
        return CsvFile.open(path, format, given)
    if container == "json":
        return JsonFile.open(path, (given or given_by(format)).encoding)
    return ArrowFile.open(path, container)


def open_files(
    path: Path, format: TableFormat | None = None, given: Given | None = None
) -> list[OpenedFile]:
    """Open a file, or those of a folder, which have the same columns.

    Raises
    ------
    DataError
        A file cannot be opened, or has other columns than the first, or two of one name.
    """
    paths = table_files(path)
    if named := [part for part in paths[0].relative_to(path).parts[:-1] if "=" in part]:
        raise DataError(
            f"{path}: the names of its folders hold a column, as {named[0]!r}; write the column "
            "into the files, or pass the table as a frame"
        )
    files = [open_file(file, format, given) for file in paths]
    first = files[0]
    for file in files:
        check_different(file.path, file.names)
        if other := set(file.names) ^ set(first.names):
            raise DataError(
                f"{file.path}: has not the columns of {first.path.name}: {sorted(other)} are in "
                "one of the two; give all files of a folder the same"
            )
        if type(file) is not type(first):
            raise DataError(f"{path}: {first.path.name} and {file.path.name} are of two kinds")
        if given is None:
            _warn_of_guesses(file)
    return files


def _warn_of_guesses(file: OpenedFile) -> None:
    """Say what no format told and another reader might see otherwise."""
    told = "; a TableFormat says it for good"
    if not isinstance(file, ArrowFile) and file.text.guessed:
        warnings.warn(f"{file.path}: {file.text.describe()}{told}", UserWarning, stacklevel=4)
    if isinstance(file, CsvFile) and file.titles:
        warnings.warn(f"{file.path}: {file.skipped}{told}", UserWarning, stacklevel=4)


def read_cells_of(files: Sequence[OpenedFile], columns: Sequence[str]) -> pa.Table:
    """Return columns of all rows: of CSV as text, of other files as the types that they have."""
    tables = [_whole(file, columns) for file in files]
    if len(tables) == 1:
        return tables[0]
    try:
        return pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(f"{files[0].path.parent}: the files differ in types: {error}") from error


def _whole(file: OpenedFile, columns: Sequence[str]) -> pa.Table:
    if isinstance(file, CsvFile):
        return file.cells(columns)
    schema = pa.schema([file.schema.field(name) for name in columns])
    return pa.Table.from_batches(file.batches(columns), schema).unify_dictionaries()


def as_formatted(
    cells: Cells,
    name: str,
    format: TableFormat | None,
    where: str,
    row: int = 0,
    *,
    tell: bool = False,
) -> Cells:
    """Return a column by its format; one without a format as it is, but for what is missing.

    Parameters
    ----------
    cells : pyarrow array
    name : str
    format : TableFormat or None
    where : str
        File and column, for the message.
    row : int
        Of the first cell in the file.
    tell : bool
        See `read_cells`.

    Raises
    ------
    DataError
        A cell does not fit; row, value and what to do are named.

    Examples
    --------
    >>> as_formatted(pa.array(["?", "a"]), "x", TableFormat(missing=("?",)), "").to_pylist()
    [None, 'a']
    """
    if format is None:
        return cells
    of_column = format.columns.get(name)
    if format.missing and is_text(cells.type) and not (of_column and mark_counts(of_column)):
        cells = without(cells.cast(pa.string()), format.missing)
    if of_column is None:
        return cells
    marks = (*of_column.missing, *format.missing)
    of_column = msgspec.structs.replace(of_column, missing=marks)
    return read_cells(cells, of_column, where, row, tell=tell)
