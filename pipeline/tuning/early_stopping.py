"""The rows on which XGBoost's early stopping is evaluated: some of the training rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, StratifiedShuffleSplit
from sklearn.pipeline import Pipeline

from pipeline.errors import ConfigError, DataError
from pipeline.model.accelerated import Accelerated
from pipeline.model.routing import WEIGHTS, routes
from pipeline.tuning.default_spaces import last_step
from pipeline.typing import Array, Estimator, Table, Target

NAME = "early_stopping_rounds"


def stops_early(model: Estimator) -> bool:
    """Return whether an estimator needs rows for early stopping.

    >>> from xgboost import XGBClassifier
    >>> stops_early(XGBClassifier()), stops_early(XGBClassifier(early_stopping_rounds=10))
    (False, True)
    """
    return bool(getattr(last_step(model)[1], NAME, None))


def require_able(estimator: Estimator, drawn: Collection[str]) -> None:
    """Reject an estimator that stops early, or may, but cannot be given rows for it.

    The steps before the last would not prepare these rows. `drawn` are the names of the parameters
    that differ between candidates.
    """
    prefix, last = last_step(estimator)
    inner = estimator.estimator if isinstance(estimator, Accelerated) else estimator
    within = inner is not estimator and isinstance(inner, Pipeline)
    able = inner is last or (within and inner.steps[-1][1] is last)
    if not able and (stops_early(estimator) or (prefix + NAME in drawn and hasattr(last, NAME))):
        raise ConfigError(
            f"{prefix}{NAME}: a {type(inner).__name__} does not transform the rows that early "
            f"stopping is evaluated on; search over Accelerated(Pipeline([..., "
            f"{type(last).__name__}(...)])), which does, or set {NAME}=None"
        )


def hold_out(
    model: Estimator,
    positions: np.ndarray,
    y: Target,
    *,
    fraction: float,
    groups: Array,
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that a model learns from, and those for early stopping.

    Both are among the rows at `positions`; `y` and `groups` are of all rows. The `fraction` is of
    complete groups, if there are any; if the `folds` are in the order of time, the last rows are
    for early stopping.
    """
    n_judging = round(fraction * len(positions))
    if not 0 < n_judging < len(positions):
        raise DataError(
            f"validation_fraction={fraction} of {len(positions)} rows leaves {n_judging} rows for "
            "early stopping; pass another fraction"
        )
    if all(train.max() < test.min() for train, test in folds):
        return positions[:-n_judging], positions[-n_judging:]
    own = None if groups is None else np.asarray(groups)[positions]
    if own is not None and len(np.unique(own)) < 2:
        raise DataError(f"{NAME}: all rows of a fold are in one group; set {NAME}=None")
    labels = np.asarray(y)[positions] if is_classifier(model) else None
    if own is not None:
        splitter: Any = GroupShuffleSplit(1, test_size=fraction, random_state=seed)
    elif labels is not None and labels.ndim == 1 and _can_stratify(labels, n_judging):
        splitter = StratifiedShuffleSplit(1, test_size=n_judging, random_state=seed)
    else:
        splitter = ShuffleSplit(1, test_size=n_judging, random_state=seed)
    taught, judging = next(splitter.split(positions, labels, own))
    return positions[np.sort(taught)], positions[np.sort(judging)]


def _can_stratify(labels: np.ndarray, n_judging: int) -> bool:
    counts = np.unique(labels, return_counts=True)[1]
    return bool(counts.min() >= 2 and len(counts) <= min(n_judging, len(labels) - n_judging))


def rows_to_judge(
    model: Estimator, X: Table, y: Target, params: Mapping[str, Any]
) -> dict[str, Any]:
    """Return parameters of `fit` for early stopping, from rows and their `params`.

    What the caller gives itself is left out. Where metadata are routed, the model asks for them.
    """
    more: dict[str, Any] = {"eval_set": [(X, y)], "verbose": False}
    for name, value in params.items():
        if name.rpartition("__")[2] == WEIGHTS:
            more[f"{name}_eval_set"] = [value]
    own = {name: value for name, value in more.items() if name not in params}
    if routes():
        bare = {name.rpartition("__")[2] for name in own}
        last_step(model)[1].set_fit_request(**dict.fromkeys(bare, True))
    return own
