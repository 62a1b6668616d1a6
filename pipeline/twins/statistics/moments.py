"""Moments of columns, and their bounds, mergeable.

Counts, means and squares are merged as by Chan, Golub and LeVeque, "Updating Formulae and a
Pairwise Algorithm for Computing Sample Variances" (1979). A mean is kept as an origin and the
little that it differs from it, so that means far from zero differ exactly: the result does not
depend on how the rows were cut, to rounding.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from pipeline.blocks.block import fill_missing
from pipeline.table import frames
from pipeline.typing import Array


class Moments(NamedTuple):
    """Statistics of the values that are not missing, one entry a column, on the host."""

    rows: np.ndarray
    """The number of rows, or the sum of their weights."""
    origin: np.ndarray
    rest: np.ndarray
    """Origin and rest add up to the mean; of one block it is the origin, as scikit-learn's is."""
    squares: np.ndarray
    """Sum of squared deviations from the mean."""
    n_blocks: int = 1
    """How many blocks were merged."""

    @property
    def mean(self) -> np.ndarray:
        """Mean; 0 for a column without values."""
        return self.origin if self.n_blocks == 1 else self.origin + self.rest

    @property
    def variance(self) -> np.ndarray:
        """Population variance; NaN for a column without values."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.squares / self.rows

    @property
    def constant(self) -> np.ndarray:
        """Which columns are constant to rounding.

        The bound is scikit-learn's, from Chan, Golub and LeVeque (1983).
        """
        eps, variance = np.finfo("float64").eps, self.variance
        bound = self.rows * eps * variance + (self.rows * self.mean * eps) ** 2
        return variance <= bound

    def merge(self, other: Moments) -> Moments:
        """Return the moments of both sets of rows together.

        >>> both = moments(np.array([[1.0], [2.0]]), np).merge(moments(np.array([[6.0]]), np))
        >>> both.rows.item(), both.mean.item(), both.squares.item()
        (3.0, 3.0, 14.0)
        """
        step = (other.origin - self.origin) + (other.rest - self.rest)
        both, empty = self.rows + other.rows, self.rows == 0
        share = other.rows / (both + (both == 0))
        return Moments(
            both,
            np.where(empty, other.origin, self.origin),
            np.where(empty, other.rest, self.rest + step * share),
            self.squares + other.squares + step * step * self.rows * share,
            self.n_blocks + other.n_blocks,
        )


def moments(values: Array, xp: ModuleType, weights: Array = None) -> Moments:
    """Return the moments of a matrix with NaN for missing, shape (n_rows, n_columns).

    Where rows are weighted, their number is the sum of the weights.
    """
    # CuPy makes arrays in C order, and adds along their last axis much faster than across it.
    values = values.T

    def total(array: Array) -> Any:
        weighted = array if weights is None else array * weights
        return weighted.sum(axis=-1, dtype="float64")

    missing = xp.isnan(values)
    complete = xp is np and weights is None and not missing.any()
    count = np.full(len(values), float(values.shape[1])) if complete else total(~missing)
    known = count + (count == 0)
    origin = total(fill_missing(values, missing, 0.0, xp)) / known
    off = fill_missing(values - origin[:, None], missing, 0.0, xp)
    shift = total(off)
    rest = shift / known
    squares = total(off * off)
    squares -= xp.where(xp.isinf(squares), 0.0, shift * rest)
    squares *= squares * count > 0  # Weights may be negative.
    return Moments(*frames.to_host(xp.stack([count, origin, rest, squares])))


class MinMax(NamedTuple):
    """Bounds of the values that are not missing, one entry a column, on the host."""

    n_rows: int
    """Rows seen, missing values included."""
    low: np.ndarray
    high: np.ndarray
    """Least and greatest value in the type of the column; inf and -inf where there is none."""

    @property
    def empty(self) -> np.ndarray:
        """Which columns have no values, shape (n_columns,)."""
        return self.low > self.high

    def merge(self, other: MinMax) -> MinMax:
        """Return the bounds of both sets of rows together."""
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return MinMax(self.n_rows + other.n_rows, low, high)


def min_max(values: Array) -> MinMax:
    """Return the bounds of a matrix with NaN for missing, shape (n_rows, n_columns).

    >>> min_max(np.array([[1.0, np.nan], [4.0, np.nan]]))
    MinMax(n_rows=2, low=array([ 1., inf]), high=array([  4., -inf]))
    """
    xp, columns = frames.xp(values), values.T  # as in `moments`
    if columns.dtype.kind == "f":
        missing = xp.isnan(columns)
        low = xp.where(missing, np.inf, columns).min(axis=-1)
        high = xp.where(missing, -np.inf, columns).max(axis=-1)
    else:
        low, high = columns.min(axis=-1), columns.max(axis=-1)
    return MinMax(len(values), *frames.to_host(xp.stack([low, high])))
