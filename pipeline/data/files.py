"""What all readers of files share: which files there are, and the errors that name them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from lzma import LZMAError
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.errors import DataError, PipelineError
from pipeline.system.atomic import sha256
from pipeline.system.memory import raise_if_exhausted

Filter = Sequence[tuple[str, str, Any]]
"""Conditions on columns that a Parquet reader pushes down: ``[("month", "<=", 9)]``."""
_ENDINGS = ("csv", "tsv", "txt", "json", "jsonl", "parquet", "feather")
_ALIASES = {"ndjson": "jsonl", "pq": "parquet", "arrow": "feather", "ipc": "feather", "tab": "tsv"}
_OR_NAMES = ".parquet, .csv, .tsv, .txt, .json, .jsonl or .feather, compressed or not"


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
    except (pa.ArrowException, OSError, EOFError, LZMAError, *more) as error:
        if MemoryError not in more:
            raise_if_exhausted(error, "input", "read", "cpu")
        # Arrow adds the whole schema to some of its messages.
        cause = str(error).partition("\n")[0]
        raise DataError(f"{path}: cannot be read: {cause}{damaged}") from error


RENAME = "rename all but one"


def check_different(path: Path, names: Sequence[str], way: str = RENAME) -> None:
    """Refuse a file with two columns of one name."""
    if twice := sorted(name for name, count in Counter(names).items() if count > 1):
        raise DataError(f"{path}: has columns with the same name: {twice}; {way}")


def check_columns(path: Path, names: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse a file that lacks a column, or has two of this name."""
    counts = Counter(names)
    if lost := [name for name in wanted if counts[name] != 1]:
        close = get_close_matches(lost[0], names, n=1)
        guess = f"did you mean {close[0]!r}? It " if close else ""
        raise DataError(f"{path}: has no column {lost[0]!r}; {guess}has {list(names[:20])}")


def parquet_files(path: Path) -> list[Path]:
    """Return the Parquet files of a folder in the order of their names, or the file itself."""
    if not path.is_dir():
        return [path]
    files = _visible(path, "*.parquet")
    if not files:
        raise DataError(f"{path}: holds no file whose name ends in .parquet")
    return files


def table_files(path: Path) -> list[Path]:
    """Return the files of a folder that are one table, in the order of their names, or the file."""
    if not path.is_dir():
        return [path]
    named = {file: ending(file) for file in _visible(path, "*")}
    files = [file for file, kind in named.items() if kind in _ENDINGS]
    files = [file for file in files if named[file] != "txt"] or files  # Or it says what they are.
    if not files:
        raise DataError(f"{path}: holds no file whose name ends in {_OR_NAMES}")
    if other := [file for file in files if named[file] != named[files[0]]]:
        two = f"{files[0].name} and {other[0].name}"
        raise DataError(f"{path}: holds tables of several kinds: {two}; keep one kind in a folder")
    return files


def _visible(folder: Path, pattern: str) -> list[Path]:
    return sorted(
        file
        for file in folder.rglob(pattern)
        if file.is_file()
        and not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    )


def ending(path: Path) -> str:
    """Return the end of a name that says what a file holds, not how it is compressed.

    >>> ending(Path("a.CSV.gz")), ending(Path("a.pq"))
    ('csv', 'parquet')
    """
    endings = [each.lower().removeprefix(".") for each in path.suffixes]
    if len(endings) > 1 and endings[-1] in ("gz", "bz2", "xz", "zst", "lz4"):
        endings.pop()
    last = endings[-1] if endings else ""
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
