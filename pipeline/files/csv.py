"""CSV files: one set of rules for how their values are read, whoever reads them.

Arrow splits a file into fields of text, and rejects rows of another length. The type of a column
depends on all of its fields: it is the type that `pandas.read_csv` detects, or dates if all are
written as dates. So a file has the same values in training, in prediction and as a new task.
"""

from __future__ import annotations

import csv
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from pipeline.errors import DataError
from pipeline.files.dialect import (
    DELIMITERS,
    LINES,
    Dialect,
    find_dialect,
    looks_like_data,
    records,
)
from pipeline.files.files import RENAME, TextFile, check_different, reading, size_of
from pipeline.files.source import BATCH, Source
from pipeline.table.arrow_types import Cells

MISSING: Sequence[str] = [*pyarrow.csv.ConvertOptions().null_values, "None", "<NA>"]
"""What stands for a missing value of any kind, quoted or not: the words of `pandas.read_csv`."""
NOUNS = {"boolean": "truth values", "date": "dates", "number": "numbers", "text": "text"}
"""The kinds of columns that cells are read as."""
_EXACT = 2**53
_EMPTY = "Empty CSV file"
"""What Arrow says where no row is."""
_END = "(end of the file)"
_FEW = 100
"""Cells that are tried first."""
_HEAD = 1000
"""Lines that the names of the columns take less than."""
_BLOCK = 1 << 24
"""Bytes that are cut at once; no cell may be longer."""
_SAMPLE, _SMALL = 1 << 16, 1 << 18
"""Bytes of the rows that are looked at first, and of a file of which none are."""


def without(cells: Cells, marks: Sequence[str]) -> Cells:
    """Return cells of text without those that stand for no value.

    >>> without(pa.array(["?", "a"]), ["?"]).to_pylist()
    [None, 'a']
    """
    if not marks:
        return cells
    return pc.if_else(pc.is_in(cells, value_set=pa.array(marks, cells.type)), None, cells)


def plain_integers(values: Cells) -> Cells:
    """Return integers beside missing values as pandas' floats, where these hold them."""
    rounded = pa.types.is_integer(values.type) and values.null_count and not _is_wide(values)
    return values.cast(pa.float64()) if rounded or pa.types.is_null(values.type) else values


def _is_wide(values: Cells) -> bool:
    """Whether there are numbers so large that float64 merges integers."""
    is_number = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
    extremes = pc.min_max(values).as_py() if is_number else {}
    return max((abs(each or 0) for each in extremes.values()), default=0) >= _EXACT


def infer(cells: Cells) -> Cells:
    """Return cells of text as what they are, all together.

    >>> columns = (["1", None], ["1", "x"], ["True", None], ["2024-02-29"], [None])
    >>> [str(infer(pa.array(cells)).type) for cells in columns]
    ['int64', 'string', 'bool', 'timestamp[ns]', 'null']
    """
    if cells.null_count == len(cells):
        return pa.nulls(len(cells))
    for read in (_numbers, _booleans, _dates):
        with suppress(pa.ArrowInvalid):
            few = read(cells[:_FEW])  # Arrow is slow where many do not fit.
            return few if len(cells) <= _FEW else read(cells)
    return cells


def _numbers(cells: Cells) -> Cells:
    """Return integers or floats; of integers beyond 64 bits, which float64 merges, the texts."""
    if _are_whole(cells[:_FEW]):
        with suppress(pa.ArrowInvalid):
            return _integers(cells)
    digits, floats = _parse(cells)
    if not _are_whole(digits):
        return floats
    for kind in (pa.int64(), pa.uint64()):
        with suppress(pa.ArrowInvalid):
            return pc.utf8_ltrim(digits, characters="+").cast(kind)
    return cells


def _are_whole(digits: Cells) -> bool:
    """Whether numbers are written as integers; missing ones are not looked at."""
    return pc.all(pc.match_substring_regex(digits, r"^[+-]?\d+$")).as_py() is not False


