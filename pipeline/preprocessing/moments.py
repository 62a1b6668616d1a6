"""Count, mean and sum of squared deviations per column, mergeable.

Merging follows Chan, Golub and LeVeque, "Updating Formulae and a Pairwise
Algorithm for Computing Sample Variances" (1979): no cancellation, and the
result does not depend on how the rows were cut, to rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pipeline import frames


class Moments(NamedTuple):
    """Statistics of the values that are not missing, one entry a column, on the host."""

    rows: np.ndarray
    mean: np.ndarray
    squares: np.ndarray
    """Sum of squared deviations from the mean."""

    @property
    def variance(self) -> np.ndarray:
        """Population variance; NaN for a column without values."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.squares / self.rows


def moments(values: Any, xp: Any) -> Moments:
    """Return the moments of a matrix with NaN for missing, shape (n_rows, n_columns)."""
    known = ~xp.isnan(values)
    count = known.sum(axis=0).astype("float64")
    mean = xp.where(known, values, 0.0).sum(axis=0, dtype="float64") / xp.maximum(count, 1)
    off = xp.where(known, values - mean, 0.0)
    # What rounding left in the mean; without it a small variance beside a large mean is lost.
    rest = off.sum(axis=0) / xp.maximum(count, 1)
    squares = xp.maximum((off * off).sum(axis=0) - count * rest * rest, 0.0)
    return Moments(*frames.to_host(xp.stack([count, mean + rest, squares])))


def merge(a: Moments, b: Moments) -> Moments:
    """Return the moments of both sets of rows together.

    >>> both = merge(moments(np.array([[1.0], [2.0]]), np), moments(np.array([[6.0]]), np))
    >>> both.rows.item(), both.mean.item(), both.squares.item()
    (3.0, 3.0, 14.0)
    """
    count = a.rows + b.rows
    share = b.rows / np.maximum(count, 1)
    step = b.mean - a.mean
    squares = a.squares + b.squares + step**2 * a.rows * share
    return Moments(count, a.mean + step * share, squares)
