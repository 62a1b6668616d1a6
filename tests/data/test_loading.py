from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.data import files, read
from pipeline.errors import ConfigError, DataError

pytest.importorskip("dask.dataframe")
ROWS = 120


def table(rows: int = ROWS, **columns: Any) -> pa.Table:
    n = np.arange(rows)
    text = pa.array([f"t{i % 3}" for i in n]).dictionary_encode()
    return pa.table({"a": n * 1.0, "t": text, "other": n, "late": n % 2, **columns})


def test_only_the_features_come_and_the_target_keeps_their_order(tmp_path: Path) -> None:
    for number in (0, 1, 2, 10):  # Dask and Arrow sort these names differently.
        part = table(a=pa.array(np.arange(ROWS) + 1000.0 * number), late=np.arange(ROWS) + number)
        pq.write_table(part, tmp_path / f"part.{number}.parquet", row_group_size=30)
    X, y = read.scan(tmp_path, ["t", "a"], "late")
    made = X.compute()
    assert list(made.columns) == ["t", "a"]
    np.testing.assert_array_equal(made["a"].to_numpy() % 1000 + made["a"].to_numpy() // 1000, y)


def test_rows_are_those_that_meet_the_conditions(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "x.parquet")
    X, y = read.scan(tmp_path / "x.parquet", ["a"], "late", rows=[("a", "<", 10)])
    assert X.compute()["a"].tolist() == [*map(float, range(10))]
    assert len(y) == 10


def test_small_partitions_cut_a_file_between_its_row_groups(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "x.parquet", row_group_size=10)
    many, _ = read.scan(tmp_path / "x.parquet", ["a"], "late", partition_bytes=1)
    one, _ = read.scan(tmp_path / "x.parquet", ["a"], "late", partition_bytes=2**20)
    assert (many.npartitions, one.npartitions) == (12, 1)


def test_a_csv_is_read_as_well(tmp_path: Path) -> None:
    table().to_pandas().to_csv(tmp_path / "x.csv", index=False)
    X, y = read.scan(tmp_path / "x.csv", ["a", "t"], "late", partition_bytes=500)
    assert X.npartitions > 1
    pd.testing.assert_series_equal(
        X.compute()["a"].reset_index(drop=True), table().to_pandas()["a"]
    )
    assert y.tolist() == [i % 2 for i in range(ROWS)]


def test_files_that_disagree_are_refused_by_name(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "1.parquet")
    pq.write_table(table(a=pa.array(["x"] * ROWS)), tmp_path / "2.parquet")
    with pytest.raises(DataError, match=r"2.parquet: column 'a' holds string and .*1.parquet hold"):
        read.scan(tmp_path, ["a"], "late")
    pq.write_table(table().drop_columns(["t"]), tmp_path / "2.parquet")
    with pytest.raises(DataError, match=r"2.parquet: has no column 't'"):
        read.scan(tmp_path, ["a", "t"], "late")


def test_text_with_and_without_a_dictionary_agrees(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "1.parquet")
    plain = table().set_column(1, "t", table()["t"].cast(pa.string()))
    pq.write_table(plain, tmp_path / "2.parquet")
    sizes = read.agree(files.parquet_files(tmp_path), ["a", "t"])
    assert all(size > 0 for size in sizes)


@pytest.mark.parametrize(
    ("name", "options", "error", "said"),
    [
        ("gone.parquet", {}, DataError, "no such file"),
        ("broken.parquet", {}, DataError, "broken.parquet: cannot be read"),
        ("empty", {}, DataError, "holds no file"),
        ("x.csv", {"rows": [("a", "<", 1)]}, ConfigError, "is for Parquet"),
        ("x.csv", {"device": "gpu"}, ConfigError, "device='gpu'"),
        ("x.csv", {}, DataError, "x.csv: has no column 'late'"),
    ],
)
def test_what_cannot_be_read_is_said(
    name: str, options: dict, error: type, said: str, tmp_path: Path
) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"no parquet")
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(error, match=said):
        read.scan(tmp_path / name, ["a"], "late", **options)


def test_partitions_leave_room_in_memory_and_there_are_some_for_every_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(read, "_resources", lambda: (2**30, 4))
    assert read.partition_size(2**40) == 2**26, "a share of the memory"
    assert read.partition_size(2**27) == 2**24, "of small data, two for each thread"
    assert read.partition_size(10) == read.SMALLEST
    monkeypatch.setattr(read, "_resources", lambda: (2**50, 4))
    assert read.partition_size(2**60) == read.LARGEST


@pytest.mark.parametrize("rows", [(), [("a", "<", 60)]])
def test_files_that_are_partitions_and_files_that_are_split_hold_the_same(
    rows: Any, tmp_path: Path
) -> None:
    for number in range(3):
        table = pa.table({"a": np.arange(30.0) + 30 * number, "b": np.arange(30)})
        pq.write_table(table, tmp_path / f"{number}.parquet", row_group_size=10)
    whole, y = read.scan(tmp_path, ["a"], "b", rows=rows, partition_bytes=1 << 20)
    split, same = read.scan(tmp_path, ["a"], "b", rows=rows, partition_bytes=100)
    assert whole.npartitions < split.npartitions
    np.testing.assert_array_equal(whole.compute(), split.compute())
    np.testing.assert_array_equal(y, same)
