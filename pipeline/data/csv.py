"""CSV files, cut into cells by Arrow: streamed, or in spans of bytes that hold whole rows.

Arrow refuses rows of another length than the first, which pandas fills up. What the cells
stand for is in `pipeline.data.csv`; they are text until it is known what their column holds.


What the cells of a CSV column stand for: what `pandas.read_csv` makes of all of them.

Whichever part of a file is read, in training or in prediction, a cell has one value.

A file of one's own, CSV or Parquet, as an Arrow table.
"""

from __future__ import annotations

import codecs
import csv
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from pipeline.errors import DataError
from pipeline.typing import Array, Column

DELIMITERS = ",;\t|"
_MARK = codecs.BOM_UTF8.decode("latin-1")
_HEAD = 1000
"""Lines that the names of the columns take less than."""
_BLOCK = 1 << 24
"""Bytes that are cut at once; no cell may be longer."""


@dataclass(frozen=True)
class Form:
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
    def of(cls, path: Path) -> Form:
        """Read the line of names.

        Raises
        ------
        DataError
            The file is empty, or its names are not UTF-8, or not all different.
        OSError
            It cannot be read.
        """
        forms = [cls._cut(path, delimiter) for delimiter in DELIMITERS]
        found = max(forms, key=lambda form: len(form.names))
        if not found.names:
            raise DataError(f"{path}: cannot be read: Empty CSV file")
        if "\ufffd" in "".join(found.names):
            raise DataError(f"{path}: cannot be read: invalid UTF8 in the names of the columns")
        if twice := sorted({name for name in found.names if found.names.count(name) > 1}):
            raise DataError(f"{path}: has columns with the same name: {twice}; rename all but one")
        return found

    @classmethod
    def _cut(cls, path: Path, delimiter: str) -> Form:
        with path.open(encoding="latin-1", newline="") as file:
            records = _Records(islice(file, _HEAD), delimiter)
            head = next((record for record in records if record), [])
        if records.lines == _HEAD:
            raise DataError(f"{path}: cannot be read: a quote in the names is not closed")
        names = [cell.encode("latin-1").decode("utf-8", "replace") for cell in head]
        named = tuple(name or f"Unnamed: {i}" for i, name in enumerate(names))
        return cls(path, delimiter, named, records.lines, records.place)

    def chosen(self, columns: Sequence[str] | None) -> list[str]:
        """Return the names of columns, by default of all; `DataError` if the file lacks one."""
        if missing := [name for name in columns or () if name not in self.names]:
            there = list(self.names[:20])
            raise DataError(f"{self.path}: has no column {missing[0]!r}; has {there}")
        return list(dict.fromkeys(self.names if columns is None else columns))

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

    def table(self, columns: Sequence[str], span: tuple[int, int] | None = None) -> pa.Table:
        """Return the cells of columns as text, of all rows or of a span of bytes."""
        schema = pa.schema([(name, pa.string()) for name in columns])
        if span is None:
            return pa.Table.from_batches(self.batches(columns), schema)
        with self.path.open("rb") as file:
            file.seek(span[0])
            data = file.read(span[1] - span[0])
        if not data:
            return schema.empty_table()
        options = self._reading(0), self._parsing(), _texts(columns)
        with self._told():
            return self._whole(pyarrow.csv.read_csv(pa.BufferReader(data), *options))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the cells of columns as text, a bounded number of rows at a time."""
        if self.path.stat().st_size == self.start:
            return
        options = self._reading(self.lines), self._parsing(), _texts(columns)
        row = 0
        with self._told(), pyarrow.csv.open_csv(self.path, *options) as reader:
            for batch in reader:
                yield self._whole(batch, row)
                row += batch.num_rows

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowInvalid, OSError) as error:
            cause = str(error).partition("\n")[0]
            raise DataError(f"{self.path}: cannot be read: {cause}") from error

    def _whole(self, texts: Column, row: int | None = None) -> Any:
        for name in texts.schema.names:
            damaged = pc.index(pc.match_substring(texts[name], "\0"), True).as_py()
            if damaged >= 0:
                where = "" if row is None else f" in row {row + damaged}"
                what = f"column {name!r} holds a zero byte{where}"
                raise DataError(f"{self.path}: {what}: the file is damaged, or not UTF-8")
        return texts

    def _reading(self, skipped: int) -> Any:
        return pyarrow.csv.ReadOptions(
            column_names=self.names, skip_rows=skipped, block_size=_BLOCK
        )

    def _parsing(self) -> Any:
        return pyarrow.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)


def _texts(columns: Sequence[str]) -> Any:
    return pyarrow.csv.ConvertOptions(
        column_types=dict.fromkeys(columns, pa.string()),
        include_columns=columns,
        null_values=MISSING,
        strings_can_be_null=True,
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


def read(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return columns of a file, by default all, each as what its cells are.

    Raises
    ------
    DataError
        The file is damaged, or has no such column.
    """
    form = Form.of(path)
    texts = form.table(form.chosen(columns))
    return pa.table({name: plain(texts[name]) for name in texts.column_names})


