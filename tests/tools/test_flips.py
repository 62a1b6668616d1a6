from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.errors import DataError
from tools import flips

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    flips.prepare(folder)
    return folder


def test_every_stored_file_gets_flips(home: Path, tmp_path: Path) -> None:
    found = {f"{folder.name}/{name}" for folder, name in flips.folders(home, tmp_path)}
    assert {"boosting/step-0.ubj", "forest/step-0.skops", "rows/rows.parquet"} < found
    assert {f"forest/{name}" for name in ("SHA256SUMS", "state.json", "arrays.npz")} < found


@pytest.mark.parametrize("name", ["step-0.ubj", "rows.parquet"])
def test_no_flip_crashes_or_changes_an_answer(home: Path, tmp_path: Path, name: str) -> None:
    (folder,) = (f for f, file in flips.folders(home, tmp_path) if file == name)
    found = flips.flips(folder, name, 25)
    assert set(found) <= {flips.REFUSED, flips.SAME}
    assert found.total() == 25
    assert found[flips.REFUSED] > 12


def test_what_comes_of_a_flip_is_told_apart(tmp_path: Path) -> None:
    wanted = np.arange(3.0)

    def raising(error: Exception) -> Any:
        def answer(folder: Path) -> Any:
            raise error

        return answer

    assert flips.outcome(lambda _: wanted, tmp_path, wanted) == flips.SAME
    assert flips.outcome(lambda _: wanted + 1, tmp_path, wanted) == flips.WRONG
    assert flips.outcome(lambda _: wanted[:2], tmp_path, wanted) == flips.WRONG
    assert flips.outcome(raising(DataError("no")), tmp_path, wanted) == flips.REFUSED
    assert flips.outcome(raising(KeyError("x")), tmp_path, wanted) == "CRASH: KeyError"


def test_one_bit_is_flipped_and_it_is_another_one_each_time(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(100))
    seen = set()
    for seed in range(5):
        assert flips.flip(path, seed) == bytes(100)
        assert sum(byte.bit_count() for byte in path.read_bytes()) == 1
        seen.add(path.read_bytes())
        path.write_bytes(bytes(100))
    assert len(seen) > 1
