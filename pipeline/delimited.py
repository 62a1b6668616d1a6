"""CSV files, cut into cells by Arrow: streamed, or in spans of bytes that hold whole rows.

Arrow refuses rows of another length than the first, which pandas fills up. What the cells
stand for is in `pipeline.cells`; they are text until it is known what their column holds.
"""

from __future__ import annotations

import codecs
import csv
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from pipeline import cells
from pipeline.cells import Held
from pipeline.errors import DataError

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

    def _whole(self, texts: Any, row: int | None = None) -> Any:
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
        null_values=cells.MISSING,
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
    return pa.table({name: cells.plain(texts[name]) for name in texts.column_names})


def read_frame(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Return columns of a file as pandas has them; `DataError` as for `read`."""
    form = Form.of(path)
    texts = form.table(form.chosen(columns))
    return cells.frame(texts, {name: Held.of(texts[name]) for name in texts.column_names})


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
    held = look(form, [name for name in columns if kinds.get(name) not in cells.NOUNS])
    row = 0
    for batch in form.batches(columns):
        made = {
            name: cells.as_held(batch[name], held[name])
            if name in held
            else cells.as_kind(batch[name], name, kinds[name], row)
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
