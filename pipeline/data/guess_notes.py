"""What is said of a guess: how cells are read, what is missing, and what looks wrong."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.data.arrow_types import Cells, is_number, usable
from pipeline.data.guess_numbers import far_values, guess_numbers, units_of
from pipeline.data.notations import NOUNS, Typed, matches, read_distinct
from pipeline.data.table_format import Boolean, Date, Duration, Number, Text, Time
from pipeline.data.text_column import (
    PERHAPS,
    SAMPLE,
    STRAYS,
    Guess,
    TextColumn,
    are_seasons,
    count_bare,
    holds,
    is_in,
    is_scaled,
)
from pipeline.errors import DataError

_NAMED = 5
"""So many rows or cells are named in a sentence."""
MOST = 0.5
"""Share of cells from which on a guess is worth a word."""
_ORDINALS = {"st", "nd", "rd", "th"}
_BOUND = (
    r"^(?:[<>≤≥~≈]=?|(?i:over|under|above|below|at least|at most|up to|more than|less than|min|max|"
    r"about)\b|[Cc]a\b)[^\w-]{0,3}\d[\d.,' ]*\D{0,4}$|^\D{0,3}\d[\d.,' ]*(?:\+|[*†‡§]+|"
    r"(?:±|\+/-) ?\d[\d.,]*\D{0,4}|%? ?[(\[][^)\]]{1,12}[)\]])$"
)
"""What says that a number is a bound or has an error, a share or a footnote beside it."""
_MONTH = "(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])"
_DATE_LIKE = (
    r"(?i)^\D{0,12}(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})(?:\D|$)|"
    r"^\d{1,2}[:h]\d\d(?:\D|$)|^\d{1,2}[:.]?\d{0,2} ?(?:uhr|[ap]\.?m\.?)$|"
    r"^(?:\pL{2,10}[.,]* )?\d{1,2}(?:\.|e|er|st|nd|rd|th)?[ -](?:de )?\pL{3,9}\.?,?[ -](?:de )?"
    r"\d{4}(?:\D|$)|^(?:19|20)\d\d[ -]?[QWKHT]W?\d{1,2}$|"
    r"^(?:week|[QWKHT]W?) ?\d\d?,?[-/ ']+(?:19|20)?\d\d$|^\d[QHT] ?(?:19|20)?\d\d$|"
    rf"^\d\d?/(?:19|20)\d\d$|^\d\d?[-. ]*{_MONTH}\pL*$|^{_MONTH}\pL*[-. ]*(?:19|20)?\d\d?$"
)
"""What looks like a date or a time, as a person may write it."""


def say_rows(rows: list[int]) -> str:
    """Return rows as the subject of a sentence.

    >>> say_rows([5]), say_rows([5, 77])
    ('row 5 is', 'rows 5, 77 are')
    """
    if len(rows) == 1:
        return f"row {rows[0]} is"
    shown, more = ", ".join(map(str, rows[:_NAMED])), len(rows) - _NAMED
    return f"rows {shown}" + (f" and {more} more are" if more > 0 else " are")


def say_cells(n: int) -> str:
    """Return a number of cells in words."""
    return f"{n} cell" if n == 1 else f"{n} cells"


def say_marks(column: TextColumn, marks: Collection[str]) -> tuple[str, ...]:
    """Say what is read as missing."""
    shown = [f"{mark!r} ({say_cells(column.count([mark]))})" for mark in marks if mark]
    if "" in marks and (blank := column.count([""])):
        shown.append(f"blanks ({say_cells(blank)})")
    return (f"{column.name!r}: read as missing: {', '.join(shown)}",) if shown else ()


def say_strays(column: TextColumn, strays: pa.Array, format: Typed) -> str:
    """Say which cells do not fit, and what becomes of them."""
    rows, n = column.rows(strays), int(column.counts.sum())
    shown = ", ".join(map(repr, strays.to_pylist()[:_NAMED]))
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


def say_read(column: TextColumn, values: pa.Array, format: Typed, why: str) -> Iterator[str]:
    """Say how the first cell is read that is not written plainly."""
    if isinstance(format, Boolean):
        true, false = (", ".join(map(repr, each)) for each in (format.true, format.false))
        yield f"{column.name!r}: {true} is read as true, {false} as false"
        return
    cells, values = column.distinct[0][:SAMPLE], values[:SAMPLE]
    odd, more = values.is_valid(), [why] * bool(why)
    if isinstance(format, Number) and not column.options.typed:
        plain = matches(cells, r"[+-]?[\d.]+(?:[eE][+-]?\d+)?")
        alike = pc.equal(read_distinct(cells, Number())[0], values)
        odd = pc.and_(odd, pc.invert(pc.and_(plain, pc.fill_null(alike, False))))
    if not pc.any(odd).as_py():
        return
    example, value = cells.filter(odd)[0].as_py(), values.filter(odd)[0].as_py()
    shown = f"{value:.15g}" if isinstance(value, float) else f"{value}".removesuffix(" 00:00:00")
    if isinstance(format, Number):
        beside = "a multiplier" * format.scaled or repr(format.unit)
        n = count_bare(column) if format.scaled or format.unit else 0
        more += [f"{say_cells(n)} without {beside}"] * (n > 0)
    if isinstance(format, Duration):
        shown += " seconds"
    if isinstance(format, Time):
        shown = shown.removeprefix("1970-01-01 ")
    if isinstance(format, Date):
        signs = format.format if isinstance(format.format, str) else " or ".join(format.format)
        n, zones = signs.count(" or ") + 1, signs.count("%z")
        more += ["years 00 to 68 are 2000 to 2068, 69 to 99 are 1969 to 1999"] * ("%y" in signs)
        more += ["a month, quarter or week is its first day"] * ("%d" not in signs)
        more += ["without an offset it is UTC"] * (0 < zones < n)
    said = f"{column.name!r} holds {NOUNS[type(format)]} such as {example!r}, read as {shown}"
    yield said + (f" ({'; '.join(more)})" if more else "")


def undecided(column: TextColumn, what: str, options: str) -> DataError:
    """Return the error of cells that have two readings."""
    return DataError(
        f"{column.options.source}: column {column.name!r} holds {what}, and its cells do not tell; "
        f"say which: {options}"
    )


def undecided_mark(column: TextColumn, mark: str) -> DataError:
    """Return the error of marks that may be of decimals or of thousands."""
    example = column.words.filter(pc.match_substring(column.words, mark))[0].as_py()
    name = {",": "comma", ".": "point"}[mark]
    return undecided(
        column, f"numbers such as {example!r}, whose {name} may be one of decimals or of thousands",
        "--decimal , or --decimal . (in Python decimal=)",
    )  # fmt: skip


def caution_of_versions(column: TextColumn) -> Iterator[str]:
    """Say that 3.10 is 3.1, where other cells have one decimal."""
    words = column.words
    tens = words.filter(holds(words, r"\.[1-9]0$"))
    short = pc.any(holds(words, r"\.\d$")).as_py()
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
    column: TextColumn, same: Mapping[str, str], apart: list[tuple[str, str]],
    words: Collection[str], format: Text,
) -> Iterator[str]:  # fmt: skip
    """Say which words are read as one, and which may be meant as one or as none."""
    name = repr(column.name)
    if format.strip:
        yield (
            f'{name}: blanks around its words, signs one does not see, and ="" of a spreadsheet '
            "are left out"
        )
    shown = ", ".join(f"{a!r} as {b!r}" for a, b in [*same.items()][:_NAMED])
    if shown and format.same:
        more = f" and {len(same) - _NAMED} more" if len(same) > _NAMED else ""
        yield f"{name}: spellings of one value are read as one: {shown}{more}"
    elif shown:
        yield f"{name}: {len(same)} words may be spellings of another, kept apart: {shown}, …"
    for a, b in apart:
        yield (
            f"{name}: {a!r} and {b!r} are kept apart; Text(same={{{b!r}: {a!r}}}) for this column "
            "makes them one"
        )
    for word in (each for each in words if each.lower() in PERHAPS):
        yield (
            f"{name}: {word!r} ({say_cells(column.count([word]))}) is kept as a value; "
            f"Text(missing=({word!r},)) for this column makes it missing"
        )


def say_unread(column: TextColumn) -> tuple[str, ...]:
    """Say that text looks like numbers or dates, and which line of pandas reads it."""
    if column.is_prose or not column.has_digits or are_seasons(column.words):
        return ()
    words, counts = column.sample
    found = guess_numbers(words, counts, column.options.decimal)
    units = [unit for unit in pc.unique(units_of(words)).to_pylist() if unit != ""]
    units = [] if None in units else units
    known = 0 < len(units) <= _NAMED and (found.fits < 1 or is_scaled(column, found))
    bounds, dates = (holds(words, look).to_numpy(False) for look in (_BOUND, _DATE_LIKE))
    read = f"table[{column.name!r}]"
    if counts[dates].sum() >= MOST * counts.sum():
        what, looks = "dates or times", dates
        example = words.filter(pa.array(dates))[0].as_py()
        if names := dict.fromkeys(re.findall(r"[^\W\d_]{3,}", example), "…"):
            read += f".replace({names}, regex=True)"
        line = f"pd.to_datetime({read}, format='mixed', dayfirst=True)"
    elif counts[bounds].sum() > STRAYS * counts.sum():
        what, looks, line = "numbers with more beside them", bounds, _extracted(column, read, "")
    elif known and not _ORDINALS.issuperset(units):
        what, looks = f"numbers in {', '.join(map(repr, units))}", np.ones(len(words), bool)
        factors = f"{read}.str.extract(r'([^\\d\\s.,]+)$')[0].map({dict.fromkeys(units, '…')})"
        line = f"{_extracted(column, read, '')} * {factors}"
    elif found.fits >= MOST:
        what, looks = "numbers", np.ones(len(words), bool)
        line = _extracted(column, read, ", errors='coerce'")
    else:
        return ()
    shown = words.filter(pa.array(looks))
    example = shown.filter(holds(shown, r"\d"))[0].as_py()
    return (
        f"{column.name!r} is text, though its cells look like {what}, such as {example!r}; to read "
        f"them, fit this line to them and write the file anew: table[{column.name!r}] = {line}",
    )


def _extracted(column: TextColumn, read: str, errors: str) -> str:
    """Return the code that takes numbers out of cells."""
    words, counts = column.sample
    digits = pc.struct_field(pc.extract_regex(words, r"(?P<n>[+-]?\d[\d.,']*)"), "n")
    there = digits.is_valid()
    found = guess_numbers(digits.filter(there), counts[there.to_numpy(False)]).format
    read += r".str.extract(r'([+-]?\d[\d.,]*)')[0]"
    for mark, meant in ((found.thousands, ""), (found.decimal, ".")):
        read += f".str.replace({mark!r}, {meant!r})" if mark and mark != meant else ""
    return f"pd.to_numeric({read}{errors})"


def caution_of_unusable(name: str, values: Cells) -> Iterator[str]:
    """Say of typed values that no model takes."""
    lost = pc.and_(usable(values).is_null(), values.is_valid())
    if rows := pc.indices_nonzero(lost).to_pylist():
        what = "infinite" if is_number(values.type) else "beyond the years 1678 to 2261"
        yield (
            f"{name!r} holds {values[rows[0]].as_py()}: {say_rows(rows)} {what} and read as missing"
        )


def caution_of_names(columns: list[TextColumn], guesses: list[Guess]) -> list[str]:
    """Say of rows that hold the names again, and of a first one that is names or units."""
    held = sum(pc.equal(c.cells, c.name).fill_null(False).to_numpy() for c in columns)
    again = np.flatnonzero(2 * np.asarray(held) > max(len(columns), 2)).tolist()
    notes = []
    if again:
        more = f" and {len(again) - 1} more" * (len(again) > 1)
        notes = [f"row {again[0]}{more}: the names of the columns again; delete what is no row"]
    firsts = (c.cells[0].as_py() for c, g in zip(columns, guesses, strict=True) if _is_odd(c, g))
    if 0 not in again and (first := next(firsts, None)):
        notes.append(
            f"row 0, the first, looks like units or more names, as {first!r} shows: delete it in "
            "the file if it is"
        )
    return notes


def _is_odd(column: TextColumn, guess: Guess) -> bool:
    """Whether the first cell is the only one that is not of the kind of the others."""
    if guess.values is None or not len(column.cells) or not column.cells[0].is_valid:
        return False
    marks = is_in(column.tidied, column.marks)
    strays = column.distinct[0].filter(pc.and_not(guess.values.is_null(), marks))
    return strays.equals(pa.array([column.cells[0].as_py()])) and len(column.rows(strays)) == 1
