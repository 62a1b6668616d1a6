"""One fold of one candidate: fitted, then scored."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Number
from textwrap import shorten
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params, _num_samples

from pipeline.errors import ConfigError
from pipeline.trace import Event
from pipeline.tuning.early_stopping import hold_out, rows_to_judge, stops_early
from pipeline.tuning.space import candidate_of
from pipeline.typing import Array, Estimator, Params, Table, Target

LONGEST = 300
"""Letters of the reason of a failure."""


class Task(NamedTuple):
    """What a slot does at a time."""

    trial: int
    """The number of the trial."""
    params: Mapping[str, Any]
    fold: int


class Judged(NamedTuple):
    """The result of a task."""

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

    Parameters of `fit` and of the scorer that are as long as X are cut to the rows of a fold.
    `validation_fraction` and `seed` choose the rows for early stopping. With `raises`, an error of
    a fit ends the search.
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
    groups: Array = None
    raises: bool = False

    def run(self, task: Task) -> Judged:
        """Fit one candidate on one fold and score it; the scorer must return a number."""
        train, test = self.folds[task.fold]
        start = time.perf_counter()
        try:
            model = candidate_of(self.estimator, task.params)
            self.fit(model, train)
            fitted = time.perf_counter()
            score = self._score(model, train, test)
        except Exception as error:
            if self.raises:
                raise
            said = f"fold {task.fold + 1}: {_line(error)}"
            return Judged(np.nan, time.perf_counter() - start, error=said)
        seconds = fitted - start, time.perf_counter() - fitted
        if not isinstance(score, Number):
            raise ConfigError(
                f"scoring={self.scorer} returned a {type(score).__name__}; return one number"
            )
        log = getattr(model, "execution_log_", None)
        return Judged(float(score), *seconds, events=tuple(log.entries) if log else ())

    def fit(self, model: Estimator, positions: np.ndarray | None = None) -> None:
        """Fit an estimator on some rows, by default all.

        Some of them are held out for early stopping, and no step learns from these. So the fit on
        all rows is like those that were scored on folds.
        """
        more: Params = {}
        if stops_early(model) and not any(name.endswith("eval_set") for name in self.fit_params):
            known = np.arange(_num_samples(self.X)) if positions is None else positions
            positions, judging = hold_out(
                model, known, self.y, fraction=self.validation_fraction, groups=self.groups,
                folds=self.folds, seed=self.seed,
            )  # fmt: skip
            more = rows_to_judge(model, *self.cut(judging))
        X, y, params = self.cut(positions)
        params = {**params, **more}
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


def _line(error: Exception) -> str:
    """Return what an error is, and the beginning of what it says, in one line."""
    # XGBoost's begin with the time and a file of its own.
    text = re.sub(r"^\[\d\d:\d\d:\d\d\] \S+:\d+: ", "", str(error))
    said = [line.strip() for line in text.splitlines() if line.strip()]
    return shorten(": ".join([type(error).__name__, *said[:1]]), LONGEST, placeholder="…")
