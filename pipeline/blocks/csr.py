"""Blocks as compressed rows of SciPy or, on a GPU, of CuPy.

On a GPU, the values are counted first and then written to their places, so that nothing waits for a
block and no rows are held twice. The ones of a one-hot matrix go directly from their positions into
the indices, and are never expanded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config

from pipeline.blocks.block import Block, Indicators, Numbers, Objects, Sparse, common_type
from pipeline.blocks.table import Part, Read, Table, blocks_to_write, seen_part
from pipeline.errors import DataError, Reason, Unsupported
from pipeline.optional import load
from pipeline.table import frames

MOST = int(np.iinfo("int32").max)
"""Cells that may not be zero: cuML takes int32 indices."""

SPREAD = 8
"""Times as many blocks as of a matrix: the places of cells are integers beside the cells."""

NO_CELLS = "For a sparse output, all columns should be a numeric or convertible to a numeric."
"""scikit-learn's words."""

ReadBlocks = Callable[[Part], Sequence[Block]]


def write_on_gpu(table: Table, read: ReadBlocks, dtype: str) -> Any:
    """Return the blocks of a table of a GPU as compressed rows of CuPy.

    CuPy has no sparse integers: "auto" makes float64 of them.
    """
    xp, first = table.xp, read(table.first())
    kind = common_type(first) if dtype == "auto" else np.dtype(dtype)
    kind = kind if kind in ("float32", "float64") else np.dtype("float64")
    indptr, total = _count(table, read)
    # One place more, for what is no cell: to leave it out would be to wait for each block.
    indices = xp.empty(total + 1, dtype="int32")
    ones = _only_ones(first)
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


def _only_ones(blocks: Sequence[Block]) -> bool:
    """Return whether all cells that are there are ones."""
    return all(isinstance(block, Indicators) for block in blocks)


def _count(table: Table, read: ReadBlocks) -> tuple[Any, int]:
    """Return where the cells of each row begin, and how many there are in all."""
    indptr = table.xp.zeros(table.n_rows + 1, dtype="int32")

    def count(part: Part) -> Any:
        there = sum(_per_row(block) for block in read(part))
        indptr[part.rows.start + 1 : part.rows.stop + 1] = there
        return there.sum(dtype="int64")

    total = int(sum(table.each(count, SPREAD * table.widest)))
    if total > MOST:
        why = f"{total:,} values are not zero, but sparse rows on a GPU hold at most {MOST:,}"
        raise Unsupported(Reason("sparse rows", why, "use fewer rows, or device='cpu'"))
    return table.xp.cumsum(indptr, dtype="int32", out=indptr), total


def _per_row(block: Block) -> Any:
    """Return how many cells each row has, on the block's device: nothing is expanded."""
    if isinstance(block, Sparse):
        return frames.xp(block.values.indptr).diff(block.values.indptr)
    return _there(block).sum(axis=1, dtype="int32")


def _there(block: Block) -> Any:
    """Return which slots of each row hold a cell: one for each one-hot column, or for a number."""
    if isinstance(block, Indicators):
        return _stack(places >= 0 for places in block.positions)
    return _numbers(block) != 0


def _numbers(block: Block) -> Any:
    if isinstance(block, Numbers):
        return block.values
    if isinstance(block, Objects):
        try:
            return np.asarray(block.values, "float64" if block.dtype.kind == "O" else block.dtype)
        except (TypeError, ValueError) as error:
            raise DataError(NO_CELLS) from error
    block.write(None)  # categories and dates say what they lack
    raise TypeError(f"{type(block).__name__} cannot be part of sparse rows")


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
    if isinstance(block, Sparse):
        return block.values.indices + np.int32(before)
    if not isinstance(block, Indicators):
        return frames.xp(_numbers(block)).arange(before, before + block.width, dtype="int32")
    starts = before + np.cumsum([0, *block.widths[:-1]])
    pairs = zip(block.positions, starts.tolist(), strict=True)
    return _stack(places.astype("int32", copy=False) + np.int32(start) for places, start in pairs)


def _values(block: Block) -> Any:
    if isinstance(block, Sparse):
        return block.values.data
    return 1.0 if isinstance(block, Indicators) else _numbers(block)


