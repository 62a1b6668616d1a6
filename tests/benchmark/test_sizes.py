from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.benchmark.compare import Comparison, cut
from pipeline.benchmark.record.results import Results
from pipeline.benchmark.run import rounds, variants
from pipeline.benchmark.run.resume import FinishedRuns
from pipeline.task.task import Job
from tasks.flights import TASK
from tests.benchmark.test_compare import FakeWorker
from tests.commands import assert_one_message, call, parse


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a file of three row groups, with numbers and two dictionaries."""
    path = tmp_path / "table.parquet"
    frame = pa.table({
        "number": np.arange(30_000),
        "word": pa.array([f"w{n // 10_000}-{n % 7}" for n in range(30_000)]).dictionary_encode(),
    })  # fmt: skip
    pq.write_table(frame, path, row_group_size=10_000)
    return path


def test_sizes_are_shares_of_the_rows() -> None:
    assert parse("compare", "flights", "--sizes", "1.0, 0.1,0.3,0.1")["sizes"] == [0.1, 0.3, 1.0]
    for text in ("0", "-1", "a", "0.1;0.2", "nan", "5000"):
        done = call("compare", "flights", f"--sizes={text}")
        assert_one_message(done, 2, f"--sizes {text}: not a list of shares above 0 and up to 1")


def test_a_share_of_the_rows_is_drawn_in_order(table: Path, tmp_path: Path) -> None:
    made = cut(table, 0.3, 0)
    found, before = pq.read_table(made), made.stat().st_mtime_ns
    numbers = found["number"].to_numpy()
    assert len(numbers) == pytest.approx(9_000, rel=0.05)
    assert (np.diff(numbers) > 0).all()
    assert found["word"].to_pylist() == [f"w{n // 10_000}-{n % 7}" for n in numbers]
    assert set(pq.read_table(cut(table, 0.1, 0))["number"].to_numpy()) < set(numbers)
    assert pq.read_table(cut(table, 0.3, 1))["number"].to_pylist() != numbers.tolist()
    assert cut(table, 0.3, 0).stat().st_mtime_ns == before, "it is written once"
    assert pq.read_schema(made) == pq.read_schema(table)
    assert pq.read_metadata(made).row_group(0).num_rows == len(numbers)
    whole, folder = pq.read_table(table), tmp_path / "parts"
    folder.mkdir()
    for part in range(3):
        pq.write_table(whole.slice(10_000 * part, 10_000), folder / f"part-{part}.parquet")
    assert pq.read_table(cut(folder, 0.3, 0))["number"].to_pylist() == numbers.tolist()


@pytest.fixture
def swept(
    monkeypatch: pytest.MonkeyPatch, small_flights: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Results]:
    """Measure with fake workers; those of a variant fail at the size 0.5."""
    monkeypatch.setattr(variants, "available", lambda package: False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")

    def run(fails: str, *sizes: float) -> Results:
        class Small(FakeWorker):
            def run(self, seed: int | None = None) -> Any:
                small = "-0.5-" in self.job.path.name
                FakeWorker.failures = {f"forest/{fails}": 2} if small else {}
                return super().run(seed)

        monkeypatch.setattr(rounds, "WorkerProcess", Small)
        job, lines = Job("flights", "", "", small_flights), list[str]()
        asked = Comparison(TASK, job, ["forest"], repeats=3, seeds=0, sizes=sizes)
        found = asked.measure(
            lines.append, FinishedRuns(tmp_path_factory.mktemp("runs") / "runs", {})
        )
        assert fails or len(lines) == asked.runs
        return found

    return run


def test_every_size_has_all_runs_of_all_variants(swept: Callable[..., Results]) -> None:
    points = swept("", 0.1, 0.5, 1.0).points
    assert [(p.size, p.variant, p.status, len(p.runs)) for p in points] == [
        (size, variant, "ok", 3) for size in (0.1, 0.5) for variant in ("reference", "cpu")
    ]
    assert points[0].rows_train == 9


@pytest.mark.parametrize(("fails", "left"), [("cpu", ["reference"]), ("reference", [])])
def test_what_fails_at_a_size_is_not_tried_at_larger_ones(
    swept: Callable[..., Results], fails: str, left: list[str]
) -> None:
    found = {(p.size, p.variant): p for p in swept(fails, 0.1, 0.5, 0.7).points}
    assert (found[0.5, fails].status, found[0.5, fails].runs) == ("failed", [])
    assert [variant for size, variant in found if size == 0.7] == left
