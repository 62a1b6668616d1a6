"""Guesses of what the cells of a table stand for, as formats that one can read and change.

Each column is judged by all of its cells. What the rules of `pandas.read_csv` read well needs no
format; each guess is told in a sentence. What no notation fits stays text.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import structs

from pipeline.data.arrow_types import Cells, as_text, is_number, is_text, usable
from pipeline.data.csv import MISSING, infer
from pipeline.data.guess_numbers import (
    Decimal,
    NumberGuess,
    far_values,
    guess_numbers,
    units_of,
)
from pipeline.data.notations import (
    BOOLEANS,
    NOUNS,
    NUMBERS_OR_DATES,
    Typed,
    convert_cells,
    formats_of,
    is_clock,
    matches,
    read_distinct,
    spell_dates,
    strip,
    tidy,
)
from pipeline.data.shapes import shapes
from pipeline.data.table_format import Boolean, ColumnFormat, Date, Duration, Number, Text, Time
from pipeline.errors import DataError

Stray = Literal["missing", "error"]
_NAMED = 5
"""So many rows or cells are named in a sentence."""
_SAMPLE = 1000
"""So many cells tell which guesses are worth a look at all cells."""
_LONG = 45
"""Characters beyond which cells are prose, on average."""
_EXACT = 2**53
_STRAYS = 0.05
"""Share of the cells of a column of numbers or dates that may be something else."""
_MOST = 0.5
"""Share of cells from which on a guess is worth a word."""
_MANY = 20
"""So many different numbers are no dates by chance; and so many words are no truth values."""
_SOME = 3
_CATEGORIES = 10_000
"""So many different texts have spellings that are compared, at most."""
_SPELLINGS = 200
"""So many of them are read as others, at most."""
_FORMS = 20
"""So many forms of a date may be mixed in a column, at most."""
_SHORT = 2
"""Letters of a code, in which capitals may tell values apart."""
_BLANK = {"", "-", "--", "–", "—"}
"""What stands beside a mark, and says that there is none."""
_NONE = {"", "?", "??", "???", "n/a", "n.a.", "n.a", "n. a.", "#n/a", "#na", "#div/0!", "#value!"}
_NONE |= {"#ref!", "#name?", "#num!", "#null!", "<na>", "\\n", "(null)", "null", "nan", "na"}
"""What stands for no value in any column, in small letters."""
_NO_DAYS = ("0000-00-00", "00.00.0000", "00/00/0000", "9999-12-31", "31.12.9999", "31/12/9999")
_PERHAPS = {"-", "--", "---", "–", "—", ".", "none", "nil", "missing", "unknown", "unk", "unk."}
_PERHAPS |= {"undefined", "not available", "not applicable", "not known", "n/d", "n.d.", "nd"}
_PERHAPS |= {"tbd", "tba", "empty", "no data", "k.a.", "k. a.", "keine angabe", "(none)"}
_PERHAPS |= {"(missing)", "(blank)", "[null]", "blank", "void", "12/31/9999"}
_PERHAPS |= {f"{day}{time}" for day in _NO_DAYS for time in ("", " 00:00", " 00:00:00")}
"""What stands for no value among numbers, and may be a value among words."""
_NOTHING = re.compile(r"[-–—*?./#_~:]+")
_MAY_BE_MARK = r"^(?:\D{0,19}|#.{1,9}|.*(?:0000|9999).*)$"
"""What all marks of missing values look like."""
_ID = re.compile(r"(^|[^A-Za-z])(?i:id|uuid|guid)$|[a-z](Id|ID)$")
_CODE = re.compile(
    r"(?i)(^|[^a-z])(phone|telephone|tel|fax|zip|zip[ _-]?code|postcode|postal[ _-]?code|plz|iban|"
    r"isbn|ean|ssn|sku|barcode)([ _-]?(number|no|nr))?$"
)
_DATED = re.compile(
    r"(?i)(^|[^a-z])(date|datum|day|dt|dob|month|monat|period)([^a-z]|$)|[a-z]Date$"
)
_LASTS = re.compile(r"(?i)duration|elapsed|runtime|lap|pace|length|took|taken")
_FACTORS = {"k", "m", "b"}
"""Units that may be multipliers."""
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


@dataclass(frozen=True)
class Options:
    """What was asked for, or is known of the whole table."""

    day_first: bool | None = None
    decimal: Decimal | None = None
    stray: Stray = "missing"
    labels: Collection[str] = ()
    source: str = "the table"
    typed: bool = False
    delimiter: str = ""


@dataclass(frozen=True)
class TextColumn:
    """A column of cells of text, null where there is no value.

    Parameters
    ----------
    name : str
    cells : pyarrow array
    options : Options
    last : bool
        Whether all is known that other columns tell.
    """

    name: str
    cells: Cells
    options: Options
    last: bool = False

    @cached_property
    def plain(self) -> Cells:
        """The values of `distinct` by the rules of `pandas.read_csv`, unless texts have a type."""
        cells = self.distinct[0]
        return cells if self.options.typed else infer(cells)

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

    @property
    def example(self) -> str:
        """The first word that holds a digit."""
        return str(self.words.filter(_holds(self.words, r"\d"))[0])

    @cached_property
    def has_digits(self) -> bool:
        """Whether a word holds a digit."""
        return bool(pc.any(_holds(self.words, r"\d")).as_py())

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """The tidy cells that stand for no value, among numbers or dates."""
        short = self.tidied.filter(_holds(self.tidied, _MAY_BE_MARK)).to_pylist()
        found = (each for each in short if stands_for_none(each, among_words=False))
        return tuple(dict.fromkeys(found))

    @cached_property
    def _values(self) -> tuple[pa.Array, np.ndarray]:
        kept = pc.invert(_is_in(self.tidied, self.marks))
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

    def all_look(self, pattern: str) -> bool:
        """Whether all words match a regular expression as a whole."""
        return bool(pc.all(_holds(self.words, f"^(?:{pattern})$")).as_py())

    def rows(self, cells: pa.Array) -> list[int]:
        """Return the rows that hold one of some cells."""
        rows: list[int] = pc.indices_nonzero(pc.is_in(self.cells, value_set=cells)).to_pylist()
        return rows

    def count(self, words: Collection[str]) -> int:
        """Return how many cells are one of some tidy words."""
        return int(self.distinct[1][_is_in(self.tidied, words).to_numpy(False)].sum())


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
    day_first : bool or None
        What its cells tell of the order of day and month.
    open : bool
        Whether another column may help to decide.
    """

    format: ColumnFormat | None = None
    notes: tuple[str, ...] = ()
    values: pa.Array | None = None
    decimal: Decimal | None = None
    day_first: bool | None = None
    open: bool = False


