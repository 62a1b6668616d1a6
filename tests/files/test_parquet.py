from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from pipeline.errors import DataError
from pipeline.files import parquet

FEATURES = ["distance", "carrier", "day", "temp"]
LATE = [("month", ">", 9)]


@pytest.fixture
def copy(small_flights: Path, tmp_path: Path) -> Path:
    """Return a file that may be damaged."""
    path = tmp_path / "copy.parquet"
    path.write_bytes(small_flights.read_bytes())
    return path


def flip_a_bit(path: Path, column: str) -> None:
    """Change the last byte of a column's pages in the last row group."""
    group = pq.read_metadata(path).row_group(11)
    chunk = next(c for c in map(group.column, range(99)) if c.path_in_schema == column)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    data = bytearray(path.read_bytes())
    data[start + chunk.total_compressed_size - 1] ^= 1
    path.write_bytes(data)


def test_it_reads_what_pandas_reads(small_flights: Path) -> None:
    X, y = parquet.read_parquet(small_flights, FEATURES, "late", LATE, "cpu")
    frame = pd.read_parquet(small_flights)
    frame = frame[frame["month"] > 9].reset_index(drop=True)
    pd.testing.assert_frame_equal(X, frame[FEATURES])
    assert isinstance(y, np.ndarray)
    np.testing.assert_array_equal(y, frame["late"].to_numpy())


def test_categories_have_the_levels_of_the_whole_file(small_flights: Path) -> None:
    X, _ = parquet.read_parquet(small_flights, ["carrier"], "late", [("month", "==", 1)], "cpu")
    whole, _ = parquet.read_parquet(small_flights, ["carrier"], "late", [("month", ">", 0)], "cpu")
    assert X["carrier"].dtype == whole["carrier"].dtype
    assert X["carrier"].nunique() <= whole["carrier"].cat.categories.size


def test_categories_are_those_of_the_files_whatever_their_folders_are_called(
    tmp_path: Path,
) -> None:
    for folder, values in (("kind=a", "xy"), ("kind=b", "zy")):
        (tmp_path / folder).mkdir()
        rows = pd.DataFrame({"kind": pd.Categorical([*values])})
        rows.to_parquet(tmp_path / folder / "rows.parquet")
    files = tuple((file, 0, 0, 0) for file in sorted(tmp_path.rglob("*.parquet")))
    assert [*parquet._categories(files, ("kind",))["kind"].categories] == ["x", "y", "z"]


def test_a_missing_file_is_reported_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.parquet: no such file; create it with `make data`"):
        parquet.read_parquet(tmp_path / "none.parquet", FEATURES, "late", LATE, "cpu")


@pytest.mark.parametrize("column", [*FEATURES, "late"])
def test_a_flipped_bit_in_a_page_is_caught(copy: Path, column: str) -> None:
    flip_a_bit(copy, column)
    with pytest.raises(DataError, match=r"copy\.parquet: cannot be read: .*make clean-data"):
        parquet.read_parquet(copy, FEATURES, "late", LATE, "cpu")


@pytest.mark.parametrize("size", [0, 3, 1000, -1])
def test_a_truncated_file_is_caught(copy: Path, size: int) -> None:
    os.truncate(copy, size if size >= 0 else copy.stat().st_size + size)
    with pytest.raises(DataError, match=r"copy\.parquet: cannot be read.*make data"):
        parquet.read_parquet(copy, FEATURES, "late", LATE, "cpu")


def test_a_column_that_is_not_there_is_named_in_one_line(small_flights: Path) -> None:
    with pytest.raises(DataError, match="altitude") as caught:
        parquet.read_parquet(small_flights, ["day", "altitude"], "late", LATE, "cpu")
    assert "\n" not in str(caught.value)


def test_conditions_take_dates_in_words(tmp_path: Path) -> None:
    days = pd.date_range("2024-01-01", periods=9)
    path = tmp_path / "days.parquet"
    pd.DataFrame({"on": days, "at": days.tz_localize("UTC"), "n": range(9)}).to_parquet(path)
    for name in ("on", "at"):
        for value in ("2024-01-04", pd.Timestamp("2024-01-04").to_pydatetime()):
            _, y = parquet.read_parquet(path, ["n"], "n", [(name, "<", value)], "cpu")
            assert y.tolist() == [0, 1, 2]
    for value in (7, "soon", "2024-01-04T00:00Z"):
        with pytest.raises(DataError, match=r"condition \('on', '<', "):
            parquet.read_parquet(path, ["n"], "n", [("on", "<", value)], "cpu")
