"""Predictions of one row by a saved model, beside scikit-learn's."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

import pipeline
from pipeline import Accelerated
from tasks.flights import TASK
from tools.bench import record, report
from tools.bench.claim import Ask, Claim, Turn
from tools.bench.importance import drawn
from tools.bench.record import Report, Run, Variant

NAMES = ("logistic", "boosting", "forest")
"""Pipelines of the task."""
LOADED, PLAIN = "loaded", "sklearn"
PREDICT = "predict"
LEAST = 2.0
"""Target for the speed of one row beside scikit-learn's."""


def _fit(folder: Path, name: str, X: pd.DataFrame, y: np.ndarray, seed: int) -> None:
    """Fit a pipeline of the task on both sides, and keep both."""
    folder.mkdir()
    joblib.dump(TASK.pipelines[name](seed).fit(X, y), folder / PLAIN)
    model = Accelerated(TASK.pipelines[name](seed), device="cpu")
    pipeline.save(model.fit(X, y), folder / LOADED)


def start(ask: Ask, case: record.Case, variant: str) -> Turn:
    """Load a model and a row. A turn is the median of some calls."""
    path = ask.home / case.name / variant
    model: Any = pipeline.load(path, "cpu") if variant == LOADED else joblib.load(path)
    row = pd.read_parquet(ask.home / "row.parquet")

    def turn() -> Report:
        seconds = []
        for _ in range(ask.one("calls")):
            begun = time.perf_counter()
            model.predict_proba(row)
            seconds.append(time.perf_counter() - begun)
        median = float(np.median(seconds))
        return Report(run=Run(seconds={PREDICT: median}, calls=len(seconds)))

    return turn


def _cases(ask: Ask) -> Iterator[tuple[record.Case, Sequence[str]]]:
    X, y = drawn(ask, ask.one("trained"))
    X.iloc[[7]].to_parquet(ask.home / "row.parquet")
    for name in filter(ask.wants, NAMES):
        _fit(ask.home / name, name, X, y, ask.seed)
        yield record.Case(name=name, facts={"rows": 1, "columns": X.shape[1]}), [*SIDES]


SIDES = {LOADED: "loaded", PLAIN: "scikit-learn"}
CLAIM = Claim(
    name="prediction",
    settings={"calls": (50,), "trained": (100_000,)},
    repeats=7,
    cases=_cases,
    start=start,
    names=NAMES,
    variants=[Variant(name=name, title=title) for name, title in SIDES.items()],
    clock="one row; a run is the median of {calls} calls",
    columns=[
        report.case(),
        report.variant(),
        report.took("ms", PREDICT, lambda seconds: f"{1e3 * seconds:,.2f}"),
    ],
    targets=[report.as_fast(PREDICT, LOADED, PLAIN, LEAST)],
)
