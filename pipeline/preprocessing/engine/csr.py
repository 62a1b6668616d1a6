"""Blocks of a GPU as compressed rows: counted first, and then written where they belong.

The ones of a one-hot matrix go from their positions into the indices, and are never expanded. What
is written has its place before, so that no block is waited for, and no rows are held twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.data import frames
from pipeline.errors import Reason, Unsupported
from pipeline.optional import load
from pipeline.preprocessing.engine.blocks import (
    Block,
    Indicators,
    Numbers,
    Scaled,
    Sparse,
    common_type,
)

if TYPE_CHECKING:
    from pipeline.preprocessing.engine.table import Part, Table

MOST = int(np.iinfo("int32").max)
"""Cells that may not be zero: cuML takes int32 indices."""

SPREAD = 8
"""Times as many blocks as of a matrix: the places of cells are integers beside the cells."""

ReadBlocks = Callable[["Part"], Sequence[Block]]


def write_on_gpu(table: Table, read: ReadBlocks, dtype: str) -> Any:
    """Return the blocks of a table as compressed rows of CuPy, with scikit-learn's structure.

    The ones of a matrix that holds no others are made at last, when the codes are let go of that
    they come from.

    Parameters
    ----------
    table : Table
        On a GPU.
    read : callable
        Returns the blocks of some rows.
    dtype : {"auto", "float32", "float64"}
        CuPy has no sparse integers: "auto" makes float64 of them.

    Raises
    ------
    Unsupported
        So many cells are not zero that int32 indices do not reach them.
    """
    xp, first = table.xp, read(table.first())
    kind = common_type(first) if dtype == "auto" else np.dtype(dtype)
    kind = kind if kind in ("float32", "float64") else np.dtype("float64")
    indptr, total = _count(table, read)
    # One place more, for what is no cell: to leave it out would be to wait for each block.
    indices = xp.empty(total + 1, dtype="int32")
    ones = all(isinstance(block, Indicators) for block in first)
    data = None if ones else xp.empty(total + 1, dtype=kind)

    def fill(part: Part) -> None:
        starts, before = indptr[part.rows], 0
        for block in read(part):
            places, there = _places(block, starts, total)
            indices[places] = _columns(block, before)
            if data is not None:
                data[places] = _values(block)
            starts, before = starts + there, before + block.width

    for _ in table.each(fill, SPREAD * table.widest):
        pass
    if ones:
        table.let_go()
    cells = xp.ones(total, dtype=kind) if data is None else data[:total]
    make = load("cupyx.scipy.sparse.csr_matrix")
    return make((cells, indices[:total], indptr), shape=(table.n_rows, _width(first)))


def _width(blocks: Sequence[Block]) -> int:
    return sum(block.width for block in blocks)


def _count(table: Table, read: ReadBlocks) -> tuple[Any, int]:
    """Return where the cells of each row begin, and how many there are in all."""
    indptr = table.xp.zeros(table.n_rows + 1, dtype="int32")

    def count(part: Part) -> Any:
        there = sum(_per_row(block) for block in read(part))
        indptr[part.rows.start + 1 : part.rows.stop + 1] = there
        return there.sum(dtype="int64")

    total = int(sum(table.each(count, SPREAD * table.widest)))
    if total > MOST:
        why = f"{total:,} cells are not zero, and the indices of a GPU reach {MOST:,}"
        raise Unsupported(Reason("sparse rows", why, "use fewer rows, or device='cpu'"))
    return table.xp.cumsum(indptr, dtype="int32", out=indptr), total


def count_on_gpu(block: Block) -> Any:
    """Return how many cells of a block are not zero, on its device: nothing is expanded.

    >>> int(count_on_gpu(Indicators([np.array([1, -1]), np.array([0, 0])], [3, 1])))
    3
    """
    return _per_row(block).sum(dtype="int64")


def _per_row(block: Block) -> Any:
    if isinstance(block, Sparse):
        return frames.xp(block.values.indptr).diff(block.values.indptr)
    return _there(block).sum(axis=1, dtype="int32")


def _there(block: Block) -> Any:
    """Return which slots of each row hold a cell: one for each one-hot column, or for a number."""
    if isinstance(block, Scaled):
        return _there(block.block)
    if isinstance(block, Indicators):
        return _stack(places >= 0 for places in block.positions)
    return _numbers(block) != 0


def _numbers(block: Block) -> Any:
    if isinstance(block, Numbers):
        return block.values
    block.write(None)  # categories and dates say what they lack
    raise TypeError(f"{type(block).__name__} has no place among sparse rows")


def _places(block: Block, starts: Any, nowhere: int) -> tuple[Any, Any]:
    """Return the places of the cells, given where each row begins, and how many a row has."""
    xp = frames.xp(starts)
    if isinstance(block, Sparse):
        indptr, cells = block.values.indptr, xp.arange(block.values.nnz, dtype="int32")
        rows = xp.searchsorted(indptr, cells, side="right") - 1
        return (starts - indptr[:-1])[rows] + cells, xp.diff(indptr)
    there = _there(block)
    ranks = xp.cumsum(there, axis=1, dtype="int32") - 1
    return xp.where(there, starts[:, None] + ranks, nowhere), _per_row(block)


def _columns(block: Block, before: int) -> Any:
    """Return the column of each cell, after those of the blocks before."""
    if isinstance(block, Scaled):
        return _columns(block.block, before)
    if isinstance(block, Sparse):
        return block.values.indices + np.int32(before)
    if not isinstance(block, Indicators):
        return frames.xp(_numbers(block)).arange(before, before + block.width, dtype="int32")
    starts = before + np.cumsum([0, *block.widths[:-1]])
    pairs = zip(block.positions, starts.tolist(), strict=True)
    return _stack(places.astype("int32", copy=False) + np.int32(start) for places, start in pairs)


def _values(block: Block) -> Any:
    if isinstance(block, Scaled):
        return _values(block.block) * block.weight
    if isinstance(block, Sparse):
        return block.values.data
    return 1.0 if isinstance(block, Indicators) else _numbers(block)


def _stack(columns: Iterator[Any]) -> Any:
    each = list(columns)
    return frames.xp(each[0]).stack(each, axis=1)
