"""How time grows with the rows: the times of a variant at several sizes of the table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.benchmark.judge.statistics import measured
from pipeline.benchmark.record.results import Results


class Curve(NamedTuple):
    """The times of one variant at several sizes."""

    rows: tuple[int, ...]
    """Training rows, ascending."""
    runs: tuple[tuple[float, ...], ...]
    """Seconds of each timed run at each of them."""

    @property
    def medians(self) -> npt.NDArray[np.float64]:
        """Median seconds at each size."""
        return np.array([np.median(times) for times in self.runs])


def curve(results: Results, pipeline: str, variant: str) -> Curve | None:
    """Return the times of a variant at all sizes that it ran at; None where there are no others."""
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