def sniff_columns(
    table: pa.Table, options: Options | None = None, missing: Collection[str] = ()
) -> tuple[dict[str, ColumnFormat], list[str]]:
    """Return the formats of the columns that the plain rules do not read well, and what to say.

    Parameters
    ----------
    table : pyarrow.Table
        Columns of text are judged, others have their type.
    options : Options, optional
    missing : collection of str
        Cells that stand for no value in any column, beside those of `pandas.read_csv`.

    Raises
    ------
    DataError
        Day and month, or the mark of decimals, cannot be told; or there are stray cells that should
        be an error.

    Examples
    --------
    >>> formats, notes = sniff_columns(pa.table({"price": ["$1,234.50", "$7"]}))
    >>> formats["price"].unit, notes
    ('$', ["'price' holds numbers such as '$1,234.50', read as 1234.5"])
    """
    options = options or Options()
    columns = _text_columns(table, options, missing)
    guesses = [guess_column(column) for column in columns]
    known = _known(options, guesses)
    for i, guess in enumerate(guesses):
        if guess.open:
            guesses[i] = guess_column(replace(columns[i], options=known, last=True))
    formats = {c.name: g.format for c, g in zip(columns, guesses, strict=True) if g.format}
    notes = [note for guess in guesses for note in guess.notes]
    notes += _caution_of_names(columns, guesses)
    typed_columns = ((n, table[n]) for n in table.column_names if not is_text(table[n].type))
    notes += [note for each in typed_columns for note in _caution_of_unusable(*each)]
    return formats, notes


def decimals_of(table: pa.Table) -> dict[str, Decimal]:
    """Return what surely is the mark of decimals, by column.

    >>> decimals_of(pa.table({"a": ["1,5", "2"], "b": ["1.5", "2"], "c": ["1", "2"]}))
    {'a': ',', 'b': '.'}
    """
    guesses = {each.name: guess_column(each) for each in _text_columns(table, Options())}
    return {name: guess.decimal for name, guess in guesses.items() if guess.decimal}


