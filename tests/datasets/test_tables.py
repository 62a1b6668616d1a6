from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from datasets import _tables
from datasets._download import sha256
from datasets._store import Column
from datasets._tables import Source
from datasets.errors import DataError

TYPES = {"a": "int8", "b": "string", "c": "float32"}


def read(path: Path, content: bytes, **options: Any) -> pa.Table:
    path.write_bytes(content)
    return pa.concat_tables(_tables.read_csv(path, TYPES, header=True, **options))


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    text = b"a,b,c\n1,NA,NA\nNA,,1.5\n3,null,2\n4,nan,3\n"
    table = read(tmp_path / "raw.csv", text, null=["NA"])
    assert table["a"].to_pylist() == [1, None, 3, 4]
    assert table["b"].to_pylist() == [None, "", "null", "nan"]
    assert table["c"].to_pylist() == [None, 1.5, 2.0, 3.0]
    assert [str(field.type) for field in table.schema] == ["int8", "string", "float"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"a,b\n1,x\n", "'c'"),
        (b"a,b,c\n1,x,2\n1,x,2,9\n", "Expected 3 columns, got 4"),
        (b"a,b,c\n128,x,2\n", "128"),
        (b"a,b,c\n1,x,two\n", "two"),
        (b"a,b,c\n1,\xff,2\n", "UTF8"),
        (b"", "Empty"),
    ],
)
def test_a_file_that_is_not_as_declared_is_refused(tmp_path: Path, text: bytes, told: str) -> None:
    with pytest.raises(DataError, match=rf"(?s)raw\.csv: cannot be read: .*{told}"):
        read(tmp_path / "raw.csv", text)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the data folder of an installed package whose code cannot run."""
    folder = tmp_path / "rawpackage" / "data"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise RuntimeError('executed')")
    (folder / "raw.csv").write_text("a,b,c\n1,x,2\n")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def source(path: Path) -> Source:
    return Source(sha256(path), {"int8": "a", "string": "b", "float32": "c"})


def test_a_package_is_read_without_running_it(package: Path) -> None:
    tables = _tables.read_package("rawpackage", {"raw.csv": source(package / "raw.csv")})
    assert tables["raw.csv"].to_pylist() == [{"a": 1, "b": "x", "c": 2.0}]


def test_a_raw_file_that_changed_is_named(package: Path) -> None:
    pinned = source(package / "raw.csv")
    (package / "raw.csv").write_text("a,b,c\n2,x,2\n")
    with pytest.raises(
        DataError, match=r"raw\.csv: SHA-256 is \w{64}, not \w{64}; reinstall rawpackage"
    ):
        _tables.read_package("rawpackage", {"raw.csv": pinned})


def test_lookup_keeps_order_and_count_and_gives_null_where_there_is_none() -> None:
    table = pa.table({"k": ["a", "b"], "n": [1, 2], "v": [10, None]})
    wanted = [pa.array(["b", "a", "c", "a"]), pa.array([2, 1, 1, 2])]
    found = _tables.lookup(table, [table["k"], table["n"]], wanted)
    assert found["k"].to_pylist() == ["b", "a", None, None]
    assert found["v"].to_pylist() == [None, 10, None, None]


def test_lookup_tells_the_parts_of_a_key_apart_and_refuses_one_that_is_there_twice() -> None:
    table = pa.table({"k": ["1", "11"], "n": ["12", "2"]})
    found = _tables.lookup(table, [table["k"], table["n"]], [pa.array(["11"]), pa.array(["2"])])
    assert found["k"].to_pylist() == ["11"]
    with pytest.raises(DataError, match="same key"):
        _tables.lookup(table, [pa.array(["a", "a"])], [pa.array(["a"])])


def splitmix64(state: int) -> int:
    """Return the published generator's output, in Python's unbounded integers."""
    word = 2**64 - 1
    z = (state + 0x9E3779B97F4A7C15) & word
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & word
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & word
    return z ^ (z >> 31)


def test_fold_is_splitmix64_of_the_row_number() -> None:
    rows = [0, 1, 2, 1000, 336_775]
    states = [(row * 0x9E3779B97F4A7C15) % 2**64 for row in rows]
    expected = [splitmix64(state) % 100 for state in states]
    assert _tables.fold(np.array(rows)).tolist() == expected
    assert splitmix64(0) == 0xE220A8397B1DCDAF, "first output of the reference for seed 0"


COLUMNS = {
    "x": Column("number", "int8", "a number"),
    "c": Column("category", "category", "a label"),
}


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"c": ["a"], "x": np.array([300])}, "column x: .*300"),
        ({"c": ["a"], "y": np.array([3])}, "differ from those declared: x, y"),
    ],
)
def test_conform_refuses_what_is_not_as_declared(values: dict[str, Any], told: str) -> None:
    with pytest.raises(DataError, match=told):
        _tables.conform(values, COLUMNS)
