"""Guesses of how dates, times of day and durations are written, from all cells of a column."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.data.cells import convert_cells, spell_dates
from pipeline.data.shapes import shapes
from pipeline.data.table_format import Date, Duration, Time

_MONTHS = "january|february|march|april|june|july|august|september|october|november|december"
_PARTS = (
    (r"^\d{4}-W\d\d?-\d$", "%G-W%V-%u"),
    (r"(:\d\d(?:[.,]\d{1,9})?)( ?)(?:Z|[+-]\d\d:?\d\d)$", r"\1\2%z"),
    (r"(?i)(^|[^a-z])(?:mon|tues|wednes|thurs|fri|satur|sun)day([^a-z]|$)", r"\1%A\2"),
    (r"(?i)(^|[^a-z])(?:mon|tue|wed|thu|fri|sat|sun)([^a-z]|$)", r"\1%a\2"),
    (rf"(?i)(^|[^a-z])(?:{_MONTHS})([^a-z]|$)", r"\1%B\2"),
    (
        r"(?i)(^|[^a-z])(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)([^a-z]|$)",
        r"\1%b\2",
    ),
    (r"(^|[^\d:])\d{1,2}:\d\d:\d\d([.,])\d{1,9}", r"\1%H:%M:%S\2%f"),
    (r"(^|[^\d:])\d{1,2}:\d\d:\d\d", r"\1%H:%M:%S"),
    (r"(^|[^\d:])\d{1,2}:\d\d", r"\1%H:%M"),
    (r"(?i)%H([^ ]*) [ap]m$", r"%I\1 %p"),
    (r"(?i)(^| )\d{1,2} [ap]m$", r"\1%I %p"),
    (r"(^|\D)\d{14}(\D|$)", r"\1%Y%m%d%H%M%S\2"),
    (r"(^|\D)\d{8}(\D|$)", r"\1%Y%m%d\2"),
    (r"(%d[T ])\d{6}($|\D)", r"\1%H%M%S\2"),
    (r"(%d[T ])\d{4}($|\D)", r"\1%H%M\2"),
    (r"(%dT[%HMS]+)(?:Z|[+-]\d\d:?\d\d)$", r"\1%z"),
    (r"(^|\D)\d{4}(\D|$)", r"\1%Y\2"),
    (r"(^|\D)\d{1,2}(\D|$)", r"\1#\2"),
    (r"(^|\D)\d{1,2}(\D|$)", r"\1#\2"),
)
"""What a part of a date looks like -> its sign for `strptime`; ``#`` may be several."""
_DATES = {
    r"%Y([-/. ])#\1#": ("md",),
    r"#([-/. ])#\1%Y": ("dm", "md"),
    r"#([-/.])#\1#": ("dmy", "mdy", "ymd"),
    r"#(?:([-/. ]|)|\. )%[bB](?:\1| )%Y": ("d",),
    r"#([-/ ]|)%[bB]\1#": ("dy",),
    r"%[bB][-/. ]#(?:, ?|[-/. ])%Y": ("d",),
    r"%Y([-/. ])%[bB]\1#": ("d",),
    r"%[bB](?:[-/. ]|, |)%Y|%Y[-/. ]?%[bB]|%G-W%V-%u": ("",),
    r"%[bB](?: ?'|-)#": ("y",),
    r"%Y[-/]#": ("m",),
    r"#[-/]%Y": ("m",),
    r"%Y%m%d(?:%H%M%S)?": ("",),
}
"""How a date without a time is put together -> what each ``#`` may be."""
NUMBERS = {
    r"\d{8}": "%Y%m%d",
    r"\d{14}": "%Y%m%d%H%M%S",
    r"\d{6}": "%Y%m",
    r"\d{4}\.\d\d": "%Y.%m",
    r"\d\d?\.\d{4}": "%m.%Y",
}
"""What dates look like that are numbers, too."""
_TIME = r"%[HI].*"
_WHOLE = re.compile(rf"(?:%[aA],? )?(?P<date>.+?)(?:(?:T| |, | - ){_TIME})?")
_LENGTH = re.compile(r"duration|elapsed|runtime|lap|pace|length|took|taken", re.IGNORECASE)
_AGAINST = 0.05
"""Share of the cells that tell that may tell otherwise."""
_MONTH = "(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])"
_LOOK = (
    r"(?i)^\D{0,12}(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})(?:\D|$)|"
    r"^\d{1,2}[:h]\d\d(?:\D|$)|"
    r"^\d{1,2}(?:\.|e|er|st|nd|rd|th)?[ -](?:de )?\pL{3,9}\.?,?[ -](?:de )?\d{4}(?:\D|$)|"
    r"^(?:(?:19|20)\d\d[ -]?[QWKH]W?\d{1,2}|[QWKH]W?\d\d?[ -/](?:19|20)\d\d)$|"
    rf"^\d\d?/(?:19|20)\d\d$|^\d\d?[-. ]*{_MONTH}\pL*$|^{_MONTH}\pL*[-. ]*\d\d?$"
)
"""What looks like a date or a time, as a person may write it."""
_LOOKED_AT = 1000
"""Different cells from which it is judged whether years come first."""
_SOME = 3
_SHAPES = 20
"""So many forms of a date may be mixed in a column, at most."""


