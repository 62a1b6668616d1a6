"""Order statistics of columns, however the rows are split into blocks.

They are exact: blocks are only collected, and each column is joined once. The columns have to
fit in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from sklearn.utils import resample

from pipeline import trace
from pipeline.system import threads
from pipeline.table import encode, frames
from pipeline.twins.statistics.moments import MinMax, min_max

SMALL, SHORT = 2**16, 2**12
"""Cells, or rows, of which a statistic is found sooner than by threads."""


@dataclass(frozen=True)
class RowBlocks:
    """All values seen, on their device."""

    blocks: list[Any]
    """In the order of the rows."""
    unrecorded: list[int] = field(default_factory=list)
    """Bytes that came to the host between two processes, and are in no log yet."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Note for the process that reads them what crosses the host: arrays on a device do."""
        device = frames.device_of(self.blocks[0])
        moved = sum(block.nbytes for block in self.blocks) if device == "cuda" else 0
        return RowBlocks, (self.blocks, [moved])

    @property
    def n_rows(self) -> int:
        """Number of rows, missing values included."""
        return sum(len(block) for block in self.blocks)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.blocks[0].shape[1])

    @property
    def xp(self) -> Any:
        """The module of the arrays."""
        return frames.xp(self.blocks[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type that the blocks have together."""
        return np.result_type(*(block.dtype for block in self.blocks))

    @property
    def counts(self) -> np.ndarray:
        """Number of values that are not missing, shape (n_columns,)."""
        return frames.to_host(sum((~self.xp.isnan(block)).sum(axis=0) for block in self.blocks))

    @property
    def min_max(self) -> MinMax:
        """Number of rows, least and greatest values."""
        return reduce(MinMax.merge, map(min_max, self.blocks))

    def column(self, j: int) -> Any:
        """Return a copy of one column, shape (n_rows,)."""
        return self.xp.concatenate([block[:, j] for block in self.blocks])

    def to_host(self) -> np.ndarray:
        """Return all rows on the host."""
        self.record_transfers()
        return np.concatenate([frames.to_device(block, "cpu") for block in self.blocks])

    def merge(self, other: RowBlocks) -> RowBlocks:
        """Return the rows of both, in this order; the values stay where they are."""
        return RowBlocks(self.blocks + other.blocks, self.unrecorded + other.unrecorded)

    def record_transfers(self) -> None:
        """Record what came to the host between two processes, once."""
        while self.unrecorded:
            trace.record_transfer(to_host=self.unrecorded.pop())


def draw_rows(stat: RowBlocks, size: int | None, random_state: Any, *, replace: bool) -> RowBlocks:
    """Return the rows that scikit-learn draws where there are more than `size`, in their order."""
    if size is None or stat.n_rows <= size:
        return stat
    options = {"n_samples": size, "random_state": random_state}
    chosen = np.sort(resample(np.arange(stat.n_rows), replace=replace, **options))
    ends = np.cumsum([len(block) for block in stat.blocks])
    parts = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
    found = zip(stat.blocks, ends, parts, strict=True)
    rows = [block[stat.xp.asarray(part - (end - len(block)))] for block, end, part in found]
    return RowBlocks(rows, stat.unrecorded)


def quantile(stat: RowBlocks, q: Any) -> np.ndarray:
    """Return quantiles of each column, missing values left out, as `numpy.nanquantile` does.

    Shape (n_quantiles, n_columns), NaN for an empty column.

    >>> rows = RowBlocks([np.array([[1.0], [2.0], [np.nan], [4.0]])])
    >>> quantile(rows, [0.5, 0.75]).ravel().tolist()
    [2.0, 3.0]
    """
    q = np.asarray(q, dtype="float64")
    if stat.xp is not np:
        return _quantiles_on_gpu(stat, q)

    def find(values: np.ndarray) -> Any:
        return np.quantile(values, q, overwrite_input=True)

    return _of_columns(stat, find, np.full(len(q), np.nan)).T


def median(stat: RowBlocks) -> np.ndarray:
    """Return the median of each column as `numpy.nanmedian` does: in the type of the values.

    >>> median(RowBlocks([np.float32([[1.0], [2.0], [np.nan], [4.0]])]))
    array([2.], dtype=float32)
    """
    if stat.xp is not np:
        (found,) = _quantiles_on_gpu(stat, np.array([0.5]))
        return found.astype(np.result_type(stat.dtype, "float32"), copy=False)
    found = _of_columns(stat, np.median, np.nan)
    return found.astype(stat.dtype, copy=False) if stat.dtype.kind == "f" else found


def _of_columns(stat: RowBlocks, find: Callable[[np.ndarray], Any], none: Any) -> np.ndarray:
    """Return a function of the values of each column of the host; `none` where there are none."""

    def found(j: int) -> Any:
        column = stat.column(j)
        column = column if column.dtype.kind == "f" else column.astype("float64")
        values = column[~np.isnan(column)]
        return find(values) if len(values) else none

    alone = stat.n_rows < SHORT or stat.blocks[0].size < SMALL
    apply = map if alone else threads.each
    return np.stack([*apply(found, range(stat.n_columns))])


def _quantiles_on_gpu(stat: RowBlocks, q: np.ndarray) -> np.ndarray:
    stat.record_transfers()
    last = np.maximum(stat.counts[:, None] - 1, 0)
    places = last * q
    low, high = np.floor(places).astype("int64"), np.ceil(places).astype("int64")

    def select(j: int) -> Any:
        # CuPy would sort NaN too, but for some sizes by a kernel that has no place for it.
        column = encode.sortable(stat.column(j))
        column.sort()
        return column[stat.xp.asarray(np.stack([low[j], high[j]]))]

    found = frames.to_host(stat.xp.stack([*map(select, range(stat.n_columns))])).astype("float64")
    lower, upper = found[:, 0], found[:, 1]
    return (lower + (upper - lower) * (places - low)).T
