"""Predictions of a saved model: one row, a matrix, and a long file by the command."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder
from xgboost import XGBClassifier

import pipeline
from pipeline import Accelerated
from pipeline.serving.predict import ROWS
from tools.bench import apart, mixed, record, report
from tools.bench.claim import Ask, Case, Claim, here
from tools.bench.record import Report, Results, Run, Variant
from tools.bench.report import Target

MODELS: Mapping[str, Any] = {
    "LogisticRegression": LogisticRegression(max_iter=300),
    "RandomForestClassifier": RandomForestClassifier(100, max_depth=12, n_jobs=1, random_state=0),
    "XGBClassifier": XGBClassifier(n_estimators=100, max_depth=6, random_state=0),
}
BOOSTING = "XGBClassifier"
MATRIX, FILE = "matrix", "file"
MATRIX_ROWS, WIDTH = 1_000_000, 90
PREDICT = "predict"
MOST = 0.5
"""Target for the time of one row, in that of scikit-learn's pipeline."""
LEAST = 0.9
"""Target for the throughput of a matrix, in that of the bare estimator."""
MOST_GIB = 2
"""Target for the memory of a file of any length."""


def steps_before(model: Any) -> Pipeline:
    """Return numbers filled and scaled, few levels one-hot, many by their target, and a model."""
    return make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), mixed.NUMBERS),
            (OneHotEncoder(handle_unknown="ignore"), list(mixed.FEW_LEVELS)),
            (TargetEncoder(cv=KFold(5)), list(mixed.MANY_LEVELS)),
        ),
        clone(model),
    )


def timed(call: Callable[[], object], calls: int) -> Report:
    """Return the median and the slow end of the wall times of calls."""
    seconds = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    median, p95 = (float(np.quantile(seconds, share)) for share in (0.5, 0.95))
    return Report(run=Run(seconds={PREDICT: median, "p95": p95}, calls=calls))


def _saved(ask: Ask, name: str, fitted: Accelerated) -> Accelerated:
    return pipeline.load(pipeline.save(fitted, ask.home / name), "cpu")


def _one_row(ask: Ask, name: str, X: pd.DataFrame, y: np.ndarray) -> Case:
    theirs = steps_before(MODELS[name]).fit(X, y)
    ours, row = _fitted(ask, name, X, y), X.iloc[[7]]
    ready = theirs[:-1].transform(row)
    ready = np.asarray(getattr(ready, "toarray", lambda: ready)(), dtype="float32")
    calls = ask.one("calls")
    return Case(
        record.Case(name=name, facts={"rows": 1, "columns": X.shape[1]}),
        {
            "loaded": here(lambda: timed(lambda: ours.predict_proba(row), calls)),
            "sklearn": here(lambda: timed(lambda: theirs.predict_proba(row), calls)),
            "bare": here(lambda: timed(lambda: theirs[-1].predict_proba(ready), calls)),
        },
    )


def _fitted(ask: Ask, name: str, X: pd.DataFrame, y: np.ndarray) -> Accelerated:
    model = Accelerated(steps_before(MODELS[name]), device="cpu", profile=True).fit(X, y)
    return _saved(ask, name, model)


def _matrix(ask: Ask, trained: int) -> Case:
    """Return what this package adds to an estimator that is given all it needs."""
    rows, random = min(ask.one("rows") or trained, MATRIX_ROWS), np.random.default_rng(ask.seed)
    X = random.normal(size=(rows, WIDTH)).astype("float32")
    y = (X[:, 0] + X[:, 1] > random.normal(size=rows)).astype("int64")
    theirs = clone(MODELS[BOOSTING]).fit(X[:trained], y[:trained])
    fitted = Accelerated(clone(theirs), device="cpu").fit(X[:trained], y[:trained])
    ours = _saved(ask, MATRIX, fitted)
    return Case(
        record.Case(name=MATRIX, facts={"rows": rows, "columns": WIDTH}),
        {
            "loaded": here(lambda: timed(lambda: ours.predict_proba(X), 1)),
            "bare": here(lambda: timed(lambda: theirs.predict_proba(X), 1)),
        },
        most_repeats=7,
    )


