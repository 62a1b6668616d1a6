"""Guesses of what the cells of a table stand for, as formats that one can read and change.

Each column is judged by all of its cells. What the rules of `pandas.read_csv` read well needs no
format; each guess is told in a sentence. What no notation fits stays text.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import structs

from pipeline.data.arrow_types import as_text, is_number, is_text
from pipeline.data.csv import MISSING, infer
from pipeline.data.guess_notes import (
    MOST,
    caution_of_names,
    caution_of_unusable,
    caution_of_values,
    caution_of_versions,
    say_cells,
    say_marks,
    say_read,
    say_spellings,
    say_strays,
    say_unread,
    undecided,
    undecided_mark,
)
from pipeline.data.guess_numbers import Decimal, NumberGuess, guess_numbers
from pipeline.data.notations import (
    BOOLEANS,
    NUMBERS_OR_DATES,
    Typed,
    convert_cells,
    formats_of,
    is_clock,
    read_distinct,
    spell_dates,
    strip,
)
from pipeline.data.shapes import shapes
from pipeline.data.table_format import Boolean, ColumnFormat, Date, Duration, Number, Text, Time
from pipeline.data.text_column import (
    BLANK,
    PERHAPS,
    SAMPLE,
    STRAYS,
    Guess,
    Options,
    TextColumn,
    are_seasons,
    holds,
    is_in,
    is_scaled,
    stands_for_none,
)

_EXACT = 2**53
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
_ID = re.compile(r"(^|[^A-Za-z])(?i:id|uuid|guid)$|[a-z](Id|ID)$")
_CODE = re.compile(
    r"(?i)(^|[^a-z])(phone|telephone|tel|fax|zip|zip[ _-]?code|postcode|postal[ _-]?code|plz|iban|"
    r"isbn|ean|ssn|sku|barcode)([ _-]?(number|no|nr))?$"
)
_DATED = re.compile(
    r"(?i)(^|[^a-z])(date|datum|day|dt|dob|month|monat|period)([^a-z]|$)|[a-z]Date$"
)
_LASTS = re.compile(r"(?i)duration|elapsed|runtime|lap|pace|length|took|taken")


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
    notes += caution_of_names(columns, guesses)
    typed_columns = ((n, table[n]) for n in table.column_names if not is_text(table[n].type))
    notes += [note for each in typed_columns for note in caution_of_unusable(*each)]
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
        TextColumn(name, pc.if_else(is_in(texts, null), None, texts), options)
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
    column: TextColumn, format: Typed, why: str = "", *, strays: float = STRAYS
) -> Guess | None:
    """Return a guess if nearly all cells fit a format, with what to say of them."""
    raw, counts = column.distinct
    format = structs.replace(format, missing=tuple(filter(None, column.marks)))
    values, stray = read_distinct(raw, format)
    stray = stray.to_numpy(False)
    n = int(counts[stray].sum())
    if n > strays * column.counts.sum():
        return None
    notes = [*say_read(column, values, format, why)]
    if n:
        notes.append(say_strays(column, raw.filter(pa.array(stray)), format))
        format = structs.replace(format, stray="missing")
    notes += say_marks(column, column.marks)
    return Guess(format, (*notes, *caution_of_values(column, values)), values)


def _as_flag(column: TextColumn) -> Guess | None:
    """Guess that one mark is true, and nothing is false."""
    if len(column.distinct[0]) > SAMPLE:
        return None
    gaps = column.cells.null_count + column.count(column.marks)
    one = len(pc.unique(pc.utf8_lower(column.words))) == 1
    if not gaps or not one or not {*column.marks} <= BLANK or column.words[0].as_py() == "+":
        return None
    word = column.words[0].as_py()
    said = f"{column.name!r}: {word!r} ({say_cells(int(column.counts.sum()))}) is read as"
    if any(word.lower() in false for _, false in BOOLEANS):
        return Guess(Text(empty=True), (f"{said} one value, no value as another",))
    blank = tuple({"": 0, **dict.fromkeys(column.marks)})
    return Guess(Boolean(true=(word,), false=blank), (f"{said} true, no value as false",))


def _as_boolean(column: TextColumn) -> Guess | None:
    doubtful = [each for each in column.marks if each not in BLANK and each.lower() in PERHAPS]
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
    digits = holds(column.words, r"^-?\d+$")
    if column.counts[digits.to_numpy(False)].sum() < (1 - STRAYS) * column.counts.sum():
        return None
    if not (why := _why_code(column, column.words.filter(digits))):
        return None
    notes = f"{column.name!r} {why}: read as text", *say_marks(column, column.marks)
    cells = column.distinct[0]
    return Guess(Text(missing=column.marks, strip=not cells.equals(strip(cells))), notes)


def _why_code(column: TextColumn, digits: pa.Array) -> str:
    least = 1 if column.is_label else 2
    zeros = digits.filter(holds(digits, rf"^0\d{{{least},}}$"))
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
    if not found or are_seasons(column.words):
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
        raise undecided(
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
    agree = weights.min() <= STRAYS * weights.max() and weights[0] != weights[1]
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
    parts = [re.findall(r"\d+", cell)[:3:2] for cell in cells[:SAMPLE].to_pylist()]
    first, last = (len({each[i] for each in parts}) for i in (0, 1))
    alone = fits["y"] < min(fits["d"], fits["m"])
    return alone or (fits["y"] == min(fits.values()) and 2 * first <= last and last > _SOME)


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
    if guess_numbers(*column.sample).fits < MOST:
        return None
    found = guess_numbers(column.words, column.counts, column.options.decimal)
    found, why = _by_delimiter(column, found)
    undecided = found.open and column.options.decimal is None
    if found.open and not undecided:
        why = "as asked or as other columns say"
    guess = _fit(column, found.format, why) if found.fits >= 1 - STRAYS else None
    if not guess or is_scaled(column, found):
        return None
    if undecided and column.last and not why:
        raise undecided_mark(column, "," if found.format.thousands else ".")
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
        raise undecided_mark(column, ",")
    return other._replace(open=True), (
        "as semicolons part the cells; --decimal . reads the comma as one of thousands"
    )


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
    pointed = holds(column.words, r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$")
    small = holds(column.words, r"^[+-]?\d{1,3}$")
    if not pc.all(pc.or_(pointed, small)).as_py() or not pc.any(pointed).as_py():
        return None
    if column.options.decimal == ",":
        return _as_numbers(column)
    if column.options.decimal is None and column.last:
        raise undecided_mark(column, ".")
    return _plain_numbers(column)._replace(decimal=None, open=not column.last)


def _as_text(column: TextColumn) -> Guess:
    """Guess the marks of missing values among words, and spellings that are one value."""
    marks = tuple(each for each in column.marks if stands_for_none(each, among_words=True))
    kept = pc.invert(is_in(column.tidied, marks))
    cells, counts = column.distinct[0].filter(kept), column.distinct[1][kept.to_numpy(False)]
    format, notes = Text(missing=marks), say_marks(column, marks)
    if len(cells) <= min(_CATEGORIES, counts.sum() / 2):
        words = strip(cells)
        weights: Counter[str] = Counter()
        for word, n in zip(words.to_pylist(), counts.tolist(), strict=True):
            weights[word] += n
        same, apart = guess_spellings(weights)
        format = structs.replace(
            format, same=same if len(same) <= _SPELLINGS else {}, strip=not cells.equals(words)
        )
        notes = (*notes, *say_spellings(column, same, apart, weights, format))
    return Guess(format if format != Text() else None, (*notes, *say_unread(column)))


_Rule: TypeAlias = Callable[[TextColumn], Guess | None]
_OF_TEXTS: tuple[_Rule, ...] = (
    _as_code, _as_boolean, _as_dates, _as_durations, _as_plain_numbers, _as_numbers, _as_flag,
)  # fmt: skip
_OF_WORDS: tuple[_Rule, ...] = (_as_boolean, _as_flag)
_OF_INTEGERS: tuple[_Rule, ...] = (_as_flag, _as_code, _as_days)
_OF_FLOATS: tuple[_Rule, ...] = (_as_flag, _as_days, _as_thousands)


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
        often = counts[others[0]] > STRAYS * sum(counts[each] for each in groups[key])
        if often and len(key) <= _SHORT and len(others) == 1 and not boolean:
            apart.append((first, others[0]))
        else:
            same |= dict.fromkeys(others, first)
    return same, apart
