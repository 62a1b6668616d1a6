"""The cells of a CSV file: text until it is known what a column holds, so that nothing is guessed.

Arrow's own conversion takes the texts NA, None and null for missing values, and numbers for
float64, in which integers from 2**53 on fall together.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from pipeline.errors import DataError

DELIMITERS = ",;\t|"
MISSING: Sequence[str] = pa.array(pyarrow.csv.ConvertOptions().null_values)
"""What stands for a missing number, truth value or date; of texts, only the empty cell does."""
TYPES: Mapping[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "date": pa.timestamp("ns"),
    "number": pa.float64(),
    "text": pa.string(),
}
"""Kind of a column at fit -> what its cells become; other columns are as they look."""
_NOUNS = {"boolean": "truth values", "date": "dates", "number": "numbers"}
_EXACT = 2**53


def delimiter(path: Path) -> str:
    """Return what parts the columns of a file: that of `DELIMITERS` which its first line has most.

    Raises
    ------
    OSError
        The file cannot be read.
    """
    with path.open("rb") as file:
        head = file.readline().decode("utf-8", "replace")
    return max(DELIMITERS, key=head.count)


def parsing(path: Path) -> pyarrow.csv.ParseOptions:
    """Return how a file is cut into cells."""
    return pyarrow.csv.ParseOptions(delimiter=delimiter(path), newlines_in_values=True)


def texts(types: Mapping[str, pa.DataType], columns: Sequence[str]) -> pyarrow.csv.ConvertOptions:
    """Return how cells of texts are read: an unquoted empty one is missing, nothing else is."""
    return pyarrow.csv.ConvertOptions(
        column_types=types,
        include_columns=columns,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )


def batches(
    path: Path, columns: Sequence[str], kinds: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file, the columns of a known kind in its type.

    Parameters
    ----------
    path : Path
    columns : sequence of str
        To read, all of which there are.
    kinds : mapping of str to str
        Of columns.

    Raises
    ------
    DataError
        A cell is not of its column's kind; row and value are named.
    """
    _tell_open_end(path)
    known = {name: kinds[name] for name in columns if kinds.get(name) in TYPES}
    options = texts(dict.fromkeys(known, pa.string()), columns)
    row = 0
    with pyarrow.csv.open_csv(path, parse_options=parsing(path), convert_options=options) as reader:
        for batch in reader:
            made = {
                name: _converted(cells, name, known.get(name, ""), row)
                for name, cells in zip(batch.schema.names, batch.columns, strict=True)
            }
            row += batch.num_rows
            yield pa.RecordBatch.from_pydict(made)


def _tell_open_end(path: Path) -> None:
    """Warn where the last line has no end: what is cut there still looks like a value."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - 1, 0))
        last = file.read()
    if last not in (b"", b"\n", b"\r"):
        warnings.warn(
            f"{path}: the last line has no end; if the file was cut off, its last value is wrong",
            UserWarning,
            stacklevel=2,
        )


def _converted(cells: Any, name: str, kind: str, row: int) -> Any:
    if kind == "text" or not kind:
        return _whole(cells, name, row) if pa.types.is_string(cells.type) else cells
    given = pc.if_else(pc.is_in(cells, value_set=MISSING), None, cells)
    try:
        made = given.cast(TYPES[kind])
    except pa.ArrowInvalid as error:
        raise DataError(_misfit(given, name, kind, row)) from error
    return _exact(given, made) if kind == "number" else made


def _exact(given: Any, made: Any) -> Any:
    """Return whole numbers that are no float64 as integers."""
    largest = pc.max(pc.abs(made)).as_py()
    if largest is None or largest < _EXACT:
        return made
    try:
        return given.cast(pa.int64())
    except pa.ArrowInvalid:
        return made


def _whole(cells: Any, name: str, row: int) -> Any:
    damaged = pc.index(pc.match_substring(cells, "\0"), True).as_py()
    if damaged >= 0:
        raise DataError(
            f"column {name!r} holds a zero byte in row {row + damaged}: the file is damaged, or "
            "not UTF-8"
        )
    return cells


def _misfit(cells: Any, name: str, kind: str, row: int) -> str:
    at = next(i for i, cell in enumerate(cells) if not _fits(cell, TYPES[kind]))
    value = cells[at].as_py()
    point = "; write its comma as a point" if value.replace(",", "", 1).isdigit() else ""
    return (
        f"column {name!r} holds {value!r} in row {row + at}, and the model was fitted on "
        f"{_NOUNS[kind]}{point}"
    )


def _fits(cell: Any, kind: pa.DataType) -> bool:
    try:
        cell.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True
