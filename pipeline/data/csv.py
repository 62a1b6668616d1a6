"""CSV files: one set of rules for what their cells stand for, whoever reads them.

Arrow cuts a file into cells of text. The type of a column is found from all of its cells: the one
that `pandas.read_csv` finds, and dates where all are written as such. So a file has the same values
in training, in prediction (a number of rows at a time) and as a new task.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from pipeline.errors import DataError

Cells: TypeAlias = "pa.ChunkedArray | pa.Array"
MISSING: Sequence[str] = [*pyarrow.csv.ConvertOptions().null_values, "None", "<NA>"]
"""What stands for a missing value of any kind, quoted or not: the words of `pandas.read_csv`."""
NOUNS = {"boolean": "truth values", "date": "dates", "number": "numbers", "text": "text"}
"""The kinds of columns that cells are read as."""
_EXACT = 2**53
_DATES = (pa.timestamp("ns"), pa.timestamp("ns", "UTC"))
"""Without and with an offset from UTC behind the time."""


def without(cells: Cells, marks: Sequence[str]) -> Cells:
    """Return cells of text without those that stand for no value.

    >>> without(pa.array(["?", "a"]), ["?"]).to_pylist()
    [None, 'a']
    """
    if not marks:
        return cells
    return pc.if_else(pc.is_in(cells, value_set=pa.array(marks, cells.type)), None, cells)


def plain_integers(values: Cells) -> Cells:
    """Return integers beside missing values as pandas' floats, where these hold them."""
    low, high = _extremes(values)
    wide = max(-low, high) >= _EXACT
    rounded = pa.types.is_integer(values.type) and values.null_count and not wide
    return values.cast(pa.float64()) if rounded or pa.types.is_null(values.type) else values


def values_of(cells: Cells, whole: pa.DataType) -> Cells:
    """Return cells of text in the type of their whole column, of which they may be a part."""
    return cells if pa.types.is_string(whole) else infer(cells).cast(whole, safe=False)


def _extremes(values: Cells) -> tuple[int, int]:
    """Return the least and the largest integer, and 0; of other values 0 alone."""
    if not pa.types.is_integer(values.type):
        return 0, 0
    low, high = (each or 0 for each in pc.min_max(values).as_py().values())
    return min(low, 0), max(high, 0)


def infer(cells: Cells) -> Cells:
    """Return cells of text as what they are, all together.

    >>> columns = (["1", None], ["1", "x"], ["True", None], ["2024-02-29"], [None])
    >>> [str(infer(pa.array(cells)).type) for cells in columns]
    ['int64', 'string', 'bool', 'timestamp[ns]', 'null']
    """
    if cells.null_count == len(cells):
        return pa.nulls(len(cells))
    for read in (_numbers, _booleans, _dates):
        try:
            return read(cells)
        except pa.ArrowInvalid:
            continue
    return cells


def _numbers(cells: Cells) -> Cells:
    """Return integers or floats; of integers beyond 64 bits, which float64 merges, the texts."""
    digits, floats = _parse(cells)
    if not pc.all(pc.match_substring_regex(digits, r"^[+-]?\d+$")).as_py():
        return floats
    for kind in (pa.int64(), pa.uint64()):
        try:
            return pc.utf8_ltrim(digits, characters="+").cast(kind)
        except pa.ArrowInvalid:
            continue
    return cells


def _parse(cells: Cells) -> tuple[Cells, Cells]:
    """Return numbers without blanks around, as texts and as the nearest float64."""
    digits = pc.ascii_trim_whitespace(cells)
    floats = digits.cast(pa.float64())
    if pc.any(pc.is_nan(floats)).as_py():
        raise pa.ArrowInvalid("a mark of missing values between blanks is a text")
    return digits, floats


def _booleans(cells: Cells) -> Cells:
    words = pa.array(["true", "false"])
    if not pc.all(pc.is_in(pc.utf8_lower(cells.drop_null()), value_set=words)).as_py():
        raise pa.ArrowInvalid("only the words are truth values, and not 0 and 1")
    return cells.cast(pa.bool_())


def _dates(cells: Cells) -> Cells:
    """Return points in time, all without or all with an offset from UTC."""
    local, utc = _DATES
    try:
        return cells.cast(local)
    except pa.ArrowInvalid:
        return cells.cast(utc)


def as_kind(cells: Cells, where: str, kind: str, row: int) -> Cells:
    """Return cells of text as values of a kind of `NOUNS`, from a row of the file on."""
    try:
        return _of_kind(cells, kind)
    except pa.ArrowInvalid as error:
        # Beside those before it, the cell is the first that does not fit.
        at = bisect_left(range(len(cells)), True, key=lambda i: not _fits(cells[: i + 1], kind))
        ways = {"number": "1234.5", "date": "2018-02-01 10:30"}
        raise DataError(
            f"{where} holds {cells[at].as_py()!r} in row {row + at}, and the model was fitted on "
            f"{NOUNS[kind]}; write {ways.get(kind, 'True or False')}, or nothing"
        ) from error


def _of_kind(cells: Cells, kind: str) -> Cells:
    """Return text, dates, truth values, integers that float64 would round, or float64."""
    if kind in ("text", "date"):
        return _dates(cells) if kind == "date" else cells
    values = infer(cells)
    low, high = _extremes(values)
    if pa.types.is_boolean(values.type) or max(-low, high) >= _EXACT:
        return values
    if pa.types.is_string(values.type) or pa.types.is_timestamp(values.type):
        values = _parse(cells)[1]
    return values.cast(pa.float64())


def _fits(cells: Cells, kind: str) -> bool:
    try:
        _of_kind(cells, kind)
    except pa.ArrowInvalid:
        return False
    return True