class Form(NamedTuple):
    """One form of dates: which cells have it, and what they can be.

    Parameters
    ----------
    cells : numpy.ndarray of bool
    formats : dict of str to str
        Order of day, month and year, ``""`` where there is but one -> format.
    """

    cells: np.ndarray
    formats: dict[str, str]


class Order(NamedTuple):
    """What speaks for an order of day and month, as numbers of cells."""

    day_first: int
    month_first: int
    open: int
    example: str = ""

    @property
    def tells_day_first(self) -> bool | None:
        """Whether the day comes first, if nearly all cells that tell agree."""
        day, month = self.day_first, self.month_first
        if min(day, month) > _AGAINST * max(day, month) or day == month:
            return None
        return day > month

    @property
    def dotted(self) -> bool:
        """Whether nothing speaks against the day, and points stand between."""
        return "." in self.example and not (self.day_first or self.month_first)


def forms(words: pa.Array, counts: np.ndarray) -> list[Form]:
    """Return the forms of dates, the most frequent first."""
    codes = shapes(spell_dates(words))
    kinds = _shape(codes.dictionary).dictionary_encode()
    place = kinds.indices.to_numpy()[codes.indices]
    order = np.argsort(-np.bincount(place, weights=counts), kind="stable")[:_SHAPES]
    found = ((i, formats_of(kinds.dictionary[i].as_py())) for i in order.tolist())
    return [Form(place == i, formats) for i, formats in found if formats]


def _shape(words: pa.Array) -> pa.Array:
    for look, sign in _PARTS:
        words = pc.replace_substring_regex(words, look, sign)
    return words


def formats_of(shape: str) -> dict[str, str]:
    """Return what a shape can be, by the order of its parts.

    >>> formats_of("#/#/%Y %H:%M")
    {'dm': '%d/%m/%Y %H:%M', 'md': '%m/%d/%Y %H:%M'}
    >>> formats_of("#-#"), formats_of("%Y-#-#")
    ({}, {'': '%Y-%m-%d'})
    """
    if re.fullmatch(r"%H:%M(:%S([.,]%f)?)?|%I(:%M(:%S)?)? %p", shape):
        return {"": shape}
    signs = re.findall("%.", shape)
    if len(signs) > len({*signs}) or not (whole := _WHOLE.fullmatch(shape)):
        return {}
    date = whole["date"]
    orders = next((o for look, o in _DATES.items() if re.fullmatch(look, date)), ())
    return {
        order if len(orders) > 1 else "": _fill(shape, order)
        for order in orders
        if shape.count("#") == len(order)
    }


def _fill(shape: str, order: str) -> str:
    for part in order:
        shape = shape.replace("#", f"%{part}", 1)
    return shape


def is_clock(format: str) -> bool:
    """Whether a format is of times of day alone."""
    return format.startswith(("%H", "%I"))


