"""The manifest of a model folder, and the check that the folder is unchanged since it was saved.

The hash of every file is compared with ``SHA256SUMS``, which `sha256sum --check` reads as well,
before any parser sees a byte. Each file is read once, so the bytes checked are the bytes parsed.
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from pipeline.errors import DataError
from pipeline.files.table_format import TableFormat
from pipeline.optional import version
from pipeline.records import PlacementRecord, dumps
from pipeline.system.atomic import sha256

MANIFEST: Final = "model.manifest.json"
SUMS: Final = "SHA256SUMS"
FORMAT: Final = "pipeline.model/4"
AGAIN: Final = "copy the model folder again, or fit the model again and save it"
"""What to do about a damaged model."""
LARGEST_TEXT: Final = 64 * 1024**2
"""Largest manifest or list of sums that is read, in bytes."""

PACKAGES = ("numpy", "pandas", "scikit-learn", "scipy", "skops")
XGBOOSTS = ("xgboost", "xgboost-cpu", "xgboost-cu12")
_SUM = re.compile(r"([0-9a-f]{64})  ([A-Za-z0-9][A-Za-z0-9._-]{0,199})")


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``model.manifest.json``."""

    format: Literal["pipeline.model/4"]
    created: str
    """UTC, ISO 8601."""
    versions: dict[str, str]
    estimator: str
    """The estimator as Python would write it."""
    device: str
    """Where it was fitted."""
    device_why: str
    plan: list[PlacementRecord]
    metrics: dict[str, float]
    data_sha256: str | None
    certificate: dict[str, Any] | None
    """Of parity with scikit-learn, where one was made."""
    table_format: TableFormat | None = None
    """How the file of the training rows was written, where that is known."""
    targets: list[str] | None = None
    """Names of the targets, where there were several."""


def versions() -> dict[str, str]:
    """Return the versions of what a model file depends on."""
    packages = {
        "xgboost" if name in XGBOOSTS else name: known
        for name in (*PACKAGES, *XGBOOSTS)
        if (known := version(name))
    }
    ours = {"pipeline": sys.modules["pipeline"].__version__, "python": platform.python_version()}
    return ours | packages


def write_manifest(folder: Path, files: Mapping[str, bytes], manifest: Manifest) -> None:
    """Write the parts, the manifest, and the list of all sums, into an empty folder."""
    everything = {**files, MANIFEST: dumps(manifest)}
    sums = "".join(f"{sha256(data)}  {name}\n" for name, data in sorted(everything.items()))
    for name, data in {**everything, SUMS: sums.encode()}.items():
        (folder / name).write_bytes(data)


def read_manifest(folder: Path) -> tuple[Manifest, dict[str, bytes]]:
    """Return the manifest and the bytes of the parts, all of them checked.

    `DataError` says that the folder is missing, damaged, incomplete, or of another format.
    """
    sums = _sums(_bounded(folder / SUMS), folder)
    found = {path.name for path in folder.iterdir()} - {SUMS}
    if found != set(sums):
        lost, more = sorted(set(sums) - found), sorted(found - set(sums))
        raise DataError(
            f"{folder}: changed since it was saved: missing files {lost}, unknown files {more}; "
            f"{AGAIN}"
        )
    files = {name: _checked(folder / name, recorded) for name, recorded in sums.items()}
    return _manifest(files.pop(MANIFEST), folder), files


def is_model(folder: Path) -> bool:
    """Return whether a folder looks like one that `save` made."""
    return (folder / MANIFEST).is_file() and (folder / SUMS).is_file()


def _sums(text: bytes, folder: Path) -> dict[str, str]:
    # Not splitlines: there are more ends of lines than one.
    *lines, rest = text.decode("ascii", "replace").split("\n")
    sums = {match[2]: match[1] for line in lines if (match := _SUM.fullmatch(line))}
    if rest or MANIFEST not in sums or SUMS in sums or len(sums) != len(lines):
        raise DataError(
            f"{folder / SUMS}: damaged: not a list of {MANIFEST} and the parts; {AGAIN}"
        )
    return sums


def _bounded(path: Path) -> bytes:
    try:
        if path.stat().st_size > LARGEST_TEXT:
            raise DataError(f"{path}: larger than {LARGEST_TEXT} bytes; {AGAIN}")
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error


def _checked(path: Path, recorded: str) -> bytes:
    if path.is_symlink() or not path.is_file():
        raise DataError(f"{path}: not a regular file; {AGAIN}")
    data = _bounded(path) if path.name == MANIFEST else path.read_bytes()
    found = sha256(data)
    if found != recorded:
        raise DataError(f"{path}: damaged: SHA-256 is {found}, not {recorded}; {AGAIN}")
    return data


def _manifest(data: bytes, folder: Path) -> Manifest:
    path = folder / MANIFEST
    try:
        kind = msgspec.json.decode(data, type=_Kind).format
        if kind != FORMAT:
            raise DataError(
                f"{path}: has the format {kind!r}, but this version reads {FORMAT!r}; fit the "
                "model again and save it, or load it with the version that saved it"
            )
        return msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{path}: not a manifest: {error}; {AGAIN}") from error


class _Kind(msgspec.Struct):
    format: str
