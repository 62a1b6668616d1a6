"""Which files a table is in, which formats they have, and the errors that name them.

Text files are read as UTF-8, however they are encoded and compressed.
"""

from __future__ import annotations

import codecs
import hashlib
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TextIO, TypeAlias

import pyarrow as pa

from pipeline.errors import DataError, PipelineError, close_to
from pipeline.system.atomic import sha256
from pipeline.system.memory import raise_if_exhausted

Filter = Sequence[tuple[str, str, Any]]
"""Conditions on columns that a Parquet reader pushes down: ``[("month", "<=", 9)]``."""
_ENDINGS = ("csv", "tsv", "txt", "json", "jsonl", "parquet", "feather")
_ALIASES = {"ndjson": "jsonl", "pq": "parquet", "arrow": "feather", "ipc": "feather", "tab": "tsv"}
_OR_NAMES = ".parquet, .csv, .tsv, .txt, .json, .jsonl or .feather, compressed or not"

Container: TypeAlias = Literal["csv", "json", "parquet", "feather"]

_SAVE = "save the table as CSV UTF-8"
_OTHER: Sequence[tuple[bytes, str]] = (
    (b"PK\x03\x04", f"an Excel workbook or a zip archive; in Excel, {_SAVE}, or unpack it"),
    (b"\xd0\xcf\x11\xe0", f"an Excel workbook (.xls); in Excel, {_SAVE}"),
    (b"SQLite format 3\0", "an SQLite database; read its table with pandas.read_sql"),
    (b"\x89HDF", "an HDF5 file; read it with pandas.read_hdf"),
    (b"\x1f\x8b", "compressed with gzip; give it a name that ends in .gz"),
    (b"\xfd7zXZ", "compressed with xz; compress it with gzip, and give it a name that ends in .gz"),
    (b"%PDF", f"a PDF document; {_SAVE}"),
    *((b"\x80" + bytes([n]), "a pickle; write its table with to_parquet") for n in range(2, 6)),
)
"""First bytes -> what the file is, and what to do."""
_MARKUP = ("<!doctype", "<html", "<table", "<?xml", "<head", "<div", "<!--")
_CONTROLS = frozenset(range(32)) - set(b"\t\n\r\f\x1b\x1a")
_MANY = 3
"""Control characters, of different kinds, that no text has."""
_PACKED = (".gz", ".bz2", ".zst", ".lz4")
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""First bytes -> encoding."""
_CHUNK, _HEAD = 1 << 20, 4096
_PACKED_BY = 8
"""How much larger a compressed text is, about."""
RENAME = "rename all but one"


@contextmanager
def reading(
    path: Path, *more: type[Exception], missing: str = "", damaged: str = ""
) -> Iterator[None]:
    """Raise `DataError`, with the file's name, or `OutOfMemory` where a file cannot be read.

    Damage may lead a reader to `more` exceptions beside Arrow's and `OSError`; without
    `MemoryError`, memory that runs out is none.
    """
    try:
        yield
    except PipelineError:
        raise
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file{missing}") from error
    except (pa.ArrowException, OSError, EOFError, *more) as error:
        if MemoryError not in more:
            raise_if_exhausted(error, "input", "read", "cpu")
        # Arrow adds the whole schema to some of its messages.
        cause = str(error).partition("\n")[0]
        raise DataError(f"{path}: cannot be read: {cause}{damaged}") from error


def check_different(path: Path, names: Sequence[str], way: str = RENAME) -> None:
    """Reject a file with two columns of one name."""
    if twice := sorted(name for name, count in Counter(names).items() if count > 1):
        raise DataError(f"{path}: several columns have the same name: {twice}; {way}")


def check_columns(path: Path, names: Sequence[str], wanted: Sequence[str]) -> None:
    """Reject a file that lacks a column, or has two of this name."""
    counts = Counter(names)
    if lost := [name for name in wanted if counts[name] != 1]:
        close = close_to(lost[0], names)
        guess = f"did you mean {close!r}? Its columns" if close else "its columns"
        raise DataError(f"{path}: has no column {lost[0]!r}; {guess} are {list(names[:20])}")


def table_files(path: Path) -> list[Path]:
    """Return the files of a folder that are one table, in the order of their names, or the file."""
    if not path.is_dir():
        return [path]
    named = {
        file: ending(file)
        for file in sorted(path.rglob("*"))
        if file.is_file() and not any(p[0] in "._" for p in file.relative_to(path).parts)
    }
    files = [file for file, kind in named.items() if kind in _ENDINGS]
    files = [file for file in files if named[file] != "txt"] or files  # Or it says what they are.
    if not files:
        raise DataError(f"{path}: contains no table; use files whose names end in {_OR_NAMES}")
    if other := [file for file in files if named[file] != named[files[0]]]:
        two = f"{files[0].name} and {other[0].name}"
        raise DataError(f"{path}: contains several file formats: {two}; keep one per folder")
    return files


def ending(path: Path) -> str:
    """Return the end of a name that says what a file holds, not how it is compressed.

    >>> ending(Path("a.CSV.gz")), ending(Path("a.pq"))
    ('csv', 'parquet')
    """
    last = (path.with_suffix("") if _is_packed(path) else path).suffix.lower().removeprefix(".")
    return _ALIASES.get(last, last)


def byte_size(path: Path) -> int:
    """Return the bytes of a file, or of the table in a folder."""
    return sum(file.stat().st_size for file in table_files(path))


def digest(path: Path) -> str:
    """Return the sha256 of a file, in hexadecimal; of a folder, that of its files' digests."""
    if path.is_dir():
        lines = (f"{digest(file)}  {file.name}\n" for file in table_files(path))
        return sha256("".join(lines).encode())
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def container_of(path: Path) -> Container:
    """Return what a file holds, once it is not compressed; reject what is not read here."""
    with reading(path):
        head, end = _read_head(path), ending(path)
    mark = _marked(head)
    start = head.decode(mark or "latin-1", "ignore").removeprefix("\ufeff").lstrip()
    is_json = end in ("json", "jsonl") or start.startswith(('{"', '[{"'))
    found: Container = "json" if is_json else "csv"
    if end == "parquet" or (head.startswith(b"PAR1") and b"\0" in head):
        found = "parquet"
    elif end == "feather" or head.startswith(b"ARROW1\0\0"):
        found = "feather"
    why = next((what for first, what in _OTHER if head.startswith(first)), "")
    if found in ("parquet", "feather"):
        why = f"a compressed {found.capitalize()} file; unpack it" if _is_packed(path) else ""
    elif head[257:262] == b"ustar":
        why = "an archive (tar); unpack it"
    elif start.lower().startswith(_MARKUP):
        why = f"an HTML or XML page; {_SAVE}"
    elif not why and not mark and len(_CONTROLS & set(head)) >= _MANY:
        why = "a binary file of unknown format; use CSV, JSON lines, Parquet or Feather"
    if why:
        raise DataError(f"{path}: is {why}")
    return found