def _integers(cells: Cells) -> Cells:
    """Return integers without blanks or a plus sign, which are the usual ones."""
    values = cells.cast(pa.int64())
    for start in ("0x", "0X"):  # Arrow reads hexadecimal numbers too.
        if pc.any(pc.starts_with(cells, start)).as_py():
            raise pa.ArrowInvalid("a hexadecimal number is text")
    return values


def _parse(cells: Cells) -> tuple[Cells, Cells]:
    """Return numbers without blanks around, as texts and as the nearest float64."""
    digits = pc.ascii_trim_whitespace(cells)
    floats = digits.cast(pa.float64())
    if _any_nan(floats):
        raise pa.ArrowInvalid("a missing-value marker with blanks around it is text")
    return digits, floats


def _any_nan(floats: Cells) -> bool:
    return bool(pc.any(pc.is_nan(floats)).as_py())


def _booleans(cells: Cells) -> Cells:
    words = pa.array(["true", "false"])
    if pc.all(pc.is_in(pc.utf8_lower(cells.drop_null()), value_set=words)).as_py() is False:
        raise pa.ArrowInvalid("only the words true and false are booleans, not 0 and 1")
    return cells.cast(pa.bool_())


def _dates(cells: Cells) -> Cells:
    """Return points in time, all without or all with an offset from UTC."""
    if pc.all(pc.match_substring_regex(cells[:_FEW], r"^\d{4}-\d\d-\d\d")).as_py() is False:
        raise pa.ArrowInvalid("a date is year, month and day")  # sooner than Arrow's cast
    with suppress(pa.ArrowInvalid):
        return cells.cast(pa.timestamp("ns"))
    return cells.cast(pa.timestamp("ns", "UTC"))


def _stays(found: Cells, *, odd: bool | None) -> bool:
    """Return whether what Arrow has found, no texts, is what `infer` makes of the texts.

    Arrow makes floats of integers with a plus sign, which are `odd`, of those beyond int64, and of
    missing-value markers with blanks around. `odd` is None where floats are known to be some.
    """
    if pa.types.is_floating(found.type):
        doubtful = odd or (odd is not None and _is_wide(found))
        whole = doubtful and pc.all(pc.equal(pc.floor(found), found)).as_py() is not False
        return not (whole or _any_nan(found))
    return pa.types.is_null(found.type) or (pa.types.is_integer(found.type) and not odd)


def _has_odd_integers(text: bytes) -> bool:
    """Return whether an integer may begin with a plus sign or, as hexadecimal, with 0x.

    >>> [_has_odd_integers(text) for text in (b"1,+2", b"0X1F", b"1e+20,N10XJ")]
    [True, True, False]
    """
    if any(not part[-1:].isalnum() for part in text.split(b"+")[:-1]):
        return True
    parts = [*text.split(b"x")[:-1], *text.split(b"X")[:-1]]
    return any(part[-1:] == b"0" and not part[-2:-1].isalnum() for part in parts)


def as_kind(cells: Cells, where: str, kind: str, row: int) -> Cells:
    """Return cells of text as values of a kind of `NOUNS`, from a row of the file on."""
    try:
        return _of_kind(cells, kind)
    except pa.ArrowInvalid as error:
        # Beside those before it, the cell is the first that does not fit.
        at = bisect_left(range(len(cells)), True, key=lambda i: not _fits(cells[: i + 1], kind))
        ways = {"number": "a number such as 1234.5", "date": "a date such as 2018-02-01 10:30"}
        raise DataError(
            f"{where} holds {cells[at].as_py()!r} in row {row + at}, but the model was fitted on "
            f"{NOUNS[kind]}; write {ways.get(kind, 'True or False')}, or leave it empty"
        ) from error


def _of_kind(cells: Cells, kind: str) -> Cells:
    """Return text, dates, truth values, integers that float64 would round, or float64."""
    if kind in ("text", "date"):
        return _dates(cells) if kind == "date" else cells
    values = infer(cells)
    if pa.types.is_boolean(values.type) or _is_wide(values):
        return values
    if pa.types.is_string(values.type) or pa.types.is_timestamp(values.type):
        values = _parse(cells)[1]
    return values.cast(pa.float64())


