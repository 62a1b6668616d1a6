"""The encoding of a file is found from all of it."""

from __future__ import annotations

import gzip
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from pipeline.errors import DataError
from pipeline.files.read import read_arrow
from pipeline.files.sniff import sniff
from pipeline.files.table_format import TableFormat

TEXT = "größe;b\nMüller;1\nZoë, “x”;2\n"
ROWS = [{"größe": "Müller", "b": 1}, {"größe": "Zoë, “x”", "b": 2}]
DEEP = 200_000
"""Rows of ASCII alone: more bytes than are looked at to find other things."""


def written(folder: Path, data: bytes, name: str = "t.csv") -> Path:
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder / name


def says_of_cp1252() -> AbstractContextManager[object]:
    return pytest.warns(UserWarning, match="t.*: the file is not UTF-8 and is read as cp1252")


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_an_encoding_is_found(encoding: str, name: str, tmp_path: Path) -> None:
    path = written(tmp_path, TEXT.encode(encoding), name)
    found = sniff(path)
    assert read_arrow(path, found.format).to_pylist() == ROWS
    with says_of_cp1252() if encoding == "cp1252" else nullcontext():
        assert read_arrow(path).to_pylist() == ROWS
    assert found.format.encoding == encoding.removesuffix("-sig")
    assert ("read as cp1252" in " ".join(found.notes)) == (encoding == "cp1252")


@pytest.mark.parametrize(
    ("tail", "encoding", "text"),
    [(b"5 \x80", "cp1252", "5 €"), ("Ł".encode(), "utf-8", "Ł")],
)
def test_one_byte_at_the_end_of_a_file_counts(
    tail: bytes, encoding: str, text: str, tmp_path: Path
) -> None:
    path = written(tmp_path, b"a;b\n" + b"x;1\n" * DEEP + tail + b";1\n")
    assert sniff(path).format.encoding == encoding
    with nullcontext() if encoding == "utf-8" else says_of_cp1252():
        assert read_arrow(path)["a"][-1].as_py() == text


@pytest.mark.parametrize("encoding", ["cp1250", "shift_jis", "utf-16-le", "iso2022_jp"])
def test_an_encoding_that_is_given_counts(encoding: str, tmp_path: Path) -> None:
    text = {"cp1250": "Łódź", "utf-16-le": "é"}.get(encoding, "表示")
    path = written(tmp_path, f"a,b\n{text},1\n".encode(encoding))
    assert read_arrow(path, TableFormat(encoding=encoding))["a"].to_pylist() == [text]


@pytest.mark.parametrize(
    ("data", "format", "says"),
    [
        (b"a,b\nx,1\n\nM\xfc,3\n", TableFormat(), r"line 4 is not valid utf-8 \(at b'\\xfc,3"),
        (b"a,b\nM\x81,1\n", None, "line 2 is not valid cp1252.*encoding="),
        ("a,b\nx,1\n".encode("utf-16-le"), None, "line 1 has a zero byte.*encoding="),
        ("a,b\nx,1\n".encode("utf-32"), None, "line 1 has a zero byte.*save it as UTF-8"),
        (b"a,b\nx,1\n", TableFormat(encoding="utf-9"), "unknown encoding 'utf-9'"),
    ],
    ids=["row", "cp1252", "zero", "utf-32", "unknown"],
)
def test_what_does_not_fit_an_encoding_is_named(
    data: bytes, format: TableFormat | None, says: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=f"t.csv: .*{says}"):
        read_arrow(written(tmp_path, data), format)
