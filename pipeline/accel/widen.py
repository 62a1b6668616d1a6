"""Fitted arrays in the type that scikit-learn would give them, where a GPU computed in float32.

Some of scikit-learn's compiled code takes rows of the type of the fitted arrays alone.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from pipeline.table import frames
from pipeline.typing import Estimator, Table

ASKED = ("predict", "transform", "score", "score_samples", "kneighbors")
"""Estimators without these are given no other rows; arrays of `TSNE` are always float32."""


def first_row(X: Table) -> Any:
    """Return the first row on the host, in a table of the same types; None of partitions.

    >>> first_row(np.ones((9, 2), "float32"))
    array([[1., 1.]], dtype=float32)
    """
    if frames.is_partitioned(X):
        return None
    if frames.is_frame(X):
        return frames.head(X)
    return frames.to_device(X.tocsr()[:1] if frames.is_sparse(X) else X[:1], "cpu")


def widen(parts: dict[str, Any], user: Estimator, row: Any, path: str = "") -> Any:
    """Replace fitted estimators by copies with arrays of float64, where their rows would be such.

    Parameters
    ----------
    parts : dict of str to estimator
        Fitted, by path as in `pipeline.accel.adopted.parts_of`.
    user : estimator
        Whose steps are looked at.
    row : table
        What the first of them is given.
    path : str, optional

    Returns
    -------
    table
        What the next step would be given.
    """
    if type(user).__name__ == "Pipeline":
        for name, step in user.steps:
            if isinstance(step, BaseEstimator):
                row = widen(parts, step, row, f"{path}.{name}")
        return row
    if _is_wide(row):
        parts[path] = _wide(parts[path])
    return parts[path].transform(row) if hasattr(parts[path], "transform") else row


def _is_wide(row: Any) -> bool:
    types = row.dtypes if hasattr(row, "dtypes") else [getattr(row, "dtype", None)]
    return {*map(str, types)} != {"float32"}


def _wide(part: Any) -> Any:
    if not any(hasattr(part, name) for name in ASKED):
        return part
    part = copy(part)
    for name, value in vars(part).items():
        if type(value) is np.ndarray and value.dtype == np.float32:
            setattr(part, name, value.astype(np.float64))
    best = vars(part).get("best_estimator_")
    if best is not None and type(best).__name__ != "Pipeline":  # which casts its rows
        part.best_estimator_ = _wide(best)
    return part
