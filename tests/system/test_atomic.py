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


class Refused(NoExchange):
    """A C library whose `renameat2` fails."""

    code = errno.EINVAL

    def renameat2(self, *args: object) -> int:
        ctypes.set_errno(self.code)
        return -1


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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with old results."""
    put(tmp_path / "results", "old")
    return tmp_path / "results"


def holds(folder: Path, text: str) -> bool:
    """Return whether the results are of one text, and nothing is beside them."""
    return beside(folder) == {"results"} and (folder / "record.json").read_text() == text


@pytest.mark.usefixtures("system")
def test_new_results_take_the_place_of_old_ones_as_a_whole(folder: Path) -> None:
    with publishing(folder) as draft:
        (draft / "record.json").write_text("new")
        (draft / "inner").mkdir()
        (draft / "inner" / "c").write_text("new")
    assert sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*")) == [
        "inner", "inner/c", "record.json",
    ]  # fmt: skip
    assert holds(folder, "new")


def fail(folder: Path, error: type[BaseException]) -> None:
    with publishing(folder) as draft:
        (draft / "record.json").write_text("half")
        raise error


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize(
    "error", [RuntimeError, KeyboardInterrupt, SystemExit, DataError, BrokenPipeError]
)
def test_a_block_that_fails_leaves_the_old_results(
    folder: Path, error: type[BaseException]
) -> None:
    other = folder.with_name("other")
    for each in (other, folder):
        with pytest.raises(error):
            fail(each, error)
    assert not other.exists()
    assert holds(folder, "old")


@pytest.mark.parametrize("name", ["results", "results/", "./a/../results", "x/y/z", "a[1]", "é *?"])
def test_any_name_will_do_and_drafts_of_dead_runs_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    put(Path(name), "old")
    folder = Path(name).resolve()
    dead, other = (folder.parent / f".{each}.draft-1" for each in (folder.name, "others"))
    for draft in (dead, other):
        draft.mkdir()
    put(Path(name), "new")
    assert (folder / "record.json").read_text() == "new"
    assert (dead.exists(), other.exists()) == (False, True)


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


def test_what_is_in_the_way_stays(tmp_path: Path) -> None:
    file, home, empty = (tmp_path / name for name in ("file", "home", "empty"))
    file.write_text("mine")
    home.mkdir()
    (home / "thesis.tex").write_text("years")
    for way, says in (
        (file, "file: is a file.*another folder"),
        (file / "below", str(file)),
        (home, "home: contains files other than results"),
    ):
        with pytest.raises(OutputError, match=says):
            put(way, "new")
    assert file.read_text() == "mine"
    assert [path.name for path in home.iterdir()] == ["thesis.tex"]
    assert beside(file) == {"file", "home"}
    empty.mkdir()
    put(empty, "new")
    assert (empty / "b").read_text() == "new"
