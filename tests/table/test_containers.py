"""A file is read as what its bytes are, or refused with what it is and what to do."""

from __future__ import annotations

import bz2
import gzip
import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pipeline.errors import DataError
from pipeline.files.read import read_arrow
from pipeline.files.table_format import TableFormat

CSV = b"a,b\n1,x\n2,y\n"
LINES = b'{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n'
FRAME = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})


def parquet() -> bytes:
    file = io.BytesIO()
    FRAME.to_parquet(file)
    return file.getvalue()


def feather() -> bytes:
    file, table = io.BytesIO(), pa.Table.from_pandas(FRAME)
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


def packed(name: str, data: bytes = CSV) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, name) as file:
        file.write(data)
    return sink.getvalue().to_pybytes()


def archive(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as opened:
        for name in names:
            opened.writestr(name, "x" * 50)
    return file.getvalue()


READ = {
    "t.csv": CSV,
    "mac.csv": CSV.replace(b"\n", b"\r"),
    "excel.txt": CSV.replace(b",", b"\t").decode().encode("utf-16"),
    "t": CSV,
    "t.csv.gz": gzip.compress(CSV),
    "t.csv.bz2": bz2.compress(CSV),
    "t.csv.zst": packed("zstd"),
    "t.jsonl": LINES,
    "t.ndjson": LINES.replace(b"\n", b"\r\n\n"),
    "t.jsonl.gz": gzip.compress(LINES),
    "array.json": b" [" + LINES.strip().replace(b"\n", b",\n") + b"]",
    "t.parquet": parquet(),
    "parquet.csv": parquet(),
    "t.feather": feather(),
}

REFUSED = {
    "t.xlsx": (archive("[Content_Types].xml", "xl/workbook.xml"), "Excel .*save .* as CSV UTF-8"),
    "t.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99, "Excel .*save .* as CSV UTF-8"),
    "t.html": (b"\xef\xbb\xbf\n<!DOCTYPE html><html>", "HTML .*save .* as CSV UTF-8"),
    "t.zip": (archive("a.csv"), "zip archive.* unpack it"),
    "t.tar.gz": (gzip.compress(b"a" * 257 + b"ustar" + b"\0" * 99), "archive .tar."),
    "t.db": (b"SQLite format 3\0" + b"\0" * 99, "SQLite .*read_sql"),
    "t.pkl": (pickle.dumps(FRAME), "pickle.*to_parquet"),
    "t.h5": (b"\x89HDF\r\n\x1a\n", "HDF5"),
    "t.pdf": (b"%PDF-1.7\n", "PDF"),
    "bytes.csv": (bytes(range(256)) * 9, "a binary file"),
    "t.parquet.gz": (gzip.compress(parquet()), "compressed Parquet file; unpack it"),
    "cut.parquet": (parquet()[:-30], "cannot be read"),
    "cut.feather": (feather()[:-30], "cannot be read"),
    "cut.csv.gz": (gzip.compress(CSV * 99)[:-20], "cannot be read: Truncated"),
    "empty.csv": (b"", "Empty"),
    "blank.csv": (b"\xef\xbb\xbf\n\r\n", "Empty"),
    "names.csv": (b"a,b\n", "no rows"),
    "empty.jsonl": (b"", "no rows"),
    "empty.json": (b"[]", "no rows"),
    "nested.json": (b'{"count": 1, "rows": [{"a": 1}]}', "'rows' holds objects or lists"),
    "number.jsonl": (b'{"a": 1}\n5\n', "in row 1; .*one object per row"),
    "cut.jsonl": (b'{"a": 1}\n{"a": ', "Invalid value. in row 1"),
    "cut.json": (b'[{"a": 1}, {"a"', "is not JSON"),
    "mixed.jsonl": (b'{"a": 1}\n{"a": "x"}\n', "a. changed from number to string in row 1; .*type"),
    "large.jsonl": (b'{"a": 1}\n{"a": 9223372036854775808}', "'a' holds integers beyond 64 bits"),
    "packed.csv": (gzip.compress(CSV), "compressed with gzip; give it a name that ends in .gz"),
    "gone.csv": (None, "no such file"),
}


def written(folder: Path, name: str, data: bytes | None) -> Path:
    if data is not None:
        (folder / name).write_bytes(data)
    return folder / name


@pytest.mark.parametrize("format", [None, TableFormat()], ids=["guessed", "given"])
@pytest.mark.parametrize("name", READ)
def test_a_table_is_read_from_its_container(
    name: str, format: TableFormat | None, tmp_path: Path
) -> None:
    table = read_arrow(written(tmp_path, name, READ[name]), format)
    assert table.to_pylist() == FRAME.to_dict("records")


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_table_is_named_with_the_way_out(name: str, tmp_path: Path) -> None:
    data, says = REFUSED[name]
    with pytest.raises(DataError, match=rf"{name}: .*{says}") as caught:
        read_arrow(written(tmp_path, name, data))
    assert str(caught.value).isprintable(), "no bytes of the file"


def test_damaged_ends_of_texts_are_no_crash(tmp_path: Path) -> None:
    data = feather()
    ends = np.array([0, 1, 2], "int64").tobytes()  # of the texts of a large_string column
    before, _, after = data.rpartition(ends)
    damaged = before + np.array([0, 9**9, 2]).tobytes() + after
    path = written(tmp_path, "t.feather", damaged)
    with pytest.raises(DataError, match="t.feather: cannot be read"):
        read_arrow(path)


@pytest.mark.parametrize(
    "names",
    [("b.jsonl", "a.jsonl"), ("b.feather", "a.arrow"), ("b.csv.gz", "a.csv")],
    ids=lambda names: names[0],
)  # fmt: skip
def test_the_files_of_a_folder_are_one_table(names: tuple[str, str], tmp_path: Path) -> None:
    data = {"csv": CSV, "gz": packed("gzip"), "jsonl": LINES, "feather": feather(),
            "arrow": feather()}  # fmt: skip
    for name in names:
        written(tmp_path, name, data[name.rpartition(".")[2]])
    for name in ("_done", ".hidden.csv", "README.md", "notes.txt"):
        written(tmp_path, name, b"?")
    assert read_arrow(tmp_path).to_pylist() == FRAME.to_dict("records") * 2


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"a.csv": CSV, "b.csv": b"a,c\n1,2\n"}, r"b.csv: its columns differ from those of a.csv"),
        ({"a.csv": CSV, "b.jsonl": LINES}, "several file formats: a.csv and b.jsonl"),
        ({"a.jsonl": LINES, "b.jsonl": b'{"a": "z", "b": "x"}'}, "column types differ between"),
        ({"y=1/a.parquet": parquet(), "y=2/a.parquet": b""}, "folder names contain values"),
        ({"a.md": b"?"}, "contains no table; use files whose names end in .parquet, .csv"),
    ],
    ids=["columns", "kinds", "types", "partitioned", "nothing"],
)  # fmt: skip
def test_a_folder_of_other_files_is_refused(
    files: dict[str, bytes], says: str, tmp_path: Path
) -> None:
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        written(tmp_path, name, data)
    with pytest.raises(DataError, match=says):
        read_arrow(tmp_path)
