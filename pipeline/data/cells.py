"""Cells of text as the values that they stand for by the format of their column.

What can be told of each distinct cell is told once, by pandas and Arrow, however often it occurs.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.data.arrow_types import decoded, is_date, is_number, is_text
from pipeline.data.csv import MISSING
from pipeline.data.shapes import shapes, substitute
from pipeline.data.table_format import Boolean, ColumnFormat, Date, Duration, Number, Text, Time
from pipeline.errors import DataError

Cells: TypeAlias = "pa.ChunkedArray | pa.Array"
Typed: TypeAlias = "Number | Boolean | Date | Time | Duration"
"""Formats of which a cell may not fit one."""
NOUNS: dict[type[Typed], str] = {
    Number: "numbers",
    Boolean: "truth values",
    Date: "dates",
    Time: "times of day",
    Duration: "durations",
}
_DATE = pa.timestamp("ns")
_REACH = (pd.Timestamp("1677-09-22"), pd.Timestamp("2262-04-11"))
_INVISIBLE = r"[\x{ad}\x{200b}-\x{200f}\x{2060}\x{feff}]"
_OF_SHEETS = r'^="(.*)"$|^[="\']([+-]?\d[\d.,]*)["\']?$'
"""A cell that a spreadsheet is to take for text."""
_ABOUT = (
    r"^(?:[~～∼≈≃]|[Cc]a\.?|c\.|(?i:circa|approx\.?|approximately|about|around|roughly|etwa|"
    r"ungefähr|rund|env\.?|environ|aprox\.?|unos)) ?(\D{0,4}\d)"
)
_FOOTNOTE = (
    r"([\d\pL\p{Sc}%°²³).]) ?(?:\*+|[†‡§]+|\[(?:\w{1,3}|[Nn]ote \d+)\]| ?"
    r"\((?:[a-epr]|est\.?|estimated|[Nn]ote \d+)\))+$"
)
SCALES = {
    3: r"k|tsd\.?|thousand|tausend|mille|tys\.?",
    5: r"lakhs?|lacs?",
    6: r"mm?|mn|mio\.?|mln\.?|millions?|millionen|millones",
    7: r"crores?|cr\.?",
    9: r"b|bn|bln|mrd\.?|mld\.?|mds?|billions?|milliarden?|milliards?",
    12: r"t|tn|trillions?",
}
"""Powers of ten -> what stands for them behind digits."""
_INFINITE = r"(?i:inf|infinity|∞)"
_UNITS = {
    "W": "weeks?|wks?|w|wochen?|semaines?|semanas?",
    "D": "days?|d|tage?|jours?|días?",
    "h": r"hours?|hrs?|h|stunden?|std\.?|heures?|horas?",
    "min": r"min\.|minutes?|mins?|m|minuten?|minutos?",
    "s": r"seconds?|secs?|s|sekunden?|sek\.?|secondes?|segundos?",
}
_DIGITS = r"\d+(?:\.\d+)?"
_ISO = rf"^[+-]?P(?:{_DIGITS}W)?(?:{_DIGITS}D)?(?:T(?:{_DIGITS}H)?(?:{_DIGITS}M)?(?:{_DIGITS}S)?)?$"
_MONTHS = {
    "Jan": "januar|jänner|janvier|janv|enero|ene|gennaio|gen|januari|janeiro",
    "Feb": "februar|février|fevrier|févr|fevr|febrero|febbraio|februari|fevereiro|fev",
    "Mar": "märz|maerz|mär|mrz|mars|marzo|maart|mrt|março|marco",
    "Apr": "avril|avr|abril|abr|aprile",
    "May": "mai|mayo|maggio|mag|mei|maio",
    "Jun": "juni|juin|junio|giugno|giu|junho",
    "Jul": "juli|juillet|juil|julio|luglio|lug|julho",
    "Aug": "août|aout|agosto|ago|augustus",
    "Sep": "sept|septembre|septiembre|setiembre|settembre|set|setembro",
    "Oct": "oktober|okt|octobre|octubre|ottobre|ott|outubro|out",
    "Nov": "novembre|noviembre|novembro",
    "Dec": "dezember|dez|décembre|decembre|déc|diciembre|dic|dicembre|dezembro",
}
"""German, French, Spanish, Italian, Dutch and Portuguese; `strptime` knows English alone."""
_YEAR = r"((?:19|20)\d\d)"
_QUARTERS = {"1": "Jan", "2": "Apr", "3": "Jul", "4": "Oct"}
_PERIODS = (
    ("Q|T|Quartal|quarter", _YEAR, _QUARTERS),
    ("Q", r"'?(\d\d)", _QUARTERS),
    ("H|S|Halbjahr", _YEAR, {"1": "Jan", "2": "Jul"}),
)
"""What quarters and halves are called, how their years look, and their first months."""
_FOREIGN = tuple(
    (rf"(?i)(^|\PL)(?:{names})(\PL|$)", rf"\1{month}\2") for month, names in _MONTHS.items()
)
_SPELLINGS = (
    (rf"(?i)^{_YEAR}[-/ ]?M(\d\d)$", r"\1-\2"),
    (rf"(?i)^{_YEAR}[-/ ]?(?:W|KW|CW) ?(\d\d?)$", r"\1-W\2-1"),
    (rf"(?i)^(?:W|KW|CW|week) ?(\d\d?)(?:, ?|[-/ ]){_YEAR}$", r"\2-W\1-1"),
    (rf"(?i)^{_YEAR}W(\d\d)-?([1-7])$", r"\1-W\2-\3"),
    (rf"^{_YEAR}年(\d\d?)月(?:1日)?$", r"\1-\2-1"),
    (rf"^{_YEAR}年(\d\d?)月(\d\d?)日", r"\1-\2-\3"),
    (
        r"(?i)^(?:mo|di|mi|do|fr|sa|so|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch)[.,]* (\d)",
        r"\1",
    ),
    (r"(?i)^(?:lun|mar|mercre|jeu|vendre|same)di,? (\d)|^dimanche,? (\d)", r"\1\2"),
    (r"^(?:\pL{3} )?(\pL{3} \d\d?) ([\d:]{8})( [+-]\d{4})? (\d{4})$", r"\1 \4 \2\3"),
    (r"^(\d\d?/\pL{3}/\d{4}):(\d\d:)", r"\1 \2"),
    (r"(?i)(\d),? (?:at|um|à|alle|a las) (\d)", r"\1 \2"),
    (r"(?i)(^|\d[ T])(\d\d?) ?h ?(\d\d)$", r"\1\2:\3"),
    (r"(?i)^(\d\d?)[:.](\d\d) ?Uhr$", r"\1:\2"),
    (r"(?i)^(\d\d?) ?Uhr$", r"\1:00"),
    (r"(?i)^(\d\d?:\d\d) ?(?:h|hrs?)\.?$", r"\1"),
    (r"(?i)(:\d\d) ?([ap])$", r"\1 \2m"),
    (r"(?i)(^| )(\d\d?)\.(\d\d ?[ap]\.? ?m\b)", r"\1\2:\3"),
    (r"(?i)\b(\d{1,2})(?:st|nd|rd|th|er)\b", r"\1"),
    (r"(?i)(\d) de (\pL+) de (\d)", r"\1 \2 \3"),
    (r"(?i)\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\.", r"\1"),
    (r"(?i)\b(\d{1,2}) ?([ap])\.? ?m\b\.?", r"\1 \2m"),
    (r"(?i)(\d) ?(?:utc|gmt|z)$", r"\1Z"),
)
_CENTS = ((r"(\d)[.,] ?[-–—]{1,2}", r"\1"),)
_SIGNS = (
    (r"^\( ?([^()+-]*?) ?\)$", r"-\1"),
    (r"^([^()+-]*?) ?-$", r"-\1"),
    (r"^([+-]) ", r"\1"),
)
_PART = r"\d+(?:\.\d*)? ?(?:W|D|h|min|s|ms|us|ns)"
_CLOCK = r"[+-]?\d+:\d\d:\d\d(?:\.\d+)?"
_LENGTH = rf"^[+-]?(?:{_CLOCK}|{_PART}(?:,? ?{_PART})*(?:,? {_CLOCK})?)$"


def plain_types(table: pa.Table) -> pa.Table:
    """Return a table in which models find values that they know.

    Times of day become that time on 1970-01-01, durations seconds, decimals floats; categories of
    anything but text what they stand for.

    >>> import datetime
    >>> plain_types(pa.table({"at": [datetime.time(12, 30)]}))["at"][0].as_py().hour
    12
    """
    for i, (name, values) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if (plain := _plain(values)) is not values:
            table = table.set_column(i, name, plain)
    return table


def _plain(values: Cells) -> Cells:
    values = values if is_text(values.type) else decoded(values)
    kind = values.type
    if pa.types.is_time(kind):
        return values.cast(pa.time64("ns")).cast(pa.int64()).cast(_DATE)
    if pa.types.is_duration(kind):
        return pc.divide(values.cast(pa.duration("ns")).cast(pa.int64()).cast(pa.float64()), 1e9)
    if pa.types.is_string_view(kind):  # Arrow has few functions for it.
        return values.cast(pa.string())
    return values.cast(pa.float64()) if pa.types.is_decimal(kind) else values


def usable(values: Cells) -> Cells:
    """Return values that models take.

    Infinite numbers, and dates that nanoseconds do not reach, are missing.

    >>> usable(pa.array([1.5, float("inf")])).to_pylist()
    [1.5, None]
    """
    kind = values.type
    if pa.types.is_floating(kind):
        fine = pc.is_finite(values)
    elif is_date(kind) and getattr(kind, "unit", "") != "ns":
        seconds = values.cast(pa.timestamp("s", getattr(kind, "tz", None)), safe=False)
        first, last = (int(each.timestamp()) for each in _REACH)
        ticks = seconds.cast(pa.int64())
        fine = pc.and_(pc.greater_equal(ticks, first), pc.less_equal(ticks, last))
    else:
        return values
    return values if pc.all(fine).as_py() in (True, None) else pc.if_else(fine, values, None)


def as_text(values: Cells) -> Cells:
    """Return values as cells of text, categories as what they stand for."""
    values = decoded(values)
    if pa.types.is_floating(values.type):
        whole = pc.all(pc.equal(values, pc.trunc(values))).as_py()
        values = values.cast(pa.int64(), safe=False) if whole else values
    return values.cast(pa.string())


def read_cells(
    cells: Cells, format: ColumnFormat, where: str, row: int = 0, *, tell: bool = False
) -> Cells:
    """Return cells as values.

    Parameters
    ----------
    cells : pyarrow array
        Of text, null where a table has no value. What has the type of the format already passes.
    format : ColumnFormat
    where : str
        File and column, for the message.
    row : int
        Of the first cell in the file.
    tell : bool
        Whether to warn of any cell that is missing because it does not fit, not of many alone.

    Raises
    ------
    DataError
        A cell does not fit; row, value and what to do are named.

    Examples
    --------
    >>> read_cells(pa.array(["1.234,5 €", None]), Number(decimal=",", thousands=".", unit="€"), "")
    <pyarrow.lib.DoubleArray object at ...>
    [
      1234.5,
      null
    ]
    """
    if not is_text(cells.type) and _is_read(cells.type, format):
        return _plain(cells)
    cells = as_text(cells)
    distinct = pc.unique(cells)
    values, stray = read_distinct(distinct, format)
    if not isinstance(format, Text) and (strays := distinct.filter(stray)):
        _refuse(cells, strays, format, where, row, tell)
    return values.take(pc.index_in(cells, value_set=distinct))


def _is_read(kind: pa.DataType, format: ColumnFormat) -> bool:
    """Whether values are of the type that a format makes of cells, or become so in `_plain`."""
    types = pa.types
    of_format = {
        Number: is_number(kind),
        Boolean: types.is_boolean(kind),
        Date: is_date(kind),
        Time: types.is_time(kind) or types.is_timestamp(kind),
        Duration: types.is_duration(kind) or types.is_floating(kind),
    }
    return of_format.get(type(format), False)


def _refuse(
    cells: Cells, strays: pa.Array, format: Typed, where: str, row: int, tell: bool
) -> None:
    """Refuse cells that do not fit; where they are to be missing, warn if asked, or if most."""
    found = pc.is_in(cells, value_set=strays)
    at, n = pc.index(found, True).as_py(), pc.sum(found).as_py()
    value, noun, name = cells[at].as_py(), NOUNS[type(format)], type(format).__name__
    others = f" (and {n - 1} more cells are not)" if n > 1 else ""
    if format.stray == "error":
        raise DataError(
            f"{where} holds {value!r} in row {row + at}, and its format reads {noun}{others}; "
            f"correct it, or in the task's {name}(…) for this column write missing=({value!r},) or "
            "stray='missing' for all such cells, or another format, and run the task again"
        )
    if tell or n > max(1, (len(cells) - cells.null_count) / 2):
        warnings.warn(
            f"{where}: {n} of {len(cells)} cells are no {noun} and are read as missing, such as "
            f"{value!r} in row {row + at}",
            UserWarning,
            stacklevel=3,
        )


def read_distinct(distinct: pa.Array, format: ColumnFormat) -> tuple[pa.Array, pa.Array]:
    """Return the values of cells, and which cells are neither a value nor missing."""
    words = tidy(distinct)
    if isinstance(format, Boolean) and "" in format.true + format.false:
        words = pc.fill_null(words, "")
    missing = _stand_for_none(distinct, words, format)
    if isinstance(format, Text):
        return _texts(distinct, words, missing, format), pa.array([False] * len(words))
    values = pc.if_else(missing, None, convert_cells(words, format))
    return values, pc.and_not(pc.is_null(values), missing)


def _stand_for_none(distinct: pa.Array, words: pa.Array, format: ColumnFormat) -> pa.Array:
    values: set[str] = set()
    if isinstance(format, Boolean):
        values = {*format.true, *format.false}
    if isinstance(format, Text):
        values = {*format.values}
    usual = MISSING if values or not isinstance(format, Text) else ()
    marks = {*format.missing, *usual} - values
    named = pa.array(sorted(marks), pa.string())
    found = pc.or_(pc.is_in(distinct, value_set=named), pc.is_in(words, value_set=named))
    return pc.or_(found, pc.is_null(words))


def strip(cells: Cells) -> Cells:
    r"""Return cells without blanks around, signs that one does not see, and marks of sheets.

    >>> strip(pa.array(["\ufeff a\u202fb\u200b ", "e\u0301", '="01"', "'12"])).to_pylist()
    ['a b', 'é', '01', '12']
    """
    if _holds(cells, r"[^\x20-\x7e]|  "):
        cells = pc.replace_substring_regex(cells, _INVISIBLE, "")
        cells = pc.replace_substring_regex(cells, r"[\s\pZ]+", " ")
        cells = pc.utf8_normalize(cells, "NFC")
    cells = pc.utf8_trim_whitespace(cells)
    if not _holds(cells, _OF_SHEETS):
        return cells
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(cells, _OF_SHEETS, r"\1\2"))


def tidy(cells: Cells) -> Cells:
    r"""Return the same, with the apostrophes and minus signs of a keyboard.

    >>> tidy(pa.array(["1\u2019234 ", "\u22125"])).to_pylist()
    ["1'234", '-5']
    """
    cells = strip(cells)
    if _holds(cells, r"[^\x20-\x7e]"):
        cells = pc.replace_substring_regex(cells, r"[\x{2019}\x{2bc}\x{b4}]", "'")
        cells = pc.replace_substring_regex(cells, r"[\x{2212}\x{fe63}\x{ff0d}]", "-")
    return cells


def _holds(cells: Cells, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(cells, pattern)).as_py())


def _texts(distinct: pa.Array, words: pa.Array, missing: pa.Array, format: Text) -> pa.Array:
    values = strip(distinct) if format.strip else distinct
    if format.same:
        known, meant = pa.array(format.same), pa.array(format.same.values())
        for each in (words, distinct):
            values = pc.coalesce(meant.take(pc.index_in(each, value_set=known)), values)
    values = pc.if_else(missing, None, values)
    return pc.fill_null(values, "") if format.empty else values


def convert_cells(words: pa.Array, format: Typed) -> pa.Array:
    """Return the values of tidy cells, null where one does not fit."""
    if isinstance(format, Number):
        words = without_marks(words) if format.marked else words
        words = unscale(words) if format.scaled else words
        return _numbers(bare(words, format.unit), format)
    if isinstance(format, Boolean):
        return _booleans(words, format)
    if isinstance(format, Duration):
        return _durations(words)
    formats = (format.format,) if isinstance(format.format, str) else format.format
    dates = pc.coalesce(*(_dates(words, each) for each in formats))
    return _on_first_day(dates) if isinstance(format, Time) else dates


def without_cents(words: pa.Array) -> pa.Array:
    """Return prices without a dash in place of their decimals.

    >>> without_cents(pa.array(["5,-", "€5.--", "5-"])).to_pylist()
    ['5', '€5', '5-']
    """
    return substitute(words, _CENTS)


def without_marks(words: pa.Array) -> pa.Array:
    """Return tidy cells without what says "about", and without marks of footnotes.

    >>> without_marks(pa.array(["~12", "ca. 5 kg", "12*", "12[1]", "12 (a)"])).to_pylist()
    ['12', '5 kg', '12', '12', '12']
    """
    return substitute(words, ((_ABOUT, r"\1"), (_FOOTNOTE, r"\1")))


def unscale(words: pa.Array) -> pa.Array:
    """Return tidy cells with powers of ten for their multipliers.

    >>> unscale(pa.array(["1.2M", "$5k", "3 Mrd. €", "7"])).to_pylist()
    ['1.2e6', '$5e3', '3e9 €', '7']
    """
    pairs = ((scaled(names), rf"\1e{power}\3") for power, names in SCALES.items())
    return substitute(words, pairs)


def scaled(names: str) -> str:
    """Return the regular expression of digits with a multiplier, and perhaps a unit."""
    digits, unit = r"\D{0,6}\d[\d.,']*(?: \d{3})*", r"(?: ?\p{Sc}| \pL{3,14})?"
    return rf"(?i)^(?P<digits>{digits}) ?(?P<scale>{names})(?P<unit>{unit}[ )-]*)$"


def bare(words: pa.Array, unit: str) -> pa.Array:
    """Return tidy cells without a unit, and with their sign in front.

    >>> bare(pa.array(["-$5", "($ 5)", "5-", "5 $", "(5"]), "$").to_pylist()
    ['-5', '-5', '-5', '5', '(5']
    """
    words = without_cents(words)
    if unit:
        name = re.escape(tidy(pa.array([unit]))[0].as_py())
        words = pc.replace_substring_regex(words, rf"^([(+-]? ?){name} ?", r"\1")
        words = pc.replace_substring_regex(words, rf" ?{name}( ?[)-]?)$", r"\1")
    return substitute(words, _SIGNS)


def number_pattern(decimal: str, thousands: str) -> str:
    """Return the regular expression of numbers without sign and unit.

    >>> [bool(re.fullmatch(number_pattern(".", ","), each)) for each in ("1,234.5", "12,34", "1e3")]
    [True, False, True]
    """
    point, whole = re.escape(decimal), r"\d+"
    if thousands:
        mark = re.escape(thousands)
        whole = rf"(?:{whole}|[1-9]\d{{0,2}}(?:{mark}\d{{3}})+"
        whole += r"|[1-9]\d?(?:,\d\d)+,\d{3})" if thousands == "," else ")"  # As in India.
    return rf"(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?"


def _numbers(words: pa.Array, format: Number) -> pa.Array:
    thousands = tidy(pa.array([f"0{format.thousands}0"]))[0].as_py()[1:-1]
    pattern = rf"^[+-]?(?:{number_pattern(format.decimal, thousands)}|{_INFINITE})$"
    digits = pc.if_else(pc.match_substring_regex(words, pattern), words, None)
    if thousands:
        digits = pc.replace_substring(digits, thousands, "")
    for written, meant in ((format.decimal, "."), ("∞", "inf")):
        digits = pc.replace_substring(digits, written, meant)
    return digits.cast(pa.float64())


def _booleans(words: pa.Array, format: Boolean) -> pa.Array:
    true, false = (
        pc.is_in(pc.utf8_lower(words), value_set=_lower(spellings))
        for spellings in (format.true, format.false)
    )
    return pc.if_else(true, True, pc.if_else(false, False, pa.scalar(None, pa.bool_())))


def _lower(spellings: tuple[str, ...]) -> pa.Array:
    return pc.utf8_lower(tidy(pa.array(spellings, pa.string())))


def spell_dates(words: pa.Array) -> pa.Array:
    """Return tidy cells with the parts of a date spelled as `datetime.strptime` takes them.

    >>> spell_dates(pa.array(["1st Sept. 2018, 9:05 a.m.", "2018-02-01 10:00 UTC"])).to_pylist()
    ['1 Sep 2018, 9:05 am', '2018-02-01 10:00Z']
    >>> spell_dates(pa.array(["3 de febrero de 2018", "2018-Q3", "2018-W05", "7h30"])).to_pylist()
    ['3 Feb 2018', 'Jul-2018', '2018-W05-1', '7:30']
    """
    kinds = shapes(words).dictionary
    if not _holds(kinds, r"\pL"):
        return words
    foreign = _FOREIGN if _holds(kinds, rf"(?i)(^|\PL)(?:{'|'.join(_MONTHS.values())})") else ()
    return substitute(words, (*foreign, *_spell_periods(), *_SPELLINGS))


def _spell_periods() -> Iterator[tuple[str, str]]:
    """Yield how quarters and halves of a year are written, and their first months."""
    for name, year, months in _PERIODS:
        for n, month in months.items():
            yield rf"(?i)^{year}[-/ ]?(?:{name}) ?{n}$", rf"{month}-\1"
            yield rf"(?i)^(?:(?:{name}) ?{n}|{n}\.? ?(?:{name}))[-/ ]?{year}$", rf"{month}-\1"


def _dates(words: pa.Array, format: str) -> pa.Array:
    """Return points in time that nanoseconds reach; those with an offset in UTC."""
    series = spell_dates(words).to_pandas()
    utc = "%z" in format
    dates = pd.to_datetime(series, format=format, errors="coerce", utc=utc)
    if re.fullmatch("(%[YymdHMS])+", format):
        # Without anything in between, `strptime` would also find fewer digits.
        dates = dates.where(dates.dt.strftime(format) == series)
    reached = dates.between(*(each.tz_localize("UTC" if utc else None) for each in _REACH))
    kind = pa.timestamp("ns", "UTC") if utc else _DATE
    return pa.Array.from_pandas(dates.where(reached).dt.as_unit("ns"), type=kind)


def _on_first_day(times: pa.Array) -> pa.Array:
    """Return times of day, which `strptime` puts on a day of 1900, on the first of 1970."""
    series = times.to_pandas()
    return pa.Array.from_pandas(series - series.dt.normalize() + pd.Timestamp(0), type=_DATE)


def _spelled(iso: pa.Array) -> pa.Array:
    """Return ISO 8601 lengths by their units: pandas reads PT1.5H as another, and no PT111H."""
    for letter, unit in zip("WDHMS", ("W", "D", "h", "min", "s"), strict=True):
        iso = pc.replace_substring_regex(iso, rf"(\d){letter}", rf"\1 {unit} ")
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(iso, "[PT]", ""))


def _durations(words: pa.Array) -> pa.Array:
    """Return seconds."""
    iso, spelled = pc.match_substring_regex(words, _ISO), words
    for unit, spellings in _UNITS.items():
        pattern = rf"(?i)(\d) ?(?:{spellings})([^a-z]|$)"
        spelled = pc.replace_substring_regex(spelled, pattern, rf"\1 {unit}\2")
    spelled = pc.replace_substring_regex(spelled, r"^(\d+) h ?(\d\d)$", r"\1 h \2 min")
    words = pc.if_else(iso, _spelled(words), spelled)
    # pandas also takes numbers without a unit, ranges, and decimal commas for nothing.
    words = pc.if_else(pc.match_substring_regex(words, _LENGTH), words, None)
    lengths = pd.to_timedelta(words.to_pandas(), errors="coerce")
    return pa.Array.from_pandas(lengths.dt.total_seconds(), type=pa.float64())
