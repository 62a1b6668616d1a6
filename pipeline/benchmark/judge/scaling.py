"""How time grows with the rows: a cost model for each variant, and where one overtakes another.

The model is t = a + b·n: a start that does not depend on the rows, and a price for each. It is
fitted to the medians of the sizes by least squares of relative errors, with a and b not below 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from pipeline.benchmark.judge.statistics import REFERENCE, measured
from pipeline.benchmark.record.results import Results
from pipeline.task.numerals import seconds, three_digits
from pipeline.typing import Table

POOR = 0.25
"""Largest miss of a median, as a share of it, beyond which no break-even is read off the models."""
FEWEST = 3
"""Sizes that the line needs."""
RESAMPLES = 500
SHOWN = 0.95
"""Share of the resamples that must have a break-even for it to be shown."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """The times of one variant at several sizes.

    Parameters
    ----------
    rows : tuple of int
        Training rows, ascending.
    runs : tuple of tuple of float
        Seconds of each timed run at each of them.
    """

    rows: tuple[int, ...]
    runs: tuple[tuple[float, ...], ...]

    @property
    def medians(self) -> Floats:
        """Median seconds at each size."""
        return np.array([np.median(times) for times in self.runs])

    def drawn(self, random: np.random.Generator) -> Floats:
        """Return medians of runs that are drawn anew at each size, shape (RESAMPLES, n_sizes)."""
        runs = (random.choice(times, (RESAMPLES, len(times))) for times in self.runs)
        return np.stack([np.median(drawn, axis=1) for drawn in runs], axis=1)


@dataclass(frozen=True)
class TimeModel:
    """Seconds as a + b·n of n training rows.

    Parameters
    ----------
    a, b : float
    miss : float
        Largest distance of a median from it, as a share of the median.
    """

    a: float
    b: float
    miss: float

    def __call__(self, rows: Table) -> Floats:
        """Return the seconds for numbers of rows."""
        return np.asarray(self.a + self.b * np.asarray(rows, float))

    def __str__(self) -> str:
        """Write the formula.

        >>> print(TimeModel(0.5, 2e-6, 0.0))
        0.500 s + 2 s per million
        """
        return f"{seconds(self.a)} s + {1e6 * self.b:.3g} s per million"


@dataclass(frozen=True)
class BreakEven:
    """Where a variant overtakes the reference, or is overtaken.

    Parameters
    ----------
    rows : float or None
        None where there is none in the range, or none that the noise lets see.
    interval : tuple of float or None
        The central 95 % of the resamples.
    faster_above : bool
        Whether the variant is the faster one above it.
    why : str
        Why there is none; empty where there is one.
    """

    rows: float | None
    interval: tuple[float, float] | None
    faster_above: bool
    why: str = ""

    def __str__(self) -> str:
        """Write where it is, or why there is none.

        >>> print(BreakEven(81234.0, (70123.0, 95000.0), True))
        faster above 81,200 rows (95 % interval 70,100–95,000)
        """
        if self.rows is None or self.interval is None:
            return self.why
        word, (low, high) = "faster" if self.faster_above else "slower", self.interval
        interval = f"95 % interval {three_digits(low)}–{three_digits(high)}"
        return f"{word} above {three_digits(self.rows)} rows ({interval})"


def curve(results: Results, pipeline: str, variant: str) -> Curve | None:
    """Return the times of a variant at all sizes that it ran at; None where there is no sweep."""
    found = {
        point.rows_train: tuple(run.total for run in point.runs)
        for point in results.points
        if (point.pipeline, point.variant, point.status) == (pipeline, variant, "ok") and point.runs
    }
    cell = measured(results, pipeline, variant)
    if found and cell is not None:
        found[results.task.rows_train] = tuple(run.total for run in cell.runs)
    rows = sorted(found)
    return Curve(tuple(rows), tuple(found[n] for n in rows)) if rows else None


def model(found: Curve) -> TimeModel | None:
    """Return the cost model; None with fewer than three sizes."""
    return None if len(found.rows) < FEWEST else _fit(found.rows, found.medians)


def _fit(sizes: tuple[int, ...], medians: Floats) -> TimeModel:
    rows = np.array(sizes, float)
    columns = np.column_stack([np.ones(len(rows)), rows / rows[-1]])
    (a, b), _ = nnls(columns / medians[:, None], np.ones(len(rows)))
    miss = np.abs(columns @ (a, b) / medians - 1).max()
    return TimeModel(float(a), float(b / rows[-1]), float(miss))


def break_even(ours: Curve, reference: Curve) -> BreakEven:
    """Return where a variant overtakes the reference between the least and the largest size.

    Runs are drawn anew at each size, the models fitted anew, 500 times.
    """
    one, other = model(ours), model(reference)
    if one is None or other is None:
        return BreakEven(None, None, False, f"fewer than {FEWEST} sizes")
    if max(one.miss, other.miss) > POOR:
        return BreakEven(None, None, False, "the models do not fit the times")
    ends = max(ours.rows[0], reference.rows[0]), min(ours.rows[-1], reference.rows[-1])
    rows, above = _crossing(one, other, ends)
    if rows is None:
        word = "faster" if one(ends[1]) < other(ends[1]) else "slower"
        return BreakEven(None, None, False, f"none in the range measured: {word} throughout")
    random = np.random.default_rng(0)
    drawn = [
        _crossing(_fit(ours.rows, mine), _fit(reference.rows, theirs), ends)
        for mine, theirs in zip(ours.drawn(random), reference.drawn(random), strict=True)
    ]
    same = [found for found, side in drawn if found is not None and side == above]
    if len(same) < SHOWN * RESAMPLES:
        return BreakEven(None, None, False, "none that the noise lets see in the range measured")
    low, high = np.quantile(same, [0.025, 0.975])
    return BreakEven(rows, (float(low), float(high)), above)


def overtaking(results: Results, pipeline: str, variant: str) -> BreakEven | None:
    """Return the break-even of a variant against the reference; None where there is no sweep."""
    ours, reference = curve(results, pipeline, variant), curve(results, pipeline, REFERENCE)
    if ours is None or reference is None or variant == REFERENCE:
        return None
    return break_even(ours, reference)


def _crossing(one: TimeModel, other: TimeModel, ends: tuple[int, int]) -> tuple[float | None, bool]:
    """Return where two lines cross within a range, and whether the first is below from there."""
    if one.b == other.b:
        return None, False
    rows = (other.a - one.a) / (one.b - other.b)
    return (rows if ends[0] <= rows <= ends[1] else None), one.b < other.b
