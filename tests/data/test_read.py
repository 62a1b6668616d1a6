"""What the estimate says of a table, beside what the table takes when it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pipeline
from pipeline.data import parquet, partitioned, read
from pipeline.errors import DataError

pytest.importorskip("distributed")
NAMES = ["number", "small", "kind", "text", "y"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=20_000),
            "small": rng.integers(0, 9, 20_000).astype("int8"),
            "kind": pd.Categorical(rng.choice(["a", "b"], 20_000)),
            "text": [f"text number {i}" for i in range(20_000)],
            "y": rng.integers(0, 2, 20_000),
            "unread": rng.normal(size=20_000),
        }
    )
    frame.to_parquet(tmp_path / "table.parquet", row_group_size=2_000)
    return tmp_path / "table.parquet"


def left(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(partitioned, "room", lambda device: size)


def test_the_estimate_is_near_what_the_table_takes(path: Path) -> None:
    X, y = parquet.read(path, NAMES[:-1], "y", (), "cpu")
    table = int(X.memory_usage(index=False, deep=True).sum()) + y.nbytes
    assert pipeline.preflight(path, NAMES).need == pytest.approx(read.TABLES * table, rel=0.3)


def test_a_table_that_fits_is_read_into_memory(path: Path) -> None:
    assert pipeline.preflight(path, NAMES).how == "in memory"
    X, y = pipeline.read(path, NAMES[:-1], "y", rows=[("small", "<", 5)])
    pd.testing.assert_frame_equal(
        X, parquet.read(path, NAMES[:-1], "y", [("small", "<", 5)], "cpu")[0]
    )
    assert len(y) == len(X)


def test_one_that_does_not_comes_in_partitions(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left(monkeypatch, 1_000_000)
    found = pipeline.preflight(path, NAMES)
    assert str(found).startswith("streaming: a fit needs about 0.0 GB and 0.0 GB are free")
    assert found.free == 1_000_000 < found.need
    X, y = pipeline.read(path, NAMES[:-1], "y", rows=[("small", "<", 5)])
    expected = parquet.read(path, NAMES[:-1], "y", [("small", "<", 5)], "cpu")
    made = X.compute().reset_index(drop=True)
    pd.testing.assert_frame_equal(made, expected[0], check_dtype=False)
    np.testing.assert_array_equal(y, expected[1])


def test_a_csv_file_is_judged_by_its_size(path: Path, tmp_path: Path) -> None:
    csv = tmp_path / "table.csv"
    pd.read_parquet(path).to_csv(csv, index=False)
    assert pipeline.preflight(csv, NAMES).need == read.TABLES * csv.stat().st_size
    X, _ = pipeline.read(csv, ["number"], "y")
    np.testing.assert_allclose(X["number"], pd.read_csv(csv)["number"])


def test_inside_a_cluster_its_workers_read(path: Path) -> None:
    with pipeline.cluster("local", workers=1, memory_limit="2GB"):
        found = pipeline.preflight(path, NAMES)
    assert (found.how, found.free) == ("cluster", 2_000_000_000)
    assert str(found).endswith("the workers have 2.0 GB")


@pytest.mark.parametrize(("name", "why"), [("table.parquet", "no column 'z'"), ("no", "no such")])
def test_what_cannot_be_read_is_told(path: Path, name: str, why: str) -> None:
    with pytest.raises(DataError, match=why):
        pipeline.preflight(path.with_name(name), ["z"])


def test_a_run_streams_where_the_table_does_not_fit(
    small_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.commands import call

    room: dict[str, Any] = {"cpu": 400_000}
    monkeypatch.setattr(partitioned, "room", lambda device: room[device])
    done = call(
        *(
            "run",
            "flights",
            "--pipelines",
            "boosting",
            "--device",
            "cpu",
            "--data-home",
            small_home,
        ),
        *("--out", tmp_path / "run", "--checkpoint", tmp_path / "trees"),
    )
    assert done.code == 0, done.err
    assert "boosting: streaming: a fit needs about" in done.out
    note = (tmp_path / "run" / "record.json").read_text()
    assert "external memory:" in note
    assert not list((tmp_path / "trees").rglob("*.ubj"))
