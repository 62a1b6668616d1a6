"""Guesses of what the cells of one column stand for, and sentences that say so."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import structs

from pipeline.data import guess_dates
from pipeline.data.arrow_types import is_number
from pipeline.data.cells import Typed, read_distinct, strip
from pipeline.data.csv import infer
from pipeline.data.guess_dates import Order
from pipeline.data.guess_notes import (
    caution_of_values,
    caution_of_versions,
    count_bare,
    say_dates,
    say_marked,
    say_numbers,
    say_open,
    say_spellings,
    say_strays,
    say_unit,
    undecided,
    undecided_mark,
)
from pipeline.data.guess_numbers import Decimal, NumberGuess, guess_numbers, guess_units
from pipeline.data.guess_words import (
    denies,
    guess_boolean,
    guess_spellings,
    may_stand_for_none,
    stands_for_none,
)
from pipeline.data.table_format import Boolean, ColumnFormat, Date, Duration, Number, Text, Time
from pipeline.data.text_column import NAMED, SAMPLE, TextColumn, say_cells, say_marks

_EXACT = 2**53
_STRAYS = 0.05
"""Share of the cells of a column of numbers or dates that may be something else."""
_MOST = 0.5
"""Share of cells from which on a guess is worth a word."""
_MANY = 20
"""So many different numbers are no dates by chance; and so many words are no truth values."""
_CATEGORIES = 10_000
"""So many different texts have spellings that are compared, at most."""
_SPELLINGS = 200
"""So many of them are read as others, at most."""
_BLANK = {"", "-", "--", "–", "—"}
"""What stands beside a mark, and says that there is none."""
_ID = re.compile(r"(^|[^A-Za-z])(?i:id|uuid|guid)$|[a-z](Id|ID)$")
_CODE = re.compile(
    r"(?i)(^|[^a-z])(phone|telephone|tel|fax|zip|zip[ _-]?code|postcode|postal[ _-]?code|plz|iban|"
    r"isbn|ean|ssn|sku|barcode)([ _-]?(number|no|nr))?$"
)
_FACTORS = {"k", "m", "b"}
"""Units that may be multipliers."""
_BOUND = (
    r"(?i)^(?:[<>≤≥]=?|(?:over|under|above|below|at least|at most|up to|more than|less than|"
    r"min|max|bis|ab|über|unter|mehr als|weniger als|plus de|moins de)\b\.?)[^\w-]{0,3}\d[\d.,' ]*"
    r"\D{0,4}$|^\D{0,3}\d[\d.,' ]*(?:\+|(?:±|\+/-) ?\d[\d.,]*\D{0,4}|"
    r"%? ?[(\[]\D{0,2}[\d.,]+%?(?:\D{1,3}[\d.,]+%?)?[)\]])$"
)
"""What says that a number is a bound, how far off it may be, or which share it is."""
_ORDINALS = {"st", "nd", "rd", "th"}
_DATED = re.compile(
    r"(?i)(^|[^a-z])(date|datum|day|dt|dob|month|monat|period)([^a-z]|$)|[a-z]Date$"
)


class Guess(NamedTuple):
    """What a column is thought to be.

    Parameters
    ----------
    format : ColumnFormat or None
        None where the rules of `pandas.read_csv` do.
    notes : tuple of str
    values : pyarrow array
        Of the distinct cells, if they are of a format or are plain numbers.
    decimal : {".", ","} or None
        What is surely the mark of its decimals.
    order : Order or None
        What speaks for an order of day and month.
    open : bool
        Whether another column may help to decide.
    """

    format: ColumnFormat | None = None
    notes: tuple[str, ...] = ()
    values: pa.Array | None = None
    decimal: Decimal | None = None
    order: Order | None = None
    open: bool = False


def guess_column(column: TextColumn) -> Guess:
    """Return what the cells of a column stand for."""
    kind = column.plain.type
    if is_number(kind):
        integers = pa.types.is_integer(kind)
        return _first(_OF_INTEGERS if integers else _OF_FLOATS, column) or _plain_numbers(column)
    if pa.types.is_boolean(kind):
        return _as_flag(column) or Guess()
    if pa.types.is_timestamp(kind):
        return Guess(None, caution_of_values(column, infer(column.distinct[0])))
    if not pa.types.is_string(kind):
        return Guess()
    if column.is_prose or not len(column.words):
        return _as_text(column)
    return _first(_OF_TEXTS if column.has_digits else _OF_WORDS, column) or _as_text(column)


def _first(rules: tuple[_Rule, ...], column: TextColumn) -> Guess | None:
    found = (rule(column) for rule in rules)
    return next((each for each in found if each), None)


def _fit(
    column: TextColumn, format: Typed, said: str = "", *, strays: float = _STRAYS
) -> Guess | None:
    """Return a guess if nearly all cells fit a format, with what to say of the others."""
    raw, counts = column.distinct
    format = structs.replace(format, missing=tuple(filter(None, column.marks)))
    values, stray = read_distinct(raw, format)
    stray = stray.to_numpy(False)
    n = int(counts[stray].sum())
    if n > strays * column.counts.sum():
        return None
    notes = [said] * bool(said)
    if n:
        notes.append(say_strays(column, raw.filter(pa.array(stray)), format))
        format = structs.replace(format, stray="missing")
    return Guess(format, (*notes, *say_marks(column, column.marks)), values)


def _as_flag(column: TextColumn) -> Guess | None:
    """Guess that one mark is true, and nothing is false."""
    if len(column.distinct[0]) > SAMPLE:
        return None
    gaps = column.cells.null_count + column.count(column.marks)
    one = len(pc.unique(pc.utf8_lower(column.words))) == 1
    if not gaps or not one or not {*column.marks} <= _BLANK or column.words[0].as_py() == "+":
        return None
    word = column.words[0].as_py()
    said = f"{column.name!r}: {word!r} ({say_cells(int(column.counts.sum()))}) is read as"
    if denies(word):
        return Guess(Text(empty=True), (f"{said} one value, no value as another",))
    blank = tuple({"": 0, **dict.fromkeys(column.marks)})
    return Guess(Boolean(true=(word,), false=blank), (f"{said} true, no value as false",))


def _as_boolean(column: TextColumn) -> Guess | None:
    doubtful = [each for each in column.marks if each not in _BLANK and may_stand_for_none(each)]
    words = [*column.words.to_pylist(), *doubtful] if len(column.words) < _MANY else []
    format = None if column.is_label else guess_boolean(words)
    if not format:
        return None
    true, false = (", ".join(map(repr, each)) for each in (format.true, format.false))
    return _fit(column, format, f"{column.name!r}: {true} is read as true, {false} as false")


def _as_code(column: TextColumn) -> Guess | None:
    """Guess that digits name something."""
    digits = pc.match_substring_regex(column.words, r"^-?\d+$")
    if column.counts[digits.to_numpy(False)].sum() < (1 - _STRAYS) * column.counts.sum():
        return None
    if not (why := _why_code(column, column.words.filter(digits))):
        return None
    notes = f"{column.name!r} {why}: read as text", *say_marks(column, column.marks)
    cells = column.distinct[0]
    return Guess(Text(missing=column.marks, strip=not cells.equals(strip(cells))), notes)


def _why_code(column: TextColumn, digits: pa.Array) -> str:
    least = 1 if column.is_label else 2
    zeros = digits.filter(pc.match_substring_regex(digits, rf"^0\d{{{least},}}$"))
    if len(zeros):
        return f"holds codes with leading zeros, such as {zeros[0].as_py()!r}"
    if column.is_label:
        return ""
    if _ID.search(column.name) or _CODE.search(column.name):
        return "holds numbers that name something, as its name says"
    longest = digits.filter(pc.greater_equal(pc.utf8_length(digits), 16)).to_pylist()
    big = next((each for each in longest if abs(int(each)) > _EXACT), "")
    return f"holds whole numbers such as {big}, which float64 would round" if big else ""


def _as_dates(column: TextColumn) -> Guess | None:
    """Guess dates or times of day."""
    if not guess_dates.forms(*column.sample):
        return None
    found = guess_dates.forms(column.words, column.counts)
    times = [form for form in found if guess_dates.is_clock(next(iter(form.formats.values())))]
    if times:
        return _as_times(column, guess_dates.choose_formats(column.words, times, "d"))
    if not found or guess_dates.are_seasons(column.words):
        return None
    order = guess_dates.weigh(column.words, column.counts, found)
    first, why = _choose_order(column, order)
    formats = guess_dates.choose_formats(column.words, found, first or "d")
    if any(each.startswith("%y") for each in formats):
        first, why = "y", "year first, which changes least"
    said = say_dates(column, formats, why)
    guess = _fit(column, Date(format=_one(formats)), said) if formats else None
    if guess and not first and column.last:
        raise undecided(column, order)
    if not guess:
        return None
    notes = (*guess.notes, *caution_of_values(column, guess.values))
    return guess._replace(notes=notes, order=order, open=not first)


def _one(formats: tuple[str, ...]) -> str | tuple[str, ...]:
    return formats[0] if len(formats) == 1 else formats


def _choose_order(column: TextColumn, order: Order) -> tuple[str, str]:
    """Return ``"d"`` or ``"m"`` for what comes first, or ``""``, and why."""
    names = {True: "day first", False: "month first"}
    told, asked = order.tells_day_first, column.options.day_first
    if told is not None:
        return names[told][0], f"{names[told]}, as {order.example!r} shows"
    if not (order.open or order.day_first or order.month_first):
        same = "day first, which no cell tells: all days are those of their month"
        return "d", same if order.example else ""
    if asked is not None:
        return names[asked][0], f"{names[asked]}, as asked or as other columns show"
    return ("d", "day first, as is usual with points") if order.dotted else ("", "")


def _as_times(column: TextColumn, formats: tuple[str, ...]) -> Guess | None:
    example = f"such as {column.example!r}"
    said = f"{column.name!r} holds lengths of time {example}, read as seconds"
    lengths = _fit(column, Duration(), said, strays=0.0)
    if lengths and (not formats or guess_dates.is_length(column.name)):
        return lengths
    times = f"{column.name!r} holds times of day {example}"
    format = Time(format=_one(formats))
    exact = _fit(column, format, times, strays=0.0)
    return exact or lengths or _fit(column, format, times)


def _as_durations(column: TextColumn) -> Guess | None:
    if not guess_dates.are_durations(column.sample[0]):
        return None
    example = column.example
    said = f"{column.name!r} holds lengths of time such as {example!r}, read as seconds"
    return _fit(column, Duration(), said)


def _as_plain_numbers(column: TextColumn) -> Guess | None:
    """Guess numbers where a table has text: whole ones may be codes, and stay."""
    if not column.options.typed or not is_number(kind := infer(column.distinct[0]).type):
        return None
    example = f"{column.name!r} is text that holds numbers, such as {column.example!r}"
    if not pa.types.is_integer(kind):
        return _fit(column, Number(), f"{example}: read as numbers")
    way = "kept as text; Number() for this column reads numbers"
    return Guess(None, (f"{example}: {way}",))


def _as_numbers(column: TextColumn) -> Guess | None:
    if guess_numbers(*column.sample).fits < _MOST:
        return None
    found = guess_numbers(column.words, column.counts, column.options.decimal)
    found = _by_delimiter(column, found)
    guess = _fit(column, found.format) if found.fits >= 1 - _STRAYS else None
    if not guess or _is_scaled(column, found):
        return None
    said = [say_numbers(column, found, guess.values), say_unit(column, found)]
    said += [*say_marked(column, found.format), *guess.notes]
    said += [say_open(column, found.format)] * found.open
    tells = not found.open and (found.format.thousands or _has_decimals(guess.values))
    return guess._replace(
        notes=(*filter(None, said), *caution_of_values(column, guess.values)),
        decimal=found.format.decimal if tells else None,
        open=found.open and column.options.decimal is None,
    )


def _by_delimiter(column: TextColumn, found: NumberGuess) -> NumberGuess:
    """Return commas as those of decimals where semicolons part the cells, if that fits as well.

    Raises
    ------
    DataError
        The cells speak for thousands, and only the delimiter for decimals.
    """
    if column.options.decimal or column.options.delimiter != ";" or found.format.thousands != ",":
        return found
    other = guess_numbers(column.words, column.counts, ",")
    if other.format.decimal != "," or other.fits < found.fits:
        return found
    if column.last and not found.open:
        raise undecided_mark(column)
    return other._replace(open=True)


def _is_scaled(column: TextColumn, found: NumberGuess) -> bool:
    """Return whether a unit such as k or mil makes some cells a thousand times what they say."""
    unit = found.format.unit
    if found.format.scaled and unit.isalpha():
        return not column.all_look(rf"(?:.*\PL)?{unit}(?:\PL.*)?")
    return unit.lower() in _FACTORS and count_bare(column) > 0


def _has_decimals(values: pa.Array) -> bool:
    if pa.types.is_integer(values.type):
        return False
    return bool(pc.any(pc.not_equal(values, pc.trunc(values))).as_py())


def _plain_numbers(column: TextColumn) -> Guess:
    """Say what may be wrong about numbers that the plain rules read."""
    values = column.plain
    point: Decimal | None = "." if _has_decimals(values) else None
    notes = *caution_of_versions(column), *caution_of_values(column, values)
    return Guess(None, notes, values, decimal=point)


def _as_days(column: TextColumn) -> Guess | None:
    """Guess that numbers such as 20180201, 201802 or 02.2018 are dates."""
    looks = {look: f for look, f in guess_dates.NUMBERS.items() if column.all_look(look)}
    if column.is_label or not looks:
        return None
    format = Date(format=next(iter(looks.values())))
    days = read_distinct(column.words, format)[0].drop_null()
    years = pc.year(days).to_pylist()
    if len(years) < len(column.words) or not all(1900 <= each <= 2100 for each in years):
        return None
    if len(years) < _MANY and not _DATED.search(column.name):
        return None
    return _fit(column, format, say_dates(column, (str(format.format),), ""))


def _as_thousands(column: TextColumn) -> Guess | None:
    """Guess that all points are of thousands, in a table in which commas are of decimals."""
    pointed = pc.match_substring_regex(column.words, r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$")
    small = pc.match_substring_regex(column.words, r"^[+-]?\d{1,3}$")
    if not pc.all(pc.or_(pointed, small)).as_py() or not pc.any(pointed).as_py():
        return None
    if column.options.decimal == ",":
        return _as_numbers(column)
    guess = _plain_numbers(column)._replace(decimal=None, open=not column.last)
    said = (say_open(column, Number()),)
    return guess._replace(notes=(*filter(None, said), *guess.notes))


def _as_text(column: TextColumn) -> Guess:
    """Guess the marks of missing values among words, and spellings that are one value."""
    marks = tuple(each for each in column.marks if stands_for_none(each, among_words=True))
    kept = pc.invert(pc.is_in(column.tidied, value_set=pa.array(marks, pa.string())))
    cells, counts = column.distinct[0].filter(kept), column.distinct[1][kept.to_numpy(False)]
    format, notes = Text(missing=marks), say_marks(column, marks)
    if len(cells) <= min(_CATEGORIES, counts.sum() / 2):
        words = strip(cells)
        weights: Counter[str] = Counter()
        for word, n in zip(words.to_pylist(), counts.tolist(), strict=True):
            weights[word] += n
        found = guess_spellings(weights)
        same = found.same if len(found.same) <= _SPELLINGS else {}
        format = structs.replace(format, same=same, strip=not cells.equals(words))
        notes = (*notes, *say_spellings(column, found, weights, format))
    notes += _say_mostly(column)
    return Guess(format if format != Text() else None, notes)


def _say_mostly(column: TextColumn) -> tuple[str, ...]:
    """Say that a column is text though most of its cells are numbers or dates."""
    if column.is_prose or not column.has_digits or guess_dates.are_seasons(column.words):
        return ()
    words, counts = column.sample
    bounds = pc.match_substring_regex(words, _BOUND).to_numpy(False)
    if counts[bounds].sum() > _STRAYS * counts.sum():
        example = words.filter(pa.array(bounds))[0].as_py()
        return (
            f"{column.name!r} holds bounds, errors or shares such as {example!r}, which are no one "
            "number: read as text; write a number or nothing in their place",
        )
    found = guess_numbers(words, counts, column.options.decimal)
    units = [unit for unit in guess_units(words) if unit]
    odd = found.fits < 1 or _is_scaled(column, found)
    if 0 < len(units) <= NAMED and odd and not _ORDINALS.issuperset(units):
        shown = ", ".join(map(repr, units))
        return (
            f"{column.name!r} holds numbers with {shown} beside them, which are read as text: "
            "write all in one unit, or without",
        )
    share = guess_dates.share_of_dates(words, counts)
    what = "dates or times" if share >= _MOST else "numbers" if found.fits >= _MOST else ""
    if not what:
        return ()
    example, out = column.example, "1234.5" if what == "numbers" else "2018-02-01 10:30"
    return (
        f"{column.name!r}: most cells look like {what}, such as {example!r}, but too many are in "
        f"no form that is known: read as text; write them as {out}",
    )


_Rule: TypeAlias = Callable[[TextColumn], Guess | None]
_OF_TEXTS: tuple[_Rule, ...] = (
    _as_code,
    _as_boolean,
    _as_dates,
    _as_durations,
    _as_plain_numbers,
    _as_numbers,
    _as_flag,
)
_OF_WORDS: tuple[_Rule, ...] = (_as_boolean, _as_flag)
_OF_INTEGERS: tuple[_Rule, ...] = (_as_flag, _as_code, _as_days)
_OF_FLOATS: tuple[_Rule, ...] = (_as_flag, _as_days, _as_thousands)
