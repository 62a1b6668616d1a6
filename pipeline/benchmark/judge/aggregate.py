"""Many comparisons together: how fast a variant is over all tasks, against plain scikit-learn.

Times are compared by the geometric mean of ratios, which does not depend on what the ratios are
over (Fleming and Wallace, "How not to lie with statistics: the correct way to summarize benchmark
results", Communications of the ACM 29, 1986). Pipelines of one task are no independent draws, so
each task counts once, by the mean of its logarithms, and the interval is bootstrapped over tasks.
"""

from __future__ import annotations

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
    means = []
    for each in records:
        ratios = [
            timed.ratio.value
            for pipeline in each.pipelines
            if (timed := speed(each, pipeline.name, variant))
            and timed.ratio
            and cell_parity(each, pipeline.name, variant) != "FAIL"
        ]
        means += [np.log(ratios).mean()] if ratios else []
    if len(means) < FEWEST:
        return None
    low, high = np.exp(interval_of((np.asarray(means),), np.mean))
    return Ratio(float(np.exp(np.mean(means))), (float(low), float(high)), len(means))
