"""What the stand-in of cuDF does to a column of pandas that pandas itself would not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd


def memory(host: Any) -> int:
    """Return the bytes of a table as `pipeline.frames` counts them."""
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
