"""CSV files: one set of rules for what their cells stand for, whoever reads them.

Arrow cuts a file into cells of text. The type of a column is found from all of its cells: the one
that `pandas.read_csv` finds, and dates where all are written as such. So a file has the same values
in training (whole, or in spans of bytes for Dask), in prediction (a number of rows at a time) and
as a new task. Arrow refuses rows of another length than the first, which pandas fills up.
"""

from __future__ import annotations

import codecs
import csv
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from pipeline.data.convert import NULLABLE
from pipeline.data.files import check_columns, check_different, reading
from pipeline.errors import DataError

Cells: TypeAlias = "pa.ChunkedArray | pa.Array"
Cut = TypeVar("Cut", pa.Table, pa.RecordBatch)
DELIMITERS = ",;\t|"
MISSING: Sequence[str] = [*pyarrow.csv.ConvertOptions().null_values, "None", "<NA>"]
"""What stands for a missing value of any kind, quoted or not: the words of `pandas.read_csv`."""
NOUNS = {"boolean": "truth values", "date": "dates", "number": "numbers", "text": "text"}
"""The kinds of columns that cells are read as."""
_MARK = codecs.BOM_UTF8.decode("latin-1")
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
    delimiter : str
        That of `DELIMITERS` which cuts the line of names into most.
    names : tuple of str
        As pandas calls them: ``Unnamed: 0``, where the first has no name.
    lines, start : int
        Lines and bytes before the rows.
    """

    path: Path
    delimiter: str
    names: tuple[str, ...]
    lines: int
    start: int

    @classmethod
    def open(cls, path: Path) -> CsvFile:
        """Read the line of names.

        Raises
        ------
        DataError
            The file is empty, or its names are not UTF-8, or not all different.
        OSError
            It cannot be read.
        """
        cut = max((cls._cut(path, each) for each in DELIMITERS), key=lambda each: len(each.names))
        if not cut.names:
            raise DataError(f"{path}: cannot be read: Empty CSV file")
        if "\ufffd" in "".join(cut.names):
            raise DataError(f"{path}: cannot be read: invalid UTF8 in the names of the columns")
        check_different(path, cut.names)
        return cut

    @classmethod
    def _cut(cls, path: Path, delimiter: str) -> CsvFile:
        with path.open(encoding="latin-1", newline="") as file:
            records = _Records(islice(file, _HEAD), delimiter)
            head = next((record for record in records if record), [])
        if records.lines == _HEAD:
            raise DataError(f"{path}: cannot be read: a quote in the names is not closed")
        names = [cell.encode("latin-1").decode("utf-8", "replace") for cell in head]
        named = tuple(name or f"Unnamed: {i}" for i, name in enumerate(names))
        return cls(path, delimiter, named, records.lines, records.place)

    def check(self, columns: Sequence[str]) -> list[str]:
        """Return the names of columns, each once; `DataError` if the file lacks one."""
        check_columns(self.path, self.names, columns)
        return list(dict.fromkeys(columns))

    def spans(self, size: int) -> list[tuple[int, int]]:
        """Return the bytes of whole rows in pieces of about `size`, as (from, to)."""
        cuts = [self.start]
        with self.path.open(encoding="latin-1", newline="") as file:
            records = _Records(file, self.delimiter)
            for _ in records:
                if records.place - cuts[-1] >= size:
                    cuts.append(records.place)
        cuts += [records.place] * (records.place > cuts[-1] or len(cuts) == 1)
        return list(zip(cuts, cuts[1:], strict=False))

    def cells(self, columns: Sequence[str], span: tuple[int, int] | None = None) -> pa.Table:
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
        with reading(self.path):
            return self._whole(
                pyarrow.csv.read_csv(pa.BufferReader(data), *self._options(columns, 0))
            )

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the cells of columns as text, a bounded number of rows at a time."""
        if self.path.stat().st_size == self.start:
            return
        row = 0
        options = self._options(columns, self.lines)
        with reading(self.path), pyarrow.csv.open_csv(self.path, *options) as reader:
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
        with self.path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - 1, 0))
            last = file.read()
        if last not in (b"", b"\n", b"\r"):
            warnings.warn(
                f"{self.path}: the last line has no end; if the file was cut off, its last value "
                "is wrong",
                UserWarning,
                stacklevel=2,
            )

    def _whole(self, cells: Cut, row: int | None = None) -> Cut:
        for name in cells.schema.names:
            damaged = pc.index(pc.match_substring(cells[name], "\0"), True).as_py()
            if damaged >= 0:
                where = "" if row is None else f" in row {row + damaged}"
                what = f"column {name!r} holds a zero byte{where}"
                raise DataError(f"{self.path}: {what}: the file is damaged, or not UTF-8")
        return cells

    def _options(self, columns: Sequence[str], skipped: int) -> tuple[Any, Any, Any]:
        return (
            pyarrow.csv.ReadOptions(column_names=self.names, skip_rows=skipped, block_size=_BLOCK),
            pyarrow.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(columns, pa.string()),
                include_columns=columns,
                null_values=MISSING,
                strings_can_be_null=True,
            ),
        )


class _Records:
    """The records of a file, one after the other, beside the lines and bytes read so far.

    A line may end within quotes, so only who cuts a file into cells knows where a row ends.
    """

    def __init__(self, file: Iterable[str], delimiter: str) -> None:
        self.lines = self.place = 0
        csv.field_size_limit(sys.maxsize)
        self.reader = csv.reader(self._read(file), delimiter=delimiter)

    def _read(self, file: Iterable[str]) -> Iterator[str]:
        for line in file:
            self.lines, self.place = self.lines + 1, self.place + len(line)
            yield line.removeprefix(_MARK) if self.lines == 1 else line

    def __iter__(self) -> Iterator[list[str]]:
        """Yield the cells of each record."""
        return self.reader


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
        values = infer(cells)
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
        if pa.types.is_timestamp(self.kind):
            return str(self.kind.to_pandas_dtype())
        name = {"string": "str", "double": "float64"}.get(str(self.type), str(self.type))
        nullable = {"bool": "boolean", "int64": "Int64", "uint64": "UInt64"}
        return nullable.get(name, name) if self.gaps else name

    def values(self, cells: Cells) -> Cells:
        """Return cells of text in the type of their whole column, of which they may be a part."""
        values = cells if pa.types.is_string(self.kind) else infer(cells)
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


def to_frame(cells: pa.Table, types: Mapping[str, ColumnType]) -> pd.DataFrame:
    """Return cells of text as a frame, which has the same types for every part of a file."""
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
