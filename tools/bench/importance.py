"""Permutation importance of the columns of the flights: scikit-learn's function, and the method."""

from __future__ import annotations

import time
from collections.abc import Generator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.inspection import permutation_importance

from datasets import flights
from pipeline import Accelerated
from tasks.flights import TASK
from tools.bench import record, report
from tools.bench.claim import Ask, Case, Claim
from tools.bench.record import Report, Results, Run, Variant

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


@lru_cache(maxsize=1)
def _fitted(
    path: Path, name: str, variant: str, trained: int, rows: int, seed: int
) -> tuple[Any, pd.DataFrame, np.ndarray]:
    """Return a fitted model, and rows that it has not seen."""
    table = pd.read_parquet(path)
    table = table.sample(min(trained + rows, len(table)), random_state=seed)
    X, y = in_float64(table[list(TASK.features)]), table[TASK.target].to_numpy()
    model = TASK.pipelines[name](seed)
    if variant != PLAIN:
        model = Accelerated(model, device="cpu")
    return model.fit(X.iloc[rows:], y[rows:]), X.iloc[:rows], y[:rows]


def _run(
    path: Path, name: str, variant: str, trained: int, rows: int, repeats: int, seed: int
) -> Report:
    """Compute the importance once; return each column's losses of AUC too."""
    model, X, y = _fitted(path, name, variant, trained, rows, seed)
    how: dict[str, Any] = {"scoring": "roc_auc", "random_state": seed}
    start = time.perf_counter()
    if variant == METHOD:
        found = model.importance(X, y, repeats=repeats, **how)
    else:
        found = permutation_importance(model, X, y, n_repeats=repeats, **how)
    run = Run(seconds={PHASE: time.perf_counter() - start})
    losses = {
        f"column {column:02} repeat {repeat}": float(loss)
        for (column, repeat), loss in np.ndenumerate(found.importances)
    }
    return Report(run=run, values=dict(losses))


def _cases(ask: Ask) -> Generator[Case, None, None]:
    path = Path(flights.prepare(ask.data)).resolve()
    trained, rows, repeats = (ask.one(name) for name in CLAIM.settings)
    for name in filter(ask.wants, NAMES):
        yield Case(
            record.Case(name=name, facts={"rows": rows, "trained": trained}),
            {
                variant: partial(_run, path, name, variant, trained, rows, repeats, ask.seed)
                for variant in (PLAIN, FUNCTION, METHOD)
            },
        )


def _equal(against: str, most: float) -> report.Target:
    """Return a target for the numbers of the method."""

    def find(results: Results, case: str) -> report.Found | None:
        ours, other = (results.cell(case, name) for name in (METHOD, against))
        if ours is None or other is None:
            return None
        apart = max(
            abs((ours.values[name] or 0) - (other.values[name] or 0)) for name in ours.values
        )
        return f"{apart:.1e}", apart <= most

    wanted = f"≤ {most:.0e}" if most else "the same"
    return report.Target("losses of AUC", METHOD, against, wanted, find)


CLAIM = Claim(
    name="importance",
    settings={"trained": (50_000,), "rows": (20_000,), "permutations": (2,)},
    repeats=5,
    cases=_cases,
    names=NAMES,
    variants=[
        Variant(name=PLAIN, title="plain scikit-learn"),
        Variant(name=FUNCTION, title="scikit-learn's function on `Accelerated`"),
        Variant(name=METHOD, title="`model.importance`"),
    ],
    clock="AUC of {rows} flights, 30 columns, permutations of each: {permutations}; fitted before",
    tables=[
        report.Table(
            [
                report.case(),
                report.variant(),
                report.took("s", PHASE, "{:.2f}".format),
                report.against("beside plain scikit-learn", PHASE, PLAIN),
                report.against("beside the function", PHASE, FUNCTION),
            ]
        )
    ],
    targets=[
        report.as_fast(PHASE, METHOD, PLAIN, LEAST),
        _equal(FUNCTION, 0.0),
        _equal(PLAIN, SAME_AS_SKLEARN),
    ],
)
