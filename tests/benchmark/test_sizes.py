from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.benchmark.compare import Comparison, cut, parse
from pipeline.benchmark.record.results import Point, Results
from pipeline.benchmark.run import rounds, variants
from pipeline.benchmark.run.live import Watch
from pipeline.errors import ConfigError, OutputError
from pipeline.task.task import Job
from tasks.flights import TASK
from tests.benchmark.test_compare import FakeWorker


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a file of three row groups, with numbers and two dictionaries."""
    path = tmp_path / "table.parquet"
    frame = pa.table({
        "number": np.arange(30_000),
        "word": pa.array([f"w{n // 10_000}-{n % 7}" for n in range(30_000)]).dictionary_encode(),
    })  # fmt: skip
    pq.write_table(frame, path, row_group_size=10_000, compression="zstd")
    return path


@pytest.mark.parametrize("text", ["0", "-1", "a", "0.1;0.2", "nan", "inf", "1.5"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is no size; give shares of the rows"):
        parse(text)


def test_numbers_of_rows_are_sizes() -> None:
    assert parse("1e6,0.5,1e5") == (0.5, 1e5, 1e6)


def test_a_share_of_the_rows_is_drawn_in_order(table: Path) -> None:
    found = pq.read_table(cut(table, 0.3, 0))
    numbers = found["number"].to_numpy()
    assert len(numbers) == pytest.approx(9_000, rel=0.05)
    assert (np.diff(numbers) > 0).all()
    words = found["word"].to_pylist()
    assert words == [f"w{n // 10_000}-{n % 7}" for n in numbers]


def test_a_folder_of_files_is_cut_like_one_file(table: Path, tmp_path: Path) -> None:
    whole, folder = pq.read_table(table), tmp_path / "parts"
    folder.mkdir()
    for part in range(3):
        pq.write_table(whole.slice(10_000 * part, 10_000), folder / f"part-{part}.parquet")
    made, one = pq.read_table(cut(folder, 0.3, 0)), pq.read_table(cut(table, 0.3, 0))
    assert made["number"].to_pylist() == one["number"].to_pylist()
    assert made["word"].to_pylist() == one["word"].to_pylist()


def test_smaller_shares_are_among_larger_ones(table: Path) -> None:
    small, large = (set(pq.read_table(cut(table, s, 0))["number"].to_pylist()) for s in (0.1, 0.3))
    assert small < large
    other = set(pq.read_table(cut(table, 0.1, 1))["number"].to_pylist())
    assert other != small


def test_the_form_of_the_file_is_kept(table: Path) -> None:
    made, given = pq.ParquetFile(cut(table, 0.5, 0)), pq.ParquetFile(table)
    assert made.schema_arrow == given.schema_arrow
    assert made.metadata.row_group(0).num_rows == 10_000
    assert made.metadata.row_group(0).column(0).compression == "ZSTD"


def test_the_whole_is_the_file_itself_and_a_share_is_written_once(table: Path) -> None:
    assert cut(table, 1.0, 0) == table
    made = cut(table, 0.2, 0)
    before = made.stat().st_mtime_ns
    assert cut(table, 0.2, 0).stat().st_mtime_ns == before
    assert [path.name for path in made.parent.iterdir()] == [made.name]


def test_a_folder_that_cannot_be_written_is_told(table: Path) -> None:
    (table.parent / ".sizes").write_text("in the way")
    with pytest.raises(OutputError, match="--sizes needs room there"):
        cut(table, 0.2, 0)


@pytest.fixture
def swept(monkeypatch: pytest.MonkeyPatch, small_flights: Path) -> Callable[..., Results]:
    """Measure with fake workers; `failures` maps a cell to the run that fails in it."""
    monkeypatch.setattr(rounds, "WorkerProcess", FakeWorker)
    monkeypatch.setattr(variants, "available", lambda package: False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")

    def run(failures: dict[str, int], sizes: tuple[float, ...], task: Any = TASK) -> Results:
        monkeypatch.setattr(FakeWorker, "failures", failures)
        job = Job("flights", "", "", small_flights)
        comparison = Comparison(task, job, ["forest"], repeats=3, seeds=0, sizes=sizes)
        watch = Watch(str)
        found = comparison.measure(watch)
        assert watch.done == watch.total
        return found

    return run


def test_every_size_has_all_runs_of_all_variants(swept: Callable[..., Results]) -> None:
    points = swept({}, (0.1, 0.5, 1.0)).points
    assert [(p.size, p.variant, p.status, len(p.runs)) for p in points] == [
        (0.1, "reference", "ok", 3),
        (0.1, "cpu", "ok", 3),
        (0.5, "reference", "ok", 3),
        (0.5, "cpu", "ok", 3),
    ]


@pytest.mark.parametrize(("fails", "left"), [("cpu", ["reference"]), ("reference", [])])
def test_what_fails_at_a_size_is_not_tried_at_larger_ones(
    swept: Callable[..., Results], monkeypatch: pytest.MonkeyPatch, fails: str, left: list[str]
) -> None:
    class Small(FakeWorker):
        def run(self, seed: int | None = None, *, explain: bool = False) -> Any:
            FakeWorker.failures = {f"forest/{fails}": 2} if "-0.5-" in self.job.path.name else {}
            return super().run(seed)

    monkeypatch.setattr(rounds, "WorkerProcess", Small)
    found = {(p.size, p.variant): p for p in swept({}, (0.1, 0.5, 0.7)).points}
    assert (found[0.5, fails].status, found[0.5, fails].runs) == ("failed", [])
    assert [variant for size, variant in found if size == 0.7] == left


def test_rows_are_asked_of_a_task_whose_table_is_generated(
    swept: Callable[..., Results], small_flights: Path
) -> None:
    with pytest.raises(ConfigError, match="--sizes 5000: flights has the rows it has"):
        swept({}, (5000.0,))
    asked = []

    def prepare(home: Path, given: Path | None = None, *, rows: int = 100) -> Path:
        asked.append((home, rows))
        return small_flights

    point = swept({}, (5000.0,), replace(TASK, prepare=prepare)).points[0]
    assert asked == [(small_flights.parents[1], 5000)]
    assert isinstance(point, Point)
    assert point.size == 5000.0
