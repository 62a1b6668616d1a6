"""The record of the benchmark: what was measured, and no conclusion.

Everything that ``docs/benchmarks.md`` says of the results is derived from
``results.json`` by :mod:`tools.bench.verdicts`. A field that is unknown, missing or
of the wrong type is refused when the file is read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import msgspec

from pipeline import records
from pipeline.benchmark.results import Protocol
from pipeline.records import DataInfo, Machine, Source
from pipeline.records import dumps as dumps

SCHEMA: Final = "preprocessing.results/1"
REFERENCE: Final = "sklearn-str"
"""The variant that the others are compared with: scikit-learn as people write it."""


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table and what is done with it."""

    name: str
    title: str
    rows: int
    columns: int
    width: int
    """Columns of the result."""
    code: str
    """The scikit-learn program, as an expression."""
    files: list[DataInfo]


class Variant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way to do it."""

    name: str
    title: str
    input: str
    output: str
    note: str


class Run(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run: seconds of wall time, and bytes of resident memory."""

    read: float
    fit_transform: float
    transform: float
    before_bytes: int
    """With the input in memory, before `fit_transform`."""
    fit_transform_peak_bytes: int
    transform_peak_bytes: int


class Difference(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Largest absolute difference from scikit-learn on float64 numbers.

    None where there is none to give: another shape, or missing values on one side.
    """

    fit_transform: float | None
    transform: float | None


class Cell(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything measured for one case and one variant."""

    case: str
    variant: str
    why: str
    """Why it failed; empty where all runs ended well."""
    warmup: Run | None
    """The first run of the process; the times derived leave it out."""
    runs: list[Run]
    input_bytes: int
    """Of the table in memory, as its library counts them."""
    output_bytes: int
    difference: Difference | None


class Memory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Resident memory of `transform` in a process that did nothing else; in bytes."""

    variant: str
    why: str
    """Why it failed; the figures are 0 then."""
    rows: int
    input_bytes: int
    output_bytes: int
    empty_bytes: int
    """With the program loaded and tried on a few rows, before the table is read."""
    before_bytes: int
    """With the table in memory, what reading left behind given back."""
    peak_bytes: int
    """During `transform`."""


class Results(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of it."""

    schema: Literal["preprocessing.results/1"]
    created: str
    """ISO 8601, UTC."""
    machine: Machine
    source: Source
    protocol: Protocol
    peaks: Literal["each phase", "process so far"]
    """What a peak covers: from the start of its phase, where the system lets the mark be
    reset, or else from the start of the process, which can only be more."""
    cases: list[Case]
    variants: list[Variant]
    cells: list[Cell]
    memory: list[Memory]

    def cell(self, case: str, variant: str) -> Cell | None:
        """Return the cell if it ran to its end, else None."""
        for cell in self.cells:
            if (cell.case, cell.variant) == (case, variant):
                return None if cell.why or not cell.runs else cell
        return None


def load(path: Path) -> Results:
    """Read and validate a results file.

    Raises
    ------
    DataError
        The file is missing, is not JSON, or does not have the schema.
    """
    return records.load(path, Results, schema=SCHEMA, command="make bench-preprocessing")
