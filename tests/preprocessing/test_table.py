from __future__ import annotations

import threading
import time

import numpy as np
import pandas as pd
import pytest

from pipeline.preprocessing import table as module
from pipeline.preprocessing.blocks import Categories, Numbers
from pipeline.preprocessing.table import Table
from pipeline.residency import ledger, moved, record


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK_ROWS", 3)


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame({"i": range(10), "f": np.linspace(0, 1, 10), "t": list("abcdeabcde")})


@pytest.mark.parametrize("n_rows", [1, 2, 3, 4, 9, 10])
@pytest.mark.usefixtures("small_blocks")
def test_slices_cover_every_row_once(n_rows: int, frame: pd.DataFrame) -> None:
    slices = Table(frame[:n_rows]).slices()
    rows = [row for part in slices for row in range(part.start, part.stop)]
    assert rows == list(range(n_rows))
    assert all(part.stop - part.start <= 3 for part in slices)


@pytest.mark.usefixtures("small_blocks")
def test_results_come_in_order_whatever_thread_is_first(frame: pd.DataFrame) -> None:
    def slow_start(rows: slice) -> int:
        time.sleep(0.02 if rows.start == 0 else 0)
        return rows.start

    assert Table(frame).each(slow_start) == [0, 3, 6, 9]


@pytest.mark.usefixtures("small_blocks")
def test_reduce_merges_left_to_right(frame: pd.DataFrame) -> None:
    table = Table(frame)
    assert table.reduce(lambda rows: f"{rows.start}", lambda a, b: f"({a} {b})") == (
        "(((0 3) 6) 9)"
    )


def test_one_block_stays_in_the_calling_thread(frame: pd.DataFrame) -> None:
    assert Table(frame).each(lambda rows: threading.get_ident()) == [threading.get_ident()]


@pytest.mark.usefixtures("small_blocks")
def test_threads_report_to_the_ledger_of_the_call(frame: pd.DataFrame) -> None:
    with ledger() as book, record("step", "fit", "cpu"):
        Table(frame).each(lambda rows: moved(to_host=rows.stop - rows.start))
    assert book.host_bytes == 10


@pytest.mark.usefixtures("small_blocks")
def test_an_error_in_a_thread_reaches_the_caller(frame: pd.DataFrame) -> None:
    def fail(rows: slice) -> None:
        if rows.start == 6:
            raise KeyError("block 6")

    with pytest.raises(KeyError, match="block 6"):
        Table(frame).each(fail)


def test_columns_keep_the_type_they_have_together(frame: pd.DataFrame) -> None:
    table = Table(frame)
    table.convert(["i", "f"], Numbers)
    assert table.numbers(["i"], slice(2, 4)).values.tolist() == [[2], [3]]
    assert table.numbers(["i"], slice(2, 4)).values.dtype == "int64"
    assert table.numbers(["i", "f"], slice(0, 1)).values.dtype == "float64"


def test_columns_are_converted_once(frame: pd.DataFrame) -> None:
    table = Table(frame)
    table.convert(["t"], Categories)
    first = table.categories(["t"], slice(0, 5)).columns[0]
    table.convert(["t"], Categories)
    second = table.categories(["t"], slice(5, 10)).columns[0]
    assert first.values is second.values
    assert first.codes.tolist() == second.codes.tolist() == [0, 1, 2, 3, 4]
