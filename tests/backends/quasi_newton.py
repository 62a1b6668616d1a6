"""cuML's quasi-Newton solver on NumPy: the value and the gradient that it computes, and its steps.

By libcuml's sources (cpp/src/glm/qn): with weights the value is divided by their sum and the
gradient by the number of rows; the gradient of the squared hinge is half that of its value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Elementwise = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Loss(NamedTuple):
    """Of one row, by its target and its score; `norm` is of a gradient."""

    value: Elementwise
    slope: Elementwise
    norm: Callable[[np.ndarray], float]


def _sign(y: np.ndarray) -> np.ndarray:
    return 2 * y - 1


def _half_squares(gradient: np.ndarray) -> float:
    return float(gradient @ gradient / 2)


def _beyond(y: np.ndarray, z: np.ndarray, epsilon: float = 0.1) -> np.ndarray:
    return np.sign(z - y) * np.maximum(0, np.abs(z - y) - epsilon)


LOSSES = {
    "logistic": Loss(
        lambda y, z: np.logaddexp(0, -_sign(y) * z),
        lambda y, z: 1 / (1 + np.exp(-z)) - y,
        lambda gradient: float(np.abs(gradient).max()),
    ),
    "squared": Loss(lambda y, z: (z - y) ** 2 / 2, lambda y, z: z - y, _half_squares),
    "squared_hinge": Loss(
        lambda y, z: np.maximum(0, 1 - _sign(y) * z) ** 2,
        lambda y, z: np.where(_sign(y) * z <= 1, z - _sign(y), 0),
        _half_squares,
    ),
    "squared_epsilon_insensitive": Loss(
        lambda y, z: _beyond(y, z) ** 2, lambda y, z: 2 * _beyond(y, z), _half_squares
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


def minimum(of: Objective, tol: float, max_iter: int = 1000) -> np.ndarray:
    """Return where L-BFGS with a memory of 5 and Armijo's rule stops, from 0 on."""
    at = np.zeros(of.X.shape[1])
    value, gradient = of.value(at), of.gradient(at)
    steps: list[np.ndarray] = []
    turns: list[np.ndarray] = []
    seen = [value]
    length = 1 / np.linalg.norm(gradient)
    for _ in range(max_iter):
        size = max(value, tol)
        if of.loss.norm(gradient) <= tol * size:
            return at
        if len(seen) > 10 and abs(seen[-11] - value) <= tol / 100 * size:
            return at
        direction = _direction(gradient, steps, turns)
        found = _search(of, at, value, gradient @ direction, direction, length, tol / 1000)
        if found is None:
            return at
        new = of.gradient(found)
        steps, turns = [*steps, found - at][-5:], [*turns, new - gradient][-5:]
        at, gradient, value, length = found, new, of.value(found), 1.0
        seen.append(value)
    return at


def _direction(
    gradient: np.ndarray, steps: list[np.ndarray], turns: list[np.ndarray]
) -> np.ndarray:
    pairs = [(s, t) for s, t in zip(steps, turns, strict=True) if s @ t > 1e-16 * (t @ t)]
    made, shares = -gradient, []
    for step, turn in reversed(pairs):
        shares.append(step @ made / (step @ turn))
        made = made - shares[-1] * turn
    if pairs:
        step, turn = pairs[-1]
        made = made * (step @ turn) / (turn @ turn)
    for (step, turn), share in zip(pairs, reversed(shares), strict=True):
        made = made + (share - turn @ made / (step @ turn)) * step
    return made


def _search(
    of: Objective,
    at: np.ndarray,
    value: float,
    slope: float,
    direction: np.ndarray,
    length: float,
    enough: float,
) -> np.ndarray | None:
    """Return the first of ever shorter steps that lowers the value as its slope promises."""
    for _ in range(50):
        if of.value(at + length * direction) <= value + enough * length * slope:
            return at + length * direction
        length /= 2
    return None


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
        self.coef_ = minimum(of, self.params["tol"])
        return self


LogisticRegression = LinearSVC = LinearSVR = Linear
"""Stand for cuML's classes of these names."""
