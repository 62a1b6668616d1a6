"""The runs of comparisons as one table of plain numbers, for pandas and spreadsheets."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from pipeline.benchmark.judge.statistics import cell_parity, speed, stages
from pipeline.benchmark.record.results import Results

_FORMULA = r"^(?=[=+\-@\t\r])"
"""Where a spreadsheet takes a text for a formula."""


def runs_csv(*every: Results) -> str:
    """Return CSV with a row for each pipeline and variant, those that did not run among them.

    Numbers are not rounded; seconds, bytes and shares of 1 are named in the head. What was not
    measured is empty. A text that a spreadsheet would take for a formula has an apostrophe before
    it.
    """
    table = pd.DataFrame(
        values_of(results, pipeline.name, variant.name)
        for results in every
        for pipeline in results.pipelines
        for variant in results.variants
    )
    table = table.rename(columns=lambda name: re.sub(_FORMULA, "'", name))
    texts = table.select_dtypes(exclude="number").columns
    table[texts] = table[texts].replace(_FORMULA, "'", regex=True)
    return table.to_csv(index=False, lineterminator="\n")


def values_of(results: Results, pipeline: str, variant: str) -> dict[str, Any]:
    """Return a row by its columns; what was not measured is None."""
    cell, timed = results.cell(pipeline, variant), speed(results, pipeline, variant)
    ratio = timed.ratio if timed else None
    low, high = (ratio.interval if ratio else None) or (None, None)
    parts = stages(results, pipeline, variant)
    return {
        "task": results.task.name,
        "pipeline": pipeline,
        "variant": variant,
        "status": cell.status if cell else "skipped",
        "runs": timed.n if timed else 0,
        "median_seconds": timed.median if timed else None,
        "min_seconds": timed.minimum if timed else None,
        "max_seconds": timed.maximum if timed else None,
        "warmup_seconds": cell.warmup.total if cell and cell.warmup else None,
        **{f"{stage}_seconds": taken for stage, taken in parts.items()},
        "time_ratio": ratio.value if ratio else None,
        "time_ratio_low": low,
        "time_ratio_high": high,
        "outcome": ratio.outcome if ratio else None,
        "parity": cell_parity(results, pipeline, variant) if timed else None,
        "peak_rss_bytes": cell.peak_rss_bytes if cell and timed else None,
        **{f"metric_{name}": value for name, value in (cell.metrics if cell else {}).items()},
    }