def _text_columns(
    table: pa.Table, options: Options, missing: Collection[str] = ()
) -> list[TextColumn]:
    null = [*MISSING, *missing]
    return [
        TextColumn(name, pc.if_else(_is_in(texts, null), None, texts), options)
        for name, cells in zip(table.column_names, table.columns, strict=True)
        if is_text(cells.type) and (texts := as_text(cells)) is not None
    ]


def _known(options: Options, guesses: Iterable[Guess]) -> Options:
    """Return the options with what some columns tell of the others."""
    decimals = {guess.decimal for guess in guesses} - {None}
    orders = {guess.day_first for guess in guesses} - {None}
    return replace(
        options,
        decimal=options.decimal or (decimals.pop() if len(decimals) == 1 else None),
        day_first=orders.pop() if len(orders) == 1 else options.day_first,
    )


def guess_column(column: TextColumn) -> Guess:
    """Return what the cells of a column stand for."""
    kind = column.plain.type
    if is_number(kind):
        integers = pa.types.is_integer(kind)
        return _first(_OF_INTEGERS if integers else _OF_FLOATS, column) or _plain_numbers(column)
    if pa.types.is_boolean(kind):
        return _as_flag(column) or Guess()
    if pa.types.is_timestamp(kind):
        return Guess(None, _caution_of_values(column, infer(column.distinct[0])))
    if not pa.types.is_string(kind):
        return Guess()
    if column.is_prose or not len(column.words):
        return _as_text(column)
    return _first(_OF_TEXTS if column.has_digits else _OF_WORDS, column) or _as_text(column)


def _first(rules: tuple[_Rule, ...], column: TextColumn) -> Guess | None:
    found = (rule(column) for rule in rules)
    return next((each for each in found if each), None)


def _fit(
    column: TextColumn, format: Typed, why: str = "", *, strays: float = _STRAYS
) -> Guess | None:
    """Return a guess if nearly all cells fit a format, with what to say of them."""
    raw, counts = column.distinct
    format = structs.replace(format, missing=tuple(filter(None, column.marks)))
    values, stray = read_distinct(raw, format)
    stray = stray.to_numpy(False)
    n = int(counts[stray].sum())
    if n > strays * column.counts.sum():
        return None
    notes = [*_say_read(column, values, format, why)]
    if n:
        notes.append(_say_strays(column, raw.filter(pa.array(stray)), format))
        format = structs.replace(format, stray="missing")
    notes += _say_marks(column, column.marks)
    return Guess(format, (*notes, *_caution_of_values(column, values)), values)


def _as_flag(column: TextColumn) -> Guess | None:
    """Guess that one mark is true, and nothing is false."""
    if len(column.distinct[0]) > _SAMPLE:
        return None
    gaps = column.cells.null_count + column.count(column.marks)
    one = len(pc.unique(pc.utf8_lower(column.words))) == 1
    if not gaps or not one or not {*column.marks} <= _BLANK or column.words[0].as_py() == "+":
        return None
    word = column.words[0].as_py()
    said = f"{column.name!r}: {word!r} ({_say_cells(int(column.counts.sum()))}) is read as"
    if any(word.lower() in false for _, false in BOOLEANS):
        return Guess(Text(empty=True), (f"{said} one value, no value as another",))
    blank = tuple({"": 0, **dict.fromkeys(column.marks)})
    return Guess(Boolean(true=(word,), false=blank), (f"{said} true, no value as false",))


def _as_boolean(column: TextColumn) -> Guess | None:
    doubtful = [each for each in column.marks if each not in _BLANK and each.lower() in _PERHAPS]
    words = [*column.words.to_pylist(), *doubtful] if len(column.words) < _MANY else []
    format = None if column.is_label else _boolean(words)
    if not format:
        return None
    return _fit(column, format)


def _boolean(words: Iterable[str]) -> Boolean | None:
    """Return which words are true and which are false, if all are."""
    spelled: dict[str, str] = {}
    for word in words:
        spelled.setdefault(word.lower(), word)
    for true, false in BOOLEANS:
        if spelled.keys() <= true | false and spelled.keys() & true and spelled.keys() & false:
            chosen = (tuple(spelled[w] for w in spelled if w in side) for side in (true, false))
            return Boolean(true=next(chosen), false=next(chosen))
    return None


