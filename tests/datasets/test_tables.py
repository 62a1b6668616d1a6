from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from datasets import _tables
from datasets._store import Column, sha256
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


def zipped(name: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("readme.html", "<html></html>")
        archive.writestr(name, "a,b,c\n1,x,2\n")
    return content.getvalue()


def test_a_zip_is_read_by_its_csv_file(tmp_path: Path) -> None:
    assert read(tmp_path / "raw.zip", zipped("any.csv"))["a"].to_pylist() == [1]


@pytest.mark.parametrize("content", [b"not a zip", zipped("other.txt")])
def test_a_bad_zip_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DataError, match=r"raw\.zip: cannot be read"):
        read(tmp_path / "raw.zip", content)


def test_a_file_is_read_block_by_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_tables, "_BLOCK", 100)
    (tmp_path / "raw.csv").write_text("1,x,2\n" * 100)
    tables = list(_tables.read_csv(tmp_path / "raw.csv", TYPES))
    assert len(tables) > 3
    columns = {"a": Column("number", "int8", "a number"), "fold": _tables.FOLD}
    made = pa.concat_tables(_tables.folded((t.select(["a"]) for t in tables), columns))
    assert made["fold"].to_pylist() == _tables.fold(np.arange(100)).tolist()


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
    with pytest.raises(DataError, match=r"raw\.csv: SHA-256 is \w{64}, not \w{64}; .*make setup"):
        _tables.read_package("rawpackage", {"raw.csv": pinned})


def test_an_absent_file_or_package_tells_how_to_have_it(package: Path) -> None:
    with pytest.raises(DataError, match=r"more\.csv: cannot be read: No such file"):
        _tables.read_package("rawpackage", {"more.csv": source(package / "raw.csv")})
    with pytest.raises(DataError, match="no_such_package is not installed; run `make setup`"):
        _tables.read_package("no_such_package", {})


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


def test_conform_gives_the_declared_order_and_types() -> None:
    table = _tables.conform({"c": pa.array(["b", None, "a"]), "x": np.array([1, 2, 3])}, COLUMNS)
    assert table.column_names == ["x", "c"]
    assert table.schema.field("x").type == pa.int8()
    assert table.schema.field("c").type == pa.dictionary(pa.int32(), pa.string())
    assert table["c"].chunk(0).dictionary.to_pylist() == ["a", "b"]
    assert table["c"].to_pylist() == ["b", None, "a"]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"c": ["a"], "x": np.array([300])}, "column x: .*300"),
        ({"c": ["a"], "y": np.array([3])}, "differ: x, y"),
    ],
)
def test_conform_refuses_what_is_not_as_declared(values: dict[str, Any], told: str) -> None:
    with pytest.raises(DataError, match=told):
        _tables.conform(values, COLUMNS)
