"""CSV files, cut into cells of text by Arrow.

Arrow refuses rows of another length than the first, which pandas fills up.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from pipeline.data.csv import MISSING, ColumnType, without
from pipeline.data.dialect import (
    DELIMITERS,
    Dialect,
    Given,
    Records,
    find_dialect,
    given_by,
    looks_like_data,
)
from pipeline.data.files import RENAME, check_columns, check_different, reading
from pipeline.data.table_format import Boolean, ColumnFormat, TableFormat, Text
from pipeline.data.text import TextFile
from pipeline.errors import DataError

_ESCAPED = re.compile(r'"[^"]*\\"[^",;|\t\r\n]')
"""A quote behind a backslash, within quotes."""
_END = "(end of the file)"
_HEAD = 1000
"""Lines that the names of the columns take less than."""
_BLOCK = 1 << 24
"""Bytes that are cut at once; no cell may be longer."""
Span: TypeAlias = "tuple[int, int] | None"
"""Bytes of whole rows, from and to; None for all rows of a file."""
Cut = TypeVar("Cut", pa.Table, pa.RecordBatch)


@dataclass(frozen=True)
class CsvFile:
    """How a file is cut into columns.

    Parameters
    ----------
    path : Path
    text : TextFile
    delimiter : str
    names : tuple of str
        As pandas calls them: ``Unnamed: 0``, where the first has no name.
    skip_rows : int
        Lines above the line of names.
    titles : tuple of str
        What these say, where they were found and not told.
    lines, start : int
        Lines and bytes before the rows.
    empty : bool
        Whether there are no rows.
    missing : tuple of str
        Cells that stand for no value, beside `MISSING`.
    raw : tuple of str
        Columns whose cells are left as they are written, also those that stand for no value.
    strip_names : bool
        Whether there were blanks around names, which are left out.
    quote : str
        What stands around cells that hold a delimiter.
    """

    path: Path
    text: TextFile
    delimiter: str
    names: tuple[str, ...]
    skip_rows: int
    lines: int
    start: int
    empty: bool
    missing: tuple[str, ...] = ()
    raw: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    strip_names: bool = False
    quote: str = '"'

    @classmethod
    def open(
        cls, path: Path, format: TableFormat | None = None, given: Given | None = None
    ) -> CsvFile:
        """Read the line of names.

        Parameters
        ----------
        path : Path
        format : TableFormat, optional
        given : Given, optional
            By default what the format says.

        Raises
        ------
        DataError
            The file is empty, holds bytes that are not of its encoding or a quote that is not
            closed, or its names are not all different.
        OSError
            It cannot be read.
        """
        with reading(path):
            file = cls._find(path, given or given_by(format))
        if not file.names:
            raise DataError(f"{path}: cannot be read: Empty CSV file")
        if any("\0" in name for name in file.names):
            raise DataError(f"{path}: its names hold a zero byte: it is damaged, or not UTF-8")
        way = "its first line looks like a row: write a line of names above it"
        check_different(path, file.names, way if looks_like_data(file.names) else RENAME)
        file._check_quotes()
        if format is None:
            return file
        return replace(file, missing=format.missing, raw=_with_marks(format))

    @classmethod
    def _find(cls, path: Path, given: Given) -> CsvFile:
        """Cut a file as is given, but for a delimiter that parts nothing, and else as is found."""
        mark = given.delimiter
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n'):
            raise DataError(f"{path}: delimiter={mark!r} is not one character of ASCII")
        text = TextFile.find(path, given.encoding, (given.skip_rows or 0) + 1)
        file = cls._dress(text, given, find_dialect(text, given.delimiter or DELIMITERS))
        if len(file.names) < 2 or looks_like_data(file.names):  # it is written otherwise
            other = cls._dress(text, Given(), find_dialect(text))
            file = other if len(other.names) > 1 else file
        names = tuple(name.strip() for name in file.names)
        if not given.strip_names or names == file.names or len({*names}) < len({*file.names}):
            return file
        return replace(file, names=names, strip_names=True)

    @classmethod
    def _dress(cls, text: TextFile, given: Given, found: Dialect) -> CsvFile:
        """Cut a file by a dialect, below the lines that are given, or that it found."""
        titles = () if given.skip_rows else found.titles
        skip = given.skip_rows or found.skip_rows
        return replace(cls._cut(text, found, skip), titles=titles)

    @classmethod
    def _cut(cls, text: TextFile, by: Dialect, skip: int) -> CsvFile:
        with text.lines() as lines:
            records = Records(islice(lines, skip + _HEAD), by.delimiter, skip, by.quote)
            head = next((record for record in records if record), [])
            empty = not next(lines, "")
        if records.lines == skip + _HEAD:
            raise DataError(f"{text.path}: cannot be read: a quote in the names is not closed")
        names = map(text.decode, head)
        named = tuple(name or f"Unnamed: {i}" for i, name in enumerate(names))
        return cls(
            text.path, text, by.delimiter, named, skip, records.lines, records.place, empty,
            quote=by.quote,
        )  # fmt: skip

    def _rows(self, lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
        """Yield the records below the names, each with its row, as Arrow counts them."""
        records = Records(lines, self.delimiter, self.lines, self.quote)
        return enumerate(record for record in records if record)

    def _check_quotes(self) -> None:
        """Refuse a quote that is open at the end: all after it would be one cell."""
        if self.text.quotes % 2 == 0 and self.quote == '"':
            return  # An odd number of them may yet be inches.
        last, row = [""], 0
        with self.text.lines() as lines:
            for row, last in self._rows(chain(lines, ["\n", _END])):  # noqa: B007
                pass
        if last != [_END]:
            raise DataError(
                f"{self.path}: cannot be read: a quote that opens in row {row} is not closed"
            )

    @property
    def skipped(self) -> str:
        """What is said of the lines above the names that are not read."""
        what = f"{self.skip_rows} lines above the names are"
        what = what if self.skip_rows > 1 else "the line above the names is"
        return f"{what} not read: {self.titles[0][:60]!r}"

    @property
    def escaped(self) -> int:
        """The line, counted from 0, that has the first quote behind a backslash, else -1."""
        with self.text.lines() as lines:
            return next((i for i, line in enumerate(lines) if _ESCAPED.search(line)), -1)

    def check(self, columns: Sequence[str]) -> list[str]:
        """Return the names of columns, each once; `DataError` if the file lacks one."""
        check_columns(self.path, self.names, columns)
        return list(dict.fromkeys(columns))

    def spans(self, size: int) -> list[Span]:
        """Return the bytes of whole rows in pieces of about `size`, as (from, to).

        A file that is compressed, or of an encoding like UTF-16, is one piece.
        """
        if not self.text.seekable:
            return [None]
        cuts = [self.start]
        with self.text.lines() as lines:
            records = Records(lines, self.delimiter, self.lines, self.quote)
            for _ in records:
                if records.place - cuts[-1] >= size:
                    cuts.append(records.place)
        cuts += [records.place] * (records.place > cuts[-1] or len(cuts) == 1)
        return [*zip(cuts, cuts[1:], strict=False)]

    def rows_before(self, place: int) -> int:
        """Return the rows that end before a byte of the file."""
        with self.text.lines() as lines:
            records = Records(lines, self.delimiter, self.lines, self.quote)
            return sum(1 for record in records if record and records.place <= place)

    def cells(self, columns: Sequence[str], span: Span = None) -> pa.Table:
        """Return the cells of columns as text, of all rows or of a span of bytes."""
        schema = pa.schema([(name, pa.string()) for name in columns])
        if span is None:
            table = pa.Table.from_batches(self.batches(columns), schema)
            self.warn_open_end()
            return table
        with self.path.open("rb") as file:
            file.seek(span[0])
            data = file.read(span[1] - span[0])
        if not data:
            return schema.empty_table()
        options = self._options(columns, 0, self.text.encoding)
        with reading(self.path), self._named_rows():
            return self._whole(pyarrow.csv.read_csv(pa.BufferReader(data), *options))

    def batches(self, columns: Sequence[str], size: int = 0) -> Iterator[pa.RecordBatch]:
        """Yield the cells of columns as text, a bounded number of rows at a time, of any size."""
        if self.empty:
            return
        row = 0
        options = self._options(columns, self.lines)
        opened = partial(pyarrow.csv.open_csv, self.text.open())
        with reading(self.path), self._named_rows(), opened(*options) as reader:
            for batch in reader:
                yield self._whole(batch, row)
                row += batch.num_rows

    def types(self, columns: Sequence[str]) -> dict[str, ColumnType]:
        """Return the types of columns, from all rows, a bounded number of them at a time."""
        types = dict.fromkeys(columns, ColumnType())
        for batch in self.batches(columns) if columns else ():
            types = {name: each.merge(ColumnType.of(batch[name])) for name, each in types.items()}
        return types

    def warn_open_end(self) -> None:
        """Warn where the last line has no end: what is cut there still looks like a value."""
        if self.text.compression:
            return  # What is cut off cannot be unpacked.
        with self.path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - 4, 0))
            last = file.read().strip(b"\0")[-1:]
        if last not in (b"", b"\n", b"\r"):
            warnings.warn(
                f"{self.path}: the last line has no end; if the file was cut off, its last value "
                "is wrong",
                UserWarning,
                stacklevel=2,
            )

    @contextmanager
    def _named_rows(self) -> Iterator[None]:
        """Name the first row of another length than the names, which Arrow refuses."""
        try:
            yield
        except pa.ArrowInvalid as error:
            with self.text.lines() as lines:
                rows = ((row, cells) for row, cells in self._rows(lines))
                odd = next((each for each in rows if len(each[1]) != len(self.names)), None)
            if odd is None:
                raise
            raise DataError(f"{self.path}: cannot be read: {self._ragged(*odd)}") from error

    def _ragged(self, row: int, cells: Sequence[str]) -> str:
        wide, shown = len(self.names), self.delimiter.join(cells)[:60]
        parts = {",": "a comma", ";": "a semicolon", "\t": "a tab"}
        mark = parts.get(self.delimiter, repr(self.delimiter))
        way = f"quote cells that hold {mark}, or remove what is no row"
        if len(cells) == wide + 1:
            way += f"; if all rows have that many, add the {'first' if cells[-1] else 'last'} name"
        counted = f"{len(cells)} cell{'s' * (len(cells) != 1)}"
        if any('\\"' in cell or cell.startswith(('\\"', "'")) for cell in cells):
            way += '; write quotes within cells twice, "", and not as \\" or \''
        if wide == 1:
            way += "; if the line of names is further below, give skip_rows"
        names = "is 1 name" if wide == 1 else f"are {wide} names"
        return f"row {row} has {counted}, {shown!r}, and there {names}; {way}"

    def _whole(self, cells: Cut, row: int | None = None) -> Cut:
        for name in cells.schema.names:
            damaged = pc.index(pc.match_substring(cells[name], "\0"), True).as_py()
            if damaged >= 0:
                where = "" if row is None else f" in row {row + damaged}"
                what = f"column {name!r} holds a zero byte{where}"
                raise DataError(f"{self.path}: {what}: the file is damaged, or not UTF-8")
        return self._with_gaps(cells) if self.raw else cells

    def _with_gaps(self, cells: Cut) -> Cut:
        """Return what Arrow left as it is written, but for columns of which it should be."""
        marks = [*MISSING, *self.missing]
        for i, name in enumerate(cells.schema.names):
            if name not in self.raw:
                cells = cells.set_column(i, name, without(cells[name], marks))
        return cells

    def _options(
        self, columns: Sequence[str], skipped: int, encoding: str = "utf8"
    ) -> tuple[Any, Any, Any]:
        return (
            pyarrow.csv.ReadOptions(
                column_names=self.names, skip_rows=skipped, block_size=_BLOCK,
                encoding="utf8" if encoding == "utf-8" else encoding,
            ),
            pyarrow.csv.ParseOptions(
                delimiter=self.delimiter, quote_char=self.quote, newlines_in_values=True
            ),
            pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(columns, pa.string()),
                include_columns=columns,
                null_values=[] if self.raw else [*MISSING, *self.missing],
                strings_can_be_null=not self.raw,
            ),
        )  # fmt: skip


def _with_marks(format: TableFormat) -> tuple[str, ...]:
    """Return the columns in which a cell that commonly stands for no value is one."""
    return tuple(name for name, each in format.columns.items() if mark_counts(each))


def mark_counts(format: ColumnFormat) -> bool:
    """Whether an empty cell, or another that commonly stands for no value, is a value."""
    if isinstance(format, Text):
        return bool(format.values)
    return isinstance(format, Boolean) and "" in format.true + format.false
