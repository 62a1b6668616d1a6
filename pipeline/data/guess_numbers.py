"""Guesses of how numbers are written, from all cells of a column."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import structs

from pipeline.data.notations import NUMBERS, bare, matches, number_look
from pipeline.data.table_format import Number
from pipeline.data.text_column import TextColumn, holds

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


def guess_numbers(column: TextColumn) -> NumberGuess:
    """Return the notation of numbers that fits most cells, in which one has a unit or none."""
    words, unit = column.words, _unit(*column.sample)
    bracketed = pc.all(matches(words, r"\(\d+\)")).as_py()
    is_factor = unit.lower() in _FACTORS and pc.any(matches(words, r"[\d.,' +-]+")).as_py()
    if bracketed or is_factor or unit.lower() in _CLOCKS:
        return NumberGuess()
    digits = bare(words, unit)
    seen = {mark for mark in ",. '" if pc.any(pc.match_substring(digits, mark)).as_py()} | {"."}
    rows = [row.format for row in NUMBERS if isinstance(row.format, Number)]
    rows = [each for each in rows if (each.thousands or each.decimal) in seen]
    fitting = [matches(digits, number_look(each)) for each in rows]
    fits = [column.share(each) for each in fitting]
    best = int(np.argmax(fits))
    format, digits = rows[best], digits.filter(fitting[best])
    either = {rows[i].decimal: rows[i] for i in reversed(range(len(rows))) if fits[i] == fits[best]}
    is_open = len(either) > 1 and bool(pc.any(holds(digits, "[.,]")).as_py())
    if is_open:
        format = either[column.options.decimal or "."]
    grouped = _NO_NUMBERS.get(format.thousands)
    if grouped and pc.all(matches(digits, grouped)).as_py():
        return NumberGuess()
    return NumberGuess(structs.replace(format, unit=unit), fits[best], is_open)


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
