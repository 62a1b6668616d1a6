"""SimpleImputer, on numbers and on categories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.impute._base import _safe_min

from pipeline.blocks.block import Categories, Numbers, fill_missing
from pipeline.table import encode, frames
from pipeline.table.borrowed import borrow
from pipeline.table.output import container
from pipeline.twins.statistics.categories import (
    CategorySums,
    count_category_rows,
    merge_columns,
    missing_value,
    positions,
    tally_columns,
)
from pipeline.twins.statistics.moments import Moments, moments
from pipeline.twins.statistics.quantiles import RowBlocks, median
from pipeline.twins.twin import ALL, ANY, Twin
from pipeline.typing import Array

AVERAGES = ("mean", "median")


class Seen(NamedTuple):
    """What is known of some rows."""

    values: Any
    """Of the values that are there; the type depends on the strategy."""
    missing: np.ndarray
    """Which columns miss values, on the host; none do where no indicator is asked for."""


class SimpleImputerTwin(Twin[Seen]):
    """Replace missing values by a statistic of each column.

    The statistic of a block depends on the strategy: `Moments` for the mean,
    `CategorySums` for the most frequent value and for a constant, and the values
    themselves for the median, which is exact.
    """

    sklearn_class = SimpleImputer
    takes_sparse = True
    supported_params = {
        "strategy": ("mean", "median", "most_frequent", "constant"),
        "fill_value": ANY,
        "copy": ANY,
        "missing_values": (np.nan,),
        "add_indicator": (False, True),
        "keep_empty_features": (False, True),
    }
    exact = True
    slower = {"F": range(15_000, 3_000_000)}

    @classmethod
    def slower_at(cls, estimator: SimpleImputer) -> Mapping[str, range]:
        """Return all sizes where values are counted, and none where they are sorted."""
        if estimator.strategy in AVERAGES:
            return cls.slower if estimator.strategy == "mean" else {}
        return {"F": ALL, "C": ALL}

    def form(self, numeric: Callable[[], bool]) -> type:
        """Return `Categories` where a column holds anything but numbers."""
        return Numbers if self.estimator.strategy in AVERAGES or numeric() else Categories

    def statistics(self, block: Numbers | Categories, *aligned: Any) -> Seen:
        """Return what the strategy needs to know of the block."""
        missing = np.zeros(block.width, dtype=bool)
        if self.estimator.add_indicator:
            missing = frames.to_host(is_missing(block).any(axis=0))
        return Seen(self._values(block), missing)

    def _values(self, block: Numbers | Categories) -> Any:
        if isinstance(block, Categories):
            return tally_columns(block.columns, count_category_rows)
        xp = frames.xp(block.values)
        if self.estimator.strategy == "mean":
            return moments(floats(block.values), xp)
        if self.estimator.strategy == "median":
            return RowBlocks([block.values])
        return tally_columns(encode.all_coded(block.values.T), count_category_rows)

    def merge(self, a: Seen, b: Seen) -> Seen:
        """Merge the statistics of two blocks."""
        merge = merge_columns if isinstance(a.values, list) else type(a.values).merge
        return Seen(merge(a.values, b.values), a.missing | b.missing)

    def finalize(self, stats: Seen) -> None:
        """Fit scikit-learn's imputer on a table of one row: the statistics."""
        self.fitted = borrow(self.estimator).fit(self._row(stats.values))
        if self.estimator.add_indicator:
            self.fitted.indicator_._fit(stats.missing[None], precomputed=True)
        self.prepare()

    def _row(self, stats: Any) -> Any:
        """Return each column's statistic; where some are no numbers, in the column's type."""
        if isinstance(stats, Moments):
            return np.where(stats.rows > 0, stats.mean, np.nan)[None]
        if isinstance(stats, RowBlocks):
            return median(stats)[None]
        found = map(_most_frequent, stats)
        # Given the type, pandas does not make NaN of None.
        row = pd.DataFrame({j: pd.Series(one, dtype=one.dtype) for j, one in enumerate(found)})
        return row.to_numpy() if self.names is None else row.set_axis(list(self.names), axis=1)

    def warning(self) -> str:
        """Return what scikit-learn says of columns without any value at fit, which are dropped."""
        n_columns = len(self.fitted.statistics_)
        if len(self._kept) == n_columns:
            return ""
        named = getattr(self.fitted, "feature_names_in_", np.arange(n_columns))
        return (
            f"Skipping features without any observed values: {np.delete(named, self._kept)}. At "
            "least one non-missing value is needed for imputation with "
            f"strategy='{self.estimator.strategy}'."
        )

    def apply(self, block: Numbers | Categories) -> Numbers | Categories:
        """Fill the missing values, and put the indicators behind.

        Columns without any value at fit are dropped, unless `keep_empty_features`.
        """
        whole = self._filled(block)
        if isinstance(whole, Categories) and container(self.estimator) == "pandas":
            whole = Categories([*map(_as_framed, whole.columns)])
        if not self.estimator.add_indicator or not len(self.fitted.indicator_.features_):
            return whole
        mask = is_missing(block)
        columns = frames.to_device_of(self.fitted.indicator_.features_, mask)
        return _beside(whole, mask.take(columns, axis=1))

    def prepare(self) -> None:
        """Note the columns that are not dropped."""
        statistics = self.fitted.statistics_
        there = (statistics == statistics) | self.estimator.keep_empty_features
        self._kept = np.flatnonzero(there).tolist()

    def _filled(self, block: Numbers | Categories) -> Numbers | Categories:
        statistics, kept = self.fitted.statistics_, self._kept
        if isinstance(block, Categories):
            return Categories([_fill(block.columns[j], statistics[j]) for j in kept])
        xp = frames.xp(block.values)
        if len(kept) < len(statistics):
            block, statistics = Numbers(block.values[:, kept]), statistics[kept]
        values = floats(block.values) if self.estimator.strategy in AVERAGES else block.values
        fill = frames.to_device_of(statistics.astype(values.dtype), values)
        return Numbers(fill_missing(values, xp.isnan(values), fill, xp))


