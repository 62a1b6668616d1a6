"""On disk: the same rows in any number of files, whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from datasets import _store
from datasets.__main__ import main
from datasets.errors import DataError, OutputError
from datasets.synthetic import Recipe, files, prepare
from datasets.synthetic.rows import table

RECIPE = Recipe("ranking", rows=12_850, columns=11)


@pytest.mark.quick(1)
@pytest.mark.parametrize("partitions", [1, 7, 64])
def test_the_rows_are_the_same_in_any_number_of_files(tmp_path, partitions) -> None:
    folder = prepare(tmp_path, RECIPE, partitions)
    parts = {path.name: _store.sha256(path) for path in sorted(folder.glob("part-*.parquet"))}
    assert list(parts) == [f"part-{k:05d}.parquet" for k in range(partitions)]
    read = pq.read_table(folder, page_checksum_verification=True)
    assert read.combine_chunks().equals(table(RECIPE, 0, RECIPE.rows).combine_chunks())
    told = json.loads((folder / "_manifest.json").read_text())
    assert told["files"] == parts
    assert told["recipe"]["rows"] == told["rows"] == RECIPE.rows
    assert list(told["columns"]) == list(RECIPE.schema())


def test_what_is_there_is_not_written_again(tmp_path) -> None:
    folder = prepare(tmp_path, RECIPE, 2)
    before = (folder / "part-00000.parquet").stat().st_mtime_ns
    assert prepare(tmp_path, RECIPE, 2) == folder
    assert (folder / "part-00000.parquet").stat().st_mtime_ns == before


def test_row_groups_hold_no_more_than_they_may(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(files, "GROUP_ROWS", 1_000)
    path = prepare(tmp_path, RECIPE, 1) / "part-00000.parquet"
    file = pq.ParquetFile(path)
    sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert sizes == [1_000] * 12 + [850]
    assert file.read().equals(table(RECIPE, 0, RECIPE.rows))


@pytest.mark.parametrize("damage", ["changed", "gone", "manifest", "version"])
def test_damage_is_told_and_not_repaired(tmp_path, damage) -> None:
    folder = prepare(tmp_path, RECIPE, 2)
    part, manifest = folder / "part-00001.parquet", folder / "_manifest.json"
    {
        "changed": lambda: part.write_bytes(part.read_bytes()[:-9] + b"x" * 9),
        "gone": part.unlink,
        "manifest": lambda: manifest.write_text("[]"),
        "version": lambda: manifest.write_text(
            manifest.read_text().replace('"version": 1', '"version": 0')
        ),
    }[damage]()
    with pytest.raises(DataError, match=f"Remove {folder} "):
        prepare(tmp_path, RECIPE, 2)


def test_a_failure_leaves_nothing_that_is_taken_for_the_table(tmp_path, monkeypatch) -> None:
    write = _store.write_parquet

    def fails_late(path: Path, *rest: object, **options: object) -> int:
        if path.name == "part-00005.parquet":
            raise OSError(28, "No space left on device", str(path))
        return write(path, *rest, **options)

    monkeypatch.setattr(_store, "write_parquet", fails_late)
    with pytest.raises(OutputError, match="No space left on device"):
        prepare(tmp_path, RECIPE, 6)
    assert all(path.suffix == ".lock" for path in (tmp_path / "synthetic").iterdir())
    monkeypatch.undo()
    assert len(list(prepare(tmp_path, RECIPE, 6).glob("part-*"))) == 6


def test_the_command_prints_the_folder(tmp_path, capsys) -> None:
    words = ["--rows", "1e3", "--columns", "4", "--kind", "regression", "--seed", "7"]
    assert main(["synthetic", *words, "--data-home", str(tmp_path)]) == 0
    folder = Path(capsys.readouterr().out.strip())
    expected = table(Recipe("regression", rows=1_000, columns=4, seed=7), 0, 1_000)
    assert pq.read_table(folder).equals(expected)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["synthetic", "--rows", "1.5"], "'1.5' is not a whole number"),
        (["synthetic", "--rows", "nan"], "'nan' is not a whole number"),
        (["synthetic", "--rows", "inf"], "'inf' is not a whole number"),
        (["synthetic", "--rows", "5"], "--rows: 5 is not a whole number from 100"),
        (["synthetic", "--partitions", "0"], "--partitions: 0"),
        (["synthetic", "--kind", "binry"], "invalid choice: 'binry'"),
        (["flights", "--rows", "1e6"], "--rows: for synthetic alone"),
    ],
)
def test_wrong_options_end_with_2(words, told, capsys) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert told in capsys.readouterr().err
