"""scikit-learn's dummies, which learn from the target alone: no row leaves the device for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from pipeline.backends.base import Backend, HostModel, Model, Placement
from pipeline.typing import Estimator, Table, Target

DUMMIES = (DummyClassifier, DummyRegressor)
NOTE = "reads no rows, which stay on the device; the target is on the host"


class DummyBackend(Backend):
    """Runs scikit-learn's own class on the shape of the rows."""

    def place(self, estimator: Estimator, step: str, dtype: str = "float32") -> Model:
        """Return the estimator, which is given no rows."""
        return Dummy(estimator)

    def describe(self, estimator: Estimator, step: str) -> Placement:
        """Return what runs an estimator."""
        return Placement(step, f"sklearn.{type(estimator).__name__}", "cuda", NOTE)


DUMMY_BACKEND = DummyBackend()


class Dummy(HostModel):
    """A dummy on rows of which it knows how many there are."""

    def fit(self, X: Table, y: Target, **params: Any) -> None:
        """Fit on the target."""
        super().fit(_shaped(X), y, **params)

    def call(self, method: str, X: Table, **params: Any) -> Any:
        """Return ``estimator.method(X)``, on the host."""
        return super().call(method, _shaped(X), **params)


def _shaped(X: Table) -> np.ndarray:
    """Return zeros in the shape of rows, which take no memory."""
    return np.broadcast_to(np.float32(0), X.shape)
