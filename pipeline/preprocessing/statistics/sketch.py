"""Quantiles of columns from sketches of bounded size, with a proven bound on their ranks.

A column is kept as buffers of `size` sorted values. In a buffer of level l each
value stands for 2**l values. Two buffers of a level are put together and sorted,
and every other value, from the second to the greatest, is a buffer of the next
level: they *collapse*. No level has two buffers, as no place of a binary number
has two digits, so n values take ``size * (log2(n / size) + 2)`` places at most.

The bound
---------
Let R(x) be the number of values up to x, and A(x) the weight of the kept values
up to x. Where the values of weight w collapse, A(x) keeps its value or loses w,
so ``R(x) - slack <= A(x) <= R(x)`` if `slack` adds up the w of all collapses; the
same holds for the values below x. A buffer of level l comes from 2**(l - 1 - j)
collapses of each weight 2**j below, so they add l * 2**(l - 1), and together, with
L the highest level, ``slack <= n * L / (2 * size)``. (Rows that come in one block
are sorted at once, and add only 2**l - 1 a buffer.) To find the value of rank t,
the value is taken at which A passes ``t - slack // 2``. Then at most
``ceil(slack / 2)`` ranks lie between t and the ranks of that value, and since
nothing collapses before there are ``2 * size`` values,

    rank error <= n * (L + 1) / (4 * size),    L <= log2(n / size).

It holds for any order of the rows, any partitions, and any order of merging; the
value itself may depend on them, within the bound. Below ``2 * size`` values a
sketch is exact.

The buffers are those of Munro and Paterson, "Selection and sorting with limited
storage" (1980); the analysis follows Manku, Rajagopalan and Lindsay, "Approximate
medians and other quantiles in one pass and with limited memory" (1998). Karnin,
Lang and Liberty, "Optimal quantile approximation in streams" (2016), need less
room, but toss coins: their bound holds with some probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from pipeline.data import frames
from pipeline.errors import ConfigError
from pipeline.preprocessing.statistics.min_max import MinMax, min_max
from pipeline.typing import Array

MOST_ROWS = 2**40
"""Up to so many rows `size_for` keeps its word; beyond, the bound grows with L."""


def size_for(rank_error: float) -> int:
    """Return the least buffer size that bounds the rank error for up to 2**40 rows.

    Parameters
    ----------
    rank_error : float
        The bound, as a share of the values of a column.

    Raises
    ------
    ConfigError
        The bound is not between 2**-40 and 1.

    Examples
    --------
    >>> size_for(0.001), size_for(0.01)
    (7000, 775)
    """
    if not 1 / MOST_ROWS <= rank_error < 1:
        raise ConfigError(
            f"rank_error={rank_error!r} is no share of the rows; use 0 for exact quantiles, or a "
            "small number such as 0.001"
        )
    sizes = ((level, ceil((level + 1) / (4 * rank_error))) for level in range(41))
    return next(size for level, size in sizes if size << (level + 1) > MOST_ROWS)


@dataclass(frozen=True)
class Buffers:
    """The values of one column, those that are not missing, thinned out.

    Parameters
    ----------
    size : int
        Number of values in a buffer.
    rest : array, shape (n_rest,)
        Fewer than `size` values that are in no buffer yet, in any order.
    levels : dict of int to array of shape (size,)
        At most one sorted buffer a level; each value stands for ``2**level``.
    slack : int
        By how much the weight up to some value may fall short of its rank.
    """

    size: int
    rest: Any
    levels: dict[int, Any]
    slack: int

    @property
    def count(self) -> int:
        """Number of values that it stands for."""
        return len(self.rest) + sum(self.size << level for level in self.levels)

    @property
    def error(self) -> int:
        """Greatest distance between the rank asked for and that of the value returned."""
        return (self.slack + 1) // 2

    def merge(self, other: Buffers) -> Buffers:
        """Return the buffers of both, where two of a level have collapsed."""
        levels = dict(self.levels)
        slack = self.slack + other.slack
        for level in sorted(other.levels):
            slack += _put(levels, level, other.levels[level])
        rest = _joined(self.rest, other.rest)
        if len(rest) >= self.size:
            slack += _put(levels, 0, _sorted(rest[: self.size]))
            rest = rest[self.size :].copy()
        return Buffers(self.size, rest, levels, slack)

    def at(self, wanted: np.ndarray) -> np.ndarray:
        """Return the kept values for ranks from 0 to ``count - 1``, on the host."""
        parts = [self.rest, *self.levels.values()]
        values = frames.to_host(frames.xp(self.rest).concatenate(parts))
        weights = np.array([1, *(1 << level for level in self.levels)])
        order = np.argsort(values)
        passed = np.cumsum(np.repeat(weights, [len(part) for part in parts])[order])
        places = np.maximum(wanted - self.slack // 2, 0)
        return values[order][np.searchsorted(passed, places, side="right")]


def buffers(values: Array, size: int) -> Buffers:
    """Return the buffers of an array without missing values, shape (n_values,).

    >>> found = buffers(np.arange(10.0), 2)
    >>> found.levels[2].tolist(), found.levels[0].tolist(), found.slack
    ([3.0, 7.0], [8.0, 9.0], 3)
    """
    levels, slack, start = {}, 0, 0
    n_full = len(values) // size
    for level in reversed(range(n_full.bit_length())):
        if n_full >> level & 1:
            step, stop = 1 << level, start + (size << level)
            # A copy, or all values would stay in memory behind these.
            levels[level] = _sorted(values[start:stop])[step - 1 :: step].copy()
            slack, start = slack + step - 1, stop
    return Buffers(size, values[start:].copy(), levels, slack)


def _put(levels: dict[int, Any], level: int, buffer: Any) -> int:
    """Put a buffer on its level, carrying like a binary counter; return the slack it adds."""
    slack = 0
    while level in levels:
        buffer = _sorted(_joined(levels.pop(level), buffer))[1::2].copy()
        slack += 1 << level
        level += 1
    levels[level] = buffer
    return slack


def _sorted(values: Array) -> Any:
    return frames.xp(values).sort(values)


def _joined(a: Array, b: Array) -> Any:
    return frames.xp(a).concatenate([a, b])


@dataclass(frozen=True)
class QuantileSketch:
    """Columns in little room, on the device of the rows; the ranks of quantiles are bounded.

    Parameters
    ----------
    min_max : MinMax
        Number of rows, least and greatest values; exact.
    columns : sequence of Buffers
    dtype : numpy.dtype
        Of the rows.
    """

    min_max: MinMax
    columns: Sequence[Buffers]
    dtype: np.dtype[Any]

    @property
    def n_rows(self) -> int:
        """Number of rows, missing values included."""
        return self.min_max.n_rows

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def counts(self) -> np.ndarray:
        """Number of values that are not missing, shape (n_columns,)."""
        return np.array([column.count for column in self.columns])

    def merge(self, other: QuantileSketch) -> QuantileSketch:
        """Return the sketch of both sets of rows together."""
        pairs = zip(self.columns, other.columns, strict=True)
        return QuantileSketch(
            self.min_max.merge(other.min_max),
            [a.merge(b) for a, b in pairs],
            np.result_type(self.dtype, other.dtype),
        )

    def at(self, wanted: np.ndarray) -> np.ndarray:
        """Return values whose ranks are near the wanted ones; the first and last are exact.

        Parameters
        ----------
        wanted : numpy.ndarray of int, shape (n_columns, ...)
            Ranks from 0, per column.

        Returns
        -------
        numpy.ndarray, shape (n_columns, ...)
            On the host; NaN for columns without values.
        """
        return np.stack([self._column_at(j, ranks) for j, ranks in enumerate(wanted)])

    def _column_at(self, j: int, wanted: np.ndarray) -> np.ndarray:
        column = self.columns[j]
        if not column.count:
            return np.full(wanted.shape, np.nan)
        values = column.at(wanted)
        values = np.where(wanted - column.slack // 2 < 0, self.min_max.low[j], values)
        return np.where(wanted == column.count - 1, self.min_max.high[j], values)


def sketch(values: Array, size: int) -> QuantileSketch:
    """Return the sketch of a matrix with NaN for missing.

    Parameters
    ----------
    values : array, shape (n_rows, n_columns)
    size : int
        Number of values in a buffer; `size_for` gives it for a bound.
    """
    known = ~frames.xp(values).isnan(values)
    columns = [buffers(values[:, j][known[:, j]], size) for j in range(values.shape[1])]
    return QuantileSketch(min_max(values), columns, values.dtype)
