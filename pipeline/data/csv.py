"""CSV files: one set of rules for what their cells stand for, whoever reads them.

Arrow cuts a file into cells of text. The type of a column is found from all of its cells: the one
that `pandas.read_csv` finds, and dates where all are written as such. So a file has the same values
in training (whole, or in spans of bytes for Dask), in prediction (a number of rows at a time) and
as a new task. Arrow refuses rows of another length than the first, which pandas fills up.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from pipeline.data.convert import NULLABLE
from pipeline.data.dialect import (
    DELIMITERS,
    Given,
    Records,
    find_dialect,
    given_by,
    looks_like_data,
)
from pipeline.data.files import RENAME, check_columns, check_different, reading
from pipeline.data.table_format import Boolean, ColumnFormat, TableFormat
from pipeline.data.text import TextFile
from pipeline.errors import DataError

Cells: TypeAlias = "pa.ChunkedArray | pa.Array"
Span: TypeAlias = "tuple[int, int] | None"
"""Bytes of whole rows, from and to; None for all rows of a file."""
Cut = TypeVar("Cut", pa.Table, pa.RecordBatch)
MISSING: Sequence[str] = [*pyarrow.csv.ConvertOptions().null_values, "None", "<NA>"]
"""What stands for a missing value of any kind, quoted or not: the words of `pandas.read_csv`."""
NOUNS = {"boolean": "truth values", "date": "dates", "number": "numbers", "text": "text"}
"""The kinds of columns that cells are read as."""
_END = "(end of the file)"
_HEAD = 1000
"""Lines that the names of the columns take less than."""
_BLOCK = 1 << 24
"""Bytes that are cut at once; no cell may be longer."""
_EXACT = 2**53
_WHOLE = {pa.int64(), pa.uint64()}
_DATES = (pa.timestamp("ns"), pa.timestamp("ns", "UTC"))
"""Without and with an offset from UTC behind the time."""
_SAFE = 15
"""Characters up to which every parser finds the same float64: 15 digits have one nearest."""


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
    lines, start : int
        Lines and bytes before the rows.
    empty : bool
        Whether there are no rows.
    missing : tuple of str
        Cells that stand for no value, beside `MISSING`.
    raw : tuple of str
        Columns whose cells are left as they are written, also those that stand for no value.
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
        way = "its first line looks like a row: write a line of names above it"
        check_different(path, file.names, way if looks_like_data(file.names) else RENAME)
        file._check_quotes()
        if format is None:
            return file
        return replace(file, missing=format.missing, raw=_with_blanks(format))

    @classmethod
    def _find(cls, path: Path, given: Given) -> CsvFile:
        """Cut a file as is given, but for a delimiter that parts nothing, and else as is found."""
        if given.delimiter is not None and len(given.delimiter) != 1:
            raise DataError(f"{path}: delimiter={given.delimiter!r} is not one character")
        text = TextFile.find(path, given.encoding, (given.skip_rows or 0) + 1)
        found = find_dialect(text, given.delimiter or DELIMITERS)
        found = found if found.width > 1 else find_dialect(text)
        skip = found.skip_rows if given.skip_rows is None else given.skip_rows
        if skip == 0 and not found.titles:
            skip = found.skip_rows
        return cls._cut(text, found.delimiter, skip)

    @classmethod
    def _cut(cls, text: TextFile, delimiter: str, skip: int) -> CsvFile:
        with text.lines() as lines:
            records = Records(islice(lines, skip + _HEAD), delimiter, skip)
            head = next((record for record in records if record), [])
            empty = not next(lines, "")
        if records.lines == skip + _HEAD:
            raise DataError(f"{text.path}: cannot be read: a quote in the names is not closed")
        names = map(text.decode, head)
        named = tuple(name or f"Unnamed: {i}" for i, name in enumerate(names))
        return cls(text.path, text, delimiter, named, skip, records.lines, records.place, empty)

    def _rows(self, lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
        """Yield the records below the names, each with its row, as Arrow counts them."""
        records = Records(lines, self.delimiter, self.lines)
        return enumerate(record for record in records if record)

    def _check_quotes(self) -> None:
        """Refuse a quote that is open at the end: all after it would be one cell."""
        if self.text.quotes % 2 == 0:
            return  # An odd number of them may yet be inches.
        last, row = [""], 0
        with self.text.lines() as lines:
            for row, last in self._rows(chain(lines, ["\n", _END])):  # noqa: B007
                pass
        if last != [_END]:
            raise DataError(
                f"{self.path}: cannot be read: a quote that opens in row {row} is not closed"
            )

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
            records = Records(lines, self.delimiter, self.lines)
            for _ in records:
                if records.place - cuts[-1] >= size:
                    cuts.append(records.place)
        cuts += [records.place] * (records.place > cuts[-1] or len(cuts) == 1)
        return [*zip(cuts, cuts[1:], strict=False)]

    def rows_before(self, place: int) -> int:
        """Return the rows that end before a byte of the file."""
        with self.text.lines() as lines:
            records = Records(lines, self.delimiter, self.lines)
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
            pyarrow.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(columns, pa.string()),
                include_columns=columns,
                null_values=[] if self.raw else [*MISSING, *self.missing],
                strings_can_be_null=not self.raw,
            ),
        )  # fmt: skip


def _with_blanks(format: TableFormat) -> tuple[str, ...]:
    """Return the columns in which an empty cell is a value, which one without a value is not."""
    return tuple(name for name, each in format.columns.items() if blank_counts(each))


def blank_counts(format: ColumnFormat) -> bool:
    """Whether an empty cell is a value."""
    return isinstance(format, Boolean) and "" in format.true + format.false


def without(cells: Cells, marks: Sequence[str]) -> Cells:
    """Return cells of text without those that stand for no value.

    >>> without(pa.array(["?", "a"]), ["?"]).to_pylist()
    [None, 'a']
    """
    if not marks:
        return cells
    return pc.if_else(pc.is_in(cells, value_set=pa.array(marks, cells.type)), None, cells)


class ColumnType(NamedTuple):
    """What the cells of a column are, as far as they have been seen.

    Parameters
    ----------
    kind : pyarrow.DataType
        Null, an integer, float64, bool, a timestamp or string.
    gaps : bool
        Whether some are missing.
    low, high : int
        The least and the largest integer, and 0.
    """

    kind: pa.DataType = pa.null()
    gaps: bool = False
    low: int = 0
    high: int = 0

    @classmethod
    def of(cls, cells: Cells) -> ColumnType:
        """Look at cells of text."""
        return cls.seen(infer(cells))

    @classmethod
    def seen(cls, values: Cells) -> ColumnType:
        """Look at values."""
        return cls(values.type, values.null_count > 0, *_extremes(values))

    def merge(self, other: ColumnType) -> ColumnType:
        """Return what all cells are, of both parts of a column.

        >>> ColumnType(pa.int64(), gaps=True).merge(ColumnType(pa.float64())).dtype
        'float64'
        >>> ColumnType(pa.bool_()).merge(ColumnType(pa.int64())).dtype
        'str'
        """
        low, high = min(self.low, other.low), max(self.high, other.high)
        kind = _common({self.kind, other.kind} - {pa.null()}, low)
        return ColumnType(kind, self.gaps or other.gaps, low, high)

    @property
    def type(self) -> pa.DataType:
        """The Arrow type that is the same in all parts; integers with gaps are pandas' floats."""
        wide = max(-self.low, self.high) >= _EXACT
        rounded = pa.types.is_integer(self.kind) and self.gaps and not wide
        return pa.float64() if rounded or pa.types.is_null(self.kind) else self.kind

    @property
    def dtype(self) -> str:
        """The same as a type of pandas."""
        if pa.types.is_temporal(self.kind):
            return str(self.kind.to_pandas_dtype())
        name = {"string": "str", "double": "float64"}.get(str(self.type), str(self.type))
        nullable = {"bool": "boolean", "int64": "Int64", "uint64": "UInt64"}
        return nullable.get(name, name) if self.gaps else name

    def values(self, cells: Cells) -> Cells:
        """Return cells of text in the type of their whole column, of which they may be a part."""
        text = pa.types.is_string
        values = infer(cells) if text(cells.type) and not text(self.kind) else cells
        return values.cast(self.type, safe=False)


