"""The trials of a search, and `cv_results_` with scikit-learn's columns and their states."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np

from pipeline.tuning.evaluate import Judged

RUNNING, COMPLETE, PRUNED, FAILED = "running", "complete", "pruned", "failed"
ENOUGH = 5
"""Trials that a search with a timeout should have time for."""


@dataclass
class Outcome:
    """A trial: its state, why it was stopped or failed, and its folds, numbered from 0."""

    number: int
    params: Mapping[str, Any]
    folds: dict[int, Judged] = field(default_factory=dict)
    state: Any = RUNNING
    reason: str = ""
    seconds: float = 0.0
    """From the start of the search to the end of the trial."""

    @property
    def score(self) -> float:
        """The mean over the folds."""
        return float(np.mean([judged.score for judged in self.folds.values()]))

    def __str__(self) -> str:
        """Return the score, or why there is none."""
        if self.state == COMPLETE:
            return f"{self.score:.5g}"
        return f"stopped {self.reason}" if self.state == PRUNED else f"failed, {self.reason}"


def tabulate(
    outcomes: Sequence[Outcome], n_splits: int, format_results: Callable[..., dict[str, Any]]
) -> dict[str, Any]:
    """Return `cv_results_` of trials that have ended, from scikit-learn's `format_results`.

    Trials that are not complete have nan as mean times and scores.
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


def too_short(seconds: float, given: str) -> str:
    """Say that a timeout ended before the first trial did, and which one is enough.

    `given` is the timeout as the user wrote it.

    >>> print(too_short(0.123, "timeout=0.01"))
    timeout=0.01 ended before the first trial did, after 0.12 s; one trial says nothing about \
the best parameters: allow about 1 s, enough for 5 trials
    """
    return (
        f"{given} ended before the first trial did, after {seconds:.2f} s; one trial says "
        f"nothing about the best parameters: allow about {ceil(ENOUGH * seconds)} s, enough "
        f"for {ENOUGH} trials"
    )
