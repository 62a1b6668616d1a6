"""One fold of one candidate: fitted, then judged."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params

from pipeline.errors import ConfigError
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


Watch = Callable[[Task, Estimator], AbstractContextManager[Any]]
"""Returns a context in which the fit of a task tells what it does."""


def unwatched(task: Task, model: Estimator) -> AbstractContextManager[Any]:
    """Return a context in which nothing is told."""
    return nullcontext()


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
    watch : callable
        Tells callbacks of the fits in this process; another one has `unwatched`.
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
    watch: Watch = unwatched

    def __getstate__(self) -> dict[str, Any]:
        """Leave what tells callbacks here."""
        return {**vars(self), "watch": unwatched}

    def run(self, task: Task) -> Judged:
        """Fit and judge one candidate on one fold.

        Raises
        ------
        ConfigError
            The scorer returns something else than a number.
        """
        train, test = self.folds[task.fold]
        start = time.perf_counter()
        try:
            model = clone(self.estimator).set_params(**clone(dict(task.params), safe=False))
            with self.watch(task, model):
                self.fit(model, train)
            fitted = time.perf_counter()
            score = self._score(model, train, test)
        except Exception as error:
            if self.raises:
                raise
            said = "".join(traceback.format_exception_only(error)).strip()
            return Judged(np.nan, time.perf_counter() - start, error=said)
        seconds = fitted - start, time.perf_counter() - fitted
        if not isinstance(score, Number):
            raise ConfigError(
                f"scoring={self.scorer} returned a {type(score).__name__}; one number is needed"
            )
        log = getattr(model, "execution_log_", None)
        return Judged(float(score), *seconds, events=tuple(log.entries) if log else ())

    def fit(self, model: Estimator, positions: np.ndarray | None = None) -> None:
        """Fit an estimator on some rows, by default all."""
        X, y, params = self.cut(positions)
        model.fit(X, **params) if y is None else model.fit(X, y, **params)

    def cut(self, positions: np.ndarray | None = None) -> tuple[Table, Target, Params]:
        """Return what an estimator is fitted on: some rows, by default all."""
        if positions is None:
            return self.X, self.y, self.fit_params
        X, y = _safe_split(self.estimator, self.X, self.y, positions)
        return X, y, _check_method_params(self.X, params=self.fit_params, indices=positions)

    def _score(self, model: Estimator, train: np.ndarray, test: np.ndarray) -> float:
        params = _check_method_params(self.X, params=self.score_params, indices=test)
        X, y = _safe_split(self.estimator, self.X, self.y, test, train)
        score: Any = (
            self.scorer(model, X, **params) if y is None else self.scorer(model, X, y, **params)
        )
        return score.item() if hasattr(score, "item") else score