def _common(kinds: set[pa.DataType], low: int) -> pa.DataType:
    """Return what holds cells of several types: text, where no type of numbers does."""
    if len(kinds) < 2:
        return next(iter(kinds), pa.null())
    if kinds <= _WHOLE:
        return pa.string() if low < 0 else pa.uint64()
    return pa.float64() if kinds <= {*_WHOLE, pa.float64()} else pa.string()


def _extremes(values: Cells) -> tuple[int, int]:
    """Return the least and the largest integer, and 0; of other values 0 alone."""
    if not pa.types.is_integer(values.type):
        return 0, 0
    low, high = (each or 0 for each in pc.min_max(values).as_py().values())
    return min(low, 0), max(high, 0)


def infer(cells: Cells) -> Cells:
    """Return cells of text as what they are, all together.

    >>> columns = (["1", None], ["1", "x"], ["True", None], ["2024-02-29"], [None])
    >>> [str(infer(pa.array(cells)).type) for cells in columns]
    ['int64', 'string', 'bool', 'timestamp[ns]', 'null']
    """
    if cells.null_count == len(cells):
        return pa.nulls(len(cells))
    for read in (_numbers, _booleans, _dates):
        try:
            return read(cells)
        except pa.ArrowInvalid:
            continue
    return cells


def _numbers(cells: Cells) -> Cells:
    """Return integers or floats; of integers beyond 64 bits, which float64 merges, the texts."""
    digits, floats = _parse(cells)
    for kind in (pa.int64(), pa.uint64()):
        try:
            return pc.utf8_ltrim(digits, characters="+").cast(kind)
        except pa.ArrowInvalid:
            continue
    if pc.all(pc.match_substring_regex(digits, r"^[+-]?\d+$")).as_py():
        return cells
    return _rounded(digits, floats)


