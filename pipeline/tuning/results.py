"""`cv_results_` of a search, with the columns of scikit-learn's and the state of each trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pipeline.tuning.evaluate import Judged

COMPLETE, PRUNED, FAILED = "complete", "pruned", "failed"


@dataclass
class Outcome:
    """What is known of a trial.

    Parameters
    ----------
    number : int
    params : mapping
        As `set_params` takes them.
    folds : dict of int to Judged
    state : {"running", "complete", "pruned", "failed"}
    reason : str
        Why it was stopped or failed.
    """

    number: int
    params: Mapping[str, Any]
    folds: dict[int, Judged] = field(default_factory=dict)
    state: str = "running"
    reason: str = ""

    @property
    def score(self) -> float:
        """The mean over the folds of a complete trial; nan for others."""
        if self.state != COMPLETE:
            return np.nan
        return float(np.mean([judged.score for judged in self.folds.values()]))


def tabulate(
    outcomes: Sequence[Outcome], n_splits: int, format_results: Callable[..., dict[str, Any]]
) -> dict[str, Any]:
    """Return `cv_results_`.

    Parameters
    ----------
    outcomes : sequence of Outcome
        Those that have ended.
    n_splits : int
    format_results : callable
        scikit-learn's own.
    """
    none = Judged(np.nan, np.nan, np.nan)
    out = [
        {
            "test_scores": (judged := outcome.folds.get(fold, none)).score,
            "fit_time": judged.fit_time,
            "score_time": judged.score_time,
        }
        for outcome in outcomes
        for fold in range(n_splits)
    ]
    more = {
        "state": [outcome.state for outcome in outcomes],
        "reason": [outcome.reason for outcome in outcomes],
        "trial": [outcome.number for outcome in outcomes],
    }
    return format_results([dict(each.params) for each in outcomes], n_splits, out, more)
