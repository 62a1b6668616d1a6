"""Frames of pandas and Polars as Arrow tables, each column of one type."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa

from pipeline.data import frames
from pipeline.data.arrow_types import decoded_type
from pipeline.data.convert import to_arrow
from pipeline.errors import DataError

_CELLS = (str, int, float, bool)


def arrow_table(source: Any) -> pa.Table:
    """Return a table as Arrow's; of an index what has a name is a column.

    Parameters
    ----------
    source : frame or table
        pandas, cuDF, Polars, PyArrow; or any object with ``__arrow_c_stream__`` or
        ``__dataframe__``. A column of texts beside numbers becomes text.

    Raises
    ------
    DataError
        It is no table with names, or a column holds what is no cell.

    Examples
    --------
    >>> arrow_table(pd.DataFrame({"a": [1, "n.a.", None]}, dtype=object))["a"].to_pylist()
    ['1', 'n.a.', None]
    """
    if frames.is_frame(source):
        frame = frames.to_device(source, "cpu")
        _check(frame.columns)
        if labels := [n for n in frame.index.names if n is not None and n not in frame.columns]:
            frame = frame.reset_index(labels)
        return pa.table({str(name): _column(frame[name], name) for name in frame.columns})
    table = to_arrow(source)
    if table is None:
        what = type(source).__name__
        raise DataError(f"a {what} is no table with names for its columns; pass a path or a frame")
    _check(pd.Index(table.column_names))
    return pa.table({name: _castable(table[name]) for name in table.column_names})


def _check(names: pd.Index) -> None:
    names = names.map(str)
    if not names.is_unique:
        twice = names[names.duplicated()].tolist()
        raise DataError(f"the table has columns with the same name: {twice}; rename them")


def _castable(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return categories of Polars in a type that Arrow decodes."""
    kind = values.type
    views = kind != pa.string_view() and decoded_type(kind) == pa.string_view()
    return values.cast(pa.dictionary(pa.int32(), pa.string())) if views else values


def _column(series: pd.Series, name: Any) -> pa.Array:
    if isinstance(series.dtype, pd.SparseDtype):
        series = series.astype(series.dtype.subtype)
    try:
        values = pa.array(series, from_pandas=True)
        if isinstance(decoded_type(values.type), pa.BaseExtensionType):  # periods, intervals
            return pa.array(series.astype("str").where(series.notna()), pa.string())
        return values
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        return _text(series, name, error)


def _text(series: pd.Series, name: Any, error: Exception) -> pa.Array:
    """Return cells of several types as text, as a file would hold them."""
    known = series.notna()
    odd = [i for i, each in enumerate(series) if known.iloc[i] and not isinstance(each, _CELLS)]
    if odd:
        value = series.iloc[odd[0]]
        raise DataError(
            f"column {name!r} holds values of several types, or of one that no table has: "
            f"{value!r} in row {odd[0]}; make them one type (astype('str'), pandas.to_numeric)"
        ) from error
    return pa.array([str(each) if k else None for each, k in zip(series, known, strict=True)])
