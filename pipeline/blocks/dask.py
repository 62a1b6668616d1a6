"""The rows of a Dask frame: every partition is a table, and statistics merge as a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property, partial, reduce
from typing import Any, TypeVar

import numpy as np

from pipeline.blocks.block import common_type
from pipeline.blocks.csr import write_sparse
from pipeline.blocks.table import (
    Cut,
    Part,
    Reading,
    Table,
    blocks_to_write,
    write_frame,
    write_matrix,
)
from pipeline.distributed.cluster import active
from pipeline.errors import DataError
from pipeline.optional import load
from pipeline.system.threads import alone
from pipeline.table import partitioned

T = TypeVar("T")

FAN_IN = 8
"""Statistics that are merged by one task of a cluster."""


class Partitions:
    """A Dask or dask-cuDF frame, or a Dask array.

    Every transformer makes one pass over the partitions, of the columns of its branch; where they
    are expensive to make and fit in the workers' memory, `persist` the frame first.
    """

    def __init__(self, X: Any) -> None:
        self.X = X
        self.framed = hasattr(X, "columns")
        self.names = list(X.columns if self.framed else range(X.shape[1]))
        if not self.framed and (X.ndim != 2 or X.numblocks[1] != 1):
            raise DataError("X has chunks that split its columns; pass X.rechunk({1: -1})")
        self._parts = partitioned.partitions_of(X)
        self._own: list[list[Any]] = [[] for _ in self._parts]
        self._own_first: list[Any] = []
        self._lengths: list[int] = []
        self.widest = 0

    @property
    def like(self) -> Any:
        """An empty frame, or an array, with the columns and types."""
        return self.X._meta if self.framed else self.X

    @property
    def lengths(self) -> list[int]:
        """Rows of each partition; the partitions are made for it, once."""
        if not self._lengths:
            self._lengths += partitioned.lengths(self.X)
        return self._lengths

    def first(self) -> Part:
        """Return the first row, of which there must be one."""
        return Table(self.top, self._own_first).first()

    @cached_property
    def top(self) -> Any:
        """A table of the first row."""
        # Not `X.head(1, npartitions=-1)`, which makes all partitions.
        head = load("dask.delayed")(_head, pure=False)
        for part in self._parts:
            (row,) = partitioned.compute([head(part)])
            if len(row):
                return row
        raise DataError("X has 0 sample(s) while a minimum of 1 is required")

    def narrowed(self, names: Sequence[Any]) -> Partitions:
        """Return the same rows with some columns alone: a file is asked for no others."""
        wanted = list(dict.fromkeys(names))
        if not self.framed or len(wanted) in (0, len(self.X.columns)):
            return self
        narrow = copy(self)
        narrow.X, narrow.names = self.X[wanted], wanted
        narrow._parts = partitioned.partitions_of(narrow.X)
        narrow.top = self.top[wanted]
        return narrow

    def bring(self, aligned: Sequence[Any]) -> list[Any]:
        """Return what stands for the arrays: each partition is sent its own entries."""
        return [*map(self._cut, aligned)]

    def _cut(self, array: Any) -> Cut:
        pieces = partitioned.cut(array, self.lengths)
        cluster = active()
        if cluster is not None:
            pieces = cluster.client.scatter(pieces, hash=False)
        for own, piece in zip(self._own, pieces, strict=True):
            own.append(piece)
        self._own_first.append(array[:1])
        return Cut(len(self._own_first) - 1)

    def reduce(self, function: Callable[[Part], T], merge: Callable[[T, T], T]) -> T:
        """Merge the statistics of all partitions: in order, or as a tree on a cluster."""
        delayed = load("dask.delayed")
        stats = self._each(partial(statistic_of, function=function, merge=merge))
        join = delayed(partial(merged, merge), pure=False)
        if active() is None:
            # One after the other: those of encoders are large, and a tree keeps some waiting.
            stats = [reduce(lambda one, other: join([one, other]), stats)]
        while len(stats) > 1:
            stats = [join(stats[i : i + FAN_IN]) for i in range(0, len(stats), FAN_IN)]
        whole: T = partitioned.compute(stats)[0]
        return whole

    def _each(self, function: Callable[[Table], Any]) -> list[Any]:
        """Return a task for each partition, given the table that it is."""
        task = load("dask.delayed")(partial(call_on_partition, function, self.widest), pure=False)
        pairs = zip(self._parts, self._own, strict=True)
        return [task(part, list(own)) for part, own in pairs]

    def write(
        self, reading: Reading, dtype: str, names: Sequence[Any], *, sparse: bool = False
    ) -> Any:
        """Return a Dask array of matrices, dense or sparse, or a Dask frame if there are names."""
        if names:
            framed = partial(_write, write_frame, reading, dtype=dtype, names=names)
            meta = framed(self.first().table)[:0]
            return load("dask.dataframe.from_delayed")(self._each(framed), meta=meta)
        first = self.first()
        blocks = blocks_to_write(reading(first.table), first)
        width = sum(block.width for block in blocks)
        dtype = str(self._common_type(common_type(blocks) if dtype == "auto" else np.dtype(dtype)))
        write = partial(_write, write_sparse if sparse else write_matrix, reading, dtype=dtype)
        made, meta = self._each(write), write(first.table)[:0]
        whole = load("dask.array.from_delayed")
        arrays = [
            whole(task, (n, width), dtype=dtype, meta=meta)
            for task, n in zip(made, self.lengths, strict=True)
        ]
        return load("dask.array.concatenate")(arrays)

    def _common_type(self, of_first: np.dtype[Any]) -> np.dtype[Any]:
        """Return the type of all partitions' matrices, given that of the first row's."""
        exact = not self.framed or not any(map(_is_float_with_gaps, self.X.dtypes))
        return of_first if exact or of_first.kind == "f" else np.dtype("float64")


Data = Table | Partitions
"""What a program is fitted on: the rows of one table, or of many."""


def _write(write: Callable[..., Any], reading: Reading, table: Table, **how: Any) -> Any:
    """Return what is written of one partition."""
    return write(table, reading(table), **how)


def _is_float_with_gaps(dtype: Any) -> bool:
    """Return whether whole numbers of a type are floats in a partition where some are missing."""
    return not isinstance(dtype, np.dtype) and (str(dtype) == "category" or dtype.kind in "iub")


def _head(X: Any) -> Any:
    """Return the first row of a partition, free of the others' memory."""
    return X[:1].copy()


def call_on_partition(function: Callable[[Table], T], widest: int, X: Any, own: Sequence[Any]) -> T:
    """Return a function of a partition as a table, given its entries of arrays."""
    with alone():
        table = Table(X, own)
        table.widest = max(table.widest, widest)
        return function(table)


def statistic_of(
    table: Table, function: Callable[[Part], T], merge: Callable[[T, T], T]
) -> T | None:
    """Return the statistic of a table; None where it has no rows."""
    return table.reduce(function, merge) if table.n_rows else None


def merged(merge: Callable[[T, T], T], stats: Sequence[T | None]) -> T | None:
    """Return the statistic of all; None stands for no rows."""
    some = [stat for stat in stats if stat is not None]
    return reduce(merge, some) if some else None
