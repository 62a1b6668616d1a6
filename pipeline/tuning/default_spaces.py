"""The spaces of `space="default"`, with where each range comes from.

The letters beside the spaces are the repositories in which the ranges were read:

- A: auto-sklearn (Feurer et al. 2015)
- B: mlr3tuningspaces (Bischl et al. 2023)
- G: tabular-benchmark (Grinsztajn, Oyallon, Varoquaux 2022)
- H: hyperopt-sklearn (Komer, Bergstra, Eliasmith 2014)
- T: TabRepo (Salinas, Erickson 2024)

Choices of this project ("own"):

- The number of trees or iterations is in no space: more of them seldom predict worse and always
  cost more, so it stays as the estimator has it.
- A parameter that is usually 0 and has a logarithmic range is left out (``gamma`` and ``reg_alpha``
  of XGBoost, ``l2_regularization``), so that the default can be the first candidate.
- Parameters that others rule out (``bootstrap``) or that make fits much longer (``criterion``) are
  left out too.
- ``C`` of `LogisticRegression` has the range of the penalty of glmnet, whose inverse it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils._param_validation import Interval, RealNotInt

from pipeline.errors import ConfigError
from pipeline.model.accelerated import Accelerated
from pipeline.optional import load
from pipeline.typing import Estimator


class Range(NamedTuple):
    """Numbers between two ends; integers if the ends are integers."""

    low: float
    high: float
    log: bool = False


_FRACTIONS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
_WIDTHS = [(32,), (64,), (100,), (128,), (256,), (64, 64), (128, 128), (256, 256)]
_SVM = {
    "C": Range(0.03125, 1e3, log=True),
    "gamma": Range(3.0517578125e-05, 8.0, log=True),
}

SPACES: Mapping[str, Mapping[str, Range | Sequence[Any]]] = {
    # B
    "LogisticRegression LinearSVC LinearSVR": {"C": Range(1e-4, 1e4, log=True)},
    # H
    "Ridge RidgeClassifier": {"alpha": Range(1e-3, 1e3, log=True)},
    # B
    "Lasso": {"alpha": Range(1e-4, 1e4, log=True)},
    # B; own: `l1_ratio` from 0.01
    "ElasticNet": {"alpha": Range(1e-4, 1e4, log=True), "l1_ratio": Range(0.01, 1.0)},
    # A
    "SGDClassifier SGDRegressor": {
        "alpha": Range(1e-7, 1e-1, log=True),
        "penalty": ["l2", "l1", "elasticnet"],
        "average": [False, True],
    },
    # A; own: `C` to 1000
    "SVC": _SVM,
    "SVR": {**_SVM, "epsilon": Range(1e-3, 1.0, log=True)},
    # A
    "KNeighborsClassifier KNeighborsRegressor": {
        "n_neighbors": Range(1, 100, log=True),
        "weights": ["uniform", "distance"],
        "p": [1, 2],
    },
    # own
    "GaussianNB": {"var_smoothing": Range(1e-11, 1.0, log=True)},
    "MultinomialNB": {"alpha": Range(1e-3, 10.0, log=True)},
    # B
    "DecisionTreeClassifier DecisionTreeRegressor": {
        "min_samples_split": Range(2, 128, log=True),
        "min_samples_leaf": Range(1, 64, log=True),
    },
    # G; T: the same for both kinds
    "RandomForestClassifier RandomForestRegressor ExtraTreesClassifier ExtraTreesRegressor": {
        "min_samples_leaf": Range(1, 50, log=True),
        "max_features": ["sqrt", "log2", *_FRACTIONS],
    },
    # G; A: `learning_rate`
    "GradientBoostingClassifier GradientBoostingRegressor": {
        "learning_rate": Range(0.01, 1.0, log=True),
        "max_depth": Range(2, 5),
        "min_samples_leaf": Range(1, 50, log=True),
        "subsample": Range(0.5, 1.0),
    },
    # A
    "HistGradientBoostingClassifier HistGradientBoostingRegressor": {
        "learning_rate": Range(0.01, 1.0, log=True),
        "max_leaf_nodes": Range(3, 2047, log=True),
        "min_samples_leaf": Range(1, 200, log=True),
    },
    # G; T: low ends of `learning_rate`, `min_child_weight`; B: `reg_lambda`
    "XGBClassifier XGBRegressor": {
        "learning_rate": Range(5e-3, 0.7, log=True),
        "max_depth": Range(1, 11),
        "min_child_weight": Range(0.5, 100.0, log=True),
        "subsample": Range(0.5, 1.0),
        "colsample_bytree": Range(0.5, 1.0),
        "colsample_bylevel": Range(0.5, 1.0),
        "reg_lambda": Range(1e-3, 1e3, log=True),
    },
    # A; own: which widths
    "MLPClassifier MLPRegressor": {
        "hidden_layer_sizes": _WIDTHS,
        "activation": ["relu", "tanh"],
        "alpha": Range(1e-7, 1e-1, log=True),
        "learning_rate_init": Range(1e-4, 0.5, log=True),
    },
}
"""Estimators of scikit-learn and XGBoost -> what each parameter is drawn from."""

_UNSET = {
    "learning_rate": 0.3,
    "max_depth": 6,
    "min_child_weight": 1.0,
    "subsample": 1.0,
    "colsample_bytree": 1.0,
    "colsample_bylevel": 1.0,
    "colsample_bynode": 1.0,
    "gamma": 0.0,
    "reg_alpha": 0.0,
    "reg_lambda": 1.0,
    "n_estimators": 100,
    "max_bin": 256,
    "max_leaves": 0,
}
"""What XGBoost takes for None."""
_SHARES = {"subsample", "colsample_bytree", "colsample_bylevel", "colsample_bynode"}
_LEAST = {"n_estimators": 1, "max_depth": 1, "max_bin": 2}


def last_step(estimator: Estimator) -> tuple[str, Estimator]:
    """Return the last step of an estimator, after the prefix of its parameters.

    Looks through `Accelerated`, the last step of a `Pipeline` and `TransformedTargetRegressor`.

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> last_step(make_pipeline(Ridge()))
    ('ridge__', Ridge())
    """
    name, inner = "", None
    if isinstance(estimator, Pipeline):
        name, inner = estimator.steps[-1]
    elif isinstance(estimator, Accelerated):
        name, inner = "estimator", estimator.estimator
    elif isinstance(estimator, TransformedTargetRegressor):
        name, inner = "regressor", estimator.regressor
    if inner is None or isinstance(inner, str):
        return "", estimator
    prefix, found = last_step(inner)
    return f"{name}__{prefix}", found


def default_space(estimator: Estimator) -> dict[str, Any]:
    """Return the default space of the last step of an estimator.

    Parameters
    ----------
    estimator : estimator
        Its `last_step` must be in `SPACES`.

    Returns
    -------
    space : dict of str to distribution or list
        The `space` of a `Search`; further parameters can be added.

    Raises
    ------
    ConfigError
        There is no default space for the class of the last step.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> default_space(Ridge())
    {'alpha': FloatDistribution(high=1000.0, log=True, low=0.001, step=None)}
    """
    prefix, last = last_step(estimator)
    module, name = type(last).__module__, type(last).__name__
    of_library = module.partition(".")[0] in ("sklearn", "xgboost")
    of_trees = getattr(last, "booster", None) != "gblinear"
    for names, drawn in SPACES.items():
        if of_library and of_trees and name in names.split():
            return {f"{prefix}{key}": _distribution(each) for key, each in drawn.items()}
    said = name if of_library else f"{module}.{name}"
    known = ", ".join(" ".join(SPACES).split())
    raise ConfigError(
        f"{said} has no default space; pass space={{'{prefix}PARAMETER': [...]}} with the values "
        f"to draw from; there are default spaces for {known}"
    )


def unset(estimator: Estimator, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what XGBoost takes for the parameters of the last step that are None."""
    prefix, last = last_step(estimator)
    if (
        type(last).__name__ not in ("XGBClassifier", "XGBRegressor", "XGBRanker")
        or last.booster == "gblinear"
    ):
        return {}
    names = {f"{prefix}{name}": value for name, value in _UNSET.items()}
    return {name: value for name, value in names.items() if params.get(name, 0) is None}


