"""Tables as XGBoost reads them: each that it is given, on any device, has been through here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.data import frames, output
from pipeline.optional import load
from pipeline.typing import Array, Column, Estimator, Table


def prepare(X: Table) -> Any:
    """Return a table as XGBoost reads it.

    Text becomes categories, and columns of cuDF begin where their memory does. XGBoost takes
    compressed sparse rows of the host alone, of which it keeps on the GPU what is there.
    """
    if not frames.is_frame(X):
        return frames.to_device(X, "cpu") if frames.is_sparse(X) else X
    if frames.library(X) == "cudf":
        _keep_codes()
    return output.categorize(X)


def make_matrix(native: Estimator, X: Table, **more: Any) -> Any:
    """Return the matrix that an estimator of XGBoost makes of a table, with further options."""
    options = {
        "missing": native.missing,
        "enable_categorical": native.enable_categorical,
        "nthread": native.n_jobs,
        "feature_types": native.feature_types,
    }
    return load("xgboost.DMatrix")(prepare(X), **options | more)


def _keep_codes() -> None:
    """Let XGBoost read categories of cuDF from here on, in any frame."""
    module = load("xgboost.data")
    if not isinstance(module.cudf_cat_inf, _KeepsCodes):
        module.cudf_cat_inf = _KeepsCodes(module.cudf_cat_inf)


@dataclass(frozen=True)
class _KeepsCodes:
    """What XGBoost asks about a column of categories, and what it has to keep until it has read it.

    XGBoost 3.4 itself asks NumPy about pandas' type of text, which is a TypeError. It keeps the
    names of text categories, but not their codes, which cuDF makes anew whenever it is asked for
    them: by the time XGBoost reads them, their memory may hold the codes of the next column.
    """

    ask: Callable[..., tuple[Any, ...]]

    def __call__(self, cats: Array, codes: Column) -> tuple[Any, ...]:
        *interfaces, kept = self.ask(_Names(cats), codes)
        return *interfaces, (kept, cats, codes)


class _Names:
    """An index of cuDF whose type is one of NumPy's.

    >>> import pandas as pd
    >>> [_Names(pd.Index([1], dtype=kind)).dtype.name for kind in ("Int64", "int8", "string")]
    ['int64', 'int8', 'object']
    """

    def __init__(self, index: Array) -> None:
        dtype = index.dtype
        plain = isinstance(dtype, np.dtype)
        self.dtype = dtype if plain else np.dtype(getattr(dtype, "numpy_dtype", object))
        self._index = index

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)