@dataclass(frozen=True)
class TextFile:
    """How a file becomes UTF-8; `guess` says of the encoding where it is only likely."""

    path: Path
    encoding: str = "utf-8"
    quotes: int = 0
    guess: str = ""

    @classmethod
    def find(cls, path: Path, given: str | None = None) -> TextFile:
        """Read a file once, to its end, and find out how it is encoded.

        A mark at its beginning counts, then that all of it is UTF-8, then the given encoding.
        """
        for encoding in _candidates(path, given):
            try:
                quotes = sum(text.count('"') for text in _decoded(path, encoding))
            except UnicodeError as error:
                fault = error
                continue
            guessed = given is None and encoding == "cp1252"
            guess = "the file is not UTF-8 and is read as cp1252" if guessed else ""
            return cls(path, encoding, quotes, guess)
        way = "save it as UTF-8, or pass its encoding, such as encoding='cp1252'"
        raise DataError(f"{path}: cannot be read: {fault}; {way}")

    def open(self) -> pa.NativeFile:
        """Open the file as a stream of UTF-8."""
        raw = _open_bytes(self.path)
        if codecs.lookup(self.encoding).name in ("utf-8", "ascii"):
            return raw
        return pa.transcoding_input_stream(raw, self.encoding, "utf-8")

    def lines(self) -> TextIO:
        """Open the file as lines."""
        return io.TextIOWrapper(self.open(), encoding="utf-8-sig", newline="")


def _candidates(path: Path, given: str | None) -> list[str]:
    """Return the encodings that a file may have, the likeliest first."""
    if mark := _marked(_read_head(path)):
        return [mark]
    try:
        name = codecs.lookup(given or "cp1252").name
    except LookupError as error:
        raise DataError(f"{path}: unknown encoding {given!r}; use one that Python knows") from error
    if name in ("utf-8", "utf-16"):
        return ["utf-8"]  # the other one would have a mark
    # Any text is UTF-8 where an encoding has no bytes but those of ASCII.
    return [name] if "é表я".encode(name, "ignore").isascii() else ["utf-8", name]


def _decoded(path: Path, encoding: str) -> Iterator[str]:
    """Yield a text; `UnicodeError` names the line that is not of the encoding."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    with _open_bytes(path) as file:
        chunk = b" "
        while chunk:
            chunk = file.read(_CHUNK)
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                line += error.object[: error.start].count(b"\n")
                odd = error.object[error.start : error.start + 10]
                raise UnicodeError(f"line {line} is not valid {encoding} (at {odd!r})") from error
            if "\0" in text:
                line += text[: text.index("\0")].count("\n")
                raise UnicodeError(f"line {line} has a zero byte: the file is damaged or not UTF-8")
            line += text.count("\n")
            yield text


def _open_bytes(path: Path) -> pa.NativeFile:
    """Open a file as the bytes that it holds once it is not compressed, which its name says."""
    return pa.input_stream(str(path), compression="detect")


def _is_packed(path: Path) -> bool:
    """Whether a file is compressed."""
    return path.suffix.lower() in _PACKED


def size_of(path: Path) -> int:
    """Return about the bytes that a file holds once it is not compressed."""
    return path.stat().st_size * (_PACKED_BY if _is_packed(path) else 1)


def _read_head(path: Path) -> bytes:
    with _open_bytes(path) as file:
        return bytes(file.read(_HEAD))


def _marked(head: bytes) -> str:
    """Return the encoding that a byte order mark at the beginning of a text shows, or nothing.

    >>> _marked("a".encode("utf-16")), _marked(b"a,b")
    ('utf-16', '')
    """
    return next((name for mark, name in _MARKS.items() if head.startswith(mark)), "")