def _file(ask: Ask, X: pd.DataFrame, y: np.ndarray) -> Case:
    model, path = ask.home / BOOSTING, ask.home / "rows.parquet"
    ours = _fitted(ask, BOOSTING, X, y)
    mixed.write(path, ask.one("rows"), ask.seed + 1, text=True)
    rows, columns = pq.read_metadata(path).num_rows, len(pq.read_schema(path).names) - 1
    facts = {"rows": rows, "columns": columns, "bytes": path.stat().st_size, "batch_rows": ROWS}
    return Case(
        record.Case(name=FILE, facts=facts),
        {
            "loaded": here(lambda: _by_command(model, path, ask.home / "out")),
            "bare": here(lambda: _bare(ours, path, rows)),
        },
        most_repeats=1,
        warms_up=False,
    )


def _by_command(model: Path, path: Path, out: Path) -> Report:
    """Return what the command took, from the start of its process to its end."""
    words = ["predict", *map(str, (model, path, out)), "--device", "cpu"]
    start = time.perf_counter()
    made = apart.apart(apart.command, apart.Words(words))
    seconds = {PREDICT: time.perf_counter() - start}
    return Report(run=Run(seconds=seconds, bytes=made.run.bytes))


def _bare(model: Accelerated, path: Path, rows: int) -> Report:
    """Return the time of the last step for so many rows, a matrix of a batch again and again."""
    table = next(pq.ParquetFile(path).iter_batches(ROWS)).to_pandas()
    head, last = model.plan_.steps[0], model.plan_.steps[-1]
    matrix = head.worker.call("transform", table.drop(columns=mixed.TARGET))
    last.worker.call("predict_proba", matrix)
    start = time.perf_counter()
    for done in range(0, rows, len(matrix)):
        last.worker.call("predict_proba", matrix[: rows - done])
    return Report(run=Run(seconds={PREDICT: time.perf_counter() - start}))


def _cases(ask: Ask) -> Generator[Case, None, None]:
    trained = ask.one("trained")
    mixed.write(ask.home / "trained.parquet", trained, ask.seed, text=True)
    X = pd.read_parquet(ask.home / "trained.parquet")
    y = X.pop(mixed.TARGET).to_numpy()
    yield from (_one_row(ask, name, X, y) for name in filter(ask.wants, MODELS))
    if ask.wants(MATRIX):
        yield _matrix(ask, trained)
    if ask.one("rows") and ask.wants(FILE):
        yield _file(ask, X, y)


def _holds(results: Results, case: str) -> report.Found | None:
    cell = results.cell(case, "loaded")
    if cell is None:
        return None
    return f"{cell.most('peak') / 2**30:.2f} GiB", cell.most("peak") <= MOST_GIB * 2**30


def _size(facts: Mapping[str, float]) -> str:
    held = f" ({facts['bytes'] / 1e9:.2f} GB)" if "bytes" in facts else ""
    return f"{facts['rows']:,} × {facts['columns']}{held}"


def _rate() -> report.Column:
    def text(results: Results, cell: record.Cell) -> str:
        return f"{results.case(cell.case).facts['rows'] / cell.median(PREDICT):,.0f}"

    return report.Column("rows a second", text)


CLAIM = Claim(
    folder="prediction-cpu",
    settings={"rows": (10_000_000,), "calls": (50,), "trained": (100_000,)},
    repeats=10,
    cases=_cases,
    names=(*MODELS, MATRIX, FILE),
    variants=[
        Variant(name="loaded", title="loaded"),
        Variant(name="sklearn", title="scikit-learn"),
        Variant(name="bare", title="bare"),
    ],
    clock="a run of one row is the median of {calls} calls; the file once",
    isolation="one process, another for the file",
    tables=[
        report.Wide("one row, ms", PREDICT, lambda s: f"{1e3 * s:.2f}", tuple(MODELS)),
        report.Table(
            [
                report.case(),
                report.Column("size", lambda r, cell: _size(r.case(cell.case).facts)),
                report.variant(),
                report.took("s", PREDICT, lambda s: f"{s:.2f}" if s < 10 else f"{s:.0f}"),
                _rate(),
            ],
            cases=(MATRIX, FILE),
        ),
    ],
    targets=[
        report.at_most(PREDICT, "loaded", "sklearn", MOST, cases=tuple(MODELS)),
        report.as_fast(PREDICT, "loaded", "bare", LEAST, digits=2, cases=[MATRIX]),
        Target("memory", "loaded", "", f"≤ {MOST_GIB} GiB", _holds, [FILE]),
    ],
)