def _as_code(column: TextColumn) -> Guess | None:
    """Guess that digits name something."""
    digits = _holds(column.words, r"^-?\d+$")
    if column.counts[digits.to_numpy(False)].sum() < (1 - _STRAYS) * column.counts.sum():
        return None
    if not (why := _why_code(column, column.words.filter(digits))):
        return None
    notes = f"{column.name!r} {why}: read as text", *_say_marks(column, column.marks)
    cells = column.distinct[0]
    return Guess(Text(missing=column.marks, strip=not cells.equals(strip(cells))), notes)


def _why_code(column: TextColumn, digits: pa.Array) -> str:
    least = 1 if column.is_label else 2
    zeros = digits.filter(_holds(digits, rf"^0\d{{{least},}}$"))
    if len(zeros):
        return f"holds codes with leading zeros, such as {zeros[0].as_py()!r}"
    if column.is_label:
        return ""
    if _ID.search(column.name) or _CODE.search(column.name):
        return "holds numbers that name something, as its name says"
    longest = digits.filter(pc.greater_equal(pc.utf8_length(digits), 16)).to_pylist()
    big = next((each for each in longest if abs(int(each)) > _EXACT), "")
    return f"holds whole numbers such as {big}, which float64 would round" if big else ""


class _Form(NamedTuple):
    """Which cells may be read by which formats of dates."""

    cells: np.ndarray
    formats: tuple[str, ...]


def _forms(words: pa.Array, counts: np.ndarray) -> list[_Form]:
    """Return the forms of dates or times, the most frequent first."""
    codes = shapes(spell_dates(words))
    known: dict[tuple[str, ...], int] = {}
    kinds = [known.setdefault(formats_of(s), len(known)) for s in codes.dictionary.to_pylist()]
    place = np.array(kinds, int)[codes.indices.to_numpy()]
    order = np.argsort(-np.bincount(place, weights=counts), kind="stable")[:_FORMS]
    found = [*known]
    return [_Form(place == i, found[i]) for i in order.tolist() if found[i]]


def _as_dates(column: TextColumn) -> Guess | None:
    """Guess dates or times of day."""
    if not _forms(*column.sample):
        return None
    found = _forms(column.words, column.counts)
    times = [form for form in found if is_clock(form.formats[0])]
    if times:
        return _as_times(column, _chosen(column.words, times, "d"))
    if not found or _are_seasons(column.words):
        return None
    told, example = _weigh(column, found)
    asked = column.options.day_first if told is None else told
    first = "" if asked is None else "d" if asked else "m"
    why = f"{'day' if asked else 'month'} first, as "
    why += f"{example!r} shows" if told is not None else "asked or as other columns show"
    if not example:
        first, why = "d", ""
    elif not first and "." in example:
        first, why = "d", "day first, as is usual with points"
    formats = _chosen(column.words, found, first or "d")
    if any(each.startswith("%y") for each in formats):
        first, why = "y", "year first, which changes least"
    guess = _fit(column, Date(format=_one(formats)), why if first else "")
    if guess and not first and column.last:
        raise _undecided(
            column,
            f"dates such as {example!r}, in which the day or the month may come first",
            "--dates day-first or --dates month-first (in Python day_first=True)",
        )
    return guess and guess._replace(day_first=told, open=not first)


def _one(formats: tuple[str, ...]) -> str | tuple[str, ...]:
    return formats[0] if len(formats) == 1 else formats


def _weigh(column: TextColumn, found: Iterable[_Form]) -> tuple[bool | None, str]:
    """Return whether the day comes first, if nearly all cells that tell agree, and an example.

    The example is empty where all orders say the same.
    """
    weights, example = np.zeros(2), ""
    for form in found:
        by = {_head(each): each for each in form.formats}
        if not by.keys() >= {*"dm"}:
            continue
        cells, counts = column.words.filter(pa.array(form.cells)), column.counts[form.cells]
        read = [convert_cells(cells, Date(format=by[each])) for each in "dm"]
        valid = [each.is_valid().to_numpy(False) for each in read]
        tells = valid[0] != valid[1]
        weights += [counts[valid[i] & tells].sum() for i in (0, 1)]
        differ = pc.fill_null(pc.not_equal(*read), False).to_numpy(False)
        shown = cells.filter(pa.array(tells if tells.any() else differ))
        example = example or (shown[0].as_py() if len(shown) else "")
    agree = weights.min() <= _STRAYS * weights.max() and weights[0] != weights[1]
    return (bool(weights[0] > weights[1]) if agree else None), example


