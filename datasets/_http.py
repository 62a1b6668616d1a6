"""One file over HTTP into a part file, from where an earlier attempt stopped.

What is there of the file is asked for again only under the validator it came with
(``If-Range``), so that two versions of a file are never joined.
"""

from __future__ import annotations

import http.client
import logging
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

log = logging.getLogger("datasets")

ATTEMPTS = 3
TIMEOUT = 60.0
LARGEST = 4 << 30
"""Bytes of a file beyond which it is not the one that was meant."""
_CHUNK = 1 << 20
_EVERY = 5.0
_BROKEN = (http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError)
_AGENT = {"User-Agent": "gpu-tabular-pipeline (datasets)"}

Announce = Callable[[str, Path, int, "int | None"], None]
"""Gets the URL, the part file, the byte to begin at and the size, None if not known."""


class Failed(Exception):
    """A file that could not be received; what has come stays in the part file."""


def receive(url: str, part: Path, announce: Announce) -> None:
    """Receive the whole of a file, going on after what `part` holds.

    Parameters
    ----------
    url : str
    part : Path
        Where the bytes go; ``<part>.etag`` beside it holds their validator.
    announce : callable
        Called once the size is known, before anything is written.

    Raises
    ------
    Failed
        The server cannot be reached, refuses, stops again and again, or sends more than
        `LARGEST` bytes.
    OSError
        The disk is full.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            if _attempt(url, part, announce):
                return
        except urllib.error.HTTPError as error:
            error.close()
            raise Failed(f"{url}: the server says {error.code} {error.reason}") from error
        except urllib.error.URLError as error:
            raise Failed(f"{url}: cannot be reached: {error.reason}") from error
        except _BROKEN as error:
            log.info("%s: stopped: %r (attempt %d of %d)", part.name, error, attempt, ATTEMPTS)
    raise Failed(f"{url}: stopped {ATTEMPTS} times, last after {_size(part):,} bytes")


def _attempt(url: str, part: Path, announce: Announce) -> bool:
    """Ask for what is missing; return whether the file is whole."""
    with _opened(url, part) as answer:
        start = _size(part) if answer.status == http.HTTPStatus.PARTIAL_CONTENT else 0
        length = answer.headers.get("Content-Length")
        total = None if length is None else start + int(length)
        _bound(url, total or 0)
        announce(url, part, start, total)
        _validator(part).write_text(_tag(answer), encoding="utf-8")
        with part.open("ab" if start else "wb") as sink:
            _copy(url, answer, sink, total)
    return total is None or _size(part) == total


def _opened(url: str, part: Path) -> Any:
    """Open the URL after what is there; from the start if the server has no such rest."""
    try:
        return _ask(url, _rest(part))
    except urllib.error.HTTPError as error:
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        error.close()
        return _ask(url, {})


def _ask(url: str, headers: dict[str, str]) -> Any:
    return urllib.request.urlopen(
        urllib.request.Request(url, headers=_AGENT | headers), timeout=TIMEOUT
    )


def _rest(part: Path) -> dict[str, str]:
    tag = _validator(part).read_text(encoding="utf-8") if _validator(part).exists() else ""
    if not tag or not _size(part):
        return {}
    return {"Range": f"bytes={_size(part)}-", "If-Range": tag}


def _validator(part: Path) -> Path:
    return part.with_name(f"{part.name}.etag")


def _tag(answer: Any) -> str:
    """Return the strong validator of an answer, or nothing: a weak one allows no range."""
    tag = answer.headers.get("ETag", "")
    return tag if tag and not tag.startswith("W/") else answer.headers.get("Last-Modified", "")


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _bound(url: str, size: int) -> None:
    if size > LARGEST:
        raise Failed(f"{url}: more than {LARGEST:,} bytes, which no dataset has")


def _copy(url: str, answer: Any, sink: Any, total: int | None) -> None:
    done, reported = sink.tell(), time.monotonic()
    while chunk := answer.read(_CHUNK):
        done += len(chunk)
        _bound(url, done)
        sink.write(chunk)
        if time.monotonic() - reported > _EVERY:
            reported = time.monotonic()
            share = f"{done / total:.0%} of {total / 1e6:,.1f} MB" if total else "so far"
            log.info("received %.1f MB, %s", done / 1e6, share)
