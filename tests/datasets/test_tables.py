from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from datasets import _tables
from datasets._store import Column, sha256
from datasets._tables import Source
from datasets.errors import DataError

TYPES = {"a": "int8", "b": "string", "c": "float32"}


def read(tmp_path: Path, text: str | bytes) -> pa.Table:
    path = tmp_path / "raw.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return _tables.read_csv(path, TYPES)


def test_only_na_is_missing(tmp_path: Path) -> None:
    table = read(tmp_path, "a,b,c\n1,NA,NA\nNA,,1.5\n3,null,2\n4,nan,3\n")
    assert table["a"].to_pylist() == [1, None, 3, 4]
    assert table["b"].to_pylist() == [None, "", "null", "nan"]
    assert table["c"].to_pylist() == [None, 1.5, 2.0, 3.0]
    assert [str(field.type) for field in table.schema] == ["int8", "string", "float"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,b\n1,x\n", "not expected: c"),
        ("a,b,c,d\n1,x,2,3\n", "not expected: d"),
        ("a,b,C\n1,x,2\n", "not expected: C, c"),
        ("a,b,c,c\n1,x,2,2\n", "twice"),
        ("a,b,c\n1,x,2,9\n", "Expected 3 columns, got 4"),
        ("a,b,c\n1,x,2\n1,x,2,9\n", "Expected 3 columns, got 4"),
        ("a,b,c\n1,x,2\n1,x\n", "Expected 3 columns, got 2"),
        ("a,b,c\n128,x,2\n", "column #0.*128"),
        ("a,b,c\n,x,2\n", "column #0"),
        ("a,b,c\n1,x,two\n", "column #2.*two"),
        (b"a,b,c\n1,\xff,2\n", "column #1.*UTF8"),
        ("", "Empty"),
    ],
)
def test_a_file_that_is_not_as_declared_is_refused(
    tmp_path: Path, text: str | bytes, told: str
) -> None:
    with pytest.raises(DataError, match=rf"(?s)raw\.csv: .*{told}"):
        read(tmp_path, text)


def test_a_zip_is_read_by_its_name(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "raw.csv.zip", "w") as archive:
        archive.writestr("raw.csv", "a,b,c\n1,x,2\n")
    assert _tables.read_csv(tmp_path / "raw.csv.zip", TYPES)["a"].to_pylist() == [1]


@pytest.mark.parametrize("content", [b"not a zip", None])
def test_a_bad_zip_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "raw.csv.zip"
    if content is None:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("other.csv", "a,b,c\n")
    else:
        path.write_bytes(content)
    with pytest.raises(DataError, match=r"raw\.csv\.zip: cannot be read"):
        _tables.read_csv(path, TYPES)


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
    with pytest.raises(DataError, match=r"raw\.csv: not the file.*make setup"):
        _tables.read_package("rawpackage", {"raw.csv": pinned})


def test_a_raw_file_that_is_absent_is_named(package: Path) -> None:
    with pytest.raises(DataError, match=r"more\.csv: cannot be read: No such file"):
        _tables.read_package("rawpackage", {"more.csv": source(package / "raw.csv")})


def test_an_absent_package_tells_how_to_install_it() -> None:
    with pytest.raises(DataError, match="no_such_package is not installed; run `make setup`"):
        _tables.read_package("no_such_package", {})


def test_lookup_keeps_order_and_count_and_gives_null_where_there_is_none() -> None:
    table = pa.table({"k": ["a", "b"], "n": [1, 2], "v": [10, None]})
    wanted = [pa.array(["b", "a", "c", "a"]), pa.array([2, 1, 1, 2])]
    found = _tables.lookup(table, [table["k"], table["n"]], wanted)
    assert found["k"].to_pylist() == ["b", "a", None, None]
    assert found["v"].to_pylist() == [None, 10, None, None]


def test_lookup_does_not_mix_up_the_parts_of_a_key() -> None:
    table = pa.table({"k": ["1", "11"], "n": ["12", "2"]})
    found = _tables.lookup(table, [table["k"], table["n"]], [pa.array(["11"]), pa.array(["2"])])
    assert found["k"].to_pylist() == ["11"]


def test_lookup_refuses_a_key_that_is_there_twice() -> None:
    table = pa.table({"k": ["a", "a"]})
    with pytest.raises(DataError, match="same key"):
        _tables.lookup(table, [table["k"]], [pa.array(["a"])])


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


def test_fold_depends_on_nothing_but_the_row() -> None:
    rows = np.arange(10_000)
    folds = _tables.fold(rows)
    assert folds.dtype == np.uint8
    assert np.array_equal(_tables.fold(rows[::-1]), folds[::-1])
    assert np.array_equal(_tables.fold(rows[::7].astype(np.int32)), folds[::7])


def test_folds_are_even_and_do_not_follow_the_order_of_rows() -> None:
    count = 300_000
    folds = _tables.fold(np.arange(count)).astype(float)
    chi2 = ((np.bincount(folds.astype(int), minlength=100) - count / 100) ** 2).sum() / (
        count / 100
    )
    assert 50 < chi2 < 160, "99 degrees of freedom"
    for lag in (1, 2, 24, 100):
        assert abs(np.corrcoef(folds[lag:], folds[:-lag])[0, 1]) < 0.01


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


def test_conform_refuses_a_value_that_does_not_fit() -> None:
    with pytest.raises(DataError, match="column x: .*300"):
        _tables.conform({"c": pa.array(["a"]), "x": np.array([300])}, COLUMNS)


def test_conform_refuses_columns_that_are_not_the_declared_ones() -> None:
    with pytest.raises(DataError, match="differ: x, y"):
        _tables.conform({"c": pa.array(["a"]), "y": np.array([3])}, COLUMNS)
