"""Boosted trees beside the same written by hand, and beside the speed of the memory."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from sklearn.metrics import roc_auc_score

from datasets.synthetic import DATES
from pipeline import Accelerated
from pipeline.files import parquet
from pipeline.optional import load
from pipeline.table import frames
from pipeline.task import task
from tasks import synthetic

SMALL = 1_000_000
"""Rows of the first table; the second has as many as are asked for."""
RUNS = 5
COPIED = 2**30
"""Bytes by which the speed of the memory is measured, or less."""


class Clock:
    """The seconds of each phase of a run, with the device's queue drained."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.seconds: dict[str, float] = {}
        self.last = time.perf_counter()

    def mark(self, phase: str) -> None:
        """End a phase."""
        frames.synchronize(self.device)
        now = time.perf_counter()
        self.seconds[phase], self.last = now - self.last, now


def beside_hand(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Train the boosted trees of `synthetic` in turns with the same written by hand."""
    found = task.load("synthetic")
    # First, on memory that is free.
    record: dict[str, Any] = {
        "bandwidth": bandwidth(given.device, min(COPIED, 100 * given.rows)), "sizes": []
    }  # fmt: skip
    for rows in sorted({min(SMALL, given.rows), given.rows}):
        path, split = found.data(Path("data"), rows=rows), found.split(None)[1]
        runs: dict[str, list[dict[str, float]]] = {"ours": [], "hand": []}
        auc: dict[str, float] = {}
        size = {"rows": rows, **weight(found, path), "auc": auc, "runs": runs}
        record["sizes"].append(size)
        for turn in range(RUNS + 1):  # the first one warms up
            for name, way in {"ours": ours, "hand": hand}.items():
                clock = Clock(given.device)
                answer = way(found, path, split, clock)
                if turn:
                    runs[name].append(clock.seconds)
                else:
                    size["rows_test"] = len(answer[0])
                    host = (np.asarray(getattr(each, "get", each.copy)()) for each in answer)
                    auc[name] = float(roc_auc_score(*host))
            yield record


def ours(found: Any, path: Path, split: Any, clock: Clock) -> tuple[Any, Any]:
    """Return the test rows' target and their probabilities of class 1."""
    X, y = parquet.read_parquet(path, found.features, found.target, split.train, clock.device)
    X_test, y_test = parquet.read_parquet(
        path, found.features, found.target, split.test, clock.device
    )
    clock.mark("read")
    model = Accelerated(found.pipeline("boosting", 0), clock.device).fit(X, y)
    clock.mark("fit")
    chances = model.predict_proba(X_test)[:, 1]
    clock.mark("predict")
    # Preprocessing is a part of either call; by hand it is done before.
    log = model.execution_log_
    learning, answering = log.seconds("fit_transform"), log.seconds("transform")
    clock.seconds["fit"] -= learning
    clock.seconds["predict"] -= answering
    clock.seconds["preprocess"] = learning + answering
    return y_test, chances


def plain(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Run the same program once as its users do, in plain scikit-learn on all cores."""
    found = task.load("synthetic")
    path, split = found.data(Path("data"), rows=given.rows), found.split(None)[1]
    clock, columns = Clock("cpu"), [*found.features, found.target]
    train, test = (
        load("pandas").read_parquet(path, columns=columns, filters=list(rows))
        for rows in (split.train, split.test)
    )
    clock.mark("read")
    model = found.pipeline("boosting", 0).fit(train[found.features], train[found.target])
    clock.mark("fit")
    chances = model.predict_proba(test[found.features])[:, 1]
    clock.mark("predict")
    auc = float(roc_auc_score(test[found.target], chances))
    yield {"rows": given.rows, "seconds": clock.seconds, "auc": auc}


def hand(found: Any, path: Path, split: Any, clock: Clock) -> tuple[Any, Any]:
    """Return the same by who knows cuDF, CuPy and XGBoost."""
    df = load("cudf" if clock.device == "cuda" else "pandas")
    train, test = (
        df.read_parquet(str(path), columns=[*found.features, found.target], filters=list(rows))
        for rows in (split.train, split.test)
    )
    clock.mark("read")
    y, y_test = (_values(rows[found.target], "int32") for rows in (train, test))
    X, X_test = matrices(train, test, y, clock.device)
    clock.mark("preprocess")
    model = load("xgboost").XGBClassifier(
        n_estimators=60, max_depth=4, learning_rate=0.2, random_state=0, device=clock.device
    )
    model.fit(X, y)
    clock.mark("fit")
    chances = model.predict_proba(X_test)[:, 1]
    clock.mark("predict")
    return y_test, chances


def matrices(train: Any, test: Any, y: Any, device: str) -> list[Any]:
    """Return the matrices of training and test rows; texts become cross-fitted rates."""
    xp, both = load("cupy" if device == "cuda" else "numpy"), (train, test)
    fold = xp.arange(len(y)) % 5
    columns = [[_values(rows[name]) for rows in both] for name in synthetic.NUMBERS]
    columns += [[_values(rows[name].dt.weekday) for rows in both] for name in DATES]
    for name in [*synthetic.FEW, *synthetic.MANY]:
        known = train[name].astype("category").cat.categories
        codes, others = (
            _values(made.cat.set_categories(known).cat.codes.fillna(-1), "int64") + 1
            for made in (rows[name].astype("category") for rows in both)
        )
        cells, size = codes * 5 + fold, 5 * (len(known) + 1)
        total = xp.bincount(cells, y, minlength=size).reshape(-1, 5)
        n = xp.bincount(cells, minlength=size).reshape(-1, 5)
        sums, rows = total.sum(1, keepdims=True), n.sum(1, keepdims=True)
        columns.append([_rates(sums - total, rows - n)[codes, fold], _rates(sums, rows)[others, 0]])
    return [xp.stack([c[side] for c in columns], 1).astype("float32") for side in (0, 1)]


def _rates(total: Any, rows: Any) -> Any:
    return (total + 10 * total.sum(0) / rows.sum(0)) / (rows + 10)


def _values(series: Any, dtype: str = "float32") -> Any:
    """Return a column as an array of its device; what is missing is NaN."""
    missing = {"na_value": np.nan} if dtype == "float32" else {}
    if hasattr(series, "to_cupy"):
        return series.astype(dtype).to_cupy(**missing)
    return series.to_numpy(dtype, **missing)


def weight(found: Any, path: Path) -> dict[str, int]:
    """Return the bytes of the columns that are read, in the file and as a table of pandas."""
    names, file = sorted({*found.features, found.target}), pq.ParquetFile(path)
    chunks = (
        file.metadata.row_group(group).column(place)
        for group in range(file.metadata.num_row_groups)
        for place in range(file.metadata.num_columns)
    )
    packed = sum(each.total_compressed_size for each in chunks if each.path_in_schema in names)
    first = next(file.iter_batches(100_000, columns=names)).to_pandas()
    whole = frames.nbytes(first) * file.metadata.num_rows // len(first)
    return {"parquet_bytes": packed, "table_bytes": whole}


def bandwidth(device: str, size: int) -> dict[str, float]:
    """Return GB/s of copies within the device, read and written, and from the host to it."""
    xp = load("cupy" if device == "cuda" else "numpy")
    to, other, host = xp.ones(size, "uint8"), xp.ones(size, "uint8"), np.ones(size, "uint8")
    jobs: dict[str, Callable[[], Any]] = {"within the device": lambda: xp.copyto(to, other)}
    if device == "cuda":
        pinned = load("cupyx.empty_pinned")(size, "uint8")
        pinned[:] = 1
        jobs["from the host, pageable"] = lambda: to.set(host)
        jobs["from the host, pinned"] = lambda: to.set(pinned)
    found = {}
    for name, job in jobs.items():
        runs = []
        for _ in range(RUNS + 1):
            clock = Clock(device)
            job()
            clock.mark(name)
            runs.append(clock.seconds[name])
        moved = size * (2 if name == "within the device" else 1)
        found[name] = moved / float(np.median(runs[1:])) / 1e9
    return found
