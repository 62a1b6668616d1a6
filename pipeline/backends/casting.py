"""Rows in another type of number than they were given in, for the model and for its lift."""

from __future__ import annotations

import warnings
from operator import methodcaller
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import FunctionTransformer

from pipeline.data import frames
from pipeline.data.checks import SAMPLE
from pipeline.preprocessing.engine.table import side_by_side
from pipeline.typing import Table

ROUNDING = 2.0**-40
"""Share of a number by which arithmetic in float64 may have set two apart that are one."""


def make_zero_row(X: Table) -> Any:
    """Return a row of zeros with the type and the names of a frame or an array.

    >>> make_zero_row(pd.DataFrame({"a": [1], "b": [2.0]})).dtypes.tolist()
    [dtype('float64'), dtype('float64')]
    """
    if not frames.is_frame(X):
        return np.zeros((1, X.shape[1]), X.dtype)
    kinds = {str(dtype) for dtype in X.dtypes}
    row = np.zeros((1, X.shape[1]), "float32" if kinds == {"float32"} else "float64")
    named = all(isinstance(name, str) for name in X.columns)
    return pd.DataFrame(row, columns=list(X.columns)) if named else row


def make_cast(row: Any, dtype: str) -> tuple[str, Any] | None:
    """Return the step that makes of rows like this one a matrix of a type; None if they are one.

    It takes what scikit-learn's estimators take: frames, lists, numbers as text.

    >>> name, cast = make_cast(np.zeros((1, 2)), "float32")
    >>> name, cast.transform([[0.1, 2]]).dtype.name
    ('to_float32', 'float32')
    """
    if np.asarray(row).dtype == dtype:
        return None
    how = FunctionTransformer(
        methodcaller("astype", dtype),
        validate=True,
        accept_sparse=True,
        feature_names_out="one-to-one",
    )
    return f"to_{dtype}", how.fit(row)


def warn_of_merged(X: Table, matrix: Any, reader: str, suggestion: str = "") -> None:
    """Warn where numbers that differ are one number in the float32 matrix that is made of them.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_columns)
    matrix : array, shape (n_rows, n_columns)
        Their matrix, on the same device; some rows of both are compared there.
    reader : str
        What reads the matrix.
    suggestion : str
        What else helps.
    """
    if matrix is X or matrix.dtype != "float32":
        return
    spread = slice(None, None, max(matrix.shape[0] // SAMPLE, 1))
    # Of ids in their order, those that become one are neighbours.
    for some in (spread, slice(SAMPLE)):
        if merged := _merged(X, matrix, some):
            name, a, b = merged
            warnings.warn(
                f"column {name!r}: {reader} reads float32, in which numbers such as {a} and {b} "
                f"are one; subtract a base, or encode them as categories{suggestion}",
                UserWarning,
                stacklevel=2,
            )
            return


def _merged(X: Table, matrix: Any, some: slice) -> tuple[Any, float, float] | None:
    """Return a column that loses two in five of its numbers, with two that become one."""
    xp = frames.xp(matrix)
    exact = xp.sort(_rows(X, some, xp), axis=0)
    lost = 5 * _distinct(xp.sort(matrix[some], axis=0)) <= 3 * _distinct(exact)
    if not bool(lost.any()):
        return None
    j = int(lost.argmax())
    names = X.columns.tolist() if frames.is_frame(X) else range(X.shape[1])
    return names[j], *_pair(frames.to_host(exact[:, j]))


def _rows(X: Table, some: slice, xp: ModuleType) -> Any:
    if not frames.is_frame(X):
        return X[some].astype("float64")
    columns = [frames.values_of(X[name].iloc[some], name) for name in X.columns]
    return side_by_side(columns, xp).astype("float64")


def _distinct(ordered: Any) -> Any:
    """Return how many numbers each sorted column holds, those as one that rounding sets apart."""
    return _apart(ordered).sum(axis=0) + 1


def _apart(ordered: Any) -> Any:
    return ordered[1:] - ordered[:-1] > ROUNDING * abs(ordered[1:])


def _pair(ordered: np.ndarray) -> tuple[float, float]:
    """Return two numbers of a sorted column that differ and are one as float32."""
    narrow = ordered.astype("float32")
    i = int((_apart(ordered) & (narrow[1:] == narrow[:-1])).argmax())
    return ordered[i].item(), ordered[i + 1].item()