def _stack(columns: Iterator[Any]) -> Any:
    each = list(columns)
    return frames.xp(each[0]).stack(each, axis=1)


@dataclass(frozen=True)
class ReadSparse:
    """Reads the rows of a sparse matrix, which keeps the format that it was made in."""

    made: Any

    @cached_property
    def _by_rows(self) -> Any:
        return self.made.tocsr()

    def __call__(self, part: Part) -> Sparse:
        """Return some rows."""
        return Sparse(self._by_rows[part.rows])


def write_sparse(table: Table, read: Read, dtype: str) -> Any:
    """Return the blocks of a table as one sparse matrix, as scikit-learn's is.

    The ones of a matrix that holds no others are made at last, when the codes that they come from
    are let go.
    """
    if isinstance(read, ReadSparse):
        return read.made if dtype == "auto" else read.made.astype(dtype, copy=False)
    if table.device == "cuda":
        return write_on_gpu(table, partial(blocks_to_write, read), dtype)
    first = blocks_to_write(read, seen_part(table))
    kind = common_type(first) if dtype == "auto" else np.dtype(dtype)
    kind = np.dtype("float64") if kind.kind == "O" else kind
    ones = _only_ones(first)

    def stack(part: Part) -> Any:
        blocks = blocks_to_write(read, part)
        each = [as_csr(block).astype("int8" if ones else kind, copy=False) for block in blocks]
        return sparse.hstack(each, format="csr") if len(each) > 1 else each[0]

    stacks = list(table.each(stack)) or [sparse.csr_matrix((0, _width(first)), dtype=kind)]
    if ones:
        table.let_go()
    rows = sparse.vstack(stacks, format="csr")
    del stacks
    rows.data = rows.data.astype(kind, copy=False)  # `rows.astype` would copy the indices as well
    return as_interface(first)(rows)


def as_csr(block: Block) -> Any:
    """Return a block of the host as compressed rows: one-hot columns are not expanded.

    What is not zero in its own type is a cell. As float32 it may be zero, and XGBoost takes a
    cell that is not there for missing.

    >>> as_csr(Indicators([np.array([1, -1])], [3])).toarray().tolist()
    [[0, 1, 0], [0, 0, 0]]
    """
    if isinstance(block, Sparse):
        return block.values
    if not isinstance(block, Indicators):
        return sparse.csr_matrix(_numbers(block))
    there = _there(block)
    columns = _columns(block, 0)[there]
    ends = np.append(0, np.cumsum(there.sum(axis=1))).astype("int32")
    ones = np.ones(len(columns), "int8")
    return sparse.csr_matrix((ones, columns, ends), shape=(len(there), block.width))


def as_interface(blocks: Sequence[Block]) -> type:
    """Return the class that scikit-learn makes of blocks: an array where one of them is one."""
    arrays = any(isinstance(b, Sparse) and isinstance(b.values, sparse.sparray) for b in blocks)
    # Before scikit-learn 1.9 all of its own were matrices.
    asked = get_config().get("sparse_interface", "spmatrix")
    return sparse.csr_array if arrays or asked == "sparray" else sparse.csr_matrix


def check_numbers(table: Any, reads: Sequence[Read]) -> None:
    """Check that what is no number can be made one, as it has to be beside sparse rows."""
    first = table.first()
    for block in [b for read in reads for b in blocks_to_write(read, first)]:
        if isinstance(block, Objects) and block.dtype.kind not in "iufb":
            _numbers(Objects(block.whole, slice(0, len(block.whole))))


def count_values(table: Any, reads: Sequence[Read]) -> np.ndarray:
    """Return how many rows a table has, and how many of their cells are not zero."""

    def count(part: Part) -> tuple[int, Any]:
        blocks = [block for read in reads for block in blocks_to_write(read, part)]
        return part.n_rows, sum(_per_row(block).sum(dtype="int64") for block in blocks)

    n_rows, there = table.reduce(count, lambda a, b: (a[0] + b[0], a[1] + b[1]))
    return np.array([n_rows, int(there)])  # for which a GPU is waited for, once
