"""Output as frames: from a matrix and its names, as `set_output` of scikit-learn asks for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

# There is no public way to read what `set_output` and `set_config` have set.
from sklearn.utils._set_output import _get_output_config

from pipeline.errors import ConfigError
from pipeline.optional import load
from pipeline.table import frames
from pipeline.table.borrowed import FRAMED, borrow, in_place
from pipeline.typing import Array, Column, Estimator, Names, Table

CONTAINERS = ("default", "pandas", "polars")
CACHED_CELLS = 2**16
"""Cells that are looked at together, half a MiB of float64."""


def container(estimator: Estimator) -> str:
    """Return what scikit-learn would make for an estimator: "default", "pandas" or "polars".

    A `Pipeline` makes what its last transformer makes; what has no `set_output` makes no frame.

    >>> from sklearn.preprocessing import StandardScaler
    >>> container(StandardScaler().set_output(transform="pandas"))
    'pandas'
    """
    maker = _maker(estimator) if isinstance(estimator, Pipeline) else estimator
    if not hasattr(maker, "set_output"):
        return "default"
    return str(_get_output_config("transform", maker)["dense"])


def _maker(estimator: Estimator) -> Any:
    """Return the last transformer, whose rows come out; None where every step hands them on."""
    if not isinstance(estimator, Pipeline):
        return estimator
    steps = (how for _, how in reversed(estimator.steps) if hasattr(how, "transform"))
    return next((made for how in steps if (made := _maker(how)) is not None), None)


def names_columns(estimator: Estimator) -> bool:
    """Return whether scikit-learn makes a frame of an array; a function may leave it one.

    >>> from sklearn.preprocessing import FunctionTransformer, StandardScaler
    >>> names_columns(StandardScaler()), names_columns(FunctionTransformer())
    (True, False)
    """
    return hasattr(_maker(estimator), "get_feature_names_out")


def hand_on(made: Any, how: str, estimator: Estimator) -> Any:
    """Return what a last step that names no columns makes of the frame of a step before it.

    A ufunc leaves a frame of pandas one, and makes a matrix of one of Polars.

    >>> from sklearn.preprocessing import FunctionTransformer, StandardScaler
    >>> whole = Pipeline([("a", StandardScaler()), ("b", FunctionTransformer(abs))])
    >>> hand_on(pd.DataFrame({"x": [1.0]}), "polars", whole).tolist()
    [[1.0]]
    """
    steps = estimator.steps if isinstance(estimator, Pipeline) else ()
    framed_before = any(hasattr(step, "transform") and names_columns(step) for _, step in steps)
    if how != "polars" or not isinstance(made, pd.DataFrame) or not framed_before:
        return made
    matrix = getattr(_maker(estimator), "func", None) is not None
    return made.to_numpy() if matrix else contained(made, how, None, None)


def framed(model: Estimator, estimator: Estimator) -> Any:
    """Return a copy that makes what `set_output` of a model asks for; itself where it asks none."""
    how = vars(model).get("_sklearn_output_config", {}).get("transform")
    if how is None:
        return estimator
    made = borrow(estimator).set_output(transform=how)
    for user, copied in in_place(estimator, made):
        if isinstance(copied, BaseEstimator) and copied is not user:
            vars(copied)[FRAMED] = user
    return made


def beside(matrices: Sequence[tuple[Any, Sequence[Any]]], X: Table, kept: Mapping[Any, Any]) -> Any:
    """Return a frame of matrices and, beside them, some columns of a table under new names.

    The matrices, one or more, are in one place; the table gives the index, where it has one.
    """
    module = load({"cpu": "pandas", "cuda": "cudf"}[frames.device_of(matrices[0][0])])
    index = X.index if frames.is_frame(X) else None
    parts = []
    for rows, names in matrices:
        if not frames.is_frame(rows):
            parts.append(module.DataFrame(rows, columns=list(names), index=index))
        else:
            labels = rows.index if index is None else index
            parts.append(rows.set_axis(list(names), axis=1).set_axis(labels, axis=0))
    frame = parts[0] if len(parts) == 1 else module.concat(parts, axis=1)
    table = X if frames.is_frame(X) else module.DataFrame(X)
    for name, source in kept.items():
        frame[name] = table[source]
    return frame


def categorize(X: Table) -> Any:
    """Return a frame whose text columns are categorical, as XGBoost wants them.

    Columns of cuDF have memory of their own, as of `own_rows`.
    """
    X = own_rows(X)
    text = [name for name, dtype in X.dtypes.items() if str(dtype) in ("object", "str", "string")]
    return X.astype(dict.fromkeys(text, "category")) if text else X


def own_rows(X: Table) -> Any:
    """Return a frame whose columns begin where their memory does.

    Some rows of a cuDF frame are a view. Its text becomes categories with the null mask of the
    first rows, and its `__cuda_array_interface__` gives out that mask as well.
    """
    if frames.library(X) != "cudf":
        return X
    views = [name for name in X.columns if X[name].to_pylibcudf()[0].offset()]
    if not views:
        return X
    frame = X.copy(deep=False)
    for name in views:
        frame[name] = X[name].copy()
    return frame


def contained(values: Array, how: str, names: Names | None, index: Column) -> Any:
    """Return a host matrix, with the names of its columns and its index, or a frame in a container.

    >>> import numpy as np
    >>> contained(np.array([[1.0]]), "pandas", ["x"], None).to_dict("list")
    {'x': [1.0]}
    """
    if how == "default":
        return values
    if frames.is_sparse(values):
        raise ConfigError(f"set_output(transform={how!r}): the output is sparse; use 'default'")
    if frames.is_frame(values):
        return load("polars.from_pandas")(values) if how == "polars" else values
    names = None if names is None else list(names)
    if how == "polars":
        return load("polars.DataFrame")(values, schema=names, orient="row")
    return pd.DataFrame(values, columns=names, index=index)


def check_finite(X: Table) -> None:
    """Reject infinite numbers in a frame or matrix, for a library that takes them silently."""
    if frames.is_frame(X):
        names = [name for name, dtype in X.dtypes.items() if getattr(dtype, "kind", "") == "f"]
    elif frames.is_finite(X, frames.xp(X)) or (type(X) is np.ndarray and not _has_infinite(X)):
        names = []
    else:
        names = list(range(X.shape[1]))
    for name in names:
        frames.numbers(X, name)


def _has_infinite(X: np.ndarray) -> bool:
    """Return whether some number is infinite, given some rows at a time: they stay in the cache."""
    step = max(1, CACHED_CELLS // max(1, X.shape[1]))
    return any(np.isinf(X[i : i + step]).any() for i in range(0, len(X), step))
