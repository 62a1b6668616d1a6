"""On the CPU an estimator is its own implementation."""

from __future__ import annotations

from pipeline.backends.base import Backend, HostModel, Model, Placement
from pipeline.backends.xgboost.xgboost_model import XGBoostModel
from pipeline.typing import Estimator


class HostBackend(Backend):
    """Runs every estimator itself, with its own types."""

    runner = "scikit-learn"

    def place(self, estimator: Estimator, step: str, dtype: str = "float32") -> Model:
        """Return the estimator, placed on the CPU."""
        return XGBoostModel(estimator, "cpu") if is_xgboost(estimator) else HostModel(estimator)

    def describe(self, estimator: Estimator, step: str) -> Placement:
        """Return what runs an estimator."""
        asked = getattr(estimator, "device", None)
        replaced = asked not in (None, "cpu") and is_xgboost(estimator)
        note = f"the estimator's device={asked!r} is replaced" if replaced else ""
        package = type(estimator).__module__.partition(".")[0]
        return Placement(step, f"{package}.{type(estimator).__name__}", "cpu", note)


HOST = HostBackend()

_BY_ROW = (
    *("sklearn.cluster", "sklearn.ensemble", "sklearn.neighbors", "sklearn.svm", "sklearn.tree"),
    *("sklearn.linear_model._logistic", "sklearn.linear_model._stochastic_gradient", "xgboost"),
)
"""Modules of estimators that read rows one by one, and make a copy of a matrix by column."""


def host_order(estimator: Estimator) -> str:
    """Return the order of the matrix that an estimator reads soonest on the CPU.

    "A" is that of the table: a matrix of a frame's numbers lies by column, as scikit-learn's does.

    >>> from sklearn.linear_model import LogisticRegression, Ridge
    >>> host_order(Ridge()), host_order(LogisticRegression())
    ('A', 'C')
    """
    return "C" if type(estimator).__module__.startswith(_BY_ROW) else "A"


def is_xgboost(estimator: Estimator) -> bool:
    """Return whether an estimator is one of XGBoost's own classes.

    >>> is_xgboost(object())
    False
    """
    return type(estimator).__module__.partition(".")[0] == "xgboost"
