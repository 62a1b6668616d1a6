"""scikit-learn's own estimators on CuPy arrays, where cuML has no such class.

They follow the array API standard, see scikit-learn's user guide, which asks for a variable of the
environment that makes SciPy follow it too. These estimators hand no array of the device to SciPy,
so the variable is set while they compute and not before Python starts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from threading import Lock
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, clone, is_classifier

from pipeline.backends.base import Backend, Model, Placement
from pipeline.backends.cuml.translations import one_of
from pipeline.backends.gpu_rules import RULES, public_name
from pipeline.errors import DataError, Reason, Unsupported
from pipeline.table import frames
from pipeline.typing import Array, Estimator, Params, Table, Target

SWITCH = "SCIPY_ARRAY_API"


class ArrayApiBackend(Backend):
    """Runs scikit-learn's own classes on CuPy arrays."""

    runner = "CuPy"
    sparse = False

    def place(self, estimator: Estimator, step: str, dtype: str = "float32") -> Model:
        """Return the estimator, placed on the GPU."""
        return ArrayApiModel(estimator, step)

    def describe(self, estimator: Estimator, step: str) -> Placement:
        """Return what runs an estimator."""
        reasons = []
        for name, values in RULES[public_name(estimator)].values.items():
            if not one_of(*values)(given := getattr(estimator, name)):
                why, known = f"{given!r} is not supported on CuPy", " or ".join(map(repr, values))
                instead = f"use {known}, or device='auto' to run it on the CPU"
                reasons.append(Reason(step, why, instead, name))
        if reasons:
            raise Unsupported(*reasons)
        return Placement(step, f"sklearn.{type(estimator).__name__} on CuPy", "cuda")


_LOCK = Lock()
_BEFORE: list[str | None] = []
"""What the variable was before each block, of all threads: "1" but for the first."""


@contextmanager
def dispatching() -> Iterator[None]:
    """Let scikit-learn compute on arrays other than NumPy's inside the block."""
    with _LOCK:
        _BEFORE.append(os.environ.get(SWITCH))
        os.environ[SWITCH] = "1"
    try:
        with config_context(array_api_dispatch=True):
            yield
    finally:
        with _LOCK:
            if (before := _BEFORE.pop()) is None:
                os.environ.pop(SWITCH, None)
            else:
                os.environ[SWITCH] = before


class ArrayApiModel(Model):
    """A scikit-learn estimator whose arrays are CuPy's."""

    sparse = False

    def __init__(self, estimator: BaseEstimator, step: str) -> None:
        super().__init__(estimator)
        self.step = step
        self.classes: np.ndarray | None = None

    def asked_for(self, dtype: str) -> None:
        """Learn from a matrix of a type."""
        self.dtype = dtype

    def fit(self, X: Table, y: Target, **params: Any) -> None:
        """Fit on a CuPy matrix; the labels of classes go to the device as their positions."""
        self._learn("fit", X, y, params)

    def fit_transform(self, X: Table, y: Target, **params: Any) -> Any:
        """Fit, and return the transformed training rows, on the device."""
        return self._learn("fit_transform", X, y, params)

    def fit_predict(self, X: Table, y: Target, **params: Any) -> Any:
        """Fit, and return the component of each training row, on the device."""
        return self._learn("fit_predict", X, y, params)

    def _learn(self, method: str, X: Table, y: Target, params: Params) -> Any:
        X = self.learnt_from(X)
        xp, name = frames.xp(X), type(self.estimator).__name__
        if bool(xp.any(xp.isnan(X))):
            why = f"{self.step}: {name} does not support missing values (NaN)"
            raise DataError(f"{why}; impute them in an earlier step")
        if np.ndim(y) == 2 and y.shape[1] > 1 and is_classifier(self.estimator):
            why = f"{name} supports one target on CuPy, but y has {y.shape[1]}"
            raise Unsupported(Reason(self.step, why, "fit one model per target"))
        if y is not None and is_classifier(self.estimator):
            self.classes, y = np.unique(y, return_inverse=True)
        device = frames.device_of(X)
        there = {
            name: value if value is None else frames.to_device(np.asarray(value), device)
            for name, value in {"y": y, **params}.items()
        }
        with dispatching():
            return getattr(super(), method)(X, **there)

    def call(self, method: str, X: Table, **params: Any) -> Any:
        """Return ``estimator.method(X)``, on the device; labels that are text on the host."""
        with dispatching():
            made = super().call(method, frames.matrix(self.taken(X), dtype=self.dtype), **params)
        if method != "predict" or self.classes is None:
            return made
        if self.classes.dtype.kind in "iufb":
            return frames.to_device(self.classes, frames.device_of(made))[made]
        return self.classes[frames.to_device(made, "cpu")]

    def to_sklearn(self) -> Any:
        """Return the estimator with NumPy's arrays in the place of CuPy's."""
        lifted = clone(self.estimator)
        vars(lifted).update(vars(_on_host(self.native)))
        lifted.set_params(**self.estimator.get_params(deep=False))
        if hasattr(lifted, "_base_loss"):
            lifted._base_loss = lifted._get_loss()  # the one for CuPy knows the module
        if self.classes is not None:
            lifted.classes_ = self.classes
        return lifted


def _on_host(value: Array) -> Any:
    """Return an array, or an estimator with all its arrays, on the host."""
    if isinstance(value, list):
        return [_on_host(each) for each in value]
    if not isinstance(value, BaseEstimator):
        return frames.to_device(value, "cpu")
    moved = copy(value)
    vars(moved).update({name: _on_host(held) for name, held in vars(value).items()})
    return moved
