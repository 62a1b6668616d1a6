"""How a table is written, guessed from the table: its format, and the guesses in words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import structs

from pipeline.errors import DataError
from pipeline.files.csv import MISSING, CsvSource, Given, infer, without
from pipeline.files.dialect import looks_like_data
from pipeline.files.guess import decimals_of, sniff_columns
from pipeline.files.opened import open_sources, read_cells_of
from pipeline.files.source import Source
from pipeline.files.table_format import ColumnFormat, Decimal, TableFormat, Text
from pipeline.files.text_column import Options, is_in
from pipeline.table.arrow_types import arrow_table

_WORDS = [mark for mark in MISSING if mark]
"""What stands for no value and may be meant."""


@dataclass(frozen=True)
class Sniffed:
    """A format, and the notes for the user about how it was guessed."""

    format: TableFormat
    notes: tuple[str, ...] = ()


def sniff(
    source: Any,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    missing: Collection[str] = (),
    keep: Collection[str] = (),
    day_first: bool | None = None,
    decimal: Decimal | None = None,
    labels: Collection[str] = (),
) -> Sniffed:
    """Guess how a table is written, as far as nothing is given.

    Words of CSV in `keep` are values where texts are, though `pandas.read_csv` drops them.
    `DataError` is raised if a file cannot be read, or if its values are ambiguous.

    >>> import pyarrow as pa
    >>> found = sniff(pa.table({"price": ["1.234,50 €", "7,00 €"]}))
    >>> found.format.columns["price"].decimal
    ','
    """
    of_file: dict[str, Any] = {}
    options, files, notes = Options(day_first, decimal, labels), [], []
    if isinstance(source, str | Path):
        sources = open_sources(Path(source), given=Given(encoding, delimiter, strip_names=True))
        encodings = (file.encoding for file in sources if file.encoding != "utf-8")
        of_file["encoding"] = next(encodings, "utf-8")
        if files := [file for file in sources if isinstance(file, CsvSource)]:
            cut = ("delimiter", "skip_rows", "strip_names")
            of_file |= {name: getattr(files[0], name) for name in cut}
            _check_alike(files)
        notes = [f"{file.path.name}: {note}" for file in sources for note in _notes(file)]
        written = [replace(file, raw=(*file.names,)) for file in files] or sources
        cells = read_cells_of(written, sources[0].names)
        options = replace(options, source=Path(source).name)
    else:
        cells = arrow_table(source)
    columns, more = sniff_columns(cells, replace(options, typed=not files), missing)
    if files:
        more += _judge_marks(cells, columns, {*keep}, {*missing}, labels)
    format = TableFormat(missing=tuple(missing), columns=columns, **of_file)
    return Sniffed(format, (*notes, *more))


def _check_alike(files: Sequence[CsvSource]) -> None:
    """Reject a folder of CSV files that are written in two ways, and name two of them."""
    first, *others = files
    marks = decimals_of(first.table(first.names)) if others else {}
    for file in others:
        ways = []
        if file.delimiter != first.delimiter:
            ways = [f"use the delimiters {first.delimiter!r} and {file.delimiter!r}"]
        for name, mark in decimals_of(file.table(file.names)).items() if not ways else ():
            if (known := marks.setdefault(name, mark)) != mark:
                ways.append(f"use the decimal marks {known!r} and {mark!r} in column {name!r}")
        if ways:
            raise DataError(
                f"{first.path.parent}: {first.path.name} and {file.path.name} {ways[0]}; write all "
                "files of a folder in the same way"
            )


def _judge_marks(
    cells: pa.Table,
    columns: dict[str, ColumnFormat],
    keep: set[str],
    missing: set[str],
    labels: Collection[str],
) -> list[str]:
    """Let words of texts that are to be kept be values; say of the others that they are missing."""
    notes = []
    for name in cells.column_names:
        words, format = cells[name].filter(is_in(cells[name], _WORDS)), columns.get(name)
        if not len(words) or not isinstance(format, Text | None):
            continue
        if format is None and infer(without(cells[name], MISSING)).type != pa.string():
            continue
        counts = pc.value_counts(words).to_pylist()
        marks = {each["values"]: each["counts"] for each in counts}
        if kept := tuple(mark for mark in marks if mark in keep):
            columns[name] = structs.replace(format or Text(), values=kept)
        open_marks = {m: n for m, n in marks.items() if m not in keep | missing}
        told = ", ".join(f"{m!r} ({n:,} values)" for m, n in open_marks.items())
        if told and name in labels:
            words = ",".join(open_marks)
            raise DataError(
                f"the target {name!r} holds {told}, which may be a class or a missing value; pass "
                f"--keep {quote(words)} to make it a class, or --missing {quote(words)} to drop "
                "these rows"
            )
        if told:
            notes.append(f"{name!r}: read as missing: {told}; to keep them as values, use --keep")
    return notes


def _notes(file: Source) -> Iterator[str]:
    """Say what may be meant otherwise."""
    yield from file.guesses
    if not isinstance(file, CsvSource):
        return
    if file.strip_names:
        yield "spaces around the column names are removed"
    if looks_like_data(file.names):
        names = ", ".join(map(repr, file.names[:5]))
        yield (
            f"the column names are read as {names}; if this is the first row of data, add a line "
            "of column names above it"
        )
    if len(file.names) == 1 and re.search(r"\S[\s:,;|]+\S", file.names[0]):
        yield (
            f"there is one column, {file.names[0]!r}; if there should be several, pass a delimiter "
            "(--delimiter), or read a fixed-width file with pandas.read_fwf"
        )
