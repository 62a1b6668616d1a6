"""How the text in a table is read as values, in a form that users can read and change.

Tasks and saved models store it, so that later files are read in the same way as the first one.
Columns that are not named are read by the rules of `pandas.read_csv`; see `pipeline.files.csv`.
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
    """A structure that can be written as JSON and as a Python expression."""


class _Typed(_Struct, frozen=True, kw_only=True):
    """A format that a value may not fit."""

    missing: tuple[str, ...] = ()
    """Words that mean a missing value, in addition to those of the table."""
    stray: Literal["error", "missing"] = "error"
    """What happens to values that do not fit."""


class Number(_Typed, frozen=True, kw_only=True, tag_field="kind", tag="number"):
    """Numbers as people write them; they become float64.

    Negative numbers may also be written ``(5)`` or ``5-``. All kinds of spaces are equivalent.
    """

    decimal: Decimal = "."
    thousands: str = ""
    """Thousands separator: ``","``, ``"."``, ``" "``, ``"'"``; by default none."""
    unit: str = ""
    """Text before or after the digits, such as ``"$"``, ``"%"`` or ``"kg"``. Values are in this
    unit: both ``12 %`` and ``12`` are read as 12."""


class Date(_Typed, frozen=True, kw_only=True, tag_field="kind", tag="date"):
    """Dates, with or without a time."""

    format: str | tuple[str, ...]
    """As for `datetime.strptime`, such as ``"%d.%m.%Y"``; of several, the first that fits a value.
    A quarter such as 2018Q3 is read as ``Jul-2018``, a week such as 2018W05 as ``2018-W05-1``."""


class Time(_Typed, frozen=True, kw_only=True, tag_field="kind", tag="time"):
    """Times of day; they become that time on 1970-01-01."""

    format: str | tuple[str, ...]
    """As for `datetime.strptime`, such as ``"%H:%M"``."""


class Duration(_Typed, frozen=True, kw_only=True, tag_field="kind", tag="duration"):
    """Durations such as 26:10:05 or 2 days 03:00:00; they become seconds."""


class Text(_Struct, frozen=True, kw_only=True, tag_field="kind", tag="text"):
    """Text, even if it consists of digits."""

    missing: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    """Words of a CSV file that are values although `pandas.read_csv` reads them as missing, such as
    ``"NA"``."""
    empty: bool = False
    """Read missing values as empty text, as text vectorizers require."""


ColumnFormat: TypeAlias = Number | Date | Time | Duration | Text


class TableFormat(_Struct, frozen=True, kw_only=True):
    """How a file is written."""

    encoding: str = "utf-8"
    """Encoding of text files, by its name in Python."""
    delimiter: str = ","
    """Delimiter of CSV files."""
    skip_rows: int = 0
    """Number of lines above the column names."""
    strip_names: bool = False
    """Whether to remove spaces around the column names of CSV files."""
    missing: tuple[str, ...] = ()
    """Words that mean a missing value in any column, in addition to those of `pandas.read_csv`."""
    columns: dict[str, ColumnFormat] = {}
    """Formats of the columns that the rules of `pandas.read_csv` would misread."""
