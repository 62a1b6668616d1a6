"""Fitted arrays in the type that scikit-learn would give them, where a GPU computed in float32.

Some of scikit-learn's compiled code takes rows of the type of the fitted arrays alone.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from pipeline.typing import Estimator, Table

NARROW = ("TSNE",)
"""Estimators whose arrays are float32 in scikit-learn, whatever their rows are."""


def computes_in_float64(X: Table) -> bool:
    """Return whether scikit-learn computes in float64 on rows of these types.

    >>> computes_in_float64(np.ones((1, 1), "float32")), computes_in_float64(np.ones((1, 1)))
    (False, True)
    """
    types = list(getattr(X, "dtypes", ())) if hasattr(X, "columns") else [getattr(X, "dtype", None)]
    known = [each for each in types if isinstance(each, np.dtype)]
    return len(known) < max(1, len(types)) or np.result_type(*known) != np.float32


def widen(part: Estimator) -> Any:
    """Return a fitted estimator, or a copy in which arrays of float32 are float64."""
    narrow = type(part).__name__ in NARROW or not type(part).__module__.startswith("sklearn.")
    if narrow or type(part).__name__ == "Pipeline":  # a search's, which casts its rows
        return part
    part = copy(part)
    for name, value in vars(part).items():
        if isinstance(value, np.ndarray | np.generic) and value.dtype == np.float32:
            setattr(part, name, value.astype(np.float64))
    if vars(part).get("best_estimator_") is not None:
        part.best_estimator_ = widen(part.best_estimator_)
    return part
