"""What kind of file a table is in, by its first bytes more than by its name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from pipeline.data.files import ending, reading
from pipeline.data.text import is_packed, marked, read_head
from pipeline.errors import DataError

Container: TypeAlias = Literal["csv", "json", "parquet", "feather"]

_SAVE = "save the table as CSV UTF-8"
_OTHER: Sequence[tuple[bytes, str]] = (
    (b"PK\x03\x04", f"an Excel workbook or another archive (zip): unpack it, or in Excel {_SAVE}"),
    (b"\xd0\xcf\x11\xe0", f"an Excel workbook (.xls); in Excel, {_SAVE}"),
    (b"SQLite format 3\0", "an SQLite database; read its table with pandas.read_sql"),
    (b"\x89HDF", "an HDF5 file; read it with pandas.read_hdf"),
    (b"\x1f\x8b", "compressed by gzip; give it a name that ends in .gz"),
    (b"%PDF", f"a PDF document; {_SAVE}"),
    *((b"\x80" + bytes([n]), "a pickle; write its table with to_parquet") for n in range(2, 6)),
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
        if why := _refused(head):
            raise DataError(f"{path}: is {why}")
        start = head.decode(marked(head) or "latin-1", "ignore").removeprefix("\ufeff").lstrip()
        if start.lower().startswith(_MARKUP):
            raise DataError(f"{path}: is a page of HTML or XML; {_SAVE}")
        is_json = ending(path) in ("json", "jsonl") or start.startswith(('{"', '[{"'))
        return "json" if is_json else "csv"


def _of_arrow(path: Path, head: bytes) -> Container | None:
    found: Container | None = None
    if (head.startswith(b"PAR1") and b"\0" in head) or ending(path) == "parquet":
        found = "parquet"
    elif head.startswith(b"ARROW1\0\0") or ending(path) == "feather":
        found = "feather"
    if found and is_packed(path):
        raise DataError(f"{path}: is a compressed {found.capitalize()} file; unpack it")
    return found


def _refused(head: bytes) -> str:
    """Return what a file is that is not read, and the way out; else nothing."""
    if what := next((what for mark, what in _OTHER if head.startswith(mark)), ""):
        return what
    if head[257:262] == b"ustar":
        return "an archive (tar); unpack it"
    if not marked(head) and len(_CONTROLS & set(head)) >= _MANY:
        return "no text, and of no kind that is read here: CSV, JSON lines, Parquet, Feather"
    return ""