def _beside(block: Numbers | Categories, mask: Array) -> Numbers | Categories:
    """Return the block columns and the mask in one block, as scikit-learn stacks them."""
    if isinstance(block, Categories):
        flags = np.array([False, True], dtype=object)
        columns = [encode.Coded(column.astype("int32"), flags) for column in mask.T]
        return Categories([*block.columns, *columns])
    xp = frames.xp(mask)
    values = block.values
    return Numbers(xp.concatenate([values, mask.astype(values.dtype)], axis=1))


def floats(values: Array) -> Any:
    """Return a matrix of floats as it is and any other as float64."""
    return values if values.dtype.kind == "f" else values.astype("float64")


def _most_frequent(column: CategorySums) -> np.ndarray:
    """Return the most frequent value that is not missing, of several the least, as one entry."""
    counts = column.sums[0, :-1]
    if not counts.any():
        return missing_value(column.values.dtype)
    found = np.empty(1, dtype=column.values.dtype)
    found[0] = _safe_min(column.values[counts == counts.max()])
    return found


def _fill(column: encode.Coded, value: Any) -> encode.Coded:
    """Return a column of objects, as scikit-learn's array of all columns holds them."""
    values = pd.Series(column.values, dtype=column.values.dtype).astype(object).to_numpy()
    filled = np.empty(1, dtype=object)
    filled[0] = value
    position = int(positions(values, filled)[0])
    if position < 0:
        position, values = len(values), np.append(values, filled)
    codes = column.codes.astype("int32")
    return encode.CodedObjects(frames.xp(codes).where(codes < 0, position, codes), values)


def _as_framed(column: encode.Coded) -> encode.Coded:
    """Return a column of objects as pandas has it in a frame that it makes of an array of them."""
    xp = frames.xp(column.codes)
    found, codes = xp.unique(column.codes, return_inverse=True)
    found = frames.to_host(found)
    values = column.values[found[found >= 0]]
    codes = codes - int((found < 0).any())
    kind = pd.DataFrame(values[:, None])[0].dtype
    if kind == "str":
        none = int(positions(values, np.array([None], dtype=object))[0]) if len(values) else -1
        return encode.Coded(xp.where(codes == none, -1, codes), values)
    if kind.kind != "M":
        return column
    return encode.Coded(codes, pd.Index(values.tolist()).to_numpy())


def is_missing(block: Numbers | Categories) -> Any:
    """Return which values of a block are missing, shape (n_rows, width), on its device."""
    if isinstance(block, Numbers):
        return frames.xp(block.values).isnan(block.values)
    codes = [column.codes < 0 for column in block.columns]
    return frames.xp(codes[0]).stack(codes, axis=1)
