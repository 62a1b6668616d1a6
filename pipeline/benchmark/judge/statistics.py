"""Numbers derived from the record of a comparison: pure functions, no input, no output.

Times are compared by the ratio of medians, variant over reference, with a percentile bootstrap
interval; metrics by the margins declared in the task's file before any run. What was not measured
is None or empty, never estimated.

Both models are judged on the same rows, so the interval of a difference of metrics is paired. It
comes from the delete-a-group jackknife (Kott, "The delete-a-group jackknife", Journal of Official
Statistics 17, 2001), which works for any metric and costs one evaluation a group: with G groups of
the test rows at random and d_g the difference without group g, the variance of d is
(G - 1) / G * sum((d_g - mean(d_g))²), and the interval is Student's with G - 1 degrees of freedom.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import bootstrap
from scipy.stats import t as student

from pipeline.benchmark.record.results import STAGES, Cell, Interval, Results
from pipeline.task.metrics import part

REFERENCE = "reference"
OTHER = "other"
RESAMPLES = 2_000
LEVEL = 0.95
FEW = 5
"""With fewer runs on either side there is no verdict: the interval covers too seldom."""
TOO_FEW = 3
"""With fewer runs on either side there is no interval."""
BUSY = 0.25
"""Share of the processors' time that other processes took, above which there is no verdict."""
TASKS = 5
"""With fewer there is no mean over tasks."""
ROUNDING = 1e-12
"""A difference that equals its margin but for the last bits of a double is equal to it."""

Outcome = Literal["faster", "slower", "no difference shown", "no verdict"]
Parity = Literal["PASS", "FAIL", "INCONCLUSIVE", "no margin"]
_Times = npt.NDArray[np.float64]
Score = Callable[[Any, Any], float]
GROUPS = 20
"""Of test rows, that the jackknife leaves out."""


class Ratio(NamedTuple):
    """Median time of a variant over the reference's: below 1 the variant is faster."""

    value: float
    interval: tuple[float, float] | None
    """The 95 % interval; None where the runs are too few."""
    doubt: str = ""
    """Why there is no verdict; empty where there is one."""

    @property
    def outcome(self) -> Outcome:
        """Faster or slower only where the interval leaves 1 out."""
        if self.doubt or self.interval is None:
            return "no verdict"
        if self.interval[0] <= 1 <= self.interval[1]:
            return "no difference shown"
        return "faster" if self.interval[1] < 1 else "slower"


class Speed(NamedTuple):
    """The timed runs of one cell, in seconds of wall time, without the warm-up."""

    n: int
    median: float
    minimum: float
    maximum: float
    ratio: Ratio | None
    """Against the reference; None for the reference itself, or where it has no times."""


class MetricParity(NamedTuple):
    """One metric of a variant beside the reference's.

    It passes if the whole interval of the difference is within the margin, and fails if the
    whole of it is beyond the margin and beyond the noise; else the rows are too few to tell. A
    metric without a margin is not judged, nor one that neither side has; a declared one that a
    single side lacks has failed.
    """

    metric: str
    reference: float | None
    value: float | None
    difference: float | None
    interval: tuple[float, ...]
    """Of the difference; empty where the record has none, and then the difference is judged."""
    noise: float
    """How far the reference itself moves from seed to seed; 0 where it was not tried."""
    margin: float | None
    """Declared in the task's file, before any run."""

    @property
    def judged(self) -> Parity:
        """What may be said of it."""
        if self.margin is None or (self.reference is None and self.value is None):
            return "no margin"
        if self.difference is None or np.isnan(self.difference):
            return "FAIL"
        low, high = self.interval or (self.difference, self.difference)
        if max(-low, high) <= self.margin + ROUNDING:
            return "PASS"
        beyond = max(self.margin, self.noise) + ROUNDING
        return "FAIL" if low > beyond or high < -beyond else "INCONCLUSIVE"


def measured(results: Results, pipeline: str, variant: str) -> Cell | None:
    """Return the cell if it ran to its end and has timed runs, else None."""
    cell = results.cell(pipeline, variant)
    return cell if cell is not None and cell.status == "ok" and cell.runs else None


def speed(results: Results, pipeline: str, variant: str) -> Speed | None:
    """Summarise the timed runs of a cell; None where nothing was timed."""
    cell = measured(results, pipeline, variant)
    if cell is None:
        return None
    times = _totals(cell)
    base = None if variant == REFERENCE else measured(results, pipeline, REFERENCE)
    busy = base and others_share(results, (cell, base)) > BUSY
    doubt = "the machine was busy" if busy else ""
    against = ratio(times, _totals(base), doubt) if base else None
    median = float(np.median(times))
    return Speed(len(times), median, float(times.min()), float(times.max()), against)


def others_share(results: Results, cells: Iterable[Cell]) -> float:
    """Return the share of the processors' time that other processes took during timed runs."""
    runs = [run for cell in cells for run in cell.runs]
    total = results.machine.cores * sum(run.total for run in runs)
    return sum(run.other_cpu_seconds for run in runs) / total if total else 0.0


def ratio(times: _Times, reference: _Times, doubt: str = "") -> Ratio:
    """Compare two samples of times by the ratio of their medians.

    Both samples are resampled with replacement, independently and with a fixed seed; the interval
    is the central 95 % of the resampled ratios. `doubt` is why there is no verdict, however many
    runs there are.
    """
    n = min(len(times), len(reference))
    value = float(np.median(times) / np.median(reference))
    doubt = f"fewer than {FEW} runs" if n < FEW else doubt
    if n < TOO_FEW:
        return Ratio(value, None, doubt)

    def ratio_of_medians(times: _Times, reference: _Times, axis: int) -> Any:
        return np.median(times, axis=axis) / np.median(reference, axis=axis)

    return Ratio(value, interval_of((times, reference), ratio_of_medians), doubt)


