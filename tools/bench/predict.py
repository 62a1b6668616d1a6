"""Measure predictions of a saved model: ``python -m tools.bench.predict``.

One row at a time, beside scikit-learn's pipeline and the bare estimator; and a long file, by
the command, with its memory, beside the bare estimator on a matrix that is ready. The record
goes to ``docs/results/prediction-cpu/results.json``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
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
from pipeline.benchmark.rounds import turns
from pipeline.serving.predict import ROWS
from pipeline.system import environment
from tools.bench import tables
from tools.bench.prediction import SCHEMA, Batch, Matrix, Results, Row, Times, part
from tools.bench.publication import fingerprint, publish

TRAINED = 100_000
ROOT = Path(__file__).resolve().parents[2]
MATRIX_ROWS = 1_000_000
ROUNDS = 7
WARMUP = 50
MODELS: Mapping[str, Any] = {
    "LogisticRegression": LogisticRegression(max_iter=300),
    "RandomForestClassifier": RandomForestClassifier(100, max_depth=12, n_jobs=1, random_state=0),
    "XGBClassifier": XGBClassifier(n_estimators=100, max_depth=6, random_state=0),
}


def steps_before(model: Any) -> Pipeline:
    """Return numbers filled and scaled, few levels one-hot, many by their target, and a model."""
    return make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), tables.NUMBERS),
            (OneHotEncoder(handle_unknown="ignore"), list(tables.FEW_LEVELS)),
            (TargetEncoder(cv=KFold(5)), list(tables.MANY_LEVELS)),
        ),
        clone(model),
    )


def timed(
    ways: Sequence[Callable[[], Any]], calls: int, seed: int, warmup: int = WARMUP
) -> list[Times]:
    """Return the wall times of calls in turns of random order, after some that do not count."""
    found: list[list[float]] = [[] for _ in ways]
    for number in turns(range(len(ways)), warmup + calls, seed):
        start = time.perf_counter()
        ways[number]()
        found[number].append(time.perf_counter() - start)
    return [times(kept[warmup:]) for kept in found]


def times(found: list[float]) -> Times:
    """Return what is kept of wall times."""
    p95 = float(np.quantile(found, 0.95))
    return Times(calls=len(found), median=float(np.median(found)), p95=p95)


def one_row(name: str, table: pd.DataFrame, folder: Path, calls: int, seed: int) -> Row:
    """Return the times of one model."""
    X, y = table.drop(columns=tables.TARGET), table[tables.TARGET].to_numpy()
    theirs = steps_before(MODELS[name]).fit(X, y)
    fitted = Accelerated(steps_before(MODELS[name]), device="cpu", profile=True).fit(X, y)
    ours = pipeline.load(pipeline.save(fitted, folder / name), "cpu")
    row = X.iloc[[7]]
    ready = theirs[:-1].transform(row)
    ready = np.asarray(getattr(ready, "toarray", lambda: ready)(), dtype="float32")
    ways = (
        lambda: ours.predict_proba(row),
        lambda: theirs.predict_proba(row),
        lambda: theirs[-1].predict_proba(ready),
    )
    loaded, sklearn, bare = timed(ways, calls, seed)
    return Row(model=name, loaded=loaded, sklearn=sklearn, bare=bare)


def matrix(rows: int, folder: Path, seed: int) -> Matrix:
    """Return what this package adds to an estimator that is given all it needs."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 90)).astype("float32")
    y = (X[:, 0] + X[:, 1] > random.normal(size=rows)).astype("int64")
    theirs = clone(MODELS["XGBClassifier"]).fit(X[:TRAINED], y[:TRAINED])
    fitted = Accelerated(clone(theirs), device="cpu").fit(X[:TRAINED], y[:TRAINED])
    ours = pipeline.load(pipeline.save(fitted, folder / "matrix"), "cpu")
    ways = [lambda: ours.predict_proba(X), lambda: theirs.predict_proba(X)]
    loaded, bare = timed(ways, ROUNDS, seed, warmup=1)
    return Matrix(
        model="XGBClassifier",
        rows=rows,
        columns=X.shape[1],
        loaded=loaded,
        bare=bare,
    )


def batch(name: str, path: Path, folder: Path) -> Batch:
    """Return what the command took for a file."""
    command = [sys.executable, "-m", "pipeline", "predict", folder / name, path]
    start = time.perf_counter()
    process = subprocess.Popen(
        [*map(str, command), str(folder / "out"), "--device", "cpu"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"the command ended with {process.returncode}")
    rows = pq.read_metadata(path).num_rows
    bare = bare_seconds(pipeline.load(folder / name, "cpu"), path, rows)
    return Batch(
        model=name,
        rows=rows,
        columns=len(pq.read_schema(path).names) - 1,
        input_bytes=path.stat().st_size,
        batch_rows=ROWS,
        seconds=seconds,
        rows_a_second=rows / seconds,
        peak_bytes=used.ru_maxrss * 1024,
        bare_seconds=bare,
        bare_rows_a_second=rows / bare,
    )


def bare_seconds(model: Accelerated, path: Path, rows: int) -> float:
    """Return the time of the last step for so many rows, a matrix of a batch again and again."""
    file = pq.ParquetFile(path)
    table = next(file.iter_batches(ROWS)).to_pandas()
    head, last = model.plan_.steps[0], model.plan_.steps[-1]
    matrix = head.worker.call("transform", table.drop(columns=tables.TARGET))
    last.worker.call("predict_proba", matrix)
    start = time.perf_counter()
    done = 0
    while done < rows:
        part = matrix[: rows - done]
        last.worker.call("predict_proba", part)
        done += len(part)
    return time.perf_counter() - start


def measure(given: argparse.Namespace, folder: Path) -> Results:
    """Return all measurements."""
    load_before = environment.load_average()
    trained = folder / "trained.parquet"
    tables.write(trained, TRAINED, given.seed, text=True)
    table = pd.read_parquet(trained)
    rows = [one_row(name, table, folder, given.calls, given.seed) for name in MODELS]
    found = None
    if given.rows:
        tables.write(folder / "rows.parquet", given.rows, given.seed + 1, text=True)
        found = batch("XGBClassifier", folder / "rows.parquet", folder)
    return Results(
        schema=SCHEMA,
        rows_trained=TRAINED,
        one_row=rows,
        matrix=matrix(min(given.rows or TRAINED, MATRIX_ROWS), folder, given.seed),
        batch=found,
        **fingerprint("tools.bench.predict", load_before, given.seed),
    )


def main() -> int:
    """Measure, publish and print the record; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.predict", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results/prediction-cpu"))
    parser.add_argument("--rows", type=int, default=10_000_000, help="of the file; 0: none")
    parser.add_argument("--calls", type=int, default=500, help="of one row, counted ones")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    return publish(given.out, lambda home: measure(given, home), part)


if __name__ == "__main__":
    sys.exit(main())
