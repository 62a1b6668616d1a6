"""The only place that distinguishes pandas from cuDF and NumPy from CuPy.

A library is recognised by the name of the module that defines an object's type, so nothing is
imported to find out. Everything else works on arrays: numbers with NaN for missing, or the codes
of `pipeline.table.encode`. **NaN and null mean the same thing: missing.** Sparse rows are SciPy's
on the host and CuPy's on a GPU.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pipeline import trace
from pipeline.errors import DataError
from pipeline.optional import load
from pipeline.table.datetimes import wall_clock
from pipeline.typing import Array, Column, DType, Name, Names, Table

FRAMES = ("pandas", "cudf")
ARRAYS = ("numpy", "cupy")
_DEVICE = {"pandas": "cpu", "numpy": "cpu", "cudf": "cuda", "cupy": "cuda", "cupyx": "cuda"}
TO_ARRAY = {"pandas": "to_numpy", "cudf": "to_cupy"}
NONE = "null is None"
"""In `attrs` of a frame: its missing categories are None in the array that scikit-learn makes."""
INT32 = 2**31 - 1
"""The largest index of cuML's sparse rows."""
NULLABLE = {"i": "Int64", "u": "UInt64", "f": "float64", "b": "boolean"}
"""Kind of numbers -> pandas' type for those with missing values."""
_ENCODE = "convert it (astype), encode it (OneHotEncoder, OrdinalEncoder, TargetEncoder)"
_SUGGESTIONS = {
    "M": "use CalendarFeatures, subtract a date and convert to seconds (.dt.total_seconds()),",
    "m": "convert it to seconds (.dt.total_seconds())",
}


def library(obj: object) -> str:
    """Return the root package that defines the type of an object.

    >>> library(pd.DataFrame()), library(np.zeros(1)), library([])
    ('pandas', 'numpy', 'builtins')
    """
    return _LIBRARY[type(obj)]


class _Libraries(dict[type, str]):
    """Type -> root package."""

    def __missing__(self, kind: type) -> str:
        roots = [base.__module__.partition(".")[0] for base in kind.__mro__]
        self[kind] = next((root for root in roots if root in _DEVICE), roots[0])
        return self[kind]


_LIBRARY = _Libraries()


def device_of(obj: Table) -> str:
    """Return ``"cpu"`` or ``"cuda"``."""
    if known := _DEVICE.get(_LIBRARY[type(obj)]):
        return known
    return _DEVICE.get(_LIBRARY[type(obj._meta)], "cpu") if is_partitioned(obj) else "cpu"


def xp(X: Table) -> Any:
    """Return NumPy or CuPy, whichever computes with a table or an array in one place."""
    return np if _DEVICE.get(_LIBRARY[type(X)], "cpu") == "cpu" else load("cupy")


def is_frame(obj: object) -> bool:
    """Return whether an object is a pandas or cuDF data frame."""
    return _LIBRARY[type(obj)] in FRAMES and hasattr(obj, "columns")


def is_partitioned(X: object) -> bool:
    """Return whether an object is a Dask or dask-cuDF frame."""
    # A class is asked, for to look for what a pandas frame has not takes long.
    return hasattr(type(X), "npartitions") and hasattr(type(X), "to_delayed")


def is_sparse(X: object) -> bool:
    """Return whether an object is a SciPy or CuPy sparse matrix, or partitions of one."""
    return _LIBRARY[type(X)] not in ("pandas", "numpy") and hasattr(
        getattr(X, "_meta", X), "toarray"
    )


def types(X: Table) -> list[Any]:
    """Return the types of the columns of a frame, in order."""
    if type(X) is not pd.DataFrame:
        return list(X.dtypes)
    frame: Any = X
    return list(frame._mgr.get_dtypes())  # as `dtypes` does, which then makes a series


def holds_sparse(X: Table, names: Collection[Name] | None = None) -> bool:
    """Return whether an object is a sparse matrix, or a frame some of whose columns are sparse.

    >>> holds_sparse(pd.DataFrame({"a": [1], "b": [2]}).astype({"b": "Sparse[int64]"}))
    True
    """
    if not is_frame(X):
        return is_sparse(X)
    kinds = [isinstance(dtype, pd.SparseDtype) for dtype in types(X)]
    return any(kinds) and (names is None or not {*X.columns[kinds]}.isdisjoint(names))


