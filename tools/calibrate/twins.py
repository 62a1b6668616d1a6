"""Measure the twins of scikit-learn-intelex: how near they come to scikit-learn, how fast."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np
from sklearn import cluster, decomposition, linear_model, neighbors, svm
from sklearn.base import clone

from pipeline.backends import intelex, parity, x86
from pipeline.backends.base import HostModel, Model
from pipeline.backends.cuml.tables import public_name
from pipeline.backends.intelex import Intelex
from pipeline.planning.source_code import code
from pipeline.system import hardware
from tools.calibrate import tables
from tools.calibrate.timing import Say


class Pair(NamedTuple):
    """An estimator that has a twin, and a table.

    Parameters
    ----------
    pipeline : estimator
    table : callable
        From rows and columns to X and y.
    rows, columns : int
    answer : str
        The method that is compared; ``"labels_"`` for those of the training rows.
    """

    pipeline: Any
    table: Callable[[int, int], tables.Table]
    rows: int
    columns: int
    answer: str


def _starts() -> Any:
    return tables.clusters(64, 16)[0][:16]


PAIRS = [
    Pair(cluster.DBSCAN(eps=0.9), tables.clusters, 20_000, 16, "labels_"),
    Pair(cluster.KMeans(16, init=_starts(), n_init=1), tables.clusters, 100_000, 16, "labels_"),
    Pair(decomposition.PCA(8, svd_solver="full"), tables.clusters, 100_000, 32, "transform"),
    Pair(linear_model.LinearRegression(), tables.numbers, 100_000, 32, "predict"),
    Pair(linear_model.LogisticRegression(), tables.classes, 100_000, 32, "predict_proba"),
    Pair(linear_model.Ridge(), tables.numbers, 100_000, 32, "predict"),
    Pair(neighbors.KNeighborsClassifier(algorithm="brute"), tables.classes, 10_000, 32, "predict"),
    Pair(neighbors.KNeighborsRegressor(algorithm="brute"), tables.numbers, 10_000, 32, "predict"),
    Pair(svm.SVC(), tables.classes, 5_000, 32, "decision_function"),
    Pair(svm.SVR(), tables.numbers, 5_000, 32, "predict"),
]


def difference(made: Any, wanted: Any) -> float:
    """Return how far answers are apart: labels by their share, numbers in standard deviations.

    >>> difference(np.array([1, 2]), np.array([1, 3]))
    0.5
    >>> difference(np.array([0.0, 2.5]), np.array([0.0, 2.0]))
    0.5
    """
    made, wanted = np.asarray(made), np.asarray(wanted)
    if wanted.dtype.kind != "f":
        return float((made != wanted).mean())
    return float(np.abs(made - wanted).max() / (wanted.std() or 1.0))


def answer(model: Model, pair: Pair, X: Any, y: Any) -> Any:
    """Fit, and return what is compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    if pair.answer == "labels_":
        return model.to_sklearn().labels_
    return model.call(pair.answer, X)


def models(pair: Pair) -> tuple[Model, Model]:
    """Return the unfitted estimator of scikit-learn and its twin."""
    found = x86.TWINS[public_name(pair.pipeline)]
    return HostModel(pair.pipeline), Intelex(pair.pipeline, found, "model")


def measure(pair: Pair, dtype: str, repeats: int = 3) -> parity.Parity:
    """Return the difference and the times on a table of one type."""
    X, y = pair.table(pair.rows, pair.columns)
    X = X.astype(dtype)
    wanted, made = (answer(model, pair, X, y) for model in models(pair))
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for model, mine in zip(models(pair), times, strict=True):
            start = time.perf_counter()
            answer(model, pair, X, y)
            mine.append(time.perf_counter() - start)
    stock, twin = (statistics.median(mine) for mine in times)
    return parity.Parity(
        estimator=public_name(pair.pipeline),
        code=code(clone(pair.pipeline)),
        rows=pair.rows,
        columns=pair.columns,
        dtype="float32" if dtype == "float32" else "float64",
        difference=difference(made, wanted),
        stock=stock,
        twin=twin,
    )


def record(say: Say) -> parity.Record:
    """Measure all of them on this machine."""
    here, found = hardware.describe(), []
    for pair in PAIRS:
        for dtype in ("float32", "float64"):
            each = measure(pair, dtype)
            say(
                f"{each.estimator:45} {dtype}  {each.stock:8.4f} s  {each.twin:8.4f} s  "
                f"difference {each.difference:.1e}"
            )
            found.append(each)
    return parity.Record(
        schema="pipeline.intelex/1",
        version=metadata.version(intelex.PACKAGE),
        machine=f"{here.cpu}, {here.cores} cores",
        date=datetime.now(UTC).date().isoformat(),
        found=found,
    )
