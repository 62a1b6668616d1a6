"""The cells of a comparison as one table of plain numbers, for pandas and spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from pipeline.benchmark.judge.statistics import OTHER, cell_parity, measured, speed, stages
from pipeline.benchmark.record.results import STAGES, Results

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a text that begins so for a formula."""

Value = str | float | None


def cells_csv(results: Results) -> str:
    """Return a row for each pipeline and variant, those that did not run among them.

    Numbers are not rounded; seconds, bytes and shares of 1 are named in the head. What was not
    measured is empty. A text that a spreadsheet would take for a formula has an apostrophe before
    it.

    Returns
    -------
    str
        CSV of RFC 4180, but with line feeds alone.
    """
    return all_cells_csv([results])


def all_cells_csv(every: Sequence[Results]) -> str:
    """Return the rows of several comparisons, one after the other; see `cells_csv`."""
    metrics = sorted({name for each in every for cell in each.cells for name in cell.metrics})
    return write_csv(
        _row(results, pipeline.name, variant.name, metrics)
        for results in every
        for pipeline in results.pipelines
        for variant in results.variants
    )


def write_csv(rows: Iterable[dict[str, Value]]) -> str:
    """Write rows under the names of the first; a number is written so that it is read back equal.

    Examples
    --------
    >>> print(write_csv([{"name": "=1+1", "seconds": 0.1, "ratio": None}]), end="")
    name,seconds,ratio
    '=1+1,0.1,
    """
    rows = list(rows)
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow([_text(name) for name in rows[0]] if rows else [])
    for row in rows:
        writer.writerow([_text(v) if isinstance(v, str) else v for v in row.values()])
    return sink.getvalue()


def _text(value: str) -> str:
    return f"'{value}" if value.startswith(_FORMULA) else value


def _row(results: Results, pipeline: str, variant: str, metrics: list[str]) -> dict[str, Value]:
    cell, timed = results.cell(pipeline, variant), speed(results, pipeline, variant)
    ratio = timed.ratio if timed else None
    low, high = ratio.interval if ratio and ratio.interval else (None, None)
    parts = stages(results, pipeline, variant) if measured(results, pipeline, variant) else {}
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
        **{f"{stage}_seconds": parts.get(stage) for stage in (*STAGES, OTHER)},
        "time_ratio": ratio.value if ratio else None,
        "time_ratio_low": low,
        "time_ratio_high": high,
        "outcome": ratio.outcome if ratio else None,
        "parity": cell_parity(results, pipeline, variant) if timed else None,
        "peak_rss_bytes": cell.peak_rss_bytes if cell and timed else None,
        **{f"metric_{name}": cell.metrics.get(name) if cell else None for name in metrics},
    }