def read_frame(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Return columns of a file as pandas has them; `DataError` as for `read`."""
    form = Form.of(path)
    texts = form.table(form.chosen(columns))
    return frame(texts, {name: Held.of(texts[name]) for name in texts.column_names})


def look(form: Form, columns: Sequence[str]) -> dict[str, Held]:
    """Return what the cells of columns are, of all rows, a bounded number of them at a time."""
    found = dict.fromkeys(columns, Held())
    for batch in form.batches(columns) if columns else ():
        found = {name: held.beside(Held.of(batch[name])) for name, held in found.items()}
    return found


def batches(
    path: Path, columns: Sequence[str], kinds: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file, the columns of a known kind as values of this kind.

    Parameters
    ----------
    path : Path
    columns : sequence of str
        To read, all of which there are.
    kinds : mapping of str to str
        Of columns; others are as all their cells are.

    Raises
    ------
    DataError
        A cell is not of its column's kind; row and value are named.
    """
    form = Form.of(path)
    held = look(form, [name for name in columns if kinds.get(name) not in NOUNS])
    row = 0
    for batch in form.batches(columns):
        made = {
            name: as_held(batch[name], held[name])
            if name in held
            else as_kind(batch[name], name, kinds[name], row)
            for name in columns
        }
        row += batch.num_rows
        yield pa.RecordBatch.from_pydict(made)
    _tell_open_end(path)


def _tell_open_end(path: Path) -> None:
    """Warn where the last line has no end: what is cut there still looks like a value."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - 1, 0))
        last = file.read()
    if last not in (b"", b"\n", b"\r"):
        warnings.warn(
            f"{path}: the last line has no end; if the file was cut off, its last value is wrong",
            UserWarning,
            stacklevel=2,
        )


MISSING: Sequence[str] = [*pyarrow.csv.ConvertOptions().null_values, "None", "<NA>"]
"""What stands for a missing value of any kind, quoted or not: the words of `pandas.read_csv`."""
NOUNS = {"boolean": "truth values", "date": "dates", "number": "numbers", "text": "text"}
"""The kinds of columns that cells are read as."""
_EXACT = 2**53
_WHOLE = {pa.int64(), pa.uint64()}
_SAFE = 15
"""Characters up to which every parser finds the same float64: 15 digits have one nearest."""


class Held(NamedTuple):
    """What the cells of a column are, as far as they have been seen.

    Parameters
    ----------
    kind : pyarrow.DataType
        Null, an integer, float64, bool or string.
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
    def of(cls, cells: Array) -> Held:
        """Look at cells of text."""
        found = plain(cells)
        return cls(found.type, found.null_count > 0, *_extremes(found))

    def beside(self, other: Held) -> Held:
        """Return what all cells are, of both parts of a column.

        >>> Held(pa.int64(), gaps=True).beside(Held(pa.float64())).dtype
        'float64'
        >>> Held(pa.bool_()).beside(Held(pa.int64())).dtype
        'str'
        """
        low, high = min(self.low, other.low), max(self.high, other.high)
        kind = _common({self.kind, other.kind} - {pa.null()}, low)
        return Held(kind, self.gaps or other.gaps, low, high)

    @property
    def type(self) -> pa.DataType:
        """The Arrow type that is the same in all parts; integers with gaps are pandas' floats."""
        wide = max(-self.low, self.high) >= _EXACT
        rounded = pa.types.is_integer(self.kind) and self.gaps and not wide
        return pa.float64() if rounded or pa.types.is_null(self.kind) else self.kind

    @property
    def dtype(self) -> str:
        """The same as a type of pandas."""
        name = {"string": "str", "double": "float64"}.get(str(self.type), str(self.type))
        nullable = {"bool": "boolean", "int64": "Int64", "uint64": "UInt64"}
        return nullable.get(name, name) if self.gaps else name


def _common(kinds: set[pa.DataType], low: int) -> pa.DataType:
    """Return what holds cells of several types: text, where no type of numbers does."""
    if len(kinds) < 2:
        return next(iter(kinds), pa.null())
    if kinds <= _WHOLE:
        return pa.string() if low < 0 else pa.uint64()
    return pa.float64() if kinds <= {*_WHOLE, pa.float64()} else pa.string()


def _extremes(values: Array) -> tuple[int, int]:
    """Return the least and the largest integer, and 0; of other values 0 alone."""
    if not pa.types.is_integer(values.type):
        return 0, 0
    low, high = (each or 0 for each in pc.min_max(values).as_py().values())
    return min(low, 0), max(high, 0)


def plain(cells: Array) -> Any:
    """Return cells of text as what pandas takes them for, all together.

    >>> [str(plain(pa.array(c)).type) for c in (["1", None], ["1", "x"], ["True", None], [None])]
    ['int64', 'string', 'bool', 'null']
    """
    if cells.null_count == len(cells):
        return pa.nulls(len(cells))
    try:
        digits, floats = _numbers(cells)
    except pa.ArrowInvalid:
        return cells.cast(pa.bool_()) if _are_truths(cells) else cells
    for kind in (pa.int64(), pa.uint64()):
        try:
            return pc.utf8_ltrim(digits, characters="+").cast(kind)
        except pa.ArrowInvalid:
            continue
    if pc.all(pc.match_substring_regex(digits, r"^[+-]?\d+$")).as_py():
        return cells  # Beyond 64 bits, where float64 would make many one.
    return _rounded(digits, floats)


def _numbers(cells: Array) -> tuple[Any, Any]:
    """Return numbers without blanks around, as texts and as the nearest float64."""
    digits = pc.ascii_trim_whitespace(cells)
    floats = digits.cast(pa.float64())
    if pc.any(pc.is_nan(floats)).as_py():
        raise pa.ArrowInvalid("a mark of missing values between blanks is a text")
    return digits, floats


def _rounded(digits: Any, floats: Any) -> Any:
    """Return numbers as pandas rounds them, which is not to the nearest from 16 digits on."""
    longest = pc.max(pc.binary_length(digits)).as_py() or 0
    if longest <= _SAFE and not pc.any(pc.match_substring(digits, "e", ignore_case=True)).as_py():
        return floats
    return pa.array(pd.to_numeric(digits.to_pandas()), pa.float64(), from_pandas=True)


def _are_truths(cells: Array) -> bool:
    words = pa.array(["true", "false"])
    return bool(pc.all(pc.is_in(pc.utf8_lower(cells.drop_null()), value_set=words)).as_py())


def as_held(cells: Array, held: Held) -> Any:
    """Return cells of text in the type of their whole column, of which they may be a part."""
    made = cells if pa.types.is_string(held.kind) else plain(cells)
    return made.cast(held.type, safe=False)


_NULLABLE = {
    pa.bool_(): pd.BooleanDtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
}


def frame(texts: pa.Table, held: Mapping[str, Held]) -> pd.DataFrame:
    """Return cells of text as a frame, which has the same types for every part of a file."""
    return pd.DataFrame(
        {
            name: as_held(texts[name], each)
            .to_pandas(types_mapper=_NULLABLE.get)
            .astype(each.dtype)
            for name, each in held.items()
        }
    )


def as_kind(cells: Array, name: str, kind: str, row: int) -> Any:
    """Return cells of text as values of a kind; a `DataError` names the first that is none."""
    try:
        return _of_kind(cells, kind)
    except pa.ArrowInvalid as error:
        raise DataError(_misfit(cells, name, kind, row)) from error


def _of_kind(cells: Array, kind: str) -> Any:
    if kind == "text":
        return cells
    return cells.cast(pa.timestamp("ns")) if kind == "date" else _number(cells)


def _number(cells: Array) -> Any:
    """Return truth values, integers that float64 would round, or float64."""
    made = plain(cells)
    low, high = _extremes(made)
    if pa.types.is_boolean(made.type) or max(-low, high) >= _EXACT:
        return made
    return (_numbers(cells)[1] if pa.types.is_string(made.type) else made).cast(pa.float64())


def _misfit(cells: Array, name: str, kind: str, row: int) -> str:
    # Where each cell fits by itself, the column holds truth values among numbers.
    rules = (lambda cell: _of_kind(cell, kind)), _numbers
    at = next(i for r in rules for i in range(len(cells)) if not _fits(r, cells[i : i + 1]))
    value = cells[at].as_py()
    point = "; write its comma as a point" if value.replace(",", "", 1).isdigit() else ""
    return (
        f"column {name!r} holds {value!r} in row {row + at}, and the model was fitted on "
        f"{NOUNS[kind]}{point}"
    )


def _fits(rule: Callable[[Any], Any], cell: Any) -> bool:
    try:
        rule(cell)
    except pa.ArrowInvalid:
        return False
    return True


_MOMENTS = (pa.timestamp("ns"), pa.timestamp("ns", "UTC"))


def read_file(path: Path) -> pa.Table:
    """Read a whole file; of CSV, texts that are all written as dates are dates.

    Parameters
    ----------
    path : Path
        Parquet if its name ends in ``.parquet`` or ``.pq``, else CSV, with a header.

    Returns
    -------
    pyarrow.Table
        A column without a name is called ``Unnamed: N``, from 0, as pandas does.

    Raises
    ------
    DataError
        The file is missing or damaged, has no rows, or has two columns of one name.
    """
    try:
        parquet = path.suffix.lower() in (".parquet", ".pq")
        table = pq.read_table(path) if parquet else _dated_csv(path)
    except (pa.ArrowException, OSError) as error:
        cause = str(error).partition("\n")[0]
        raise DataError(f"{path}: cannot be read: {cause}") from error
    names = [name or f"Unnamed: {i}" for i, name in enumerate(table.column_names)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(f"{path}: has columns with the same name: {twice}; rename all but one")
    if not len(table):
        raise DataError(f"{path}: no rows")
    return table.rename_columns(names)


def _dated_csv(path: Path) -> pa.Table:
    table = read(path)
    for i, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            table = table.set_column(i, field.name, _dated(table[field.name]))
    return table


def _dated(texts: Column) -> Any:
    """Return dates, where all texts are written as such."""
    for kind in _MOMENTS:
        try:
            return texts.cast(kind)
        except pa.ArrowInvalid:
            continue
    return texts
