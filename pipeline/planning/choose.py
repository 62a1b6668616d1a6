"""CPU or GPU, before anything runs: by the rows, the columns, the algorithms and the memory.

From which size on a job is worth a GPU: measured and assumed figures, each with its source.

``thresholds.json`` holds times as they were measured; the laws are derived from them here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
import numpy as np
from sklearn.base import BaseEstimator

from pipeline import records
from pipeline.backends import label_encoder
from pipeline.backends.cuml import text
from pipeline.backends.cuml.tables import public_name
from pipeline.backends.text_input import reads_text
from pipeline.data import frames
from pipeline.planning.lower import on_blocks, parts, validate, walk
from pipeline.records import dumps as dumps
from pipeline.system import devices, gpu
from pipeline.system.devices import Choice
from pipeline.typing import Estimator, Table

BLOCKS = "preprocessing"
"""The family of everything that runs on blocks."""
USABLE = 0.9
"""The share of a GPU's memory that a job may plan with; the rest is the driver's."""
PER_BATCH = 0.001
"""Seconds that a GPU is assumed to take for a decomposition, however small: its many launches."""
COLUMNS = (10, 100, 1000)
MOST_ROWS = 10**10
UNITS = ((1, "s"), (60, "min"), (3600, "h"))


@dataclass(frozen=True)
class Advice:
    """A device and the reason for it.

    Parameters
    ----------
    device : {"cpu", "cuda"}
    why : str
        With the source of every figure: measured, or assumed.
    """

    device: str
    why: str


@dataclass(frozen=True)
class Job:
    """One step that has a rule for the GPU.

    Parameters
    ----------
    step : str
    family : Family
    seconds : float
        What it is expected to take the CPU: `fit`, and an answer for as many rows.
    bytes : float
        What it is assumed to need on a GPU.
    """

    step: str
    family: Family
    seconds: float
    bytes: float


class Estimate:
    """The jobs of an estimator on a table.

    Parameters
    ----------
    jobs : list of Job
    """

    def __init__(self, jobs: list[Job]) -> None:
        self.jobs = jobs
        self.seconds = sum(job.seconds for job in jobs)
        self.share = sum(job.seconds / job.family.worth for job in jobs)

    @property
    def why(self) -> str:
        """Its time, and from which time on a GPU is taken, with their sources."""
        longest = max(self.jobs, key=lambda job: job.seconds).family
        worth = "the GPU was slower at every size"
        if self.share:
            worth = f"a GPU is taken from {_about(self.seconds / self.share)}"
        sources = {job.family.worth_source for job in self.jobs}
        # One assumption among them makes an assumption of the sum.
        source = "assumed" if "assumed" in sources else longest.worth_source
        return f"about {_about(self.seconds)} on the CPU ({longest.cpu.source}); {worth} ({source})"


def advise(
    estimator: BaseEstimator, n_rows: int, n_columns: int, gpu_memory_bytes: int | None = None
) -> Advice:
    """Return the device for an estimator and a table of this size, where there is a usable GPU.

    Parameters
    ----------
    estimator : estimator
    n_rows, n_columns : int
    gpu_memory_bytes : int, optional
        None where it is not known; it is not asked about then.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> advise(LogisticRegression(), 1_000, 10).device
    'cpu'
    >>> advise(LogisticRegression(), 1_000_000_000, 10).device
    'cuda'
    """
    found = Estimate(list(_jobs(estimator, n_rows, n_columns)))
    small = next(_in_small_batches(estimator, n_rows, n_columns), "")
    if not found.jobs:
        return Advice("cpu", small or "none of its steps has a rule for the GPU")
    if found.share < 1:
        return Advice("cpu", "; ".join(filter(None, [small, found.why])))
    # Only now, because it may import cuML, which takes longer than a small job.
    refused = {name: reasons for name, _, reasons in walk(estimator, "cuda") if reasons}
    left = Estimate([job for job in found.jobs if job.step not in refused])
    if left.share < 1:
        first = next(iter(refused.values()))[0]
        return Advice("cpu", f"too little is left for a GPU, which cannot run it all: {first}")
    needed = max(job.bytes for job in left.jobs)
    if gpu_memory_bytes is not None and needed > USABLE * gpu_memory_bytes:
        return Advice(
            "cpu",
            f"would need about {needed / 2**30:.1f} GiB (assumed) and the GPU has "
            f"{gpu_memory_bytes / 2**30:.1f} GiB",
        )
    return Advice("cuda", left.why)


def choose(device: str, estimator: BaseEstimator, X: Table) -> Choice:
    """Return the device that serves a request for an estimator and its training rows.

    Parameters
    ----------
    device : {"auto", "cpu", "cuda"}
        Only ``"auto"`` is decided by the size.
    estimator : estimator
    X : table or sequence

    Raises
    ------
    ConfigError
        No such device, or an invalid estimator.
    DeviceUnavailable
        ``"cuda"`` was asked for and cannot be used here.
    """
    choice = devices.choose(device)
    if device != "auto" or choice.name == "cpu":
        return choice
    if frames.device_of(X) == "cuda":
        return Choice("cuda", f"{choice.why}; the table is on a GPU already")
    size = _shape(X)
    if size is None:
        return Choice("cuda", f"{choice.why}; how many rows there are is not known beforehand")
    return of_size(choice, estimator, *size)


def of_size(choice: Choice, estimator: BaseEstimator, n_rows: int, n_columns: int) -> Choice:
    """Return a choice of ``"auto"``, overruled where the job is too small or too large for it."""
    if choice.name == "cpu":
        return choice
    validate(estimator)
    found = advise(estimator, n_rows, n_columns, _gpu_memory())
    named = f"{choice.why}; " if found.device == "cuda" else ""
    return Choice(found.device, f"{named}{n_rows:,} rows × {n_columns:,} columns: {found.why}")


def sizes(estimator: BaseEstimator) -> str:
    """Return which sizes ``device="auto"`` would give to a GPU, where there is one.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> sizes(HistGradientBoostingClassifier())
    'auto: the CPU, whatever the size'
    """
    of_texts = reads_text(estimator)
    least = {
        columns: _least_rows(estimator, columns) for columns in ((1,) if of_texts else COLUMNS)
    }
    found = [(columns, f"{rows:,}") for columns, rows in least.items() if rows]
    if not found:
        return "auto: the CPU, whatever the size"
    (first, rows), *others = found
    told = [f"{rows} texts" if of_texts else f"{rows} rows of {first:,} columns"]
    told += [f"{rows} of {columns:,}" for columns, rows in others]
    return f"auto: a usable GPU from about {', '.join(told)}; else the CPU ({_sources(estimator)})"


def _sources(estimator: BaseEstimator) -> str:
    families = [job.family for job in _jobs(estimator, 1, 1)]
    every = dict.fromkeys(f"times {family.cpu.source}" for family in families)
    worth = [f"a GPU is taken from {_about(each.worth)}, {each.worth_source}" for each in families]
    return "; ".join([*every, *dict.fromkeys(worth)])


def _least_rows(estimator: BaseEstimator, columns: int) -> int | None:
    """Return the smallest number of rows worth a GPU, to two digits; None if there is none."""
    low, high = 1, MOST_ROWS
    if Estimate(list(_jobs(estimator, high, columns))).share < 1:
        return None
    while low < high:
        middle = (low + high) // 2
        if Estimate(list(_jobs(estimator, middle, columns))).share < 1:
            low = middle + 1
        else:
            high = middle
    return int(float(f"{low:.1e}"))


def _jobs(estimator: BaseEstimator, rows: int, columns: int) -> Iterator[Job]:
    known = cost_model()
    for step, part in parts(estimator):
        family = known.family(BLOCKS if _runs_on_blocks(part) else public_name(part))
        if family:
            seconds = family.law.seconds(rows, columns) * family.factor(part)
        if family and _batches(part, rows, columns) * PER_BATCH <= seconds:
            yield Job(step, family, seconds, family.memory.bytes(rows, columns))
        columns = known.words if text.handles(part) else columns


def _batches(part: Any, rows: int, columns: int) -> int:
    """Return how many decompositions a step makes one after the other, but for a first one."""
    if public_name(part) != "sklearn.decomposition.IncrementalPCA":
        return 0
    return rows // (part.batch_size or 5 * columns)


def _in_small_batches(estimator: BaseEstimator, rows: int, columns: int) -> Iterator[str]:
    for step, part in parts(estimator):
        batches = _batches(part, rows, columns)
        if batches * PER_BATCH > 1:
            yield (
                f"{step}: {batches:,} batches take a GPU at least {_about(batches * PER_BATCH)} "
                "(assumed); a larger batch_size takes it less"
            )


def _runs_on_blocks(part: Any) -> bool:
    return on_blocks(part) and not label_encoder.handles(part)


def _shape(X: Table) -> tuple[int, int] | None:
    shape = getattr(X, "shape", None)
    if frames.is_partitioned(X) or (shape is None and not hasattr(X, "__len__")):
        return None
    if shape is None:
        first = X[0] if isinstance(X, list | tuple) and X else ""
        return len(X), len(first) if isinstance(first, list | tuple) else 1
    return int(shape[0]), int(shape[1]) if len(shape) > 1 else 1


def _gpu_memory() -> int | None:
    known = [each.memory_bytes for each in gpu.probe().devices if each.memory_bytes]
    return min(known, default=None)


def _about(seconds: float) -> str:
    """Return a time in words, to two digits at most."""
    if seconds == math.inf:
        return "no time on"
    if seconds < 0.01:
        return "0.01 s or less"
    if seconds < 1:
        return f"{seconds:.1g} s"
    length, unit = next(each for each in UNITS if seconds < 120 * each[0] or each[1] == "h")
    return f"{float(f'{seconds / length:.1e}'):,.0f} {unit}"


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
    estimator: Text
    """The program that was timed."""
    estimators: list[str]
    proportional: dict[str, Positive]
    """Parameter -> its value in `estimator`; the time is taken to grow in proportion to it."""
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

    def factor(self, estimator: Estimator) -> float:
        """Return how much longer an estimator takes than the one timed, by its parameters."""
        values = {name: getattr(estimator, name, None) for name in self.proportional}
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
def cost_model() -> Thresholds:
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
