"""Guesses of how the values of a table are written, as formats that users can read and change.

Each column is examined by all of its distinct values. A column that the rules of `pandas.read_csv`
read well needs no format; each guess is reported in a sentence. What fits no notation stays text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import structs

from pipeline.errors import DataError
from pipeline.files import notations, text_column
from pipeline.files.csv import MISSING
from pipeline.files.notations import Typed, bare, convert_cells, matches, number_look
from pipeline.files.table_format import ColumnFormat, Date, Decimal, Duration, Text, Time
from pipeline.files.text_column import STRAYS, Guess, Options, TextColumn, holds, is_in, undecided
from pipeline.table.arrow_types import as_text, is_number, is_text

_EXACT = 2**53
_MANY = 20
"""So many different numbers are no dates by chance."""
_SOME = 3
_FORMS = 20
"""So many forms of a date may be mixed in a column, at most."""
_ID = re.compile(
    r"(?i)(^|[\W_])(id|uuid|guid|zip|zip[ _-]?code|postcode|postal[ _-]?code|plz|phone|phone[ _-]?"
    r"number|tel|iban|isbn|ean|ssn|sku|barcode)$|(?-i:[a-z](Id|ID))$"
)
_DATED = re.compile(r"(?i)(^|[^a-z])(date|day|dt|dob|month|period)([^a-z]|$)|(?-i:[a-z]Date$)")
_BEFORE = r"(?:[A-Za-z]{0,3}\p{Sc}|(?:CHF|EUR|GBP|USD|CAD|AUD|INR|SEK|NOK|DKK|PLN)|Rs\.?|[Kk]r\.?)"
_AFTER = r"[^\d\s.,;:()+'\"/<>=_#*±-][^\d()+;<>=*]{0,14}?[23]?"
_UNIT = (
    rf"^\(?[+-]? ?(?P<before>{_BEFORE})? ?[+-]?(?:\d[\d., ']*|[.,]\d+)(?:[eE][+-]?\d+)?"
    rf" ?(?P<after>{_AFTER})?[ )-]*$"
)
_CLOCKS = {"uhr", "am", "pm"}
"""What follows times of day, of which 7.30 is no number."""
_FACTORS = {"k", "m", "b", "bn", "mio", "mio.", "mln", "million", "mrd", "mrd.", "billion"}
"""Units that are multipliers where other cells have none."""
_NO_NUMBERS = {".": r"[12]?\d?\d(\.[012]\d\d){3}", " ": r"\d{3} \d{3} \d{3}|\+.*"}
"""Addresses of machines, phone numbers: what parts their groups -> what all cells look like."""


def sniff_columns(
    table: pa.Table, options: Options | None = None, missing: Collection[str] = ()
) -> tuple[dict[str, ColumnFormat], list[str]]:
    """Return the formats of the columns that the plain rules do not read well, and what to say.

    Columns of text are judged, others have their type. `DataError` says that day and month, or the
    mark of decimals, cannot be told.

    >>> formats, notes = sniff_columns(pa.table({"price": ["$1,234.50", "$7"]}))
    >>> formats["price"].unit, notes
    ('$', ["'price' holds numbers such as '$1,234.50', read as 1234.5"])
    """
    options = options or Options()
    columns = _text_columns(table, options, missing)
    guesses = [guess_column(column) for column in columns]
    decimals = {guess.decimal for guess in guesses} - {None}
    orders = {guess.day_first for guess in guesses} - {None}
    known = replace(
        options,
        decimal=options.decimal or (decimals.pop() if len(decimals) == 1 else None),
        day_first=orders.pop() if len(orders) == 1 else options.day_first,
    )
    for i, guess in enumerate(guesses):
        if guess.asks:
            guesses[i] = guess_column(replace(columns[i], options=known))
            if error := guesses[i].asks:
                raise error
    formats = {c.name: g.format for c, g in zip(columns, guesses, strict=True) if g.format}
    notes = [note for guess in guesses for note in guess.notes]
    typed_columns = ((n, table[n]) for n in table.column_names if not is_text(table[n].type))
    notes += [note for each in typed_columns for note in text_column.caution_of_unusable(*each)]
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


def guess_column(column: TextColumn) -> Guess:
    """Return what the cells of a column stand for: what the first rule that fits says."""
    kind = column.plain.type
    rules: tuple[Callable[[TextColumn], Guess | None], ...] = (_as_text,)
    if pa.types.is_integer(kind):
        rules = (_as_code, _as_days, _plain_numbers)
    elif is_number(kind):
        rules = (_as_days, _as_thousands, _plain_numbers)
    elif not pa.types.is_string(kind):
        return Guess()
    elif len(column.words) and not column.is_prose:
        lengths = partial(_fit, format=Duration())
        rules = (_as_code, _as_dates, lengths, _as_numbers, _as_text)
    return next(found for rule in rules if (found := rule(column)))


def _fit(
    column: TextColumn, format: Typed, why: str = "", *, strays: float = STRAYS
) -> Guess | None:
    """Return a guess if nearly all cells fit a format, with what to say of them."""
    raw, counts = column.distinct
    format = structs.replace(format, missing=tuple(filter(None, column.marks)))
    values, stray = notations.read_distinct(raw, format)
    n = int(counts[stray.to_numpy(False)].sum())
    if n > strays * column.counts.sum():
        return None
    notes = [*text_column.say_read(column, values, format, why)]
    if n:
        notes.append(text_column.say_strays(column, raw.filter(stray), format))
        format = structs.replace(format, stray="missing")
    notes += text_column.say_marks(column, column.marks)
    notes += text_column.caution_of_unusable(column.name, column.spread(values))
    return Guess(format, tuple(notes))


def _as_code(column: TextColumn) -> Guess | None:
    """Guess that digits name something."""
    found = holds(column.words, r"^-?\d+$")
    if column.share(found) < 1 - STRAYS:
        return None
    digits = column.words.filter(found)
    zeros = digits.filter(holds(digits, r"^0\d+$" if column.is_label else r"^0\d\d+$"))
    if len(zeros):
        why = f"codes with leading zeros, such as {zeros[0].as_py()!r}"
    elif column.is_label:
        return None
    elif _ID.search(column.name):
        why = "identifiers, as its name suggests"
    elif big := next((each for each in digits.to_pylist() if abs(int(each)) > _EXACT), ""):
        why = f"integers such as {big}, which float64 would round"
    else:
        return None
    notes = text_column.say_marks(column, column.marks)
    return Guess(Text(missing=column.marks), (f"{column.name!r} holds {why}; read as text", *notes))


def _as_dates(column: TextColumn) -> Guess | None:
    """Guess dates or times of day."""
    if not _forms(*column.sample):
        return None
    words, forms = column.words, _forms(column.words, column.counts)
    clock = notations.is_clock(forms[0][0])
    forms = [form for form in forms if notations.is_clock(form[0]) == clock]
    if clock:
        times, lengths = Time(format=_chosen(forms, "")), Duration()
        sure = _fit(column, times, strays=0.0) or _fit(column, lengths, strays=0.0)
        return sure or _fit(column, times)
    orders = {_head(each) for form in forms if len(form) > 1 for each in form}
    formats = {order: _chosen(forms, order) for order in sorted(orders)}
    read = {order: convert_cells(words, Date(format=each)) for order, each in formats.items()}
    if not orders:
        return _fit(column, Date(format=_chosen(forms, "")))
    if "y" in orders and _year_first(words, read):
        return _fit(column, Date(format=formats["y"]), "year first, as the last part varies more")
    told, example = _weigh(column, read)
    if not example:
        return _fit(column, Date(format=formats["d"]))
    day_first, why = (column.options.day_first, "requested or as in other columns")
    if told is not None:
        day_first, why = told, f"{example!r} shows"
    elif day_first is None and "." in example:
        day_first, why = True, "is usual with dots"
    said = f"{'month' if day_first is False else 'day'} first, as {why}"
    guess = _fit(column, Date(format=formats["m" if day_first is False else "d"]), said)
    asks = undecided(
        column,
        f"dates such as {example!r}, in which the day or the month may come first",
        "--dates day-first or --dates month-first (in Python, day_first=)",
    )
    return guess and guess._replace(day_first=told, asks=asks if day_first is None else None)


def _forms(words: pa.Array, counts: np.ndarray) -> list[tuple[str, ...]]:
    """Return which formats may read cells that differ in digits alone, the most frequent first."""
    spelled = notations.spell_dates(words)
    shapes = pc.replace_substring_regex(spelled, r"\d", "0").dictionary_encode()
    weights = np.bincount(shapes.indices.to_numpy(), weights=counts)
    found: Counter[tuple[str, ...]] = Counter()
    for shape, weight in zip(shapes.dictionary.to_pylist(), weights, strict=True):
        found[notations.formats_of(shape)] += weight
    return [form for form, _ in found.most_common(_FORMS) if form]


def _head(format: str) -> str:
    """Return which of day, month and year comes first."""
    return re.findall("%([dmyYbBG])", format)[0].lower()


def _chosen(forms: Iterable[tuple[str, ...]], first: str) -> str | tuple[str, ...]:
    """Return a format of each form: where it has several, the one that `first` comes first in."""
    found = (next((f for f in form if first and _head(f) == first), form[0]) for form in forms)
    formats = tuple(dict.fromkeys(found))
    return formats[0] if len(formats) == 1 else formats


def _weigh(column: TextColumn, read: dict[str, pa.Array]) -> tuple[bool | None, str]:
    """Return whether the day comes first, if unambiguous cells agree, and where that matters."""
    valid = [read[each].is_valid().to_numpy(False) for each in "dm"]
    tells = valid[0] != valid[1]
    weights = np.array([column.counts[each & tells].sum() for each in valid])
    differ = pc.fill_null(pc.not_equal(read["d"], read["m"]), False).to_numpy(False)
    shown = column.words.filter(pa.array(tells if tells.any() else differ))
    agree = weights.min() <= STRAYS * weights.max() and weights[0] != weights[1]
    example = shown[0].as_py() if len(shown) else ""
    return bool(weights[0] > weights[1]) if agree else None, example


def _year_first(words: pa.Array, read: dict[str, pa.Array]) -> bool:
    """Whether the year is first: no other order fits, or days would be years and years days."""
    gaps = {order: values.null_count for order, values in read.items()}
    parts = pc.extract_regex(words, r"^(?P<first>\d+)\D\d+\D(?P<last>\d+)")
    first, last = (pc.count_distinct(pc.struct_field(parts, i)).as_py() for i in (0, 1))
    others = min(gaps["d"], gaps["m"])
    return gaps["y"] < others or (gaps["y"] == others and 2 * first <= last and last > _SOME)


def _as_numbers(column: TextColumn) -> Guess | None:
    """Guess numbers, in the notation that fits most cells; one of these has a unit or none."""
    words, unit = column.words, _unit(*column.sample)
    few_classes = column.is_label and column.options.typed and len(words) <= _MANY
    bracketed = pc.all(matches(words, r"\(\d+\)")).as_py()
    is_factor = unit.lower() in _FACTORS and pc.any(matches(words, r"[\d.,' +-]+")).as_py()
    if few_classes or bracketed or is_factor or unit.lower() in _CLOCKS:
        return None
    digits = bare(words, unit)
    seen = {mark for mark in ",. '" if pc.any(pc.match_substring(digits, mark)).as_py()} | {"."}
    rows = [each for each in notations.NUMBERS if (each.thousands or each.decimal) in seen]
    fitting = [matches(digits, number_look(each)) for each in rows]
    fits = [column.share(each) for each in fitting]
    best = int(np.argmax(fits))
    format, digits = rows[best], digits.filter(fitting[best])
    either = {rows[i].decimal: rows[i] for i in reversed(range(len(rows))) if fits[i] == fits[best]}
    is_open, why = len(either) > 1 and pc.any(holds(digits, "[.,]")).as_py(), ""
    if is_open:
        format = either[column.options.decimal or "."]
        why = "as requested or as in other columns" if column.options.decimal else ""
    grouped = _NO_NUMBERS.get(format.thousands)
    if fits[best] < 1 - STRAYS or (grouped and pc.all(matches(digits, grouped)).as_py()):
        return None
    guess = _fit(column, structs.replace(format, unit=unit), why)
    if guess and is_open:
        mark = "," if format.thousands == "," else "."
        return guess if why else guess._replace(asks=_ask_mark(column, mark))
    tells = format.thousands or pc.any(pc.match_substring(words, format.decimal)).as_py()
    return guess and guess._replace(decimal=format.decimal if tells else None)


def _unit(words: pa.Array, counts: np.ndarray) -> str:
    """Return the unit beside the digits of most cells."""
    found = pc.extract_regex(bare(words, ""), _UNIT)
    sides = (pc.struct_field(found, each) for each in ("before", "after"))
    units = pc.utf8_trim_whitespace(pc.binary_join_element_wise(*sides, " "))
    units = pc.fill_null(units, "").dictionary_encode()
    weights = np.bincount(units.indices.to_numpy(), weights=counts)
    weights[[each == "" for each in units.dictionary.to_pylist()]] = -1
    best = int(np.argmax(weights))
    return str(units.dictionary[best]) if weights[best] >= counts.sum() / 2 else ""


def _ask_mark(column: TextColumn, mark: str) -> DataError:
    example = column.words.filter(pc.match_substring(column.words, mark))[0].as_py()
    what = f"numbers such as {example!r}, whose {'comma' if mark == ',' else 'point'} may separate"
    options = "--decimal , or --decimal . (in Python, decimal=)"
    return undecided(column, f"{what} decimals or thousands", options)


def _plain_numbers(column: TextColumn) -> Guess:
    """Say what may be wrong about numbers that the plain rules read."""
    pointed = pc.any(pc.match_substring(column.words, ".")).as_py()
    notes = tuple(text_column.caution_of_unusable(column.name, column.spread(column.plain)))
    return Guess(None, notes, decimal="." if pointed else None)


def _as_days(column: TextColumn) -> Guess | None:
    """Guess that numbers such as 20180201, 201802 or 02.2018 are dates."""
    words = column.words
    looks = notations.NUMBERS_OR_DATES.items()
    found = next((form for look, form in looks if pc.all(matches(words, look)).as_py()), None)
    if column.is_label or not found:
        return None
    years = pc.year(convert_cells(words, Date(format=found)))
    low, high = pc.min_max(years).as_py().values()
    if years.null_count or low < 1900 or high > 2100:
        return None
    by_name = _DATED.search(column.name)
    return _fit(column, Date(format=found)) if len(words) >= _MANY or by_name else None


def _as_thousands(column: TextColumn) -> Guess | None:
    """Guess what points before three digits are in all cells, from other columns."""
    pointed = holds(column.words, r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$")
    small = holds(column.words, r"^[+-]?\d{1,3}$")
    if not pc.all(pc.or_(pointed, small)).as_py() or not pc.any(pointed).as_py():
        return None
    if column.options.decimal == ",":
        return _as_numbers(column)
    asks = _ask_mark(column, ".") if column.options.decimal is None else None
    return _plain_numbers(column)._replace(decimal=None, asks=asks)


def _as_text(column: TextColumn) -> Guess:
    """Guess the marks of missing values among words."""
    marks = column.sure_marks
    notes = (*text_column.say_marks(column, marks), *text_column.say_text(column))
    return Guess(Text(missing=marks) if marks else None, notes)
