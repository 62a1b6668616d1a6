"""How the cells of a table stand for values, in words that one can read and change.

A task keeps it, and a saved model, so that later files are read as the first one was. Columns
that are not named are read by the rules of `pandas.read_csv`, see `pipeline.files.csv`.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Decimal = Literal[".", ","]


class _Struct(
    msgspec.Struct,
    frozen=True, kw_only=True, omit_defaults=True, repr_omit_defaults=True,
    forbid_unknown_fields=True,
):  # fmt: skip
    """What can be written as JSON, and as an expression."""


class _Typed(_Struct, frozen=True, kw_only=True):
    """What a cell may not fit.

    Parameters
    ----------
    missing : tuple of str
        Cells that stand for no value, beside those of the table.
    stray : {"error", "missing"}
        What becomes of cells that do not fit.
    """

    missing: tuple[str, ...] = ()
    stray: Literal["error", "missing"] = "error"


class Number(_Typed, frozen=True, kw_only=True, tag_field="kind", tag="number"):
    """Numbers as people write them, which become float64.

    Negative ones may also be written ``(5)`` or ``5-``. Blanks of any kind are alike.

    Parameters
    ----------
    decimal : {".", ","}
    thousands : str
        What parts groups of three digits: ``","``, ``"."``, ``" "``, ``"'"``; by default nothing.
    unit : str
        What stands before or behind the digits, as ``"$"``, ``"%"`` or ``"kg"``; the values are in
        this unit, so 12 % is 12, and so is 12 alone.
    """

    decimal: Decimal = "."
    thousands: str = ""
    unit: str = ""


class Date(_Typed, frozen=True, kw_only=True, tag_field="kind", tag="date"):
    """Dates, with or without a time.

    Parameters
    ----------
    format : str or tuple of str
        As for `datetime.strptime`, ``"%d.%m.%Y"``; of several the first that fits a cell counts.
        A quarter such as 2018Q3 is read as ``Jul-2018``, a week such as 2018W05 as ``2018-W05-1``.
    """

    format: str | tuple[str, ...]


class Time(_Typed, frozen=True, kw_only=True, tag_field="kind", tag="time"):
    """Times of day, which become that time on 1970-01-01.

    Parameters
    ----------
    format : str or tuple of str
        As for `datetime.strptime`, ``"%H:%M"``.
    """

    format: str | tuple[str, ...]


class Duration(_Typed, frozen=True, kw_only=True, tag_field="kind", tag="duration"):
    """Lengths of time such as 26:10:05 or 2 days 03:00:00, which become seconds."""


class Text(_Struct, frozen=True, kw_only=True, tag_field="kind", tag="text"):
    """Text, be it made of digits.

    Parameters
    ----------
    missing : tuple of str
    values : tuple of str
        Cells of CSV that are values, though `pandas.read_csv` takes them for missing, as ``"NA"``.
    empty : bool
        A cell without a value is the empty text, as text vectorizers want it.
    """

    missing: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    empty: bool = False


ColumnFormat: TypeAlias = Number | Date | Time | Duration | Text


class TableFormat(_Struct, frozen=True, kw_only=True):
    """How a file is written.

    Parameters
    ----------
    encoding : str
        Of text files, as Python names it.
    delimiter : str
        Of CSV files.
    skip_rows : int
        Lines above the line of names.
    strip_names : bool
        Whether blanks around the names of CSV are left out.
    missing : tuple of str
        Cells that stand for no value in any column, beside those of `pandas.read_csv`.
    columns : dict of str to ColumnFormat
        Of the columns that the rules of `pandas.read_csv` would not read.
    """

    encoding: str = "utf-8"
    delimiter: str = ","
    skip_rows: int = 0
    strip_names: bool = False
    missing: tuple[str, ...] = ()
    columns: dict[str, ColumnFormat] = {}
