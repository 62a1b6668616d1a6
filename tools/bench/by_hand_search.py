"""Searches as people write them: a loop around Optuna, and scikit-learn's halving."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import loguniform, randint, uniform
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import HalvingRandomSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import Trial


def optuna_by_hand(
    pipeline: Pipeline, X: pd.DataFrame, y: np.ndarray, folds: StratifiedKFold, seconds: float,
    seed: int,
) -> Study:  # fmt: skip
    """Let Optuna draw candidates, each judged by `cross_val_score`, until the time is over.

    Parameters
    ----------
    pipeline : Pipeline
        Unfitted, with a step ``xgbclassifier``.
    X : DataFrame of shape (n_rows, n_columns)
    y : ndarray of shape (n_rows,)
    folds : StratifiedKFold
    seconds : float
        After which no further candidate is drawn.
    seed : int
        Of the sampler.
    """
    import optuna

    def objective(trial: Trial) -> float:
        model = clone(pipeline).set_params(
            xgbclassifier__learning_rate=trial.suggest_float("learning_rate", 0.01, 0.3, log=True),
            xgbclassifier__max_depth=trial.suggest_int("max_depth", 3, 10),
            xgbclassifier__min_child_weight=trial.suggest_float(
                "min_child_weight", 0.5, 50, log=True
            ),
            xgbclassifier__subsample=trial.suggest_float("subsample", 0.5, 1),
            xgbclassifier__colsample_bytree=trial.suggest_float("colsample_bytree", 0.3, 1),
            xgbclassifier__reg_lambda=trial.suggest_float("reg_lambda", 0.01, 100, log=True),
        )
        return float(cross_val_score(model, X, y, cv=folds, scoring="roc_auc").mean())

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(objective, timeout=seconds)
    return study


def halving(
    pipeline: Pipeline, X: pd.DataFrame, y: np.ndarray, folds: StratifiedKFold, candidates: int,
    seed: int,
) -> HalvingRandomSearchCV:  # fmt: skip
    """Judge candidates on few rows, and a third of them on three times as many, up to all rows.

    Parameters
    ----------
    pipeline, X, y, folds, seed
        As in `optuna_by_hand`.
    candidates : int
        Of the first round.
    """
    space: dict[str, Any] = {
        "xgbclassifier__learning_rate": loguniform(0.01, 0.3),
        "xgbclassifier__max_depth": randint(3, 11),
        "xgbclassifier__min_child_weight": loguniform(0.5, 50),
        "xgbclassifier__subsample": uniform(0.5, 0.5),
        "xgbclassifier__colsample_bytree": uniform(0.3, 0.7),
        "xgbclassifier__reg_lambda": loguniform(0.01, 100),
    }
    search = HalvingRandomSearchCV(
        pipeline, space, n_candidates=candidates, factor=3, min_resources="exhaust",
        scoring="roc_auc", cv=folds, refit=False, random_state=seed,
    )  # fmt: skip
    return search.fit(X, y)
