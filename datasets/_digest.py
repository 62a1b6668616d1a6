"""Checksums of files."""

from __future__ import annotations

import hashlib
from pathlib import Path

from datasets.errors import DataError


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; `DataError` if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
