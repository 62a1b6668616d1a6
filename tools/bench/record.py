"""The record of a measured claim: raw figures, from which `report` derives everything else."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from pipeline import records
from pipeline.benchmark.judge.statistics import Ratio, ratio
from pipeline.benchmark.record.results import Protocol
from pipeline.records import Machine, Source

SCHEMA: Final = "bench.results/1"
LATE: Final = "over "
"""Begins the reason why a variant was not timed that takes too long."""


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

    @property
    def late(self) -> bool:
        """Whether its first run took too long, so that it was not timed."""
        return self.why.startswith(LATE)

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


class Measured(Part, frozen=True, kw_only=True):
    """A case that was measured, of a record that is not complete."""

    cells: list[Cell]
    order: list[str]
    threads: dict[str, str]
    load: float
    """The one-minute load average before the first case."""


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


class Kept(Part, frozen=True, kw_only=True):
    """The cases that were measured of a record that may not be complete."""

    of: str
    """The code, the packages and the machine."""
    cases: dict[str, Measured]
    """Hash of what was asked -> what was found."""


def read_kept(path: Path, of: str) -> dict[str, Measured]:
    """Return the cases of a file; none if they are of something else, or there is no file."""
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=Kept)
    except (FileNotFoundError, msgspec.MsgspecError):
        return {}
    return kept.cases if kept.of == of else {}


def write_kept(path: Path, of: str, cases: dict[str, Measured]) -> None:
    """Write cases, so that a measurement that is interrupted can go on after them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_bytes(msgspec.json.encode(Kept(of=of, cases=cases)))
    new.replace(path)


def hashed(*parts: Any) -> str:
    """Return a name for what can be written as JSON."""
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()[:16]


def code(*folders: str) -> dict[str, str]:
    """Return the Python files of folders, and the hash of each."""
    files = [file for folder in folders for file in sorted(Path(folder).rglob("*.py"))]
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def say(line: str) -> None:
    """Print a line of progress."""
    print(line, file=sys.stderr, flush=True)
