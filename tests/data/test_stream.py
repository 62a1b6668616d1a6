from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.data.stream import TableFile
from pipeline.errors import DataError


@pytest.mark.parametrize("size", [1, 3, 10, 99])
@pytest.mark.parametrize("skip", [0, 1, 7, 10])
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_rows_come_once_and_in_order(tmp_path: Path, form: str, size: int, skip: int) -> None:
    path = tmp_path / f"in.{form}"
    table = pa.table({"i": [float(i) for i in range(10)], "t": [str(i) for i in range(10)]})
    if form == "csv":
        table.to_pandas().to_csv(path, index=False)
    else:
        pq.write_table(table, path, row_group_size=4)
    source = TableFile(path, ["i", "t"], {"i": "number", "t": "text"})
    tables = list(source.tables(size, skip))
    assert [value for t in tables for value in t["i"].to_pylist()] == list(range(skip, 10))
    assert all(len(t) == size for t in tables[:-1])
    assert source.rows() == (None if form == "csv" else 10)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    group, columns = 10_000, 8
    X = np.random.default_rng(0).normal(size=(group * 20, columns))
    pq.write_table(pa.table(dict(zip("abcdefgh", X.T, strict=True))), tmp_path / "in",
                   row_group_size=group)  # fmt: skip
    held = []
    for table in TableFile(tmp_path / "in", None, {}).tables(2_500):
        held.append(pa.total_allocated_bytes())
        del table
    assert held[-5] - held[10] < 3 * group * columns * 8


def test_an_empty_cell_is_missing_quoted_or_not(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text('n,t\n1,""\n,\nNaN,x\n')
    (table,) = TableFile(path, None, {"n": "number", "t": "text"}).tables(9)
    assert table["t"].to_pylist() == [None, None, "x"]
    assert table["n"].null_count == 2


def test_a_damaged_file_is_reported(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": np.arange(1e4)}), tmp_path / "in", write_page_checksum=True)
    data = bytearray((tmp_path / "in").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "in").write_bytes(data)
    with pytest.raises(DataError, match="in: cannot be read: .*CRC"):
        list(TableFile(tmp_path / "in", None, {}).tables(100))
