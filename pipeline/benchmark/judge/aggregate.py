"""Many comparisons together: how fast a variant is over all tasks, against plain scikit-learn.

Times are compared by the geometric mean of ratios, which does not depend on what the ratios are
over (Fleming and Wallace, "How not to lie with statistics: the correct way to summarize benchmark
results", Communications of the ACM 29, 1986). Pipelines of one task are no independent draws, so
each task counts once, by the mean of its logarithms, and the interval is bootstrapped over tasks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pipeline.benchmark.judge.statistics import Ratio, cell_parity, interval_of, speed
from pipeline.benchmark.record.results import Results

FEWEST = 5
"""Tasks below which there is no mean."""


def over_tasks(records: Sequence[Results], variant: str) -> Ratio | None:
    """Return the geometric mean of a variant's time ratios; None of fewer than `FEWEST` tasks.

    What was not timed is left out, and so is what fails on quality.
    """
    means = [np.mean(logs) for each in records if (logs := _logs(each, variant))]
    return geometric_mean([float(mean) for mean in means])


def _logs(results: Results, variant: str) -> list[float]:
    """Return the logarithm of the ratio of each pipeline that has one."""
    return [
        math.log(timed.ratio.value)
        for each in results.pipelines
        if (timed := speed(results, each.name, variant))
        and timed.ratio
        and cell_parity(results, each.name, variant) != "FAIL"
    ]


def geometric_mean(logs: Sequence[float]) -> Ratio | None:
    """Return the mean of ratios with its interval over tasks, from their logarithms.

    Examples
    --------
    >>> found = geometric_mean([math.log(ratio) for ratio in (0.5, 2.0, 4.0, 4.0, 2.0)])
    >>> round(found.value, 6), found.n, geometric_mean([0.0])
    (2.0, 5, None)
    """
    if len(logs) < FEWEST:
        return None
    low, high = np.exp(interval_of((np.asarray(logs),), np.mean))
    return Ratio(float(np.exp(np.mean(logs))), (float(low), float(high)), len(logs))
