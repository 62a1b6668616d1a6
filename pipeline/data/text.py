"""Files of text as UTF-8, however they are encoded and compressed."""

from __future__ import annotations

import codecs
import csv
import io
import lzma
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TextIO

import pyarrow as pa

from pipeline.errors import DataError

_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
"""First bytes -> compression, as Arrow names it."""
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""First bytes -> encoding; those of UTF-16 begin those of UTF-32."""
_PLAIN = {"utf-8", "cp1252", "iso8859-1", "ascii"}
"""Encodings in which quotes, delimiters and ends of lines are bytes of their own."""
_WESTERN = ("cp1252", "latin-1")
"""What files that are not UTF-8 are taken for; the second has a character for every byte."""
_CHUNK = 1 << 20
_HEAD = 4096
_WORD = re.compile(r"\w*[^\x00-\x7f]+\w*")
_FEW, _MOST = 0.1, 0.5
"""Shares of zero bytes at even and odd places by which a text is UTF-16."""


@dataclass(frozen=True)
class TextFile:
    """How a file becomes UTF-8.

    Parameters
    ----------
    path : Path
    encoding : str
        As Python names it.
    compression : str
        As Arrow names it; empty without.
    quotes : int
        Double quotes in the whole file.
    size : int
        Bytes, once they are not compressed.
    guessed : bool
        Whether the encoding is only likely.
    """

    path: Path
    encoding: str = "utf-8"
    compression: str = ""
    quotes: int = 0
    size: int = 0
    guessed: bool = False

    @classmethod
    def find(cls, path: Path, given: str | None = None, above: int = 0) -> TextFile:
        """Read a file once, to its end, and find out how it is encoded.

        Parameters
        ----------
        path : Path
        given : str, optional
            The encoding that it should have; what the file itself tells without doubt counts
            more: a mark at its beginning, or that all of it is UTF-8 and not ASCII alone.
        above : int
            Lines above the first row.

        Raises
        ------
        DataError
            Some bytes are not of the given encoding; their row is named.
        """
        compression = compression_of(path)
        mark = marked(read_head(path))
        found = [mark] if mark else _candidates(path, given)
        file = cls(path, found[0], compression)
        for encoding in found:
            file = cls(path, encoding, compression)
            seen = file._pass()
            if seen.fault is None:
                guessed = given is None and encoding in _WESTERN
                return cls(path, encoding, compression, seen.quotes, seen.size, guessed)
        raise DataError(file._misfit(seen.fault or 0, above))

    @property
    def seekable(self) -> bool:
        """Whether rows can be read from the middle of the file."""
        return not self.compression and codecs.lookup(self.encoding).name in _PLAIN

    def open(self) -> pa.NativeFile:
        """Open the file as a stream of UTF-8."""
        raw = open_bytes(self.path, self.compression)
        if codecs.lookup(self.encoding).name in ("utf-8", "ascii"):
            return raw
        return pa.transcoding_input_stream(raw, self.encoding, "utf-8")

    def lines(self) -> TextIO:
        """Open the file as lines, each byte a character.

        The bytes are those of the file itself where it is seekable, else of UTF-8.
        """
        if self.seekable:
            return self.path.open(encoding="latin-1", newline="")
        return io.TextIOWrapper(self.open(), encoding="latin-1", newline="")

    def decode(self, cell: str) -> str:
        """Return a text that was cut out of the lines."""
        return cell.encode("latin-1").decode(self.encoding if self.seekable else "utf-8")

    def describe(self) -> str:
        """Say how the file is read, and where that is only likely, show a word of it."""
        if not self.guessed:
            return f"is read as {self.encoding}"
        odd: dict[bool, str] = {}
        with open_bytes(self.path, self.compression) as raw:
            for line in io.BufferedReader(raw):
                if not line.isascii():
                    odd.setdefault(_is_utf8(line), _WORD.findall(line.decode(self.encoding))[0])
        said = f"is not UTF-8 and is read as {self.encoding}, such as {odd.get(False, '')!r}"
        return f"{said}; in other lines it is UTF-8, such as {odd[True]!r}" if True in odd else said

    def _pass(self) -> _Pass:
        decoder = codecs.getincrementaldecoder(self.encoding)()
        quotes = size = 0
        for chunk in self._chunks():
            try:
                quotes += decoder.decode(chunk, final=not chunk).count('"')
            except UnicodeDecodeError as error:
                # What the decoder held back of the chunk before is part of what it was given.
                held = len(error.object) - len(chunk)
                return _Pass(size - held + error.start, quotes, size)
            size += len(chunk)
        return _Pass(None, quotes, size)

    def _chunks(self) -> Iterator[bytes]:
        with open_bytes(self.path, self.compression) as file:
            while chunk := file.read(_CHUNK):
                yield chunk
        yield b""

    def _misfit(self, place: int, above: int) -> str:
        """Say where bytes are not of the encoding."""
        with open_bytes(self.path, self.compression) as file:
            before, after = file.read(place), file.read(20).splitlines()[:1]
        lines = io.StringIO(before.decode("latin-1"), newline="").readlines()
        rows = [row for row in csv.reader(lines[above:]) if row]
        started = bool(lines) and not lines[-1].endswith(("\r", "\n"))
        where = f"row {len(rows) - started}" if len(lines) - started >= above else "the names"
        cause = f"{where} is not {self.encoding} (at {(after or [b''])[0]!r})"
        way = "save the file as UTF-8, or give its encoding: TableFormat(encoding=...)"
        return f"{self.path}: cannot be read: {cause}; {way}"


class _Pass(NamedTuple):
    """What one reading of a file found: the place of the first byte that does not fit, if any."""

    fault: int | None
    quotes: int
    size: int


def open_bytes(path: Path, compression: str) -> pa.NativeFile:
    """Open a file as the bytes that it holds once it is not compressed."""
    if compression == "xz":
        return pa.PythonFile(lzma.open(path), mode="r")
    return pa.input_stream(str(path), compression=compression or None)


def compression_of(path: Path) -> str:
    """Return how a file is compressed, by its first bytes."""
    with path.open("rb") as file:
        head = file.read(6)
    return next((name for mark, name in _COMPRESSED.items() if head.startswith(mark)), "")


def read_head(path: Path) -> bytes:
    """Return the first bytes of what a file holds."""
    with open_bytes(path, compression_of(path)) as file:
        return bytes(file.read(_HEAD))


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def marked(head: bytes) -> str:
    """Return the encoding that the first bytes of a text tell without doubt, else nothing.

    >>> marked("a".encode("utf-16")), marked("a,b".encode("utf-16-le")), marked(b"a,b")
    ('utf-16', 'utf-16-le', '')
    """
    if named := next((name for mark, name in _MARKS.items() if head.startswith(mark)), ""):
        return named
    even, odd = (head[start::2].count(0) / (len(head) / 2 or 1) for start in (0, 1))
    if odd > _MOST and even < _FEW:
        return "utf-16-le"
    return "utf-16-be" if even > _MOST and odd < _FEW else ""


def _candidates(path: Path, given: str | None) -> list[str]:
    if given is None:
        return ["utf-8", *_WESTERN]
    try:
        one_byte = len(bytes(range(256)).decode(given, "replace")) == 256
    except LookupError as error:
        raise DataError(f"{path}: there is no encoding {given!r}; give one of Python's") from error
    # Bytes beyond ASCII are UTF-8 by no chance, and to such an encoding anything is a text. Of
    # UTF-16 the file itself would have told.
    told = codecs.lookup(given).name.startswith(("utf-16", "utf-32"))
    return list(dict.fromkeys(["utf-8", given])) if one_byte or told else [given]
