"""The records of the measurements: what was measured, and no conclusion."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import msgspec

from pipeline import records
from pipeline.records import Machine, Source
from pipeline.records import dumps as dumps

SCHEMA: Final = "synthetic.auc/1"
MEMORY: Final = "synthetic.memory/1"


class Point(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model that was fitted on so many rows."""

    rows: int
    auc: float
    """On the test rows, which no model saw."""
    trees: int
    seconds: float
    """Of fitting, wall time."""


class Results(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How near XGBoost comes to the best score as rows grow."""

    schema: Literal["synthetic.auc/1"]
    created: str
    """ISO 8601, UTC."""
    machine: Machine
    source: Source
    columns: int
    seed: int
    best: float
    """Expected of the true probabilities, over endless rows, as estimated."""
    rows_test: int
    truth: float
    """Of the true probabilities on the test rows."""
    points: list[Point]


class Written(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What writing a table took, in a process that did nothing else."""

    schema: Literal["synthetic.memory/1"]
    created: str
    machine: Machine
    source: Source
    rows: int
    columns: int
    partitions: int
    bytes: int
    """Of all files."""
    seconds: float
    peak_rss_bytes: int


def load(path: Path) -> Results:
    """Read and validate a record of scores; `DataError` if it is not one."""
    return records.load(path, Results, schema=SCHEMA, command="make bench-synthetic")


def load_written(path: Path) -> Written:
    """Read and validate a record of writing; `DataError` if it is not one."""
    return records.load(path, Written, schema=MEMORY, command="make bench-synthetic")