def _head(format: str) -> str:
    """Return which of day, month and year comes first.

    >>> _head("%a, %d %b %Y"), _head("%Y-%m-%d")
    ('d', 'y')
    """
    return re.findall("%([dmyYbBG])", format)[0].lower()


def _chosen(words: pa.Array, found: Iterable[_Form], first: str) -> tuple[str, ...]:
    """Return the formats of dates that are needed; day or month, ``"d"`` or ``"m"``, is first."""
    chosen: list[str] = []
    for form in found:
        by = {_head(each): each for each in form.formats} if len(form.formats) > 1 else {}
        order = "y" if _year_first(words, form, by) else first
        chosen.append(by.get(order, form.formats[0]))
    needed: list[str] = []
    for format in dict.fromkeys(chosen) if len({*chosen}) > 1 else ():
        kind = Time if is_clock(format) else Date
        unread = convert_cells(words, kind(format=format)).is_null()
        if len(rest := words.filter(unread)) < len(words):
            needed, words = [*needed, format], rest
    return tuple(needed) or (chosen[0],)


def _year_first(words: pa.Array, form: _Form, by: Mapping[str, str]) -> bool:
    """Whether the first of three numbers of two digits is the year.

    It is where no other reading fits, and where days would be years and years days.
    """
    if "y" not in by:
        return False
    cells = words.filter(pa.array(form.cells))
    fits = {o: convert_cells(cells, Date(format=f)).null_count for o, f in by.items()}
    parts = [re.findall(r"\d+", cell)[:3:2] for cell in cells[:_SAMPLE].to_pylist()]
    first, last = (len({each[i] for each in parts}) for i in (0, 1))
    alone = fits["y"] < min(fits["d"], fits["m"])
    return alone or (fits["y"] == min(fits.values()) and 2 * first <= last and last > _SOME)


def _are_seasons(words: pa.Array) -> bool:
    """Whether cells are years and the ones after, as 2010-11, and no months."""
    cells = [re.fullmatch(r"(\d{4})[-/](\d\d)", each) for each in words[:_SAMPLE].to_pylist()]
    return len(cells) > 1 and all(
        each is not None and (int(each[1]) + 1) % 100 == int(each[2]) for each in cells
    )


def _as_times(column: TextColumn, formats: tuple[str, ...]) -> Guess | None:
    lengths = _fit(column, Duration(), strays=0.0)
    if lengths and _LASTS.search(column.name):
        return lengths
    format = Time(format=_one(formats))
    return _fit(column, format, strays=0.0) or lengths or _fit(column, format)


def _as_durations(column: TextColumn) -> Guess | None:
    words = column.sample[0]
    if convert_cells(words, Duration()).null_count > len(words) / 2:
        return None
    units = pc.unique(pc.replace_substring_regex(words, r"^[+-]?[\d.]+ ?([a-zA-Z])$", r"\1"))
    return None if len(units) == 1 and len(units[0].as_py()) == 1 else _fit(column, Duration())


def _as_plain_numbers(column: TextColumn) -> Guess | None:
    """Guess numbers where a table has text, as in JSON; names of a few classes stay."""
    classes = column.is_label and len(column.words) <= _MANY
    if not column.options.typed or classes or not is_number(infer(column.distinct[0]).type):
        return None
    return _fit(column, Number(), "though the table has text")


def _as_numbers(column: TextColumn) -> Guess | None:
    if guess_numbers(*column.sample).fits < _MOST:
        return None
    found = guess_numbers(column.words, column.counts, column.options.decimal)
    found, why = _by_delimiter(column, found)
    undecided = found.open and column.options.decimal is None
    if found.open and not undecided:
        why = "as asked or as other columns say"
    guess = _fit(column, found.format, why) if found.fits >= 1 - _STRAYS else None
    if not guess or _is_scaled(column, found):
        return None
    if undecided and column.last and not why:
        raise _undecided_mark(column, "," if found.format.thousands else ".")
    tells = not found.open and (found.format.thousands or _has_decimals(guess.values))
    return guess._replace(decimal=found.format.decimal if tells else None, open=undecided)


