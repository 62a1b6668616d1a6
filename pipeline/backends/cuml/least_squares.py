"""The matrix of a linear regression, scaled so that cuML's cutoff equals scikit-learn's.

scikit-learn treats singular values as zero below a share `tol` of the largest one. cuML does so
below 1e-10, whatever the scale of the rows: rounding errors of redundant columns, as of two
encoders, stay above it, and so does a column that is small beside the others. In float64 and with
the right scale, 1e-10 is at scikit-learn's share, or at rounding.
"""

from __future__ import annotations

import math
from typing import Any

from pipeline.table import frames
from pipeline.typing import Array, Table

CUTOFF = 1e-10
"""Of cuML, for what it divides by."""


def scale_matrix(
    X: Table, weights: Array = None, *, tol: float = 1e-6, centred: bool = True, n_targets: int = 1
) -> tuple[Any, float]:
    """Return rows in float64, column by column, and the factor that they were multiplied by.

    >>> import numpy as np
    >>> matrix, factor = scale_matrix(np.float32([[1, 2], [3, 4]]))
    >>> matrix.dtype.name, bool(np.allclose(matrix / factor, [[1, 2], [3, 4]]))
    ('float64', True)
    """
    matrix = X.astype("float64", order="F")
    n_rows, n_columns = matrix.shape
    if weights is None:
        around = 0.0 if centred else float((matrix.mean(axis=0) ** 2).sum())
        largest = n_rows * (float(frames.xp(matrix).var(matrix, axis=0).sum()) + around)
    else:
        w = frames.xp(matrix).asarray(weights, dtype="float64")
        means = w @ matrix / w.sum() if centred else [0.0] * n_columns
        largest = float(sum(w @ (matrix[:, j] - means[j]) ** 2 for j in range(n_columns)))
    if not 0 < largest < math.inf:  # the sum of the eigenvalues is about the largest one
        return matrix, 1.0
    rounding = 10 * 2.0**-52 * max(n_columns, math.sqrt(n_rows))
    if n_targets == 1 and n_rows >= n_columns > 1:  # it divides by eigenvalues: rounded are squares
        share, cutoff = math.sqrt(max(rounding, tol**2)), math.sqrt(CUTOFF)
    else:  # by singular values
        share, cutoff = max(rounding, tol), CUTOFF
    factor = cutoff / (share * math.sqrt(largest))
    matrix *= factor
    return matrix, factor
