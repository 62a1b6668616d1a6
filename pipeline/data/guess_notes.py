"""What is said of the guess of a column: sentences that name cells and rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.data.cells import NOUNS, Typed, convert_cells, read_distinct, without_marks
from pipeline.data.guess_dates import Order
from pipeline.data.guess_numbers import NumberGuess, far_values, scales
from pipeline.data.guess_words import Spellings, may_stand_for_none
from pipeline.data.table_format import Date, Number, Text
from pipeline.data.text_column import NAMED, SAMPLE, TextColumn, say_cells, say_rows
from pipeline.errors import DataError


def say_strays(column: TextColumn, strays: pa.Array, format: Typed) -> str:
    """Say which cells do not fit, and what becomes of them."""
    rows, n = column.rows(strays), int(column.counts.sum())
    shown = ", ".join(map(repr, strays.to_pylist()[:NAMED]))
    said = (
        f"{column.name!r}: {n - len(rows)} of {n} cells are {NOUNS[type(format)]}; "
        f"{say_rows(rows)} not ({shown})"
    )
    if column.options.stray == "error":
        raise DataError(
            f"{column.options.source}: {said}; correct the file, or read such cells as missing "
            "(--stray missing, in Python stray='missing')"
        )
    return f"{said}: read as missing"


def say_dates(column: TextColumn, formats: tuple[str, ...], why: str) -> str:
    """Say by which formats dates are read, and why."""
    example, more = column.example, [why] * bool(why)
    first = convert_cells(pa.array([example]), Date(format=formats))[0].as_py()
    # A quarter, as 2018Q3, is none of the signs of `strptime`.
    period = "%b" in formats[0] and not re.search(r"[^\W\d_]{3}", example) and first
    shown = f"{first:%Y-%m-%d}" if period else " or ".join(formats)
    more += ["years 00 to 68 are 2000 to 2068, 69 to 99 are 1969 to 1999"] * ("%y" in shown)
    more += ["a month, quarter or week is its first day"] * ("%d" not in shown)
    zones = {"%z" in each for each in formats}
    more += ["without an offset it is UTC"] * (len(zones) > 1)
    behind = f" ({'; '.join(more)})" if more else ""
    return f"{column.name!r} holds dates such as {example!r}, read as {shown}{behind}"


def undecided(column: TextColumn, order: Order) -> DataError:
    """Return the error of dates whose day and month cannot be told apart."""
    return DataError(
        f"{column.options.source}: column {column.name!r} holds dates such as {order.example!r}, "
        "in which the day or the month may come first, and its cells do not tell; say which: "
        "--dates day-first or --dates month-first (in Python day_first=True or False)"
    )


def undecided_mark(column: TextColumn) -> DataError:
    """Return the error of commas that may be of decimals or of thousands."""
    return DataError(
        f"{column.options.source}: column {column.name!r} holds numbers such as "
        f"{column.words.filter(pc.match_substring(column.words, ','))[0].as_py()!r}; semicolons "
        "between the cells speak for commas of decimals, and its other cells for thousands; say "
        "which: --decimal , or --decimal ."
    )


def count_bare(column: TextColumn) -> int:
    """Return how many cells are numbers without a unit."""
    bare = pc.match_substring_regex(column.words, r"^[\d.,' +-]+$").to_numpy(False)
    return int(column.counts[bare].sum())


def say_numbers(column: TextColumn, found: NumberGuess, values: pa.Array) -> str:
    """Return what to say of numbers that are not written plainly."""
    cells = column.distinct[0][:SAMPLE]
    values = values[:SAMPLE]
    plain = pc.match_substring_regex(cells, r"^[+-]?[\d.]+(?:[eE][+-]?\d+)?$")
    alike = pc.equal(read_distinct(cells, Number())[0], values)
    odd = pc.and_(values.is_valid(), pc.invert(pc.and_(plain, pc.fill_null(alike, False))))
    if not pc.any(odd).as_py():
        return ""
    example, value = cells.filter(odd)[0].as_py(), values.filter(odd)[0].as_py()
    said = f"{column.name!r} holds numbers such as {example!r}, read as {value:.15g}"
    by = ", as asked or as other columns say" if found.open and column.options.decimal else ""
    return said + by


def say_open(column: TextColumn, format: Number) -> str:
    """Say that a mark may be one of thousands or of decimals."""
    if column.options.decimal or not column.last:
        return ""
    if format.decimal == ",":
        return (
            f"{column.name!r}: its comma is read as one of decimals, as semicolons part the cells; "
            "--decimal . reads it as one of thousands"
        )
    mark, read = ("comma", "thousands") if format.thousands else ("point", "decimals")
    return (
        f"{column.name!r}: no cell tells whether its {mark} is one of thousands or of decimals; "
        f"one of {read} is a guess, and --decimal , reads it the other way"
    )


def say_marked(column: TextColumn, format: Number) -> Iterator[str]:
    """Say what is left out of cells, and what their multipliers are."""
    unmarked = without_marks(column.words)
    odd = pc.not_equal(unmarked, column.words)
    if format.marked:
        n = int(column.counts[odd.to_numpy(False)].sum())
        example = column.words.filter(odd)[0].as_py()
        yield (
            f"{column.name!r}: {say_cells(n)} such as {example!r} with a mark of a footnote or of "
            "about, which is left out"
        )
    if format.scaled:
        found = scales(unmarked)
        names = pc.unique(found.drop_null())
        cells = unmarked.take(pc.index_in(names, value_set=found))
        values = read_distinct(cells, format)[0].to_pylist()
        shown = ", ".join(
            f"{a!r} is {b:,.15g}" for a, b in zip(cells.to_pylist(), values, strict=True)
        )
        bare = f"; {say_cells(n)} without one" if (n := count_bare(column)) else ""
        yield f"{column.name!r}: {names.to_pylist()} are read as multipliers: {shown}{bare}"


def say_unit(column: TextColumn, found: NumberGuess) -> str:
    """Say that some cells lack the unit of the others."""
    unit = found.format.unit
    n = count_bare(column)
    return f"{column.name!r}: {say_cells(n)} without {unit!r}, read alike" if unit and n else ""


def caution_of_versions(column: TextColumn) -> Iterator[str]:
    """Say that 3.10 is 3.1, where other cells have one decimal."""
    words = column.words
    tens = words.filter(pc.match_substring_regex(words, r"\.[1-9]0$"))
    short = pc.any(pc.match_substring_regex(words, r"\.\d$")).as_py()
    if len(tens) and short and column.all_look(r"\d{1,2}(?:\.\d\d?)?"):
        yield (
            f"{column.name!r}: {tens[0].as_py()!r} is read as {float(tens[0].as_py()):g}; if its "
            "cells are versions or sections, Text() for this column keeps them apart"
        )


def caution_of_values(column: TextColumn, values: pa.Array) -> tuple[str, ...]:
    """Say of infinite numbers, and of those that may stand for none."""
    notes, (cells, counts) = [], column.distinct
    if pa.types.is_floating(values.type) and pc.any(infinite := pc.is_inf(values)).as_py():
        rows = column.rows(cells.filter(infinite))
        said = f"{column.name!r} holds infinite numbers: {say_rows(rows)} infinite"
        notes.append(f"{said} and read as missing")
    if len(spelled := cells.filter(far_values(values, counts))):
        kind = "Date(…, " if pa.types.is_temporal(values.type) else "Number("
        notes.append(
            f"{column.name!r} holds {', '.join(spelled.to_pylist())} in "
            f"{len(column.rows(spelled))} rows, apart from all other values; if it stands for a "
            f"missing value, write {kind}missing={tuple(spelled.to_pylist())}) for this column"
        )
    return tuple(notes)


def say_spellings(
    column: TextColumn, found: Spellings, words: Collection[str], format: Text
) -> Iterator[str]:
    """Say which words are read as one, and which may be meant as one or as none."""
    name, same = repr(column.name), found.same
    if format.strip:
        yield (
            f'{name}: blanks around its words, signs one does not see, and ="" of a spreadsheet '
            "are left out"
        )
    shown = ", ".join(f"{a!r} as {b!r}" for a, b in [*same.items()][:NAMED])
    if shown and format.same:
        more = f" and {len(same) - NAMED} more" if len(same) > NAMED else ""
        yield f"{name}: spellings of one value are read as one: {shown}{more}"
    elif shown:
        yield f"{name}: {len(same)} words may be spellings of another, kept apart: {shown}, …"
    for a, b in found.apart:
        yield (
            f"{name}: {a!r} and {b!r} are kept apart; Text(same={{{b!r}: {a!r}}}) for this column "
            "makes them one"
        )
    for word in filter(may_stand_for_none, words):
        yield (
            f"{name}: {word!r} ({say_cells(column.count([word]))}) is kept as a value; "
            f"Text(missing=({word!r},)) for this column makes it missing"
        )
