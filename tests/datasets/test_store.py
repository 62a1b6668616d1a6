from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from datasets import _store
from datasets.errors import DataError, OutputError

SCRIPT = Path(__file__).with_name("tiny.py")


@pytest.fixture
def made(tmp_path: Path, tiny: ModuleType) -> Path:
    return _store.prepare(tmp_path, tiny.CARD, tiny.build)


def drafts(home: Path) -> list[Path]:
    return list(home.glob(".tiny.tmp"))


def never() -> list[object]:
    raise AssertionError("built again")


def test_the_manifest_describes_the_file(made: Path, tiny: ModuleType) -> None:
    manifest = json.loads(made.with_name("manifest.json").read_text())
    assert manifest == {
        "format": 1,
        "dataset": "tiny",
        "rows": 6,
        "sha256": _store.sha256(made),
        "bytes": made.stat().st_size,
        "columns": {
            name: {"kind": column.kind, "about": column.about}
            for name, column in tiny.COLUMNS.items()
        },
        "sources": {"tiny.csv": "0" * 64},
        "received": {},
        "licence": "CC0 1.0",
        "source": "made up",
        "target": "y",
    }


def test_each_table_is_a_row_group_with_no_pandas_metadata(made: Path) -> None:
    file = pq.ParquetFile(made)
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [3, 3]
    assert b"pandas" not in (file.schema_arrow.metadata or {})


def test_what_is_complete_is_not_built_again(made: Path, tiny: ModuleType) -> None:
    before = made.stat().st_mtime_ns, made.stat().st_ino
    assert _store.prepare(made.parents[1], tiny.CARD, never) == made
    assert (made.stat().st_mtime_ns, made.stat().st_ino) == before


DAMAGE = {
    "one byte changed": lambda p: p.write_bytes(p.read_bytes()[:99] + b"\0" + p.read_bytes()[100:]),
    "cut in half": lambda p: os.truncate(p, p.stat().st_size // 2),
    "gone": lambda p: p.unlink(),
    "a folder": lambda p: (p.unlink(), p.mkdir()),
}


@pytest.mark.parametrize(
    ("file", "damage"),
    [("tiny.parquet", damage) for damage in DAMAGE]
    # A manifest is text without a checksum; what it may hold is tested below.
    + [("manifest.json", damage) for damage in DAMAGE if damage != "one byte changed"],
)
def test_damage_is_told_and_neither_used_nor_repaired(
    made: Path, tiny: ModuleType, file: str, damage: str
) -> None:
    DAMAGE[damage](made.with_name(file))
    listing = sorted(made.parent.iterdir())
    with pytest.raises(DataError, match=f"Remove {made.parent}.*make clean-data.*make data"):
        _store.prepare(made.parents[1], tiny.CARD, never)
    assert sorted(made.parent.iterdir()) == listing


@pytest.mark.parametrize("text", ["", "[]", '{"format": 1}', "\udcff"])
def test_a_manifest_that_is_none_is_damage(made: Path, tiny: ModuleType, text: str) -> None:
    made.with_name("manifest.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError, match="tiny: its manifest cannot be read"):
        _store.prepare(made.parents[1], tiny.CARD, never)


@pytest.mark.parametrize("key", ["rows", "sha256", "bytes", "format", "columns", "sources"])
def test_a_manifest_without_a_field_or_with_another_value_is_damage(
    made: Path, tiny: ModuleType, key: str
) -> None:
    path = made.with_name("manifest.json")
    good = json.loads(path.read_text())
    for bad in ({k: v for k, v in good.items() if k != key}, good | {key: "other"}):
        path.write_text(json.dumps(bad))
        with pytest.raises(DataError, match="make data"):
            _store.prepare(made.parents[1], tiny.CARD, never)


def test_a_dataset_made_by_another_version_is_refused(made: Path, tiny: ModuleType) -> None:
    newer = dataclasses.replace(tiny.CARD, sources={"tiny.csv": "1" * 64}, licence="MIT")
    with pytest.raises(DataError, match="licence, sources of another version"):
        _store.prepare(made.parents[1], newer, never)


def fails(error: BaseException) -> Iterator[pa.Table]:
    """Yield a table of other columns, or an error."""
    if isinstance(error, ValueError):
        yield pa.table({"z": [1]})
    else:
        raise error


@pytest.mark.parametrize(
    "error", [DataError("row 7"), KeyboardInterrupt("row 7"), ValueError("schema")]
)
def test_a_build_that_fails_leaves_nothing(
    tmp_path: Path, tiny: ModuleType, error: BaseException
) -> None:
    with pytest.raises(type(error), match=str(error)):
        _store.prepare(tmp_path, tiny.CARD, lambda: chain(tiny.build(), fails(error)))
    assert [path.name for path in tmp_path.iterdir()] == [".tiny.lock"]
    assert _store.prepare(tmp_path, tiny.CARD, tiny.build).is_file()


@pytest.mark.parametrize("where", ["home", "parent", "link"])
def test_something_in_the_way_cannot_be_written_over(
    tmp_path: Path, tiny: ModuleType, where: str
) -> None:
    home = tmp_path / "parent" / "home"
    way = {"home": home, "parent": home.parent, "link": home / "tiny"}
    way[where].parent.mkdir(parents=True, exist_ok=True)
    if where == "link":
        way[where].symlink_to(tmp_path / "nowhere")
    else:
        way[where].write_text("mine")
    with pytest.raises(OutputError, match="another folder with --data-home") as caught:
        _store.prepare(home, tiny.CARD, tiny.build)
    assert str(way[where]) in str(caught.value)
    assert caught.value.exit_code == 73
    assert where == "link" or way[where].read_text() == "mine"


@pytest.mark.slow
def test_killed_at_any_step_it_leaves_nothing_or_the_whole(
    tmp_path: Path, tiny: ModuleType, python
) -> None:
    reference = _store.sha256(_store.prepare(tmp_path / "reference", tiny.CARD, tiny.build))
    code, steps = map(int, python(SCRIPT, tmp_path).stdout.split())
    assert code == 0
    whole, left = 0, 0
    for step in range(1, steps):
        home = tmp_path / str(step)
        left += bool(drafts(home))
        whole += (home / "tiny").exists()
        build = never if (home / "tiny").exists() else tiny.build
        assert _store.sha256(_store.prepare(home, tiny.CARD, build)) == reference
        assert not drafts(home)
    assert left >= 5, "drafts of dead runs were there to remove"
    assert 1 <= whole < steps - 5, "kills fell on both sides of the publication"
