"""Many comparisons together: how each variant stands against plain scikit-learn.

Times are compared by the geometric mean of ratios, which does not depend on what the ratios are
over (Fleming and Wallace, "How not to lie with statistics: the correct way to summarize benchmark
results", Communications of the ACM 29, 1986). Pipelines of one task are no independent draws, so
each task counts once, by the mean of its logarithms, and intervals are bootstrapped over tasks.
What was not measured is counted, and never filled in.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.stats import bootstrap

from pipeline.benchmark.results import Results
from pipeline.benchmark.statistics import (
    LEVEL,
    REFERENCE,
    RESAMPLES,
    Parity,
    Speed,
    cell_parity,
    speed,
)

Result = Literal["win", "tie", "loss", "quality fails", "stopped", "failed", "not run"]
RESULTS: tuple[Result, ...] = get_args(Result)
FEWEST = 5
"""Tasks below which no interval is given."""


@dataclass(frozen=True)
class CellResult:
    """One pipeline of one task by one variant on one machine, against plain scikit-learn there.

    Parameters
    ----------
    task, pipeline, variant, machine : str
    speed : Speed or None
        None where it has no times.
    parity : str
    at_least : float or None
        The ratio that a run which was stopped had reached.
    why : str
        Why it has no times.
    status : {"ok", "failed", "skipped"}
    """

    task: str
    pipeline: str
    variant: str
    machine: str
    speed: Speed | None
    parity: Parity
    at_least: float | None
    why: str
    status: str

    @property
    def ratio(self) -> float | None:
        """Median time over plain scikit-learn's."""
        return self.speed.ratio.value if self.speed and self.speed.ratio else None

    @property
    def result(self) -> Result:
        """How it stands; a variant whose quality fails wins nothing."""
        if self.speed is None or self.speed.ratio is None:
            missing: dict[str, Result] = {"skipped": "not run", "ok": "not run"}
            return "stopped" if self.at_least else missing.get(self.status, "failed")
        if self.parity == "FAIL":
            return "quality fails"
        known: dict[str, Result] = {"faster": "win", "slower": "loss"}
        return known.get(self.speed.ratio.outcome, "tie")


def cell_results(results: Results, machine: str = "") -> Iterator[CellResult]:
    """Yield how each pipeline stands by each variant but the reference."""
    for pipeline in results.pipelines:
        reference = speed(results, pipeline.name, REFERENCE)
        for variant in results.variants:
            if variant.name == REFERENCE:
                continue
            cell = results.cell(pipeline.name, variant.name)
            stopped = cell.stopped_after if cell else None
            yield CellResult(
                results.task.name,
                pipeline.name,
                variant.name,
                machine,
                speed(results, pipeline.name, variant.name),
                cell_parity(results, pipeline.name, variant.name),
                stopped / reference.median if stopped and reference else None,
                (cell.why if cell else variant.why) or "no record",
                cell.status if cell else variant.status,
            )


@dataclass(frozen=True)
class Standing:
    """How a variant stands over all tasks.

    Parameters
    ----------
    variant, machine : str
    mean : float or None
        Geometric mean of the ratios, each task counting once; None without any.
    interval : tuple of float or None
        Of the mean, 95 %, over tasks; None of fewer than `FEWEST`.
    tasks, cells : int
        That the mean is over: those with times and without failing quality.
    counts : dict of str to int
        Result -> cells.
    worst : CellResult or None
        The largest ratio.
    """

    variant: str
    machine: str
    mean: float | None
    interval: tuple[float, float] | None
    tasks: int
    cells: int
    counts: dict[Result, int]
    worst: CellResult | None


def standings(every: Iterable[CellResult]) -> list[Standing]:
    """Return how each variant on each machine stands, in the order that they come in."""
    groups: dict[tuple[str, str], list[CellResult]] = {}
    for cell in every:
        groups.setdefault((cell.variant, cell.machine), []).append(cell)
    return [_standing(*key, cells) for key, cells in groups.items()]


def _standing(variant: str, machine: str, cells: Sequence[CellResult]) -> Standing:
    judged = [c for c in cells if c.ratio is not None and c.result != "quality fails"]
    logs: dict[str, list[float]] = {}
    for cell in judged:
        logs.setdefault(cell.task, []).append(math.log(cell.ratio or 1.0))
    mean, interval = geometric_mean([*logs.values()])
    counts = Counter(cell.result for cell in cells)
    return Standing(
        variant, machine, mean, interval, len(logs), len(judged),
        {name: counts[name] for name in RESULTS},
        max(judged, key=lambda cell: cell.ratio or 0.0, default=None),
    )  # fmt: skip


def geometric_mean(
    logs: Sequence[Sequence[float]],
) -> tuple[float | None, tuple[float, float] | None]:
    """Return the geometric mean of ratios, each task counting once, and its interval over tasks.

    Parameters
    ----------
    logs : sequence of sequence of float
        Logarithms of the ratios, by task.

    Examples
    --------
    >>> mean, interval = geometric_mean([[math.log(0.5), math.log(2.0)], [math.log(4.0)]])
    >>> round(mean, 6), interval
    (2.0, None)
    """
    if not logs:
        return None, None
    means = np.array([np.mean(each) for each in logs])
    mean = float(np.exp(means.mean()))
    if len(means) < FEWEST:
        return mean, None
    found = bootstrap(
        (means,), np.mean, confidence_level=LEVEL, n_resamples=RESAMPLES, method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    return mean, (float(np.exp(found.low)), float(np.exp(found.high)))
