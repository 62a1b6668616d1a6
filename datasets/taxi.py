"""Yellow taxis in New York, January to March 2024: how many minutes a trip takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from . import _store, _tables
from ._download import Remote
from ._store import Card, Column

NAME = "taxi"
TITLE = "Yellow taxis in New York: how many minutes does a trip take?"
LICENCE = "none stated: open data of the City of New York"
SOURCE = "NYC Taxi and Limousine Commission, trip records"
CITATION = "NYC Taxi and Limousine Commission: TLC Trip Record Data, yellow taxis, 2024."
ROWS = 9_500_000
DOWNLOAD = "3 files of 50 MB"
TARGET = "minutes"

YEAR, MONTHS = 2024, (1, 2, 3)
_WANTED = (
    "tpep_pickup_datetime tpep_dropoff_datetime trip_distance passenger_count PULocationID "
    "DOLocationID"
)
LONGEST, FARTHEST = 180, 100
"""Minutes and miles; what is longer is a meter left running."""

COLUMNS = {
    "month": Column("split", "uint8", "1 to 3; time split"),
    "pickup": Column("number", "float32", "minutes since local midnight"),
    "weekday": Column("number", "float32", "0 is Monday"),
    "miles": Column("number", "float32", "length of the trip, by the meter"),
    "passengers": Column("number", "float32", "as the driver says; may be missing"),
    "from_zone": Column("category", "category", "taxi zone of the pickup, a number"),
    "to_zone": Column("category", "category", "taxi zone of the end, a number"),
    "minutes": Column("target", "float32", "from pickup to end"),
}
_SITE = "https://d37ci6vzurychx.cloudfront.net/trip-data/"
RAW = [
    Remote(file, _SITE + file)
    for file in (f"yellow_tripdata_{YEAR}-{month:02}.parquet" for month in MONTHS)
]
CARD = Card(NAME, LICENCE, SOURCE, TARGET, COLUMNS, remotes=RAW)


def build(files: Mapping[str, Path]) -> Iterator[Any]:
    """Yield the trips, in the order of the files."""
    import pyarrow as pa

    values = pa.concat_tables(
        _month(path, month) for path, month in zip(files.values(), MONTHS, strict=True)
    )
    yield _tables.conform({name: values[name] for name in COLUMNS}, COLUMNS)


def _month(path: Path, month: int) -> Any:
    """Return the trips of a month that are of that month and of a plausible length."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import parquet

    with _tables.blame(path):
        raw = parquet.read_table(path, columns=_WANTED.split())
    start, end = raw["tpep_pickup_datetime"], raw["tpep_dropoff_datetime"]
    trips = pa.table(
        {
            "year": pc.year(start),
            "month": pc.month(start),
            "pickup": pc.add(pc.multiply(pc.hour(start), 60), pc.minute(start)),
            "weekday": pc.day_of_week(start),
            "miles": pc.cast(raw["trip_distance"], "float32"),
            "passengers": pc.cast(raw["passenger_count"], "float32"),
            "from_zone": pc.cast(raw["PULocationID"], "string"),
            "to_zone": pc.cast(raw["DOLocationID"], "string"),
            "minutes": pc.divide(pc.cast(pc.seconds_between(start, end), "float32"), 60),
        }
    )
    return trips.filter(
        (pc.field("minutes") >= 1) & (pc.field("minutes") <= LONGEST)
        & (pc.field("miles") > 0) & (pc.field("miles") <= FARTHEST)
        & (pc.field("year") == YEAR) & (pc.field("month") == month)
    )  # fmt: skip


prepare = partial(_store.prepare, CARD, build)
