"""What a column of a table becomes: a number, a date, a category, words, or nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.data.arrow_types import decoded, is_date, is_number, is_text
from pipeline.data.table_format import TableFormat, Time

FEW = 20
"""Distinct texts up to which each gets a column of its own."""
OWN = 0.5
"""Share of distinct texts among the rows above which a column tells rows apart, no more."""
NOT_ASKED = "is not among FEATURES"
WORDS, LONG = 3, 6
"""Words of a text, on average, from which texts of one row each are read; and any texts."""
_ID = re.compile(r"(?i)(^|[\W_])(id|ids|nr|no|number|index|idx|key|code|uuid|guid|rowid)[\W_]*$")
_CAMEL = re.compile(r"[a-z](Id|ID|Nr|No|Key|Index)$")
SHOWN = 20
"""Columns, or notes, that are listed; of the others their number is told."""
_PARTS = {
    "days_since": lambda times: pc.floor_temporal(times, unit="day"),
    "month": pc.month,
    "day": pc.day,
    "weekday": pc.day_of_week,
    "hour": pc.hour,
    "minute": pc.minute,
}
"""Features of a date, and what tells whether they vary."""


@dataclass
class Roles:
    """The columns to learn from.

    Attributes
    ----------
    numbers, dates, times, few, many, texts : list of str
        Numbers and flags; dates; times of day; categories of few values, of many; free text.
    calendar, clock : list of str
        Features of the dates and of the times of day that vary.
    unused : dict of str to str
        Column -> why it is not used.
    """

    numbers: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)
    times: list[str] = field(default_factory=list)
    few: list[str] = field(default_factory=list)
    many: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    calendar: list[str] = field(default_factory=list)
    clock: list[str] = field(default_factory=list)
    unused: dict[str, str] = field(default_factory=dict)

    @property
    def used(self) -> list[str]:
        """All columns to learn from."""
        return [n for names in self.by_name().values() for n in names]

    def by_name(self) -> dict[str, list[str]]:
        """Return the columns by what they are, without what there is none of.

        >>> Roles(numbers=["a"], texts=["b"]).by_name()
        {'numbers': ['a'], 'texts': ['b']}
        """
        names = ("numbers", "dates", "times", "few", "many", "texts")
        return {name: getattr(self, name) for name in names if getattr(self, name)}


def assign_roles(
    table: pa.Table, names: Collection[str], read: TableFormat, rows: Any, *, asked: bool = False
) -> Roles:
    """Say what each column becomes.

    Parameters
    ----------
    table : pyarrow.Table
        As `read` reads it.
    names : collection of str
    read : TableFormat
    rows : pyarrow array
        Numbers of the rows that are learnt from.
    asked : bool
        Whether these columns were asked for by name, ids and row numbers too.
    """
    roles = Roles()
    known = table.take(rows)
    for name in names:
        why = "" if asked else _numbers_rows(name, table[name])
        role, why = ("", why) if why else _role(name, known[name], read, asked)
        if role:
            getattr(roles, role).append(name)
        else:
            roles.unused[name] = why
    roles.calendar = [p for p in _PARTS if any(_varies(known[name], p) for name in roles.dates)]
    clock = ("hour", "minute")
    roles.clock = [p for p in clock if any(_varies(known[name], p) for name in roles.times)]
    return roles


def _role(name: str, values: pa.ChunkedArray, read: TableFormat, asked: bool) -> tuple[str, str]:
    """Return a role and an empty text, or no role and the reason."""
    values = decoded(values)
    kind, distinct = values.type, _distinct(values)
    if values.null_count == len(values):
        return "", "has no values"
    if distinct is None:
        return "", f"is of type {kind}, which no program here takes"
    role = role_of_type(name, kind, read)
    if role == "dates" and _is_time(values):
        role = "times"
    if distinct == 1 and (role in ("dates", "times") or not values.null_count):
        return "", "has one value"
    if role == "texts":
        return _text_role(values, distinct, asked)
    if not role:
        return "", f"is of type {kind}, which no program here takes"
    return ("few" if distinct == 1 else role), ""


def _is_time(values: pa.ChunkedArray) -> bool:
    """Return whether all dates are of the day that times of day are read as."""
    days = values.cast("date32", safe=False)
    return bool(pc.all(pc.equal(days, pa.scalar(0, "int32").cast("date32"))).as_py())


def role_of_type(name: str, kind: pa.DataType, read: TableFormat) -> str:
    """Return what values of a type may be: numbers, dates, times or texts; else nothing."""
    if is_date(kind):
        return "times" if isinstance(read.columns.get(name), Time) else "dates"
    return "numbers" if is_numeric(kind) else "texts" if is_text(kind) else ""


def _numbers_rows(name: str, values: pa.ChunkedArray) -> str:
    """Return why whole numbers tell rows apart and no more, or nothing."""
    if not pa.types.is_integer(values.type) or values.null_count:
        return ""
    if _distinct(values) != len(values):
        return ""
    low, high = pc.min_max(values).as_py().values()
    if high - low == len(values) - 1:
        return "numbers the rows"
    if _ID.search(name) or _CAMEL.search(name):
        return "has another number in each row"
    return ""


def _text_role(values: pa.ChunkedArray, distinct: int, asked: bool) -> tuple[str, str]:
    if distinct <= FEW:
        return "few", ""
    known = len(values) - values.null_count
    words = pc.mean(pc.count_substring_regex(values.cast("string"), r"\pL\pL+")).as_py()
    own = distinct > OWN * known
    if words >= LONG or (own and words >= WORDS):
        return "texts", ""
    if own and not asked:
        return "", f"has {distinct:,} texts in {known:,} rows, which tell rows apart"
    return "many", ""


def _varies(values: pa.ChunkedArray, part: str) -> bool:
    times = values.cast("timestamp[ms]") if pa.types.is_date(values.type) else values
    return _distinct(_PARTS[part](times)) != 1


def _distinct(values: Any) -> int | None:
    try:
        return int(pc.count_distinct(values).as_py())
    except pa.ArrowNotImplementedError:
        return None


def is_numeric(kind: pa.DataType) -> bool:
    """Return whether values are numbers, or booleans."""
    return is_number(kind) or pa.types.is_boolean(kind)


def meanings(roles: Roles) -> dict[str, str]:
    """Return what columns are taken as, by the names of their roles."""
    return {
        "numbers": "numbers",
        "dates": f"dates, by {', '.join(roles.calendar)}",
        "times": f"times of day, by {', '.join(roles.clock)}",
        "few": "categories of few values",
        "many": "categories of many values",
        "texts": "free text, by its words",
    }


def told(roles: Roles) -> Iterator[str]:
    """Yield what became of each column."""
    meant = meanings(roles)
    for role, names in roles.by_name().items():
        yield f"{meant[role]}: {_listed(names)}"
    left_out = [name for name, why in roles.unused.items() if why == NOT_ASKED]
    if left_out:
        yield f"not among FEATURES: {_listed(left_out)}"
    others = [f"{name!r} {why}" for name, why in roles.unused.items() if why != NOT_ASKED]
    yield from (f"not used: {each}" for each in cut(others))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(map(repr, names[:SHOWN])) + more


def cut(lines: Sequence[str]) -> list[str]:
    """Return lines as far as one reads them, and how many more there are.

    >>> cut(["a"] * 5_000)[-2:]
    ['a', '4,980 more']
    """
    more = len(lines) - SHOWN
    return [*lines[:SHOWN], f"{more:,} more"] if more > 1 else [*lines]
