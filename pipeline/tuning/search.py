"""`Search`: a parameter search that stops bad candidates early, resumes and scales."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import Bunch, check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, InvalidParameterError, StrOptions
from sklearn.utils.validation import _check_method_params, indexable

from pipeline.errors import ConfigError, DataError, in_words_of
from pipeline.model.accelerated import Accelerated
from pipeline.table import target
from pipeline.table.shared import shared
from pipeline.tuning.early_stopping import require_able
from pipeline.tuning.evaluate import Evaluation
from pipeline.tuning.loop import Loop
from pipeline.tuning.space import Space, candidate_of
from pipeline.tuning.study import identity_of, open_study, recall
from pipeline.tuning.trial_workers import open_slots
from pipeline.tuning.tuned import COMPLETE, FAILED, tabulate, too_short
from pipeline.typing import Estimator, Table, Target


class Search(BaseSearchCV):
    """A search over the parameters of an estimator, with Optuna (extra ``tune``).

    The search scores candidates fold by fold and stops those that are unlikely to become the best.
    If the estimator is an `Accelerated`, the steps that candidates have in common are fitted once.
    Everything else works as in `GridSearchCV`: the best candidate is fitted on all rows and
    predicts. A search does not forward callbacks.

    Parameters
    ----------
    estimator : estimator
        Cloned, never changed. Its own parameters are the first candidate if they are in the space.
    space : mapping or "default"
        Parameter of the estimator -> distribution of Optuna, list of values, or ``uniform``,
        ``loguniform`` or ``randint`` of scipy; ``"default"`` is `default_space` of the estimator.
    trials : int, default=50
        Number of candidates, including those of a study that is resumed.
    timeout : float, optional
        Seconds after which no further fit begins, except those of the first candidate: it is
        always scored, and a warning says which timeout is enough for 5 candidates. The best
        candidate is then fitted on all rows.
    cv : int, splitter or iterable, optional
        As in `GridSearchCV`; by default 5 folds. All candidates have the same folds.
    scoring : str or callable, optional
        One metric, as in `GridSearchCV`: higher is better.
    prune : bool, default=True
        Whether to stop candidates before their last fold.
    refit : bool, default=True
        Whether to fit the best candidate on all rows.
    storage : str or Path, optional
        A file for the study. A search that was killed continues from it.
    validation_fraction : float, default=0.1
        Share of the training rows of a fold that XGBoost's early stopping is evaluated on.
    error_score : "raise" or float, default=nan
        ``"raise"`` ends the search at the first trial that fails; nan records the failure.
    random_state : int, RandomState or None, default=None
        Seed of the candidates that Optuna's `TPESampler` draws.
    verbose : int, default=0
        With 1, each trial prints a line with its score and the best one.

    Attributes
    ----------
    best_estimator_ : estimator
        The best candidate, fitted on all rows; only with `refit`.
    best_params_ : dict
    best_score_ : float
        Mean score of the best candidate over the folds.
    best_index_ : int
        Index of the best trial in `cv_results_`: the first of equal ones.
    cv_results_ : dict of str to numpy.ndarray, each of shape (n_trials,)
        scikit-learn's columns for the trials that have ended, and ``trial`` (the number),
        ``state`` ("complete", "pruned" or "failed") and ``reason``. Scores of folds that did not
        run are nan, and so is the mean score of a trial that is not complete.
    study_ : optuna.study.Study
        Includes trials that were running when Ctrl-C or `timeout` ended the search.
    execution_log_ : ExecutionLog
        What ran where in all fits and predictions of the trials.
    n_splits_ : int
        Number of folds.
    refit_time_ : float
        Seconds of the fit on all rows.
    scorer_ : callable
    classes_ : numpy.ndarray
        Of `best_estimator_`, as `n_features_in_` and `feature_names_in_`.

    Examples
    --------
    >>> from optuna.distributions import FloatDistribution
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from pipeline import Accelerated, Search
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Accelerated(make_pipeline(StandardScaler(), LogisticRegression()), device="cpu")
    >>> space = {"estimator__logisticregression__C": FloatDistribution(0.01, 100, log=True)}
    >>> search = Search(model, space, trials=8, random_state=0).fit(X, y)
    >>> search.best_score_ > 0.96
    True
    >>> search.predict(X[:2]).tolist()
    [0, 0]
    """

    return_train_score = False

    _parameter_constraints = {
        "estimator": [HasMethods(["fit"])],
        "space": "no_validation",
        "trials": [Interval(Integral, 1, None, closed="left")],
        "timeout": [Interval(Real, 0, None, closed="neither"), None],
        "cv": ["cv_object"],
        "scoring": "no_validation",
        "prune": ["boolean"],
        "refit": ["boolean"],
        "storage": [str, PathLike, None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "error_score": [StrOptions({"raise"}), np.nan],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Estimator,
        space: Any,
        *,
        trials: int = 50,
        timeout: float | None = None,
        cv: Any = None,
        scoring: str | Callable[..., float] | None = None,
        prune: bool = True,
        refit: bool = True,
        storage: str | Path | None = None,
        validation_fraction: float = 0.1,
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
        self.validation_fraction = validation_fraction
        self.error_score = error_score
        self.random_state = random_state
        self.verbose = verbose

    @property
    def set_callbacks(self) -> Any:
        """Missing, so that hasattr is False: a search forwards no callbacks."""
        raise AttributeError(
            "Search forwards no callbacks; call set_callbacks on its estimator, or pass verbose=1 "
            "to print a line for each trial"
        )

    def fit(self, X: Table, y: Target = None, **params: Any) -> Search:
        """Search, then fit the best candidate on all rows.

        Ctrl-C ends the search and keeps its results; a second Ctrl-C ends the last fit.

        Parameters
        ----------
        X : table or SharedRows, shape (n_rows, n_columns)
        y : array-like of shape (n_rows,) or (n_rows, n_targets), optional
        **params
            As in `GridSearchCV.fit`: for `fit` of the estimator, for the scorer and, as
            ``groups``, for the splitter. Arrays as long as X are split with it.

        Raises
        ------
        ConfigError
            A parameter, the space or the storage is not valid.
        DataError
            No trial was completed.
        OutputLocked
            Another search is writing to the storage.
        """
        for name in [name for name in vars(self) if name.endswith("_") and name[0] != "_"]:
            delattr(self, name)  # Results of an earlier fit.
        self.scorer_, self.multimetric_ = self._check_parameters(), False
        able = isinstance(self.estimator, Accelerated) and hasattr(X, "shape")
        X, y = indexable(*(shared(X), target.on_host(y, "target")) if able else (X, y))
        params = _check_method_params(X, params=params)
        evaluation = self._evaluation(X, y, self._get_routed_params_for_fit(params))
        evaluation = self._search(evaluation)
        if self.refit:
            self._refit(evaluation)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether a fit has ended; Ctrl-C may have ended the last one early."""
        return hasattr(self, "best_estimator_" if self.refit else "cv_results_")

    def _check_parameters(self) -> Callable[..., float]:
        """Check the parameters of the search, and return its scorer."""
        try:
            self._validate_params()
        except InvalidParameterError as error:
            raise in_words_of(error, ConfigError(str(error))) from None
        if isinstance(self.scoring, list | tuple | set | dict):
            raise ConfigError(
                f"scoring={self.scoring!r}: a search uses one metric; pass its name, and compute "
                "others of best_estimator_ with cross_validate"
            )
        try:
            scorer: Callable[..., float] = self._get_scorers()[0]
        except (TypeError, ValueError) as error:
            said = f"scoring={self.scoring!r}: pass a name of sklearn.metrics.get_scorer_names()"
            raise in_words_of(error, ConfigError(said)) from None
        return scorer

    def _evaluation(self, X: Table, y: Target, routed: Bunch) -> Evaluation:
        """Return what all trials have in common."""
        splitter = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        folds = list(splitter.split(X, y, **routed.splitter.split))
        if not folds:
            raise ConfigError(f"cv={self.cv!r} yields no folds; pass a splitter, or a new iterator")
        self.n_splits_ = len(folds)
        seed = int(check_random_state(self.random_state).randint(2**31))
        return Evaluation(
            clone(self.estimator), X, y, folds, self.scorer_, routed.estimator.fit,
            routed.scorer.score, self.validation_fraction, seed,
            routed.splitter.split.get("groups"), raises=isinstance(self.error_score, str),
        )  # fmt: skip

    def _search(self, evaluation: Evaluation) -> Evaluation:
        """Search; return the evaluation with the seed that the study began with."""
        space = Space.of(self.space, self.estimator)
        require_able(self.estimator, space.parameters)
        identity = partial(identity_of, self, evaluation, space)
        with open_study(self.storage, identity, evaluation.seed) as study:
            self.study_ = study
            evaluation = replace(evaluation, seed=study.user_attrs["search"]["seed"])
            with closing(open_slots(evaluation)) as slots:
                loop = Loop(
                    study, space, slots, self.n_splits_, self.trials, self.timeout, self.prune,
                    evaluation.seed,
                )  # fmt: skip
                loop.run(self.verbose)
            self._take(loop)
        return evaluation

    def _take(self, loop: Loop) -> None:
        """Take the results of the loop, or raise an error where no trial is complete."""
        ended = recall(self.study_, loop.space)
        if not any(each.state == COMPLETE for each in ended):
            if loop.interrupted:
                raise KeyboardInterrupt("stopped before a trial was complete")
            raise DataError(
                f"none of {len(ended)} trials was completed; the first one failed with: "
                f"{ended[0].reason}; error_score='raise' shows where"
            )
        self.cv_results_ = tabulate(ended, self.n_splits_, self._format_results)
        self.best_index_ = int(np.nanargmax(self.cv_results_["mean_test_score"]))
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.execution_log_ = loop.log
        first = ended[0].seconds
        if len(ended) == 1 < self.trials and self.timeout is not None and first >= self.timeout:
            said = too_short(first, f"timeout={self.timeout:g}")
            warnings.warn(said, UserWarning, stacklevel=4)
        if failed := [each for each in ended if each.state == FAILED]:
            said = (
                f"{len(failed)} of {len(ended)} trials failed, the first one with: "
                f"{failed[0].reason}; see cv_results_['reason']"
            )
            warnings.warn(said, FitFailedWarning, stacklevel=4)
        if loop.interrupted and len(ended) < self.trials:
            said = (
                f"stopped by Ctrl-C after {len(ended)} of {self.trials} trials; the best so far "
                f"is {self.best_params_} with {self.best_score_:.5g}"
            )
            warnings.warn(said, UserWarning, stacklevel=4)

    def _refit(self, evaluation: Evaluation) -> None:
        """Fit the best candidate on all rows."""
        best = candidate_of(self.estimator, self.best_params_)
        start = time.perf_counter()
        try:
            evaluation.fit(best)
        except Exception as error:
            error.add_note(f"Search: while fitting best_params_={self.best_params_} on all rows")
            raise
        self.best_estimator_, self.refit_time_ = best, time.perf_counter() - start
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_