def _by_delimiter(column: TextColumn, found: NumberGuess) -> tuple[NumberGuess, str]:
    """Return commas as those of decimals where semicolons part the cells, if that fits as well."""
    if column.options.decimal or column.options.delimiter != ";" or found.format.thousands != ",":
        return found, ""
    other = guess_numbers(column.words, column.counts, ",")
    if other.format.decimal != "," or other.fits < found.fits:
        return found, ""
    if column.last and not found.open:
        raise _undecided_mark(column, ",")
    return other._replace(open=True), (
        "as semicolons part the cells; --decimal . reads the comma as one of thousands"
    )


def _is_scaled(column: TextColumn, found: NumberGuess) -> bool:
    """Return whether a unit such as k or mil makes some cells a thousand times what they say."""
    unit = found.format.unit
    if found.format.scaled and unit.isalpha():
        return not column.all_look(rf"(?:.*\PL)?{unit}(?:\PL.*)?")
    return unit.lower() in _FACTORS and _count_bare(column) > 0


def _has_decimals(values: pa.Array) -> bool:
    if pa.types.is_integer(values.type):
        return False
    return bool(pc.any(pc.not_equal(values, pc.trunc(values))).as_py())


def _plain_numbers(column: TextColumn) -> Guess:
    """Say what may be wrong about numbers that the plain rules read."""
    values = column.plain
    point: Decimal | None = "." if _has_decimals(values) else None
    notes = *_caution_of_versions(column), *_caution_of_values(column, values)
    return Guess(None, notes, values, decimal=point)


def _as_days(column: TextColumn) -> Guess | None:
    """Guess that numbers such as 20180201, 201802 or 02.2018 are dates."""
    found = next((f for look, f in NUMBERS_OR_DATES.items() if column.all_look(look)), None)
    if column.is_label or not found:
        return None
    years = pc.year(read_distinct(column.words, Date(format=found))[0].drop_null()).to_pylist()
    if len(years) < len(column.words) or not all(1900 <= each <= 2100 for each in years):
        return None
    if len(years) < _MANY and not _DATED.search(column.name):
        return None
    return _fit(column, Date(format=found))


