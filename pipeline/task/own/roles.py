"""What a column of a table becomes: a number, a date, a category, words, or nothing."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.files.table_format import TableFormat, Time
from pipeline.table.arrow_types import decoded, is_date, is_number, is_text

FEW = 20
"""Distinct texts up to which each gets a column of its own."""
OWN = 0.5
"""Share of distinct texts among the rows above which a column tells rows apart, no more."""
WORDS, LONG = 3, 6
"""Words of a text, on average, from which texts of one row each are read; and any texts."""
ROLES = {
    "numbers": "numbers",
    "dates": "dates",
    "times": "times of day",
    "few": "categories with few values",
    "many": "categories with many values",
    "texts": "free text",
}
"""What columns are taken as."""
_ID = re.compile(
    r"(?i)(^|[\W_])(id|ids|nr|no|number|index|idx|key|code|uuid|guid|rowid)[\W_]*$|"
    r"(?-i:[a-z](Id|ID|Nr|No|Key|Index)$)"
)


@dataclass
class Roles:
    """The columns to learn from."""

    by_name: dict[str, list[str]]
    """Role of `ROLES` -> its columns, where there are some."""
    timed: bool
    """Whether a date has a time of day."""
    unused: dict[str, str]
    """Column -> why it is not used."""

    @property
    def used(self) -> list[str]:
        """All columns to learn from."""
        return [n for names in self.by_name.values() for n in names]


def assign_roles(table: pa.Table, names: Collection[str], read: TableFormat, rows: Any) -> Roles:
    """Say what each column of a table, as `read` reads it, becomes in the rows that are kept."""
    known, unused = table.take(rows), dict[str, str]()
    found: dict[str, list[str]] = {role: [] for role in ROLES}
    for name in names:
        if _numbers_rows(name, table[name]):
            role, why = "", "has a different number in each row"
        else:
            role, why = _role(name, decoded(known[name]), read)
        if role:
            found[role].append(name)
        else:
            unused[name] = why
    timed = any(_is_timed(known[name]) for name in found["dates"])
    return Roles({role: those for role, those in found.items() if those}, timed, unused)


def _role(name: str, values: pa.ChunkedArray, read: TableFormat) -> tuple[str, str]:
    """Return a role and an empty text, or no role and the reason."""
    if values.null_count == len(values):
        return "", "has no values"
    role = role_of_type(name, values.type, read)
    if not role:
        return "", f"is of type {values.type}, which is not supported"
    distinct = pc.count_distinct(values).as_py()
    if role == "dates":
        days = pc.unique(values.cast("date32", safe=False).cast("int32"))
        # Times of day are read as those of day 0.
        role = "times" if days.drop_null().to_pylist() == [0] else role
    if distinct == 1 and (role in ("dates", "times") or not values.null_count):
        return "", "has a single value"
    if role == "texts":
        return _text_role(values, distinct)
    return ("few" if distinct == 1 else role), ""


def role_of_type(name: str, kind: pa.DataType, read: TableFormat) -> str:
    """Return what values of a type may be: numbers, dates, times or texts; else nothing."""
    if is_date(kind):
        return "times" if isinstance(read.columns.get(name), Time) else "dates"
    numeric = is_number(kind) or pa.types.is_boolean(kind)
    return "numbers" if numeric else "texts" if is_text(kind) else ""


def _numbers_rows(name: str, values: pa.ChunkedArray) -> bool:
    """Whether whole numbers tell rows apart and no more."""
    whole = pa.types.is_integer(values.type) and not values.null_count
    if not whole or pc.count_distinct(values).as_py() != len(values):
        return False
    low, high = pc.min_max(values).as_py().values()
    return high - low == len(values) - 1 or bool(_ID.search(name))


def _text_role(values: pa.ChunkedArray, distinct: int) -> tuple[str, str]:
    if distinct <= FEW:
        return "few", ""
    known = len(values) - values.null_count
    words = pc.mean(pc.count_substring_regex(values.cast("string"), r"\pL\pL+")).as_py()
    own = distinct > OWN * known
    if words >= LONG or (own and words >= WORDS):
        return "texts", ""
    if own:
        return "", f"has {distinct:,} different texts in {known:,} rows, like an identifier"
    return "many", ""


def _is_timed(values: pa.ChunkedArray) -> bool:
    moments = values.cast("timestamp[ms]") if pa.types.is_date(values.type) else values
    return pc.count_distinct(pc.hour(moments)).as_py() > 1
