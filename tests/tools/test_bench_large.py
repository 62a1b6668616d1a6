from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pipeline
from datasets.synthetic import Recipe, prepare
from tools.bench import large

pytestmark = pytest.mark.slow

MIB = 2**20
ROOM = 192 * MIB
ROWS, NUMBERS = 800_000, 40


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of as many bytes as the room that is left to a process, in small row groups."""
    folder = tmp_path_factory.mktemp("wide")
    random = np.random.default_rng(0)
    columns = {f"n{j}": random.random(ROWS, dtype="float32") for j in range(NUMBERS)}
    codes = pa.array(random.integers(0, 3, ROWS, dtype="int32"))
    columns["kind"] = pa.DictionaryArray.from_arrays(codes, ["a", "b", "c"])
    columns["target"] = (columns["n0"] + columns["n1"] > 1).astype("int8")
    pq.write_table(pa.table(columns), folder / "rows.parquet", row_group_size=20_000)
    return folder


def job(way: large.Way, folder: Path, model: Path, **options: int) -> large.Job:
    return large.Job(
        way=way,
        folder=str(folder),
        model=str(model),
        numbers=[f"n{j}" for j in range(NUMBERS)],
        categories=["kind"],
        trees=2,
        **options,
    )


def test_a_fit_from_the_disk_holds_to_a_limit_that_ends_the_one_in_memory(
    wide: Path, tmp_path: Path
) -> None:
    stream = large.run(job("stream", wide, tmp_path / "stream", room_bytes=ROOM))
    assert stream.error == ""
    assert stream.note.startswith("external memory")
    assert stream.limit_bytes > ROOM
    # The limit counts no files that are mapped, as libraries are; what is resident does.
    assert 0 < stream.peak_bytes - stream.start_bytes < ROOM
    assert pipeline.load(tmp_path / "stream", "cpu").n_features_in_ == NUMBERS + 1
    memory = large.run(job("memory", wide, tmp_path / "memory", room_bytes=ROOM))
    # A thread of Arrow's own that gets no memory aborts the process before it can be told.
    told = "OutOfMemory: input: the memory of the machine ran out in read"
    assert memory.error.startswith((told, "the process ended with -6: "))
    assert not (tmp_path / "memory").exists()


def test_fits_of_a_small_table_are_told_apart(tmp_path: Path) -> None:
    recipe = Recipe(rows=3_000, columns=12)
    folder = prepare(tmp_path, recipe, 2)
    fits = {}
    for way in ("memory", "stream"):
        fits[way] = large.run(large.job(way, recipe, folder, tmp_path / way, trees=3))
        assert fits[way].error == ""
        assert large.auc(tmp_path / way, recipe, 1_000) > 0.6
        assert sum(fits[way].parts.values()) <= fits[way].seconds
        assert 0 < fits[way].start_bytes < fits[way].peak_bytes
    assert "gather" in fits["stream"].parts
    assert "gather" not in fits["memory"].parts


def test_the_bytes_are_those_of_the_columns_that_are_read(wide: Path) -> None:
    assert large.arrow_bytes(wide, ["n0"]) == pytest.approx(4 * ROWS, rel=0.05)
    assert large.arrow_bytes(wide, ["n0", "kind"]) == pytest.approx(8 * ROWS, rel=0.05)


def test_a_process_that_dies_is_told(tmp_path: Path) -> None:
    found = large.run(job("stream", tmp_path, tmp_path / "model", limit_bytes=30 * MIB))
    assert found.error.startswith("the process ended with ")
    assert found.peak_bytes == 0


def test_missing_files_are_the_error_of_the_fit(tmp_path: Path) -> None:
    found = large.run(job("stream", tmp_path / "none", tmp_path / "model"))
    assert found.error.startswith("DataError: ")
    assert "none" in found.error
