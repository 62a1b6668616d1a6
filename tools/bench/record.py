"""The record of what a claim rests on: what was measured, and no conclusion.

Everything that the docs say of it is derived from ``results.json``. A field that is unknown,
missing or of the wrong type is refused when the file is read.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from pipeline import records
from pipeline.benchmark.results import Protocol
from pipeline.benchmark.statistics import Ratio, ratio
from pipeline.records import DataInfo, Machine, Source
from pipeline.system import environment

SCHEMA: Final = "bench.results/1"


class Run(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """What one run took."""

    seconds: dict[str, float]
    """Phase -> wall time; a phase may be a part of another."""
    bytes: dict[str, int] = {}
    """What was resident, or allowed to be, and when."""
    calls: int = 1
    """Of which the seconds are the median, and ``"p95"`` is the slow end."""
    note: str = ""
    why: str = ""
    """What ended it before its end; empty where it succeeded."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What runs a variant sends back."""

    run: Run
    values: dict[str, float | None] = {}
    """What the run gave, as ``"auc"``; the last run's are kept."""
    threads: dict[str, str] = {}

    @property
    def total(self) -> float:
        """Return the seconds of the longest phase."""
        return max(self.run.seconds.values())


class Cell(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Everything measured of one case by one variant."""

    case: str
    variant: str
    why: str = ""
    """Why it failed; empty where all runs ended well."""
    warmup: Run | None = None
    """The first run of the process; what is derived leaves it out."""
    runs: list[Run]
    values: dict[str, float | None] = {}
    """What the last run gave; None where there is no such number."""

    @property
    def ok(self) -> bool:
        """Whether it ran to its end."""
        return not self.why and bool(self.runs)

    def times(self, phase: str) -> npt.NDArray[np.float64]:
        """Return the seconds of a phase, or of phases joined by ``+``, a value for each run."""
        parts = phase.split("+")
        return np.array([sum(run.seconds[part] for part in parts) for run in self.runs])

    def median(self, phase: str) -> float:
        """Return the median seconds of a phase."""
        return float(np.median(self.times(phase)))

    def most(self, name: str) -> int:
        """Return the most bytes over all runs."""
        return max(run.bytes.get(name, 0) for run in self.runs)


class Case(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """What the variants are given."""

    name: str
    title: str = ""
    facts: dict[str, int | float] = {}
    """Rows, columns, bytes and the like."""
    code: str = ""
    """The scikit-learn pipeline, as an expression."""
    files: list[DataInfo] = []


class Variant(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """One way to do it."""

    name: str
    title: str
    input: str = ""
    output: str = ""
    note: str = ""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where, when and by what something was measured."""

    created: str
    """ISO 8601, UTC."""
    machine: Machine
    source: Source


class Results(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of it."""

    schema: Literal["bench.results/1"]
    claim: str
    settings: dict[str, list[int]]
    protocol: Protocol
    cases: list[Case]
    variants: list[Variant]
    cells: list[Cell]

    def cell(self, case: str, variant: str) -> Cell | None:
        """Return the cell if it ran to its end, else None."""
        found = (c for c in self.cells if (c.case, c.variant) == (case, variant))
        return next((cell for cell in found if cell.ok), None)

    def case(self, name: str) -> Case:
        """Return a case by its name."""
        return next(case for case in self.cases if case.name == name)

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


def fingerprint(module: str, load_before: float, threads: dict[str, str]) -> dict[str, Any]:
    """Return the fields of a `Record`.

    Parameters
    ----------
    module : str
        That measured, as after ``python -m``.
    load_before : float
        Of the machine, before the first run.
    threads : dict of str to str
        Thread pools of the processes that computed.
    """
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": environment.machine(threads, load_before),
        "source": environment.source(sys.argv[1:], module),
    }


def say(line: str) -> None:
    """Print a line of progress."""
    print(line, file=sys.stderr, flush=True)
