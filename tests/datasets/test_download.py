"""Downloads from a local server that behaves, breaks off, lies or is not there."""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from datasets import _download
from datasets._download import Remote
from datasets.errors import DataError

CONTENT = gzip.compress(bytes(range(256)) * 2000, mtime=0) + bytes(3_000_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves one file; `breaks` says after how many bytes each answer ends, in order."""

    content = CONTENT
    breaks: list[int]
    asked = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/file.gz"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        if not self.path.endswith("file.gz"):
            self.send_error(404)
            return
        self.server.asked += 1
        content = self.server.content
        self.send_response(200)
        if "gzip" in self.headers.get("Accept-Encoding", ""):
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        stop = self.server.breaks.pop(0) if self.server.breaks else len(content)
        self.wfile.write(content[:stop])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with Server(("127.0.0.1", 0), Handler) as made:
        made.breaks = []
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def fetch(server: Server, home: Path, sha256: str = SHA256) -> Path:
    return _download.collect(home, "tiny", [Remote("file.gz", server.url, sha256)])["file.gz"]


def left(home: Path) -> list[str]:
    return [path.name for path in (home / "raw" / "tiny").iterdir()]


@pytest.mark.parametrize("sha256", [SHA256, ""])
def test_a_file_comes_whole_as_it_lies_there_and_once(server, tmp_path, caplog, sha256) -> None:
    caplog.set_level("INFO", "datasets")
    path = fetch(server, tmp_path, sha256)
    assert path.read_bytes() == CONTENT
    assert left(tmp_path) == ["file.gz"]
    assert f"downloading {server.url}" in caplog.messages
    assert fetch(server, tmp_path, sha256) == path
    assert server.asked == 1


@pytest.mark.parametrize("sha256", [SHA256, ""])
def test_what_breaks_off_is_tried_again_and_never_taken_for_whole(server, tmp_path, sha256) -> None:
    server.breaks = [1_200_000, 700_000]
    assert fetch(server, tmp_path, sha256).read_bytes() == CONTENT
    server.breaks = [1_200_000] * 3
    (tmp_path / "raw" / "tiny" / "file.gz").unlink()
    with pytest.raises(
        DataError, match="cannot be downloaded.*; try again, or download it with a browser"
    ):
        fetch(server, tmp_path, sha256)
    assert left(tmp_path) == []


def test_files_fetched_by_hand_are_used_where_they_lie(tmp_path) -> None:
    (tmp_path / "mine.gz").write_bytes(CONTENT)
    remotes = [Remote("file.gz", "http://nowhere.invalid/file.gz", SHA256)]
    given = _download.collect(tmp_path / "home", "tiny", remotes, tmp_path / "mine.gz")
    assert given == {"file.gz": tmp_path / "mine.gz"}
    (tmp_path / "file.gz").write_bytes(CONTENT)
    assert _download.collect(tmp_path / "home", "tiny", remotes, tmp_path) == {
        "file.gz": tmp_path / "file.gz"
    }
    (tmp_path / "file.gz").write_bytes(CONTENT[:-1])
    with pytest.raises(DataError, match=rf"file\.gz: SHA-256 is {'.' * 64}, not {SHA256}"):
        _download.collect(tmp_path / "home", "tiny", remotes, tmp_path)
    with pytest.raises(DataError, match=r"does not contain b\.gz"):
        _download.collect(tmp_path, "tiny", [*remotes, replace(remotes[0], file="b.gz")], tmp_path)


def test_a_wrong_checksum_is_told_with_both_and_the_way_by_hand(server, tmp_path) -> None:
    with pytest.raises(DataError) as caught:
        fetch(server, tmp_path, "0" * 64)
    path = str(tmp_path / "raw" / "tiny" / "file.gz")
    for told in (SHA256, "0" * 64, server.url, path, "with --from"):
        assert told in str(caught.value)
    assert left(tmp_path) == []
