from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from datasets.__main__ import main

ROOT = Path(__file__).parents[2]


def start(home: Path, name: str) -> subprocess.Popen[str]:
    """Start making a dataset, without waiting for it."""
    return subprocess.Popen(
        [sys.executable, "-m", "datasets", name, "--data-home", str(home)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["fligths"], "did you mean 'flights'"),
        (["errors"], "unknown dataset 'errors'; choose from: airline, "),
    ],
)
def test_an_unknown_dataset_ends_with_2(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert told in capsys.readouterr().err


def test_damage_ends_with_65(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "flights").mkdir()
    assert main(["flights", "--data-home", str(tmp_path)]) == 65
    assert f"remove the folder {tmp_path}/flights" in capsys.readouterr().err


def test_of_many_at_once_one_builds_and_all_get_it(tmp_path: Path) -> None:
    told = [each.communicate() for each in [start(tmp_path, "digits") for _ in range(3)]]
    assert [out for out, _ in told] == [f"{tmp_path}/digits/digits.parquet\n"] * 3
    assert sum("wrote 1,797 rows" in said for _, said in told) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"digits"}
