"""One fold of one candidate: fitted, then judged."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from pipeline.trace import Event
from pipeline.typing import Estimator, Params, Table, Target


class Task(NamedTuple):
    """What a slot does at a time."""

    trial: int
    """The number of the trial."""
    params: Mapping[str, Any]
    fold: int
    share: float = 1.0
    """Of the trees that the candidate asks for; less than 1 is a first look at it."""


class Judged(NamedTuple):
    """What came of a task."""

    score: float
    """Higher is better; nan where it failed."""
    fit_time: float = 0.0
    score_time: float = 0.0
    error: str = ""
    """Why it failed; empty where it did not."""
    events: Sequence[Event] = ()
    """What ran where, of an `Accelerated`."""
    worker: str = ""
    """Where it ran, on a cluster."""


@dataclass(frozen=True)
class Evaluation:
    """What all tasks of a search have in common; sent to each worker once.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    X : table or SharedRows
    y : target
    folds : sequence of (train, test)
        Positions of rows.
    scorer : callable
        Takes a fitted estimator, X and y.
    fit_params, score_params : mapping
        What is as long as X is cut to the rows of the fold.
    validation_fraction : float
        Share of the training rows of a fold that early stopping is judged by.
    seed : int
        Of the choice of these rows.
    raises : bool
        Whether an error of a fit ends the search.
    """

    estimator: Estimator
    X: Table
    y: Target
    folds: Sequence[tuple[np.ndarray, np.ndarray]]
    scorer: Callable[..., float]
    fit_params: Params = field(default_factory=dict)
    score_params: Params = field(default_factory=dict)
    validation_fraction: float = 0.1
    seed: int = 0
    raises: bool = False

    def run(self, task: Task) -> Judged:
        """Fit and judge one candidate on one fold."""
        train, test = self.folds[task.fold]
        start = time.perf_counter()
        try:
            model = clone(self.estimator).set_params(**clone(dict(task.params), safe=False))
            self.fit(model, train)
            fitted = time.perf_counter()
            score = float(self._score(model, test))
        except Exception as error:
            if self.raises:
                raise
            said = "".join(traceback.format_exception_only(error)).strip()
            return Judged(np.nan, time.perf_counter() - start, error=said)
        seconds = fitted - start, time.perf_counter() - fitted
        log = getattr(model, "execution_log_", None)
        return Judged(score, *seconds, events=tuple(log.entries) if log else ())

    def fit(self, model: Estimator, train: np.ndarray) -> None:
        """Fit an estimator on some rows."""
        params = _check_method_params(self.X, params=self.fit_params, indices=train)
        model.fit(self._at(self.X, train), self._at(self.y, train), **params)

    def _score(self, model: Estimator, test: np.ndarray) -> float:
        params = _check_method_params(self.X, params=self.score_params, indices=test)
        return self.scorer(model, self._at(self.X, test), self._at(self.y, test), **params)

    @staticmethod
    def _at(rows: Any, positions: np.ndarray) -> Any:
        return None if rows is None else _safe_indexing(rows, positions)
