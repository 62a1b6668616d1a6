"""Permutation importance of the columns of the flights: scikit-learn's function, and the method."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.inspection import permutation_importance

from datasets import flights
from pipeline import Accelerated
from tasks.flights import TASK
from tools.bench import record, report
from tools.bench.claim import Ask, Claim, Turn
from tools.bench.record import Report, Run, Variant

NAMES = ("logistic", "boosting", "forest")
"""Pipelines of the task."""
PLAIN, FUNCTION, METHOD = "plain", "function", "method"
PHASE = "importance"
LEAST = 2.0
"""Target: how many times as fast as plain scikit-learn."""
SAME_AS_SKLEARN = 1e-4
"""Target for the largest difference to plain scikit-learn, whose model is another fit."""


def in_float64(X: pd.DataFrame) -> pd.DataFrame:
    """Return a frame without float32, of which scikit-learn's scalers compute other digits."""
    return X.astype({name: "float64" for name in X if X[name].dtype == "float32"})


def drawn(ask: Ask, rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return flights and their target, drawn by the seed."""
    table = pd.read_parquet(flights.prepare(ask.data))
    table = table.sample(min(rows, len(table)), random_state=ask.seed).reset_index(drop=True)
    return in_float64(table[list(TASK.features)]), table[TASK.target].to_numpy()


def start(ask: Ask, case: record.Case, variant: str) -> Turn:
    """Fit a model; a turn returns each column's losses of AUC too."""
    rows, repeats = ask.one("rows"), ask.one("permutations")
    X, y = drawn(ask, rows + ask.one("trained"))
    model: Any = TASK.pipelines[case.name](ask.seed)
    model = model if variant == PLAIN else Accelerated(model, device="cpu")
    model.fit(X[rows:], y[rows:])
    how: dict[str, Any] = {"scoring": "roc_auc", "random_state": ask.seed}

    def turn() -> Report:
        begun = time.perf_counter()
        if variant == METHOD:
            found = model.importance(X[:rows], y[:rows], repeats=repeats, **how)
        else:
            found = permutation_importance(model, X[:rows], y[:rows], n_repeats=repeats, **how)
        run = Run(seconds={PHASE: time.perf_counter() - begun})
        losses = np.ndenumerate(found.importances)
        return Report(
            run=run,
            values={f"column {i:02} repeat {repeat}": float(n) for (i, repeat), n in losses},
        )

    return turn


def _cases(ask: Ask) -> Iterator[tuple[record.Case, Sequence[str]]]:
    facts = {name: ask.one(name) for name in ("rows", "trained")}
    for name in filter(ask.wants, NAMES):
        yield record.Case(name=name, facts=dict(facts)), (PLAIN, FUNCTION, METHOD)


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
    clock="AUC of {rows} flights, 30 columns, permutations of each: {permutations}; fitted before",
    columns=[
        report.case(),
        report.variant(),
        report.took("s", PHASE, "{:.2f}".format),
        report.against("beside plain scikit-learn", PHASE, PLAIN),
        report.against("beside the function", PHASE, FUNCTION),
    ],
    targets=[
        report.as_fast(PHASE, METHOD, PLAIN, LEAST),
        report.equal("losses of AUC", METHOD, FUNCTION, 0.0),
        report.equal("losses of AUC", METHOD, PLAIN, SAME_AS_SKLEARN),
    ],
)
