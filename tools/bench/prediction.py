"""Predictions of a saved model: one row, and a long file by the command."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pyarrow.parquet as pq

import pipeline
from datasets import flights
from pipeline import Accelerated
from pipeline.task.numerals import MISSING
from tasks.flights import TASK
from tools.bench import record, report
from tools.bench.claim import Ask, Claim, Turn
from tools.bench.importance import drawn
from tools.bench.record import Cell, Report, Results, Run, Variant

NAMES = ("logistic", "boosting", "forest")
"""Pipelines of the task."""
FILE, ROWS, OF_FILE = "file", "rows.parquet", "boosting"
"""The case of a long file, its name, and the model that predicts it."""
LOADED, PLAIN = "loaded", "sklearn"
PREDICT = "predict"
LEAST = 2.0
"""Target for the speed of one row beside scikit-learn's."""
MOST_GIB = 2
"""Target for the memory of a file of any length."""


def _fit(folder: Path, name: str, X: pd.DataFrame, y: np.ndarray, seed: int) -> None:
    """Fit a pipeline of the task on both sides, and keep both."""
    folder.mkdir()
    joblib.dump(TASK.pipelines[name](seed).fit(X, y), folder / PLAIN)
    model = Accelerated(TASK.pipelines[name](seed), device="cpu")
    pipeline.save(model.fit(X, y), folder / LOADED)


def start(ask: Ask, case: record.Case, variant: str) -> Turn:
    """Load a model and a row; or run the command on the file."""
    model: Any = ask.home / case.name / variant
    if case.name == FILE:
        return partial(_by_command, ask.home, ask.home / OF_FILE / variant)
    model = pipeline.load(model, "cpu") if variant == LOADED else joblib.load(model)
    row = pd.read_parquet(ask.home / "row.parquet")
    return lambda: timed(lambda: model.predict_proba(row), ask.one("calls"))


def timed(call: Callable[[], object], calls: int = 1) -> Report:
    """Return the median wall time of some calls."""
    seconds = []
    for _ in range(calls):
        begun = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begun)
    return Report(run=Run(seconds={PREDICT: float(np.median(seconds))}, calls=calls))


def _by_command(home: Path, model: Path) -> Report:
    """Return what the command took, from the start of its process to its end."""
    words = ["-m", "pipeline", "predict", *map(str, (model, home / ROWS, home / "out"))]
    made = timed(
        lambda: subprocess.run(
            [sys.executable, *words, "--device", "cpu"], check=True, capture_output=True
        )
    )
    # This process starts no other one.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return Report(run=Run(seconds=made.run.seconds, bytes={"peak": peak}))


def _cases(ask: Ask) -> Iterator[tuple[record.Case, Sequence[str]]]:
    X, y = drawn(ask, ask.one("trained"))
    X.iloc[[7]].to_parquet(ask.home / "row.parquet")
    for name in NAMES:
        if ask.wants(name) or (name == OF_FILE and ask.wants(FILE)):
            _fit(ask.home / name, name, X, y, ask.seed)
        if ask.wants(name):
            yield record.Case(name=name, facts={"rows": 1, "columns": X.shape[1]}), [*SIDES]
    if ask.wants(FILE):
        rows, table = 0, pq.read_table(flights.prepare(ask.data))
        with pq.ParquetWriter(ask.home / ROWS, table.schema) as writer:
            while rows < ask.one("rows"):
                writer.write_table(table[: ask.one("rows") - rows])
                rows += len(table)
        facts: dict[str, int | float]
        facts = {"rows": ask.one("rows"), "bytes": (ask.home / ROWS).stat().st_size}
        yield record.Case(name=FILE, facts=facts), [LOADED]


def _holds(results: Results, case: str) -> report.Found | None:
    cell = results.cell(case, LOADED)
    if cell is None:
        return None
    peak = max(run.bytes["peak"] for run in cell.runs) / 2**30
    return f"{peak:.2f} GiB", peak <= MOST_GIB


def _rate(results: Results, cell: Cell) -> str:
    rows = results.case(cell.case).facts["rows"]
    return f"{rows / cell.median(PREDICT):,.0f}" if cell.ok else MISSING


SIDES = {LOADED: "loaded", PLAIN: "scikit-learn"}
CLAIM = Claim(
    name="prediction",
    settings={"rows": (10_000_000,), "calls": (50,), "trained": (100_000,)},
    repeats=7,
    cases=_cases,
    start=start,
    names=(*NAMES, FILE),
    variants=[Variant(name=name, title=title) for name, title in SIDES.items()],
    clock="a run of one row is the median of {calls} calls; a file of {rows} rows by the command",
    columns=[
        report.case(),
        report.variant(),
        report.took("ms", PREDICT, lambda seconds: f"{1e3 * seconds:,.2f}"),
        report.Column("rows a second", _rate),
    ],
    targets=[
        report.as_fast(PREDICT, LOADED, PLAIN, LEAST, cases=NAMES),
        report.Target("memory", LOADED, "", f"≤ {MOST_GIB} GiB", _holds, [FILE]),
    ],
)
