"""SimpleImputer on blocks of numbers and of categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.impute import SimpleImputer

from pipeline import frames
from pipeline.preprocessing.blocks import Categories, Numbers
from pipeline.preprocessing.distinct import (
    Distinct,
    count,
    frame_of,
    merge_columns,
    nothing,
    positions,
)
from pipeline.preprocessing.moments import Moments, merge, moments
from pipeline.preprocessing.twin import ANY, Twin

AVERAGES = ("mean", "median")


class SimpleImputerTwin(Twin[Any]):
    """Replace missing values by a statistic of each column.

    The statistic of a block depends on the strategy: `Moments` for the mean,
    the values themselves for the median (exact), `Distinct` for the others.
    """

    original = SimpleImputer
    honours = {
        "strategy": ("mean", "median", "most_frequent", "constant"),
        "fill_value": ANY,
        "copy": ANY,
        "missing_values": (np.nan, None, pd.NA),
    }
    reads = Numbers

    def form(self, X: Any, names: Sequence[Any] | None) -> type:
        """Return `Categories` where a column holds anything but numbers."""
        if self.spec.strategy in AVERAGES:
            return Numbers
        columns = [frames.column(X, name) for name in names or ()]
        return Numbers if all(c.dtype.kind in "iufb" for c in columns) else Categories

    def partial(self, block: Numbers | Categories, *aligned: Any) -> Any:
        """Return what the strategy needs to know of the block."""
        if isinstance(block, Categories):
            return [_tally(column) for column in block.columns]
        xp = frames.array_module(frames.device_of(block.values))
        if self.spec.strategy == "mean":
            return moments(floats(block.values), xp)
        columns = [column[~xp.isnan(column)] for column in block.values.T]
        if self.spec.strategy == "median":
            return [[column] for column in columns]
        return [_tally(frames.coded(column)) for column in columns]

    def merge(self, a: Any, b: Any) -> Any:
        """Merge the statistics of two blocks."""
        if isinstance(a, Moments):
            return merge(a, b)
        if self.spec.strategy == "median":
            return [x + y for x, y in zip(a, b, strict=True)]
        return merge_columns(a, b)

    def finish(self, stats: Any) -> None:
        """Fit scikit-learn's imputer on a table of one row: the statistics."""
        row = self._statistics(stats)
        table = frame_of(range(len(row)) if self.names is None else self.names, row)
        named = self.names is not None
        self.fitted = clone(self.spec).fit(table if named else table.to_numpy())

    def _statistics(self, stats: Any) -> list[np.ndarray]:
        """Return each column's statistic as an array of one entry, in the column's type."""
        if isinstance(stats, Moments):
            mean = np.where(stats.rows > 0, stats.mean, np.nan)
            return list(mean[:, None])
        if self.spec.strategy == "median":
            return [np.array([_median(parts)]) for parts in stats]
        return [_most_frequent(column) for column in stats]

    def apply(self, block: Numbers | Categories) -> Numbers | Categories:
        """Fill the missing values; columns without any value at fit are dropped."""
        statistics = self.fitted.statistics_
        kept = np.flatnonzero(~pd.isna(statistics)).tolist()
        if isinstance(block, Categories):
            return Categories([_fill(block.columns[j], statistics[j]) for j in kept])
        xp = frames.array_module(frames.device_of(block.values))
        values = block.values if len(kept) == len(statistics) else block.values[:, kept]
        values = floats(values) if self.spec.strategy in AVERAGES else values
        fill = frames.to_device(statistics[kept].astype(values.dtype), frames.device_of(values))
        return Numbers(xp.where(xp.isnan(values), fill, values))


def floats(values: Any) -> Any:
    """Return a matrix of floats as it is and any other as float64."""
    return values if values.dtype.kind == "f" else values.astype("float64")


def _tally(column: frames.Coded) -> Distinct:
    xp = frames.array_module(frames.device_of(column.codes))
    counts = count(column.codes, len(column.values), xp)
    return Distinct(column.values, frames.to_host(counts)[None].astype("float64"))


def _median(parts: Sequence[Any]) -> float:
    xp = frames.array_module(frames.device_of(parts[0]))
    values = xp.concatenate(parts)
    return float(xp.median(values)) if len(values) else np.nan


def _most_frequent(column: Distinct) -> np.ndarray:
    counts = column.sums[0, :-1]
    if not counts.any():
        return nothing(column.values.dtype)
    return np.array([min(column.values[counts == counts.max()])], dtype=column.values.dtype)


def _fill(column: frames.Coded, value: Any) -> frames.Coded:
    xp = frames.array_module(frames.device_of(column.codes))
    values = column.values
    position = int(positions(values, np.array([value], dtype=values.dtype))[0])
    if position < 0:
        position, values = len(values), np.append(values, value)
    codes = column.codes.astype("int32")
    return frames.Coded(xp.where(codes < 0, position, codes), values)
