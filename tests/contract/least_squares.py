"""How cuML solves least squares, on NumPy: by eigenvalues, in the type of the rows it is given.

By RAFT's sources (cpp/include/raft/linalg/detail/lstsq.cuh): what is below 1e-10 is not divided by.
Of more columns than rows cuML takes singular values (cpp/src/glm/ols.cuh).
"""

from __future__ import annotations

from typing import Any

import numpy as np

CUTOFF = 1e-10


def solve(
    X: np.ndarray, y: np.ndarray, weights: Any = None, *, intercept: bool = True
) -> tuple[np.ndarray, Any]:
    """Return the coefficients and the intercept, of one target or several."""
    y = y.astype(X.dtype)
    weights = np.ones(len(X), X.dtype) if weights is None else np.asarray(weights, X.dtype)
    centre = (np.average(X, 0, weights), np.average(y, 0, weights)) if intercept else (0, 0)
    root = np.sqrt(weights)[:, None]
    rows = (X - centre[0]) * root
    targets = (y - centre[1]).reshape(len(y), -1) * root
    if targets.shape[1] > 1 or X.shape[1] == 1:
        coefficients = _by_singular_values(rows, targets, 0)
    elif len(X) < X.shape[1]:
        coefficients = _by_singular_values(rows, targets, 1)
    else:
        coefficients = _by_eigenvalues(rows, targets)
    found = coefficients.T if y.ndim == 2 else coefficients.ravel()
    return found, centre[1] - centre[0] @ found.T if intercept else 0.0


def _by_eigenvalues(rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(rows.T @ rows)
    return (vectors * _inverse(values, 1)) @ vectors.T @ (rows.T @ targets)


def _by_singular_values(rows: np.ndarray, targets: np.ndarray, small: float) -> np.ndarray:
    left, values, right = np.linalg.svd(rows, full_matrices=False)
    return right.T @ (_inverse(values, small)[:, None] * (left.T @ targets))


def _inverse(values: np.ndarray, small: float) -> np.ndarray:
    large = np.abs(values) >= CUTOFF
    return np.where(large, 1 / np.where(large, values, 1), small).astype(values.dtype)
