from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from datasets import _store
from datasets.__main__ import main

ROOT = Path(__file__).parents[2]


@pytest.fixture
def start(raw_folder: Path) -> Callable[[Path], subprocess.Popen[str]]:
    """Start making the real dataset, without waiting for it."""

    def popen(home: Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "datasets", "flights", "--data-home", str(home)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    return popen


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    while not condition():
        assert process.poll() is None, "ended before the moment came"
        time.sleep(0.002)


def draft_has(home: Path, size: int) -> bool:
    sizes = [path.stat().st_size for path in home.glob(".flights.tmp/flights.parquet")]
    return any(found >= size for found in sizes)


MOMENTS = {
    "reading": lambda home: any(home.glob(".flights.tmp")),
    "writing": lambda home: draft_has(home, 1_000_000),
}


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


@pytest.mark.parametrize("arguments", [[], ["flights", "--hom"], ["flights", "--pray"]])
def test_wrong_usage_ends_with_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


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


def test_an_interrupt_ends_with_130_and_leaves_nothing(tmp_path: Path, start) -> None:
    process = start(tmp_path)
    wait_for(lambda: MOMENTS["reading"](tmp_path), process)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Traceback" not in told
    assert [path.name for path in tmp_path.iterdir()] == [".flights.lock"]


@pytest.mark.slow
def test_killed_runs_do_no_harm_to_those_that_follow(tmp_path: Path, start, parquet: Path) -> None:
    whole, made = _store.sha256(parquet), tmp_path / "flights" / "flights.parquet"
    for reached in MOMENTS.values():
        process = start(tmp_path)
        wait_for(lambda reached=reached: reached(tmp_path) or made.exists(), process)
        process.kill()
        process.communicate(timeout=300)
        assert not made.parent.exists() or _store.sha256(made) == whole
    first, second = start(tmp_path), start(tmp_path)
    told = [process.communicate(timeout=300) for process in (first, second)]
    assert [process.returncode for process in (first, second)] == [0, 0], told
    assert sum("wrote 327,346 rows" in err for _, err in told) <= 1
    assert _store.sha256(made) == whole
    assert {path.name for path in tmp_path.iterdir()} == {".flights.lock", "flights"}


DATA = [
    "flights/manifest.json", "flights/flights.parquet", ".flights.lock", "raw/higgs/HIGGS.csv.gz",
    "flights/.sizes/50bdb69b95b60956-0.1-seed0.parquet", "flights/.sizes/50bd-0.3-seed0.part",
    "synthetic/binary/_manifest.json", "synthetic/binary/part-0.parquet",
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
    assert len([*(tmp_path / "moved").rglob("*.*")]) == 2
    (tmp_path / "link").symlink_to(elsewhere)
    assert main(["clean", "--data-home", str(tmp_path / "link")]) == 0
    assert sorted(elsewhere.rglob("*")) == before
