"""Sums per category of a column, mergeable across blocks and dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pipeline.table import encode, frames
from pipeline.typing import Array

SPREAD = 2**14
"""Sums that the threads of a GPU add to, so that few of them meet at one."""


class CategorySums(NamedTuple):
    """Sums per category of one column, on the host."""

    values: np.ndarray
    """The distinct values in the order of the dictionary; some may not occur."""
    sums: np.ndarray
    """Shape (n_sums, n_values + 1): the first row counts rows; the last column is for missing."""
    missing: float | None = np.nan
    """What stands for a missing value."""
    objects: bool = False
    """The values are Python's objects: NaN alone is missing, and None one of the values."""

    def present(self) -> np.ndarray:
        """Return the values that occur, with NaN or None last if any is missing."""
        counts = self.sums[0]
        occurring = self.values[counts[:-1] > 0]
        if not counts[-1]:
            return occurring
        missing = missing_value(occurring.dtype) if self.missing is not None else np.array([None])
        return np.concatenate([occurring.astype(missing.dtype), missing])

    def merge(self, other: CategorySums) -> CategorySums:
        """Return the sums of both sets of rows together."""
        if self.values is other.values:
            return self._replace(sums=self.sums + other.sums)
        unseen = other.values[positions(self.values, other.values) < 0]
        values = np.concatenate([self.values, unseen])
        sums = np.zeros((len(self.sums), len(values) + 1), dtype=self.sums.dtype)
        for part in (self, other):
            sums[:, positions(values, part.values)] += part.sums[:, :-1]
            sums[:, -1] += part.sums[:, -1]
        return self._replace(values=values, sums=sums)


def missing_value(dtype: np.dtype[Any]) -> np.ndarray:
    """Return a missing value as an array of one entry, of a type near the given one."""
    return np.array([np.nan], dtype=dtype if dtype.kind == "f" else object)


def positions(dictionary: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return where values stand in a dictionary; -1 for missing or unknown ones.

    >>> positions(np.array(["a", "b"], dtype=object), np.array(["b", "z", np.nan], dtype=object))
    array([ 1, -1, -1])
    """
    known, wanted = map(to_index, (dictionary, values))
    return known.get_indexer(wanted)


def to_index(values: np.ndarray) -> pd.Index[Any]:
    """Return values in a form in which pandas finds them: it has no index of half precision."""
    values = values.astype("float32") if values.dtype == "float16" else values
    # Given the type, pandas does not look for a better one.
    return pd.Index(values, dtype=values.dtype)


def merge_columns(a: Sequence[CategorySums], b: Sequence[CategorySums]) -> list[CategorySums]:
    """Merge column by column."""
    return [x.merge(y) for x, y in zip(a, b, strict=True)]


def tally_columns(
    columns: Sequence[encode.Coded], sums_of: Callable[[Any], Any]
) -> list[CategorySums]:
    """Return the sums of each column, which one copy brings to the host: each waits for a GPU."""
    sums = frames.all_to_host([*map(sums_of, columns)])
    return [
        CategorySums(column.values, each, objects=isinstance(column, encode.CodedObjects))
        for column, each in zip(columns, sums, strict=True)
    ]


def count_category_rows(column: encode.Coded) -> Any:
    """Return how many rows have each value, as the one row of sums."""
    xp = frames.xp(column.codes)
    return count_codes(column.codes, len(column.values), xp)[None].astype("float64")


def count_codes(codes: Array, n_values: int, xp: ModuleType) -> Any:
    """Return how often each code occurs, the missing ones (-1) last; on the codes' device."""
    return tally(place_codes(codes, n_values, xp), n_values + 1, xp)


def tally(places: Any, size: int, xp: ModuleType, weights: Array = None) -> Any:
    """Return how often each position occurs, or the sum of its weights; on the device of both.

    Positions are int64 from 0 to ``size - 1``, weights float64.

    >>> tally(np.array([2, 0, 2]), 3, np).tolist()
    [1, 0, 2]
    """
    if xp is np:
        return np.bincount(places, weights, minlength=size)
    # CuPy's `bincount` reads two values, and CUB's histograms behind it take gigabytes for many
    # positions. Here threads add to one array: to several sums of the few positions there are.
    copies = max(1, SPREAD // size)
    cells = xp.arange(len(places))
    cells %= copies
    cells *= size
    cells += places
    sums = xp.zeros(copies * size)
    xp.add.at(sums, cells, 1.0 if weights is None else weights)
    return sums.reshape(copies, size).sum(axis=0)


def place_codes(codes: Array, n_values: int, xp: ModuleType) -> Any:
    """Return codes as positions of which the last one is for the missing ones.

    >>> place_codes(np.array([1, -1, 0]), 2, np).tolist()
    [1, 2, 0]
    """
    codes = codes.astype("int64")
    return xp.where(codes < 0, n_values, codes)
