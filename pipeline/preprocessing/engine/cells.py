"""The cells of blocks of the host that are not zero: where they are, counted and written.

One-hot columns give theirs from the positions of the ones, unexpanded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from pipeline.errors import DataError
from pipeline.preprocessing.engine.blocks import Block, Indicators, Sparse, common_type

NO_CELLS = "For a sparse output, all columns should be a numeric or convertible to a numeric."
"""scikit-learn's words."""


class Cells(NamedTuple):
    """Cells of some rows that are there, row after row, as CSR holds them.

    Parameters
    ----------
    counts : array of int, shape (n_rows,)
        Cells of each row.
    columns : array of int32, shape (n_cells,)
    values : array of shape (n_cells,), or None
        None where all are ones.
    """

    counts: Any
    columns: Any
    values: Any


def cells_of(blocks: Sequence[Block], n_rows: int, dtype: Any) -> Cells:
    """Return the cells of blocks side by side: those of a one-hot matrix are not expanded.

    >>> import numpy as np
    >>> counts, columns, _ = cells_of([Indicators([np.array([1, -1])], [3])], 2, "float32")
    >>> counts.tolist(), columns.tolist()
    ([1, 0], [1])
    """
    if any(isinstance(block, Sparse) for block in blocks):
        return _stack_rows(blocks, n_rows, dtype)
    ends = np.cumsum([block.width for block in blocks])
    slots = [n_slots(block) for block in blocks]
    columns = np.empty((n_rows, sum(slots)), dtype="int32")
    ones = only_ones(blocks)
    values = None if ones else np.zeros(columns.shape, dtype=dtype)
    at = 0
    for block, end, n in zip(blocks, ends, slots, strict=True):
        start, here = int(end) - block.width, slice(at, at + n)
        if isinstance(block, Indicators):
            _place_ones(columns[:, here], block, start)
            if values is not None:
                values[:, here] = 1
        else:
            assert values is not None
            there = _write_cells(values, at, block)
            columns[:, here] = np.where(there, np.arange(start, start + n, dtype="int32"), -1)
        at += n
    there = columns >= 0
    if there.all():
        counts = np.full(n_rows, columns.shape[1])
        return Cells(counts, columns.ravel(), None if values is None else values.ravel())
    return Cells(there.sum(axis=1), columns[there], None if values is None else values[there])


def _place_ones(columns: np.ndarray, block: Indicators, start: int) -> None:
    """Set the columns of the ones; -1 where there is none."""
    for j, (positions, width) in enumerate(zip(block.positions, block.widths, strict=True)):
        np.add(positions, start, out=columns[:, j], casting="unsafe")
        columns[positions < 0, j] = -1
        start += width


def _write_cells(values: np.ndarray, at: int, block: Block) -> np.ndarray:
    """Write a block into its columns; return which cells are not zero in its own type.

    As float32 they may be zero, and XGBoost takes a cell that is not there for missing.

    Raises
    ------
    DataError
        Some cells are no numbers.
    """
    here, kind = values[:, at : at + block.width], common_type([block])
    own = np.zeros(here.shape, "float64" if kind.kind == "O" else kind)
    try:
        block.write(own)
    except (TypeError, ValueError) as error:
        raise DataError(NO_CELLS) from error
    here[...] = own
    return own != 0


def _stack_rows(blocks: Sequence[Block], n_rows: int, dtype: Any) -> Cells:
    """Return the cells of blocks of which some are sparse rows, as SciPy stacks them."""
    each = [_as_csr(block, n_rows, dtype) for block in blocks]
    rows = sparse.hstack(each, format="csr") if len(each) > 1 else each[0]
    return Cells(np.diff(rows.indptr), rows.indices, rows.data)


def _as_csr(block: Block, n_rows: int, dtype: Any) -> Any:
    if isinstance(block, Sparse):
        return block.values.astype(dtype, copy=False)
    counts, columns, values = cells_of([block], n_rows, dtype)
    values = np.ones(len(columns), dtype) if values is None else values
    ends = np.append(0, np.cumsum(counts)).astype("int32")
    return sparse.csr_matrix((values, columns, ends), shape=(n_rows, block.width))


def only_ones(blocks: Sequence[Block]) -> bool:
    """Return whether all cells that are there are ones."""
    return all(isinstance(block, Indicators) for block in blocks)


def n_slots(block: Block) -> int:
    """Return the most cells of a row that can be there."""
    return len(block.positions) if isinstance(block, Indicators) else block.width


def n_cells(block: Block, n_rows: int) -> int:
    """Return how many cells of a block are there, which CSR would hold."""
    if isinstance(block, Sparse):
        return int(block.values.nnz)
    return int(cells_of([block], n_rows, common_type([block])).counts.sum())
