from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.preprocessing import OneHotEncoder

from pipeline.blocks import table as module
from pipeline.blocks.block import Block, Indicators, Numbers, Sparse, common_type, join
from pipeline.blocks.csr import write_sparse
from pipeline.blocks.table import Part, Table
from pipeline.compile.program import Program
from pipeline.system.threads import halved
from pipeline.table import frames
from tests.contract import standins


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK_ROWS", 3)


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame({"i": range(10), "f": np.linspace(0, 1, 10), "t": list("abcdeabcde")})


CELLS = np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, np.nan, 0, 0], [0, 0, 0, 4]])
HOLES = Indicators([np.array([1, -1, 0, 1]), np.array([-2, -1, 2, 0])], [2, 3])


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    "blocks",
    [
        [Numbers(CELLS)],
        [HOLES],
        [HOLES, Numbers(CELLS), HOLES],
        [Indicators([np.array([0, 1, 0, 1])], [2], "float32")],
        [Sparse(sparse.csr_matrix(CELLS)), HOLES, Numbers(CELLS)],
        [Sparse(sparse.csr_array(CELLS)), HOLES],
        [Numbers(CELLS.astype(bool))],
    ],
    ids=range(7),
)
def test_compressed_rows_are_those_that_scipy_stacks(blocks: list[Block]) -> None:
    def cut(part: Part) -> Block:
        return join([_rows(block, part.rows) for block in blocks])

    made = write_sparse(Table(np.zeros((4, 2))), cut, "auto")
    expected = sparse.hstack(list(map(_stored, blocks)), format="csr")
    assert made.dtype == expected.dtype
    for held in ("indptr", "indices", "data"):
        assert getattr(made, held).dtype == getattr(expected, held).dtype
        np.testing.assert_array_equal(getattr(made, held), getattr(expected, held))
    assert made.shape == expected.shape
    assert made.has_sorted_indices


def _rows(block: Block, rows: slice) -> Block:
    """Return some rows of a block."""
    if isinstance(block, Indicators):
        return replace(block, positions=[each[rows] for each in block.positions])
    assert isinstance(block, Numbers | Sparse)
    return type(block)(block.values[rows])


def _stored(block: Block) -> Any:
    """Return a block as SciPy holds it: the ones of a one-hot matrix are there, whatever weight."""
    out = np.zeros((4, block.width), dtype=common_type([block]))
    block.write(out)
    return sparse.csr_matrix(out)


def test_one_hot_rows_take_little_more_than_their_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1})
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.integers(0, 500, 1_500_000) for name in "abcd"})
    encoder = Program(OneHotEncoder(), why_dense="")
    tracemalloc.start()
    made = encoder.fit_transform(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    own = made.data.nbytes + made.indices.nbytes + made.indptr.nbytes
    assert peak <= own + X.memory_usage().sum() / 4


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> None:
    standins.install(monkeypatch)
    monkeypatch.setattr(module, "GPU_CELLS", 12)


@pytest.mark.parametrize(("width", "n_parts"), [(0, 3), (3, 3), (6, 5), (60, 10)])
@pytest.mark.usefixtures("device")
def test_a_gpu_takes_a_bounded_number_of_cells_at_a_time(
    width: int, n_parts: int, frame: pd.DataFrame
) -> None:
    table = Table(frames.to_device(frame[["i", "f"]].assign(g=1.0), "cuda"))
    parts = table.parts(width)
    assert [row for p in parts for row in range(p.rows.start, p.rows.stop)] == list(range(10))
    assert len(parts) == n_parts
    with halved():
        assert table.parts(width)[0].n_rows == -(-parts[0].n_rows // 2)


@pytest.mark.parametrize(
    ("free", "cells"),
    [(0, 2**24), (2**33, 2**24), (12 * 2**30, 2**24), (70 * 2**30, 2**27), (2**38, 2**27)],
)
def test_a_block_takes_a_share_of_the_memory_that_is_free(
    free: int, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.devices, "free_memory", lambda: free)
    assert module.gpu_cells() == cells
    assert cells == 2**24 or 64 * 8 * cells <= free