def _fits(cells: Cells, kind: str) -> bool:
    with suppress(pa.ArrowInvalid):
        return _of_kind(cells, kind) is not None
    return False


class Given(NamedTuple):
    """What is known of a file beforehand; None is to be found out."""

    encoding: str | None = None
    delimiter: str | None = None
    skip_rows: int | None = None
    strip_names: bool = False


@dataclass(frozen=True, kw_only=True)
class CsvSource(Source):
    """How a file is cut into columns, all of them text.

    `skip_rows` lines are above the line of names, and `lines` before the rows. Cells of `raw`
    columns are left as they are written, also those that stand for no value.
    """

    kind: ClassVar[str] = "csv"
    text: TextFile
    delimiter: str
    skip_rows: int
    lines: int
    raw: tuple[str, ...] = ()
    strip_names: bool = False

    @classmethod
    def open(cls, path: Path, given: Given, raw: Sequence[str] = ()) -> CsvSource:
        """Read the line of names."""
        with reading(path):
            file = cls._find(path, given)
        if not (names := file.names):
            raise DataError(f"{path}: cannot be read: {_EMPTY}")
        way = "its first line looks like data: add a line of column names above it"
        check_different(path, names, way if looks_like_data(names) else RENAME)
        file._check_quotes()
        stripped = [name.strip() for name in names]
        if given.strip_names and stripped != names and len({*stripped}) == len(names):
            file = replace(file, schema=_texts(stripped), strip_names=True)
        return replace(file, raw=tuple(raw))

    @classmethod
    def _find(cls, path: Path, given: Given) -> CsvSource:
        """Cut a file as is given, but for a delimiter that parts nothing, and else as is found."""
        mark = given.delimiter
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n'):
            raise DataError(
                f"{path}: delimiter={mark!r} is not a single ASCII character; pass one, such as ','"
            )
        text = TextFile.find(path, given.encoding)
        with text.lines() as lines:
            head = list(islice(lines, LINES))
        file = cls._cut(text, find_dialect(head, mark or DELIMITERS), given.skip_rows or 0)
        if len(file.names) < 2 or looks_like_data(file.names):  # it is written otherwise
            other = cls._cut(text, find_dialect(head))
            file = other if len(other.names) > 1 else file
        return file

    @classmethod
    def _cut(cls, text: TextFile, by: Dialect, skip: int = 0) -> CsvSource:
        """Cut a file below the lines that are given, or that the dialect has found."""
        guesses = [text.guess]
        if by.title and not skip:
            guesses.append(f"the lines above the column names are skipped: {by.title[:60]!r}")
        skip = skip or by.skip_rows
        with text.lines() as lines:
            reader = csv.reader(islice(lines, skip, skip + _HEAD), delimiter=by.delimiter)
            head = next(filter(None, reader), [])
        if reader.line_num == _HEAD:
            raise DataError(
                f"{text.path}: cannot be read: a quote in the column names is not closed; close it"
            )
        schema = _texts([name or f"Unnamed: {i}" for i, name in enumerate(head)])
        file, end = (text.path, schema, text.encoding), skip + reader.line_num
        told = tuple(filter(None, guesses))
        return cls(*file, told, text=text, delimiter=by.delimiter, skip_rows=skip, lines=end)

    def _rows(self, *end: str) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows below the names, each with its number, as Arrow counts them."""
        with self.text.lines() as lines:
            rows = records(chain(islice(lines, self.lines, None), end), self.delimiter)
            yield from enumerate(row.cells for row in rows)

    def _check_quotes(self) -> None:
        """Reject a quote that is open at the end: all after it would be one cell."""
        if self.text.quotes % 2 == 0:
            return  # An odd number of them may yet be inches.
        ((row, last),) = deque(self._rows("\n", _END), maxlen=1)
        if last != [_END]:
            raise DataError(
                f"{self.path}: cannot be read: a quote opened in row {row} is not closed; "
                "close or remove it"
            )

    def values(self, columns: Sequence[str]) -> pa.Table:
        """Return columns of all rows as what all their cells stand for together, see `infer`."""
        with reading(self.path), suppress(pa.ArrowInvalid, StopIteration):
            if not self.raw:
                return self._typed(columns)
        cells = self.table(columns)
        return pa.table({name: infer(cells[name]) for name in columns})

    def _typed(self, columns: Sequence[str]) -> pa.Table:
        """Return `values`, with the numbers that Arrow finds where they are ours: it is faster."""
        types: dict[str, pa.DataType] = {}
        odd: bool | None = None
        if size_of(self.path) <= _SMALL:
            with self.text.open() as stream:
                odd = self.delimiter.isalnum() or _has_odd_integers(stream.read())
        else:
            options = self._options(columns, _SAMPLE, self.schema)
            with pyarrow.csv.open_csv(self.text.open(), *options) as reader:
                first = reader.read_next_batch()[:_FEW]
            types = {name: infer(first[name]).type for name in columns}
            types = {n: t if pa.types.is_floating(t) else pa.string() for n, t in types.items()}
        found = self._read(columns, types)
        as_texts = [name for name in columns if not _stays(found[name], odd=odd)]
        if again := [name for name in as_texts if found[name].type != pa.string()]:
            texts = self._read(again, dict.fromkeys(again, pa.string()))
            found = pa.table({n: (texts if n in again else found)[n] for n in columns})
        return pa.table({n: infer(found[n]) if n in as_texts else found[n] for n in columns})

    def _read(self, columns: Sequence[str], types: Mapping[str, pa.DataType]) -> pa.Table:
        return pyarrow.csv.read_csv(self.text.open(), *self._options(columns, _BLOCK, types))

    def _options(
        self, columns: Sequence[str], block: int, types: Mapping[str, pa.DataType] | pa.Schema
    ) -> tuple[Any, ...]:
        """Return how Arrow reads columns of these types, in blocks of bytes."""
        return (
            pyarrow.csv.ReadOptions(
                column_names=self.names, skip_rows=self.lines, block_size=block
            ),
            pyarrow.csv.ParseOptions(
                delimiter=self.delimiter, newlines_in_values=self.text.quotes > 0
            ),
            pyarrow.csv.ConvertOptions(
                column_types=types,
                include_columns=columns,
                null_values=MISSING,
                strings_can_be_null=not self.raw,
            ),
        )

    def batches(self, columns: Sequence[str], size: int = BATCH) -> Iterator[pa.RecordBatch]:
        """Yield the cells of columns as text, in batches of bounded bytes."""
        with reading(self.path):
            try:
                options = self._options(columns, _BLOCK, self.schema)
                with pyarrow.csv.open_csv(self.text.open(), *options) as reader:
                    for read in reader:
                        cells = {name: read[name] for name in read.schema.names}
                        marked = cells.keys() - {*self.raw} if self.raw else ()
                        cells |= {name: without(cells[name], MISSING) for name in marked}
                        yield pa.record_batch(cells)
            except pa.ArrowInvalid as error:
                if str(error) == _EMPTY:
                    return
                width = len(self.names)
                odd = next((each for each in self._rows() if len(each[1]) != width), None)
                if odd is None:
                    raise
                raise DataError(f"{self.path}: cannot be read: {self._ragged(*odd)}") from error

    def _ragged(self, row: int, cells: Sequence[str]) -> str:
        wide, shown = len(self.names), self.delimiter.join(cells)[:60]
        way = f"quote fields that contain {self.delimiter!r}, or remove lines that are not rows"
        if len(cells) == wide + 1:
            place = "first" if cells[-1] else "last"
            way += f"; if all rows have that many, add the name of the {place} column"
        if wide == 1:
            way += "; if the column names are further down, set skip_rows"
        needed = f"{wide} field{'s' * (wide > 1)}"
        return f"row {row} should have {needed} but has {len(cells)}: {shown!r}; {way}"


def _texts(names: Sequence[str]) -> pa.Schema:
    return pa.schema([(name, pa.string()) for name in names])
