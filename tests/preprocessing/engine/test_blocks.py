from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from pipeline.data.encode import Coded
from pipeline.preprocessing.engine.blocks import (
    Block,
    Categories,
    Indicators,
    Joined,
    Numbers,
    Sparse,
    take_columns,
)
from pipeline.preprocessing.engine.csr import as_csr
from pipeline.preprocessing.engine.table import Part, Table

NUMBERS = Numbers(np.array([[1.5, 2.0], [3.5, np.nan]]))
ONE_HOT = Indicators([np.array([2, -2]), np.array([0, 1])], [3, 2])
TEXT = Categories([Coded(np.array([1, -1]), np.array(["a", "b"], dtype=object))])


def rows(n_rows: int) -> Part:
    return Part(Table(np.zeros((n_rows, 1))), slice(0, n_rows))


def written(block: Block) -> np.ndarray:
    out = np.zeros((2, block.width), dtype="float32")
    block.write(out)
    return out


def test_indicators_write_ones_and_nothing_for_unknown() -> None:
    assert written(ONE_HOT).tolist() == [[0, 0, 1, 1, 0], [0, 0, 0, 0, 1]]


@pytest.mark.parametrize("duplicates", [False, True])
def test_sparse_rows_write_the_cells_that_are_there(duplicates: bool) -> None:
    cells = ([5.0, 7.0], [1, 0], [0, 1, 2]) if not duplicates else ([2, 3, 7], [1, 1, 0], [0, 2, 3])
    block = Sparse(csr_matrix(cells, shape=(2, 2)))
    assert written(Joined([NUMBERS, block]))[:, 2:].tolist() == [[0, 5], [7, 0]]
    assert as_csr(block) is block.values
    assert written(take_columns(block, np.array([1]), rows(2))).tolist() == [[5], [0]]