def weigh(words: pa.Array, counts: np.ndarray, found: Iterable[Form]) -> Order:
    """Return what speaks for either order of day and month."""
    day = month = undecided = 0
    example = ""
    for form in found:
        if not {"dm", "dmy"} & {*form.formats}:
            continue
        cells = _without_time(spell_dates(words.filter(pa.array(form.cells)))).dictionary_encode()
        weights = np.bincount(cells.indices.to_numpy(), weights=counts[form.cells])
        first, second = (_read(cells.dictionary, form.formats, each) for each in "dm")
        valid = first.is_valid().to_numpy(False), second.is_valid().to_numpy(False)
        differ = pc.fill_null(pc.not_equal(first, second), False).to_numpy(False)
        day += weights[valid[0] & ~valid[1]].sum()
        month += weights[valid[1] & ~valid[0]].sum()
        undecided += weights[differ].sum()
        decisive = (valid[0] != valid[1]) if (valid[0] != valid[1]).any() else differ
        shown = cells.dictionary.filter(pa.array(decisive))
        example = example or (shown[0].as_py() if len(shown) else "")
    return Order(int(day), int(month), int(undecided), example)


def _without_time(words: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(words, r"(?:T| |, | - )\d{1,2}(?::| [ap]m).*$", "")


def _read(words: pa.Array, formats: dict[str, str], first: str) -> pa.Array:
    format = next(f for order, f in formats.items() if order.startswith(first))
    return convert_cells(words, Date(format=re.sub(r"(?:T| |, | - )%[HI].*$", "", format)))


def choose_formats(words: pa.Array, found: Iterable[Form], first: str) -> tuple[str, ...]:
    """Return the formats of dates; day or month, ``"d"`` or ``"m"``, comes first."""
    chosen = [
        next(f for o, f in form.formats.items() if o.startswith(first) or not o)
        if not _year_first(words, form)
        else form.formats["ymd"]
        for form in found
    ]
    return tuple(_needed(words, chosen))


def _year_first(words: pa.Array, form: Form) -> bool:
    """Whether the first of three numbers of two digits is the year.

    It is where no other reading fits, and where days would be years and years days.
    """
    if "ymd" not in form.formats:
        return False
    cells = words.filter(pa.array(form.cells))
    fits = {o: convert_cells(cells, Date(format=f)).null_count for o, f in form.formats.items()}
    if fits["ymd"] != min(fits.values()):
        return False
    parts = [re.findall(r"\d+", cell)[:3:2] for cell in cells[:_LOOKED_AT].to_pylist()]
    first, last = (len({each[i] for each in parts}) for i in (0, 1))
    return fits["ymd"] < min(fits["dmy"], fits["mdy"]) or 2 * first <= last and last > _SOME


def _needed(words: pa.Array, formats: list[str]) -> list[str]:
    """Return the formats that read a cell which those before do not."""
    needed: list[str] = []
    missing = words
    if len(formats) == 1:
        return formats
    for format in formats:
        kind = Time if is_clock(format) else Date
        unread = convert_cells(missing, kind(format=format)).is_null()
        if not pc.all(unread).as_py():
            needed, missing = [*needed, format], missing.filter(unread)
    return needed


def share_of_dates(words: pa.Array, counts: np.ndarray) -> float:
    """Return the share of cells that look like dates or times, be they of a known form or not."""
    look = pc.match_substring_regex(words, _LOOK).to_numpy(False)
    return float(counts[look].sum() / counts.sum())


def are_seasons(words: pa.Array) -> bool:
    """Whether cells are years and the ones after, as 2010-11, and no months."""
    cells = [re.fullmatch(r"(\d{4})[-/](\d\d)", each) for each in words[:_LOOKED_AT].to_pylist()]
    return len(cells) > 1 and all(
        each is not None and (int(each[1]) + 1) % 100 == int(each[2]) for each in cells
    )


def are_durations(words: pa.Array) -> bool:
    """Whether cells look like lengths of time, and not like numbers of one short unit."""
    if convert_cells(words, Duration()).null_count > len(words) / 2:
        return False
    units = pc.unique(pc.replace_substring_regex(words, r"^[+-]?[\d.]+ ?([a-zA-Z])$", r"\1"))
    return len(units) > 1 or len(units[0].as_py()) > 1


def is_length(name: str) -> bool:
    """Whether the name of a column says that 1:23:45 is a length of time."""
    return bool(_LENGTH.search(name))
