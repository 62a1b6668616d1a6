"""Seconds and memory by the rows of a table: its preprocessing, and a whole linear model."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

import numpy as np
import psutil
import pyarrow.parquet as pq

import pipeline
from datasets import flights_delay
from pipeline import Accelerated
from pipeline.benchmark.run.worker import peak_rss
from pipeline.task.numerals import MISSING
from tasks.flights_delay import TASK
from tools.bench import record, report
from tools.bench.record import Results, Run, Values, Variant
from tools.bench.runner import Ask, Claim, Turn

NAME = "delays-ridge"
PREPROCESSING, WHOLE = "preprocessing", "whole"
PHASES = "read+fit+predict"
STEEPEST = 1.0
"""Target: the power of the rows that the seconds grow with."""
OF_TABLE = 0.25
"""Target: memory of the preprocessing beside the table and the matrix, as a share of the table."""


def start(ask: Ask, case: record.Case, variant: str) -> Turn:
    """Load nothing. A turn reads a file, fits on all rows, and transforms or predicts them."""
    path, estimator = ask.home / f"{case.name}.parquet", TASK.pipelines["linear"](ask.seed)
    model = Accelerated(estimator if variant == WHOLE else estimator[:-1], device="cpu")

    def turn() -> tuple[Run, Values]:
        gc.collect()
        times = [time.perf_counter()]
        X, y = pipeline.read(path, list(TASK.features), TASK.target)
        times.append(time.perf_counter())
        sizes = {"table": int(X.memory_usage(deep=True).sum()), "read": _resident()}
        matrix = model.fit(X, y) if variant == WHOLE else model.fit_transform(X, y)
        times.append(time.perf_counter())
        sizes["peak"] = peak_rss()
        if variant == PREPROCESSING:
            sizes["matrix"] = matrix.nbytes  # dense
        del matrix
        again = time.perf_counter()
        (model.predict if variant == WHOLE else model.transform)(X)
        times.append(times[-1] + time.perf_counter() - again)
        seconds = dict(zip(PHASES.split("+"), np.diff(times).tolist(), strict=True))
        return Run(seconds=seconds, bytes=sizes), {}

    return turn


def _resident() -> int:
    return int(psutil.Process().memory_info().rss)


def _cases(ask: Ask) -> Iterator[record.Case]:
    """Draw the flights again and again, so that values are distributed alike at all sizes."""
    table = pq.read_table(flights_delay.prepare(ask.data), columns=[*TASK.features, TASK.target])
    for rows in sorted(ask.settings["rows"]):
        case = record.Case(name=f"{NAME} {rows}", title=NAME, facts={"rows": rows})
        drawn = np.random.default_rng(ask.seed).integers(len(table), size=rows)
        pq.write_table(table.take(drawn), ask.home / f"{case.name}.parquet")
        yield case


def slope(results: Results, variant: str, last: int = 0) -> float:
    """Return the power of the rows that the seconds grow with: of all sizes, or the last few.

    By least squares of logarithms. Fixed costs make the smallest sizes flatten it.
    """
    cells = [(case, results.cell(case.name, variant)) for case in results.cases]
    known = [(case.facts["rows"], cell.median(PHASES)) for case, cell in cells if cell][-last:]
    rows, taken = np.log(np.reshape(known, (-1, 2))).T
    return float(np.polyfit(rows, taken, 1)[0]) if len(known) > 1 else np.nan


def notes(results: Results) -> str:
    """Return seconds by rows, how steeply they grow, and the memory beside the table."""
    names = [variant.name for variant in results.variants]
    lines = []
    for case in results.cases:
        rows, cells = int(case.facts["rows"]), [results.cell(case.name, name) for name in names]
        per_million = (f"{1e6 * c.median(PHASES) / rows:.2f}" if c else MISSING for c in cells)
        lines.append([f"{rows:,}", *per_million])
    head = ["rows", *(f"{each.title}, s per million rows" for each in results.variants)]
    whole, end = (
        " and ".join(f"{slope(results, name, last):.2f}" for name in names) for last in (0, 2)
    )
    return "\n\n".join([
        report.table(head, lines, range(len(head))),
        f"Seconds grow with rows to the power of {whole} (target: ≤ {STEEPEST}); between the two "
        f"largest sizes, where fixed costs no longer count, of {end}.",
        _memory(results),
    ])  # fmt: skip


def _memory(results: Results) -> str:
    """Return the memory of the preprocessing, of the largest table, as the first run found it."""
    case = max(results.cases, key=lambda case: case.facts["rows"])
    cell = results.cell(case.name, PREPROCESSING)
    if not cell or not cell.warmup:
        return ""
    table, read, peak, matrix = (
        cell.warmup.bytes[name] for name in ("table", "read", "peak", "matrix")
    )
    share, of = (peak - read - matrix) / table, f"{matrix / 1e9:.2f} GB"
    return (
        f"At {case.facts['rows']:,} rows ({table / 1e9:.2f} GB), preprocessing takes {share:.0%} "
        f"of the table's memory beside its matrix of {of} (target: ≤ {OF_TABLE:.0%})."
    )


CLAIM = Claim(
    name="growth",
    settings={"rows": (100_000, 1_000_000, 10_000_000)},
    repeats=5,
    cases=_cases,
    start=start,
    names=(NAME,),
    variants=[
        Variant(name=PREPROCESSING, title="preprocessing"),
        Variant(name=WHOLE, title="with ridge regression"),
    ],
    clock="read Parquet, fit, and transform or predict the same rows",
    notes=notes,
)
