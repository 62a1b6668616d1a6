"""What a file, or a folder of Parquet files, is known by: its digest and its size."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.errors import DataError
from pipeline.system.atomic import sha256

Filter = Sequence[tuple[str, str, Any]]
"""Conditions on columns that a Parquet reader pushes down: ``[("month", "<=", 9)]``."""


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
