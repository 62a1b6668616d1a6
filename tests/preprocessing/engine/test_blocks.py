from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from pipeline.data.encode import Coded
from pipeline.errors import ConfigError
from pipeline.preprocessing.engine.blocks import (
    Block,
    Categories,
    Indicators,
    Joined,
    Numbers,
    Sparse,
    as_categories,
    scale,
    take_columns,
)
from pipeline.preprocessing.engine.cells import cells_of
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
    assert cells_of([block], 2, "float32").values.dtype == "float32"
    assert written(scale(block, 2)).tolist() == [[0, 10], [14, 0]]
    assert written(take_columns(block, np.array([1]), rows(2))).tolist() == [[5], [0]]


def test_scaled_multiplies_each_form_and_leaves_the_block_as_it_is() -> None:
    both = Joined([ONE_HOT, NUMBERS])
    times_two = scale(both, 2)
    assert times_two.width == 7
    assert written(times_two)[0].tolist() == [0, 0, 2, 2, 0, 3, 4]
    assert written(both)[0].tolist() == [0, 0, 1, 1, 0, 1.5, 2]
    assert scale(both, None) is both


def test_categories_cannot_be_scaled() -> None:
    with pytest.raises(ConfigError, match="put OneHotEncoder"):
        as_categories(scale(TEXT, 2.0), rows(2))
