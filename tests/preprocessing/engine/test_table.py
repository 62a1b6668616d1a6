from __future__ import annotations

import time
from threading import get_ident
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pipeline.data import frames
from pipeline.preprocessing.engine import table as module
from pipeline.preprocessing.engine.blocks import Categories, Indicators, Numbers
from pipeline.preprocessing.engine.table import Cut, Part, Table, count_cells, density
from pipeline.system.threads import each, halved
from tests.contract import standins


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK_ROWS", 3)


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame({"i": range(10), "f": np.linspace(0, 1, 10), "t": list("abcdeabcde")})


@pytest.mark.parametrize("n_rows", [1, 2, 3, 4, 9, 10])
@pytest.mark.usefixtures("small_blocks")
def test_parts_cover_every_row_once(n_rows: int, frame: pd.DataFrame) -> None:
    parts = Table(frame[:n_rows]).parts()
    rows = [row for part in parts for row in range(part.rows.start, part.rows.stop)]
    assert rows == list(range(n_rows))
    assert all(part.n_rows <= 3 for part in parts)


@pytest.mark.usefixtures("small_blocks")
def test_reduce_merges_left_to_right(frame: pd.DataFrame) -> None:
    table = Table(frame)
    assert table.reduce(lambda part: f"{part.rows.start}", lambda a, b: f"({a} {b})") == (
        "(((0 3) 6) 9)"
    )


@pytest.mark.usefixtures("small_blocks")
def test_density_is_counted_without_the_rows_of_dense_blocks(frame: pd.DataFrame) -> None:
    asked: list[int] = []

    def dense(part: Part) -> Numbers:
        asked.append(part.n_rows)
        return Numbers(np.zeros((part.n_rows, 2)))

    one_hot = lambda part: Indicators([np.zeros(part.n_rows, int)], [6])  # noqa: E731
    table = Table(frame)
    counted = count_cells(table, [one_hot])
    assert density(table.first(), [dense], [one_hot], counted) == 3 / 8
    assert asked == [1]


def test_a_part_takes_its_rows_of_arrays(frame: pd.DataFrame) -> None:
    part = Part(Table(frame, [np.arange(100, 110)]), slice(2, 4))
    found = part.of([np.arange(10), Cut(0)])
    assert [array.tolist() for array in found] == [[2, 3], [102, 103]]


def test_columns_keep_the_type_they_have_together(frame: pd.DataFrame) -> None:
    part = Part(Table(frame), slice(2, 4))
    assert part.read(["i"], Numbers).values.tolist() == [[2], [3]]
    assert part.read(["i"], Numbers).values.dtype == "int64"
    assert part.read(["i", "f"], Numbers).values.dtype == "float64"


def test_columns_of_a_block_are_contiguous(frame: pd.DataFrame) -> None:
    block = Part(Table(frame), slice(0, 9)).read(["i", "f"], Numbers)
    assert block.values[:, 0].flags.c_contiguous


def test_columns_are_converted_once_whichever_thread_asks(
    frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def slow(table: Table, name: str) -> Any:
        asked.append(name)
        time.sleep(0.01)
        return read(table, name)

    read = Table._number
    monkeypatch.setattr(Table, "_number", slow)
    table = Table(frame)
    parts = [Part(table, slice(i, i + 1)) for i in range(10)]
    assert [b.values[0, 0] for b in each(lambda p: p.read(["i"], Numbers), parts)] == [*range(10)]
    assert asked == ["i"]


def test_parts_share_the_dictionary(frame: pd.DataFrame) -> None:
    table = Table(frame)
    first, second = (
        Part(table, rows).read(["t"], Categories).columns[0] for rows in (slice(0, 5), slice(5, 10))
    )
    assert first.values is second.values
    assert first.codes.tolist() == second.codes.tolist() == [0, 1, 2, 3, 4]


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


@pytest.mark.usefixtures("device")
def test_a_gpu_takes_one_block_after_the_other() -> None:
    table = Table(frames.to_device(np.zeros((10, 3)), "cuda"))
    made = table.each(lambda part: (get_ident(), part.rows.start))
    assert next(made) == (get_ident(), 0)
    assert {ident for ident, _ in made} == {get_ident()}


@pytest.mark.usefixtures("device")
def test_codes_on_a_gpu_are_as_small_as_they_can_be(frame: pd.DataFrame) -> None:
    table = Table(frames.to_device(frame, "cuda"))
    small, coded = (c for c in Part(table, slice(0, 10)).read(["i", "t"], Categories).columns)
    assert small.codes.dtype == coded.codes.dtype == "int8"
    assert coded.values[coded.codes.tolist()].tolist() == frame["t"].tolist()
