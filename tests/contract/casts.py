"""What the stand-in of cuDF does to a column of pandas that pandas itself would not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

View = tuple[pd.Series, int]
"""The whole column that some rows are a view of, and the place of the first of them."""


def view(column: pd.Series, rows: slice, of: View | None) -> View | None:
    """Return what some rows of a column are a view of; None where they are copied, or none."""
    start, stop, step = rows.indices(len(column))
    whole, first = of or (column, 0)
    return (whole, first + start) if step == 1 and start < stop else None


def held(column: pd.Series, of: View | None) -> int:
    """Return the bytes that cuDF says a column takes: of text and of times, all that are behind.

    Follows `cudf.core.column.column.ColumnBase._plc_memory_usage_buffers`.
    """
    fixed = column.dtype.kind in "iufb" or str(column.dtype) == "category"
    return memory(column if of is None or fixed else of[0])


def masked_from_the_start(cast: pd.Series, of: View) -> pd.Series:
    """Return categories that have the null mask of the whole column, read from its first bit.

    Follows `cudf.core.column.column.ColumnBase.as_categorical_column`, which sets the mask of
    the view, but not its offset, on codes.
    """
    return cast.mask(of[0].isna().to_numpy()[: len(cast)])


def as_host(column: pd.Series, plain: Any) -> pd.Series:
    """Return a column as `to_pandas` makes it: nulls turn bools into objects, integers into floats.

    `plain` is the type of a column that pandas can only hold with a mask.
    """
    if plain is None:
        return column.copy()
    if not column.hasnans:
        return column.astype(plain)
    if plain.kind == "b":
        return column.astype(object).where(column.notna(), None)
    return column.astype("float64")


def memory(host: Any) -> int:
    """Return the bytes of a table as `pipeline.data.frames` counts them."""
    if isinstance(host, pd.Index):
        return int(host.memory_usage(deep=True))
    return int(np.sum(host.memory_usage(index=False)))


def as_counts(host: pd.Series) -> pd.Series:
    """Return dates or durations as counts of their unit; null where they are missing.

    Follows `cudf.core.column.temporal_base.as_numerical_column`; pandas refuses NaT.
    """
    if isinstance(host.dtype, pd.DatetimeTZDtype):
        host = host.dt.tz_convert(None)
    counts = host.to_numpy().view("int64")
    return pd.Series(pd.arrays.IntegerArray(counts, host.isna().to_numpy()), index=host.index)
