"""Files of text as UTF-8, however they are encoded and compressed."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import pyarrow as pa

from pipeline.errors import DataError

_PACKED = (".gz", ".bz2", ".zst", ".lz4")
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""First bytes -> encoding; those of UTF-16 begin those of UTF-32."""
_CHUNK, _HEAD = 1 << 20, 4096
_PACKED_BY = 8
"""How much larger a compressed text is, about."""


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
            guess = "is not UTF-8 and is read as cp1252" if guessed else ""
            return cls(path, encoding, quotes, guess)
        way = "save it as UTF-8, or give its encoding (encoding='cp1252')"
        raise DataError(f"{path}: cannot be read: {fault}; {way}")

    def open(self) -> pa.NativeFile:
        """Open the file as a stream of UTF-8."""
        raw = open_bytes(self.path)
        if codecs.lookup(self.encoding).name in ("utf-8", "ascii"):
            return raw
        return pa.transcoding_input_stream(raw, self.encoding, "utf-8")

    def lines(self) -> TextIO:
        """Open the file as lines."""
        return io.TextIOWrapper(self.open(), encoding="utf-8-sig", newline="")


def _candidates(path: Path, given: str | None) -> list[str]:
    """Return the encodings that a file may have, the likeliest first."""
    if mark := marked(read_head(path)):
        return [mark]
    try:
        name = codecs.lookup(given or "cp1252").name
    except LookupError as error:
        raise DataError(f"{path}: there is no encoding {given!r}; give one of Python's") from error
    if name in ("utf-8", "utf-16", "utf-32"):
        return ["utf-8"]  # the other two would have a mark
    # Any text is UTF-8 where an encoding has no bytes but those of ASCII.
    return [name] if "é表я".encode(name, "ignore").isascii() else ["utf-8", name]


def _decoded(path: Path, encoding: str) -> Iterator[str]:
    """Yield a text; `UnicodeError` names the line that is not of the encoding."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    with open_bytes(path) as file:
        chunk = b" "
        while chunk:
            chunk = file.read(_CHUNK)
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                line += error.object[: error.start].count(b"\n")
                odd = error.object[error.start : error.start + 10]
                raise UnicodeError(f"line {line} is not {encoding} (at {odd!r})") from error
            if "\0" in text:
                line += text[: text.index("\0")].count("\n")
                raise UnicodeError(f"line {line} holds a zero byte: it is damaged, or not UTF-8")
            line += text.count("\n")
            yield text


def open_bytes(path: Path) -> pa.NativeFile:
    """Open a file as the bytes that it holds once it is not compressed, which its name says."""
    return pa.input_stream(str(path), compression="detect")


def is_packed(path: Path) -> bool:
    """Whether a file is compressed."""
    return path.suffix.lower() in _PACKED


def size_of(path: Path) -> int:
    """Return about the bytes that a file holds once it is not compressed."""
    return path.stat().st_size * (_PACKED_BY if is_packed(path) else 1)


def read_head(path: Path) -> bytes:
    """Return the first bytes of what a file holds."""
    with open_bytes(path) as file:
        return bytes(file.read(_HEAD))


def marked(head: bytes) -> str:
    """Return the encoding that a mark at the beginning of a text tells, else nothing.

    >>> marked("a".encode("utf-16")), marked(b"a,b")
    ('utf-16', '')
    """
    return next((name for mark, name in _MARKS.items() if head.startswith(mark)), "")
