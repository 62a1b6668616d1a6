"""How values are written in text, and how such text is read.

Each distinct text is read once, by pandas and Arrow, however often it occurs.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import DataError
from pipeline.files.csv import MISSING
from pipeline.files.table_format import ColumnFormat, Date, Duration, Number, Text, Time
from pipeline.table import arrow_types
from pipeline.table.arrow_types import MOMENT, Cells, is_text

Typed: TypeAlias = "Number | Date | Time | Duration"
"""Formats of which a cell may not fit one."""
NOUNS: dict[type[Typed], str] = {
    Number: "numbers",
    Date: "dates",
    Time: "times of day",
    Duration: "durations",
}


NUMBERS = (
    Number(),
    Number(decimal=","),
    Number(thousands=","),
    Number(decimal=",", thousands="."),
    Number(thousands=" "),
    Number(decimal=",", thousands=" "),
    Number(thousands="'"),
    Number(decimal=",", thousands="'"),
)
"""Marks of decimals and thousands; of those that fit as well, the first counts."""
DAYS = {
    "%d.%m.%Y": "-/. ",
    "%m/%d/%Y": "-/. ",
    "%Y-%m-%d": "-/. ",
    "%d.%m.%y": "-/.",
    "%m/%d/%y": "-/.",
    "%y-%m-%d": "-/.",
    "%d-%b-%Y": "-/. ",
    "%d%b%Y": "",
    "%d. %b %Y": "",
    "%d-%b-%y": "-/ ",
    "%b %d, %Y": "",
    "%b-%d-%Y": "-/. ",
    "%b %d %H:%M:%S %Y": "",
    "%b %d %H:%M:%S %z %Y": "",
    "%Y-%b-%d": "-/. ",
    "%b %Y": "-/. ",
    "%b-%y": "-",
    "%Y-%m": "-/",
    "%m/%Y": "-/",
    "%YM%m": "",
    "%Y年%m月%d日": "",
    "%Y年%m月": "",
    "%Y%m%d": "",
    "%Y%m%d%H%M%S": "",
    "%Y%m%dT%H%M%S": "",
    "%G-W%V-%u": "",
}
"""How days are written, for `strptime` -> what else may stand between their parts."""
CLOCKS = (
    "%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%H:%M:%S,%f", "%Hh%M", "%I:%M %p", "%I:%M:%S %p", "%I %p",
)  # fmt: skip
"""How times of day are written, alone or behind a day."""
_ZONES = ("", "%z", " %z")
_JOINS = r"T| - | at |, | |:"
NUMBERS_OR_DATES = {
    r"\d{8}": "%Y%m%d",
    r"\d{14}": "%Y%m%d%H%M%S",
    r"\d{6}": "%Y%m",
    r"\d{4}\.\d\d": "%Y.%m",
    r"\d\d?\.\d{4}": "%m.%Y",
}
"""What dates look like that are numbers, too."""
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_LONG_MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
)
_SIGNS = {
    "Y": r"\d{4}", "y": r"\d\d", "m": r"\d\d?", "d": r"\d\d?", "b": f"(?:{_MONTHS})",
    "B": f"(?:{_LONG_MONTHS})", "H": r"\d\d?", "I": r"\d\d?", "M": r"\d\d", "S": r"\d\d",
    "f": r"\d{1,9}", "p": "[ap]m", "z": r"(?:Z|[+-]\d\d:?\d\d)", "G": r"\d{4}", "V": r"\d\d?",
    "u": r"\d",
}  # fmt: skip
"""What the signs of `strptime` look like."""
_WEEKDAY = re.compile("(?i)(?:mon|tue|wed|thu|fri|sat|sun)([a-z]*day)?(,? )")
_YEAR = r"((?:19|20)\d\d)"
_SPELLINGS = (
    *((rf"(?i)^(?:{_YEAR}[-/ ]?Q ?{n}|(?:Q ?{n}|{n}Q)[-/ ]?{_YEAR})$", rf"{month}-\1\2")
      for n, month in enumerate(("Jan", "Apr", "Jul", "Oct"), 1)),
    (rf"(?i)^{_YEAR}[-/ ]?W ?(\d\d?)$", r"\1-W\2-1"),
    (r"(?i)\b(\d{1,2})(?:st|nd|rd|th)\b", r"\1"),
    (r"(?i)\bsept\b", "Sep"),
    (rf"(?i)\b({_MONTHS})\.", r"\1"),
    (r"(?i)\b(\d{1,2}) ?([ap])\.? ?m\b\.?", r"\1 \2m"),
    (r"(?i)(\d) ?(?:utc|gmt|z)$", r"\1Z"),
)  # fmt: skip
"""What `strptime` does not know -> how it is spelled for it."""
_LENGTH = r"[+-]?(?:\d+ days?,? )?\d+:\d\d:\d\d(?:\.\d+)?"
"""Lengths of time that `pandas.to_timedelta` reads as they are meant."""
_BLANKS = ((r"[\x{ad}\x{200b}-\x{200f}\x{2060}\x{feff}]", ""), (r"[\s\pZ]+", " "))
_KEYS = ((r"[\x{2019}\x{2bc}\x{b4}]", "'"), (r"[\x{2212}\x{fe63}\x{ff0d}]", "-"))
_SIGNED = r"[()]|-$|^[+-] "
_NEGATIVE = (
    (r"^\( ?([^()+-]*?) ?\)$", r"-\1"),
    (r"^([^()+-]*\d) ?-$", r"-\1"),
    (r"^([+-]) ", r"\1"),
)


def _look(format: str) -> re.Pattern[str]:
    """Return what is written in a format of `strptime` looks like."""
    signs = _SIGNS | dict.fromkeys("mdH" if re.search("%m%d|%H%M", format) else "", r"\d\d")
    look = re.sub("%(.)|([^%])", lambda m: signs[m[1]] if m[1] else re.escape(m[2]), format)
    return re.compile(f"(?i){look}")


_DAY_LOOKS = {
    day: _look(day)
    for format, marks in DAYS.items()
    for short in (format, *(format.replace(format[2], mark) for mark in marks))
    for day in (short, short.replace("%b", "%B"))
}
_CLOCK_LOOKS = {clock + zone: _look(clock + zone) for zone in _ZONES for clock in CLOCKS}


@lru_cache(maxsize=4096)
def formats_of(shape: str) -> tuple[str, ...]:
    """Return the formats of a date, or of a time of day, that is spelled for `strptime`.

    >>> formats_of("13/02/2018 10:30")
    ('%d/%m/%Y %H:%M', '%m/%d/%Y %H:%M')
    >>> formats_of("2018"), formats_of("10:30 pm")
    ((), ('%I:%M %p',))
    """
    if clocks := _fitting(shape, _CLOCK_LOOKS):
        return clocks
    weekday = _WEEKDAY.match(shape)
    before = ("%A" if weekday[1] else "%a") + weekday[2] if weekday else ""
    rest = shape[weekday.end() :] if weekday else shape
    if days := _fitting(rest, _DAY_LOOKS):
        short = [day for day in days if "%B" not in day]
        return tuple(before + day for day in short or days)
    for join in re.finditer(_JOINS, rest):
        clocks = _fitting(rest[join.end() :], _CLOCK_LOOKS)
        days = formats_of(rest[: join.start()]) if clocks else ()
        if days and not is_clock(days[0]):
            return tuple(before + day + join[0] + clocks[0] for day in days)
    return ()


def _fitting(text: str, looks: dict[str, re.Pattern[str]]) -> tuple[str, ...]:
    return tuple(format for format, look in looks.items() if look.fullmatch(text))


def is_clock(format: str) -> bool:
    """Whether a format is of times of day alone."""
    return format.startswith(("%H", "%I"))


def read_cells(
    cells: Cells, format: ColumnFormat, where: str, row: int = 0, quiet: float = 0.5
) -> Cells:
    """Return cells, from a row of the file on, as values; what has the type already passes.

    `DataError` names the row and value of a cell that does not fit. Where such cells are to be
    missing, a warning says so if they are more than the share `quiet`.

    >>> euros = Number(decimal=",", thousands=".", unit="€")
    >>> read_cells(pa.array(["1.234,5 €", None]), euros, "").to_pylist()
    [1234.5, None]
    """
    kind, types = cells.type, pa.types
    made = {
        Number: arrow_types.is_number(kind),
        Date: arrow_types.is_date(kind),
        Time: types.is_time(kind) or types.is_timestamp(kind),
        Duration: types.is_duration(kind) or types.is_floating(kind),
    }
    if not is_text(kind) and made.get(type(format), False):
        return arrow_types.plain_values(cells)
    cells = arrow_types.as_text(cells)
    distinct = pc.unique(cells)
    values, stray = read_distinct(distinct, format)
    if not isinstance(format, Text) and (strays := distinct.filter(stray)):
        _refuse(cells, strays, format, where, row, quiet)
    return values.take(pc.index_in(cells, value_set=distinct))


def _refuse(
    cells: Cells, strays: pa.Array, format: Typed, where: str, row: int, quiet: float
) -> None:
    """Reject cells that do not fit; where they are to be missing, warn of more than a share."""
    found = pc.is_in(cells, value_set=strays)
    at, n = pc.index(found, True).as_py(), pc.sum(found).as_py()
    value, noun, name = cells[at].as_py(), NOUNS[type(format)], type(format).__name__
    others = f" ({n:,} values do not fit)" if n > 1 else ""
    if format.stray == "error":
        raise DataError(
            f"{where} holds {value!r} in row {row + at}, but its format expects {noun}{others}; "
            f"correct the value, or change {name}(…) of this column in the task (missing="
            f"({value!r},), stray='missing' or another format) and run the task again"
        )
    if n > quiet * max(2, len(cells) - cells.null_count):
        warnings.warn(
            f"{where}: {n} of {len(cells)} values are not {noun} and are read as missing, such as "
            f"{value!r} in row {row + at}",
            UserWarning,
            stacklevel=3,
        )


def read_distinct(distinct: pa.Array, format: ColumnFormat) -> tuple[pa.Array, pa.Array]:
    """Return the values of cells, and which cells are neither a value nor missing."""
    words = tidy(distinct)
    values = {*format.values} if isinstance(format, Text) else set()
    usual = MISSING if values or not isinstance(format, Text) else ()
    named = pa.array(sorted({*format.missing, *usual} - values), pa.string())
    marked = pc.or_(pc.is_in(distinct, value_set=named), pc.is_in(words, value_set=named))
    missing = pc.or_(marked, pc.is_null(words))
    if isinstance(format, Text):
        texts = pc.if_else(missing, "" if format.empty else None, distinct)
        return texts, pa.array([False] * len(words))
    read = pc.if_else(missing, None, convert_cells(words, format))
    return read, pc.and_not(pc.is_null(read), missing)


def tidy(cells: Cells) -> Cells:
    r"""Return cells without blanks around and signs unseen, with a keyboard's apostrophe and minus.

    >>> tidy(pa.array(["\ufeff 1\u2019234\u200b ", "\u22125", "a\u202fb"])).to_pylist()
    ["1'234", '-5', 'a b']
    """
    if _holds(cells, r"[^\x20-\x7e]|  "):
        cells = pc.utf8_normalize(_substitute(cells, _BLANKS), "NFC")
        cells = _substitute(cells, _KEYS)
    return pc.utf8_trim_whitespace(cells)


def matches(cells: Cells, pattern: str) -> Cells:
    """Return which cells match a regular expression as a whole."""
    return pc.match_substring_regex(cells, f"^(?:{pattern})$")


def _holds(cells: Cells, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(cells, pattern)).as_py())


def convert_cells(words: pa.Array, format: Typed) -> pa.Array:
    """Return the values of tidy cells, null where one does not fit."""
    if isinstance(format, Number):
        return _numbers(bare(words, format.unit), format)
    if isinstance(format, Duration):
        # pandas also takes numbers without a unit, ranges, and decimal commas.
        known = pc.if_else(matches(words, _LENGTH), words, None).to_pandas()
        lengths = pd.to_timedelta(known, errors="coerce")
        return pa.Array.from_pandas(lengths.dt.total_seconds(), type=pa.float64())
    formats = (format.format,) if isinstance(format.format, str) else format.format
    words = spell_dates(words)
    dates = pc.coalesce(*(_dates(words, each) for each in formats))
    if isinstance(format, Date):
        return dates
    # `strptime` puts times of day on a day of 1900; here they are on the first of 1970.
    times = dates.to_pandas()
    return pa.Array.from_pandas(times - times.dt.normalize() + pd.Timestamp(0), type=MOMENT)


def bare(words: pa.Array, unit: str) -> pa.Array:
    """Return tidy cells without a unit, and with their sign in front.

    >>> bare(pa.array(["-$5", "($ 5)", "5-", "5 $", "(5"]), "$").to_pylist()
    ['-5', '-5', '-5', '5', '(5']
    """
    if unit:
        name = re.escape(unit)
        sides = ((rf"^([(+-]? ?){name} ?", r"\1"), (rf" ?{name}( ?[)-]?)$", r"\1"))
        words = _substitute(words, sides)
    return _substitute(words, _NEGATIVE) if unit or _holds(words, _SIGNED) else words


def _substitute(words: pa.Array, pairs: Iterable[tuple[str, str]]) -> pa.Array:
    for pattern, text in pairs:
        words = pc.replace_substring_regex(words, pattern, text)
    return words


def number_look(format: Number) -> str:
    """Return the regular expression of numbers without a unit, their sign in front.

    >>> look = number_look(Number(thousands=","))
    >>> [bool(re.fullmatch(look, each)) for each in ("1,234.5", "12,34", "-1e3")]
    [True, False, True]
    """
    point, whole = re.escape(format.decimal), r"\d+"
    if format.thousands:
        mark = re.escape(format.thousands)
        whole = rf"(?:{whole}|[1-9]\d{{0,2}}(?:{mark}\d{{3}})+"
        whole += r"|[1-9]\d?(?:,\d\d)+,\d{3})" if mark == "," else ")"  # As in India.
    number = rf"(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?"
    return rf"[+-]?(?:{number}|(?i:inf|infinity|∞))"


def _numbers(words: pa.Array, format: Number) -> pa.Array:
    digits = pc.if_else(matches(words, number_look(format)), words, None)
    pairs = {format.thousands: "", format.decimal: ".", "∞": "inf"}
    for written in filter(None, pairs):
        digits = pc.replace_substring(digits, written, pairs[written])
    return digits.cast(pa.float64())


def spell_dates(words: pa.Array) -> pa.Array:
    """Return tidy cells with the parts of a date spelled as `datetime.strptime` takes them.

    >>> spell_dates(pa.array(["1st Sept. 2018, 9:05 a.m.", "2018-02-01 10:00 UTC"])).to_pylist()
    ['1 Sep 2018, 9:05 am', '2018-02-01 10:00Z']
    >>> spell_dates(pa.array(["2018-Q3", "2018-W05"])).to_pylist()
    ['Jul-2018', '2018-W05-1']
    """
    return _substitute(words, _SPELLINGS) if _holds(words, "[A-Za-z]") else words


def _dates(words: pa.Array, format: str) -> pa.Array:
    """Return points in time that nanoseconds reach; those with an offset in UTC."""
    series = words.to_pandas()
    utc = "%z" in format
    dates = pd.to_datetime(series, format=format, errors="coerce", utc=utc)
    if re.fullmatch("(%[YymdHMS])+", format):
        # Without anything in between, `strptime` would also find fewer digits.
        dates = dates.where(dates.dt.strftime(format) == series)
    reached = arrow_types.usable(pa.Array.from_pandas(dates))
    return reached.cast(pa.timestamp("ns", "UTC") if utc else MOMENT)
