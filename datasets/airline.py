"""Flights within the United States in 2019: which of them arrived more than 15 minutes late."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from datasets import _raw, _store, _tables
from datasets._download import Remote
from datasets._store import Card, Column

if TYPE_CHECKING:
    import pyarrow as pa

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
    "month": Column("split", "uint8", "1 to 12; time split"),
    **{name: Column("number", "float32", about) for name, (_, about) in NUMBERS.items()},
    **{name: Column("category", "category", about) for name, (_, about) in CATEGORIES.items()},
    "late": Column("target", "int8", "1 if it arrived more than 15 minutes late, else 0"),
}
_SITE = "https://transtats.bts.gov/PREZIP/"
_FILE = "On_Time_Reporting_Carrier_On_Time_Performance_1987_present_2019_{}.zip"
RAW = [Remote(_FILE.format(month), _SITE + _FILE.format(month)) for month in range(1, 13)]
CARD = Card(NAME, LICENCE, SOURCE, TARGET, COLUMNS, remotes=RAW)


def prepare(home: Path, given: Path | None = None) -> Path:
    """Make ``home/airline`` unless it is there, verify it, return its Parquet file."""
    return _store.prepare(home, CARD, build, given)


def build(files: Mapping[str, Path]) -> Iterator[pa.Table]:
    """Yield the flights that arrived, in the order of the months."""
    import pyarrow as pa
    import pyarrow.compute as pc

    raw = pa.concat_tables(t for path in files.values() for t in _month(path))
    known = {name: raw[column] for name, (column, _) in (NUMBERS | CATEGORIES).items()}
    clock = {name: _tables.minutes(known[name]) for name in ("sched_dep", "sched_arr")}
    late = pc.cast(pc.greater(raw["ArrDelay"], LATE_AFTER), "int8")
    values = {**known, **clock, "month": raw["Month"], "late": late}
    yield from _raw.groups(_tables.conform(values, COLUMNS))


def _month(path: Path) -> Iterator[pa.Table]:
    """Yield the flights of one zipped month whose arrival delay is known."""
    import zipfile

    import pyarrow.compute as pc

    types = {column: "float32" for column, _ in NUMBERS.values()}
    types |= {"CRSDepTime": "int32", "CRSArrTime": "int32", "Month": "int8", "ArrDelay": "float32"}
    types |= {column: "string" for column, _ in CATEGORIES.values()}
    with _raw.faults(path), zipfile.ZipFile(path) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".csv"))
        with archive.open(name) as member:
            for table in _raw.pieces(path, types, header=True, stream=member):
                yield table.filter(pc.is_valid(table["ArrDelay"]))
