"""On disk: the same rows in any number of files, whole or not at all, gone on with."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from functools import cache
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from datasets import _store
from datasets.__main__ import main
from datasets.errors import DataError, OutputError
from datasets.synthetic import Recipe, best, files, prepare
from datasets.synthetic.rows import table

ROOT = Path(__file__).parents[3]
RECIPE = Recipe("ranking", rows=12_850, columns=11)


ESTIMATED = cache(files.best)


@pytest.fixture(autouse=True)
def estimated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best score, which every manifest names, takes most of the time."""
    monkeypatch.setattr(files, "best", ESTIMATED)


def parts(folder: Path) -> dict[str, str]:
    return {path.name: _store.sha256(path) for path in sorted(folder.glob("part-*.parquet"))}


@pytest.mark.quick(1)
@pytest.mark.parametrize("partitions", [1, 7, 64])
def test_the_rows_are_the_same_in_any_number_of_files(tmp_path, partitions) -> None:
    folder = prepare(tmp_path, RECIPE, partitions)
    assert list(parts(folder)) == [f"part-{k:05d}.parquet" for k in range(partitions)]
    read = pq.read_table(folder, page_checksum_verification=True)
    assert read.combine_chunks().equals(table(RECIPE, 0, RECIPE.rows).combine_chunks())


def test_the_manifest_tells_what_is_there(tmp_path) -> None:
    folder = prepare(tmp_path, RECIPE, 3)
    told = json.loads((folder / "_manifest.json").read_text())
    assert told["files"] == parts(folder)
    assert told["recipe"]["rows"] == told["rows"] == RECIPE.rows
    assert told["best"] == best(RECIPE)
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
    with pytest.raises(DataError, match="Remove .*, then make it anew"):
        prepare(tmp_path, RECIPE, 2)


def test_no_room_is_told_before_a_row_is_written(tmp_path, monkeypatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**6, 0, 10**6))
    with pytest.raises(OutputError, match=r"needs about 1\d\d\.\d GB, and 0\.0 GB are free"):
        prepare(tmp_path, Recipe(rows=10**9))
    assert not list(tmp_path.rglob("part-*"))


def test_a_failure_keeps_the_finished_files_and_the_next_run_goes_on(
    tmp_path, monkeypatch, caplog
) -> None:
    caplog.set_level("INFO", "datasets")
    write = files._write_part

    def fails_late(path: Path, *rest: object) -> None:
        if path.name == "part-00005.parquet":
            raise OSError(28, "No space left on device", str(path))
        write(path, *rest)

    monkeypatch.setattr(files, "_write_part", fails_late)
    with pytest.raises(OutputError, match="No space left on device"):
        prepare(tmp_path, RECIPE, 6)
    monkeypatch.undo()
    (draft,) = (tmp_path / "synthetic").glob(".*.draft")
    kept = parts(draft)
    assert kept
    assert not [path for path in (tmp_path / "synthetic").iterdir() if path.name[0] != "."]
    folder = prepare(tmp_path, RECIPE, 6)
    assert f"going on after {len(kept)} of 6 files" in caplog.text
    assert parts(folder) == parts(prepare(tmp_path / "other", RECIPE, 6))
    assert not draft.exists()


def test_a_draft_of_another_version_is_not_gone_on_with(tmp_path, caplog) -> None:
    caplog.set_level("INFO", "datasets")
    folder = prepare(tmp_path, RECIPE, 2)
    draft = folder.with_name(f".{folder.name}.draft")
    folder.rename(draft)
    (draft / "_recipe.json").write_text("{}")
    assert prepare(tmp_path, RECIPE, 2) == folder
    assert "going on" not in caplog.text


WORDS = ["synthetic", "--rows", "600000", "--columns", "12", "--partitions", "60"]


def begun(home: Path) -> subprocess.Popen[str]:
    """Return a run that has written three files of sixty."""
    process = subprocess.Popen(
        [sys.executable, "-m", "datasets", *WORDS, "--data-home", str(home)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    while len(list(home.rglob("part-*.parquet"))) < 3:
        assert process.poll() is None, "ended before the moment came"
        time.sleep(0.002)
    return process


@pytest.mark.slow
def test_of_two_runs_at_once_the_second_waits_and_writes_nothing(tmp_path) -> None:
    process = begun(tmp_path)
    assert main([*WORDS, "--data-home", str(tmp_path)]) == 0
    (folder,) = (tmp_path / "synthetic").glob("binary-*")
    written = {path.name: path.stat().st_ino for path in folder.iterdir()}
    _, told = process.communicate(timeout=300)
    assert (process.returncode, "Traceback" in told) == (0, False)
    assert {path.name: path.stat().st_ino for path in folder.iterdir()} == written
    assert len(parts(folder)) == 60


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_stopped_is_gone_on_with(tmp_path, end) -> None:
    process = begun(tmp_path)
    process.send_signal(end)
    _, told = process.communicate(timeout=300)
    assert process.returncode == (130 if end == signal.SIGINT else -signal.SIGKILL)
    assert "Traceback" not in told
    kept = {path.name: path.stat().st_ino for path in tmp_path.rglob("part-*.parquet")}
    assert 3 <= len(kept) < 60
    assert main([*WORDS, "--data-home", str(tmp_path)]) == 0
    (folder,) = (tmp_path / "synthetic").glob("binary-*")
    assert {name: (folder / name).stat().st_ino for name in kept} == kept
    assert len(parts(folder)) == 60


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
