"""The record of a measured claim: raw figures, from which `report` derives everything else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from pipeline import records
from pipeline.benchmark.judge.statistics import Ratio, ratio
from pipeline.benchmark.record.results import Protocol
from pipeline.records import Machine, Source

SCHEMA: Final = "bench.results/1"


class Part(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A part of a record; a field that is unknown, missing or of another type is refused."""


class Run(Part, frozen=True, kw_only=True):
    """What one run took."""

    seconds: dict[str, float]
    """Phase -> wall time."""
    bytes: dict[str, int] = {}
    """Resident memory, by when; missing where the system does not count it."""
    calls: int = 1
    """The seconds are medians over so many calls."""


Values = dict[str, float | None]
"""Numbers such as a score, by what they are; None where there is no such number."""


class Cell(Part, frozen=True, kw_only=True):
    """Everything measured of one variant in one case."""

    case: str
    variant: str
    why: str = ""
    """Why it failed; empty where all runs succeeded."""
    warmup: Run | None = None
    """The first run of the process, which no figure includes."""
    runs: list[Run]
    values: Values = {}
    """Of all runs, where the last one goes first."""

    @property
    def ok(self) -> bool:
        """Whether all runs succeeded."""
        return not self.why and bool(self.runs)

    def times(self, phase: str) -> npt.NDArray[np.float64]:
        """Return the seconds of a phase, or the sum of phases joined by ``+``, for each run."""
        parts = phase.split("+")
        return np.array([sum(run.seconds[part] for part in parts) for run in self.runs])

    def median(self, phase: str) -> float:
        """Return the median seconds of a phase."""
        return float(np.median(self.times(phase)))


class Case(Part, frozen=True, kw_only=True):
    """What all variants are given."""

    name: str
    title: str = ""
    facts: dict[str, int | float] = {}
    """Rows, columns, bytes and the like."""


class Variant(Part, frozen=True, kw_only=True):
    """One of the programs that are compared."""

    name: str
    title: str
    input: str = ""


class Results(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``results.json`` of a claim."""

    created: str
    """ISO 8601, UTC."""
    machine: Machine
    source: Source
    schema: Literal["bench.results/1"]
    claim: str
    settings: dict[str, list[int]]
    protocol: Protocol
    cases: list[Case]
    variants: list[Variant]
    cells: list[Cell]

    def cell(self, case: str, variant: str) -> Cell | None:
        """Return a cell if all its runs succeeded, else None."""
        found = (c for c in self.cells if (c.case, c.variant) == (case, variant))
        return next((cell for cell in found if cell.ok), None)

    def variant(self, name: str) -> Variant:
        """Return a variant by its name."""
        return next(variant for variant in self.variants if variant.name == name)

    def ratio(self, case: str, phase: str, variant: str, against: str) -> Ratio | None:
        """Return the time of a variant over another's; None where one was not measured."""
        ours, theirs = self.cell(case, variant), self.cell(case, against)
        if ours is None or theirs is None:
            return None
        return ratio(ours.times(phase), theirs.times(phase))


def load(path: Path) -> Results:
    """Read and validate a record; see `pipeline.records.load_record` for what is raised."""
    claim = path.parent.name.removesuffix("-cpu")
    command = f".venv/bin/python -m tools.bench {claim}"
    return records.load_record(path, Results, schema=SCHEMA, command=command)


def say(line: str) -> None:
    """Print a line of progress."""
    print(line, file=sys.stderr, flush=True)
