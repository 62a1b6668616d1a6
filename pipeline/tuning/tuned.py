"""The trials of a search, and `cv_results_` with scikit-learn's columns and their states."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pipeline.tuning.evaluate import Judged

RUNNING, COMPLETE, PRUNED, FAILED = "running", "complete", "pruned", "failed"


@dataclass
class Outcome:
    """What is known of a trial: its state, why it was stopped or failed, and its folds from 0."""

    number: int
    params: Mapping[str, Any]
    folds: dict[int, Judged] = field(default_factory=dict)
    state: Any = RUNNING
    reason: str = ""
    seconds: float = 0.0
    """Of the search, at which it ended."""

    @property
    def score(self) -> float:
        """The mean over the folds."""
        return float(np.mean([judged.score for judged in self.folds.values()]))

    def __str__(self) -> str:
        """Return what came of it."""
        if self.state == COMPLETE:
            return f"{self.score:.5g}"
        return f"stopped {self.reason}" if self.state == PRUNED else f"failed, {self.reason}"


def tabulate(
    outcomes: Sequence[Outcome], n_splits: int, format_results: Callable[..., dict[str, Any]]
) -> dict[str, Any]:
    """Return `cv_results_` of trials that have ended, made by scikit-learn's `format_results`.

    Times and scores are nan of trials that are not complete.
    """
    none = Judged(np.nan, np.nan, np.nan)
    judged = [[each.folds.get(fold, none) for fold in range(n_splits)] for each in outcomes]
    out = [
        {"test_scores": one.score, "fit_time": one.fit_time, "score_time": one.score_time}
        for folds in judged
        for one in folds
    ]
    more = {
        "state": [outcome.state for outcome in outcomes],
        "reason": [outcome.reason for outcome in outcomes],
        "trial": [outcome.number for outcome in outcomes],
    }
    with warnings.catch_warnings():
        # scikit-learn warns of the missing scores of stopped trials.
        warnings.filterwarnings("ignore", "One or more of the test scores", UserWarning)
        warnings.filterwarnings("ignore", "invalid value", RuntimeWarning)
        results: dict[str, Any] = format_results(
            [dict(each.params) for each in outcomes], n_splits, out, more
        )
    return results
