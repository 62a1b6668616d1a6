"""Downloads from a local server that behaves, breaks off, lies or is not there."""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from datasets import _download, _http, _store
from datasets._download import Remote
from datasets._store import Card, Column
from datasets.errors import DataError, OutputError

CONTENT = gzip.compress(bytes(range(256)) * 2000, mtime=0) + bytes(3_000_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves one file; `breaks` says after how many bytes each answer ends, in order."""

    content = CONTENT
    etag = '"one"'
    breaks: list[int]
    asked: list[tuple[str, str]]
    ranges = True
    length = True

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
        content, start = self.server.content, 0
        wanted, tag = self.headers.get("Range", ""), self.headers.get("If-Range", "")
        self.server.asked.append((wanted, tag))
        if wanted and self.server.ranges and tag == self.server.etag:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                self.send_error(416)
                return
        self.send_response(206 if start else 200)
        if self.server.etag:
            self.send_header("ETag", self.server.etag)
        if self.server.length:
            self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        stop = self.server.breaks.pop(0) if self.server.breaks else len(content)
        self.wfile.write(content[start : start + stop])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_http, "TIMEOUT", 5.0)
    with Server(("127.0.0.1", 0), Handler) as made:
        made.breaks, made.asked = [], []
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def fetch(server: Server, home: Path, sha256: str = SHA256, name: str = "file.gz") -> Path:
    remote = Remote("file.gz", server.url.replace("file.gz", name), sha256)
    return _download.collect(home, "tiny", [remote])["file.gz"]


def left(home: Path) -> set[str]:
    return {path.name for path in (home / "raw" / "tiny").iterdir()}


def test_a_file_comes_whole_and_its_size_is_told_before(server, tmp_path, caplog) -> None:
    caplog.set_level("INFO", "datasets")
    path = fetch(server, tmp_path)
    assert path.read_bytes() == CONTENT
    assert left(tmp_path) == {"file.gz"}
    assert f"fetching {server.url}, {len(CONTENT) / 1e6:,.1f} MB" in caplog.messages


def test_what_is_there_is_not_fetched_again(server, tmp_path) -> None:
    fetch(server, tmp_path)
    fetch(server, tmp_path)
    assert server.asked == [("", "")]


def test_what_stops_goes_on_where_it_stopped(server, tmp_path) -> None:
    server.breaks = [1_200_000, 700_000]
    assert fetch(server, tmp_path).read_bytes() == CONTENT
    assert server.asked == [
        ("", ""), ("bytes=1200000-", '"one"'), ("bytes=1900000-", '"one"'),
    ]  # fmt: skip


def test_a_later_run_goes_on_after_one_that_gave_up(server, tmp_path) -> None:
    server.breaks = [1_000_000, 10, 10]
    with pytest.raises(DataError, match="stopped 3 times, last after 1,000,020 bytes") as caught:
        fetch(server, tmp_path)
    assert caught.value.exit_code == 65
    assert "Run it again" in str(caught.value)
    assert left(tmp_path) == {"file.gz.part", "file.gz.part.etag"}
    assert fetch(server, tmp_path).read_bytes() == CONTENT
    assert server.asked[-1] == ("bytes=1000020-", '"one"')


def test_two_versions_of_a_file_are_never_joined(server, tmp_path) -> None:
    server.breaks = [1_000_000, 0, 0]
    with pytest.raises(DataError):
        fetch(server, tmp_path)
    server.content, server.etag = CONTENT[::-1], '"two"'
    other = hashlib.sha256(CONTENT[::-1]).hexdigest()
    assert fetch(server, tmp_path, other).read_bytes() == CONTENT[::-1]


@pytest.mark.parametrize("change", [{"ranges": False}, {"etag": ""}])
def test_without_ranges_or_a_validator_it_begins_anew(server, tmp_path, change) -> None:
    vars(server).update(change)
    server.breaks = [1_000_000]
    assert fetch(server, tmp_path).read_bytes() == CONTENT


def test_a_part_that_is_longer_than_the_file_begins_anew(server, tmp_path) -> None:
    folder = tmp_path / "raw" / "tiny"
    folder.mkdir(parents=True)
    (folder / "file.gz.part").write_bytes(CONTENT + b"more")
    (folder / "file.gz.part.etag").write_text('"one"')
    assert fetch(server, tmp_path).read_bytes() == CONTENT


def test_a_wrong_checksum_is_told_with_both_and_the_file_to_remove(server, tmp_path) -> None:
    with pytest.raises(DataError) as caught:
        fetch(server, tmp_path, "0" * 64)
    message = str(caught.value)
    assert SHA256 in message
    assert "not " + "0" * 64 in message
    assert str(tmp_path / "raw" / "tiny" / "file.gz") in message
    assert "make data TASK=tiny ARGS='--from " in message


def test_the_first_checksum_holds_where_none_is_published(server, tmp_path) -> None:
    path = fetch(server, tmp_path, "")
    lock = path.with_name("checksums.json")
    assert json.loads(lock.read_text()) == {"file.gz": SHA256}
    path.unlink()
    server.content = CONTENT[:-1]
    with pytest.raises(DataError, match=r"checksums\.json holds since it was first received"):
        fetch(server, tmp_path, "")
    assert json.loads(lock.read_text()) == {"file.gz": SHA256}


def test_a_lock_that_is_none_is_named(server, tmp_path) -> None:
    path = fetch(server, tmp_path, "")
    path.with_name("checksums.json").write_text("{")
    with pytest.raises(DataError, match=r"checksums\.json: cannot be read"):
        fetch(server, tmp_path, "")


@pytest.mark.parametrize("page", [b"<!DOCTYPE html><p>Log in", b"\n <HTML>", b"<?xml version='1'"])
@pytest.mark.parametrize("sha256", ["", SHA256])
def test_a_web_page_is_not_taken_for_data(server, tmp_path, page, sha256) -> None:
    server.content = page
    with pytest.raises(DataError, match="a web page, not data"):
        fetch(server, tmp_path, sha256)
    assert not (tmp_path / "raw" / "tiny" / "checksums.json").exists()


def test_a_file_that_is_gone_says_what_to_fetch_and_where_to_put_it(server, tmp_path) -> None:
    with pytest.raises(DataError, match="the server says 404 Not Found") as caught:
        fetch(server, tmp_path, name="other")
    assert str(tmp_path / "raw" / "tiny" / "file.gz") in str(caught.value)
    assert caught.value.exit_code == 65


def test_a_server_that_is_not_there_says_the_same(tmp_path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as closed:
        port = closed.server_address[1]
    remote = Remote("file.gz", f"http://127.0.0.1:{port}/file.gz")
    with pytest.raises(DataError, match="cannot be reached") as caught:
        _download.collect(tmp_path, "tiny", [remote])
    assert "by hand" in str(caught.value)


def test_a_disk_too_small_is_told_before_anything_is_written(server, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(_download.shutil, "disk_usage", lambda path: _Usage(free=1_000_000))
    with pytest.raises(OutputError, match=r"needs 3\.\d MB, 1\.0 MB are free") as caught:
        fetch(server, tmp_path)
    assert caught.value.exit_code == 73
    assert left(tmp_path) == set()


class _Usage:
    def __init__(self, free: int) -> None:
        self.free = free


def test_a_disk_that_fills_up_meanwhile_ends_with_73(server, tmp_path) -> None:
    folder = tmp_path / "raw" / "tiny"
    folder.mkdir(parents=True)
    (folder / "file.gz.part").symlink_to("/dev/full")
    remote = Remote("file.gz", server.url, SHA256)
    columns = {"y": Column("target", "int8", "0 or 1")}
    card = Card("tiny", "CC0 1.0", "made up", "y", columns, remotes=[remote])
    with pytest.raises(OutputError, match="No space left") as caught:
        _store.prepare(tmp_path, card, lambda files: iter([]))
    assert caught.value.exit_code == 73
    assert not (tmp_path / "tiny").exists()


def test_a_size_that_is_not_told_is_taken_as_it_comes(server, tmp_path, caplog) -> None:
    caplog.set_level("INFO", "datasets")
    server.length = False
    assert fetch(server, tmp_path).read_bytes() == CONTENT
    assert any("of unknown size" in message for message in caplog.messages)


@pytest.mark.parametrize("length", [True, False])
def test_more_than_any_dataset_has_is_not_received(server, tmp_path, monkeypatch, length) -> None:
    monkeypatch.setattr(_http, "LARGEST", len(CONTENT) - 1)
    server.length = length
    with pytest.raises(DataError, match="more than .* bytes, which no dataset has"):
        fetch(server, tmp_path)
    assert "file.gz" not in left(tmp_path)


def test_files_fetched_by_hand_are_used_where_they_lie(tmp_path) -> None:
    (tmp_path / "mine.gz").write_bytes(CONTENT)
    remotes = [Remote("file.gz", "http://nowhere.invalid/file.gz", SHA256)]
    given = _download.collect(tmp_path / "home", "tiny", remotes, tmp_path / "mine.gz")
    assert given == {"file.gz": tmp_path / "mine.gz"}
    (tmp_path / "file.gz").write_bytes(CONTENT)
    assert _download.collect(tmp_path / "home", "tiny", remotes, tmp_path) == {
        "file.gz": tmp_path / "file.gz"
    }


def test_a_folder_that_lacks_a_file_names_it(tmp_path) -> None:
    remotes = [
        Remote("a.gz", "http://nowhere.invalid/a"),
        Remote("b.gz", "http://nowhere.invalid/b"),
    ]
    (tmp_path / "a.gz").write_bytes(b"x")
    with pytest.raises(DataError, match=r"does not hold b\.gz"):
        _download.collect(tmp_path / "home", "tiny", remotes, tmp_path)
