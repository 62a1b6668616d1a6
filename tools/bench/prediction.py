"""Predictions of a saved model: one row, and a long file by the command."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pyarrow.parquet as pq

import pipeline
from datasets import flights
from pipeline import Accelerated
from pipeline.benchmark.report.format import MISSING
from tasks.flights import TASK
from tools.bench import record, report
from tools.bench.claim import Ask, Case, Claim
from tools.bench.record import Cell, Report, Results, Run, Variant

NAMES = ("logistic", "boosting", "forest")
"""Pipelines of the task."""
FILE, OF_FILE = "file", "boosting"
"""The case of a long file, and the model that predicts it."""
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


@lru_cache(maxsize=1)
def _kept(folder: Path, variant: str) -> tuple[Any, pd.DataFrame]:
    """Return a model that was kept, and a row."""
    model = folder / variant
    loaded = pipeline.load(model, "cpu") if variant == LOADED else joblib.load(model)
    return loaded, pd.read_parquet(folder.parent / "row.parquet")


def _one_row(folder: Path, variant: str, calls: int) -> Report:
    model, row = _kept(folder, variant)
    return timed(lambda: model.predict_proba(row), calls)


def timed(call: Callable[[], object], calls: int = 1) -> Report:
    """Return the median wall time of some calls."""
    seconds = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return Report(run=Run(seconds={PREDICT: float(np.median(seconds))}, calls=calls))


def _by_command(model: Path, path: Path, out: Path) -> Report:
    """Return what the command took, from the start of its process to its end."""
    words = [sys.executable, "-m", "pipeline", "predict", *map(str, (model, path, out))]
    made = timed(
        lambda: subprocess.run([*words, "--device", "cpu"], check=True, capture_output=True)
    )
    # No other process was started by this one.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return Report(run=Run(seconds=made.run.seconds, bytes={"peak": peak}))


def _cases(ask: Ask) -> Generator[Case, None, None]:
    home, path = ask.home.resolve(), Path(flights.prepare(ask.data))
    table = pd.read_parquet(path).sample(frac=1, random_state=ask.seed)
    trained = table.iloc[: ask.one("trained")]
    X, y = trained[list(TASK.features)], trained[TASK.target].to_numpy()
    X.iloc[[7]].to_parquet(home / "row.parquet")
    for name in NAMES:
        if ask.wants(name) or (name == OF_FILE and ask.wants(FILE)):
            _fit(home / name, name, X, y, ask.seed)
        if ask.wants(name):
            yield Case(
                record.Case(name=name, facts={"rows": 1, "columns": X.shape[1]}),
                {way: partial(_one_row, home / name, way, ask.one("calls")) for way in SIDES},
            )
    if ask.wants(FILE):
        long, rows = home / "rows.parquet", 0
        with pq.ParquetWriter(long, pq.read_schema(path)) as writer:
            while rows < ask.one("rows"):
                part = pq.read_table(path)[: ask.one("rows") - rows]
                writer.write_table(part)
                rows += len(part)
        facts = {"rows": rows, "columns": X.shape[1], "bytes": long.stat().st_size}
        work = partial(_by_command, home / OF_FILE / LOADED, long, home / "out")
        yield Case(record.Case(name=FILE, facts=facts), {LOADED: work})


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
    names=(*NAMES, FILE),
    variants=[Variant(name=name, title=title) for name, title in SIDES.items()],
    clock="a run of one row is the median of {calls} calls; a file of {rows} rows by the command",
    tables=[
        report.Table(
            [
                report.case(),
                report.variant(),
                report.took("ms", PREDICT, lambda seconds: f"{1e3 * seconds:,.2f}"),
                report.Column("rows a second", _rate),
            ]
        ),
    ],
    targets=[
        report.as_fast(PREDICT, LOADED, PLAIN, LEAST, cases=NAMES),
        report.Target("memory", LOADED, "", f"≤ {MOST_GIB} GiB", _holds, [FILE]),
    ],
)
