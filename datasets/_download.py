"""Raw files by URL, downloaded by pooch: completely or not at all, and verified before use."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import DataError

RETRIES, TIMEOUT = 2, 60
# As it is on the server: a file that is unpacked on the way has another checksum.
_HEADERS = {"Accept-Encoding": "identity", "User-Agent": "gpu-tabular-pipeline (datasets)"}

log = logging.getLogger("datasets")


@dataclass(frozen=True)
class Remote:
    """A file to download: its name on disk, and the SHA-256, empty if the publisher gives none."""

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
    """Return the raw files of a dataset by name: fetched to ``home/raw/<dataset>``, or those given.

    `given` is the file, or a folder that contains all of them; it is not copied. `DataError` says
    that a file cannot be downloaded or is not the expected one, and what to do.
    """
    if given is not None:
        return _take(given, remotes)
    return {remote.file: _fetch(home / "raw" / dataset, dataset, remote) for remote in remotes}


def _take(given: Path, remotes: Sequence[Remote]) -> dict[str, Path]:
    alone = given.is_file() and len(remotes) == 1
    files = {remote.file: given if alone else given / remote.file for remote in remotes}
    if missing := [name for name, path in files.items() if not path.is_file()]:
        raise DataError(
            f"{given}: does not contain {', '.join(missing)}; pass the folder of the downloads"
        )
    for remote in remotes:
        path = files[remote.file]
        if remote.sha256 and (actual := sha256(path)) != remote.sha256:
            raise DataError(
                f"{path}: SHA-256 is {actual}, not {remote.sha256}; download {remote.url} again"
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
            f"{dataset}: {remote.url} cannot be downloaded: {error}; try again, or download it "
            f"with a browser and either save it as {path} or pass the file or its "
            "folder to the command `data` with --from"
        ) from error
    return path


def _receive(url: str, output_file: str, _: object) -> None:
    """Write a file as it comes; pooch's own downloader leaves the connection open."""
    import requests

    log.info("downloading %s", url)
    with (
        requests.get(url, stream=True, timeout=TIMEOUT, headers=_HEADERS) as answer,
        Path(output_file).open("wb") as sink,
    ):
        answer.raise_for_status()
        for chunk in answer.iter_content(1 << 20):
            sink.write(chunk)
