"""Guesses of what the cells of a table stand for, as formats that one can read and change.

Each column is judged by all of its cells. What the rules of `pandas.read_csv` read well needs no
format; each guess is told in a sentence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.data.arrow_types import is_number, is_text
from pipeline.data.cells import Cells, as_text, usable
from pipeline.data.csv import MISSING
from pipeline.data.guess_column import Guess, guess_column
from pipeline.data.guess_numbers import Decimal
from pipeline.data.table_format import ColumnFormat
from pipeline.data.text_column import Options, Stray, TextColumn, say_rows


def sniff_columns(
    table: pa.Table,
    *,
    missing: Collection[str] = (),
    day_first: bool | None = None,
    decimal: Decimal | None = None,
    stray: Stray = "missing",
    labels: Collection[str] = (),
    source: str = "the table",
    typed: bool = False,
    delimiter: str = "",
) -> tuple[dict[str, ColumnFormat], list[str]]:
    """Return the formats of the columns that the plain rules do not read well, and what to say.

    Parameters
    ----------
    table : pyarrow.Table
        Columns of text are judged, others have their type.
    missing : collection of str
        Cells that stand for no value in any column, beside those of `pandas.read_csv`.
    day_first : bool, optional
        Whether 02/01/2018 is in January, where neither the column nor another one tells.
    decimal : {".", ","}, optional
        What the mark in 1,234 is, where neither the column nor another one tells.
    stray : {"missing", "error"}
        What becomes of the few cells that are no numbers, dates or times in a column of them.
    labels : collection of str
        Columns of class names, in which yes and no stay words.
    source : str
        File, for messages.
    typed : bool
        Whether columns of text are no numbers or dates by any rule, as in Parquet.
    delimiter : str
        What parts the cells: beside ``;`` a comma is rather one of decimals.

    Raises
    ------
    DataError
        Day and month cannot be told apart, or there are stray cells that should be an error.

    Examples
    --------
    >>> formats, notes = sniff_columns(pa.table({"price": ["$1,234.50", "$7"]}))
    >>> formats["price"].unit, notes
    ('$', ["'price' holds numbers such as '$1,234.50', read as 1234.5"])
    """
    options = Options(day_first, decimal, stray, labels, source, typed, delimiter)
    columns = text_columns(table, options, missing)
    guesses = [guess_column(column) for column in columns]
    known = _known(options, guesses)
    for i, guess in enumerate(guesses):
        if guess.open:
            guesses[i] = guess_column(replace(columns[i], options=known, last=True))
    formats = {c.name: g.format for c, g in zip(columns, guesses, strict=True) if g.format}
    notes = [note for guess in guesses for note in guess.notes]
    notes += _caution_of_names(columns, guesses)
    typed_columns = ((n, table[n]) for n in table.column_names if not is_text(table[n].type))
    notes += [note for each in typed_columns for note in _caution_of_unusable(*each)]
    return formats, notes


def decimals_of(table: pa.Table) -> dict[str, Decimal]:
    """Return what surely is the mark of decimals, by column.

    >>> decimals_of(pa.table({"a": ["1,5", "2"], "b": ["1.5", "2"], "c": ["1", "2"]}))
    {'a': ',', 'b': '.'}
    """
    options = Options(None, None, "missing", (), "the table")
    guesses = {each.name: guess_column(each) for each in text_columns(table, options)}
    return {name: guess.decimal for name, guess in guesses.items() if guess.decimal}


def text_columns(
    table: pa.Table, options: Options, missing: Collection[str] = ()
) -> list[TextColumn]:
    """Return the columns of text of a table."""
    null = pa.array([*MISSING, *missing], pa.string())
    return [
        TextColumn(name, _without(as_text(cells), null), options)
        for name, cells in zip(table.column_names, table.columns, strict=True)
        if is_text(cells.type)
    ]


def _without(cells: Cells, null: pa.Array) -> Cells:
    return pc.if_else(pc.is_in(cells, value_set=null), None, cells)


def _caution_of_unusable(name: str, values: Cells) -> Iterator[str]:
    """Say of typed values that no model takes."""
    lost = pc.and_(usable(values).is_null(), values.is_valid())
    if rows := pc.indices_nonzero(lost).to_pylist():
        what = "infinite" if is_number(values.type) else "beyond the years 1678 to 2261"
        yield (
            f"{name!r} holds {values[rows[0]].as_py()}: {say_rows(rows)} {what} and read as missing"
        )


def _known(options: Options, guesses: Iterable[Guess]) -> Options:
    """Return the options with what some columns tell of the others."""
    decimals = {guess.decimal for guess in guesses} - {None}
    orders = {guess.order.tells_day_first for guess in guesses if guess.order} - {None}
    return replace(
        options,
        decimal=options.decimal or (decimals.pop() if len(decimals) == 1 else None),
        day_first=orders.pop() if len(orders) == 1 else options.day_first,
    )


def _caution_of_names(columns: list[TextColumn], guesses: list[Guess]) -> list[str]:
    """Say of rows that hold the names again, and of a first one that is names or units."""
    held = sum(pc.equal(c.cells, c.name).fill_null(False).to_numpy() for c in columns)
    again = np.flatnonzero(2 * np.asarray(held) > max(len(columns), 2)).tolist()
    notes = []
    if again:
        more = f" and {len(again) - 1} more" * (len(again) > 1)
        notes = [f"row {again[0]}{more}: the names of the columns again; delete what is no row"]
    firsts = (c.cells[0].as_py() for c, g in zip(columns, guesses, strict=True) if _is_odd(c, g))
    if 0 not in again and (first := next(firsts, None)):
        notes.append(
            f"row 0, the first, looks like units or more names, as {first!r} shows: delete it in "
            "the file if it is"
        )
    return notes


def _is_odd(column: TextColumn, guess: Guess) -> bool:
    """Whether the first cell is the only one that is not of the kind of the others."""
    if guess.values is None or not len(column.cells) or not column.cells[0].is_valid:
        return False
    marks = pc.is_in(column.tidied, value_set=pa.array(column.marks, pa.string()))
    strays = column.distinct[0].filter(pc.and_not(guess.values.is_null(), marks))
    return strays.equals(pa.array([column.cells[0].as_py()])) and len(column.rows(strays)) == 1
