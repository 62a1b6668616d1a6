"""The estimator that predicts, within an `Accelerated` and a `Pipeline`."""

from __future__ import annotations

from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline

from pipeline.estimator.accelerated import Accelerated
from pipeline.typing import Estimator


def last_step(estimator: Estimator) -> tuple[str, Estimator]:
    """Return what the names of its parameters begin with, and the estimator.

    Looks through `Accelerated`, the last step of a `Pipeline` and `TransformedTargetRegressor`.

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> last_step(make_pipeline(Ridge()))
    ('ridge__', Ridge())
    """
    inner: Estimator | None = None
    name = ""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = None if isinstance(last, str) else last
    elif isinstance(estimator, Accelerated):
        name, inner = "estimator", estimator.estimator
    elif isinstance(estimator, TransformedTargetRegressor):
        name, inner = "regressor", estimator.regressor
    if inner is None:
        return "", estimator
    prefix, found = last_step(inner)
    return f"{name}__{prefix}", found
