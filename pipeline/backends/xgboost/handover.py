"""Tables as XGBoost reads them: each that it is given, on any device, has been through here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.data import frames, output
from pipeline.errors import DataError
from pipeline.optional import load
from pipeline.typing import Array, Column, Estimator, Name, Table


def prepare(X: Table, known: Callable[[Name], Array] | None = None) -> Any:
    """Return a table as XGBoost reads it.

    Text becomes categories, and columns of cuDF begin where their memory does. XGBoost takes
    compressed sparse rows of the host alone, of which it keeps on the GPU what is there.

    Parameters
    ----------
    X : table
    known : callable, optional
        Returns categories of a column, by its name, that are declared where all of X is missing:
        XGBoost takes no column without any.

    Raises
    ------
    DataError
        A column of text holds no value, and none is known.
    """
    if not frames.is_frame(X):
        return frames.to_device(X, "cpu") if frames.is_sparse(X) else X
    if frames.library(X) == "cudf":
        _keep_codes()
    X = output.categorize(X)
    kinds = {name: dtype for name, dtype in X.dtypes.items() if str(dtype) == "category"}
    empty = [name for name, dtype in kinds.items() if not len(dtype.categories)]
    if not empty:
        return X
    if known is None:
        raise DataError(f"the columns {empty} hold no value to learn from; leave them out")
    made = X.copy(deep=False)
    for name in empty:
        made[name] = X[name].cat.set_categories(known(name))
    return made


def learnt_categories(native: Estimator, name: Name) -> list[Any]:
    """Return a category that a fitted estimator of XGBoost knows of a column."""
    learnt = dict(native.get_booster().get_categories(export_to_arrow=True).to_arrow())
    known = learnt.get(str(name))
    return [""] if known is None else known[:1].to_pylist()


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
