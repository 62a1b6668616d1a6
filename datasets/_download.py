"""Raw files by URL: announced, resumed where they stopped, verified before they are used.

A file is received as ``<name>.part`` and takes its name once it is whole. Where the
publisher gives no checksum, the first one seen is written to ``checksums.json`` and
holds from then on.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from datasets import _http
from datasets._digest import sha256
from datasets.errors import DataError, OutputError

log = logging.getLogger("datasets")

LOCK = "checksums.json"
_PAGE = (b"<!doctype html", b"<html", b"<?xml", b"<head")


@dataclass(frozen=True)
class Remote:
    """A file to download.

    Parameters
    ----------
    file : str
        Its name on disk.
    url : str
        Where it comes from.
    sha256 : str
        In hexadecimal; empty if the publisher gives none: then the first one seen holds.
    """

    file: str
    url: str
    sha256: str = ""

    def expected(self) -> str:
        """Return what a manifest says of the file before it is seen."""
        return self.sha256 or f"as first received from {self.url}"


def collect(
    home: Path, dataset: str, remotes: Sequence[Remote], given: Path | None = None
) -> dict[str, Path]:
    """Return the raw files of a dataset: those given, else fetched to ``home/raw/<dataset>``.

    Parameters
    ----------
    home : Path
        Folder of all datasets.
    dataset : str
    remotes : sequence of Remote
    given : Path, optional
        The file, or a folder that holds all of them by name; read where it lies.

    Returns
    -------
    dict of str to Path
        By the name of the `Remote`, verified.

    Raises
    ------
    DataError
        If a file cannot be had, or is not the one it should be; the message says which
        file to fetch by hand and where to put it.
    """
    folder = home / "raw" / dataset
    if given is not None:
        files = _given(given, remotes)
    else:
        files = {remote.file: _fetched(folder, dataset, remote) for remote in remotes}
    for remote in remotes:
        _verify(folder / LOCK, dataset, remote, files[remote.file])
    return files


def _given(given: Path, remotes: Sequence[Remote]) -> dict[str, Path]:
    names = [remote.file for remote in remotes]
    if given.is_file() and len(names) == 1:
        return {names[0]: given}
    missing = [name for name in names if not (given / name).is_file()]
    if missing:
        raise DataError(f"{given}: does not hold {', '.join(missing)}")
    return {name: given / name for name in names}


def _fetched(folder: Path, dataset: str, remote: Remote) -> Path:
    path = folder / remote.file
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _http.receive(remote.url, path.with_name(f"{path.name}.part"), _announce)
    except _http.Failed as error:
        raise DataError(f"{dataset}: {error}. {_by_hand(path, dataset, remote)}") from error
    path.with_name(f"{path.name}.part").replace(path)
    path.with_name(f"{path.name}.part.etag").unlink(missing_ok=True)
    return path


def _announce(url: str, part: Path, start: int, total: int | None) -> None:
    """Say how much will come, and stop before the disk is full."""
    size = "of unknown size" if total is None else f"{total / 1e6:,.1f} MB"
    log.info("fetching %s, %s%s", url, size, f" from {start / 1e6:,.1f} MB on" if start else "")
    free = shutil.disk_usage(part.parent).free
    if total is not None and total - start > free:
        raise OutputError(
            f"{part}: needs {(total - start) / 1e6:,.1f} MB, {free / 1e6:,.1f} MB are free; "
            "make room, or choose another folder with --data-home"
        )


def _by_hand(path: Path, dataset: str, remote: Remote) -> str:
    return (
        f"Run it again to go on where it stopped; or fetch {remote.url} by hand and put it at "
        f"{path}, or run `make data TASK={dataset} ARGS='--from <the file or its folder>'`"
    )


def _verify(lock: Path, dataset: str, remote: Remote, path: Path) -> None:
    _refuse_page(path, dataset, remote)
    actual = sha256(path)
    known = _read(lock)
    expected = remote.sha256 or known.get(remote.file, "")
    if expected and actual != expected:
        where = "" if remote.sha256 else f" that {lock} holds since it was first received"
        raise DataError(
            f"{path}: SHA-256 is {actual}, not {expected}{where}. {_remove(path, dataset, remote)}"
        )
    if not expected:
        _write(lock, {**known, remote.file: actual})
        log.info("%s: no published checksum; %s now holds %s", remote.file, lock, actual)


def _refuse_page(path: Path, dataset: str, remote: Remote) -> None:
    with path.open("rb") as file:
        start = file.read(512).lstrip().lower()
    if start.startswith(_PAGE):
        raise DataError(
            f"{path}: a web page, not data; a proxy or a login may stand in the way. "
            f"{_remove(path, dataset, remote)}"
        )


def _remove(path: Path, dataset: str, remote: Remote) -> str:
    return f"Remove the file, then: {_by_hand(path, dataset, remote)}"


def _read(lock: Path) -> Mapping[str, str]:
    try:
        return dict(json.loads(lock.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise DataError(f"{lock}: cannot be read ({error}); remove it to trust anew") from error


def _write(lock: Path, checksums: Mapping[str, str]) -> None:
    lock.parent.mkdir(parents=True, exist_ok=True)
    draft = lock.with_suffix(".tmp")
    draft.write_text(json.dumps(dict(sorted(checksums.items())), indent=2) + "\n", encoding="utf-8")
    draft.replace(lock)