def interval_of(samples: tuple[_Times, ...], statistic: Callable[..., Any]) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a statistic, with a fixed seed."""
    low, high = bootstrap(
        samples,
        statistic,
        n_resamples=RESAMPLES,
        confidence_level=LEVEL,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return float(low), float(high)


def _totals(cell: Cell) -> _Times:
    return np.array([run.total for run in cell.runs], dtype=np.float64)


def stages(results: Results, pipeline: str, variant: str) -> dict[str, float]:
    """Return the median seconds of each stage, and of the rest; empty where nothing was timed.

    ``"other"`` is the median total less the medians of the stages. Medians do not add exactly, so
    it can fall a little below 0.
    """
    if (cell := measured(results, pipeline, variant)) is None:
        return {}
    parts = {s: float(np.median([run.stages.get(s, 0.0) for run in cell.runs])) for s in STAGES}
    return parts | {OTHER: float(np.median(_totals(cell))) - sum(parts.values())}


def parity(results: Results, pipeline: str, variant: str) -> list[MetricParity]:
    """Compare the metrics of a cell with the reference's; empty where either did not run."""
    cell, base = measured(results, pipeline, variant), measured(results, pipeline, REFERENCE)
    if cell is None or base is None:
        return []
    margins, rows = results.task.margins, []
    for name in dict.fromkeys([*margins, *base.metrics, *cell.metrics]):
        reference, value = base.metrics.get(name), cell.metrics.get(name)
        difference = None if reference is None or value is None else value - reference
        found, noise = cell.differences.get(name), base.noise.get(name, 0.0)
        interval = () if found is None else (found.low, found.high)
        every = name, reference, value, difference, interval, noise, margins.get(name)
        rows.append(MetricParity(*every))
    return rows


def cell_parity(results: Results, pipeline: str, variant: str) -> Parity:
    """Return PASS only where the cell ran and every declared metric passes; the worst otherwise."""
    if variant == REFERENCE:
        return "no margin"
    judged = {row.judged for row in parity(results, pipeline, variant)}
    order: tuple[Parity, ...] = ("FAIL", "INCONCLUSIVE", "PASS")
    return next((word for word in order if word in judged), "no margin")


def over_tasks(records: Sequence[Results], variant: str) -> tuple[Ratio, int] | None:
    """Return the geometric mean of a variant's time ratios, and of how many tasks from `TASKS` on.

    The mean of ratios does not depend on what they are over (Fleming and Wallace, "How not to lie
    with statistics: the correct way to summarize benchmark results", Communications of the ACM 29,
    1986). Pipelines of one task are no independent draws, so each task counts once, by the mean of
    its logarithms, and the interval is bootstrapped over tasks. Left out is what was not timed,
    what has no verdict and what fails on quality.
    """
    means = []
    for each in records:
        ratios = [
            timed.ratio.value
            for pipeline in each.pipelines
            if (timed := speed(each, pipeline.name, variant))
            and timed.ratio
            and not timed.ratio.doubt
            and cell_parity(each, pipeline.name, variant) != "FAIL"
        ]
        means += [np.log(ratios).mean()] if ratios else []
    if len(means) < TASKS:
        return None
    low, high = np.exp(interval_of((np.asarray(means),), np.mean))
    return Ratio(float(np.exp(np.mean(means))), (float(low), float(high))), len(means)


def differences(
    metrics: Mapping[str, Score], y_true: np.ndarray, ours: np.ndarray, reference: np.ndarray
) -> dict[str, Interval]:
    """Return the interval of each metric's difference on the same rows, ours less the reference's.

    A metric is left out that has no value without a group, as where it held all rows of a class.

    >>> y_true, guess = np.arange(100) % 2, np.arange(100) / 100
    >>> def accuracy(y_true, guess):
    ...     return float(np.mean(y_true == (guess > 0.5)))
    >>> differences({"accuracy": accuracy}, y_true, guess, guess)
    {'accuracy': Interval(low=0.0, high=0.0)}
    """
    query = part(y_true, "query")  # The rows of a query stay together.
    unit = np.arange(len(y_true)) if query is None else np.unique(query, return_inverse=True)[1]
    group = np.random.default_rng(0).permutation(int(unit.max()) + 1)[unit] % GROUPS
    kept = [group != number for number in range(GROUPS)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a metric that has no value; it has no interval then
        found = {n: _interval(each, y_true, ours, reference, kept) for n, each in metrics.items()}
    return {name: interval for name, interval in found.items() if interval is not None}


def _interval(
    metric: Score, y_true: Any, ours: Any, reference: Any, kept: list[np.ndarray]
) -> Interval | None:
    try:
        whole, *without = (
            metric(y_true[k], ours[k]) - metric(y_true[k], reference[k])
            for k in [np.ones(len(y_true), dtype=bool), *kept]
        )
    except ValueError:
        return None
    n = len(without)
    error = float(np.sqrt((n - 1) / n * np.sum((np.array(without) - np.mean(without)) ** 2)))
    reach = float(student.ppf((1 + LEVEL) / 2, n - 1)) * error
    if not np.isfinite(whole + reach):
        return None
    return Interval(low=float(whole - reach), high=float(whole + reach))
