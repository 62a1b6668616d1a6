"""Predictions of one row by a saved model, beside scikit-learn's."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
import pandas as pd

import pipeline
from pipeline import Accelerated
from tasks.flights import TASK
from tools.bench import record, report
from tools.bench.importance import NAMES, drawn
from tools.bench.record import Run, Values, Variant
from tools.bench.runner import Ask, Claim, Turn

LOADED, PLAIN = "loaded", "sklearn"
PREDICT = "predict"
LEAST = 2.0
"""Target for the speed of one row beside scikit-learn's."""


def start(ask: Ask, case: record.Case, variant: str) -> Turn:
    """Load a model and a row. A turn is the median of some calls."""
    path = ask.home / case.name / variant
    model: Any = pipeline.load(path, "cpu") if variant == LOADED else joblib.load(path)
    row = pd.read_parquet(ask.home / "row.parquet")

    def turn() -> tuple[Run, Values]:
        seconds = []
        for _ in range(ask.one("calls")):
            begun = time.perf_counter()
            model.predict_proba(row)
            seconds.append(time.perf_counter() - begun)
        median = float(np.median(seconds))
        return Run(seconds={PREDICT: median}, calls=len(seconds)), {}

    return turn


def _cases(ask: Ask) -> Iterator[record.Case]:
    """Fit the pipelines on both sides, and keep both."""
    X, y = drawn(ask, ask.one("trained"))
    X.iloc[[7]].to_parquet(ask.home / "row.parquet")
    for name in filter(ask.wants, NAMES):
        folder, make = ask.home / name, TASK.pipelines[name]
        folder.mkdir()
        joblib.dump(make(ask.seed).fit(X, y), folder / PLAIN)
        pipeline.save(Accelerated(make(ask.seed), device="cpu").fit(X, y), folder / LOADED)
        yield record.Case(name=name, facts={"rows": 1, "columns": X.shape[1]})


CLAIM = Claim(
    name="prediction",
    settings={"calls": (50,), "trained": (100_000,)},
    repeats=7,
    cases=_cases,
    start=start,
    names=NAMES,
    variants=[Variant(name=LOADED, title="loaded"), Variant(name=PLAIN, title="scikit-learn")],
    clock="one row; a run is the median of {calls} calls",
    columns=[
        report.CASE,
        report.VARIANT,
        report.took("ms", PREDICT, lambda seconds: f"{1e3 * seconds:,.2f}"),
    ],
    targets=[report.as_fast(PREDICT, LOADED, PLAIN, LEAST)],
)
