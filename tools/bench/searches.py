"""Searches over the flights: of scikit-learn, on `Accelerated`, on shared rows, and `Search`."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.stats import loguniform, randint, ttest_rel, uniform
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, StratifiedKFold

from pipeline import Accelerated, Search, shared
from pipeline.task.numerals import MISSING
from tasks.flights import TASK
from tools.bench import record, report
from tools.bench.claim import Ask, Claim, Turn
from tools.bench.importance import drawn
from tools.bench.record import Cell, Report, Results, Run, Variant

SPACES: dict[str, dict[str, Any]] = {
    "logistic": {"logisticregression__C": np.logspace(-3, 2, 20).tolist()},
    "boosting": {
        "xgbclassifier__learning_rate": [0.05, 0.1, 0.2, 0.3],
        "xgbclassifier__max_depth": [3, 4, 5, 6, 7],
    },
    "forest": {
        "randomforestclassifier__max_depth": [6, 8, 10, 12],
        "randomforestclassifier__min_samples_leaf": [5, 10, 20, 40, 80],
    },
    "drawn": {
        "xgbclassifier__learning_rate": loguniform(0.01, 0.3),
        "xgbclassifier__max_depth": randint(3, 11),
        "xgbclassifier__min_child_weight": loguniform(0.5, 50),
        "xgbclassifier__subsample": uniform(0.5, 0.5),
        "xgbclassifier__colsample_bytree": uniform(0.3, 0.7),
        "xgbclassifier__reg_lambda": loguniform(0.01, 100),
    },
}
"""Case -> space: grids of 20 candidates of each pipeline of the task, and one to draw from."""
DRAWN = "drawn"
GRIDS = [name for name in SPACES if name != DRAWN]
PLAIN, OURS, SHARED, SEARCH = "plain", "ours", "shared", "search"
FOLDS = 5
LEAST = {"logistic": 2.5, "boosting": 2.0, "forest": 1.4}
"""Targets for the speed of shared rows beside plain scikit-learn."""
SAME = 1e-7
"""Target for the largest difference that sharing makes to a candidate's score."""
LEAST_DRAWN, MOST_WORSE = 2.0, 0.002
"""Targets for `Search` beside `RandomizedSearchCV`: speed, lower end of the difference of AUC."""


def search_of(case: str, variant: str, trials: int, seed: int) -> Any:
    """Return a search that was not fitted."""
    model = TASK.pipelines["boosting" if case == DRAWN else case](seed)
    space = SPACES[case]
    if variant != PLAIN:
        model = Accelerated(model, device="cpu")
        space = {f"estimator__{name}": values for name, values in space.items()}
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    how: dict[str, Any] = {"scoring": "roc_auc", "cv": folds, "refit": False}
    if case != DRAWN:
        return GridSearchCV(model, space, **how)
    how["random_state"] = seed
    if variant == PLAIN:
        return RandomizedSearchCV(model, space, n_iter=trials, **how)
    return Search(model, space, trials=trials, **how)


def start(ask: Ask, case: record.Case, variant: str) -> Turn:
    """Draw rows. A turn searches once; the best of drawn candidates predicts rows held out."""
    rows, trials, seeds = ask.one("rows"), ask.one("trials"), itertools.count(ask.seed)
    X, y = drawn(ask, rows + ask.one("held_out"))
    X_new, y_new, X, y = X[rows:], y[rows:], X[:rows], y[:rows]

    def turn() -> Report:
        seed = next(seeds) if case.name == DRAWN else ask.seed
        search = search_of(case.name, variant, trials, seed)
        with warnings.catch_warnings():
            # Some candidates of the linear model need more iterations, on all sides alike.
            warnings.simplefilter("ignore", ConvergenceWarning)
            begun = time.perf_counter()
            search.fit(shared(X) if variant == SHARED else X, y)
            run = Run(seconds={"search": time.perf_counter() - begun})
        if case.name != DRAWN:
            scores = enumerate(search.cv_results_["mean_test_score"])
            return Report(run=run, values={f"score {i:02}": float(each) for i, each in scores})
        best = {name.removeprefix("estimator__"): v for name, v in search.best_params_.items()}
        fitted = TASK.pipelines["boosting"](seed).set_params(**best).fit(X, y)
        auc = float(roc_auc_score(y_new, fitted.predict_proba(X_new)[:, 1]))
        return Report(run=run, values={f"seed {seed}": auc})

    return turn


def _cases(ask: Ask) -> Iterator[tuple[record.Case, Sequence[str]]]:
    for name in filter(ask.wants, SPACES):
        about = record.Case(name=name, facts={"rows": ask.one("rows")})
        yield about, (PLAIN, SEARCH) if name == DRAWN else (PLAIN, OURS, SHARED)


def _values(cell: Cell | None) -> np.ndarray:
    """Return the scores of the candidates, or the AUC of each seed."""
    return np.array([*cell.values.values()] if cell else [], dtype="float64")


def _as_good(results: Results, case: str) -> report.Found | None:
    """Compare the AUC of `Search` with scikit-learn's, paired by seed."""
    ours, other = (_values(results.cell(case, name)) for name in (SEARCH, PLAIN))
    if len(ours) < 2 or len(ours) != len(other):
        return None
    low, high = ttest_rel(ours, other).confidence_interval(0.95)
    return f"{np.mean(ours - other):+.4f} ({low:+.4f} to {high:+.4f})", low >= -MOST_WORSE


def _auc(results: Results, cell: Cell) -> str:
    return f"{np.mean(_values(cell)):.4f}" if cell.case == DRAWN and cell.ok else MISSING


CLAIM = Claim(
    name="searches",
    settings={"rows": (20_000,), "held_out": (50_000,), "trials": (40,)},
    repeats=5,
    warms_up=False,
    cases=_cases,
    start=start,
    names=tuple(SPACES),
    variants=[
        Variant(name=PLAIN, title="plain scikit-learn"),
        Variant(name=OURS, title="`Accelerated`"),
        Variant(name=SHARED, title="`Accelerated`, `shared(X)`"),
        Variant(name=SEARCH, title="`Search`"),
    ],
    clock=(
        f"`GridSearchCV` of 20 candidates, or {{trials}} drawn ones of boosting by a seed for each "
        f"run (plain: `RandomizedSearchCV`); {FOLDS} folds of {{rows}} flights, without a refit; "
        "held out: {held_out} flights"
    ),
    columns=[
        report.case(),
        report.variant(),
        report.took("s", "search", "{:.1f}".format),
        report.against("beside plain scikit-learn", "search", PLAIN),
        report.against("beside unshared rows", "search", OURS),
        report.Column("AUC held out", _auc),
    ],
    targets=[
        *(
            report.as_fast("search", SHARED, PLAIN, least, cases=[case])
            for case, least in LEAST.items()
        ),
        report.equal("scores", SHARED, OURS, SAME, GRIDS),
        report.as_fast("search", SEARCH, PLAIN, LEAST_DRAWN, cases=[DRAWN]),
        report.Target(
            "AUC held out", SEARCH, PLAIN, f"≥ -{MOST_WORSE}, lower end", _as_good, [DRAWN]
        ),
    ],
)
