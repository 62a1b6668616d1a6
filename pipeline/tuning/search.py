"""`Search`: a search over parameters that stops bad candidates early, resumes and scales."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_method_params, indexable

from pipeline.data.shared import SharedRows, shared
from pipeline.errors import DataError
from pipeline.estimator.accelerated import Accelerated
from pipeline.tuning.evaluate import Evaluation
from pipeline.tuning.race import Race
from pipeline.tuning.racing import pruner_of
from pipeline.tuning.results import COMPLETE, tabulate
from pipeline.tuning.slots import open_slots
from pipeline.tuning.space import Space
from pipeline.tuning.study import open_study
from pipeline.typing import Estimator, Table, Target

if TYPE_CHECKING:
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler


class Search(BaseSearchCV):
    """A search over the parameters of an estimator, with Optuna (extra ``tune``).

    Candidates are judged fold by fold, and those that are unlikely to become the best one are
    stopped. What they have in common is fitted once, where the estimator is an `Accelerated`.

    Parameters
    ----------
    estimator : estimator
    space : mapping of str to distribution
        Parameter of the estimator -> distribution of Optuna.
    trials : int, default=50
        Candidates, with those of a study that is resumed.
    timeout : float, optional
        Seconds after which no further fit is begun.
    cv : int, splitter or iterable, optional
        As `GridSearchCV` takes it; by default 5 folds.
    scoring : str or callable, optional
        One metric, as `GridSearchCV` takes it.
    prune : bool or optuna.pruners.BasePruner, default=True
        Whether, or by what, candidates are stopped before their last fold.
    refit : bool, default=True
        Whether to fit the best candidate on all rows.
    storage : str or Path, optional
        A file that the study is kept in, from which a search that was killed goes on.
    sampler : optuna.samplers.BaseSampler, optional
        What draws the candidates; by default `TPESampler`.
    validation_fraction : float, default=0.1
        Share of the training rows of a fold that XGBoost's early stopping is judged by.
    trial_timeout : float, optional
        Seconds after which a trial has failed.
    trials_per_worker : int, default=1
        How many trials run on each worker of a cluster at a time.
    error_score : "raise" or float, default=nan
        ``"raise"`` ends the search at the first trial that fails; else it is recorded as failed.
    random_state : int, RandomState or None, default=None
        Of what is drawn.
    verbose : int, default=0
        With 1, each trial is told, with the best value and the time left.

    Attributes
    ----------
    best_estimator_ : estimator
    best_params_ : dict
    best_score_ : float
    best_index_ : int
        Place of the best trial in `cv_results_`.
    cv_results_ : dict of str to numpy.ndarray
        scikit-learn's columns, and ``state``, ``reason`` and ``trial`` of each trial.
    study_ : optuna.study.Study
    execution_log_ : ExecutionLog
        What ran where, of all fits and predictions of the trials.
    n_splits_ : int
    refit_time_ : float
    """

    return_train_score = False

    def __init__(
        self,
        estimator: Estimator,
        space: Any,
        *,
        trials: int = 50,
        timeout: float | None = None,
        cv: Any = None,
        scoring: str | Callable[..., float] | None = None,
        prune: bool | BasePruner = True,
        refit: bool = True,
        storage: str | Path | None = None,
        sampler: BaseSampler | None = None,
        validation_fraction: float = 0.1,
        trial_timeout: float | None = None,
        trials_per_worker: int = 1,
        error_score: str | float = np.nan,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.space = space
        self.trials = trials
        self.timeout = timeout
        self.cv = cv
        self.scoring = scoring
        self.prune = prune
        self.refit = refit
        self.storage = storage
        self.sampler = sampler
        self.validation_fraction = validation_fraction
        self.trial_timeout = trial_timeout
        self.trials_per_worker = trials_per_worker
        self.error_score = error_score
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Table, y: Target = None, **params: Any) -> Search:
        """Search, then fit the best candidate on all rows.

        Parameters
        ----------
        X : table or SharedRows, shape (n_rows, n_columns)
        y : array-like of shape (n_rows,)
        **params
            As `GridSearchCV.fit` takes them: for `fit` of the estimator, for the scorer and, as
            ``groups``, for the splitter.

        Raises
        ------
        ConfigError
            A parameter, the space or the storage cannot be used.
        DataError
            No trial could be completed.
        OutputLocked
            Another search is writing to the storage.
        """
        scorer, _ = self._get_scorers()
        X, y = indexable(self._shared(X), y)
        routed = self._get_routed_params_for_fit(_check_method_params(X, params=params))
        splitter = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        folds = list(splitter.split(X, y, **routed.splitter.split))
        self.n_splits_ = len(folds)
        seed = int(check_random_state(self.random_state).randint(2**31))
        evaluation = Evaluation(
            clone(self.estimator), X, y, folds, scorer, routed.estimator.fit, routed.scorer.score,
            self.validation_fraction, seed, raises=self.error_score == "raise",
        )  # fmt: skip
        space = Space.of(self.space, self.estimator)
        with (
            open_study(self.storage, self._identity(evaluation, space), pruner_of(self.prune)) as s,
            open_slots(evaluation, self.trials_per_worker) as slots,
        ):
            if self.sampler is not None:
                s.sampler = self.sampler
            self.study_ = s
            race = Race(
                s, space, slots, len(folds), trials=self.trials, timeout=self.timeout,
                seed=seed if self.sampler is None else None, own=self.estimator.get_params(),
            )  # fmt: skip
            race.run()
        self._take(race)
        if self.refit:
            self._refit(X, y, routed.estimator.fit)
        self.scorer_, self.multimetric_ = scorer, False
        return self

    def _shared(self, X: Table) -> Table:
        """Return rows that fits share, where the estimator can."""
        if isinstance(X, SharedRows) or not isinstance(self.estimator, Accelerated):
            return X
        return shared(X)

    def _identity(self, evaluation: Evaluation, space: Space) -> Mapping[str, str]:
        """Return what makes this search another one than others."""
        return space.describe()

    def _take(self, race: Race) -> None:
        ended = [each for each in race.outcomes.values() if each.state != "running"]
        complete = [each for each in ended if each.state == COMPLETE]
        if not complete:
            reasons = sorted({each.reason for each in ended if each.reason})
            raise DataError(f"none of {len(ended)} trials was completed: {'; '.join(reasons[:3])}")
        with warnings.catch_warnings():
            # Those of trials that were stopped.
            warnings.filterwarnings("ignore", "One or more of the test scores", UserWarning)
            warnings.filterwarnings("ignore", "invalid value", RuntimeWarning)
            self.cv_results_ = tabulate(ended, self.n_splits_, self._format_results)
        self.best_index_ = int(np.nanargmax(self.cv_results_["mean_test_score"]))
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.execution_log_ = race.log

    def _refit(self, X: Table, y: Target, params: Mapping[str, Any]) -> None:
        best = clone(self.estimator).set_params(**clone(dict(self.best_params_), safe=False))
        start = time.perf_counter()
        self.best_estimator_ = best.fit(X, y, **params) if y is not None else best.fit(X, **params)
        self.refit_time_ = time.perf_counter() - start
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_
