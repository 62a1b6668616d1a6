"""What follows from the record: ratios, the targets, and whether each is met."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipeline.benchmark.statistics import Ratio, ratio
from tools.bench.schema import REFERENCE, Cell, Difference, Memory, Results

OBJECTS = "sklearn-object"
"""What scikit-learn encodes fastest in one thread."""
SPEED_TARGETS = {
    ("fit_transform", REFERENCE): 8.0,
    ("transform", REFERENCE): 10.0,
    ("fit_transform", OBJECTS): 6.0,
    ("transform", OBJECTS): 9.0,
}
"""Phase and opponent -> how many times as fast, in every case; set before any run."""
JUDGED = ("ours-str", "ours")
"""Ours with the input that scikit-learn's users have, and with codes from the file."""
MEMORY_SHARE = 0.25
"""`transform` may take the bytes of its result and this share of its input's."""
SAME_NUMBERS = 1e-5
"""Largest absolute difference that counts as the same numbers; scaled columns vary by 1."""
PHASES = ("read", "fit_transform", "transform", "read+fit_transform")


@dataclass(frozen=True)
class Verdict:
    """A speed target, and what was found.

    Parameters
    ----------
    case, phase, variant : str
    against : str
        The variant that it was measured against.
    wanted : float
        How many times as fast.
    found : Ratio or None
        Time of `variant` over that of `against`; None where one was not measured.
    same : bool
        Whether the numbers are the same.
    """

    case: str
    phase: str
    variant: str
    against: str
    wanted: float
    found: Ratio | None
    same: bool

    @property
    def met(self) -> bool:
        """Whether the ratio of medians reaches the target, with the same numbers."""
        return self.same and self.found is not None and self.found.speed_up >= self.wanted


def times(cell: Cell, phase: str) -> npt.NDArray[np.float64]:
    """Return the seconds of a phase, or of phases joined by ``+``, a value for each run."""
    parts = phase.split("+")
    return np.array([sum(getattr(run, part) for part in parts) for run in cell.runs])


def median(cell: Cell, phase: str) -> float:
    """Return the median seconds of a phase."""
    return float(np.median(times(cell, phase)))


def against(results: Results, case: str, variant: str, other: str, phase: str) -> Ratio | None:
    """Return the time of a variant over that of another; None where one was not measured."""
    ours, theirs = results.cell(case, variant), results.cell(case, other)
    if ours is None or theirs is None:
        return None
    return ratio(times(ours, phase), times(theirs, phase))


def same(difference: Difference | None) -> bool:
    """Return whether both results hold the numbers of scikit-learn."""
    if difference is None:
        return False
    found = (difference.fit_transform, difference.transform)
    return all(value is not None and value <= SAME_NUMBERS for value in found)


def speeds(results: Results) -> Iterator[Verdict]:
    """Yield every speed target with what was found."""
    for case in results.cases:
        for (phase, other), wanted in SPEED_TARGETS.items():
            for variant in JUDGED:
                cell = results.cell(case.name, variant)
                found = against(results, case.name, variant, other, phase)
                alike = cell is not None and same(cell.difference)
                yield Verdict(case.name, phase, variant, other, wanted, found, alike)


def taken(memory: Memory) -> int:
    """Return the bytes that `transform` took above the program and the table.

    The larger of two counts: what came on top of the memory that held the table, and
    what came on top of the table's own bytes; a table whose reading left memory behind
    that `transform` could use again gains nothing by it.
    """
    on_top = memory.peak_bytes - memory.before_bytes
    return max(on_top, memory.peak_bytes - memory.empty_bytes - memory.input_bytes)


def allowed(memory: Memory) -> int:
    """Return the bytes that `transform` may take."""
    return int(memory.output_bytes + MEMORY_SHARE * memory.input_bytes)


def within(memory: Memory) -> bool:
    """Return whether `transform` kept to its bytes."""
    return not memory.why and memory.peak_bytes > 0 and taken(memory) <= allowed(memory)
