"""Permutation importance of the columns of the flights: scikit-learn's function, and the method."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.inspection import permutation_importance

from datasets import flights
from pipeline import Accelerated
from tasks.flights import TASK
from tools.bench import record, report
from tools.bench.claim import Ask, Case, Claim, here
from tools.bench.record import Cell, Report, Results, Run, Variant

NAMES = ("logistic", "boosting", "forest")
"""Pipelines of the task."""
PLAIN, FUNCTION, METHOD = "plain", "function", "method"
PHASE = "importance"
LEAST = 2.0
"""Target: how many times as fast as plain scikit-learn."""
SAME_AS_SKLEARN = 1e-4
"""Target for the largest difference to plain scikit-learn, whose model is another fit."""


def _run(work: Callable[[], Any]) -> Report:
    """Ask once; keep each column's losses of AUC."""
    start = time.perf_counter()
    found = work()
    run = Run(seconds={PHASE: time.perf_counter() - start})
    return Report(run=run, values=dict(_losses(found.importances)))


def _losses(importances: np.ndarray) -> Generator[tuple[str, float], None, None]:
    for (column, repeat), loss in np.ndenumerate(importances):
        yield f"column {column:02} repeat {repeat}", float(loss)


def _cases(ask: Ask) -> Generator[Case, None, None]:
    table = pd.read_parquet(flights.prepare(ask.data))
    trained, rows = ask.one("trained"), ask.one("rows")
    table = table.sample(min(trained + rows, len(table)), random_state=ask.seed)
    X, y = _in_float64(table[list(TASK.features)]), table[TASK.target].to_numpy()
    learnt, asked = slice(rows, None), slice(0, rows)
    given = X.iloc[asked], y[asked]
    how: dict[str, Any] = {"scoring": "roc_auc", "random_state": ask.seed}
    permutations = ask.one("permutations")
    theirs = partial(permutation_importance, n_repeats=permutations, **how)
    for name in filter(ask.wants, NAMES):
        plain = TASK.pipelines[name](ask.seed).fit(X.iloc[learnt], y[learnt])
        model = Accelerated(TASK.pipelines[name](ask.seed), device="cpu")
        model.fit(X.iloc[learnt], y[learnt])
        method = partial(model.importance, repeats=permutations, **how)
        work = {
            PLAIN: partial(theirs, plain, *given),
            FUNCTION: partial(theirs, model, *given),
            METHOD: partial(method, *given),
        }
        facts: dict[str, int | float] = {"rows": len(given[1]), "trained": len(y[learnt])}
        yield Case(
            record.Case(name=name, facts={**facts, "columns": X.shape[1]}),
            {variant: here(partial(_run, each)) for variant, each in work.items()},
        )


def _in_float64(X: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of float64, since of float32 scikit-learn's scalers make other digits."""
    return X.astype({name: "float64" for name in X if X[name].dtype == "float32"})


def _equal(against: str, most: float) -> report.Target:
    """Return a target for the numbers of the method."""

    def find(results: Results, case: str) -> report.Found | None:
        ours, other = (results.cell(case, name) for name in (METHOD, against))
        if ours is None or other is None:
            return None
        apart = max(abs(_of(ours, name) - _of(other, name)) for name in ours.values)
        return f"{apart:.1e}", apart <= most

    wanted = f"≤ {most:.0e}" if most else "the same"
    return report.Target("losses of AUC", METHOD, against, wanted, find)


def _of(cell: Cell, name: str) -> float:
    loss = cell.values[name]
    assert loss is not None
    return loss


CLAIM = Claim(
    folder="importance-cpu",
    settings={"rows": (20_000,), "trained": (50_000,), "permutations": (2,)},
    repeats=5,
    cases=_cases,
    names=NAMES,
    variants=[
        Variant(name=PLAIN, title="plain scikit-learn"),
        Variant(name=FUNCTION, title="scikit-learn's function on `Accelerated`"),
        Variant(name=METHOD, title="`model.importance`"),
    ],
    clock="AUC of {rows} flights, 30 columns, permutations of each: {permutations}; fitted before",
    isolation="one process",
    tables=[
        report.Table(
            [
                report.case(),
                report.variant(),
                report.took("s", PHASE, "{:.2f}".format),
                report.factor("times as fast as plain", PHASE, PLAIN, faster=True),
                report.factor("as the function", PHASE, FUNCTION, faster=True),
            ]
        )
    ],
    targets=[
        report.as_fast(PHASE, METHOD, PLAIN, LEAST, digits=2),
        _equal(FUNCTION, 0.0),
        _equal(PLAIN, SAME_AS_SKLEARN),
    ],
)
