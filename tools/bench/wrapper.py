"""What `Accelerated` costs beside the bare estimator, which gets the same matrix."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from xgboost import XGBClassifier

from pipeline import Accelerated
from tools.bench import record, report
from tools.bench.claim import Ask, Case, Claim, here
from tools.bench.record import Report, Run, Variant

COLUMNS = 30
PASSES = 7
"""Predictions of all rows that are timed together, after one that is not."""
ESTIMATORS: dict[str, BaseEstimator] = {
    "LogisticRegression()": LogisticRegression(),
    "XGBClassifier(n_estimators=20)": XGBClassifier(n_estimators=20),
}
Make = Callable[[BaseEstimator], Any]
WAYS: dict[str, Make] = {
    "bare": clone,
    "wrapped": lambda estimator: Accelerated(clone(estimator), device="cpu"),
}
MOST = 1.02
"""Target for the ratios."""
MOST_ADDED = 1e-3
"""Target for a single row, in seconds."""


def table(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a float32 matrix and two labels that the first columns tell in part."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, COLUMNS)).astype("float32")
    return X, (X[:, :3].sum(axis=1) + rng.normal(size=rows) > 0).astype("int64")


def _run(make: Make, estimator: BaseEstimator, X: np.ndarray, y: np.ndarray, single: int) -> Report:
    """Fit, predict all rows a few times, and the first one `single` times."""
    model = make(estimator)
    seconds = {"fit": _seconds(lambda: model.fit(X, y))}
    for phase, rows, times in (("predict", X, PASSES), ("predict one row", X[:1], single)):
        model.predict(rows)
        seconds[phase] = _seconds(partial(_repeat, partial(model.predict, rows), times)) / times
    return Report(run=Run(seconds=seconds))


def _repeat(work: Callable[[], object], times: int) -> None:
    for _ in range(times):
        work()


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _cases(ask: Ask) -> Generator[Case, None, None]:
    rows, single = ask.one("rows"), ask.one("single")
    X, y = table(rows, ask.seed)
    for name in filter(ask.wants, ESTIMATORS):
        yield Case(
            record.Case(name=name, facts={"rows": rows, "columns": COLUMNS, "single": single}),
            {
                way: here(partial(_run, make, ESTIMATORS[name], X, y, single))
                for way, make in WAYS.items()
            },
        )


CLAIM = Claim(
    folder="wrapper-cpu",
    settings={"rows": (1_000_000,), "single": (200,)},
    repeats=15,
    cases=_cases,
    names=tuple(ESTIMATORS),
    variants=[Variant(name="bare", title="bare"), Variant(name="wrapped", title="wrapped")],
    clock=f"{{rows}} × {COLUMNS} float32; mean of {PASSES} predictions, of one row of {{single}}",
    isolation="one process",
    targets=[
        report.at_most("fit", "wrapped", "bare", MOST, digits=3),
        report.at_most("predict", "wrapped", "bare", MOST, digits=3),
        report.adds_at_most("predict one row", "wrapped", "bare", MOST_ADDED),
    ],
)
