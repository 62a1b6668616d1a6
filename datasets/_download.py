"""Raw files by URL, fetched by pooch: whole or not at all, and verified before they are read."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets.errors import DataError

LARGEST = 4 << 30
"""Bytes of a file beyond which it is not the one that was meant."""
RETRIES = 2
_TIMEOUT, _REPORT_EVERY = 60, 5
# As it lies on the server: what is unpacked on the way has another checksum.
_HEADERS = {"Accept-Encoding": "identity", "User-Agent": "gpu-tabular-pipeline (datasets)"}

log = logging.getLogger("datasets")


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
        In hexadecimal; empty if the publisher gives none.
    """

    file: str
    url: str
    sha256: str = ""


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; `DataError` if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error


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
        By the name of the `Remote`; those with a published checksum have it.

    Raises
    ------
    DataError
        If a file cannot be had, or is not the one it should be; the message says which
        file to fetch by hand and where to put it.
    OSError
        If the disk is full.
    """
    if given is not None:
        return _take(given, remotes)
    return {remote.file: _fetch(home / "raw" / dataset, dataset, remote) for remote in remotes}


def _take(given: Path, remotes: Sequence[Remote]) -> dict[str, Path]:
    alone = given.is_file() and len(remotes) == 1
    files = {remote.file: given if alone else given / remote.file for remote in remotes}
    if missing := [name for name, path in files.items() if not path.is_file()]:
        raise DataError(f"{given}: does not hold {', '.join(missing)}")
    for remote in remotes:
        path = files[remote.file]
        if remote.sha256 and (actual := sha256(path)) != remote.sha256:
            raise DataError(
                f"{path}: SHA-256 is {actual}, not {remote.sha256}; fetch {remote.url} again"
            )
    return files


def _fetch(folder: Path, dataset: str, remote: Remote) -> Path:
    import pooch  # type: ignore[import-untyped]
    from requests import RequestException

    path = folder / remote.file
    pooch.get_logger().setLevel(logging.WARNING)
    fetcher = pooch.create(
        folder,
        base_url="",
        registry={remote.file: remote.sha256 or None},
        urls={remote.file: remote.url},
        retry_if_failed=RETRIES,
    )
    try:
        fetcher.fetch(remote.file, downloader=_receive)
    except (RequestException, ValueError) as error:
        raise DataError(
            f"{dataset}: {remote.url} cannot be fetched: {error}. Run it again; or fetch it by "
            f"hand and put it at {path}, or run `make data TASK={dataset} ARGS='--from <the file "
            "or its folder>'`"
        ) from error
    return path


def _receive(url: str, output_file: str, _: Any) -> None:
    """Write a file as it comes, as pooch's own `HTTPDownloader` does, but not without end."""
    import requests

    with (
        requests.get(url, stream=True, timeout=_TIMEOUT, headers=_HEADERS) as answer,
        Path(output_file).open("wb") as sink,
    ):
        answer.raise_for_status()
        total = int(answer.headers.get("Content-Length", 0))
        log.info("fetching %s, %s", url, f"{total / 1e6:,.1f} MB" if total else "of unknown size")
        reported = time.monotonic()
        for chunk in answer.iter_content(1 << 20):
            sink.write(chunk)
            if sink.tell() > LARGEST:
                raise DataError(f"{url}: more than {LARGEST:,} bytes, which no dataset has")
            if time.monotonic() - reported > _REPORT_EVERY:
                reported = time.monotonic()
                log.info("received %.1f MB", sink.tell() / 1e6)
