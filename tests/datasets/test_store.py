from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pytest

from datasets import _store
from datasets.errors import DataError, OutputError
from tests.datasets import tiny


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return _store.prepare(tiny.CARD, tiny.build, tmp_path)


def never() -> list[object]:
    raise AssertionError("built again")


def test_what_is_complete_is_not_built_again(made: Path) -> None:
    before = made.stat().st_mtime_ns, made.stat().st_ino
    assert _store.prepare(tiny.CARD, never, made.parents[1]) == made
    assert (made.stat().st_mtime_ns, made.stat().st_ino) == before


DAMAGE = {
    "one byte changed": lambda p: p.write_bytes(p.read_bytes()[:99] + b"\0" + p.read_bytes()[100:]),
    "cut in half": lambda p: os.truncate(p, p.stat().st_size // 2),
    "gone": lambda p: p.unlink(),
}


@pytest.mark.parametrize(
    ("file", "damage"),
    [("tiny.parquet", damage) for damage in DAMAGE]
    # A manifest is text without a checksum; what it may hold is tested below.
    + [("manifest.json", damage) for damage in DAMAGE if damage != "one byte changed"],
)
def test_damage_is_told_and_neither_used_nor_repaired(made: Path, file: str, damage: str) -> None:
    DAMAGE[damage](made.with_name(file))
    listing = sorted(made.parent.iterdir())
    with pytest.raises(DataError, match=f"; remove the folder {made.parent}, then run"):
        _store.prepare(tiny.CARD, never, made.parents[1])
    assert sorted(made.parent.iterdir()) == listing


@pytest.mark.parametrize("text", ["", "[]", '{"format": 1}', "\udcff"])
def test_a_manifest_that_is_none_is_damage(made: Path, text: str) -> None:
    made.with_name("manifest.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError, match="tiny: its manifest cannot be read"):
        _store.prepare(tiny.CARD, never, made.parents[1])


def test_a_dataset_made_by_another_version_is_refused(made: Path) -> None:
    newer = dataclasses.replace(tiny.CARD, sources={"tiny.csv": "1" * 64}, licence="MIT")
    with pytest.raises(
        DataError, match="written by another version of the dataset .other licence, sources"
    ):
        _store.prepare(newer, never, made.parents[1])


def fails(error: BaseException) -> Iterator[pa.Table]:
    """Yield a table of other columns, or an error."""
    if isinstance(error, ValueError):
        yield pa.table({"z": [1]})
    else:
        raise error


@pytest.mark.parametrize(
    "error", [DataError("row 7"), KeyboardInterrupt("row 7"), ValueError("schema")]
)
def test_a_build_that_fails_leaves_nothing(tmp_path: Path, error: BaseException) -> None:
    with pytest.raises(type(error), match=str(error)):
        _store.prepare(tiny.CARD, lambda: chain(tiny.build(), fails(error)), tmp_path)
    assert [*tmp_path.iterdir()] == []
    assert _store.prepare(tiny.CARD, tiny.build, tmp_path).is_file()


@pytest.mark.parametrize("where", ["home", "parent", "link"])
def test_something_in_the_way_cannot_be_written_over(tmp_path: Path, where: str) -> None:
    home = tmp_path / "parent" / "home"
    way = {"home": home, "parent": home.parent, "link": home / "tiny"}
    way[where].parent.mkdir(parents=True, exist_ok=True)
    if where == "link":
        way[where].symlink_to(tmp_path / "nowhere")
    else:
        way[where].write_text("mine")
    with pytest.raises(OutputError, match="another --data-home") as caught:
        _store.prepare(tiny.CARD, tiny.build, home)
    assert str(way[where]) in str(caught.value)
    assert caught.value.exit_code == 73
    assert where == "link" or way[where].read_text() == "mine"
