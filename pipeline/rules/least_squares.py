"""The matrix of a linear regression, of a size at which cuML tells columns from their rounding.

cuML takes what is below 1e-10 for nothing, whatever the size of the rows: of redundant columns, as
two encoders make, rounding stays above it in float32 always, and in float64 from about a million
rows on. In float64 and of the right size 1e-10 is just above the rounding.
"""

from __future__ import annotations

import math
from typing import Any

from pipeline import frames

CUTOFF = 1e-10
"""Of cuML: of eigenvalues, or of singular values where there are several targets or one column."""


def sized(
    X: Any, weights: Any = None, *, centred: bool = True, one_target: bool = True
) -> tuple[Any, float]:
    """Return rows in float64, column by column, and the factor that they were multiplied by.

    >>> import numpy as np
    >>> made, factor = sized(np.float32([[1, 2], [3, 4]]))
    >>> made.dtype.name, bool(np.allclose(made / factor, [[1, 2], [3, 4]]))
    ('float64', True)
    """
    made = X.astype("float64", order="F")
    n_rows, n_columns = made.shape
    rounding = 10 * 2.0**-52 * max(n_columns, math.sqrt(n_rows))
    largest = n_rows * _squares(made, centred) * (1 if weights is None else max(weights))
    if not 0 < largest < math.inf:
        return made, 1.0
    factor = CUTOFF / (rounding * math.sqrt(largest))
    if one_target and n_columns > 1:  # by eigenvalues, which are squares
        factor = math.sqrt(CUTOFF / (rounding * largest))
    made *= factor
    return made, factor


def _squares(X: Any, centred: bool) -> float:
    xp = frames.array_module(frames.device_of(X))
    around = 0.0 if centred else float((X.mean(axis=0) ** 2).sum())
    return float(xp.var(X, axis=0).sum()) + around