def is_limit(estimator: Estimator, name: str, end: float, *, whole: bool, high: bool) -> bool:
    """Return whether no value of a parameter beyond the end of a range is valid.

    As scikit-learn's estimators declare it, and XGBoost documents it.

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> is_limit(Ridge(), "alpha", 0.0, whole=False, high=False)
    True
    >>> is_limit(Ridge(), "alpha", 10.0, whole=False, high=True)
    False
    >>> is_limit(RandomForestClassifier(), "max_features", 1.0, whole=False, high=True)
    True
    """
    if type(estimator).__module__.startswith("xgboost"):
        limit = 1.0 if name in _SHARES else np.inf
        return end >= limit if high else name in _UNSET and end <= _LEAST.get(name, 0)
    beyond = np.nextafter(end, np.inf if high else -np.inf)
    beyond = end + (1 if high else -1) if whole else beyond
    kinds = (Integral, Real) if whole else (Real, RealNotInt)
    known = getattr(estimator, "_parameter_constraints", {}).get(name, ())
    declared = [each for each in known if isinstance(each, Interval) and each.type in kinds]
    return bool(declared) and not any(beyond in each for each in declared)


def _distribution(each: Range | Sequence[Any]) -> Any:
    if not isinstance(each, Range):
        return list(each)
    whole = isinstance(each.low, int)
    kind = "IntDistribution" if whole else "FloatDistribution"
    return load(f"optuna.distributions.{kind}")(each.low, each.high, log=each.log)
