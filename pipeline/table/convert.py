"""Tables of every library, converted to a frame or a matrix without Python objects.

The columns hold numbers, booleans, text, categories, dates or durations. A column that mixes types,
or holds a type that no step supports, is kept as it is, because it may not be used;
`pipeline.table.schema` rejects it if it is. For steps on the host, all objects stay what they are
to scikit-learn.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow.interchange import from_dataframe

from pipeline.errors import DataError
from pipeline.table import frames
from pipeline.table.datetimes import zone
from pipeline.typing import Column, Table

_PLAIN = "iufb"
_LOOSE = (np.dtypes.ObjectDType, pd.ArrowDtype)
"""Types of columns that hold what another type says better, but for the plain ones of Arrow."""
_VECTORIZERS = "sklearn.feature_extraction.text"
_TYPES: dict[str, type] = {"b": bool, "i": int, "u": int}
_ARRAY = "array"
"""In `attrs` of a frame: the kind of the array or lists that its rows were passed as."""
_DAYS = "days"
"""In `attrs` of a frame: which columns were Arrow's days."""


class Origin(NamedTuple):
    """What the cells of a converted column are to scikit-learn.

    The kind of the values, where they are no longer of it, is bool, int, `datetime.date`, or
    `datetime` for points in time that have lost their zone. A missing value is None or NaN.
    """

    kind: type | None
    missing: Any


_NULLS = Origin(None, None)
"""That of text, some of which Arrow has as null."""


def convert(X: Table, *, objects: bool = False) -> Table:
    """Return a table as a pandas, cuDF, NumPy or CuPy object, copying nothing it need not.

    It may be of pandas, Polars, PyArrow, cuDF, NumPy or CuPy, rows in lists, or any object with
    ``__arrow_c_stream__`` or ``__dataframe__``. Sparse rows are returned as they are, and so are
    columns of Python objects if these are to stay. `DataError` says that it is no table, has no
    rows or columns, or repeats a column name.

    >>> convert(pa.table({"n": [1, None], "t": ["a", None]})).dtypes.astype(str).to_dict()
    {'n': 'Int64', 't': 'str'}
    """
    how = _as_objects if objects else _settled
    if frames.is_frame(X):
        if not X.columns.is_unique:
            raise repeated(X.columns)
        for kind in frames.types(X):
            if isinstance(kind, _LOOSE) and frames.library(X) == "pandas":
                X = _settle(X, how)
                break
    elif (table := to_arrow(X)) is not None:
        X = from_arrow(table)
        X.attrs[frames.NONE] = objects
    else:
        X = _from_array(X, how)
    for size, what in zip(X.shape, ("sample(s)", "feature(s)"), strict=True):
        if size == 0:
            raise DataError(f"X has 0 {what} (shape={X.shape}) while a minimum of 1 is required.")
    return X


def why_no_table(X: Table) -> str:
    """Return why X cannot be converted; empty where it can, or where it is None or in partitions.

    >>> why_no_table([1, 2]).partition(".")[0]
    'X has 1 dimension(s), but a table has 2'
    """
    if X is None or frames.is_partitioned(X):
        return ""
    try:
        convert(X.iloc[:1] if frames.library(X) == "pandas" and frames.is_frame(X) else X)
    except DataError as error:
        return str(error)
    return ""


def repeated(names: pd.Index) -> DataError:
    """Return the error of a table whose columns share names."""
    twice = names[names.duplicated()].tolist()
    return DataError(f"the table has columns with the same name: {twice}; rename them")


def is_arrow(X: Table) -> bool:
    """Return whether Arrow reads an object as a table that no other library here computes with."""
    column = isinstance(X, pa.ChunkedArray | pa.Array) or type(X).__name__ == "Series"
    if column or frames.is_frame(X) or frames.library(X) in frames.ARRAYS:
        return False
    return hasattr(X, "__arrow_c_stream__") or hasattr(X, "__dataframe__")


def to_arrow(X: Table) -> pa.Table | None:
    """Return a table of another library than pandas as Arrow's; None of what is no such table."""
    if frames.is_partitioned(X):
        raise DataError("X is partitioned, but a single table is needed here; pass X.compute()")
    if frames.library(X) == "polars" and type(X).__name__ == "LazyFrame":
        raise DataError("X is a polars.LazyFrame, which holds no rows yet; pass X.collect()")
    if isinstance(X, np.ma.MaskedArray):
        raise DataError("X is a masked array; pass X.astype(float).filled(numpy.nan)")
    if isinstance(X, np.matrix):  # one column or row of it has two dimensions, too
        raise DataError("X is a numpy.matrix; pass numpy.asarray(X)")
    if not is_arrow(X):
        return None
    if hasattr(X, "__arrow_c_stream__"):
        return X if isinstance(X, pa.Table) else pa.table(X)
    return from_dataframe(X)


