"""Guesses of how numbers are written, from all cells of a column."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import structs

from pipeline.data.notations import NUMBERS, bare, matches, number_look, scale_of, unscale
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
_CLOCKS = {"uhr", "am", "pm"}
"""What follows times of day, of which 7.30 is no number."""
_NO_NUMBERS = {".": r"[12]?\d?\d(\.[012]\d\d){3}", " ": r"\d{3} \d{3} \d{3}|\+.*"}
"""Addresses of machines, phone numbers: what parts their groups -> what all cells look like."""
_LETTERS = {"K", "M", "B"}
_UNITS = {"mm", "tn"}
"""What is a multiplier where nothing speaks against it, and what only beside one."""
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

    format: Number = Number()
    fits: float = 0.0
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
    is_scaled = _are_scaled(words)
    words = unscale(words) if is_scaled else words
    unit = _unit(words, counts)
    if pc.all(matches(words, r"\(\d+\)")).as_py() or unit.lower() in _CLOCKS:
        return NumberGuess()
    digits = bare(words, unit)
    seen = {mark for mark in ",. '" if pc.any(pc.match_substring(digits, mark)).as_py()}
    all_rows = [row.format for row in NUMBERS if isinstance(row.format, Number)]
    rows = [each for each in all_rows if (each.thousands or each.decimal) in seen | {"."}]
    fitting = [matches(digits, number_look(each)).to_numpy(False) for each in rows]
    fits = [float(counts[each].sum() / counts.sum()) for each in fitting]
    best = int(np.argmax(fits))
    format, digits = rows[best], digits.filter(pa.array(fitting[best]))
    either = {rows[i].decimal: rows[i] for i in reversed(range(len(rows))) if fits[i] == fits[best]}
    marked = [pc.match_substring(digits, mark).to_numpy(False) for mark in ",."]
    is_open, told = len(either) > 1 and any(each.any() for each in marked), None
    if is_open and marked[0].any():
        told = _told_by_integers(digits, int(alike[fitting[best]][marked[0]].sum()))
    if is_open:
        format = either[decimal or told or "."]
    grouped = _NO_NUMBERS.get(format.thousands)
    if grouped and pc.all(matches(digits, grouped)).as_py():
        return NumberGuess()
    format = structs.replace(format, unit=unit, scaled=is_scaled)
    return NumberGuess(format, fits[best], is_open and not told)


def _told_by_integers(digits: pa.Array, marked: int) -> Decimal | None:
    """Return the mark of decimals that integers tell, where each comma has three digits behind it.

    Four digits without one speak for decimals. Up to three speak for thousands, where there are
    many others: decimals would have one or two digits somewhere, or three in all cells.
    """
    if pc.any(matches(digits, r"[+-]?\d{4,}")).as_py():
        return ","
    return "." if marked >= _MANY and pc.any(matches(digits, r"[+-]?\d{1,3}")).as_py() else None


def _are_scaled(words: pa.Array) -> bool:
    """Whether letters behind digits are multipliers, and no units such as metres.

    What stands for nothing else tells; a K, M or B does beside another of them or large numbers, or
    if all have it. A K behind a blank is one of temperature.
    """
    if not pc.any(pc.match_substring_regex(words, r"\d ?\pL")).as_py():
        return False  # Most columns; the names of all multipliers take long to look for.
    found = scale_of(words)
    kelvin = pc.match_substring_regex(words, r"\d K( |$)")
    names = set(pc.unique(found.filter(pc.invert(kelvin)).drop_null()).to_pylist())
    sure = "k" in names or len(names & _LETTERS) > 1
    if sure or any(len(each) > 1 and each not in _UNITS for each in names):
        return True
    others = words.filter(found.is_null())
    large = pc.match_substring_regex(others, r"\d{4}|\d[,. ']\d{3}")
    return bool(names & _LETTERS) and (not len(others) or bool(pc.any(large).as_py()))


def units_of(words: pa.Array) -> pa.Array:
    """Return what stands beside the digits of cells, null where they are no number with a unit.

    >>> units_of(pa.array(["12 kg", "$5", "some"])).to_pylist()
    ['kg', '$', None]
    """
    found = pc.extract_regex(bare(words, ""), _UNIT)
    sides = (pc.struct_field(found, each) for each in ("before", "after"))
    return pc.utf8_trim_whitespace(pc.binary_join_element_wise(*sides, " "))


def _unit(words: pa.Array, counts: np.ndarray) -> str:
    """Return what stands beside the digits of most cells."""
    units = pc.fill_null(units_of(words), "").dictionary_encode()
    weights = np.bincount(units.indices.to_numpy(), weights=counts)
    weights[[each == "" for each in units.dictionary.to_pylist()]] = -1
    best = int(np.argmax(weights))
    return str(units.dictionary[best]) if weights[best] >= counts.sum() / 2 else ""


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
    is_day = pa.types.is_temporal(values.type)
    if is_day:
        values = values.cast(pa.timestamp("s", values.type.tz), safe=False).cast(pa.int64())
    numbers = np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    numbers = numbers / 86_400 if is_day else numbers
    others, far = np.unique(numbers[~np.isnan(numbers)]), []
    for end in (0, -1):
        while len(others) > 2 and _is_stand_in(others[end], is_day):
            far.append(others[end])
            others = np.delete(others, end)
    if not np.isfinite(others).all():
        far = []
    apart = [each for each in far if _is_apart(each, others) and counts[numbers == each].sum() > 1]
    return pa.array(np.isin(numbers, apart))


def _is_stand_in(value: float, is_day: bool) -> bool:
    return value in _DAYS if is_day else bool(_STAND_INS.fullmatch(f"{value:.15g}"))


def _is_apart(value: float, others: np.ndarray) -> bool:
    """Whether a value is no neighbour of the others; a zero may well be none and a value."""
    low, high = others[0], others[-1]
    spread, gap = high - low, max(low - value, value - high)
    if value < 0 <= low and len(others) >= _SOME:
        return True
    sure = value != 0 or len(others) >= (_SOME if gap > 10 * spread else _MANY)
    return bool(sure and gap > max(spread, _SOME))
