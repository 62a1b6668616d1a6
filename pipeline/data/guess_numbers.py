"""Guesses of how numbers are written, from all cells of a column."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import structs

from pipeline.data.notations import (
    NUMBERS,
    SCALES,
    bare,
    number_pattern,
    scaled,
    unscale,
    without_cents,
)
from pipeline.data.shapes import shapes
from pipeline.data.table_format import Number

Decimal = Literal[".", ","]
_CODES = (
    "USD|EUR|GBP|CHF|JPY|CNY|RMB|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|RON|BGN|TRY|RUB|UAH|BRL|"
    "MXN|ARS|CLP|COP|ZAR|KRW|HKD|SGD|TWD|THB|IDR|MYR|PHP|VND|ILS|AED|SAR|EGP|NGN|KES|PKR|BDT"
)
_BEFORE = rf"(?:[A-Za-z]{{0,3}}\p{{Sc}}|(?i:{_CODES})|Rs\.?|[Kk]r\.?|S?Fr\.?|zł|Kč)"
_AFTER = r"[^\d\s.,;:()+'\"/<>=_#*±-][^\d()+;<>=*]{0,14}?[23]?"
_UNIT = (
    rf"^\(?[+-]? ?(?P<before>{_BEFORE})? ?[+-]?(?:\d[\d., ']*|[.,]\d+)(?:[eE][+-]?\d+)?"
    rf" ?(?P<after>{_AFTER})?[ )-]*$"
)
_DIGITS = r"^\(?[+-]? ?[+-]?(?:\d[\d., ']*|[.,]\d+)(?:[eE][+-]?\d+)?[ )-]*$"
_NO_NUMBERS = {".": r"^[12]?\d?\d(\.[012]\d\d){3}$", " ": r"^(\d{3} \d{3} \d{3}|\+.*)$"}
"""Addresses of machines, phone numbers: what parts their groups -> what all cells look like."""
_LETTERS = {"K", "M", "B"}
_UNITS = {"mm", "tn"}
"""What is a multiplier where nothing speaks against it, and what only beside one."""
_CLOCKS = {"uhr", "am", "pm"}
"""What follows times of day, of which 7.30 is no number."""
_STAND_INS = re.compile(
    r"0|-[1789]|-?(?:7{2,6}|8{2,6}|9{2,6}|9{1,4}[78])|-32768|65535|-?2147483647|-2147483648|"
    r"-?\d(?:\.\d+)?e\+\d\d"
)
_DAYS = {
    float(np.datetime64(day, "D").astype(int))
    for day in ("1753-01-01", "1899-12-30", "1899-12-31", "1900-01-01", "1901-01-01")
    + ("1970-01-01", "2099-12-31", "2100-01-01", "2199-12-31")
}
"""Numbers and days that programs write where there is none."""
_SOME = 5
_MANY = 20


class NumberGuess(NamedTuple):
    """A guess of how numbers are written.

    Parameters
    ----------
    format : Number
    fits : float
        Share of the cells.
    open : bool
        Whether no cell tells if the comma or the point is one of decimals or of thousands.
    """

    format: Number
    fits: float
    open: bool = False


def guess_numbers(
    words: pa.Array, counts: np.ndarray, decimal: Decimal | None = None
) -> NumberGuess:
    """Return how numbers are written.

    Parameters
    ----------
    words : pyarrow array
        Distinct tidy cells.
    counts : numpy.ndarray
        How often each occurs.
    decimal : {".", ","}, optional
        The mark of decimals, if it is open.

    >>> found = guess_numbers(pa.array(["1.234,5 €", "7 €"]), np.ones(2)).format
    >>> found.decimal, found.thousands, found.unit
    (',', '.', '€')
    """
    codes = shapes(words)
    alike = np.bincount(codes.indices)
    words, counts = codes.dictionary, np.bincount(codes.indices, weights=counts)
    if pc.all(pc.match_substring_regex(words, r"^\(\d+\)$")).as_py():
        return NumberGuess(Number(), 0.0)
    is_scaled = _are_scaled(words)
    words = unscale(words) if is_scaled else words
    unit = _unit(words, counts)
    if unit.lower() in _CLOCKS:
        return NumberGuess(Number(), 0.0)
    digits = bare(words, unit)
    seen = {mark for mark in ",. '" if pc.any(pc.match_substring(digits, mark)).as_py()}
    fitting = [_fitting(digits, row.format, seen) for row in NUMBERS]
    fits = [float(counts[each].sum() / counts.sum()) for each in fitting]
    best = int(np.argmax(fits))
    digits = digits.filter(pa.array(fitting[best]))
    style, mark = NUMBERS[best].format, _open_mark(digits, fits)
    if mark:
        style = _resolve(mark, digits, decimal)
    if not _is_grouped_number(digits, style.thousands):
        return NumberGuess(Number(), 0.0)
    is_open = bool(mark) and not _tells(mark, digits, alike[fitting[best]])
    format = structs.replace(style, unit=unit, scaled=is_scaled)
    return NumberGuess(format, fits[best], is_open)


def scales(words: pa.Array) -> pa.Array:
    """Return the multiplier of each tidy cell, null where there is none.

    >>> scales(pa.array(["5k", "1.2M", "12"])).to_pylist()
    ['k', 'M', None]
    """
    found = pc.extract_regex(words, scaled("|".join(SCALES.values())))
    return pc.struct_field(found, "scale")


def _are_scaled(words: pa.Array) -> bool:
    """Whether letters behind digits are multipliers, and no units such as metres.

    What stands for nothing else tells; a K, M or B does beside another of them or large numbers, or
    if all have it. A K behind a blank is one of temperature.
    """
    if not pc.any(pc.match_substring_regex(words, r"\d ?\pL")).as_py():
        return False  # Most columns; the names of all multipliers take long to look for.
    found = scales(words)
    kelvin = pc.match_substring_regex(words, r"\d K( |$)")
    names = set(pc.unique(found.filter(pc.invert(kelvin)).drop_null()).to_pylist())
    if (
        "k" in names
        or len(names & _LETTERS) > 1
        or any(len(each) > 1 and each not in _UNITS for each in names)
    ):
        return True
    others = words.filter(found.is_null())
    large = pc.match_substring_regex(others, r"\d{4}|\d[,. ']\d{3}")
    return bool(names & _LETTERS) and (not len(others) or bool(pc.any(large).as_py()))


def _unit(words: pa.Array, counts: np.ndarray) -> str:
    """Return what stands beside the digits of most cells."""
    found = pc.extract_regex(without_cents(words), _UNIT)
    before, after = (pc.fill_null(pc.struct_field(found, each), "") for each in ("before", "after"))
    units = pc.utf8_trim_whitespace(pc.if_else(pc.equal(before, ""), after, before))
    encoded = units.dictionary_encode()
    weights = np.bincount(encoded.indices.to_numpy(), weights=counts)
    weights[[name == "" for name in encoded.dictionary.to_pylist()]] = -1
    best = int(np.argmax(weights))
    return str(encoded.dictionary[best]) if weights[best] >= counts.sum() / 2 else ""


def _fitting(digits: pa.Array, format: Number, seen: set[str]) -> np.ndarray:
    """Return which cells are numbers by some marks; none, if others have not been seen at all."""
    if (format.thousands or format.decimal) not in seen | {"."}:
        return np.zeros(len(digits), dtype=bool)
    pattern = number_pattern(format.decimal, format.thousands)
    pattern = rf"^[+-]?(?:{pattern}|(?i:inf|infinity|∞))$"
    return np.asarray(pc.match_substring_regex(digits, pattern).to_numpy(False), dtype=bool)


def _open_mark(digits: pa.Array, fits: list[float]) -> str:
    """Return the mark that may be one of decimals or of thousands, where the cells do not say."""
    for mark, (decimal, thousands) in {",": (1, 2), ".": (0, 3)}.items():
        alike = fits[decimal] == fits[thousands] == max(fits)
        if alike and pc.any(pc.match_substring(digits, mark)).as_py():
            return mark
    return ""


def _resolve(mark: str, digits: pa.Array, decimal: Decimal | None) -> Number:
    """Return the marks where one of them, followed by three digits each time, may be either."""
    if mark == ".":
        return Number(decimal=",", thousands=".") if decimal == "," else Number()
    is_decimal = decimal == "," or (decimal is None and _has_ungrouped(digits))
    return Number(decimal=",") if is_decimal else Number(thousands=",")


def _has_ungrouped(digits: pa.Array) -> bool:
    return bool(pc.any(pc.match_substring_regex(digits, r"^[+-]?\d{4,}$")).as_py())


def _tells(mark: str, digits: pa.Array, alike: np.ndarray) -> bool:
    """Whether integers without a comma tell what it is in the other cells.

    Four digits without one speak for decimals. Up to three speak for thousands, where there are
    many others: decimals would have one or two digits somewhere, or three in all cells.
    """
    marked = alike[pc.match_substring(digits, mark).to_numpy(False)].sum()
    small = pc.any(pc.match_substring_regex(digits, r"^[+-]?\d{1,3}$")).as_py()
    return mark == "," and (_has_ungrouped(digits) or (marked >= _MANY and small))


def _is_grouped_number(digits: pa.Array, thousands: str) -> bool:
    """Whether groups of digits are thousands, and not all addresses or all phone numbers."""
    pattern = _NO_NUMBERS.get(thousands)
    return not pattern or not pc.all(pc.match_substring_regex(digits, pattern)).as_py()


def guess_units(words: pa.Array) -> list[str]:
    """Return what stands beside the digits of cells, where all are numbers with a unit.

    >>> guess_units(pa.array(["12 kg", "500 g"])), guess_units(pa.array(["12 kg", "some"]))
    (['kg', 'g'], [])
    """
    found = pc.extract_regex(without_cents(words), _UNIT)
    sides = (pc.struct_field(found, each) for each in ("before", "after"))
    units = pc.unique(pc.utf8_trim_whitespace(pc.binary_join_element_wise(*sides, " ")))
    return [] if units.null_count else units.to_pylist()


def far_values(values: pa.Array, counts: np.ndarray) -> pa.Array:
    """Return which values, such as -999 or 1900-01-01, occur repeatedly and apart from all others.

    Apart is what is farther from the others than they are from each other, and what alone is
    negative beside many others.

    Parameters
    ----------
    values : pyarrow array
        Distinct numbers or points in time.
    counts : numpy.ndarray
        How often each occurs.

    Examples
    --------
    >>> far_values(pa.array([1.0, 2.5, -999.0]), np.array([1, 1, 2])).to_pylist()
    [False, False, True]
    """
    numbers, stand_in = _numbers(values), _is_stand_in_day
    if not pa.types.is_temporal(values.type):
        stand_in = _is_stand_in
    ordered = np.unique(numbers[~np.isnan(numbers)])
    others, far = ordered, []
    for end in (0, -1):
        while len(others) > 2 and stand_in(others[end]):
            far.append(others[end])
            others = np.delete(others, end)
    if not np.isfinite(others).all():
        far = []
    apart = [each for each in far if _is_apart(each, others) and counts[numbers == each].sum() > 1]
    return pa.array(np.isin(numbers, apart))


def _numbers(values: pa.Array) -> np.ndarray:
    """Return float64, of points in time the days since 1970."""
    if not pa.types.is_temporal(values.type):
        return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    seconds = values.cast(pa.timestamp("s", values.type.tz), safe=False).cast(pa.int64())
    return np.asarray(pc.divide(seconds.cast(pa.float64()), 86_400.0).to_numpy(False))


def _is_stand_in(value: float) -> bool:
    return bool(_STAND_INS.fullmatch(f"{value:.15g}"))


def _is_stand_in_day(value: float) -> bool:
    return value in _DAYS


def _is_apart(value: float, others: np.ndarray) -> bool:
    """Whether a value is no neighbour of the others; a zero may well be none and a value."""
    low, high = others[0], others[-1]
    spread, gap = high - low, max(low - value, value - high)
    if value < 0 <= low and len(others) >= _SOME:
        return True
    sure = value != 0 or len(others) >= (_SOME if gap > 10 * spread else _MANY)
    return bool(sure and gap > max(spread, _SOME))
