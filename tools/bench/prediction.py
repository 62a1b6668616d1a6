"""Predictions of few rows by a saved model, beside scikit-learn's and the last step's alone.

Where MLflow is installed, its server predicts one row as well.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import timeit
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL
from typing import Any
from urllib.request import Request, urlopen

import joblib
import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from xgboost import XGBClassifier

import pipeline
from pipeline import Accelerated, optional
from pipeline.serving import mlflow_flavor
from pipeline.system.threads import processors
from tasks.flights import TASK
from tools.bench import record, report
from tools.bench.importance import NAMES, drawn
from tools.bench.record import Run, Values, Variant
from tools.bench.runner import Ask, Claim, Turn

XGBOOST = "xgboost"
CASES = (*NAMES, XGBOOST)
SERVED = ("logistic", XGBOOST)
BOOSTED = ("boosting", XGBOOST)
BUSY = "all cores busy"
LOADED, PLAIN, BARE = "loaded", "sklearn", "bare"
PREDICT = "predict"
REQUESTS = 500
PAUSE = 0.002
"""Seconds between two calls on a busy machine, in which threads fall asleep."""
PATIENCE = 90
"""Attempts, one a second, to reach the server while it starts."""
LEAST = 2.0
"""Target for the speed of one row beside scikit-learn's."""
MOST = 4.0
"""Target: how many times as long as bare XGBoost, on rows that are prepared, rows may take."""


def start(ask: Ask, case: record.Case, variant: str) -> Turn:
    """Load a model. A turn is the median of some calls, each on a table of its own."""
    name, n_rows = case.name.split(", ")[0], int(case.facts["rows"])
    folder = ask.home / name
    model: Any = (
        pipeline.load(folder / LOADED, "cpu") if variant == LOADED else joblib.load(folder / PLAIN)
    )
    path, prepared = ask.home / "rows.parquet", None
    if variant == BARE:
        prepared, model = model[:-1].transform(pd.read_parquet(path)[:n_rows]), model[-1]

    def read() -> Any:
        return pd.read_parquet(path)[:n_rows] if prepared is None else prepared.copy()

    values: Values = {}

    def turn() -> tuple[Run, Values]:
        busy = int(case.facts.get("busy", 0))
        served = name in SERVED and n_rows == 1 and not values and not busy
        if variant == LOADED and served and optional.available("mlflow"):
            values.update(_over_http(model, read(), folder / "mlflow"))
        seconds, tables = [], [read() for _ in range(ask.one("calls"))]
        with _others(busy):
            for rows in tables:
                time.sleep(PAUSE if busy else 0)
                begun = time.perf_counter()
                model.predict_proba(rows)
                seconds.append(time.perf_counter() - begun)
        median = float(np.median(seconds))
        return Run(seconds={PREDICT: median}, calls=len(seconds)), values

    return turn


@contextmanager
def _others(n: int) -> Iterator[None]:
    """Keep so many cores busy with other processes."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for each in others:
            each.kill()
            each.wait()


def _over_http(model: Accelerated, row: pd.DataFrame, folder: Path) -> Values:
    """Return quantiles of the seconds that predictions of a row take, in process and served."""
    mlflow_flavor.save_model(model, folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = f"-m mlflow models serve --env-manager local --host 127.0.0.1 --port {port} -m".split()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command, environ = [sys.executable, *words, str(folder)], os.environ | {"PATH": path}
    records = row.astype(object).where(row.notna(), None).to_dict("records")
    body = {"dataframe_records": records, "params": {"method": "predict_proba"}}
    head = {"Content-Type": "application/json"}
    asked = Request(f"http://127.0.0.1:{port}/invocations", json.dumps(body).encode(), head)
    server = subprocess.Popen(
        command, env=environ, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True
    )
    try:
        for _ in range(PATIENCE):
            with suppress(OSError):
                urlopen(asked, timeout=60).read()
                break
            time.sleep(1)
        calls = {"http": lambda: urlopen(asked).read(), "process": lambda: model.predict_proba(row)}
        values: Values = {}
        for name, call in calls.items():
            taken = timeit.repeat(call, number=1, repeat=REQUESTS)
            values |= {f"{name} p{q}": float(np.percentile(taken, q)) for q in (50, 99)}
        return values
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def requests(results: record.Results) -> str:
    """Return what a row takes through MLflow's server; empty where that was not measured."""
    lines = []
    for cell in results.cells:
        ms = {name: f"{1e3 * (taken or 0):,.2f}" for name, taken in cell.values.items()}
        if ms:
            served, here = (
                f"{ms[f'{side} p50']} (p99: {ms[f'{side} p99']})" for side in ("http", "process")
            )
            lines.append(f"- {cell.case}: {served} ms over HTTP, {here} ms in process")
    about = f"One row, median of {REQUESTS} requests to MLflow's server, each on a new connection:"
    return "\n".join([about, "", *lines]) if lines else ""


def _made(name: str, seed: int) -> Any:
    """Return a pipeline of the task, or XGBoost behind what prepares rows for its linear model."""
    if name != XGBOOST:
        return TASK.pipelines[name](seed)
    return make_pipeline(TASK.pipelines["logistic"](seed)[0], XGBClassifier(random_state=seed))


def _cases(ask: Ask) -> Iterator[record.Case]:
    """Fit the pipelines on both sides, and keep both."""
    X, y = drawn(ask, ask.one("trained"))
    X[: max(ask.settings["rows"])].to_parquet(ask.home / "rows.parquet")
    for name in filter(ask.wants, CASES):
        folder = ask.home / name
        folder.mkdir()
        joblib.dump(_made(name, ask.seed).fit(X, y), folder / PLAIN)
        pipeline.save(Accelerated(_made(name, ask.seed), device="cpu").fit(X, y), folder / LOADED)
        for n_rows in ask.settings["rows"]:
            facts: dict[str, int | float] = {"rows": n_rows, "columns": X.shape[1]}
            yield record.Case(name=f"{name}, {n_rows:,}", title=name, facts=facts)
        if name in BOOSTED:
            facts = {"rows": 1, "columns": X.shape[1], "busy": processors()}
            yield record.Case(name=f"{name}, 1, {BUSY}", title=name, facts=facts)


CLAIM = Claim(
    name="prediction",
    settings={"calls": (50,), "trained": (50_000,), "rows": (1, 10, 1_000)},
    repeats=7,
    shares="claim",
    cases=_cases,
    start=start,
    names=CASES,
    variants=[
        Variant(name=LOADED, title="loaded"),
        Variant(name=PLAIN, title="scikit-learn"),
        Variant(name=BARE, title="the last step alone"),
    ],
    clock="predict_proba; a run is the median of {calls} calls",
    shown=[LOADED],
    columns=[
        report.CASE,
        report.took("ms", PREDICT, lambda seconds: f"{1e3 * seconds:,.2f}"),
        report.against("against scikit-learn", PREDICT, PLAIN),
        report.against("against the last step", PREDICT, BARE),
    ],
    targets=[
        report.as_fast(PREDICT, LOADED, PLAIN, LEAST, [f"{name}, 1" for name in CASES]),
        report.as_fast(
            PREDICT,
            LOADED,
            BARE,
            1 / MOST,
            [f"{name}, {rows}" for name in BOOSTED for rows in ("1", "10", "1,000", f"1, {BUSY}")],
        ),
    ],
)
