"""Permutation importance of the columns of the flights: scikit-learn's function, and the method."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.inspection import permutation_importance

from datasets import flights
from pipeline import Accelerated
from tasks.flights import TASK
from tools.bench import record, report
from tools.bench.record import Run, Values, Variant
from tools.bench.runner import Ask, Claim, Turn

NAMES = ("logistic", "boosting", "forest")
"""Pipelines of the task."""
PLAIN, FUNCTION, METHOD = "plain", "function", "method"
PHASE = "importance"
LEAST = 2.0
"""Target: how many times as fast as plain scikit-learn."""
SAME_AS_SKLEARN = 1e-4
"""Target for the largest difference to plain scikit-learn, whose model is another fit."""


def drawn(ask: Ask, rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return flights and their target, drawn by the seed."""
    table = pd.read_parquet(flights.prepare(ask.data))
    table = table.sample(min(rows, len(table)), random_state=ask.seed).reset_index(drop=True)
    X = table[list(TASK.features)]
    # Of float32, scikit-learn's scalers compute other digits.
    X = X.astype(dict.fromkeys(X.select_dtypes("float32"), "float64"))
    return X, table[TASK.target].to_numpy()


def start(ask: Ask, case: record.Case, variant: str) -> Turn:
    """Fit a model; a turn returns each column's losses of AUC too."""
    rows, repeats = ask.one("rows"), ask.one("permutations")
    X, y = drawn(ask, rows + ask.one("trained"))
    model: Any = TASK.pipelines[case.name](ask.seed)
    model = model if variant == PLAIN else Accelerated(model, device="cpu")
    model.fit(X[rows:], y[rows:])
    how: dict[str, Any] = {"scoring": "roc_auc", "random_state": ask.seed}

    def turn() -> tuple[Run, Values]:
        begun = time.perf_counter()
        if variant == METHOD:
            found = model.importance(X[:rows], y[:rows], repeats=repeats, **how)
        else:
            found = permutation_importance(model, X[:rows], y[:rows], n_repeats=repeats, **how)
        run = Run(seconds={PHASE: time.perf_counter() - begun})
        losses = np.ndenumerate(found.importances)
        return run, {f"column {i:02} repeat {repeat}": float(n) for (i, repeat), n in losses}

    return turn


def _cases(ask: Ask) -> Iterator[record.Case]:
    for name in filter(ask.wants, NAMES):
        yield record.Case(name=name, facts={each: ask.one(each) for each in ("rows", "trained")})


CLAIM = Claim(
    name="importance",
    settings={"trained": (50_000,), "rows": (20_000,), "permutations": (2,)},
    repeats=5,
    cases=_cases,
    start=start,
    names=NAMES,
    variants=[
        Variant(name=PLAIN, title="plain scikit-learn"),
        Variant(name=FUNCTION, title="scikit-learn's function on `Accelerated`"),
        Variant(name=METHOD, title="`model.importance`"),
    ],
    clock="AUC of {rows} flights, 30 columns, {permutations} permutations of each, without the fit",
    shown=[METHOD],
    columns=[
        report.CASE,
        report.took("`model.importance`, s", PHASE, "{:.2f}".format),
        report.against("against plain scikit-learn", PHASE, PLAIN),
        report.against("against the function on `Accelerated`", PHASE, FUNCTION),
    ],
    targets=[
        report.as_fast(PHASE, METHOD, PLAIN, LEAST),
        report.equal("losses of AUC", METHOD, FUNCTION, 0.0),
        report.equal("losses of AUC", METHOD, PLAIN, SAME_AS_SKLEARN),
    ],
)
