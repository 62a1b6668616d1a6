"""Guesses of what the cells of a table stand for, as a format that one can read and change.

Each column is judged by all of its cells. What the rules of `pandas.read_csv` read well needs no
format; each guess is told in a sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import structs

from pipeline.data import guess_dates
from pipeline.data.cells import (
    NOUNS,
    Cells,
    Typed,
    as_text,
    is_number,
    is_text,
    read_distinct,
    strip,
    tidy,
)
from pipeline.data.csv import MISSING, infer
from pipeline.data.guess_dates import Order
from pipeline.data.guess_numbers import Decimal, Numbers, far_value, guess_numbers, guess_units
from pipeline.data.guess_words import (
    Spellings,
    guess_boolean,
    guess_spellings,
    may_stand_for_none,
    stands_for_none,
)
from pipeline.data.table_format import Boolean, ColumnFormat, Date, Duration, Number, Text, Time
from pipeline.errors import DataError

Stray = Literal["missing", "error"]
_EXACT = 2**53
_STRAYS = 0.05
"""Share of the cells of a column of numbers or dates that may be something else."""
_CATEGORIES = 10_000
"""So many different texts have spellings that are compared, at most."""
_SPELLINGS = 200
"""So many of them are read as others, at most."""
_BLANK = {"", "-", "--", "–", "—"}
"""What stands beside a mark, and says that there is none."""
_NAMED = 5
"""So many rows or cells are named in a sentence."""
_MARK = 16
"""No mark of a missing value has as many characters."""
_LONG = 45
"""Characters beyond which cells are prose, on average."""
_SAMPLE = 1000
"""So many cells tell which guesses are worth a look at all cells."""
_ROWS = 5
"""Rows from which on the last may be the sum of the others."""
_ID = re.compile(r"(^|[^A-Za-z])(?i:id|uuid|guid)$|[a-z](Id|ID)$")
_CODE = re.compile(
    r"(?i)(^|[^a-z])(phone|telephone|tel|fax|zip|zip[ _-]?code|postcode|postal[ _-]?code|plz|iban|"
    r"isbn|ean|ssn|sku|barcode)([ _-]?(number|no|nr))?$"
)
_DATED = re.compile(r"(?i)(^|[^a-z])(date|datum|day|dt|dob)([^a-z]|$)|[a-z]Date$")
_TOTAL = re.compile(r"(?i)(grand[ _-]?)?(total|totals|sum|gesamt|summe|insgesamt|somme|suma)\b.*")


@dataclass(frozen=True)
class _Options:
    """What was asked for, or is known of the whole table."""

    day_first: bool | None
    decimal: Decimal | None
    stray: Stray
    labels: Collection[str]
    source: str


@dataclass(frozen=True)
class _Column:
    """A column of cells of text, null where there is no value.

    Parameters
    ----------
    name : str
    cells : pyarrow array
    options : _Options
    last : bool
        Whether all is known that other columns tell.
    """

    name: str
    cells: Cells
    options: _Options
    last: bool = False

    @cached_property
    def plain(self) -> Cells:
        """The values by the rules of `pandas.read_csv`."""
        return infer(self.cells)

    @cached_property
    def distinct(self) -> tuple[pa.Array, np.ndarray]:
        """The distinct cells, and how many there are of each."""
        found = pc.value_counts(self.cells.drop_null())
        return found.field("values"), found.field("counts").to_numpy()

    @cached_property
    def is_prose(self) -> bool:
        """Whether the cells are too long for anything but text."""
        cells = self.distinct[0]
        return len(cells) > 0 and pc.mean(pc.utf8_length(cells)).as_py() > _LONG

    @cached_property
    def tidied(self) -> pa.Array:
        """The distinct cells, tidy if that may matter."""
        return self.distinct[0] if self.is_prose else tidy(self.distinct[0])

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """The tidy cells that stand for no value, among numbers or dates."""
        short = self.tidied.filter(pc.less(pc.utf8_length(self.tidied), _MARK)).to_pylist()
        found = (each for each in short if stands_for_none(each, among_words=False))
        return tuple(dict.fromkeys(found))

    @cached_property
    def _values(self) -> tuple[pa.Array, np.ndarray]:
        marks = pa.array(self.marks, pa.string())
        kept = pc.invert(pc.is_in(self.tidied, value_set=marks))
        return self.tidied.filter(kept), self.distinct[1][kept.to_numpy(False)]

    @property
    def words(self) -> pa.Array:
        """The tidy cells that stand for values."""
        return self._values[0]

    @property
    def counts(self) -> np.ndarray:
        """How many there are of each of `words`."""
        return self._values[1]

    @cached_property
    def sample(self) -> tuple[pa.Array, np.ndarray]:
        """The most frequent of `words` and some others, with their `counts`."""
        n = len(self.words)
        if n <= 2 * _SAMPLE:
            return self._values
        often = np.argpartition(-self.counts, _SAMPLE)[:_SAMPLE]
        some = np.unique(np.append(often, np.linspace(0, n - 1, _SAMPLE, dtype=int)))
        return self.words.take(pa.array(some)), self.counts[some]

    @property
    def is_label(self) -> bool:
        """Whether the values are names of classes."""
        return self.name in self.options.labels

    def rows(self, cells: pa.Array) -> list[int]:
        """Return the rows that hold one of some cells."""
        rows: list[int] = pc.indices_nonzero(pc.is_in(self.cells, value_set=cells)).to_pylist()
        return rows

    def count(self, words: Collection[str]) -> int:
        """Return how many cells are one of some tidy words."""
        found = pc.is_in(self.tidied, value_set=pa.array(list(words), pa.string()))
        return int(self.distinct[1][found.to_numpy(False)].sum())


class _Guess(NamedTuple):
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


def sniff_columns(
    table: pa.Table,
    *,
    missing: Collection[str] = (),
    day_first: bool | None = None,
    decimal: Decimal | None = None,
    stray: Stray = "missing",
    labels: Collection[str] = (),
    source: str = "the table",
) -> tuple[dict[str, ColumnFormat], list[str]]:
    """Return the formats of the columns that the plain rules do not read well, and what to say.

    Parameters
    ----------
    table : pyarrow.Table
        Columns of text are judged, others have their type.
    missing : collection of str
        Cells that stand for no value in any column, beside those of `pandas.read_csv`.
    day_first : bool, optional
        Whether 02/01/2018 is in January, where neither the column nor another one tells.
    decimal : {".", ","}, optional
        What the mark in 1,234 is, where neither the column nor another one tells.
    stray : {"missing", "error"}
        What becomes of the few cells that are no numbers, dates or times in a column of them.
    labels : collection of str
        Columns of class names, in which yes and no stay words.
    source : str
        File, for messages.

    Raises
    ------
    DataError
        Day and month cannot be told apart, or there are stray cells that should be an error.

    Examples
    --------
    >>> formats, notes = sniff_columns(pa.table({"price": ["$1,234.50", "$7"]}))
    >>> formats["price"].unit, notes
    ('$', ["'price' holds numbers such as '$1,234.50', read as 1234.5"])
    """
    options = _Options(day_first, decimal, stray, labels, source)
    null = pa.array([*MISSING, *missing], pa.string())
    columns = [
        _Column(name, _without(as_text(cells), null), options)
        for name, cells in zip(table.column_names, table.columns, strict=True)
        if is_text(cells.type)
    ]
    guesses = [_guess(column) for column in columns]
    known = _known(options, guesses)
    for i, guess in enumerate(guesses):
        if guess.open:
            guesses[i] = _guess(replace(columns[i], options=known, last=True))
    formats = {c.name: g.format for c, g in zip(columns, guesses, strict=True) if g.format}
    notes = [note for guess in guesses for note in guess.notes]
    return formats, notes + _caution_of_sums(table, columns, guesses)


def _without(cells: Cells, null: pa.Array) -> Cells:
    return pc.if_else(pc.is_in(cells, value_set=null), None, cells)


def _known(options: _Options, guesses: Iterable[_Guess]) -> _Options:
    """Return the options with what some columns tell of the others."""
    decimals = {guess.decimal for guess in guesses} - {None}
    orders = {guess.order.tells_day_first for guess in guesses if guess.order} - {None}
    return replace(
        options,
        decimal=options.decimal or (decimals.pop() if len(decimals) == 1 else None),
        day_first=orders.pop() if len(orders) == 1 else options.day_first,
    )


def _guess(column: _Column) -> _Guess:
    kind = column.plain.type
    if is_number(kind):
        return _guess_plain_numbers(column)
    if not pa.types.is_string(kind):
        return (_as_flag(column) if pa.types.is_boolean(kind) else None) or _Guess()
    if column.is_prose or not len(column.words):
        return _as_text(column)
    found = (rule(column) for rule in _RULES)
    return next((each for each in found if each), None) or _as_text(column)


def _fit(
    column: _Column, format: Typed, said: str = "", *, strays: float = _STRAYS
) -> _Guess | None:
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
        notes.append(_say_strays(column, raw.filter(pa.array(stray)), format))
        format = structs.replace(format, stray="missing")
    return _Guess(format, (*notes, *_say_marks(column, column.marks)), values)


def _say_strays(column: _Column, strays: pa.Array, format: Typed) -> str:
    rows, n = column.rows(strays), int(column.counts.sum())
    shown = ", ".join(map(repr, strays.to_pylist()[:_NAMED]))
    said = (
        f"{column.name!r}: {n - len(rows)} of {n} cells are {NOUNS[type(format)]}; "
        f"{_say_rows(rows)} not ({shown})"
    )
    if column.options.stray == "error":
        raise DataError(
            f"{column.options.source}: {said}; correct the file, or read such cells as missing "
            "(--stray missing, in Python stray='missing')"
        )
    return f"{said}: read as missing"


def _say_rows(rows: list[int]) -> str:
    """Return rows as the subject of a sentence.

    >>> _say_rows([5]), _say_rows([5, 77])
    ('row 5 is', 'rows 5, 77 are')
    """
    if len(rows) == 1:
        return f"row {rows[0]} is"
    shown, more = ", ".join(map(str, rows[:_NAMED])), len(rows) - _NAMED
    return f"rows {shown}" + (f" and {more} more are" if more > 0 else " are")


def _say_marks(column: _Column, marks: Collection[str]) -> tuple[str, ...]:
    """Say what is read as missing."""
    shown = [f"{mark!r} ({_say_cells(column.count([mark]))})" for mark in marks if mark]
    if "" in marks and (blank := column.count([""])):
        shown.append(f"blanks ({_say_cells(blank)})")
    return (f"{column.name!r}: read as missing: {', '.join(shown)}",) if shown else ()


def _say_cells(n: int) -> str:
    return f"{n} cell" if n == 1 else f"{n} cells"


def _as_flag(column: _Column) -> _Guess | None:
    """Guess that one mark is true, and nothing is false."""
    gaps = column.cells.null_count + column.count(column.marks)
    one = len(pc.unique(pc.utf8_lower(column.words))) == 1
    if not gaps or not one or not {*column.marks} <= _BLANK or column.words[0].as_py() == "+":
        return None
    word, n = column.words[0].as_py(), int(column.counts.sum())
    note = f"{column.name!r}: {word!r} ({_say_cells(n)}) is read as true, no value as false"
    return _Guess(
        Boolean(true=(word,), false=tuple({"": 0, **dict.fromkeys(column.marks)})), (note,)
    )


def _as_boolean(column: _Column) -> _Guess | None:
    doubtful = [each for each in column.marks if each not in _BLANK and may_stand_for_none(each)]
    words = [*column.words.to_pylist(), *doubtful] if len(column.words) < _MANY else []
    format = None if column.is_label else guess_boolean(words)
    if not format:
        return None
    true, false = (", ".join(map(repr, each)) for each in (format.true, format.false))
    return _fit(column, format, f"{column.name!r}: {true} is read as true, {false} as false")


def _as_code(column: _Column) -> _Guess | None:
    """Guess that digits name something."""
    digits = pc.match_substring_regex(column.words, r"^\d+$")
    if column.counts[digits.to_numpy(False)].sum() < (1 - _STRAYS) * column.counts.sum():
        return None
    if not (why := _why_code(column, column.words.filter(digits))):
        return None
    notes = f"{column.name!r} {why}: read as text", *_say_marks(column, column.marks)
    return _Guess(Text(missing=column.marks), notes)


def _why_code(column: _Column, digits: pa.Array) -> str:
    zeros = digits.filter(pc.match_substring_regex(digits, r"^0\d\d+$"))
    if len(zeros):
        return f"holds codes with leading zeros, such as {zeros[0].as_py()!r}"
    if column.is_label:
        return ""
    if _ID.search(column.name) or _CODE.search(column.name):
        return "holds numbers that name something, as its name says"
    longest = digits.filter(pc.greater_equal(pc.utf8_length(digits), 16)).to_pylist()
    big = next((each for each in longest if int(each) > _EXACT), "")
    return f"holds whole numbers such as {big}, which float64 would round" if big else ""


def _as_dates(column: _Column) -> _Guess | None:
    """Guess dates or times of day."""
    if not guess_dates.forms(*column.sample):
        return None
    found = guess_dates.forms(column.words, column.counts)
    times = [form for form in found if guess_dates.is_time(next(iter(form.formats.values())))]
    if times:
        return _as_times(column, guess_dates.choose(column.words, times, "d"))
    if not found or guess_dates.are_seasons(column.words):
        return None
    order = guess_dates.weigh(column.words, column.counts, found)
    first, why = _choose_order(column, order)
    formats = guess_dates.choose(column.words, found, first or "d")
    if any(each.startswith("%y") for each in formats):
        first, why = "y", "year first, which changes least"
    said = _say_dates(column, formats, why)
    guess = _fit(column, Date(format=_one(formats)), said) if formats else None
    if guess and not first and column.last:
        raise _undecided(column, order)
    return guess and guess._replace(order=order, open=not first)


def _one(formats: tuple[str, ...]) -> str | tuple[str, ...]:
    return formats[0] if len(formats) == 1 else formats


def _choose_order(column: _Column, order: Order) -> tuple[str, str]:
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


def _say_dates(column: _Column, formats: tuple[str, ...], why: str) -> str:
    shown = " or ".join(formats)
    more = [why] * bool(why)
    more += ["years 69 to 99 are 1969 to 1999"] * ("%y" in shown)
    more += ["a month is its first day"] * ("%d" not in shown)
    zones = {"%z" in each for each in formats}
    more += ["without an offset it is UTC"] * (len(zones) > 1)
    behind = f" ({'; '.join(more)})" if more else ""
    example = column.words[0].as_py()
    return f"{column.name!r} holds dates such as {example!r}, read as {shown}{behind}"


def _undecided(column: _Column, order: Order) -> DataError:
    return DataError(
        f"{column.options.source}: column {column.name!r} holds dates such as {order.example!r}, "
        "in which the day or the month may come first, and its cells do not tell; say which: "
        "DATES=day-first or DATES=month-first (on the command line --dates day-first; in Python "
        "day_first=True)"
    )


def _as_times(column: _Column, formats: tuple[str, ...]) -> _Guess | None:
    example = f"such as {column.words[0].as_py()!r}"
    said = f"{column.name!r} holds lengths of time {example}, read as seconds"
    lengths = _fit(column, Duration(), said, strays=0.0)
    if lengths and (not formats or guess_dates.is_length(column.name)):
        return lengths
    times = f"{column.name!r} holds times of day {example}"
    format = Time(format=_one(formats))
    exact = _fit(column, format, times, strays=0.0)
    return exact or lengths or _fit(column, format, times)


def _as_durations(column: _Column) -> _Guess | None:
    if not guess_dates.are_durations(column.sample[0]):
        return None
    example = column.words[0].as_py()
    said = f"{column.name!r} holds lengths of time such as {example!r}, read as seconds"
    return _fit(column, Duration(), said)


def _as_numbers(column: _Column) -> _Guess | None:
    if guess_numbers(*column.sample).fits < _MOST:
        return None
    found = guess_numbers(column.words, column.counts, column.options.decimal)
    guess = _fit(column, found.format) if found.fits >= 1 - _STRAYS else None
    if not guess:
        return None
    said = _say_numbers(column, found, guess.values), _say_unit(column, found), *guess.notes
    tells = not found.open and (found.format.thousands or _has_decimals(guess.values))
    return guess._replace(
        notes=(*filter(None, said), *_caution_of_values(column, guess.values)),
        decimal=found.format.decimal if tells else None,
        open=found.open,
    )


def _has_decimals(values: pa.Array) -> bool:
    return bool(pc.any(pc.not_equal(values, pc.trunc(values))).as_py())


def _say_numbers(column: _Column, found: Numbers, values: pa.Array) -> str:
    """Return what to say of numbers that are not written plainly."""
    cells = column.distinct[0][:_SAMPLE]
    values = values[:_SAMPLE]
    plain = pc.match_substring_regex(cells, r"^[+-]?[\d.]+(?:[eE][+-]?\d+)?$")
    alike = pc.equal(read_distinct(cells, Number())[0], values)
    odd = pc.and_(values.is_valid(), pc.invert(pc.and_(plain, pc.fill_null(alike, False))))
    if not pc.any(odd).as_py():
        return ""
    example, value = cells.filter(odd)[0].as_py(), values.filter(odd)[0].as_py()
    said = f"{column.name!r} holds numbers such as {example!r}, read as {value:.15g}"
    if not found.open or found.format.thousands != ",":
        return said
    return (
        f"{said}: a guess, since no cell tells whether its comma is one of thousands or of "
        "decimals; Number(decimal=',') for this column reads it the other way"
    )


def _say_unit(column: _Column, found: Numbers) -> str:
    """Say that some cells lack the unit of the others."""
    unit = found.format.unit
    bare = pc.match_substring_regex(column.words, r"^[\d.,' +-]+$").to_numpy(False)
    n = int(column.counts[bare].sum())
    return f"{column.name!r}: {_say_cells(n)} without {unit!r}, taken to be the same" * bool(
        unit and n
    )


def _guess_plain_numbers(column: _Column) -> _Guess:
    """Guess more of numbers that the plain rules read."""
    whole = pa.types.is_integer(column.plain.type)
    rules = (_as_flag, _as_code, _as_days) if whole else (_as_flag, _as_thousands)
    found = (rule(column) for rule in rules)
    if guess := next((each for each in found if each), None):
        return guess
    values = infer(column.distinct[0])
    point: Decimal | None = "." if not whole and _has_decimals(values) else None
    return _Guess(None, _caution_of_values(column, values), values, decimal=point)


def _as_days(column: _Column) -> _Guess | None:
    """Guess that whole numbers of eight or fourteen digits are dates."""
    lengths = pc.unique(pc.utf8_length(column.words)).to_pylist()
    format = Date(format="%Y%m%d" if lengths == [8] else "%Y%m%d%H%M%S")
    if column.is_label or lengths not in ([8], [14]):
        return None
    days = read_distinct(column.words, format)[0].drop_null()
    years = pc.year(days).to_pylist()
    if len(years) < len(column.words) or not all(1900 <= each <= 2100 for each in years):
        return None
    if len(years) < _MANY and not _DATED.search(column.name):
        return None
    example = column.words[0].as_py()
    return _fit(
        column, format, f"{column.name!r} holds dates such as {example!r}, read as {format.format}"
    )


def _as_thousands(column: _Column) -> _Guess | None:
    """Guess that all points are of thousands, in a table in which commas are of decimals."""
    pointed = pc.match_substring_regex(column.words, r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$")
    small = pc.match_substring_regex(column.words, r"^[+-]?\d{1,3}$")
    if not pc.all(pc.or_(pointed, small)).as_py() or not pc.any(pointed).as_py():
        return None
    if column.options.decimal != ",":
        values = infer(column.distinct[0])
        return _Guess(None, _caution_of_values(column, values), values, open=not column.last)
    return _as_numbers(column)


_MANY = 20
_MOST = 0.5
_RULES = (_as_code, _as_boolean, _as_dates, _as_durations, _as_numbers, _as_flag)


def _caution_of_values(column: _Column, values: pa.Array) -> tuple[str, ...]:
    """Say of infinite numbers, and of those that may stand for none."""
    notes, (cells, counts) = [], column.distinct
    if pa.types.is_floating(values.type) and pc.any(infinite := pc.is_inf(values)).as_py():
        rows = column.rows(cells.filter(infinite))
        notes.append(f"{column.name!r} holds infinite numbers: {_say_rows(rows)} infinite")
    if (far := far_value(values, counts)) is not None:
        n = column.rows(cells.filter(pc.equal(values, far)))
        notes.append(
            f"{column.name!r} holds {far:g} in {len(n)} rows, far from all other values; if it "
            f"stands for a missing value, write Number(missing=('{far:g}',)) for this column"
        )
    return tuple(notes)


def _as_text(column: _Column) -> _Guess:
    """Guess the marks of missing values among words, and spellings that are one value."""
    marks = tuple(each for each in column.marks if stands_for_none(each, among_words=True))
    kept = pc.invert(pc.is_in(column.tidied, value_set=pa.array(marks, pa.string())))
    cells, counts = column.distinct[0].filter(kept), column.distinct[1][kept.to_numpy(False)]
    format, notes = Text(missing=marks), _say_marks(column, marks)
    if len(cells) <= min(_CATEGORIES, counts.sum() / 2):
        words = strip(cells)
        weights: Counter[str] = Counter()
        for word, n in zip(words.to_pylist(), counts.tolist(), strict=True):
            weights[word] += n
        found = guess_spellings(weights)
        same = found.same if len(found.same) <= _SPELLINGS else {}
        format = structs.replace(format, same=same, strip=not cells.equals(words))
        notes = (*notes, *_say_spellings(column, found, weights, format))
    notes += _say_mostly(column)
    return _Guess(format if format != Text() else None, notes)


def _say_spellings(
    column: _Column, found: Spellings, words: Collection[str], format: Text
) -> Iterator[str]:
    """Say which words are read as one, and which may be meant as one or as none."""
    name, same = repr(column.name), found.same
    if format.strip:
        yield f"{name}: blanks around its words, and signs one does not see, are left out"
    shown = ", ".join(f"{a!r} as {b!r}" for a, b in [*same.items()][:_NAMED])
    if shown and format.same:
        more = f" and {len(same) - _NAMED} more" if len(same) > _NAMED else ""
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
            f"{name}: {word!r} ({_say_cells(column.count([word]))}) is kept as a value; "
            f"Text(missing=({word!r},)) for this column makes it missing"
        )


def _say_mostly(column: _Column) -> tuple[str, ...]:
    """Say that a column is text though most of its cells are numbers or dates."""
    if column.is_prose or not len(column.words) or guess_dates.are_seasons(column.words):
        return ()
    words, counts = column.sample
    found = guess_numbers(words, counts, column.options.decimal)
    units = guess_units(words)
    if 1 < len(units) <= _NAMED:
        shown = ", ".join(map(repr, units))
        return (f"{column.name!r} holds numbers of several units ({shown}): read as text",)
    share = guess_dates.share(words, counts)
    what = "numbers" if found.fits >= _MOST else "dates or times" if share >= _MOST else ""
    if not what:
        return ()
    example = column.words[0].as_py()
    return (
        f"{column.name!r}: most cells look like {what}, such as {example!r}, but too many are in "
        f"no form that is known: read as text",
    )


def _caution_of_sums(table: pa.Table, columns: list[_Column], guesses: list[_Guess]) -> list[str]:
    """Say of a last row that is the sum of the others."""
    n = table.num_rows
    last = [str(column.cells[-1].as_py() or "").strip() for column in columns] if n > 1 else []
    label = next((repr(each) for each in last if _TOTAL.fullmatch(each)), "")
    sums = [c.name for c, g in zip(columns, guesses, strict=True) if n and _ends_in_sum(c, g)]
    sums += [name for name in table.column_names if n and _is_sum_below(table[name])]
    if not label and (n < _ROWS or not sums):
        return []
    why = f"it holds {label}" if label else f"{sums[0]!r} is the sum of the rows above"
    return [f"row {n - 1}, the last, looks like a total ({why}): delete it in the file if it is"]


def _ends_in_sum(column: _Column, guess: _Guess) -> bool:
    if guess.values is None or not is_number(guess.values.type):
        return False
    cells = column.cells if isinstance(column.cells, pa.Array) else column.cells.combine_chunks()
    return _is_sum_below(guess.values.take(pc.index_in(cells, value_set=column.distinct[0])))


def _is_sum_below(values: Cells) -> bool:
    """Whether the last number is the sum of some others, and none is missing at the end."""
    if not is_number(values.type) or not values[-1].is_valid:
        return False
    numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    above = numbers[:-1][np.isfinite(numbers[:-1])]
    several = np.count_nonzero(above) >= _ROWS - 2
    return bool(several and above.sum() and np.isclose(numbers[-1], above.sum(), rtol=1e-9))
