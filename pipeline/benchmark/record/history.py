"""Earlier records of the same work, kept in short with each new one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pipeline.benchmark.record import results
from pipeline.benchmark.record.results import Past, Results
from pipeline.benchmark.report.baseline import why_not_comparable
from pipeline.errors import DataError

MOST = 30
"""Of them, the latest."""


def earlier(now: Results, path: Path) -> list[Past]:
    """Return what a record and those before it say, oldest first.

    Parameters
    ----------
    now : Results
        Records that measured something else are left out.
    path : Path
        Of ``results.json``, which need not exist.
    """
    try:
        then = results.load(path)
    except DataError:
        return []
    if any(why_not_comparable(now, then)):
        return []
    return [*then.history, brief(then)][-MOST:]


def brief(then: Results) -> Past:
    """Return what is kept of a record: when, where, which code, and the medians."""
    return Past(
        created=then.created,
        commit=then.source.commit,
        cpu=then.machine.cpu,
        gpus=[gpu.name for gpu in then.machine.gpus],
        medians={
            f"{cell.pipeline}/{cell.variant}": float(np.median([run.total for run in cell.runs]))
            for cell in then.cells
            if cell.status == "ok" and cell.runs
        },
    )
