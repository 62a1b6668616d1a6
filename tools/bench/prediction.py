"""Predictions of few rows by a saved model, beside scikit-learn's and the last step's alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from xgboost import XGBClassifier

import pipeline
from pipeline import Accelerated
from tasks.flights import TASK
from tools.bench import record, report
from tools.bench.importance import NAMES, drawn
from tools.bench.record import Run, Values, Variant
from tools.bench.runner import Ask, Claim, Turn

XGBOOST = "xgboost"
CASES = (*NAMES, XGBOOST)
LOADED, PLAIN, BARE = "loaded", "sklearn", "bare"
PREDICT = "predict"
LEAST = 2.0
"""Target for the speed of one row beside scikit-learn's."""
MOST = 4.0
"""Target: how many times as long as bare XGBoost, on rows that are prepared, one row may take."""


def start(ask: Ask, case: record.Case, variant: str) -> Turn:
    """Load a model and a row. A turn is the median of some calls."""
    name, n_rows = case.name.split(", ")[0], int(case.facts["rows"])
    folder = ask.home / name
    model: Any = (
        pipeline.load(folder / LOADED, "cpu") if variant == LOADED else joblib.load(folder / PLAIN)
    )
    rows: Any = pd.read_parquet(ask.home / "rows.parquet")[:n_rows]
    if variant == BARE:
        model, rows = model[-1], model[:-1].transform(rows)

    def turn() -> tuple[Run, Values]:
        seconds = []
        for _ in range(ask.one("calls")):
            begun = time.perf_counter()
            model.predict_proba(rows)
            seconds.append(time.perf_counter() - begun)
        median = float(np.median(seconds))
        return Run(seconds={PREDICT: median}, calls=len(seconds)), {}

    return turn


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
            yield record.Case(name=f"{name}, {n_rows:,}", facts=facts)


CLAIM = Claim(
    name="prediction",
    settings={"calls": (50,), "trained": (100_000,), "rows": (1, 10, 1_000)},
    repeats=7,
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
        report.as_fast(PREDICT, LOADED, BARE, 1 / MOST, [f"{XGBOOST}, 1"]),
    ],
)
