"""What kind of file a table is in, by its first bytes more than by its name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from pipeline.data.files import ending, reading
from pipeline.data.text import compression_of, marked, read_head
from pipeline.errors import DataError

Container: TypeAlias = Literal["csv", "json", "parquet", "feather"]

_SAVE = "save the table as CSV UTF-8"
_OTHER: Sequence[tuple[bytes, str]] = (
    (b"\xd0\xcf\x11\xe0", f"an Excel workbook (.xls); in Excel, {_SAVE}"),
    (b"SQLite format 3\0", "an SQLite database; read its table with pandas.read_sql"),
    (b"\x89HDF", "an HDF5 file; read it with pandas.read_hdf"),
    (b"%PDF", f"a PDF document; {_SAVE}"),
    (b"{\\rtf", f"an RTF document; {_SAVE}"),
    (b"RDX", "a file of R; in R, write the table with write.csv(..., row.names = FALSE)"),
    (b"RDA", "a file of R; in R, write the table with write.csv(..., row.names = FALSE)"),
    (b"X\n\0\0", "a file of R; in R, write the table with write.csv(..., row.names = FALSE)"),
    (b"$FL", "a file of SPSS; read it with pandas.read_spss"),
    (b"<stata_dta>", "a file of Stata; read it with pandas.read_stata"),
    (b"HEADER RECORD", "a file of SAS; read it with pandas.read_sas"),
    (b"\0" * 12 + b"\xc2\xea\x81\x60", "a file of SAS; read it with pandas.read_sas"),
    (b"\x93NUMPY", "an array of NumPy; make a pandas.DataFrame of it with names for its columns"),
    (b"Obj\x01", "an Avro file; write it as Parquet"),
    (b"ORC\n", "an ORC file; read it with pandas.read_orc"),
    (b"ORC\x08", "an ORC file; read it with pandas.read_orc"),
    (b"FEA1", "a file of Feather's first version; write it anew, or as Parquet"),
    (b"7z\xbc\xaf", "an archive (7z); unpack it"),
    (b"Rar!", "an archive (rar); unpack it"),
    (b"MATLAB 5.0", "a file of MATLAB; write its table with writetable(..., 'x.csv')"),
    (b"version https://git-lfs", "no table but a pointer of Git LFS; run `git lfs pull`"),
)
"""First bytes -> what the file is, and the way out."""
_MARKUP = ("<!doctype", "<html", "<table", "<?xml", "<head", "<div", "<!--")
_CONTROLS = frozenset(range(32)) - set(b"\t\n\r\f\x1b\x1a")
_MANY = 3
"""Control characters, of different kinds, that no text has."""


def container_of(path: Path) -> Container:
    """Return what a file holds, once it is not compressed.

    Raises
    ------
    DataError
        It is no file or none that is read here; what to do is said.
    """
    with reading(path):
        head = read_head(path)
        if found := _of_arrow(path, head):
            return found
        if why := _refused(path, head):
            raise DataError(f"{path}: is {why}")
        start = head.decode(marked(head) or "latin-1", "ignore").removeprefix("\ufeff").lstrip()
        if start.lower().startswith(_MARKUP):
            raise DataError(f"{path}: is a page of HTML or XML; {_SAVE}")
        return _of_text(path, start)


def _of_arrow(path: Path, head: bytes) -> Container | None:
    found: Container | None = None
    if head.startswith(b"PAR1") and b"\0" in head or ending(path) == "parquet":
        found = "parquet"
    elif head.startswith((b"ARROW1\0\0", b"\xff\xff\xff\xff")) or _is_damaged_arrow(path, head):
        found = "feather"
    if found and compression_of(path):
        raise DataError(f"{path}: is a compressed {found.capitalize()} file; unpack it")
    return found


def _is_damaged_arrow(path: Path, head: bytes) -> bool:
    return ending(path) == "feather" and not head.startswith(b"FEA1")


def _refused(path: Path, head: bytes) -> str:
    """Return what a file is that is not read, and the way out; else nothing."""
    for mark, what in _OTHER:
        if head.startswith(mark):
            return what
    if head.startswith(b"PK\x03\x04"):
        return _zip(path, head)
    if head[257:262] == b"ustar":
        return "an archive (tar); unpack it"
    if head[:1] == b"\x80" and head[1:2] in (b"\2", b"\3", b"\4", b"\5"):
        return "a pickle, which may run programs; write its table with to_parquet"
    if not marked(head) and len(_CONTROLS & set(head)) >= _MANY:
        return "no text, and of no kind that is read here: CSV, JSON lines, Parquet, Feather"
    return ""


def _zip(path: Path, head: bytes) -> str:
    """Return what an archive is, by what it begins with and its name."""
    if b"mimetypeapplication/vnd.oasis" in head[:200] or ending(path) == "ods":
        return f"an OpenDocument spreadsheet (.ods); {_SAVE}"
    office = b"[Content_Types].xml" in head or b"_rels/" in head or b"xl/" in head
    if office or ending(path) in ("xlsx", "xlsm", "xlsb"):
        return f"an Excel workbook (.xlsx); in Excel, {_SAVE}"
    return "an archive (zip); unpack it, or compress the table with gzip"


def _of_text(path: Path, start: str) -> Container:
    if ending(path) in ("json", "jsonl"):
        return "json"
    line = start.partition("\n")[0]
    return "json" if line.startswith(("{", "[{")) and _is_json(path, line) else "csv"


def _is_json(path: Path, line: str) -> bool:
    """Whether a line begins rows of JSON, and is not a name with braces."""
    try:
        json.loads(line)
    except ValueError:
        return ending(path) not in ("csv", "tsv", "txt") or line.startswith(('{"', '[{"'))
    return True
