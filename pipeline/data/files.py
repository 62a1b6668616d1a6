"""What all readers of files share: which files there are, and the errors that name them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.errors import DataError, PipelineError
from pipeline.system.atomic import sha256
from pipeline.system.memory import raise_if_exhausted

Filter = Sequence[tuple[str, str, Any]]
"""Conditions on columns that a Parquet reader pushes down: ``[("month", "<=", 9)]``."""


@contextmanager
def reading(
    path: Path, *more: type[Exception], missing: str = "", damaged: str = ""
) -> Iterator[None]:
    """Raise `DataError`, with the file's name, or `OutOfMemory` where a file cannot be read.

    Parameters
    ----------
    path : Path
    *more : exception types
        What damage leads its reader to beside Arrow's errors and `OSError`; without
        `MemoryError`, memory that runs out is none.
    missing, damaged : str
        What to do then.
    """
    try:
        yield
    except PipelineError:
        raise
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file{missing}") from error
    except (pa.ArrowException, OSError, *more) as error:
        if MemoryError not in more:
            raise_if_exhausted(error, "input", "read", "cpu")
        # Arrow adds the whole schema to some of its messages.
        cause = str(error).partition("\n")[0]
        raise DataError(f"{path}: cannot be read: {cause}{damaged}") from error


def check_different(path: Path, names: Sequence[str]) -> None:
    """Refuse a file with two columns of one name."""
    if twice := sorted(name for name, count in Counter(names).items() if count > 1):
        raise DataError(f"{path}: has columns with the same name: {twice}; rename all but one")


def check_columns(path: Path, names: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse a file that lacks a column, or has two of this name."""
    counts = Counter(names)
    if lost := [name for name in wanted if counts[name] != 1]:
        raise DataError(f"{path}: has no column {lost[0]!r}; has {list(names[:20])}")


def is_csv(path: Path) -> bool:
    """Return whether a file is CSV: by its name, or else by lacking the first bytes of Parquet."""
    suffix = path.suffix.lower()
    if suffix in (".csv", ".parquet", ".pq") or not path.is_file():
        return suffix == ".csv"
    with path.open("rb") as file:
        return file.read(4) != b"PAR1"


def parquet_files(path: Path) -> list[Path]:
    """Return the Parquet files of a folder in the order of their names, or the file itself."""
    if not path.is_dir():
        return [path]
    files = sorted(
        file
        for file in path.rglob("*.parquet")
        if not any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
    )
    if not files:
        raise DataError(f"{path}: holds no file whose name ends in .parquet")
    return files


def byte_size(path: Path) -> int:
    """Return the bytes of a file, or of the Parquet files of a folder."""
    return sum(file.stat().st_size for file in parquet_files(path))


def digest(path: Path) -> str:
    """Return the sha256 of a file, in hexadecimal; of a folder, that of its files' digests."""
    if path.is_dir():
        lines = (f"{digest(file)}  {file.name}\n" for file in parquet_files(path))
        return sha256("".join(lines).encode())
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