def from_arrow(table: pa.Table) -> pd.DataFrame:
    """Return an Arrow table as a pandas frame; the index that pandas wrote into it is kept."""
    stored = (table.schema.pandas_metadata or {}).get("index_columns", [])
    held = [name for name in stored if isinstance(name, str)]
    names = pd.Index([name for name in table.column_names if name not in held])
    if not names.is_unique:
        raise repeated(names)
    index = table.select(held).to_pandas().index if stored else pd.RangeIndex(len(table))
    columns = {name: from_column(table[name]).set_axis(index) for name in names}
    made = pd.DataFrame(columns, index=index, columns=names)
    made.attrs[_DAYS] = [name for name in names if pa.types.is_date(table[name].type)]
    return made


def from_column(column: Column) -> pd.Series:
    """Return an Arrow array as a pandas series of the plainest type that keeps its values.

    >>> from_column(pa.chunked_array([pa.array([True, None])])).dtype
    BooleanDtype
    """
    kind = column.type
    if pa.types.is_null(kind):
        return pd.Series(np.full(len(column), np.nan))
    if isinstance(kind, pa.BaseExtensionType):
        return from_column(pa.chunked_array([chunk.storage for chunk in column.chunks]))
    if column.null_count and _is_whole(column):
        return column.to_pandas(types_mapper=NULLABLE.get)
    if pa.types.is_dictionary(kind):
        if not _is_plain(kind.value_type):
            return from_column(column.cast(kind.value_type))
        with suppress(ValueError):  # A dictionary may repeat a value; categories may not.
            return column.to_pandas()
        return column.cast(kind.value_type).dictionary_encode().to_pandas()
    if not is_plain(column):
        return pd.Series(pd.array(column, dtype=pd.ArrowDtype(kind)))
    return column.to_pandas(date_as_object=False)


def writable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return an Arrow array that pandas copies, as it does unless the values lie in one piece.

    What it shares with Arrow, it could not write to.

    >>> writable(pa.chunked_array([[1, 2]])).num_chunks
    2
    """
    kind = column.type
    if column.num_chunks != 1 or not (pa.types.is_primitive(kind) or pa.types.is_dictionary(kind)):
        return column
    return pa.chunked_array([column.chunk(0), column.chunk(0)[:0]])


def is_plain(column: Column) -> bool:
    """Return whether pandas holds an Arrow array in a type of its own, without one of Arrow's."""
    return _is_plain(column.type) and not (column.null_count and _is_whole(column))


_SIZES = (8, 16, 32, 64)
NULLABLE = {
    pa.bool_(): pd.BooleanDtype(),
    **{getattr(pa, f"int{bits}")(): getattr(pd, f"Int{bits}Dtype")() for bits in _SIZES},
    **{getattr(pa, f"uint{bits}")(): getattr(pd, f"UInt{bits}Dtype")() for bits in _SIZES},
}


def _is_plain(kind: pa.DataType) -> bool:
    """Return whether pandas has a type of its own for an Arrow type."""
    tests = "boolean integer floating string large_string string_view date timestamp duration"
    return any(getattr(pa.types, f"is_{test}")(kind) for test in tests.split())


def _settle(X: pd.DataFrame, how: Callable[[pd.Series], pd.Series | None]) -> pd.DataFrame:
    """Return a frame with the columns of Python objects, and of Arrow, as a function has them."""
    frame = X
    for j, kind in enumerate(X.dtypes):
        loose = isinstance(kind, _LOOSE) and kind.kind not in _PLAIN
        if loose and (series := how(X.iloc[:, j])) is not None:
            frame = X.copy(deep=False) if frame is X else frame
            frame.isetitem(j, series.set_axis(X.index).array)
    return frame


def _as_objects(series: pd.Series) -> pd.Series | None:
    """Return a column of an Arrow type without an equal in NumPy as objects; None for objects."""
    if not isinstance(series.dtype, pd.ArrowDtype):
        return None
    kind = series.dtype.pyarrow_dtype
    return _settled(series) if _is_plain(kind) and kind != pa.date32() else series.astype(object)


def _settled(series: pd.Series) -> pd.Series | None:
    try:
        column = pa.array(series, from_pandas=True)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return None
    whole = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    # Of nullable types all read float64, which scikit-learn makes of objects.
    return whole.to_pandas(types_mapper=NULLABLE.get) if _is_whole(whole) else from_column(whole)


def _is_whole(column: Column) -> bool:
    return pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)