def _as_thousands(column: TextColumn) -> Guess | None:
    """Guess what points before three digits are in all cells, as other columns tell."""
    pointed = _holds(column.words, r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$")
    small = _holds(column.words, r"^[+-]?\d{1,3}$")
    if not pc.all(pc.or_(pointed, small)).as_py() or not pc.any(pointed).as_py():
        return None
    if column.options.decimal == ",":
        return _as_numbers(column)
    if column.options.decimal is None and column.last:
        raise _undecided_mark(column, ".")
    return _plain_numbers(column)._replace(decimal=None, open=not column.last)


def _as_text(column: TextColumn) -> Guess:
    """Guess the marks of missing values among words, and spellings that are one value."""
    marks = tuple(each for each in column.marks if stands_for_none(each, among_words=True))
    kept = pc.invert(_is_in(column.tidied, marks))
    cells, counts = column.distinct[0].filter(kept), column.distinct[1][kept.to_numpy(False)]
    format, notes = Text(missing=marks), _say_marks(column, marks)
    if len(cells) <= min(_CATEGORIES, counts.sum() / 2):
        words = strip(cells)
        weights: Counter[str] = Counter()
        for word, n in zip(words.to_pylist(), counts.tolist(), strict=True):
            weights[word] += n
        same, apart = guess_spellings(weights)
        format = structs.replace(
            format, same=same if len(same) <= _SPELLINGS else {}, strip=not cells.equals(words)
        )
        notes = (*notes, *_say_spellings(column, same, apart, weights, format))
    return Guess(format if format != Text() else None, (*notes, *_say_unread(column)))


_Rule: TypeAlias = Callable[[TextColumn], Guess | None]
_OF_TEXTS: tuple[_Rule, ...] = (
    _as_code, _as_boolean, _as_dates, _as_durations, _as_plain_numbers, _as_numbers, _as_flag,
)  # fmt: skip
_OF_WORDS: tuple[_Rule, ...] = (_as_boolean, _as_flag)
_OF_INTEGERS: tuple[_Rule, ...] = (_as_flag, _as_code, _as_days)
_OF_FLOATS: tuple[_Rule, ...] = (_as_flag, _as_days, _as_thousands)


def stands_for_none(word: str, *, among_words: bool) -> bool:
    """Whether a tidy cell is a mark of a missing value.

    >>> [stands_for_none(each, among_words=True) for each in ("?", "n/a", "-", "Na", "x")]
    [True, True, False, False, False]
    >>> stands_for_none("-", among_words=False)
    True
    """
    if among_words and word == "Na":  # Sodium.
        return False
    if word.lower() in _NONE:
        return True
    return not among_words and (word.lower() in _PERHAPS or bool(_NOTHING.fullmatch(word)))


def guess_spellings(counts: Mapping[str, int]) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return spellings -> the most frequent one of the same value, and codes to keep apart.

    Parameters
    ----------
    counts : dict of str to int
        Tidy cell -> how often it occurs.

    Examples
    --------
    >>> guess_spellings({"yes": 5, "YES": 2, "m": 9, "M": 9})
    ({'YES': 'yes'}, [('m', 'M')])
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for word in sorted(counts, key=lambda word: (-counts[word], word.isupper(), word)):
        folded = unicodedata.normalize("NFKC", " ".join(word.split())).casefold()
        groups[folded].append(word)
    boolean, apart = _boolean(counts) is not None, []
    same: dict[str, str] = {}
    for key, (first, *others) in groups.items():
        if not others:
            continue
        often = counts[others[0]] > _STRAYS * sum(counts[each] for each in groups[key])
        if often and len(key) <= _SHORT and len(others) == 1 and not boolean:
            apart.append((first, others[0]))
        else:
            same |= dict.fromkeys(others, first)
    return same, apart


def _holds(cells: Cells, pattern: str) -> Cells:
    return pc.match_substring_regex(cells, pattern)


def _is_in(cells: Cells, words: Collection[str]) -> Cells:
    return pc.is_in(cells, value_set=pa.array(list(words), pa.string()))


def say_rows(rows: list[int]) -> str:
    """Return rows as the subject of a sentence.

    >>> say_rows([5]), say_rows([5, 77])
    ('row 5 is', 'rows 5, 77 are')
    """
    if len(rows) == 1:
        return f"row {rows[0]} is"
    shown, more = ", ".join(map(str, rows[:_NAMED])), len(rows) - _NAMED
    return f"rows {shown}" + (f" and {more} more are" if more > 0 else " are")


def _say_cells(n: int) -> str:
    return f"{n} cell" if n == 1 else f"{n} cells"


def _say_marks(column: TextColumn, marks: Collection[str]) -> tuple[str, ...]:
    """Say what is read as missing."""
    shown = [f"{mark!r} ({_say_cells(column.count([mark]))})" for mark in marks if mark]
    if "" in marks and (blank := column.count([""])):
        shown.append(f"blanks ({_say_cells(blank)})")
    return (f"{column.name!r}: read as missing: {', '.join(shown)}",) if shown else ()


def _say_strays(column: TextColumn, strays: pa.Array, format: Typed) -> str:
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


def _say_read(column: TextColumn, values: pa.Array, format: Typed, why: str) -> Iterator[str]:
    """Say how the first cell is read that is not written plainly."""
    if isinstance(format, Boolean):
        true, false = (", ".join(map(repr, each)) for each in (format.true, format.false))
        yield f"{column.name!r}: {true} is read as true, {false} as false"
        return
    cells, values = column.distinct[0][:_SAMPLE], values[:_SAMPLE]
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
        n = _count_bare(column) if format.scaled or format.unit else 0
        more += [f"{_say_cells(n)} without {beside}"] * (n > 0)
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


def _undecided(column: TextColumn, what: str, options: str) -> DataError:
    return DataError(
        f"{column.options.source}: column {column.name!r} holds {what}, and its cells do not tell; "
        f"say which: {options}"
    )


def _undecided_mark(column: TextColumn, mark: str) -> DataError:
    """Return the error of marks that may be of decimals or of thousands."""
    example = column.words.filter(pc.match_substring(column.words, mark))[0].as_py()
    name = {",": "comma", ".": "point"}[mark]
    return _undecided(
        column, f"numbers such as {example!r}, whose {name} may be one of decimals or of thousands",
        "--decimal , or --decimal . (in Python decimal=)",
    )  # fmt: skip


def _count_bare(column: TextColumn) -> int:
    """Return how many cells are numbers without a unit."""
    return int(column.counts[_holds(column.words, r"^[\d.,' +-]+$").to_numpy(False)].sum())


def _caution_of_versions(column: TextColumn) -> Iterator[str]:
    """Say that 3.10 is 3.1, where other cells have one decimal."""
    words = column.words
    tens = words.filter(_holds(words, r"\.[1-9]0$"))
    short = pc.any(_holds(words, r"\.\d$")).as_py()
    if len(tens) and short and column.all_look(r"\d{1,2}(?:\.\d\d?)?"):
        yield (
            f"{column.name!r}: {tens[0].as_py()!r} is read as {float(tens[0].as_py()):g}; if its "
            "cells are versions or sections, Text() for this column keeps them apart"
        )


def _caution_of_values(column: TextColumn, values: pa.Array) -> tuple[str, ...]:
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


def _say_spellings(
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
    for word in (each for each in words if each.lower() in _PERHAPS):
        yield (
            f"{name}: {word!r} ({_say_cells(column.count([word]))}) is kept as a value; "
            f"Text(missing=({word!r},)) for this column makes it missing"
        )


def _say_unread(column: TextColumn) -> tuple[str, ...]:
    """Say that text looks like numbers or dates, and which line of pandas reads it."""
    if column.is_prose or not column.has_digits or _are_seasons(column.words):
        return ()
    words, counts = column.sample
    found = guess_numbers(words, counts, column.options.decimal)
    units = [unit for unit in pc.unique(units_of(words)).to_pylist() if unit != ""]
    units = [] if None in units else units
    known = 0 < len(units) <= _NAMED and (found.fits < 1 or _is_scaled(column, found))
    bounds, dates = (_holds(words, look).to_numpy(False) for look in (_BOUND, _DATE_LIKE))
    read = f"table[{column.name!r}]"
    if counts[dates].sum() >= _MOST * counts.sum():
        what, looks = "dates or times", dates
        example = words.filter(pa.array(dates))[0].as_py()
        if names := dict.fromkeys(re.findall(r"[^\W\d_]{3,}", example), "…"):
            read += f".replace({names}, regex=True)"
        line = f"pd.to_datetime({read}, format='mixed', dayfirst=True)"
    elif counts[bounds].sum() > _STRAYS * counts.sum():
        what, looks, line = "numbers with more beside them", bounds, _extracted(column, read, "")
    elif known and not _ORDINALS.issuperset(units):
        what, looks = f"numbers in {', '.join(map(repr, units))}", np.ones(len(words), bool)
        factors = f"{read}.str.extract(r'([^\\d\\s.,]+)$')[0].map({dict.fromkeys(units, '…')})"
        line = f"{_extracted(column, read, '')} * {factors}"
    elif found.fits >= _MOST:
        what, looks = "numbers", np.ones(len(words), bool)
        line = _extracted(column, read, ", errors='coerce'")
    else:
        return ()
    shown = words.filter(pa.array(looks))
    example = shown.filter(_holds(shown, r"\d"))[0].as_py()
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


def _caution_of_unusable(name: str, values: Cells) -> Iterator[str]:
    """Say of typed values that no model takes."""
    lost = pc.and_(usable(values).is_null(), values.is_valid())
    if rows := pc.indices_nonzero(lost).to_pylist():
        what = "infinite" if is_number(values.type) else "beyond the years 1678 to 2261"
        yield (
            f"{name!r} holds {values[rows[0]].as_py()}: {say_rows(rows)} {what} and read as missing"
        )


def _caution_of_names(columns: list[TextColumn], guesses: list[Guess]) -> list[str]:
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
    marks = _is_in(column.tidied, column.marks)
    strays = column.distinct[0].filter(pc.and_not(guess.values.is_null(), marks))
    return strays.equals(pa.array([column.cells[0].as_py()])) and len(column.rows(strays)) == 1
