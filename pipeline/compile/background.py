"""The means of the training rows, against which a linear model is explained."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from pipeline.backends.base import Model
from pipeline.table import frames
from pipeline.typing import Estimator, Table


class Background(NamedTuple):
    """The means of the columns of the rows that a linear model was fitted on, without weights.

    Attributes
    ----------
    n_rows : int
    means : numpy.ndarray of float64, shape (n_columns,)
    """

    n_rows: int
    means: np.ndarray

    def and_also(self, other: Background) -> Background:
        """Return the means of both sets of rows together.

        >>> Background(1, np.array([0.0])).and_also(Background(2, np.array([4.5])))
        Background(n_rows=3, means=array([3.]))
        """
        n_rows = self.n_rows + other.n_rows
        share = other.n_rows / n_rows
        return Background(n_rows, self.means + share * (other.means - self.means))


def keep_means(
    worker: Model, learn: Callable[..., Any], rows: Table, *args: Any, more: bool, **params: Any
) -> Any:
    """Return what a fit returns; a linear model keeps the means of its training rows.

    The means take one pass over the matrix that is in memory; the fit takes several.

    Parameters
    ----------
    worker : Model
    learn : callable
        Is given `rows`, `args` and `params`.
    rows : table
    more : bool
        Whether the rows come on top of those before, as in `partial_fit`.
    """
    goes_on = more and is_linear(worker.native)
    copies = getattr(worker.estimator, "copy_X", None)
    overwrites = copies is False or (copies and frames.device_of(rows) == "cuda")
    given = _describe(rows) if overwrites else None
    result = learn(rows, *args, **params)
    if is_linear(worker.native):
        given = given or _describe(rows)
        before = worker.background
        if goes_on and given:
            given = before and before.and_also(given)
        worker.background = given
    return result


def _describe(rows: Table) -> Background | None:
    """Return the means of rows; None of partitions, and of what is not a table of numbers."""
    if not frames.is_partitioned(rows):
        with suppress(AttributeError, TypeError, ValueError):  # scikit-learn reads more than arrays
            return Background(int(rows.shape[0]), column_means(rows))
    return None


def is_linear(fitted: Estimator) -> bool:
    """Return whether an estimator predicts from ``X @ coef_.T + intercept_``.

    >>> from sklearn.linear_model import Ridge
    >>> is_linear(Ridge()), is_linear(Ridge().fit([[0.0], [1.0]], [0.0, 1.0]))
    (False, True)
    """
    name = type(fitted).__name__
    if type(fitted).__module__.startswith("xgboost.") or name.startswith("PLS"):
        return False  # the latter centres its rows
    if name in ("NuSVC", "SVC") and len(getattr(fitted, "classes_", ())) > 2:
        return False  # it decides between pairs of classes
    return getattr(fitted, "coef_", None) is not None and hasattr(fitted, "intercept_")


def column_means(rows: Table) -> np.ndarray:
    """Return the means of the columns of a matrix in float64, on the host.

    >>> column_means(np.array([[1, 2], [2, 4]], dtype="float32"))
    array([1.5, 3. ])
    """
    rows = frames.matrix(rows)
    if not frames.is_sparse(rows):
        return frames.to_host(rows.mean(axis=0, dtype="float64"))
    rows = rows.tocsr()
    sums = frames.xp(rows.data).bincount(
        rows.indices, weights=rows.data.astype("float64"), minlength=rows.shape[1]
    )
    return frames.to_host(sums / rows.shape[0])
