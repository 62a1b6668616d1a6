"""What is said of a guess: how cells are read, what is missing, and what stayed text."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.data.arrow_types import Cells, is_number, usable
from pipeline.data.notations import NOUNS, Typed, matches, read_distinct
from pipeline.data.table_format import Date, Duration, Number, Time
from pipeline.data.text_column import PERHAPS, SAMPLE, TextColumn, holds, is_in
from pipeline.errors import DataError

_NAMED = 5
"""So many rows or cells are named in a sentence."""
_MOST = 0.5
_LOOKS = (
    (
        r"^\D{0,12}(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})(?:\D|$)|"
        r"^\d{1,2}[:h]\d\d(?:\D|$)|^(?:\pL{2,10}[.,]* )?\d{1,2}(?:\.|\pL{1,2})?[ -](?:de )?\pL{3,9}"
        r"\.?,?[ -](?:de )?\d{4}(?:\D|$)",
        "dates or times",
        "them",
        "pd.to_datetime({}, format='mixed', dayfirst=True)",
    ),
    (
        r"^[^\pL\d]{0,4}(?:\d{1,3}(?:[.,]\d{3})+|\d+)(?:[.,]\d+)?"
        r"(?:[^\d.-]\D{0,5}| ?[(\[±].{1,12})?$",
        "numbers",
        "their digits alone",
        r"pd.to_numeric({}.str.extract(r'([+-]?\d[\d.,]*)')[0])",
    ),
)
"""What a person may write as a date, a time, or a number with a note -> how pandas reads it."""


def say_rows(rows: list[int]) -> str:
    """Return rows as the subject of a sentence.

    >>> say_rows([5]), say_rows([5, 77])
    ('row 5 is', 'rows 5, 77 are')
    """
    if len(rows) == 1:
        return f"row {rows[0]} is"
    shown, more = ", ".join(map(str, rows[:_NAMED])), len(rows) - _NAMED
    return f"rows {shown}" + (f" and {more} more are" if more > 0 else " are")


def say_marks(column: TextColumn, marks: Collection[str]) -> tuple[str, ...]:
    """Say what is read as missing."""
    counted = {mark or "blank": column.count([mark]) for mark in marks}
    shown = ", ".join(f"{mark!r} ({_cells(n)})" for mark, n in counted.items())
    return (f"{column.name!r}: read as missing: {shown}",) if shown else ()


def _cells(n: int) -> str:
    return f"{n} cell" if n == 1 else f"{n} cells"


def say_strays(column: TextColumn, strays: pa.Array, format: Typed) -> str:
    """Say which cells do not fit, and are missing."""
    rows, n = column.rows(strays), int(column.counts.sum())
    shown = ", ".join(map(repr, strays.to_pylist()[:_NAMED]))
    return (
        f"{column.name!r}: {n - len(rows)} of {n} cells are {NOUNS[type(format)]}; "
        f"{say_rows(rows)} not ({shown}): read as missing"
    )


def say_read(column: TextColumn, values: pa.Array, format: Typed, why: str) -> Iterator[str]:
    """Say how the first cell is read that is not written plainly."""
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
    if isinstance(format, Number) and format.unit:
        n = int(column.counts[holds(column.words, r"^[\d.,' +-]+$").to_numpy(False)].sum())
        more += [f"{_cells(n)} without {format.unit!r}"] * (n > 0)
    if isinstance(format, Duration):
        shown += " seconds"
    if isinstance(format, Time):
        shown = shown.removeprefix("1970-01-01 ")
    if isinstance(format, Date):
        signs = format.format if isinstance(format.format, str) else " or ".join(format.format)
        more += ["years 00 to 68 are 2000 to 2068, 69 to 99 are 1969 to 1999"] * ("%y" in signs)
        more += ["a month, quarter or week is its first day"] * ("%d" not in signs)
        more += ["without an offset it is UTC"] * (0 < signs.count("%z") <= signs.count(" or "))
    said = f"{column.name!r} holds {NOUNS[type(format)]} such as {example!r}, read as {shown}"
    yield said + (f" ({'; '.join(more)})" if more else "")


def undecided(column: TextColumn, what: str, options: str) -> DataError:
    """Return the error of cells that have two readings."""
    return DataError(
        f"{column.options.source}: column {column.name!r} holds {what}, and its cells do not tell; "
        f"say which: {options}"
    )


def say_text(column: TextColumn) -> Iterator[str]:
    """Say which words may stand for no value."""
    for word in column.tidied.filter(is_in(pc.utf8_lower(column.tidied), PERHAPS)).to_pylist():
        yield (
            f"{column.name!r}: {word!r} ({_cells(column.count([word]))}) is kept as a value; "
            f"Text(missing=({word!r},)) for this column makes it missing"
        )


def say_unread(column: TextColumn) -> Iterator[str]:
    """Say that text looks like numbers or dates, and which line of pandas reads it."""
    if column.is_prose or not len(column.words):
        return
    (words, counts), table = column.sample, f"table[{column.name!r}]"
    for look, what, read, line in _LOOKS:
        looks = holds(words, look)
        if counts[looks.to_numpy(False)].sum() >= _MOST * counts.sum():
            example = words.filter(looks)[0].as_py()
            yield (
                f"{column.name!r} is text, though its cells look like {what}, such as {example!r}; "
                f"to read {read}, fit this line and write the file anew: "
                f"{table} = {line.format(table)}"
            )
            return


def caution_of_unusable(name: str, values: Cells) -> Iterator[str]:
    """Say of typed values that no model takes."""
    lost = pc.and_(usable(values).is_null(), values.is_valid())
    if rows := pc.indices_nonzero(lost).to_pylist():
        what = "infinite" if is_number(values.type) else "beyond the years 1678 to 2261"
        yield (
            f"{name!r} holds {values[rows[0]].as_py()}: {say_rows(rows)} {what} and read as missing"
        )
