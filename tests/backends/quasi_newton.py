"""What cuML's quasi-Newton solver computes, on NumPy: the value and the gradient of an objective.

By libcuml's sources (cpp/src/glm/qn): with weights the value is divided by their sum and the
gradient by the number of rows; the gradient of the squared hinge is half that of its value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Elementwise = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Loss(NamedTuple):
    """Of one row, by its target and its score."""

    value: Elementwise
    slope: Elementwise


def _sign(y: np.ndarray) -> np.ndarray:
    return 2 * y - 1


def _beyond(y: np.ndarray, z: np.ndarray, epsilon: float = 0.1) -> np.ndarray:
    return np.sign(z - y) * np.maximum(0, np.abs(z - y) - epsilon)


LOSSES = {
    "logistic": Loss(
        lambda y, z: np.logaddexp(0, -_sign(y) * z), lambda y, z: 1 / (1 + np.exp(-z)) - y
    ),
    "squared": Loss(lambda y, z: (z - y) ** 2 / 2, lambda y, z: z - y),
    "squared_hinge": Loss(
        lambda y, z: np.maximum(0, 1 - _sign(y) * z) ** 2,
        lambda y, z: np.where(_sign(y) * z <= 1, z - _sign(y), 0),
    ),
    "squared_epsilon_insensitive": Loss(
        lambda y, z: _beyond(y, z) ** 2, lambda y, z: 2 * _beyond(y, z)
    ),
}


class Objective(NamedTuple):
    """What is minimised; `l2` is of all columns but the last where that is `free`."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    loss: Loss
    l2: float
    free: bool

    def _penalty(self, at: np.ndarray) -> np.ndarray:
        return self.l2 * np.append(at[:-1], 0 if self.free else at[-1])

    def value(self, at: np.ndarray) -> float:
        lost = self.weights @ self.loss.value(self.y, self.X @ at)
        return float(lost / self.weights.sum() + self._penalty(at) @ at / 2)

    def gradient(self, at: np.ndarray) -> np.ndarray:
        slopes = self.weights * self.loss.slope(self.y, self.X @ at)
        return slopes @ self.X / len(self.X) + self._penalty(at)


class Linear:
    """A linear model of cuML's, as far as weights concern it."""

    loss: str
    penalized_intercept = False

    def __init__(self, **params: Any) -> None:
        self.params = params

    def set_params(self, **params: Any) -> Any:
        self.params |= params
        return self

    def get_params(self) -> dict[str, Any]:
        return dict(self.params)

    @classmethod
    def _params_from_cpu(cls, model: Any) -> dict[str, Any]:
        names = ("C", "class_weight", "loss", "tol")
        return {name: getattr(model, name) for name in names if hasattr(model, name)}

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: Any = None) -> Any:
        weights = np.ones(len(y)) * (1 if sample_weight is None else sample_weight)
        for label, weight in (self.params.get("class_weight") or {}).items():
            weights[y == label] *= weight
        table = np.column_stack([X.astype("float64"), np.ones(len(X))])
        name = self.params.get("loss", "logistic")
        l2 = 1 / (self.params["C"] * len(X))
        free = not self.params.get("penalized_intercept")
        of = Objective(table, y.astype("float64"), weights, LOSSES[name], l2, free)
        self.objective, self.coef_ = of, np.zeros(table.shape[1])
        return self


LogisticRegression = LinearSVC = LinearSVR = Linear
"""Stand for cuML's classes of these names."""
