"""Tables as XGBoost reads them: all its tables, on any device, are prepared here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pipeline.errors import DataError, Reason, Unsupported
from pipeline.optional import load
from pipeline.table import encode, frames, output
from pipeline.typing import Array, Column, Estimator, Name, ReadParams, Table


def prepare(X: Table, known: Callable[[Name], Array] | None = None) -> Any:
    """Return a table as XGBoost reads it.

    Text becomes categories, and columns of cuDF begin where their memory does. XGBoost takes
    compressed sparse rows of the host alone, of which it keeps on the GPU what is there. It takes
    no column without categories: `known` returns those of a column, by its name, where all of X is
    missing; if there is none, that is a `DataError`.
    """
    if not frames.is_frame(X):
        return frames.to_device(X, "cpu") if frames.is_sparse(X) else X
    if frames.library(X) == "cudf":
        _patch_xgboost()
    X = output.categorize(X)
    kinds = {name: dtype for name, dtype in X.dtypes.items() if str(dtype) == "category"}
    empty = [name for name, dtype in kinds.items() if not len(dtype.categories)]
    if not empty:
        return X
    if known is None:
        raise DataError(f"the columns {empty} have no values to learn from; leave them out")
    made = X.copy(deep=False)
    for name in empty:
        made[name] = X[name].cat.set_categories(known(name))
    return made


def learnt_categories(native: Estimator, name: Name) -> list[Any]:
    """Return the categories that a fitted estimator of XGBoost knows of a column, or some text."""
    learnt = dict(native.get_booster().get_categories(export_to_arrow=True).to_arrow())
    known = learnt.get(str(name))
    return [""] if known is None else known.to_pylist()


def make_matrix(native: Estimator, X: Table, **more: Any) -> Any:
    """Return a table as the matrix of an XGBoost estimator, with further options."""
    options = {
        "missing": native.missing,
        "enable_categorical": native.enable_categorical,
        "nthread": native.n_jobs,
        "feature_types": native.feature_types,
    }
    X = prepare(X)
    if _has_categories_on_gpu(X):
        X, options["feature_types"] = as_codes(X, lambda name: learnt_categories(native, name))
    return load("xgboost.DMatrix")(X, **options | more)


@contextmanager
def without_recoding(native: Estimator, X: Table, sets: Sequence[Table]) -> Iterator[None]:
    """Let an estimator evaluate frames of cuDF by `as_codes`, not by its own recoding.

    It fits on X inside the block; `sets` are the tables of `eval_set`.
    """
    name = "_create_ltr_dmatrix" if hasattr(native, "_create_ltr_dmatrix") else "_create_dmatrix"
    if not any(map(_has_categories_on_gpu, sets)):
        yield
        return
    make = getattr(native, name)

    def create(ref: Any, data: Table, **options: Any) -> Any:
        if ref is not None and _has_categories_on_gpu(data):
            data, types = as_codes(data, lambda name: encode.host_index(X[name].cat.categories))
            options["feature_types"] = types
        return make(ref=ref, data=data, **options)

    setattr(native, name, create)
    try:
        yield
    finally:
        delattr(native, name)


def as_codes(X: Table, known: Callable[[Name], Array]) -> tuple[Any, list[str]]:
    """Return a frame of cuDF with codes in place of categories, and XGBoost's types of its columns.

    Where XGBoost 3.4 itself looks up the categories of a model, on a GPU it takes a missing one for
    the first: its `CatAccessor` turns NaN into an integer, which is 0 there. It does so for
    `eval_set`, contributions and training that goes on; `predict` and a first training do not.

    `known` returns the categories of a column, by its name, in the order of their codes.
    """
    made, types = X.copy(deep=False), []
    for name, dtype in X.dtypes.items():
        types.append("c" if str(dtype) == "category" else "q")
        if types[-1] == "c":
            made[name] = _codes(X, name, pd.Index(known(name)))
    return made, types


def _codes(X: Table, name: Name, known: pd.Index) -> Any:
    """Return the places of a column's categories in others; NaN where one is missing."""
    codes, values = encode.categories(X, name)
    places = known.get_indexer(pd.Index(values)).astype("float32")
    # Where a category is missing its code is -1: the last place.
    found = frames.to_device(np.append(places, np.float32(np.nan)), "cuda")[codes]
    if frames.any_of([found < 0]):
        new = [value for value, place in zip(values, places, strict=True) if place < 0]
        raise DataError(
            f"XGBoost: the column {name!r} holds categories that are not in the training set, such "
            f"as {new[:5]}; clean the column"
        )
    return found


def refuse_missing_categories(native: Estimator, X: Table, params: ReadParams) -> None:
    """Reject a `fit` whose trees predict the training rows where a category of cuDF is missing.

    XGBoost would mistake it for another: see `as_codes`.
    """
    dropped = getattr(native, "booster", None) == "dart"
    if not (dropped or params.get("xgb_model") is not None) or not _has_categories_on_gpu(X):
        return
    names = [name for name, dtype in X.dtypes.items() if str(dtype) == "category"]
    if lacking := [name for name in names if X[name].isna().any()]:
        how = "trees are dropped" if dropped else "training continues from other trees"
        why = f"when {how}, XGBoost mistakes missing categories for others on a GPU: in {lacking}"
        what = "impute them, or use device='cpu'"
        raise Unsupported(Reason(type(native).__name__, why, what, "booster" if dropped else None))


def _has_categories_on_gpu(X: Table) -> bool:
    frame = frames.is_frame(X) and frames.library(X) == "cudf"
    return frame and any(str(dtype) == "category" for dtype in X.dtypes)


def _patch_xgboost() -> None:
    """Let XGBoost read frames of cuDF from here on, whatever they hold."""
    data, utils = load("xgboost.data"), load("xgboost._data_utils")
    if not isinstance(data.cudf_cat_inf, _KeepsCodes):
        data.cudf_cat_inf = _KeepsCodes(data.cudf_cat_inf)
    if not isinstance(data.cuda_array_interface_dict, _TellsAddress):
        told = _TellsAddress(data.cuda_array_interface_dict)
        data.cuda_array_interface_dict = utils.cuda_array_interface_dict = told


@dataclass(frozen=True)
class _TellsAddress:
    """Where a column of cuDF lies, as XGBoost writes it to JSON.

    Where cuDF may spill, as on the workers of a cluster, the address of a null mask is looked up
    when it is asked for, and the mask stays on the GPU from then on.
    """

    ask: Callable[[Column], dict[str, Any]]

    def __call__(self, column: Column) -> dict[str, Any]:
        told = self.ask(column)
        if mask := told.get("mask"):
            told["mask"] = {**mask, "data": tuple(mask["data"])}
        return told


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
        # What XGBoost asks for the column of libcudf.
        self._column = self

    def to_pylibcudf(self) -> Any:
        """Return texts with the int32 offsets that XGBoost reads; those of pandas have int64."""
        column, libcudf = self._index._column.to_pylibcudf(), load("pylibcudf")
        if not any(each.type().id() == libcudf.TypeId.INT64 for each in column.children()):
            return column
        kind = libcudf.DataType(libcudf.TypeId.INT32)
        offsets = [libcudf.unary.cast(each, kind) for each in column.children()]
        parts = column.data(), column.null_mask(), column.null_count(), column.offset()
        return libcudf.Column(column.type(), column.size(), *parts, offsets)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)
