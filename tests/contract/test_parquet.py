"""Parquet read to a stand-in of cuDF, whose reader loses zones, dictionaries and conditions."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import DataError
from pipeline.files import parquet
from pipeline.files.parquet import Reader
from pipeline.files.read import split_row_groups
from pipeline.table import frames
from tests.contract.cases import EVERYWHERE

pytestmark = pytest.mark.usefixtures("device")

ROWS = 60
MONTHS = np.arange(ROWS) % 12 + 1
COLUMNS = ["when", "carrier", "code", "size", "n"]


@pytest.fixture(name="path")
def parquet_file(tmp_path: Path) -> Path:
    """A file in six row groups, with what cuDF's reader does not keep."""
    hours = pd.date_range("2024-03-30 20:00", periods=ROWS, freq="h", tz="UTC")
    carriers = pa.array(["AA", None, "ZZ", "BB"] * (ROWS // 4)).dictionary_encode()
    sizes = pd.Categorical(["small", "large"] * (ROWS // 2), ["small", "huge", "large"], True)
    columns = {
        "when": pa.array(hours.tz_convert("Europe/Berlin")),
        "carrier": carriers,
        "code": pa.array(MONTHS * 100).dictionary_encode(),
        "size": pa.array(sizes),
        "n": pa.array([None, *range(1, ROWS)]),
        "month": pa.array(MONTHS.astype("uint8")),
        "late": pa.array((MONTHS % 2).astype("int8")),
        "plain": pa.array(hours.tz_localize(None)),
        "day": pa.array(hours.date),
        "named": pa.array(["on time", "late"] * (ROWS // 2)),
        "coded": pa.array(["on time", "late"] * (ROWS // 2)).dictionary_encode(),
        "known": pa.array(MONTHS > 6),
    }
    pq.write_table(pa.table(columns), tmp_path / "table.parquet", row_group_size=10)
    return tmp_path / "table.parquet"


def held_to_the_host(path: Path, rows: Any, columns: Any = COLUMNS) -> None:
    wanted, y = parquet.read_parquet(path, columns, "late", rows, "cpu")
    found, same = parquet.read_parquet(path, columns, "late", rows, "cuda")
    assert frames.library(found) == "cudf"
    pd.testing.assert_frame_equal(found.to_pandas(), wanted)
    np.testing.assert_array_equal(same, y)
    assert same.dtype == y.dtype


CONDITIONS: list[Any] = [
    (),
    [("month", "<=", 9)],
    [("month", "not in", {1, 5}), ("carrier", "==", "ZZ")],
    [("when", ">", pd.Timestamp("2024-03-31 09:00", tz="Europe/Berlin"))],
    [("when", "in", ["2024-03-31 09:00", pd.Timestamp("2024-03-31 10:00", tz="UTC")])],
    [("plain", ">=", date(2024, 3, 31)), ("plain", "!=", "2024-03-31 09:00")],
    [("day", "in", ["2024-03-31", datetime(2024, 4, 1)])],
]


@EVERYWHERE
@pytest.mark.parametrize("rows", CONDITIONS, ids=str)
def test_rows_are_those_that_meet_the_conditions(rows: Any, path: Path) -> None:
    held_to_the_host(path, rows)


@EVERYWHERE
def test_every_split_has_the_categories_of_the_file(path: Path) -> None:
    whole, _ = parquet.read_parquet(path, ["carrier", "size"], "late", (), "cpu")
    for op in ("<", ">=", ">"):
        part, y = parquet.read_parquet(
            path, ["carrier", "size"], "late", [("month", op, 12)], "cuda"
        )
        assert part.to_pandas().dtypes.tolist() == whole.dtypes.tolist()
        assert len(y) == len(part) == {"<": 55, ">=": 5, ">": 0}[op]


def test_the_dictionaries_of_a_file_are_decoded_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[Any] = []
    read = pq.read_table

    def counted(file: Path, **how: Any) -> Any:
        decoded.append(how["columns"])
        return read(file, **how)

    monkeypatch.setattr(pq, "read_table", counted)
    for rows in CONDITIONS[1:3]:
        parquet.read_parquet(path, COLUMNS, "late", rows, "cuda")
    assert decoded == [["carrier", "size"]]
    table = read(path)
    carriers = pa.array(["YY"] * ROWS).dictionary_encode()
    pq.write_table(table.set_column(1, "carrier", carriers), path, row_group_size=10)
    held_to_the_host(path, ())


@EVERYWHERE
@pytest.mark.parametrize(("size", "count"), [(1, 6), (1 << 20, 1)])
def test_partitions_are_parts_of_the_same_frame(size: int, count: int, path: Path) -> None:
    wanted, _ = parquet.read_parquet(path, COLUMNS, "late", [("n", ">", 12)], "cpu")
    reader = Reader.of([path], COLUMNS, [("n", ">", 12)])
    parts = [reader.read(piece).to_pandas() for piece in split_row_groups(reader, [path], size)]
    assert len(parts) == count
    pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), wanted)
    assert reader.read({}).to_pandas().dtypes.tolist() == parts[0].dtypes.tolist()
    assert list(reader.read({path: [5]}, columns=["n"]).columns) == ["n"]


@EVERYWHERE
def test_labels_that_pandas_wrote_are_left_out(tmp_path: Path) -> None:
    frame = pd.DataFrame({"n": [1.0, 2.0], "late": [0, 1]}, index=pd.Index(["x", "y"], name="id"))
    frame.to_parquet(tmp_path / "t.parquet")
    held_to_the_host(tmp_path / "t.parquet", (), ["n"])


@EVERYWHERE
def test_a_condition_that_cannot_be_tested_is_named(path: Path) -> None:
    for device_name in ("cpu", "cuda"):
        with pytest.raises(DataError, match="month|table.parquet"):
            parquet.read_parquet(path, ["n"], "late", [("month", "<", "June")], device_name)


@EVERYWHERE
def test_a_zone_that_cudf_does_not_know_is_named(tmp_path: Path) -> None:
    dates = pa.array([0, 1], pa.timestamp("us", "+01:30"))
    pq.write_table(pa.table({"when": dates, "late": [0, 1]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"column 'when' has the time zone '\+01:30', which cuDF"):
        parquet.read_parquet(tmp_path / "t.parquet", ["when"], "late", (), "cuda")


@EVERYWHERE
def test_categories_of_files_that_differ_are_joined(tmp_path: Path) -> None:
    for i, texts in enumerate((["b", "a"], ["c", "b"])):
        table = pa.table({"t": pa.array(texts).dictionary_encode(), "late": [0, 1]})
        pq.write_table(table, tmp_path / f"[{i}]*.parquet")
    held_to_the_host(tmp_path, (), ["t"])
