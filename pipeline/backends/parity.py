"""What was measured of scikit-learn-intelex: how near it comes, and whether it is faster.

``intelex.json`` is renewed by ``make calibrate`` where the package is installed.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from pipeline import records
from pipeline.records import dumps as dumps

SCHEMA: Final = "pipeline.intelex/1"
PATH = Path(__file__).with_name("intelex.json")

CLEARLY = 0.9
"""The most a twin may take of scikit-learn's time to be used."""
Seconds = Annotated[float, msgspec.Meta(gt=0)]


class Parity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One estimator on one table: `fit` and an answer for the same rows."""

    estimator: str
    """Public name of scikit-learn's class."""
    code: str
    rows: int
    columns: int
    dtype: Literal["float32", "float64"]
    difference: Annotated[float, msgspec.Meta(ge=0)]
    """Of the answers: the largest, in their standard deviations; of labels, the share of others."""
    stock: Seconds
    twin: Seconds


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of it, with the machine and the day."""

    schema: Literal["pipeline.intelex/1"]
    version: str
    """Of scikit-learn-intelex."""
    machine: str
    date: str
    found: list[Parity]

    @property
    def source(self) -> str:
        """In words."""
        return f"measured on {self.machine}, {self.date}"

    def difference(self, estimator: str) -> float | None:
        """Return the largest difference of an estimator; None where it was not measured."""
        every = [each.difference for each in self.found if each.estimator == estimator]
        return max(every, default=None)

    def faster(self, estimator: str) -> bool:
        """Return whether it took clearly less time than scikit-learn's, over all tables."""
        mine = [each for each in self.found if each.estimator == estimator]
        return sum(each.twin for each in mine) < CLEARLY * sum(each.stock for each in mine)


@lru_cache(maxsize=1)
def load(path: Path = PATH) -> Record:
    """Read and validate what was measured.

    Raises
    ------
    DataError
        The file is missing, is not JSON, or does not have the schema.
    """
    return records.load(path, Record, schema=SCHEMA, command="make calibrate")