def origins(given: Any, X: Table) -> dict[Any, Origin]:
    """Return what the cells of columns were that have another type in X, which `convert` made.

    >>> given = pd.DataFrame({"t": ["a", None], "n": [1.5, 2]}, dtype=object)
    >>> origins(given, convert(given))
    {'t': Origin(kind=None, missing=None)}
    """
    typed = isinstance(given, np.ndarray) and given.dtype != object
    if given is X or typed or frames.library(X) != "pandas":
        return {}
    if is_arrow(given):
        every = {name: _origin_in_arrow(X, name) for name in X}
    else:
        known = frames.is_frame(given)
        table = given if known else pd.DataFrame(np.asarray(given, dtype=object), dtype=object)
        columns = enumerate(X.columns)
        every = {name: _origin(table.iloc[:, j], X.iloc[:, j]) for j, name in columns}
    return {name: origin for name, origin in every.items() if origin is not None}


def as_passed(X: Table, reader: Any = None) -> Any:
    """Return rows in the form in which they were passed: a frame, or a matrix.

    scikit-learn's vectorizers get texts as an array, for they iterate: Arrow would make each alone.

    >>> as_passed(convert([["a", 1]])).tolist()
    [['a', 1]]
    >>> as_passed(convert(np.array([["a"]]))).dtype
    dtype('<U1')
    """
    if not frames.is_frame(X):
        texts = type(X) is pd.Series and type(reader).__module__ == _VECTORIZERS
        return X.to_numpy(dtype=object) if texts else X
    if X.attrs.get(frames.NONE):
        nulls = [name for name in X if _origin_in_arrow(X, name) == _NULLS]
        objects = {n: X[n].astype(object).where(X[n].notna(), None) for n in nulls}
        return without_na(X.assign(**objects))
    if not (kind := X.attrs.get(_ARRAY)):
        return X
    if all(each.kind in _PLAIN for each in frames.types(X)):
        return frames.matrix(X)
    return X.to_numpy().astype(str) if kind == "U" else X.to_numpy()


def without_na(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame in types of NumPy where a `pandas.NA` is: scikit-learn makes no array of it.

    >>> without_na(pd.DataFrame({"n": pd.array([1, None])})).dtypes.to_dict()
    {'n': dtype('float64')}
    """
    missing = frame.dtypes.map(lambda dtype: getattr(dtype, "na_value", None) is pd.NA)
    held = {n: frame[n].dtype for n in frame.columns[missing] if frame[n].hasnans}
    return frame.astype({n: "float64" if t.kind in "iufb" else object for n, t in held.items()})


def _origin_in_arrow(X: pd.DataFrame, name: Any) -> Origin | None:
    """Return what a cell is in the array that NumPy makes of the table, for scikit-learn."""
    column = X[name]
    kind = column.dtype.kind
    if zone(column.dtype):
        return Origin(datetime.datetime, None)
    if name in X.attrs[_DAYS] and any(other.kind != "M" for other in X.dtypes):
        return Origin(datetime.date, None)
    # It has no null but that of numbers and dates.
    if kind not in "iufmM" and column.hasnans:
        return Origin(bool, None) if kind == "b" else _NULLS
    return None


def _origin(given: pd.Series, converted: pd.Series) -> Origin | None:
    loose = isinstance(given.dtype, _LOOSE) and given.dtype.kind not in _PLAIN
    if not loose or converted.dtype == object:
        return None
    missing, kind = converted.isna().to_numpy(), converted.dtype.kind
    if kind == "M":
        days = not missing.all() and type(given.iloc[missing.argmin()]) is datetime.date
        return Origin(datetime.date, np.nan) if days else None
    if not missing.any() and kind not in _TYPES:
        return None
    none = missing.any() and all(cell is None for cell in given[missing])
    return Origin(_TYPES.get(kind), None if none else np.nan)


def _from_array(X: Table, how: Callable[[pd.Series], pd.Series | None]) -> Any:
    # NumPy makes text of every value as soon as one is text.
    if frames.library(X) == "cupyx":
        X = X.tocsr()  # itself, where it is; cuML takes no other form
    try:
        array = X if frames.library(X) in frames.ARRAYS or frames.is_sparse(X) else np.asarray(X)
    except ValueError as error:  # lists of different lengths
        raise DataError(f"X is not a table: {error}; pass rows of equal length") from error
    if array is not X and array.dtype.kind in "US":
        array = np.asarray(X, dtype=object)
    if len(array.shape) != 2:
        raise DataError(
            f"X has {len(array.shape)} dimension(s), but a table has 2. Reshape your data: "
            "X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row"
        )
    if array.dtype.kind in "cSV":
        why = "Complex data not supported: " if array.dtype.kind == "c" else ""
        do = "X.astype(str)" if array.dtype.kind == "S" else "real numbers"
        raise DataError(f"{why}X holds {array.dtype} values; pass {do}")
    if array.dtype.kind in _PLAIN:
        return array
    if array.dtype.kind in "mM":
        made = pd.DataFrame(array)
    else:
        made = _settle(pd.DataFrame(array.astype(object), dtype=object), how)
    made.attrs[_ARRAY] = array.dtype.kind
    return made
