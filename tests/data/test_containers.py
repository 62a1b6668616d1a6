"""A file is read as what its bytes are, or refused with what it is and the way out."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pipeline.data.read import read_arrow
from pipeline.data.table_format import TableFormat
from pipeline.errors import DataError

CSV = b"a,b\n1,x\n2,y\n"
LINES = b'{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n'
FRAME = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})


def parquet() -> bytes:
    file = io.BytesIO()
    FRAME.to_parquet(file)
    return file.getvalue()


def feather(*, stream: bool = False) -> bytes:
    file, table = io.BytesIO(), pa.Table.from_pandas(FRAME)
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(file, table.schema) as writer:
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
    "t.tsv": CSV.replace(b",", b"\t"),
    "mac.csv": CSV.replace(b"\n", b"\r"),
    "twice.csv": CSV.replace(b"\n", b"\r\r\n"),
    "excel.txt": CSV.replace(b",", b"\t").decode().encode("utf-16"),
    "t.txt": CSV.replace(b",", b"|"),
    "t": CSV,
    "t.csv.gz": gzip.compress(CSV),
    "two.csv.gz": gzip.compress(CSV[:8]) + gzip.compress(CSV[8:]),
    "t.csv.bz2": bz2.compress(CSV),
    "t.csv.xz": lzma.compress(CSV),
    "t.csv.zst": packed("zstd"),
    "t.csv.lz4": packed("lz4"),
    "packed.csv": gzip.compress(CSV),
    "t.jsonl": LINES,
    "t.ndjson": LINES.replace(b"\n", b"\r\n\n"),
    "lines.json": LINES,
    "lines": LINES,
    "t.jsonl.gz": gzip.compress(LINES),
    "array.json": b" [" + LINES.strip().replace(b"\n", b",\n") + b"]",
    "array.json.xz": lzma.compress(b"[" + LINES.strip().replace(b"\n", b",\n") + b"]"),
    "t.parquet": parquet(),
    "parquet": parquet(),
    "parquet.csv": parquet(),
    "t.feather": feather(),
    "t.arrow": feather(),
    "feather.csv": feather(),
    "stream.arrow": feather(stream=True),
    "stream": feather(stream=True),
}

REFUSED = {
    "t.xlsx": (archive("[Content_Types].xml", "xl/workbook.xml"), "Excel .*save .* as CSV UTF-8"),
    "excel.csv": (archive("[Content_Types].xml", "xl/workbook.xml"), "Excel .*as CSV UTF-8"),
    "t.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99, "Excel .*save .* as CSV UTF-8"),
    "excel.xls.gz": (gzip.compress(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "Excel .*as CSV UTF-8"),
    "html.xls": (b"<html><table><tr><td>1</td></tr></table>", "HTML .*save .* as CSV UTF-8"),
    "t.html": (b"\xef\xbb\xbf\n<!DOCTYPE html><html>", "HTML .*save .* as CSV UTF-8"),
    "t.xml": ("<?xml version='1.0'?>".encode("utf-16"), "XML"),
    "t.zip": (archive("a.csv"), "archive .zip.; unpack it"),
    "zip.csv": (archive("a.csv"), "archive .zip.; unpack it"),
    "t.ods": (archive("mimetype"), "OpenDocument .*save .* as CSV UTF-8"),
    "t.tar": (b"a" * 257 + b"ustar" + b"\0" * 99, "archive .tar."),
    "t.tar.gz": (gzip.compress(b"a" * 257 + b"ustar" + b"\0" * 99), "archive .tar."),
    "t.7z": (b"7z\xbc\xaf\x27\x1c\0\4", "archive .7z."),
    "t.db": (b"SQLite format 3\0" + b"\0" * 99, "SQLite .*read_sql"),
    "sqlite.csv": (b"SQLite format 3\0" + b"\0" * 99, "SQLite"),
    "t.pkl": (pickle.dumps(FRAME), "pickle.*to_parquet"),
    "pickle.csv.gz": (gzip.compress(pickle.dumps(FRAME)), "pickle"),
    "t.rds": (gzip.compress(b"X\n\0\0\0\3" + b"\0\1" * 60), "of R; .*write.csv"),
    "t.RData": (gzip.compress(b"RDX3\nX\n\0\0"), "of R; .*write.csv"),
    "t.sas7bdat": (b"\0" * 12 + b"\xc2\xea\x81\x60" + b"\0" * 50, "of SAS; .*read_sas"),
    "t.sav": (b"$FL2@(#) SPSS", "of SPSS; .*read_spss"),
    "t.dta": (b"<stata_dta><header>", "of Stata; .*read_stata"),
    "t.h5": (b"\x89HDF\r\n\x1a\n", "HDF5"),
    "t.npy": (b"\x93NUMPY\1\0", "NumPy"),
    "t.pdf": (b"%PDF-1.7\n", "PDF"),
    "old.feather": (b"FEA1\0\0", "Feather's first version"),
    "pointer.csv": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
    "bytes.csv": (bytes(range(256)) * 9, "no text"),
    "bytes": (bytes(range(253, -1, -1)), "no text"),
    "t.parquet.gz": (gzip.compress(parquet()), "compressed Parquet file; unpack it"),
    "cut.parquet": (parquet()[:-30], "cannot be read"),
    "cut.feather": (feather()[:-30], "cannot be read"),
    "cut.csv.gz": (gzip.compress(CSV * 99)[:-20], "cannot be read: Truncated"),
    "cut.csv.xz": (lzma.compress(CSV * 99)[:-20], "cannot be read"),
    "empty.csv": (b"", "Empty"),
    "empty.csv.gz": (gzip.compress(b""), "Empty"),
    "blank.csv": (b"\xef\xbb\xbf\n\r\n", "Empty"),
    "names.csv": (b"a,b\n", "no rows"),
    "names.csv.gz": (gzip.compress("a,b\n".encode("utf-16")), "no rows"),
    "empty.jsonl": (b"", "no rows"),
    "empty.json": (b"[]", "no rows"),
    "columns.json": (b'{"a": {"0": 1}, "b": {"0": 2}}', "one object .*one object for each row"),
    "answer.json": (b'{"count": 1, "rows": [{"a": 1}]}', "one object .*one object for each row"),
    "pretty.json": (b'{\n "a": 1\n}', "row 0 is no JSON.*one object for each row"),
    "number.jsonl": (b'{"a": 1}\n5\n', "row 1 is '5', no object"),
    "cut.jsonl": (b'{"a": 1}\n{"a": ', "row 1 is no JSON"),
    "gone.csv": (None, "no such file"),
    "gone.parquet": (None, "no such file"),
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


@pytest.mark.parametrize("stream", [False, True])
def test_damaged_ends_of_texts_are_no_crash(stream: bool, tmp_path: Path) -> None:
    data = feather(stream=stream)
    ends = np.array([0, 1, 2], "int64").tobytes()  # of the texts of a large_string column
    before, _, after = data.rpartition(ends)
    damaged = before + np.array([0, 9**9, 2]).tobytes() + after
    path = written(tmp_path, "t.feather", damaged)
    with pytest.raises(DataError, match="t.feather: cannot be read"):
        read_arrow(path)


@pytest.mark.parametrize(
    "names",
    [("b.csv", "a.csv"), ("b.jsonl", "a.jsonl"), ("b.feather", "a.arrow"), ("b.pq", "a.parquet"),
     ("b.csv.gz", "a.csv")],
    ids=lambda names: names[0],
)  # fmt: skip
def test_the_files_of_a_folder_are_one_table(names: tuple[str, str], tmp_path: Path) -> None:
    data = {"csv": CSV, "gz": packed("gzip"), "jsonl": LINES, "feather": feather(),
            "arrow": feather(), "pq": parquet(), "parquet": parquet()}  # fmt: skip
    for name in names:
        written(tmp_path, name, data[name.rpartition(".")[2]])
    for name in ("_done", ".hidden.csv", "README.md", "notes.txt"):
        written(tmp_path, name, b"?")
    assert read_arrow(tmp_path).to_pylist() == FRAME.to_dict("records") * 2


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"a.csv": CSV, "b.csv": b"a,c\n1,2\n"}, r"b.csv: has not the columns of a.csv"),
        ({"a.csv": CSV, "b.jsonl": LINES}, "several kinds: a.csv and b.jsonl"),
        ({"a.jsonl": LINES, "b.jsonl": b'{"a": "z", "b": "x"}'}, "the files differ in types"),
        ({"y=1/a.parquet": parquet(), "y=2/a.parquet": b""}, "folders hold a column, as 'y=1'"),
        ({"a.md": b"?"}, "holds no file whose name ends in .parquet, .csv"),
        ({"a.csv": CSV, "b.csv": archive("[Content_Types].xml", "xl/a")}, "b.csv: is an Excel"),
    ],
    ids=["columns", "kinds", "types", "partitioned", "nothing", "excel"],
)  # fmt: skip
def test_a_folder_of_other_files_is_refused(
    files: dict[str, bytes], says: str, tmp_path: Path
) -> None:
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        written(tmp_path, name, data)
    with pytest.raises(DataError, match=says):
        read_arrow(tmp_path)
