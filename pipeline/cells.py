"""What the cells of a CSV column stand for: what `pandas.read_csv` makes of all of them.

Whichever part of a file is read, in training or in prediction, a cell has one value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from pipeline.errors import DataError

MISSING: Sequence[str] = [*pyarrow.csv.ConvertOptions().null_values, "None", "<NA>"]
"""What stands for a missing value of any kind, quoted or not: the words of `pandas.read_csv`."""
NOUNS = {"boolean": "truth values", "date": "dates", "number": "numbers", "text": "text"}
"""The kinds of columns that cells are read as."""
_EXACT = 2**53
_WHOLE = {pa.int64(), pa.uint64()}
_SAFE = 15
"""Characters up to which every parser finds the same float64: 15 digits have one nearest."""


class Held(NamedTuple):
    """What the cells of a column are, as far as they have been seen.

    Parameters
    ----------
    kind : pyarrow.DataType
        Null, an integer, float64, bool or string.
    gaps : bool
        Whether some are missing.
    low, high : int
        The least and the largest integer, and 0.
    """

    kind: pa.DataType = pa.null()
    gaps: bool = False
    low: int = 0
    high: int = 0

    @classmethod
    def of(cls, cells: Any) -> Held:
        """Look at cells of text."""
        found = plain(cells)
        return cls(found.type, found.null_count > 0, *_extremes(found))

    def beside(self, other: Held) -> Held:
        """Return what all cells are, of both parts of a column.

        >>> Held(pa.int64(), gaps=True).beside(Held(pa.float64())).dtype
        'float64'
        >>> Held(pa.bool_()).beside(Held(pa.int64())).dtype
        'str'
        """
        low, high = min(self.low, other.low), max(self.high, other.high)
        kind = _common({self.kind, other.kind} - {pa.null()}, low)
        return Held(kind, self.gaps or other.gaps, low, high)

    @property
    def type(self) -> pa.DataType:
        """The Arrow type that is the same in all parts; integers with gaps are pandas' floats."""
        wide = max(-self.low, self.high) >= _EXACT
        rounded = pa.types.is_integer(self.kind) and self.gaps and not wide
        return pa.float64() if rounded or pa.types.is_null(self.kind) else self.kind

    @property
    def dtype(self) -> str:
        """The same as a type of pandas."""
        name = {"string": "str", "double": "float64"}.get(str(self.type), str(self.type))
        nullable = {"bool": "boolean", "int64": "Int64", "uint64": "UInt64"}
        return nullable.get(name, name) if self.gaps else name


def _common(kinds: set[pa.DataType], low: int) -> pa.DataType:
    """Return what holds cells of several types: text, where no type of numbers does."""
    if len(kinds) < 2:
        return next(iter(kinds), pa.null())
    if kinds <= _WHOLE:
        return pa.string() if low < 0 else pa.uint64()
    return pa.float64() if kinds <= {*_WHOLE, pa.float64()} else pa.string()


def _extremes(values: Any) -> tuple[int, int]:
    """Return the least and the largest integer, and 0; of other values 0 alone."""
    if not pa.types.is_integer(values.type):
        return 0, 0
    low, high = (each or 0 for each in pc.min_max(values).as_py().values())
    return min(low, 0), max(high, 0)


def plain(cells: Any) -> Any:
    """Return cells of text as what pandas takes them for, all together.

    >>> [str(plain(pa.array(c)).type) for c in (["1", None], ["1", "x"], ["True", None], [None])]
    ['int64', 'string', 'bool', 'null']
    """
    if cells.null_count == len(cells):
        return pa.nulls(len(cells))
    try:
        digits, floats = _numbers(cells)
    except pa.ArrowInvalid:
        return cells.cast(pa.bool_()) if _are_truths(cells) else cells
    for kind in (pa.int64(), pa.uint64()):
        try:
            return pc.utf8_ltrim(digits, characters="+").cast(kind)
        except pa.ArrowInvalid:
            continue
    if pc.all(pc.match_substring_regex(digits, r"^[+-]?\d+$")).as_py():
        return cells  # Beyond 64 bits, where float64 would make many one.
    return _rounded(digits, floats)


def _numbers(cells: Any) -> tuple[Any, Any]:
    """Return numbers without blanks around, as texts and as the nearest float64."""
    digits = pc.ascii_trim_whitespace(cells)
    floats = digits.cast(pa.float64())
    if pc.any(pc.is_nan(floats)).as_py():
        raise pa.ArrowInvalid("a mark of missing values between blanks is a text")
    return digits, floats


def _rounded(digits: Any, floats: Any) -> Any:
    """Return numbers as pandas rounds them, which is not to the nearest from 16 digits on."""
    longest = pc.max(pc.binary_length(digits)).as_py() or 0
    if longest <= _SAFE and not pc.any(pc.match_substring(digits, "e", ignore_case=True)).as_py():
        return floats
    return pa.array(pd.to_numeric(digits.to_pandas()), pa.float64(), from_pandas=True)


def _are_truths(cells: Any) -> bool:
    words = pa.array(["true", "false"])
    return bool(pc.all(pc.is_in(pc.utf8_lower(cells.drop_null()), value_set=words)).as_py())


def as_held(cells: Any, held: Held) -> Any:
    """Return cells of text in the type of their whole column, of which they may be a part."""
    made = cells if pa.types.is_string(held.kind) else plain(cells)
    return made.cast(held.type, safe=False)


_NULLABLE = {
    pa.bool_(): pd.BooleanDtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
}


def frame(texts: pa.Table, held: Mapping[str, Held]) -> pd.DataFrame:
    """Return cells of text as a frame, which has the same types for every part of a file."""
    return pd.DataFrame(
        {
            name: as_held(texts[name], each)
            .to_pandas(types_mapper=_NULLABLE.get)
            .astype(each.dtype)
            for name, each in held.items()
        }
    )


def as_kind(cells: Any, name: str, kind: str, row: int) -> Any:
    """Return cells of text as values of a kind; a `DataError` names the first that is none."""
    try:
        return _of_kind(cells, kind)
    except pa.ArrowInvalid as error:
        raise DataError(_misfit(cells, name, kind, row)) from error


def _of_kind(cells: Any, kind: str) -> Any:
    if kind == "text":
        return cells
    return cells.cast(pa.timestamp("ns")) if kind == "date" else _number(cells)


def _number(cells: Any) -> Any:
    """Return truth values, integers that float64 would round, or float64."""
    made = plain(cells)
    low, high = _extremes(made)
    if pa.types.is_boolean(made.type) or max(-low, high) >= _EXACT:
        return made
    return (_numbers(cells)[1] if pa.types.is_string(made.type) else made).cast(pa.float64())


def _misfit(cells: Any, name: str, kind: str, row: int) -> str:
    # Where each cell fits by itself, the column holds truth values among numbers.
    rules = (lambda cell: _of_kind(cell, kind)), _numbers
    at = next(i for r in rules for i in range(len(cells)) if not _fits(r, cells[i : i + 1]))
    value = cells[at].as_py()
    point = "; write its comma as a point" if value.replace(",", "", 1).isdigit() else ""
    return (
        f"column {name!r} holds {value!r} in row {row + at}, and the model was fitted on "
        f"{NOUNS[kind]}{point}"
    )


def _fits(rule: Callable[[Any], Any], cell: Any) -> bool:
    try:
        rule(cell)
    except pa.ArrowInvalid:
        return False
    return True
