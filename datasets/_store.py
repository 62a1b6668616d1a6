"""A dataset on disk: one Parquet file and its manifest, published whole or not at all.

It is written beside its final place, forced to disk and renamed. Once published it
is only ever verified: what is damaged is reported, never used and never replaced.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from datasets._digest import sha256 as sha256
from datasets._download import Remote, collect
from datasets.errors import DataError, OutputError

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
COMPRESSION = "snappy"

log = logging.getLogger("datasets")


@dataclass(frozen=True)
class Column:
    """One column of a prepared table.

    Parameters
    ----------
    kind : {"number", "category", "date", "text", "target", "split"}
        What the column is for.
    type : str
        Arrow's name of a type (``"float32"``), or ``"category"``.
    about : str
        One line, with the unit where there is one.
    """

    kind: Literal["number", "category", "date", "text", "target", "split"]
    type: str
    about: str


@dataclass(frozen=True)
class Card:
    """What is known of a dataset before it is made; all of it goes into the manifest.

    Parameters
    ----------
    dataset, licence, source, target : str
        The module's ``NAME``, ``LICENCE``, ``SOURCE`` and ``TARGET``.
    columns : mapping of str to Column
        In the order of the Parquet file.
    sources : mapping of str to str
        Raw file -> SHA-256, of those that are there already.
    remotes : sequence of Remote
        Raw files to download.
    raw : str
        Of which dataset they are, where several are made of the same files.
    """

    dataset: str
    licence: str
    source: str
    target: str
    columns: Mapping[str, Column]
    sources: Mapping[str, str] = field(default_factory=dict)
    remotes: Sequence[Remote] = ()
    raw: str = ""

    def manifest(self) -> dict[str, Any]:
        """Return the part of ``manifest.json`` that does not depend on the Parquet file."""
        return {
            "format": FORMAT,
            "dataset": self.dataset,
            "licence": self.licence,
            "source": self.source,
            "sources": {**self.sources, **{r.file: r.expected() for r in self.remotes}},
            "target": self.target,
            "columns": {n: {"kind": c.kind, "about": c.about} for n, c in self.columns.items()},
        }


Build = Callable[..., "Iterable[pa.Table]"]
"""Yields tables of one schema, at least one; each becomes a row group.

Takes the downloaded files by name, if the card has any.
"""


def prepare(home: Path, card: Card, build: Build, given: Path | None = None) -> Path:
    """Publish a dataset under `home` unless it is there; verify it; return its Parquet file.

    Parameters
    ----------
    home : Path
        Folder that holds one folder per dataset; made if absent.
    card : Card
        Describes the dataset.
    build : callable
        Makes the table. Called only if the dataset is not there, by one process at a time.
    given : Path, optional
        The files to download, or the folder that holds them, fetched by hand.

    Returns
    -------
    Path
        ``home/<dataset>/<dataset>.parquet``, whose SHA-256 is the manifest's.

    Raises
    ------
    DataError
        If what is there is damaged or of another version, or a source is at fault.
    OutputError
        If the folder cannot be written.
    """
    folder = home / card.dataset
    if given is not None and not card.remotes:
        raise DataError(f"{card.dataset} needs no download; leave --from {given} out")
    with writing(folder):
        if not taken(folder):
            with alone(home, card.dataset):
                if not taken(folder):
                    _publish(folder, card, _sourced(home, card, build, given))
        elif not folder.is_dir():
            raise FileExistsError(None, "a file is in the way", str(folder))
    parquet = _verified(folder, card)
    log.info("%s: complete and intact", card.dataset)
    return parquet


def taken(path: Path) -> bool:
    """Return whether a name is in use, be it by a link that leads nowhere."""
    return path.exists() or path.is_symlink()


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Raise what the system refuses as `OutputError`."""
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise OutputError(
            f"{folder}: cannot write: {error.strerror or error}{where}. "
            "Clear the way or make room, or choose another folder with --data-home"
        ) from error


@contextmanager
def alone(home: Path, dataset: str) -> Iterator[None]:
    """Hold the dataset's lock, which the system lets go however this process ends."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / f".{dataset}.lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.info("%s: waiting for the run that is making it", dataset)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _sourced(home: Path, card: Card, build: Build, given: Path | None) -> Build:
    """Return the build with its downloaded files, if it takes any."""
    if not card.remotes:
        return build
    return partial(build, collect(home, card.raw or card.dataset, card.remotes, given))


def _publish(folder: Path, card: Card, build: Build) -> None:
    # An interrupt amid the import of compiled code ends in another error: import it before.
    for module in ("pyarrow.compute", "pyarrow.csv", "pyarrow.parquet"):
        import_module(module)
    draft = folder.with_name(f".{card.dataset}.{os.getpid()}.tmp")
    for dead in folder.parent.glob(f".{card.dataset}.*.tmp"):
        log.info("%s: removing what a dead run left, %s", card.dataset, dead)
        shutil.rmtree(dead)
    try:
        draft.mkdir()
        _write(draft, card, build())
        draft.rename(folder)
        sync(folder.parent)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _write(draft: Path, card: Card, tables: Iterable[pa.Table]) -> None:
    parquet, manifest = draft / f"{card.dataset}.parquet", draft / "manifest.json"
    rows = _write_parquet(parquet, tables)
    size = parquet.stat().st_size
    about = card.manifest() | {"rows": rows, "sha256": sha256(parquet), "bytes": size}
    manifest.write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    for path in (parquet, manifest, draft):
        sync(path)
    log.info("%s: wrote %s rows, %.1f MB", card.dataset, f"{rows:,}", size / 1e6)


def _write_parquet(path: Path, tables: Iterable[pa.Table]) -> int:
    """Write each table as a row group; no dates, no pandas metadata, so that bytes repeat."""
    from pyarrow import parquet

    rows, tables = 0, iter(tables)
    first = next(tables)
    options = {"compression": COMPRESSION, "write_page_checksum": True}
    with path.open("xb") as sink, parquet.ParquetWriter(sink, first.schema, **options) as writer:
        for table in chain([first], tables):
            writer.write_table(table)
            rows += len(table)
    return rows


def sync(path: Path) -> None:
    """Force a file, or the names in a folder, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _verified(folder: Path, card: Card) -> Path:
    parquet, manifest = folder / f"{card.dataset}.parquet", folder / "manifest.json"
    try:
        about = json.loads(manifest.read_text(encoding="utf-8"))
        differs = [k for k, value in card.manifest().items() if about[k] != value]
        if not isinstance(about["rows"], int):
            raise TypeError("rows")
        if differs:
            raise DataError(f"{manifest}: {', '.join(differs)} of another version of the dataset")
        if parquet.stat().st_size != about["bytes"]:
            raise DataError(f"{parquet}: not the {about['bytes']} bytes that manifest.json names")
        if sha256(parquet) != about["sha256"]:
            raise DataError(f"{parquet}: changed since it was made (SHA-256 differs)")
    except OSError as error:
        raise _damaged(folder, f"{error.filename}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(folder, f"{manifest}: not a manifest ({error!r})") from error
    except DataError as error:
        raise _damaged(folder, str(error)) from error
    return parquet


def _damaged(folder: Path, what: str) -> DataError:
    return DataError(
        f"{what}. Remove {folder} (`make clean-data` removes all datasets), then run `make data`"
    )
