"""Order statistics of columns, whatever the blocks they came in.

They are exact: blocks are only put aside, so joining them costs nothing, and
each column is then gathered once and partitioned at the ranks that are needed;
for many ranks it is sorted. The columns have to fit in memory.

The interpolation between two ranks is NumPy's, for all nine methods of Hyndman
and Fan, "Sample Quantiles in Statistical Packages" (1996).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import resample

from pipeline import trace
from pipeline.data import encode, frames
from pipeline.optional import load
from pipeline.preprocessing.statistics.min_max import MinMax, min_maxes
from pipeline.system import threads
from pipeline.typing import Array, Column, Estimator

T = TypeVar("T")
R = TypeVar("R")

MANY = 512
"""With more ranks than this a column is sorted."""

_OFFSETS = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
}


@dataclass(frozen=True)
class RowBlocks:
    """All values seen, on their device.

    Parameters
    ----------
    blocks : list of array, each of shape (n_block_rows, n_columns)
        In the order of the rows.
    unrecorded : list of int
        Bytes that came to the host between two processes, and are in no log yet.
    """

    blocks: list[Any]
    unrecorded: list[int] = field(default_factory=list)

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
        return reduce(MinMax.merge, min_maxes(self.blocks))

    def column(self, j: int) -> Any:
        """Return a copy of one column, shape (n_rows,)."""
        return self.xp.concatenate([block[:, j] for block in self.blocks])

    def to_host(self) -> np.ndarray:
        """Return all rows on the host."""
        self.record_transfers()
        return frames.to_host(self.xp.concatenate(self.blocks))

    def merge(self, other: RowBlocks) -> RowBlocks:
        """Return the rows of both, in this order; the values stay where they are."""
        return RowBlocks(self.blocks + other.blocks, self.unrecorded + other.unrecorded)

    def record_transfers(self) -> None:
        """Record what came to the host between two processes, once."""
        while self.unrecorded:
            trace.record_transfer(to_host=self.unrecorded.pop())

    def at(self, wanted: np.ndarray) -> np.ndarray:
        """Return the values of the wanted ranks, shape of `wanted`: (n_columns, ...)."""

        def select(j: int) -> Any:
            return _at_ranks(self.column(j), wanted[j])

        columns = on_all_cores(select, range(self.n_columns), self.blocks[0])
        return frames.to_host(self.xp.stack(columns))


class KeptRows(NamedTuple):
    """All values seen, which scikit-learn learns from itself, and the weights of their rows."""

    rows: RowBlocks
    weights: RowBlocks | None
    """One column."""

    def merge(self, other: KeptRows) -> KeptRows:
        """Return the rows of both, in this order."""
        weights = self.weights and other.weights and self.weights.merge(other.weights)
        return KeptRows(self.rows.merge(other.rows), weights)

    def fit(self, estimator: Estimator) -> Any:
        """Return a transformer that scikit-learn has fitted on all rows, on the host."""
        params = {"sample_weight": self.weights.to_host()[:, 0]} if self.weights else {}
        return clone(estimator).fit(self.rows.to_host(), **params)


def keep_rows(values: Array, aligned: Sequence[Any] = ()) -> KeptRows:
    """Return the rows, with their weights where there are any.

    >>> keep_rows(np.eye(2), [np.ones(2)]).weights.n_columns
    1
    """
    weights = RowBlocks([aligned[0][:, None]]) if aligned else None
    return KeptRows(RowBlocks([values]), weights)


def draw_rows(stat: RowBlocks, size: int | None, random_state: Any, *, replace: bool) -> RowBlocks:
    """Return the rows that scikit-learn draws where there are more than `size`."""
    if size is None or stat.n_rows <= size:
        return stat
    options = {"n_samples": size, "random_state": random_state}
    return take_rows(stat, resample(np.arange(stat.n_rows), replace=replace, **options))


def take_rows(stat: RowBlocks, chosen: np.ndarray) -> RowBlocks:
    """Return the rows at the given positions, in ascending order; some may occur repeatedly.

    >>> take_rows(RowBlocks([np.array([[5], [6], [7]])]), np.array([2, 0, 2])).column(0).tolist()
    [5, 7, 7]
    """
    chosen = np.sort(chosen)
    edges = list(accumulate((len(block) for block in stat.blocks), initial=0))
    cuts = np.searchsorted(chosen, edges)
    parts = zip(stat.blocks, edges, pairwise(cuts), strict=False)
    rows = [block[stat.xp.asarray(chosen[a:b] - start)] for block, start, (a, b) in parts if a < b]
    return RowBlocks(rows, stat.unrecorded)


def quantile(stat: RowBlocks, q: Any, method: str = "linear") -> np.ndarray:
    """Return quantiles of each column, missing values left out, as `numpy.nanquantile` does.

    Parameters
    ----------
    stat : RowBlocks
    q : array-like of float, shape (n_quantiles,)
        Between 0 and 1.
    method : str
        One of NumPy's nine continuous and discontinuous methods.

    Returns
    -------
    numpy.ndarray of float, shape (n_quantiles, n_columns)
        On the host; NaN for columns without values.

    Examples
    --------
    >>> rows = RowBlocks([np.array([[1.0], [2.0], [np.nan], [4.0]])])
    >>> quantile(rows, [0.5, 0.75]).ravel().tolist()
    [2.0, 3.0]
    """
    values, shares = _neighbors(stat, np.asarray(q, dtype="float64"), method)
    pairs = zip(values, shares, strict=True)
    return np.stack([_between(low, high, share) for (low, high), share in pairs], axis=1)


def median(stat: RowBlocks) -> np.ndarray:
    """Return the median of each column as `numpy.nanmedian` does: in the type of the values.

    >>> median(RowBlocks([np.float32([[1.0], [2.0], [np.nan], [4.0]])]))
    array([2.], dtype=float32)
    """
    return median_and_quantiles(stat, [])[0]


def median_and_quantiles(stat: RowBlocks, q: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return what `median` and `quantile` do; a column is sorted once, and a GPU waited for."""
    values, shares = _neighbors(stat, np.append(0.5, np.asarray(q, dtype="float64")), "linear")
    low, high = values[:, 0, 0], values[:, 1, 0]
    middle = np.mean([low, np.where([share[0] == 0 for share in shares], low, high)], axis=0)
    pairs = zip(values, shares, strict=True)
    found = [_between(low[1:], high[1:], share[1:]) for (low, high), share in pairs]
    return middle, np.stack(found, axis=1)


