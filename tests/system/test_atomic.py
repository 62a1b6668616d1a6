from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

import pytest

from pipeline.errors import DataError, OutputError
from pipeline.system import atomic
from pipeline.system.atomic import publishing


class NoExchange:
    """A C library without `renameat2`."""

    def __init__(self, *args: object, **options: object) -> None:
        pass


class Refused:
    """A C library whose `renameat2` fails."""

    code = errno.EINVAL

    def __init__(self, *args: object, **options: object) -> None:
        pass

    def renameat2(self, *args: object) -> int:
        ctypes.set_errno(self.code)
        return -1


class Denied(Refused):
    code = errno.EACCES


@pytest.fixture(params=["exchange", NoExchange, Refused], ids=["exchange", "without", "refused"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run on a system with and without the exchange of two names."""
    if request.param != "exchange":
        monkeypatch.setattr(atomic.ctypes, "CDLL", request.param)


def put(folder: Path, text: str) -> None:
    with publishing(folder) as draft:
        (draft / "record.json").write_text(text)
        (draft / "b").write_text(text)


def beside(folder: Path) -> set[str]:
    return {path.name for path in folder.parent.iterdir()}


@pytest.mark.usefixtures("system")
def test_new_results_take_the_place_of_old_ones_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    with publishing(folder) as draft:
        (draft / "record.json").write_text("old")
        (draft / "only-in-old").touch()
    with publishing(folder) as draft:
        (draft / "record.json").write_text("new")
        (draft / "inner").mkdir()
        (draft / "inner" / "c").write_text("new")
    assert sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*")) == [
        "inner", "inner/c", "record.json",
    ]  # fmt: skip
    assert (folder / "record.json").read_text() == "new"
    assert beside(folder) == {"results", ".results.lock"}


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, DataError])
def test_a_block_that_fails_leaves_the_old_results(
    tmp_path: Path, error: type[BaseException]
) -> None:
    folder = tmp_path / "results"
    put(folder, "old")

    def fail() -> None:
        with publishing(folder) as draft:
            (draft / "record.json").write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert (folder / "record.json").read_text() == "old"
    assert beside(folder) == {"results", ".results.lock"}


def test_a_block_that_fails_publishes_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with publishing(tmp_path / "results"):
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert beside(tmp_path / "results") == {".results.lock"}


@pytest.mark.parametrize("name", ["results", "results/", "./a/../results", "x/y/z", "a[1]", "é *?"])
def test_any_name_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    put(Path(name), "old")
    folder = Path(name).resolve()
    left = folder.parent / f".{folder.name}.draft-1"
    left.mkdir()
    put(Path(name), "new")
    assert (folder / "record.json").read_text() == "new"
    assert not left.exists(), "drafts of dead runs are removed"


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    put(tmp_path / "disk" / "results", "old")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "disk" / "results")
    put(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "disk" / "results" / "record.json").read_text() == "new"
    assert beside(link) == {"disk", "link"}


def test_drafts_of_other_results_are_not_touched(tmp_path: Path) -> None:
    other = tmp_path / ".others.draft-1"
    other.mkdir()
    put(tmp_path / "results", "new")
    assert other.is_dir()


def test_every_file_is_on_disk_before_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, synced, fsync = tmp_path / "results", set(), os.fsync

    def record(handle: int) -> None:
        fsync(handle)
        synced.add((os.fstat(handle).st_ino, folder.exists()))

    monkeypatch.setattr(os, "fsync", record)
    put(folder, "new")
    files = [folder, folder / "record.json", folder / "b"]
    assert {(path.stat().st_ino, False) for path in files} <= synced
    assert (tmp_path.stat().st_ino, True) in synced


def test_a_file_in_the_way_is_not_overwritten(tmp_path: Path) -> None:
    way = tmp_path / "results"
    way.write_text("mine")
    with pytest.raises(OutputError, match="results: a file is in the way.*another --out"):
        put(way, "new")
    assert way.read_text() == "mine"
    with pytest.raises(OutputError, match=str(way)):
        put(way / "below", "new")
    assert beside(way) == {"results"}


def test_a_folder_of_something_else_is_not_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years")
    with pytest.raises(OutputError, match="home: holds something else than results"):
        put(folder, "new")
    assert [path.name for path in folder.iterdir()] == ["thesis.tex"]
    assert beside(folder) == {"home"}


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    put(tmp_path / "results", "new")
    assert (tmp_path / "results" / "b").read_text() == "new"


def test_an_error_of_the_system_is_told_with_its_file(tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, "No space left on device", "model.skops")

    def fail() -> None:
        with publishing(tmp_path / "results"):
            raise full

    with pytest.raises(OutputError, match=r"model\.skops: No space left on device") as caught:
        fail()
    assert caught.value.exit_code == 73


def test_a_closed_pipe_is_not_taken_for_a_full_disk(tmp_path: Path) -> None:
    def fail() -> None:
        with publishing(tmp_path / "results"):
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        fail()


def test_an_exchange_that_is_denied_leaves_the_old_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "results", "old")
    monkeypatch.setattr(atomic.ctypes, "CDLL", Denied)
    with pytest.raises(OutputError, match="results: Permission denied"):
        put(tmp_path / "results", "new")
    assert (tmp_path / "results" / "record.json").read_text() == "old"
    assert beside(tmp_path / "results") == {"results", ".results.lock"}
