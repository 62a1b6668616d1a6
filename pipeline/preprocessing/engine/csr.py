"""Blocks as compressed rows of SciPy or, on a GPU, of CuPy.

On a GPU the cells are counted first, and then written where they belong, so that no block is
waited for, and no rows are held twice. The ones of a one-hot matrix go from their positions into
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

from pipeline.data import frames
from pipeline.errors import Reason, Unsupported
from pipeline.optional import load
from pipeline.preprocessing.engine.blocks import (
    Block,
    Indicators,
    Numbers,
    Objects,
    Sparse,
    common_type,
    flat,
)
from pipeline.preprocessing.engine.cells import Cells, cells_of, n_cells, n_slots, only_ones
from pipeline.preprocessing.engine.table import Part, Read, Table, blocks_to_write, seen_part

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
    """Return the blocks of a table of the host as one sparse matrix, as scikit-learn's is."""
    if isinstance(read, ReadSparse):
        return read.made if dtype == "auto" else read.made.astype(dtype, copy=False)
    return write_csr(table, read, dtype)


def write_csr(table: Table, read: Read, dtype: str) -> sparse.csr_matrix:
    """Return blocks as one matrix of compressed rows.

    Each part's cells are appended as they are made. The ones of a matrix that holds no others are
    made at last, when the codes that they come from are let go.
    """
    if table.device == "cuda":
        return write_on_gpu(table, partial(blocks_to_write, read, beside=False), dtype)
    seen = seen_part(table)
    first = blocks_to_write(read, seen, beside=False)
    kind = common_type(first) if dtype == "auto" else np.dtype(dtype)
    kind = np.dtype("float64") if kind.kind == "O" else kind
    rows = CellRows(table.n_rows, table.n_rows * sum(map(n_slots, first)))

    def made(part: Part) -> Cells:
        return cells_of(blocks_to_write(read, part, beside=False), part.n_rows, kind)

    for cells in table.each(made):
        rows.append(cells)
    if only_ones(first):
        table.let_go()
    return as_interface(first)(rows.to_csr(sum(block.width for block in first), kind))


def as_interface(blocks: Sequence[Block]) -> type:
    """Return the class that scikit-learn makes of blocks: an array where one of them is one."""
    arrays = any(isinstance(b, Sparse) and isinstance(b.values, sparse.sparray) for b in blocks)
    # Before scikit-learn 1.9 all of its own were matrices.
    asked = get_config().get("sparse_interface", "spmatrix")
    return sparse.csr_array if arrays or asked == "sparray" else sparse.csr_matrix


def index_type(largest: int) -> str:
    """Return the type of indices up to a number, as SciPy chooses it.

    >>> index_type(2**31 - 1), index_type(2**31)
    ('int32', 'int64')
    """
    return "int32" if largest <= np.iinfo("int32").max else "int64"


class CellRows:
    """Rows of a matrix whose cells are appended, in room that is made for as many as expected.

    Parameters
    ----------
    n_rows : int
        That there will be.
    most : int
        Cells that there may be.
    """

    def __init__(self, n_rows: int, most: int) -> None:
        self.ends = np.zeros(n_rows + 1, dtype=index_type(most))
        self.n_rows = 0
        self.columns: Any = np.empty(0, dtype="int32")
        self.values: Any = None

    def append(self, cells: Cells) -> None:
        """Add rows after those that are there."""
        counts, columns, values = cells
        start, done = int(self.ends[self.n_rows]), self.n_rows + len(counts)
        end = start + len(columns)
        np.cumsum(counts, out=self.ends[self.n_rows + 1 : done + 1])
        self.ends[self.n_rows + 1 : done + 1] += start
        self.columns = self._fitting(self.columns, end, done)
        self.columns[start:end] = columns
        if values is not None:
            held = np.empty(0, dtype=values.dtype) if self.values is None else self.values
            self.values = self._fitting(held, end, done)
            self.values[start:end] = values
        self.n_rows = done

    def _fitting(self, held: np.ndarray, end: int, done: int) -> np.ndarray:
        """Return an array with room for more, and for the rows to come if they are like these."""
        if end <= len(held):
            return held
        n = end if done + 1 >= len(self.ends) else int(end / done * len(self.ends) * 1.01) + 1
        if not len(held):
            return np.empty(n, dtype=held.dtype)
        # The system moves pages, where a copy would need room for both.
        held.resize(n, refcheck=False)
        return held

    def to_csr(self, width: int, dtype: Any) -> sparse.csr_matrix:
        """Return the matrix; cells without a value are ones."""
        n = int(self.ends[-1])
        self.columns.resize(n, refcheck=False)
        if self.values is None:
            self.values = np.ones(n, dtype=dtype)
        self.values.resize(n, refcheck=False)
        kind = index_type(max(n, width))
        held = (self.values, *(each.astype(kind, copy=False) for each in (self.columns, self.ends)))
        return sparse.csr_matrix(held, shape=(self.n_rows, width))


def check_numbers(table: Any, reads: Sequence[Read]) -> None:
    """Check that what is no number can be made one, as it has to be beside sparse rows."""
    first = table.first()
    for block in [b for read in reads for b in blocks_to_write(read, first, beside=False)]:
        if isinstance(block, Objects) and block.dtype.kind not in "iufb":
            n_rows = len(block.whole)
            cells_of([Objects(block.whole, slice(0, n_rows))], n_rows, "float64")


def count_cells(table: Any, reads: Sequence[Read]) -> np.ndarray:
    """Return how many rows a table has, and how many of their cells are not zero."""

    def count(part: Part) -> tuple[int, Any]:
        blocks = [block for read in reads for block in blocks_to_write(read, part, beside=False)]
        if part.xp is np:
            return part.n_rows, sum(n_cells(block, part.n_rows) for block in blocks)
        return part.n_rows, sum(map(count_on_gpu, blocks))

    n_rows, there = table.reduce(count, _add_each)
    return np.array([n_rows, int(there)])  # for which a GPU is waited for, once


def _add_each(a: tuple[int, Any], b: tuple[int, Any]) -> tuple[int, Any]:
    return a[0] + b[0], a[1] + b[1]


def most_cells(row: Part, reads: Sequence[Read]) -> int:
    """Return how many cells of a row at most are not zero: of one-hot columns, one each."""
    return sum(
        n_slots(block) for read in reads for block in blocks_to_write(read, row, beside=False)
    )


def density(
    first: Part, dense: Sequence[Read], sparse: Sequence[Read], counted: Sequence[int]
) -> float:
    """Return the share of cells that are not zero; of dense blocks, all count as such.

    Parameters
    ----------
    first : Part
        The first row.
    dense, sparse : sequence of callable
        What reads the blocks.
    counted : sequence of int
        What `count_cells` returned of the sparse ones.
    """
    full, rest = (
        sum(block.width for read in reads for block in flat(read(first)))
        for reads in (dense, sparse)
    )
    n_rows, there = counted
    return float((n_rows * full + there) / max(1, n_rows * (full + rest)))
