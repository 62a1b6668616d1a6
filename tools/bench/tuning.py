"""Searches of scikit-learn over the flights: plain, with `Accelerated`, and with shared rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from datasets import flights
from pipeline import Accelerated, shared
from pipeline.benchmark.report.format import MISSING
from tasks.flights import TASK
from tools.bench import record, report, tuning_memory
from tools.bench.claim import Ask, Case, Claim, here
from tools.bench.record import Cell, Report, Results, Run, Variant
from tools.bench.report import in_mib

SPACES: dict[str, Mapping[str, list[Any]]] = {
    "logistic": {"logisticregression__C": np.logspace(-3, 2, 20).tolist()},
    "boosting": {
        "xgbclassifier__learning_rate": [0.05, 0.1, 0.2, 0.3],
        "xgbclassifier__max_depth": [3, 4, 5, 6, 7],
    },
    "forest": {
        "randomforestclassifier__max_depth": [6, 8, 10, 12],
        "randomforestclassifier__min_samples_leaf": [5, 10, 20, 40, 80],
    },
}
"""Pipeline of the task -> 20 candidates."""
LEAST = {"logistic": 2.5, "boosting": 2.0, "forest": 1.4}
"""Targets: how many times as fast as plain scikit-learn."""
FOLDS = 5
SAME, SAME_AS_SKLEARN = 1e-7, 1e-9
"""Targets for the largest difference of a candidate's score."""
PLAIN, OURS, SHARED, EXACT = "plain", "ours", "shared", "shared-float64"


def _model(pipeline: BaseEstimator, variant: str) -> tuple[Any, str]:
    """Return what is searched, and how the names of its parameters begin."""
    if variant == PLAIN:
        return pipeline, ""
    dtype = "float64" if variant == EXACT else "auto"
    return Accelerated(pipeline, device="cpu", dtype=dtype), "estimator__"


def _run(name: str, variant: str, X: pd.DataFrame, y: np.ndarray, seed: int) -> Report:
    """Search once; rows are shared anew each time."""
    model, prefix = _model(TASK.pipelines[name](seed), variant)
    space = {f"{prefix}{parameter}": values for parameter, values in SPACES[name].items()}
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    search = GridSearchCV(model, space, scoring="roc_auc", cv=folds, refit=False)
    with warnings.catch_warnings():
        # Of some candidates of the linear model, which all variants alike give all iterations.
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()
        rows = shared(X) if variant in (SHARED, EXACT) else X
        search.fit(rows, y)
        run = Run(seconds={"search": time.perf_counter() - start})
    scores = search.cv_results_["mean_test_score"]
    values: dict[str, float | None] = {f"score {i:02}": float(s) for i, s in enumerate(scores)}
    if rows is not X:
        values["kept bytes"] = rows.table.cache().most_bytes
        values["room bytes"] = rows.table.cache().room_bytes
    return Report(run=run, values=values)


def _cases(ask: Ask) -> Generator[Case, None, None]:
    table = pd.read_parquet(flights.prepare(ask.data))
    rows = min(ask.one("rows") or len(table), len(table))
    table = table.sample(rows, random_state=ask.seed).reset_index(drop=True)
    X, y = _in_float64(table[list(TASK.features)]), table[TASK.target].to_numpy()
    for name in filter(ask.wants, SPACES):
        yield Case(
            record.Case(name=name, facts={"rows": rows, "candidates": 20, "folds": FOLDS}),
            {
                variant.name: here(partial(_run, name, variant.name, X, y, ask.seed))
                for variant in CLAIM.variants
            },
            warms_up=False,
        )
    yield from tuning_memory.cases(ask)


def _in_float64(X: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of float64, since of float32 scikit-learn's scalers make other digits."""
    return X.astype({name: "float64" for name in X if X[name].dtype == "float32"})


def _apart(results: Results, case: str, one: str, other: str) -> float | None:
    """Return the largest difference of the scores of two variants."""
    first, second = (_scores(results.cell(case, name)) for name in (one, other))
    return float(np.abs(first - second).max()) if len(first) and len(second) else None


def _scores(cell: Cell | None) -> np.ndarray:
    values = cell.values if cell else {}
    return np.array([value for name, value in values.items() if name.startswith("score")])


def _equal(variant: str, against: str, most: float) -> report.Target:
    """Return a target for the scores of a variant."""

    def find(results: Results, case: str) -> report.Found | None:
        apart = _apart(results, case, variant, against)
        if apart is None:
            return None
        one, other = (rankdata(_scores(results.cell(case, name))) for name in (variant, against))
        same = most == SAME or bool(np.array_equal(one, other))
        said = "" if same else ", other ranks"
        return f"{apart:.1e}{said}", same and apart <= most

    ranks = " and the same ranks" if most == SAME_AS_SKLEARN else ""
    return report.Target("scores", variant, against, f"≤ {most:.0e}{ranks}", find, tuple(SPACES))


def _faster(against: str) -> Callable[[Results, Cell], str]:
    def text(results: Results, cell: Cell) -> str:
        found = results.ratio(cell.case, "search", cell.variant, against)
        return MISSING if cell.variant == against else report.times(found, digits=2)

    return text


CLAIM = Claim(
    folder="tuning-cpu",
    settings={"rows": (20_000,), "memory_rows": (100_000,), "room_mib": (64,)},
    repeats=5,
    cases=_cases,
    names=(*SPACES, tuning_memory.NAME),
    variants=[
        Variant(name=PLAIN, title="plain scikit-learn"),
        Variant(name=OURS, title="`Accelerated`"),
        Variant(name=SHARED, title="`Accelerated` and `shared(X)`"),
        Variant(name=EXACT, title='the same, `dtype="float64"`'),
    ],
    clock=f"`GridSearchCV` of 20 candidates × {FOLDS} folds on {{rows}} flights, without a refit",
    isolation="one process",
    tables=[
        report.Table(
            [
                report.case(),
                report.variant(),
                report.took("s", "search", "{:.1f}".format),
                report.Column("against plain", _faster(PLAIN)),
                report.Column("against unshared", _faster(OURS)),
                report.value("kept, MiB", "kept bytes", in_mib),
            ],
            cases=tuple(SPACES),
        ),
        tuning_memory.TABLE,
    ],
    targets=[
        *(
            report.as_fast("search", SHARED, PLAIN, least, digits=2, cases=[case])
            for case, least in LEAST.items()
        ),
        *tuning_memory.TARGETS,
        _equal(SHARED, OURS, SAME),
        _equal(EXACT, PLAIN, SAME_AS_SKLEARN),
    ],
)
