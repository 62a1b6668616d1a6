"""Flights within the United States: which of them arrived more than 15 minutes late."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from . import _store, _tables
from ._download import Remote
from ._store import Card, Column

NAME = "airline"
TITLE = "Flights within the United States in 2019: more than 15 minutes late on arrival?"
LICENCE = "public domain (work of the United States government)"
SOURCE = "Bureau of Transportation Statistics, reporting carriers"
CITATION = "Bureau of Transportation Statistics: Airline On-Time Performance Data, 2019."
ROWS = 7_400_000
DOWNLOAD = "12 files of 30 MB"
TARGET = "late"
LATE_AFTER = 15

CATEGORIES = {
    "carrier": ("Reporting_Airline", "code of the airline"),
    "origin": ("Origin", "airport of departure"),
    "dest": ("Dest", "airport of arrival"),
}
NUMBERS = {
    "day": ("DayofMonth", "day of the month"),
    "weekday": ("DayOfWeek", "1 is Monday"),
    "sched_dep": ("CRSDepTime", "scheduled departure, minutes since local midnight"),
    "sched_arr": ("CRSArrTime", "scheduled arrival, minutes since local midnight"),
    "distance": ("Distance", "miles"),
}
COLUMNS = {
    "year": Column("split", "uint16", "of the flight"),
    "month": Column("split", "uint8", "1 to 12"),
    "later": Column("split", "int8", "1 from October of the last year on, else 0; time split"),
    **{name: Column("number", "float32", about) for name, (_, about) in NUMBERS.items()},
    **{name: Column("category", "category", about) for name, (_, about) in CATEGORIES.items()},
    "late": Column("target", "int8", "1 if it arrived more than 15 minutes late, else 0"),
}
_SITE = "https://transtats.bts.gov/PREZIP/"
_FILE = "On_Time_Reporting_Carrier_On_Time_Performance_1987_present_{}_{}.zip"
FIRST, YEAR = 1988, 2019


def remotes(first: int, last: int) -> list[Remote]:
    """Return the files of some years, a month each."""
    files = [_FILE.format(y, m) for y in range(first, last + 1) for m in range(1, 13)]
    return [Remote(file, _SITE + file) for file in files]


RAW = remotes(YEAR, YEAR)
CARD = Card(NAME, LICENCE, SOURCE, TARGET, COLUMNS, remotes=RAW)


def prepare(home: Path, given: Path | None = None, *, years: str = str(YEAR)) -> Path:
    """Create ``home/airline`` if it is missing, verify it, and return its Parquet file.

    Other years are in a folder such as ``home/airline_2006_2019``.
    """
    first, last = _range(years)
    name = NAME if first == last == YEAR else f"{NAME}_{first}_{last}"
    card = replace(CARD, dataset=name, remotes=remotes(first, last), raw=NAME)
    return _store.prepare(card, partial(build, last=last), home, given)


def _range(years: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{4})(?:-(\d{4}))?", years)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not FIRST <= first <= last:
        raise ValueError(
            f"years: {years!r} is not a year or a range from {FIRST} on; pass one such as 2006-2019"
        )
    return first, last


def build(files: Mapping[str, Path], last: int = YEAR) -> Iterator[Any]:
    """Yield the flights that arrived, in the order of the months."""
    import pyarrow as pa
    import pyarrow.compute as pc

    raw = pa.concat_tables(table for path in files.values() for table in _arrived(path))
    known = {name: raw[column] for name, (column, _) in (NUMBERS | CATEGORIES).items()}
    clock = {name: _tables.minutes(known[name]) for name in ("sched_dep", "sched_arr")}
    later = pc.and_(pc.equal(raw["Year"], last), pc.greater(raw["Month"], 9))
    late = pc.greater(raw["ArrDelay"], LATE_AFTER)
    flags = {"later": pc.cast(later, "int8"), "late": pc.cast(late, "int8")}
    times = {"year": raw["Year"], "month": raw["Month"]}
    yield _tables.conform({**known, **clock, **times, **flags}, COLUMNS)


def _arrived(path: Path) -> Iterator[Any]:
    """Yield the flights of one zipped month whose arrival delay is known."""
    import pyarrow.compute as pc

    clock = dict.fromkeys(("CRSDepTime", "CRSArrTime"), "int32")
    types = {column: clock.get(column, "float32") for column, _ in NUMBERS.values()}
    types |= {column: "string" for column, _ in CATEGORIES.values()}
    types |= {"ArrDelay": "float32", "Year": "int16", "Month": "int8"}
    for table in _tables.read_csv(path, types, header=True):
        yield table.filter(pc.is_valid(table["ArrDelay"]))
