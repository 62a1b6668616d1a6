"""Number of rows, minimum and maximum of columns; exact, and mergeable."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pipeline.table import frames
from pipeline.typing import Array


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