def _parse(cells: Cells) -> tuple[Cells, Cells]:
    """Return numbers without blanks around, as texts and as the nearest float64."""
    digits = pc.ascii_trim_whitespace(cells)
    floats = digits.cast(pa.float64())
    if pc.any(pc.is_nan(floats)).as_py():
        raise pa.ArrowInvalid("a mark of missing values between blanks is a text")
    return digits, floats


def _rounded(digits: Cells, floats: Cells) -> Cells:
    """Return numbers as pandas rounds them, which is not to the nearest from 16 digits on."""
    longest = pc.max(pc.binary_length(digits)).as_py() or 0
    if longest <= _SAFE and not pc.any(pc.match_substring(digits, "e", ignore_case=True)).as_py():
        return floats
    return pa.array(pd.to_numeric(digits.to_pandas()), pa.float64(), from_pandas=True)


def _booleans(cells: Cells) -> Cells:
    words = pa.array(["true", "false"])
    if not pc.all(pc.is_in(pc.utf8_lower(cells.drop_null()), value_set=words)).as_py():
        raise pa.ArrowInvalid("only the words are truth values, and not 0 and 1")
    return cells.cast(pa.bool_())


def _dates(cells: Cells) -> Cells:
    """Return points in time, all without or all with an offset from UTC."""
    local, utc = _DATES
    try:
        return cells.cast(local)
    except pa.ArrowInvalid:
        return cells.cast(utc)


def to_frame(cells: Mapping[str, Cells], types: Mapping[str, ColumnType]) -> pd.DataFrame:
    """Return cells of text, or values, as a frame, with the same types for each part of a file."""
    columns = {
        name: each.values(cells[name]).to_pandas(types_mapper=NULLABLE.get).astype(each.dtype)
        for name, each in types.items()
    }
    return pd.DataFrame(columns)


def merge_types(parts: Iterable[Mapping[str, ColumnType]]) -> dict[str, ColumnType]:
    """Return the types of columns from those of the parts of a file."""
    return reduce(lambda a, b: {name: a[name].merge(b[name]) for name in a}, map(dict, parts))


def as_kind(cells: Cells, where: str, kind: str, row: int) -> Cells:
    """Return cells of text as values of a kind that a model was fitted on.

    Parameters
    ----------
    cells : array of str
    where : str
        File and column, for the message.
    kind : str
        One of `NOUNS`.
    row : int
        Of the first cell in the file.

    Raises
    ------
    DataError
        A cell is not of the kind; row and value are named.
    """
    try:
        return _of_kind(cells, kind)
    except pa.ArrowInvalid as error:
        raise DataError(_misfit(cells, where, kind, row)) from error


def _of_kind(cells: Cells, kind: str) -> Cells:
    if kind == "text":
        return cells
    return _dates(cells) if kind == "date" else _numbers_or_booleans(cells)


def _numbers_or_booleans(cells: Cells) -> Cells:
    """Return truth values, integers that float64 would round, or float64."""
    values = infer(cells)
    low, high = _extremes(values)
    if pa.types.is_boolean(values.type) or max(-low, high) >= _EXACT:
        return values
    if pa.types.is_string(values.type) or pa.types.is_timestamp(values.type):
        values = _parse(cells)[1]
    return values.cast(pa.float64())


def _misfit(cells: Cells, where: str, kind: str, row: int) -> str:
    # Where each cell fits by itself, the column holds truth values among numbers, or dates both
    # without and with an offset.
    alike = (lambda cell: cell.cast(_DATES[0])) if kind == "date" else _parse
    rules = (lambda cell: _of_kind(cell, kind)), alike
    at = next(i for r in rules for i in range(len(cells)) if not _fits(r, cells[i : i + 1]))
    value = cells[at].as_py()
    point = "; write its comma as a point" if value.replace(",", "", 1).isdigit() else ""
    return (
        f"{where} holds {value!r} in row {row + at}, and the model was fitted on "
        f"{NOUNS[kind]}{point}"
    )


def _fits(rule: Callable[[Cells], Any], cell: Cells) -> bool:
    try:
        rule(cell)
    except pa.ArrowInvalid:
        return False
    return True
