"""What fits of XGBoost on the same rows share: the matrix that they train on, and their trees.

The private method by which its classes make a matrix is the one place to come between; a test holds
it for each version that is supported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pipeline.backends.identity import identify_if_known
from pipeline.backends.xgboost.checkpoints import RANDOM, hash_rows
from pipeline.data import frames
from pipeline.optional import load
from pipeline.system.cache import Drawer
from pipeline.typing import Array, Params, Table, Target

if TYPE_CHECKING:
    from xgboost import Booster, XGBModel

OF_A_MATRIX = (
    "booster",
    "device",
    "enable_categorical",
    "feature_types",
    "feature_weights",
    "max_bin",
    "missing",
    "tree_method",
)
OF_ROWS = ("base_margin", "feature_weights", "group", "qid", "sample_weight")
"""Parameters of `fit` that are part of a matrix."""
OF_A_RUN = ("n_estimators", "n_jobs", "verbosity")
"""Parameters that make no difference to a tree."""
ALLOWED = {"sample_weight", "verbose"}
"""Parameters of `fit` with which trees are shared."""


class Grown(NamedTuple):
    """Trees of a fit."""

    booster: Booster
    rounds: int


@contextmanager
def matrices(estimator: XGBModel, drawer: Drawer | None, params: Params) -> Iterator[None]:
    """Train in the block on the matrix of another fit, where there is one of the same rows.

    Parameters
    ----------
    estimator : XGBModel
    drawer : Drawer or None
        That of the rows and the target; without one, nothing is shared.
    params : dict
        Those of `fit`.
    """
    settings = drawer and identify_if_known([getattr(estimator, name) for name in OF_A_MATRIX])
    if drawer is None or settings is None:
        yield
        return
    own = estimator._create_dmatrix
    of_rows = {name: _array(params[name]) for name in OF_ROWS if params.get(name) is not None}
    key = "matrix", settings, tuple(of_rows), hash_rows(*of_rows.values())

    def create(ref: Any, *, data: Table, **given: Any) -> Any:
        make = partial(own, ref, data=data, **given)
        # What is judged by another matrix has its bins, and other rows.
        return make() if ref is not None else drawer.make(key, make, _size(data))

    estimator._create_dmatrix = create
    try:
        yield
    finally:
        del estimator._create_dmatrix


def _array(values: Array) -> np.ndarray:
    return np.asarray(frames.to_device(values, "cpu"))


def _size(data: Table) -> Callable[[Any], int]:
    return lambda made: frames.nbytes(data)


def grow(
    estimator: XGBModel, drawer: Drawer, fit: Callable[..., None], y: Target, params: Params
) -> Booster | None:
    """Train, but for the trees that another fit has trained with the same parameters.

    Parameters
    ----------
    estimator : XGBModel
    drawer : Drawer
    fit : callable
        Fits the estimator, with further parameters.
    y : numpy.ndarray
    params : dict
        Those of `fit`.

    Returns
    -------
    Booster or None
        All trees, where there is nothing to train.
    """
    own = {n: v for n, v in estimator.get_params().items() if n not in OF_A_RUN}
    weights = params.get("sample_weight")
    weighed = None if weights is None else _array(weights)
    key = identify_if_known(["trees", type(estimator), own]), hash_rows(y, weighed)
    if key[0] is None:
        fit()
        return None
    known: Grown | None = drawer.get(key)
    wanted = estimator.get_num_boosting_rounds()
    if known is not None and known.rounds >= wanted:
        return known.booster[:wanted]
    if known is None or _draws(estimator):
        fit()
    else:
        asked = estimator.n_estimators
        estimator.set_params(n_estimators=wanted - known.rounds)
        try:
            fit(xgb_model=known.booster)
        finally:
            estimator.set_params(n_estimators=asked)
    booster = estimator.get_booster()
    drawer.put(key, Grown(booster.copy(), wanted), len(booster.save_raw("ubj")))
    return None


def may_boost_on(estimator: XGBModel, params: Params) -> bool:
    """Return whether the trees of an estimator are the first ones of more."""
    given = {name for name, value in params.items() if value is not None}
    boosts = type(estimator) in (load("xgboost.XGBClassifier"), load("xgboost.XGBRegressor"))
    stops = estimator.early_stopping_rounds or estimator.callbacks
    adds = estimator.booster in (None, "gbtree") and not getattr(estimator, "kwargs", None)
    own = callable(estimator.objective) or callable(estimator.eval_metric)
    return bool(boosts and adds and not own and not stops and given <= ALLOWED)


def _draws(estimator: XGBModel) -> bool:
    """Return whether later trees depend on the numbers that were drawn for the first ones."""
    return any(getattr(estimator, name) not in (None, 1, 1.0) for name in RANDOM)
