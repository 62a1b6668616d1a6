"""The encoding of a file is found from all of it."""

from __future__ import annotations

import gzip
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from pipeline.data.read import read_arrow
from pipeline.data.sniff import sniff
from pipeline.data.table_format import TableFormat
from pipeline.errors import DataError

TEXT = "größe;b\nMüller;1\nZoë, “x”;2\n"
ROWS = [{"größe": "Müller", "b": 1}, {"größe": "Zoë, “x”", "b": 2}]
DEEP = 200_000
"""Rows of ASCII alone: more bytes than are looked at to find other things."""


def written(folder: Path, data: bytes, name: str = "t.csv") -> Path:
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder / name


def says_of_cp1252() -> AbstractContextManager[object]:
    return pytest.warns(UserWarning, match="t.*: is not UTF-8 and is read as (cp1252|latin-1)")


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"],
)
def test_an_encoding_is_found_and_said(encoding: str, name: str, tmp_path: Path) -> None:
    path = written(tmp_path, TEXT.encode(encoding), name)
    found = sniff(path)
    assert read_arrow(path, found.format).to_pylist() == ROWS
    with says_of_cp1252() if encoding == "cp1252" else nullcontext():
        assert read_arrow(path).to_pylist() == ROWS
    assert found.format.encoding == encoding.removesuffix("-sig")
    said = " ".join(found.notes)
    assert ("cp1252, such as 'größe'" in said) == (encoding == "cp1252")
    assert (encoding in said) == (encoding not in ("utf-8", "utf-8-sig"))


@pytest.mark.parametrize(
    ("tail", "encoding", "text"),
    [(b"M\xfcller", "cp1252", "Müller"), (b"5 \x80", "cp1252", "5 €"),
     (b"M\x81", "latin-1", "M\x81"), ("Ł".encode(), "utf-8", "Ł")],
    ids=["umlaut", "euro", "undefined", "utf-8"],
)  # fmt: skip
def test_one_byte_at_the_end_of_a_file_counts(
    tail: bytes, encoding: str, text: str, tmp_path: Path
) -> None:
    path = written(tmp_path, b"a;b\n" + b"x;1\n" * DEEP + tail + b";1\n")
    assert sniff(path).format.encoding == encoding
    with nullcontext() if encoding == "utf-8" else says_of_cp1252():
        assert read_arrow(path)["a"][-1].as_py() == text


def test_lines_of_two_encodings_are_said(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b\nMüller,1\n".encode("cp1252") + "Zoë,2\n".encode())
    assert "such as 'Müller'; in other lines it is UTF-8, such as 'Zo" in sniff(path).notes[0]


@pytest.mark.parametrize("encoding", ["cp1250", "mac_roman", "shift_jis", "gbk", "koi8-r"])
def test_an_encoding_that_is_given_counts(encoding: str, tmp_path: Path) -> None:
    text = {"shift_jis": "表示", "gbk": "数据", "koi8-r": "да", "cp1250": "Łódź"}.get(encoding, "é")
    path = written(tmp_path, f"a,b\n{text},1\n".encode(encoding))
    assert read_arrow(path, TableFormat(encoding=encoding))["a"].to_pylist() == [text]


@pytest.mark.parametrize("given", ["cp1252", "latin-1", "utf-16", "cp1250"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_what_a_file_tells_without_doubt_counts_more(
    encoding: str, given: str, tmp_path: Path
) -> None:
    path = written(tmp_path, TEXT.encode(encoding))
    assert read_arrow(path, TableFormat(encoding=given, delimiter=";")).to_pylist() == ROWS


@pytest.mark.parametrize(
    ("data", "format", "says"),
    [
        (b"a,b\nx,1\n\n\"y\n\",2\nM\xfc,3\n", TableFormat(), r"row 2 is not utf-8 \(at b'\\xfc,3'"),
        (b"t\na,b,c\nx,1,2\nM\xfc,3,4\n", TableFormat(skip_rows=1), "row 1 is not utf-8"),
        (b"M\xfc,b\nx,1\n", TableFormat(), "the names is not utf-8"),
        (b"a,b\nM\x81,1\n", TableFormat(encoding="cp1252"), "row 0 is not cp1252"),
        (b"a,b\nM\xff,1\n", TableFormat(encoding="shift_jis"), "row 0 is not shift_jis"),
        (b"a,b\nx,1\n", TableFormat(encoding="utf-9"), "there is no encoding 'utf-9'"),
    ],
    ids=["row", "skipped", "names", "cp1252", "shift_jis", "unknown"],
)  # fmt: skip
def test_what_does_not_fit_a_given_encoding_is_named(
    data: bytes, format: TableFormat, says: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=f"t.csv: .*{says}"):
        read_arrow(written(tmp_path, data), format)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_json_lines_are_decoded_too(encoding: str, tmp_path: Path) -> None:
    path = written(tmp_path, '{"größe": "é"}\n{"größe": "x"}\n'.encode(encoding), "t.jsonl")
    with says_of_cp1252() if encoding == "cp1252" else nullcontext():
        assert read_arrow(path).to_pylist() == [{"größe": "é"}, {"größe": "x"}]
    assert read_arrow(path, sniff(path).format).num_rows == 2
