"""What a comparison found, in one table: how fast, how equal, how good."""

from __future__ import annotations

from pipeline.benchmark.judge.doubts import first_metric
from pipeline.benchmark.judge.statistics import FEW, REFERENCE, measured, speed
from pipeline.benchmark.judge.verdict import Headline, verdict
from pipeline.benchmark.record.results import Results
from pipeline.benchmark.report.table import (
    TONES,
    ReportTable,
    TableCell,
    Values,
    how_fast,
    row,
    span,
)
from pipeline.benchmark.report.tables import absence
from pipeline.task.numerals import MISSING, score, seconds


def summary_table(results: Results) -> ReportTable:
    """Return a row for each pipeline and variant that was to run."""
    lines = verdict(results).headlines
    firsts = {name for each in results.pipelines if (name := _first_metric(results, each.name))}
    one = firsts.pop() if len(firsts) == 1 else ""
    dummy = f", dummy {score(results.baseline[one])}" if one in results.baseline else ""
    note = "Seconds: median time of a run, end to end, and plain scikit-learn's in brackets."
    least = min((line.speed.n for line in lines if line.speed), default=FEW)
    if least < FEW:
        note += f" Intervals are indicative: {least} runs."
    return ReportTable(
        "Against plain scikit-learn",
        (
            "Pipeline",
            "Variant",
            "Speed",
            "Interval, 95 %",
            "Quality",
            f"{one}{dummy}" or "Score",
            "Seconds",
        ),
        "lllllrr",
        tuple(row(line.pipeline, line.variant, *_found(results, line, one)) for line in lines),
        note,
    )


def _first_metric(results: Results, pipeline: str) -> str:
    found = first_metric(results, pipeline)
    return found[0] if found else ""


def _found(results: Results, line: Headline, metric: str) -> Values:
    """Return how fast and how good a variant is, or why it has no times."""
    cell = measured(results, line.pipeline, line.variant)
    if line.speed is None or cell is None:
        why = TableCell(absence(results, line.pipeline, line.variant), "bad")
        return why, *[MISSING] * 4
    failed, ratio = line.parity == "FAIL", line.speed.ratio
    name = metric or _first_metric(results, line.pipeline)
    value = score(cell.metrics[name]) if name in cell.metrics else MISSING
    plain = speed(results, line.pipeline, REFERENCE)
    figure = how_fast(ratio) if ratio else TableCell(MISSING)
    return (
        TableCell("no claim, as quality fails", "bad") if failed else figure,
        span(ratio) if ratio and not failed else MISSING,
        TableCell(line.judged, TONES.get(line.parity, "quiet")),
        value if metric or value == MISSING else f"{name} {value}",
        seconds(line.speed.median) + (f" ({seconds(plain.median)})" if plain else ""),
    )
