from __future__ import annotations

import signal
import subprocess
import sys
import time
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


def test_what_is_there_is_told_with_its_path_alone_on_stdout(parquet: Path, python) -> None:
    done = python("-m", "datasets", "flights", "--data-home", parquet.parents[1])
    assert (done.returncode, done.stdout) == (0, f"{parquet}\n")
    assert done.stderr == "flights: complete and intact\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["fligths"], "did you mean 'flights'"),
        (["errors"], "known: airline, "),
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
    assert "make clean-data" in capsys.readouterr().err


@pytest.mark.slow
def test_no_room_ends_with_73_and_leaves_nothing(tmp_path: Path, python) -> None:
    limited = (
        "import resource, sys; from datasets.__main__ import main;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (9_999, 9_999));"
        "sys.exit(main(sys.argv[1:]))"
    )
    done = python("-c", limited, "breast_cancer", "--data-home", tmp_path)
    assert done.returncode == 73, done.stderr
    assert "cannot write: File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [".breast_cancer.lock"]


def test_an_interrupt_ends_with_130_and_leaves_nothing(tmp_path: Path, raw_folder: Path) -> None:
    process = start(tmp_path, "flights")
    while not any(tmp_path.glob(".flights.tmp")):
        assert process.poll() is None, "ended before the moment came"
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Traceback" not in told
    assert [path.name for path in tmp_path.iterdir()] == [".flights.lock"]


def test_of_many_at_once_one_builds_and_all_get_it(tmp_path: Path) -> None:
    told = [each.communicate() for each in [start(tmp_path, "digits") for _ in range(3)]]
    assert [out for out, _ in told] == [f"{tmp_path}/digits/digits.parquet\n"] * 3
    assert sum("wrote 1,797 rows" in said for _, said in told) == 1
    assert {path.name for path in tmp_path.iterdir()} == {".digits.lock", "digits"}


DATA = [
    "flights/manifest.json", "flights/flights.parquet", ".flights.lock", "raw/higgs/HIGGS.csv.gz",
    "flights/.sizes/50bdb69b95b60956-0.1-seed0.parquet", "flights/.sizes/50bd-0.3-seed0.part",
    "synthetic/binary/manifest.json", "synthetic/binary/binary.parquet", "synthetic/.binary.lock",
]  # fmt: skip
FOREIGN = [
    "mine.csv", "flights/notes.txt", "flights/.sizes/notes.txt", "other/other.parquet",
    "part-1.parquet", "flights/part-1.parquet",
]  # fmt: skip


def write(home: Path, names: list[str]) -> None:
    for name in names:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("mine")


def test_clean_removes_datasets_and_nothing_else(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    write(home, DATA)
    assert main(["clean", "--data-home", str(home)]) == 0
    assert not home.exists()
    assert main(["clean", "--data-home", str(home)]) == 0
    write(home, [*DATA, *FOREIGN])
    write(elsewhere, [*DATA, "manifest.json", "linked.parquet"])
    before = sorted(elsewhere.rglob("*"))
    (home / "linked").symlink_to(elsewhere)
    (home / "synthetic").rename(tmp_path / "moved")
    (home / "synthetic").symlink_to(tmp_path / "moved")
    assert main(["clean", "--data-home", str(home)]) == 0
    left = {str(file.relative_to(home)) for file in home.rglob("*") if file.is_file()}
    assert {name for name in left if not name.startswith(("linked", "synthetic"))} == {*FOREIGN}
    assert len([*(tmp_path / "moved").rglob("*.*")]) == 3
    (tmp_path / "link").symlink_to(elsewhere)
    assert main(["clean", "--data-home", str(tmp_path / "link")]) == 0
    assert sorted(elsewhere.rglob("*")) == before
