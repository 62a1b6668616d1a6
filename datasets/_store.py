"""A dataset on disk: Parquet and its manifest, published completely or not at all.

It is written beside its final place and renamed. Once published, it is only verified:
damaged data is reported, never used and never replaced.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import IO, Any, Literal

from ._download import Remote, collect, sha256
from .errors import DataError, OutputError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

log = logging.getLogger("datasets")

Build = Callable[..., Iterable[Any]]
"""Yields Arrow tables of one schema, at least one; takes the downloaded files, if there are any."""


@dataclass(frozen=True)
class Column:
    """One column of a prepared table: what it is for, its type, and a line about it."""

    kind: Literal["number", "category", "date", "text", "target", "split"]
    type: str
    """Arrow's name of a type (``"float32"``), or ``"category"``."""
    about: str


@dataclass(frozen=True)
class Card:
    """What is known of a dataset before it is built; all of it goes into the manifest."""

    dataset: str
    licence: str
    source: str
    target: str
    columns: Mapping[str, Column]
    """In the order of the Parquet file."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Raw file -> SHA-256, of those that are there already."""
    remotes: Sequence[Remote] = ()
    """Raw files to download."""
    raw: str = ""
    """The dataset whose files these are, if several are built from the same files."""

    def manifest(self) -> dict[str, Any]:
        """Return the part of ``manifest.json`` that does not depend on the files."""
        published = {r.file: r.sha256 or f"as first received from {r.url}" for r in self.remotes}
        return {
            "format": 1,
            "dataset": self.dataset,
            "licence": self.licence,
            "source": self.source,
            "sources": {**self.sources, **published},
            "target": self.target,
            "columns": {n: {"kind": c.kind, "about": c.about} for n, c in self.columns.items()},
        }


def prepare(card: Card, build: Build, home: Path, given: Path | None = None) -> Path:
    """Publish a dataset under `home` if it is missing, verify it, and return its Parquet file.

    One process at a time calls `build`. `given` is the downloaded file, or the folder of the
    downloaded files. Raises `DataError` if the dataset or a source is damaged or of another
    version, and `OutputError` if the folder cannot be written.
    """
    folder = home / card.dataset
    parquet = folder / f"{card.dataset}.parquet"
    if given is not None and not card.remotes:
        raise DataError(f"{card.dataset}: needs no download; omit --from {given}")

    def fill(draft: Path) -> None:
        raw = collect(home, card.raw or card.dataset, card.remotes, given)
        path = draft / parquet.name
        rows = _write_parquet(path, build(raw) if raw else build())
        size = path.stat().st_size
        found = {"rows": rows, "sha256": sha256(path), "bytes": size}
        received = {"received": {name: sha256(file) for name, file in raw.items()}}
        manifest = json.dumps(card.manifest() | found | received, indent=2, ensure_ascii=False)
        (draft / "manifest.json").write_text(manifest + "\n", encoding="utf-8")
        log.info("%s: wrote %s rows, %.1f MB", card.dataset, f"{rows:,}", size / 1e6)

    _publish(folder, fill)
    try:
        _verify(parquet, card.manifest())
    except (OSError, ValueError, LookupError, TypeError, DataError) as error:
        is_clear = isinstance(error, OSError | DataError)
        what = error if is_clear else f"its manifest cannot be read ({error!r})"
        raise DataError(
            f"{folder}: {what}; remove the folder {folder}, then run the same command again"
        ) from error
    log.info("%s: verified", card.dataset)
    return parquet


def _verify(parquet: Path, expected: Mapping[str, Any]) -> None:
    """Compare a table with its manifest, and the manifest with the expected one."""
    found: dict[str, Any] = json.loads(parquet.with_name("manifest.json").read_bytes())
    if differs := [key for key, value in expected.items() if found[key] != value]:
        raise DataError(f"written by another version of the dataset (other {', '.join(differs)})")
    if parquet.stat().st_size != found["bytes"] or sha256(parquet) != found["sha256"]:
        raise DataError(f"{parquet.name}: changed since it was written")


def _publish(folder: Path, fill: Callable[[Path], None]) -> None:
    """Create a folder completely or not at all if it is missing, by one process at a time.

    `fill` writes into a draft, which then takes the name of the folder.
    """
    draft = folder.with_name(f".{folder.name}.tmp")
    try:
        if folder.exists():
            return
        # An interrupt amid the import of compiled code ends in another error: import it before.
        for module in ("pyarrow.compute", "pyarrow.csv", "pyarrow.parquet"):
            import_module(module)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            if folder.exists():
                return
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir()
            try:
                fill(draft)
                draft.rename(folder)
            except BaseException:
                shutil.rmtree(draft, ignore_errors=True)
                raise
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise OutputError(
            f"{folder}: cannot be written: {error.strerror or error}{where}; "
            "free disk space, move what is in the way, or choose another --data-home"
        ) from error


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Wait until no other process writes this dataset, and keep the others out."""
    name = folder.with_name(f".{folder.name}.lock")
    with ExitStack() as stack:
        while True:
            # The system lets the lock go however this process ends.
            lock = stack.enter_context(name.open("ab"))
            if not _lock(lock):
                log.info("%s: waiting for another process that is writing it", folder.name)
                while not _lock(lock):
                    time.sleep(0.1)
            if sys.platform == "win32":  # removes no open file: an empty one stays
                break
            # Whoever held the lock before may have removed the file since it was opened here.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock.fileno()), name.stat()):
                    stack.callback(name.unlink, missing_ok=True)  # while the lock is still held
                    break
        yield


def _lock(file: IO[bytes]) -> bool:
    """Lock a file until it is closed; return whether no other process has it."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _write_parquet(path: Path, tables: Iterable[Any]) -> int:
    """Write tables without dates and pandas' metadata, so that bytes repeat; return the rows."""
    from pyarrow import parquet

    rows, tables = 0, iter(tables)
    first = next(tables)
    with (
        path.open("xb") as sink,
        parquet.ParquetWriter(sink, first.schema, write_page_checksum=True) as writer,
    ):
        for table in chain([first], tables):
            writer.write_table(table)
            rows += len(table)
    return rows
