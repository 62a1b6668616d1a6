from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from datasets.synthetic import Recipe, rows
from datasets.synthetic.__main__ import main

ROOT = Path(__file__).parents[3]


def start(home: Path) -> subprocess.Popen[str]:
    """Start generating a table, without waiting for it."""
    words = ["--rows", "1000", "--data-home", str(home)]
    return subprocess.Popen(
        [sys.executable, "-m", "datasets.synthetic", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip


def test_of_many_at_once_one_builds_and_all_get_it(tmp_path: Path) -> None:
    told = [each.communicate() for each in [start(tmp_path) for _ in range(3)]]
    (folder,) = (tmp_path / "synthetic").iterdir()
    assert [out for out, _ in told] == [f"{folder / folder.name}.parquet\n"] * 3
    assert sum("wrote 1,000 rows" in said for _, said in told) == 1


def test_the_command_prints_the_file(tmp_path, capsys) -> None:
    words = ["--rows", "1e3", "--columns", "4", "--kind", "regression", "--seed", "7"]
    assert main([*words, "--data-home", str(tmp_path)]) == 0
    expected = rows.table(Recipe("regression", rows=1_000, columns=4, seed=7), 0, 1_000)
    assert pq.read_table(capsys.readouterr().out.strip()).equals(expected)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--rows", "1.5"], "'1.5' is not an integer; pass"),
        (["--rows", "5"], "--rows: 5 is invalid; pass an integer from 100"),
        (["--rwos", "5"], "did you mean '--rows'"),
        (["--kind", "rankin"], "did you mean 'ranking'"),
        (["--seed"], "expected one argument; see `"),
    ],
)
def test_wrong_options_end_with_2(words, told, capsys) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert told in capsys.readouterr().err


def test_damage_ends_with_65(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "synthetic" / Recipe(rows=1_000).name
    folder.mkdir(parents=True)
    assert main(["--rows", "1000", "--data-home", str(tmp_path)]) == 65
    assert f"remove the folder {folder}" in capsys.readouterr().err
