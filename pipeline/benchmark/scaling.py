"""How time grows with the rows: a cost model for each variant, and where one overtakes another.

The model is t = a + b·n: a start that does not depend on the rows, and a price for each. Where it
misses a median by more than 5 %, and there are four sizes or more, t = a + b·n^c is tried, and
taken if its largest miss is less than half of that. Both are fitted to the medians of the sizes by
least squares of relative errors, with a and b not below 0, for c the best of a grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import bootstrap

from pipeline.benchmark.report.format import seconds, three_digits
from pipeline.benchmark.results import Results
from pipeline.benchmark.statistics import REFERENCE, measured
from pipeline.typing import Table

EXPONENTS = np.round(np.arange(0.5, 2.51, 0.02), 2)
GOOD = 0.05
"""Largest miss of a median, as a share of it, with which the straight line will do."""
POOR = 0.25
"""Largest miss beyond which no break-even is read off the models."""
FEWEST, FOR_POWER = 3, 4
"""Sizes that the line and the power need."""
RESAMPLES = 500
SHOWN = 0.95
"""Share of the resamples that must have a break-even for it to be shown."""
_GRID = 256
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


@dataclass(frozen=True)
class TimeModel:
    """Seconds as a + b·n^c of n training rows.

    Parameters
    ----------
    a, b, c : float
    miss : float
        Largest distance of a median from it, as a share of the median.
    """

    a: float
    b: float
    c: float
    miss: float

    def __call__(self, rows: Table) -> Floats:
        """Return the seconds for numbers of rows."""
        return np.asarray(self.a + self.b * np.asarray(rows, float) ** self.c)

    def __str__(self) -> str:
        """Write the formula.

        >>> print(TimeModel(0.5, 2e-6, 1.0, 0.0))
        0.500 s + 2 s per million
        >>> print(TimeModel(0.0, 1e-6, 1.5, 0.0))
        0.000 s + 1e-06 s · rows^1.5
        """
        if self.c == 1:
            return f"{seconds(self.a)} s + {1e6 * self.b:.3g} s per million"
        return f"{seconds(self.a)} s + {self.b:.3g} s · rows^{self.c:g}"


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
    if len(found.rows) < FEWEST:
        return None
    rows, medians = np.array(found.rows, float), found.medians[None]
    line = _model(rows, medians, np.array([1.0]))
    if len(rows) < FOR_POWER or line.miss <= GOOD:
        return line
    power = _model(rows, medians, EXPONENTS)
    return power if power.miss < line.miss / 2 else line


def break_even(ours: Curve, reference: Curve) -> BreakEven:
    """Return where a variant overtakes the reference between the least and the largest size.

    Runs are drawn anew at each size, the models fitted anew, 500 times.

    Parameters
    ----------
    ours, reference : Curve
    """
    pair = (ours, reference)
    models = [model(each) for each in pair]
    if None in models:
        return BreakEven(None, None, False, f"fewer than {FEWEST} sizes")
    fitted = [each for each in models if each is not None]
    if max(each.miss for each in fitted) > POOR:
        return BreakEven(None, None, False, "the models do not fit the times")
    low, high = max(c.rows[0] for c in pair), min(c.rows[-1] for c in pair)
    grid = np.geomspace(low, high, _GRID)
    apart = np.log(fitted[0](grid)) - np.log(fitted[1](grid))
    (rows,), (above,) = _crossings(grid, apart[None])
    if np.isnan(rows):
        word = "faster" if apart[-1] < 0 else "slower"
        return BreakEven(None, None, False, f"none in the range measured: {word} throughout")
    drawn, sides = _resampled(pair, fitted, grid)
    same = drawn[(drawn > 0) & (sides == above)]
    if len(same) < SHOWN * RESAMPLES:
        return BreakEven(None, None, False, "none that the noise lets see in the range measured")
    ends = np.quantile(same, [0.025, 0.975])
    return BreakEven(float(rows), (float(ends[0]), float(ends[1])), bool(above))


def overtaking(results: Results, pipeline: str, variant: str) -> BreakEven | None:
    """Return the break-even of a variant against the reference; None where there is no sweep."""
    ours, reference = curve(results, pipeline, variant), curve(results, pipeline, REFERENCE)
    if ours is None or reference is None or variant == REFERENCE:
        return None
    return break_even(ours, reference)


def _model(rows: Floats, medians: Floats, exponents: Floats) -> TimeModel:
    a, b, c = (float(found[0]) for found in _fit(rows, medians, exponents))
    miss = np.abs((a + b * rows**c) / medians[0] - 1).max()
    return TimeModel(a, b, c, float(miss))


def _fit(rows: Floats, medians: Floats, exponents: Floats) -> tuple[Floats, Floats, Floats]:
    """Return a, b and c for each row of medians, those with the least squared relative error."""
    powers = rows ** exponents[:, None]  # (exponents, sizes)
    u, v = 1 / medians[:, None, :], powers / medians[:, None, :]  # (tables, exponents, sizes)
    uu, uv, vv = (u * u).sum(-1), (u * v).sum(-1), (v * v).sum(-1)
    us, vs = u.sum(-1), v.sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        b = (uu * vs - uv * us) / (uu * vv - uv * uv)
        a = (us - b * uv) / uu
    a, b = np.where(a < 0, 0.0, a), np.where(a < 0, vs / vv, b)
    a, b = np.where(b < 0, us / uu, a), np.where(b < 0, 0.0, b)
    errors = ((a[..., None] * u + b[..., None] * v - 1) ** 2).sum(-1)
    best = errors.argmin(axis=1)
    every = np.arange(len(medians))
    return a[every, best], b[every, best], exponents[best]


def _crossings(grid: Floats, apart: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return where each row of differences changes its sign last, and whether it falls there."""
    changes = np.signbit(apart[:, 1:]) != np.signbit(apart[:, :-1])
    last = changes.shape[1] - 1 - changes[:, ::-1].argmax(axis=1)
    every = np.arange(len(apart))
    left, right = apart[every, last], apart[every, last + 1]
    there = changes.any(axis=1)
    share = np.where(there, left, 0.0) / np.where(there, left - right, 1.0)
    rows = np.exp(np.log(grid[last]) + share * (np.log(grid[last + 1]) - np.log(grid[last])))
    return np.where(there, rows, np.nan), left > 0


