"""Grid searches over the flights: of plain scikit-learn, on `Accelerated`, and on shared rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from pipeline import Accelerated, shared
from tasks.flights import TASK
from tools.bench import record, report
from tools.bench.importance import drawn
from tools.bench.record import Run, Values, Variant
from tools.bench.runner import Ask, Claim, Turn

SPACES: dict[str, dict[str, Any]] = {
    "logistic": {"logisticregression__C": np.logspace(-3, 2, 8).tolist()},
    "boosting": {
        "xgbclassifier__learning_rate": [0.05, 0.1, 0.2, 0.3],
        "xgbclassifier__max_depth": [4, 6],
    },
    "forest": {
        "randomforestclassifier__max_depth": [6, 8, 10, 12],
        "randomforestclassifier__min_samples_leaf": [10, 40],
    },
}
"""Pipeline of the task -> a grid of 8 candidates."""
PLAIN, OURS, SHARED = "plain", "ours", "shared"
FOLDS = 5
LEAST = {"logistic": 2.5, "boosting": 2.0, "forest": 1.4}
"""Targets for the speed of shared rows beside plain scikit-learn."""
SAME = 1e-7
"""Target for the largest difference that sharing makes to a candidate's score."""


def start(ask: Ask, case: record.Case, variant: str) -> Turn:
    """Draw rows. A turn searches once."""
    X, y = drawn(ask, ask.one("rows"))
    model, space = TASK.pipelines[case.name](ask.seed), SPACES[case.name]
    if variant != PLAIN:
        model = Accelerated(model, device="cpu")
        space = {f"estimator__{name}": values for name, values in space.items()}
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=ask.seed)

    def turn() -> tuple[Run, Values]:
        search = GridSearchCV(model, space, scoring="roc_auc", cv=folds, refit=False)
        with warnings.catch_warnings():
            # Some candidates of the linear model need more iterations, on all sides alike.
            warnings.simplefilter("ignore", ConvergenceWarning)
            begun = time.perf_counter()
            search.fit(shared(X) if variant == SHARED else X, y)
            run = Run(seconds={"search": time.perf_counter() - begun})
        scores = enumerate(search.cv_results_["mean_test_score"])
        return run, {f"score {i:02}": float(each) for i, each in scores}

    return turn


def _cases(ask: Ask) -> Iterator[record.Case]:
    for name in filter(ask.wants, SPACES):
        yield record.Case(name=name, facts={"rows": ask.one("rows")})


CLAIM = Claim(
    name="searches",
    settings={"rows": (10_000,)},
    repeats=5,
    warms_up=False,
    cases=_cases,
    start=start,
    names=tuple(SPACES),
    variants=[
        Variant(name=PLAIN, title="plain scikit-learn"),
        Variant(name=OURS, title="`Accelerated`"),
        Variant(name=SHARED, title="`Accelerated`, `shared(X)`"),
    ],
    clock=f"`GridSearchCV` of 8 candidates; {FOLDS} folds of {{rows}} flights, without a refit",
    shown=[OURS, SHARED],
    columns=[
        report.CASE,
        report.VARIANT,
        report.took("s", "search", "{:.1f}".format),
        report.against("against plain scikit-learn", "search", PLAIN),
    ],
    targets=[
        *(
            report.as_fast("search", SHARED, PLAIN, least, cases=[case])
            for case, least in LEAST.items()
        ),
        report.equal("scores", SHARED, OURS, SAME),
    ],
)