def _neighbors(
    stat: RowBlocks, levels: np.ndarray, method: str
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the two values that each quantile lies between, and how far it is to the second."""
    stat.record_transfers()
    places = [quantile_ranks(int(n), levels, method) for n in stat.counts]
    values = stat.at(np.stack([place[:2] for place in places]))
    values = values if values.dtype.kind == "f" else values.astype("float64")
    return values, [share for *_, share in places]


def warn_of_empty(stat: RowBlocks) -> None:
    """Warn as NumPy does, and so scikit-learn, where a column has no values."""
    if not stat.counts.all():
        warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=2)


def quantile_ranks(n: int, q: np.ndarray, method: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the two ranks that each quantile lies between, and how far it is to the second.

    >>> [array.tolist() for array in quantile_ranks(4, np.array([0.5]), "linear")]
    [[1], [2], [0.5]]
    """
    place = _place(n, q, method)
    below = np.floor(place)
    share = place - below
    if method == "inverted_cdf":
        share = np.where(share == 0, 0.0, 1.0)
    elif method == "averaged_inverted_cdf":
        share = np.where(share == 0, 0.5, 1.0)
    elif method == "closest_observation":
        share = np.where((share == 0) & (below % 2 == 1), 0.0, 1.0)
    last = max(n - 1, 0)
    lower, upper = (np.clip(rank, 0, last).astype("int64") for rank in (below, below + 1))
    return lower, upper, share


def _place(n: int, q: np.ndarray, method: str) -> np.ndarray:
    """Return fractional ranks; written as in NumPy, for the last bit decides whose rank it is."""
    if method == "linear":
        return (n - 1) * q
    if method == "closest_observation":
        return n * q - 1 - 0.5
    if method in _OFFSETS:
        alpha, beta = _OFFSETS[method]
        return n * q + (alpha + q * (1 - alpha - beta)) - 1
    return n * q - 1


def _at_ranks(column: Column, wanted: np.ndarray) -> Any:
    """Return the values at ranks; the column is reordered."""
    distinct = np.unique(wanted)
    # CuPy would sort too, but for some sizes by a kernel that has no place for NaN.
    if len(distinct) > MANY or frames.device_of(column) == "cuda":
        column = encode.sortable(column)
        column.sort()
    else:
        column.partition(distinct.tolist())
    xp = frames.xp(column)
    return column[xp.asarray(wanted)]


def _between(lower: np.ndarray, upper: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Interpolate from the nearer end, so that equal ends give exactly their value."""
    with np.errstate(invalid="ignore"):
        step = np.where(lower == upper, 0.0, upper - lower)
        return np.where(share >= 0.5, upper - step * (1 - share), lower + step * share)


def on_all_cores(function: Callable[[T], R], items: Sequence[T], like: Array) -> list[R]:
    """Call a function for each item, on all cores where the array `like` is on the CPU."""
    return list((threads.each if frames.device_of(like) == "cpu" else map)(function, items))


def special_function(name: str, like: Array) -> Any:
    """Return a function of SciPy or CuPy's equal, whichever takes the array `like`."""
    prefix = "cupyx.scipy.special" if frames.device_of(like) == "cuda" else "scipy.special"
    return load(f"{prefix}.{name}")
