"""How a table is written, guessed from the table: its format, and what was guessed in words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import structs

from pipeline.data.arrow_types import arrow_table
from pipeline.data.csv import MISSING, CsvSource, Given, infer, without
from pipeline.data.dialect import looks_like_data
from pipeline.data.guess import decimals_of, sniff_columns
from pipeline.data.opened import open_sources, read_cells_of
from pipeline.data.source import Source
from pipeline.data.table_format import ColumnFormat, Decimal, TableFormat, Text
from pipeline.data.text_column import Options
from pipeline.errors import DataError


@dataclass(frozen=True)
class Sniffed:
    """A format, and in sentences what a user should know of how it was found."""

    format: TableFormat
    notes: tuple[str, ...] = ()


def sniff(
    source: Any,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    skip_rows: int | None = None,
    missing: Collection[str] = (),
    keep: Collection[str] = (),
    day_first: bool | None = None,
    decimal: Decimal | None = None,
    labels: Collection[str] = (),
) -> Sniffed:
    """Guess how a table is written, as far as nothing is given.

    Words of CSV in `keep` are values where texts are, though `pandas.read_csv` drops them.
    `DataError` says that a file cannot be read, or that its cells have two readings.

    >>> import pyarrow as pa
    >>> found = sniff(pa.table({"price": ["1.234,50 €", "7,00 €"]}))
    >>> found.format.columns["price"].decimal
    ','
    """
    format, notes, what = TableFormat(), [], "the table"
    sources: list[Source] = []
    if isinstance(source, str | Path):
        sources = open_sources(Path(source), given=Given(encoding, delimiter, skip_rows, True))
        first, what = sources[0], Path(source).name
        encodings = (file.encoding for file in sources if file.encoding != "utf-8")
        format = TableFormat(encoding=next(encodings, "utf-8"))
        if isinstance(first, CsvSource):
            format = structs.replace(
                format, delimiter=first.delimiter, skip_rows=first.skip_rows,
                strip_names=first.strip_names,
            )  # fmt: skip
        _check_alike(sources)
        notes = [f"{file.path.name}: {note}" for file in sources for note in _notes(file)]
        written = (replace(f, raw=(*f.names,)) if isinstance(f, CsvSource) else f for f in sources)
        cells = read_cells_of(list(written), sources[0].names)
    else:
        cells = arrow_table(source)
    is_csv = bool(sources) and sources[0].kind == "csv"
    options = Options(day_first, decimal, labels, what, not is_csv)
    columns, more = sniff_columns(cells, options, missing)
    whole = structs.replace(format, missing=tuple(missing), columns=columns)
    if is_csv:
        more += _judge_marks(cells, columns, {*keep}, {*missing}, labels)
    return Sniffed(whole, (*notes, *more))


def _check_alike(files: Sequence[Source]) -> None:
    """Refuse a folder of CSV files that are written in two ways, and name two of them."""
    first, *others = files
    if not others or not isinstance(first, CsvSource):
        return
    marks = decimals_of(first.table(first.names))
    for file in (each for each in others if isinstance(each, CsvSource)):
        where = f"{first.path.parent}: {first.path.name} and {file.path.name}"
        way = "write all files of a folder in one way"
        if file.delimiter != first.delimiter:
            parted = f"are parted by {first.delimiter!r} and by {file.delimiter!r}"
            raise DataError(f"{where} {parted}; {way}")
        for name, mark in decimals_of(file.table(file.names)).items():
            if marks.setdefault(name, mark) != mark:
                raise DataError(
                    f"{where} write the decimals of {name!r} with {marks[name]!r} and with "
                    f"{mark!r}; {way}"
                )


def _judge_marks(
    cells: pa.Table, columns: dict[str, ColumnFormat], keep: set[str], missing: set[str],
    labels: Collection[str],
) -> list[str]:  # fmt: skip
    """Let words that are to be kept be values; say of the others that they are missing."""
    notes = []
    for name, marks in _marks(cells, columns).items():
        if kept := tuple(mark for mark in marks if mark in keep):
            columns[name] = structs.replace(columns.get(name, Text()), values=kept)
        open_marks = {m: n for m, n in marks.items() if m not in keep | missing}
        told = ", ".join(f"{m!r} ({n:,} cells)" for m, n in open_marks.items())
        if told and name in labels:
            words = ",".join(open_marks)
            raise DataError(
                f"{name!r}, the target, holds {told}, which may be a class or stand for no value; "
                f"say which: --keep {quote(words)} makes it a class, --missing {quote(words)} "
                "leaves these rows out"
            )
        if told:
            notes.append(f"{name!r}: {told} read as missing; --keep names words that are values")
    return notes


def _marks(cells: pa.Table, formats: Mapping[str, ColumnFormat]) -> dict[str, dict[str, int]]:
    """Return which words among the texts of columns stand for no value, and how often."""
    marks = [mark for mark in MISSING if mark]
    found: dict[str, dict[str, int]] = {}
    for name in cells.column_names:
        words = without(cells[name], [""])
        is_mark = pc.is_in(words, value_set=pa.array(marks))
        if not isinstance(formats.get(name, Text()), Text) or not pc.any(is_mark).as_py():
            continue
        if name in formats or infer(without(words, marks)).type == pa.string():
            counts = pc.value_counts(words.filter(is_mark)).to_pylist()
            found[name] = {each["values"]: each["counts"] for each in counts}
    return found


def _notes(file: Source) -> Iterator[str]:
    """Say what may be meant otherwise."""
    yield from file.guesses
    if not isinstance(file, CsvSource):
        return
    if file.strip_names:
        yield "blanks around the names of the columns are left out"
    if looks_like_data(file.names):
        names = ", ".join(map(repr, file.names[:5]))
        yield (
            f"the names of the columns are {names}; if these are the first row, write a line of "
            "names above it"
        )
    if len(file.names) == 1 and re.search(r"\S[\s:,;|]+\S", file.names[0]):
        yield (
            f"there is one column, {file.names[0]!r}; if it should be several, give a delimiter "
            "(--delimiter), or read a file of fixed width with pandas.read_fwf"
        )