def _resampled(
    pair: Sequence[Curve], fitted: Sequence[TimeModel], grid: Floats
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return the crossings of models that are fitted to runs drawn anew at each size."""
    ours = len(pair[0].runs)

    def crossings(*runs: Floats, axis: int) -> Floats:
        medians = np.stack([np.median(times, axis=axis) for times in runs], axis=-1)
        logs = [
            _log_times(each, shape, np.atleast_2d(part), grid)
            for each, shape, part in zip(
                pair, fitted, (medians[..., :ours], medians[..., ours:]), strict=True
            )
        ]
        # Bootstrapping warns of NaN; no number of rows is 0.
        return np.nan_to_num(_crossings(grid, logs[0] - logs[1]), nan=0.0)

    drawn = bootstrap(
        [np.array(times) for each in pair for times in each.runs],
        crossings,
        n_resamples=RESAMPLES,
        vectorized=True,
        method="percentile",
        rng=np.random.default_rng(0),
    ).bootstrap_distribution
    return drawn[0], drawn[1] > 0


def _log_times(found: Curve, shape: TimeModel, medians: Floats, grid: Floats) -> Floats:
    """Return the logarithms of the modelled times on a grid, one row for each row of medians."""
    exponents = np.array([1.0]) if shape.c == 1 else EXPONENTS
    a, b, c = _fit(np.array(found.rows, float), medians, exponents)
    return np.log(a[:, None] + b[:, None] * grid ** c[:, None])
