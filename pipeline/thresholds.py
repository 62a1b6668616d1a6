"""From which size on a job is worth a GPU: measured and assumed figures, each with its source.

``thresholds.json`` holds times as they were measured; the laws are derived from them here.
"""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
import numpy as np

from pipeline import records
from pipeline.records import dumps as dumps

SCHEMA: Final = "pipeline.thresholds/1"
PATH = Path(__file__).with_name("thresholds.json")
COMMAND = "make calibrate"
ROUNDS = 20
LONG = 1.0
FAR = math.log(2)
"""A time twice or half of what the law says counts by half."""

Positive = Annotated[float, msgspec.Meta(gt=0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(gt=0)]
Text = Annotated[str, msgspec.Meta(min_length=1)]


class Point(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One size and its time: `fit` and an answer for the same rows, which start on the host."""

    rows: Count
    columns: Count
    seconds: Positive


class Measured(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Times, with the machine and the day."""

    machine: Text
    date: Text
    points: Annotated[list[Point], msgspec.Meta(min_length=3)]

    @property
    def source(self) -> str:
        """In words."""
        return f"measured on {self.machine}, {self.date}"


class Assumed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure that nobody has measured, with the reasoning."""

    cpu_seconds: Positive
    """A job that takes the CPU this long is given to a GPU."""
    why: Text


class Memory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a job is assumed to need on a GPU, counted in float32 matrices."""

    copies: NotNegative
    """Matrices of rows × columns."""
    pairs: NotNegative
    """Matrices of rows × rows."""

    def bytes(self, rows: int, columns: int) -> float:
        """Return the bytes that a table needs."""
        return 4.0 * rows * (self.copies * columns + self.pairs * rows)


class Law(NamedTuple):
    """Seconds as ``scale * rows**by_rows * columns**by_columns``."""

    scale: float
    by_rows: float
    by_columns: float

    def seconds(self, rows: int, columns: int) -> float:
        """Return the time of a table."""
        return float(self.scale * max(rows, 1) ** self.by_rows * max(columns, 1) ** self.by_columns)


class Family(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Algorithms whose time grows alike; one of them was timed for all."""

    name: Text
    spec: Text
    """The program that was timed."""
    estimators: list[str]
    proportional: dict[str, Positive]
    """Parameter -> its value in `spec`; the time is taken to grow in proportion to it."""
    memory: Memory
    assumed: Assumed
    cpu: Measured
    gpu: Measured | None
    """None until it has been measured; then on the same machine as `cpu`, at the same sizes."""

    @property
    def law(self) -> Law:
        """The time on the CPU."""
        return fitted(self.cpu.points)

    @property
    def worth(self) -> float:
        """Seconds on the CPU from which a GPU is taken; infinite if the CPU always was faster."""
        return self.assumed.cpu_seconds if self.gpu is None else break_even(self.cpu, self.gpu)

    @property
    def worth_source(self) -> str:
        """Where `worth` comes from, in words."""
        return "assumed" if self.gpu is None else self.gpu.source

    def factor(self, spec: Any) -> float:
        """Return how much longer a spec takes than the one timed, by its parameters."""
        values = {name: getattr(spec, name, None) for name in self.proportional}
        return math.prod(
            value / self.proportional[name]
            for name, value in values.items()
            if isinstance(value, int | float) and not isinstance(value, bool) and value > 0
        )


class Thresholds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of it."""

    schema: Literal["pipeline.thresholds/1"]
    memory_why: Text
    """The reasoning behind `Family.memory`."""
    words: Count
    """Columns that a step behind a text vectorizer is taken to read."""
    words_why: Text
    families: list[Family]

    def family(self, name: str) -> Family | None:
        """Return the family of an estimator, by its public name, or the one of this name."""
        for family in self.families:
            if name in family.estimators or name == family.name:
                return family
        return None


@lru_cache(maxsize=1)
def known() -> Thresholds:
    """Return the thresholds of this installation."""
    return load(PATH)


def load(path: Path) -> Thresholds:
    """Read and validate the thresholds.

    Raises
    ------
    DataError
        The file is missing, is not JSON, or does not have the schema.
    """
    return records.load(path, Thresholds, schema=SCHEMA, command=COMMAND)


def fitted(points: list[Point]) -> Law:
    """Return the power law nearest to some times, in the least squares of their logarithms.

    Each counts by its length, up to a second, for the short ones are mostly what any run takes,
    whatever its size; and the less, the further it is from all others, for other work on the
    machine may have disturbed it.

    Examples
    --------
    >>> sizes = [(10, 1), (1000, 1), (10, 8), (1000, 8)]
    >>> points = [Point(rows=n, columns=p, seconds=1e-6 * n * p**2) for n, p in sizes]
    >>> [round(each, 6) for each in fitted(points)]
    [1e-06, 1.0, 2.0]
    """
    sizes = np.log([[math.e, point.rows, point.columns] for point in points])
    seconds = np.array([point.seconds for point in points])
    # A size that never changed tells nothing, and none makes a job shorter by being larger,
    # whatever the noise of small times says.
    by = [position for position in (1, 2) if np.ptp(sizes[:, position]) > 0]
    while True:
        scale, *found = _robust(sizes[:, [0, *by]], seconds)
        exponents = dict(zip(by, found, strict=True))
        if all(exponent >= 0 for exponent in found):
            return Law(math.exp(scale), exponents.get(1, 0.0), exponents.get(2, 0.0))
        by = [position for position in by if exponents[position] >= 0]


def _robust(sizes: Any, seconds: Any) -> list[float]:
    counts = np.minimum(seconds, LONG)
    weights, found = counts, np.zeros(sizes.shape[1])
    for _ in range(ROUNDS):
        root = np.sqrt(weights)
        found = np.linalg.lstsq(root[:, None] * sizes, root * np.log(seconds), rcond=None)[0]
        apart = np.log(seconds) - sizes @ found
        weights = counts / (1 + (apart / FAR) ** 2)
    return [float(each) for each in found]


def break_even(cpu: Measured, gpu: Measured) -> float:
    """Return the shortest CPU time from which on the GPU was at least as fast at every size."""
    on_gpu = {(point.rows, point.columns): point.seconds for point in gpu.points}
    worth = math.inf
    for point in sorted(cpu.points, key=lambda point: -point.seconds):
        if on_gpu.get((point.rows, point.columns), math.inf) > point.seconds:
            break
        worth = point.seconds
    return worth
