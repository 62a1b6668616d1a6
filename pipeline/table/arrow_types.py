"""Arrow tables: how other libraries' frames become one, and what their types hold."""

from __future__ import annotations

from typing import Any, TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import DataError
from pipeline.table import frames
from pipeline.table.convert import repeated, to_arrow

Cells: TypeAlias = "pa.ChunkedArray | pa.Array"
MOMENT = pa.timestamp("ns")
_REACH = [int(pd.Timestamp(day).timestamp()) for day in ("1677-09-22", "2262-04-11")]
"""The first and the last day that nanoseconds reach, in seconds."""
_CELLS = (str, int, float, bool)


def is_number(kind: pa.DataType) -> bool:
    """Whether a type is one of numbers."""
    types = pa.types
    return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is one of text, or of categories of it."""
    kind = decoded_type(kind)
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()


def is_date(kind: pa.DataType) -> bool:
    """Whether a type is one of dates or moments."""
    return pa.types.is_date(kind) or pa.types.is_timestamp(kind)


def decoded_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values that categories stand for, and any other type itself."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def decoded(values: Any) -> Any:
    """Return categories as the values that they stand for, and any other values themselves.

    >>> decoded(pa.array(["a", "b", "a"]).dictionary_encode()).to_pylist()
    ['a', 'b', 'a']
    """
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


def plain_values(values: Cells) -> Cells:
    """Return a column in a type that models know.

    Times of day become that time on 1970-01-01, durations seconds, decimals floats; categories of
    anything but text what they stand for.

    >>> import datetime
    >>> plain_values(pa.array([datetime.time(12, 30)]))[0].as_py().hour
    12
    """
    values = values if is_text(values.type) else decoded(values)
    kind = values.type
    if pa.types.is_time(kind):
        return values.cast(pa.time64("ns")).cast(pa.int64()).cast(MOMENT)
    if pa.types.is_duration(kind):
        return pc.divide(values.cast(pa.duration("ns")).cast(pa.int64()).cast(pa.float64()), 1e9)
    if pa.types.is_string_view(kind):  # Arrow has few functions for it.
        return values.cast(pa.string())
    return values.cast(pa.float64()) if pa.types.is_decimal(kind) else values


def usable(values: Cells) -> Cells:
    """Return values that models take.

    Infinite numbers, and dates that nanoseconds do not reach, are missing.

    >>> usable(pa.array([1.5, float("inf")])).to_pylist()
    [1.5, None]
    """
    kind = values.type
    if pa.types.is_floating(kind):
        fine = pc.is_finite(values)
    elif is_date(kind) and getattr(kind, "unit", "") != "ns":
        seconds = values.cast(pa.timestamp("s", getattr(kind, "tz", None)), safe=False)
        ticks = seconds.cast(pa.int64())
        fine = pc.and_(pc.greater_equal(ticks, _REACH[0]), pc.less_equal(ticks, _REACH[1]))
    else:
        return values
    return values if pc.all(fine).as_py() in (True, None) else pc.if_else(fine, values, None)


def as_text(values: Cells) -> Cells:
    """Return values as cells of text, categories as what they stand for."""
    values = decoded(values)
    if pa.types.is_floating(values.type):
        whole = pc.all(pc.equal(values, pc.trunc(values))).as_py()
        values = values.cast(pa.int64(), safe=False) if whole else values
    return values.cast(pa.string())


def arrow_table(source: Any) -> pa.Table:
    """Return a table of any library as Arrow's; named levels of an index become columns.

    A column that mixes texts and numbers becomes text. `DataError` says that it is not a table
    with column names, or that a column holds values of an unsupported type.

    >>> arrow_table(pd.DataFrame({"a": [1, "n.a.", None]}, dtype=object))["a"].to_pylist()
    ['1', 'n.a.', None]
    """
    if frames.is_frame(source):
        frame = frames.to_device(source, "cpu")
        if labels := [n for n in frame.index.names if n is not None and n not in frame.columns]:
            frame = frame.reset_index(labels)
        names, columns = frame.columns, (_column(frame[name], name) for name in frame.columns)
    elif (table := to_arrow(source)) is not None:
        # Arrow decodes no categories that are views, as those of Polars are.
        coded, view = pa.dictionary(pa.int32(), pa.string()), pa.string_view()
        cast = {each: coded for each in table.schema.types if each != view == decoded_type(each)}
        names = pd.Index(table.column_names)
        columns = (c.cast(cast[c.type]) if c.type in cast else c for c in table.columns)
    else:
        what = type(source).__name__
        raise DataError(f"a {what} is not a table with column names; pass a path or a frame")
    if not (texts := names.map(str)).is_unique:
        raise repeated(texts)
    return pa.table(dict(zip(texts, columns, strict=True)))


def _column(series: pd.Series, name: Any) -> pa.Array:
    if isinstance(series.dtype, pd.SparseDtype):
        series = series.astype(series.dtype.subtype)
    try:
        values = pa.array(series, from_pandas=True)
        if isinstance(decoded_type(values.type), pa.BaseExtensionType):  # periods, intervals
            values = pa.array(series.astype("str").where(series.notna()), pa.string())
        return values
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        # Cells of several types are text, as a file would hold them.
        known = series.notna()
        odd = [i for i, each in enumerate(series) if known.iloc[i] and not isinstance(each, _CELLS)]
        if odd:
            value = series.iloc[odd[0]]
            raise DataError(
                f"column {name!r} holds values of several types, or of a type that tables do not "
                f"support: {value!r} in row {odd[0]}; convert it to one type (astype('str'), "
                "pandas.to_numeric)"
            ) from error
        return pa.array([str(each) if k else None for each, k in zip(series, known, strict=True)])
