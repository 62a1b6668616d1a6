"""The estimator that predicts, within an `Accelerated` and a `Pipeline`."""

from __future__ import annotations

from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline

from pipeline.estimator.accelerated import Accelerated
from pipeline.typing import Estimator


def last_step(estimator: Estimator) -> tuple[str, Estimator]:
    """Return what the names of its parameters begin with, and the estimator.

    Looks through `Accelerated`, the last step of a `Pipeline` and `TransformedTargetRegressor`.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    prefix : str
        Empty where the estimator is none of these.
    estimator : estimator

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> last_step(make_pipeline(Ridge()))
    ('ridge__', Ridge())
    """
    prefix = ""
    while True:
        name, inner = _inner(estimator)
        if inner is None:
            return prefix, estimator
        prefix, estimator = f"{prefix}{name}__", inner


def _inner(estimator: Estimator) -> tuple[str, Estimator | None]:
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return name, None if isinstance(last, str) else last
    if isinstance(estimator, Accelerated):
        return "estimator", estimator.estimator
    if isinstance(estimator, TransformedTargetRegressor):
        return "regressor", estimator.regressor
    return "", None