def head(X: Table) -> pd.DataFrame:
    """Return the first row as a pandas frame: the table's schema, on the host."""
    if type(X) is pd.DataFrame:
        return pd.DataFrame(X[:1])  # without its `attrs`
    if _LIBRARY[type(X)] != "cudf":
        return pd.DataFrame(to_device(X[:1], "cpu"))
    # To cuDF a row that is no copy takes all the memory behind it, categories come with all their
    # values, and a null makes floats and objects of the integers and bools of just these rows.
    plain = {n: t.kind for n, t in X.dtypes.items() if isinstance(t, np.dtype) and t.kind in "iub"}
    kinds = {name: NULLABLE[kind] for name, kind in plain.items() if X[name].hasnans}
    first = X[:1].copy()
    for name in (name for name, dtype in X.dtypes.items() if str(dtype) == "category"):
        first[name] = first[name].astype(first[name].cat.categories.dtype)
        kinds[name] = "category"
    return to_device(first, "cpu").astype(kinds)


def column(X: Table, name: Name) -> Any:
    """Return one column of a frame, by name, or of an array, by position."""
    return X[name] if hasattr(X, "columns") else X[:, name]


def arrays(X: Table) -> list[Any]:
    """Return the columns of a pandas frame as it holds them: a series of each takes far longer.

    >>> arrays(pd.DataFrame({"n": [1.5], "t": ["a"]}))[0]
    array([1.5])
    """
    frame: Any = X
    return list(frame._iter_column_arrays())


