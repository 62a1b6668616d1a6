"""A frame cut into blocks of rows, and the loop that runs over them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from pipeline import frames
from pipeline.preprocessing.blocks import Categories, Numbers

T = TypeVar("T")

CHUNK_ROWS = 16_384
"""Rows a CPU thread works on at a time: a block of 20 float64 columns is 2.6 MB,
which stays in the caches between the steps. A GPU takes all rows at once."""


class Table:
    """The columns of a frame as arrays, converted once and cut into blocks by rows.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_columns)
        Where it lives is where the blocks live.
    """

    def __init__(self, X: Any) -> None:
        self.X = X
        self.device = frames.device_of(X)
        self.xp = frames.array_module(self.device)
        self.n_rows = int(X.shape[0])
        self._numbers: dict[Any, Any] = {}
        self._categories: dict[Any, frames.Coded] = {}

    def convert(self, names: Sequence[Any], form: type) -> None:
        """Convert columns once, before threads cut them into blocks."""
        store, how = (
            (self._categories, frames.categories)
            if form is Categories
            else (self._numbers, frames.numbers)
        )
        for name in names:
            if name not in store:
                store[name] = how(self.X, name)

    def numbers(self, names: Sequence[Any], rows: slice) -> Numbers:
        """Return rows of numeric columns as a matrix."""
        columns = [self._numbers[name][rows] for name in names]
        # Integers stay integers: as floats, large ones would fall together.
        dtype = np.result_type(*(column.dtype for column in columns))
        values = self.xp.empty((columns[0].shape[0], len(columns)), dtype=dtype)
        for j, column in enumerate(columns):
            values[:, j] = column
        return Numbers(values)

    def categories(self, names: Sequence[Any], rows: slice) -> Categories:
        """Return rows of columns as codes."""
        columns = (self._categories[name] for name in names)
        return Categories([frames.Coded(c.codes[rows], c.values) for c in columns])

    def slices(self) -> list[slice]:
        """Return the row ranges of the blocks."""
        step = self.n_rows if self.device == "cuda" else CHUNK_ROWS
        return [slice(i, min(i + step, self.n_rows)) for i in range(0, self.n_rows, step)]

    def each(self, function: Callable[[slice], T]) -> list[T]:
        """Call a function on every row range, on all cores, and return results in order."""
        return list(self._results(function))

    def _results(self, function: Callable[[slice], T]) -> Iterator[T]:
        slices = self.slices()
        if len(slices) == 1:
            yield function(slices[0])
            return
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            futures = deque(pool.submit(copy_context().run, function, rows) for rows in slices)
            while futures:
                yield futures.popleft().result()

    def reduce(self, partial: Callable[[slice], T], merge: Callable[[T, T], T]) -> T:
        """Merge the statistics of all blocks, left to right, whatever thread made them.

        Each is let go once it is merged: those of encoders are as long as their dictionaries.
        """
        return reduce(merge, self._results(partial))