def at(X: Table, rows: np.ndarray | slice) -> Any:
    """Return rows of a frame, a series, an array or a sparse matrix, by position."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if _LIBRARY[type(X)] == "pyarrow":
        return X.take(rows)
    return X.tocsr()[rows] if is_sparse(X) else X[rows]


def no_numbers(name: Name, dtype: DType) -> DataError:
    """Return the error for a column that must hold numbers and does not.

    >>> str(no_numbers("gap", np.dtype("timedelta64[s]")))[:59]
    "column 'gap' holds timedelta64[s] values, but numbers are n"
    """
    suggestion = f"{_SUGGESTIONS.get(dtype.kind, _ENCODE)} or drop it"
    return DataError(f"column {name!r} holds {dtype} values, but numbers are needed; {suggestion}")


def is_finite(values: Array, xp: ModuleType) -> bool:
    """Return True only where no number is missing or infinite; False may be for too large a sum.

    >>> is_finite(np.array([1.0, 2.0]), np), is_finite(np.array([1.0, np.nan]), np)
    (True, False)
    """
    # A sum is infinite, or no number, where a value is; and it needs no memory.
    with np.errstate(over="ignore", invalid="ignore"):
        return values.dtype.kind != "f" or bool(xp.isfinite(values.sum()))


def infinite_numbers(name: Name, infinite: Array) -> DataError:
    """Return the error for a column in which some numbers, which are marked, are infinite."""
    return DataError(
        f"column {name!r} holds infinite values; replace them with numbers or missing values "
        f"(the first is in row {int(infinite.argmax())})"
    )


def numbers(X: Table, name: Name) -> Any:
    """Return a numeric column as a 1-D array, missing values as NaN; reject infinite ones.

    The type is the one that scikit-learn would see: nullable types become float64.
    """
    values = values_of(column(X, name), name)
    if values.dtype.kind == "f" and bool((infinite := xp(values).isinf(values)).any()):
        raise infinite_numbers(name, infinite)
    return values


def is_numeric(dtype: DType) -> bool:
    """Return whether a type is that of numbers, or of categories that are numbers."""
    if not isinstance(dtype, np.dtype) and str(dtype) == "category":
        dtype = dtype.categories.dtype
    return dtype.kind in "iufb"


def values_of(series: Column, name: Name) -> Any:
    """Return a column as `numbers` does, where some may be infinite."""
    if series.dtype.kind not in "iufb":
        series = _unpacked(series, name)
    to_array = TO_ARRAY.get(_LIBRARY[type(series)])
    if to_array is None:
        return series
    # cuDF has no way from pandas' nullable types to CuPy.
    if not isinstance(series.dtype, np.dtype) or (series.dtype.kind != "f" and series.hasnans):
        series = series.astype("float64")
    # A float64 that is to fill a float32 column makes cuDF look whether it fits, and wait.
    narrow = to_array == "to_cupy" and series.dtype == "float32"
    return getattr(series, to_array)(na_value=np.float32(np.nan) if narrow else np.nan)


def _unpacked(series: Column, name: Name) -> Any:
    """Return the numbers that objects, or categories, are."""
    if str(series.dtype) == "category" and (kind := series.dtype.categories.dtype.kind) in "iufb":
        # To scikit-learn categories that are booleans are floats.
        kept = kind != "b" and not series.hasnans
        return series.astype(series.dtype.categories.dtype if kept else "float64")
    if series.dtype == object and _LIBRARY[type(series)] == "pandas":
        with suppress(TypeError, ValueError):
            return pd.Series(series.to_numpy("float64", na_value=np.nan))
    raise no_numbers(name, series.dtype)


def datetimes(X: Table, name: Name) -> Any:
    """Return dates as an array of nanoseconds since 1970, `MISSING` for missing ones.

    A column with a time zone is read by the clock on its wall, which is what calendars show.
    """
    series = column(X, name)
    if series.dtype == object and _LIBRARY[type(series)] == "pandas":
        with suppress(pa.ArrowException, TypeError, ValueError):
            series = pa.array(series, from_pandas=True).to_pandas(date_as_object=False)
    return wall_clock(series, name, xp(X))


def to_host(array: Array) -> np.ndarray:
    """Return fitted values on the host, recording the copy; rows go by `to_device`."""
    if _LIBRARY[type(array)] != "cupy":
        return np.asarray(array)
    trace.record_transfer(to_host=nbytes(array), what="state")
    copied: np.ndarray = array.get()
    return copied


def all_to_host(arrays: Sequence[Any]) -> list[np.ndarray]:
    """Return arrays as `to_host` does, those of a GPU by one copy: each waits until it is done."""
    away = [array for array in arrays if _LIBRARY[type(array)] == "cupy"]
    if len(away) < 2:
        return [to_host(array) for array in arrays]
    flat = to_host(xp(away[0]).concatenate([each.ravel().view("uint8") for each in away]))
    parts = np.split(flat, np.cumsum([each.nbytes for each in away[:-1]]))
    pairs = zip(parts, away, strict=True)
    # A part may begin anywhere; a copy begins where its type has to.
    copies = iter([part.view(each.dtype).reshape(each.shape).copy() for part, each in pairs])
    return [next(copies) if _LIBRARY[type(array)] == "cupy" else array for array in arrays]


def to_device_of(array: np.ndarray, other: Array) -> Any:
    """Return fitted values on the device of another array, recording the bytes that move."""
    here = _DEVICE.get(_LIBRARY[type(other)], "cpu") == "cpu"
    return array if here else to_device(array, "cuda")


def any_of(marks: Sequence[Any]) -> list[int]:
    """Return the positions of the arrays in which something is true; a GPU is waited for once."""
    marked = [mark.any() for mark in marks]
    if any(_LIBRARY[type(mark)] == "cupy" for mark in marked):
        marked = all_to_host(marked)
    return np.flatnonzero(marked).tolist()


def to_device(X: Table, device: str) -> Any:
    """Return a frame or an array on a device, recording the bytes that move."""
    source = _LIBRARY[type(X)]
    if is_partitioned(X):
        if device == "cpu" or device_of(X) == device:
            return X
        upload = partial(to_device, device=device)  # where and when they are read
        meta = upload(X._meta)
        if hasattr(X, "columns"):
            return X.map_partitions(upload, meta=meta)
        return X.map_blocks(upload, dtype=X.dtype, meta=meta)
    if _DEVICE.get(source, "cpu") == device:
        return X
    if source in ("cupy", "cupyx"):
        trace.record_transfer(to_host=nbytes(X))
        return X.get() if source == "cupyx" else X.get(order="A")  # "C" would be copied there first
    if is_sparse(X):
        return _csr_to_gpu(X)
    if source == "pandas" and is_frame(X) and _all_sparse(X):
        return _csr_to_gpu(_as_rows(X))
    if source == "cudf":
        # Of a view cuDF counts all that lies behind its rows.
        columns = (X[name] for name in X.columns) if is_frame(X) else [X]
        trace.record_transfer(to_host=sum(nbytes(each.copy()) for each in columns))
        return X.to_pandas()
    trace.record_transfer(to_device=nbytes(X))
    return _upload(X) if source == "pandas" else load("cupy").asarray(X)


def _all_sparse(X: Table) -> bool:
    return all(isinstance(dtype, pd.SparseDtype) for dtype in types(X))


def _as_rows(X: pd.DataFrame) -> Any:
    """Return a frame of sparse columns as compressed rows, as scikit-learn reads it."""
    # What is not stored is zero then, whatever pandas says of it; it says NaN of SciPy's zeros.
    kinds: dict[Any, Any] = dict(X.dtypes)
    if other := [n for n, kind in kinds.items() if kind.fill_value and pd.notna(kind.fill_value)]:
        raise DataError(
            f"the fill value of the sparse columns {other} is not zero; pass X.sparse.to_dense()"
        )
    accessor: Any = X.sparse
    return accessor.to_coo().tocsr()


def _upload(X: Table) -> Any:
    kinds = zip(X.columns, X.dtypes, strict=True) if is_frame(X) else ()
    if dense := {name: kind.subtype for name, kind in kinds if isinstance(kind, pd.SparseDtype)}:
        with trace.record(
            "input", trace.DENSIFY, "cpu", f"cuDF does not support sparse columns: {[*dense]}"
        ):
            X = X.astype(dense)
    try:
        return load("cudf").from_pandas(X)
    except (TypeError, ValueError, NotImplementedError) as error:
        columns = list(getattr(X, "columns", ()))
        for name in columns if len(columns) > 1 else ():
            _upload(X[[name]])
        held = f"column {columns[0]!r}" if columns else "index"
        raise DataError(
            f"cuDF does not support the {held}: {error}; convert it (astype) or drop it"
        ) from error


def matrix(X: Table, order: str = "C", dtype: str = "auto") -> Any:
    """Return a frame of numbers as one matrix with NaN for missing, and an array of another type.

    Sparse rows, and arrays that have the type, are returned as they are; a frame all of whose
    columns are sparse as sparse rows. "auto" is float64 for a frame, and an array's own.
    """
    if not is_frame(X):
        if dtype == "auto" or is_sparse(X) or X.dtype == dtype:
            return X
        return X.astype(dtype) if is_partitioned(X) else X.astype(dtype, order=order)
    if _LIBRARY[type(X)] == "pandas" and _all_sparse(X):
        return _as_rows(X)
    kind = "float64" if dtype == "auto" else dtype
    array = xp(X).empty(X.shape, dtype=kind, order=order)
    for j, name in enumerate(X.columns):
        array[:, j] = numbers(X, name)
    return array


def nbytes(X: Table) -> int:
    """Return the bytes that the values of a table, an array or compressed rows take."""
    if is_sparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    if not is_frame(X):
        return int(X.nbytes) if hasattr(X, "nbytes") else int(X.memory_usage(index=False))
    return int(X.memory_usage(index=False).sum())


def select(X: Table, names: Names) -> Any:
    """Return the columns of a frame in the given order; reject a frame that lacks some."""
    missing = [name for name in names if name not in X.columns]
    if missing:
        raise DataError(
            f"X lacks the columns {missing} that the model was fitted on; pass all of them"
        )
    return X if list(X.columns) == list(names) else X[list(names)]


def synchronize(device: str) -> None:
    """Wait until the device has done all that was asked of it."""
    if device == "cuda":
        load("cupy").cuda.get_current_stream().synchronize()


def _csr_to_gpu(X: Table) -> Any:
    """Return a SciPy matrix as compressed rows of CuPy, recording the copy.

    Counts become float64, the type that scikit-learn computes with: CuPy has no sparse integers.
    Cells that are stored twice become one, and indices int32, for cuML takes no others.
    """
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if max(X.nnz, *X.shape) > INT32:
        raise DataError(
            f"X has {X.shape} rows and columns and {X.nnz:,} nonzero values, but cuML supports at "
            f"most {INT32:,}; pass fewer rows, or use device='cpu'"
        )
    X = X if X.dtype in ("float32", "float64") else X.astype("float64")
    narrow = (X.data, X.indices.astype("int32", copy=False), X.indptr.astype("int32", copy=False))
    X = type(X)(narrow, shape=X.shape)
    trace.record_transfer(to_device=nbytes(X))
    return load("cupyx.scipy.sparse.csr_matrix")(X)
