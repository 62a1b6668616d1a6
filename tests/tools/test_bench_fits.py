"""Fits in processes of their own, with limits, and what is said of them; on small tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pipeline
from pipeline.benchmark.worker import WorkerGone
from pipeline.errors import PipelineError
from tests.tools.bench_records import cell, results
from tools.bench import apart, claim, fits, growth, record, report
from tools.bench.claim import Ask

MIB = 2**20
ROOM = 192 * MIB
ROWS, NUMBERS = 800_000, 40
SMALL = {"rows": (3_000,), "columns": (12,), "trees": (3,), "held_out": (1_000,)}


# Processes.


class Told(msgspec.Struct, frozen=True):
    """What a process is told."""

    text: str = ""


def answer(job: Told) -> record.Report:
    print("a line that is no answer")
    np.ones(64 * MIB, dtype="uint8")
    peak = {"peak": apart.peak(), "now": apart.resident()}
    return record.Report(run=record.Run(seconds={}, bytes=peak, note=job.text))


def die(job: Told) -> record.Report:
    raise SystemExit(job.text)


@pytest.mark.slow
def test_work_apart_sends_back_what_it_returns_and_says_how_it_ends() -> None:
    made = apart.apart(answer, Told("é"))
    assert made.run.note == "é"
    assert made.run.bytes["peak"] - made.run.bytes["now"] > 32 * MIB
    with pytest.raises(WorkerGone, match="the process ended with 1: no luck"):
        apart.apart(die, Told("no luck"))
    with pytest.raises(WorkerGone, match="the process ended with "):
        apart.apart(answer, Told(), limit_bytes=30 * MIB)


@pytest.mark.skipif(apart.resident() == 0, reason="the system does not tell")
def test_a_peak_is_seen_though_the_memory_is_given_back() -> None:
    covers = apart.reset_peak()
    before = apart.resident()
    np.ones(64 * MIB, dtype=np.uint8)
    assert apart.peak() - before > 56 * MIB
    assert apart.resident() - before < 32 * MIB
    if covers == "each phase":
        apart.reset_peak()
        assert apart.peak() - before < 32 * MIB


# Fits.


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


def job(way: fits.Way, folder: Path, model: Path, **options: int) -> fits.Job:
    numbers = [f"n{j}" for j in range(NUMBERS)]
    return fits.Job(
        way=way, folder=str(folder), model=str(model), numbers=numbers, categories=["kind"],
        trees=2, **options,
    )  # fmt: skip


@pytest.mark.slow
def test_a_fit_from_the_disk_holds_to_a_limit_that_ends_the_one_in_memory(
    wide: Path, tmp_path: Path
) -> None:
    stream = fits.run_apart(job("stream", wide, tmp_path / "stream", room_bytes=ROOM)).run
    assert stream.why == ""
    assert stream.note.startswith("external memory")
    assert stream.bytes["limit"] > ROOM
    # The limit counts no files that are mapped, as libraries are; what is resident does.
    assert 0 < stream.bytes["peak"] - stream.bytes["start"] < ROOM
    assert pipeline.load(tmp_path / "stream", "cpu").n_features_in_ == NUMBERS + 1
    memory = fits.run_apart(job("memory", wide, tmp_path / "memory", room_bytes=ROOM)).run
    # A thread of Arrow's own that gets no memory aborts the process before it can be told.
    told = "OutOfMemory: input: the memory of the machine ran out in read"
    assert memory.why.startswith((told, "the process ended with -6: "))
    assert not (tmp_path / "memory").exists()


def test_the_bytes_are_those_of_the_columns_that_are_read(wide: Path) -> None:
    assert fits.arrow_bytes(wide, ["n0"]) == pytest.approx(4 * ROWS, rel=0.05)
    assert fits.arrow_bytes(wide, ["n0", "kind"]) == pytest.approx(8 * ROWS, rel=0.05)


@pytest.mark.slow
def test_missing_files_and_a_limit_that_is_too_low_are_the_end_of_a_fit(tmp_path: Path) -> None:
    found = fits.run_apart(job("stream", tmp_path / "none", tmp_path / "model")).run
    assert found.why.startswith("DataError: ")
    assert "none" in found.why
    dead = fits.run_apart(job("stream", tmp_path, tmp_path / "model", limit_bytes=30 * MIB)).run
    assert dead.why.startswith("the process ended with ")
    assert (dead.bytes, dead.seconds["fit"] > 0) == ({"limit": 30 * MIB}, True)


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits are made here, without their limits; one in memory with a hard limit fails."""

    def run(asked: fits.Job) -> record.Report:
        made = fits.fit(msgspec.structs.replace(asked, room_bytes=0, limit_bytes=0)).run
        if asked.way == "memory" and asked.limit_bytes:
            made = msgspec.structs.replace(made, why="OutOfMemory: told")
        return record.Report(run=made)

    monkeypatch.setattr(fits, "run_apart", run)


def measured(which: claim.Claim, home: Path, repeats: int = 1, **settings: Any) -> record.Results:
    return claim.measure("a claim", which, Ask(settings=settings, repeats=repeats, home=home))


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_streaming_is_compared_and_held_to_a_limit(tmp_path: Path) -> None:
    tight = {"limit_rows": (3_000,), "limit_columns": (14,), "limit_trees": (2,)}
    rest = {"limit_bins": (32,), "limit_mib": (900,)}
    found = measured(fits.STREAMING, tmp_path, 2, **SMALL, **tight, **rest)
    assert [len(c.runs) for c in found.cells] == [2, 2, 1, 1, 1]
    assert [case.facts["read"] for case in found.cases] == [10, 12]
    assert found.case("limit").facts["limit"] == 900 * MIB
    text = fits.STREAMING.part(found)
    assert "| in memory, with the limit | " in text
    assert " | – | `OutOfMemory: told` |" in text
    assert all(c.values["auc"] > 0.6 for c in found.cells if c.ok)
    stream = found.cell("times", "stream")
    for run in stream.runs:
        assert sum(run.seconds.values()) <= 2 * run.seconds["fit"], "the phases are parts of it"
    assert "gather" in stream.runs[0].seconds
    assert "gather" not in found.cell("times", "memory").runs[0].seconds


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_workers_are_compared_with_one_process(tmp_path: Path) -> None:
    found = measured(fits.CLUSTER, tmp_path, **SMALL, workers=(2,))
    memory, cluster = found.cells
    assert cluster.runs[0].seconds.keys() >= {"start", "read", "preprocess", "train"}
    assert cluster.runs[0].note == "trained by all workers of the cluster"
    assert abs(memory.values["auc"] - cluster.values["auc"]) < 0.1
    assert "| 3,000 | workers | 1 |" in fits.CLUSTER.part(found)


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_sizes_are_measured_and_what_was_not_measured_is_called_so(tmp_path: Path) -> None:
    found = measured(growth.SCALING, tmp_path, **{**SMALL, "rows": (4_000, 2_000)})
    assert [case.name for case in found.cases] == ["2,000", "4,000"]
    text = growth.SCALING.part(found)
    assert "| 100,000,000 | " in text
    assert text.count("**extrapolated**") == 1
    assert not [*tmp_path.glob("**/part-*.parquet")], "a table is removed after its runs"


def test_a_size_that_fails_leaves_no_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = record.Run(seconds={"fit": 1.0}, why="OutOfMemory: told")
    monkeypatch.setattr(fits, "run_apart", lambda asked: record.Report(run=broken))
    with pytest.raises(PipelineError, match="2,000, stream: OutOfMemory: told"):
        measured(growth.SCALING, tmp_path, **{**SMALL, "rows": (2_000, 4_000)})


@pytest.mark.parametrize(
    ("peak", "auc", "met"),
    [(600, 0.8015, "yes yes"), (601, 0.803, "no no"), (600, None, "yes no")],
)
def test_a_fit_that_leaves_the_limit_or_is_worse_is_told(
    peak: int, auc: float | None, met: str
) -> None:
    taken = {"fit": [1.0]}
    made = results(
        cell("memory", taken, case="limit", auc=0.8),
        cell("stream", taken, case="limit", held={"peak": peak}, auc=auc),
        limit=600 * MIB,
    )
    lines = report.verdicts(made, fits.STREAMING.targets).splitlines()[2:]
    assert [line.split(" | ")[-1].strip(" |*") for line in lines] == met.split()


def test_the_line_has_the_slope_of_what_grows_by_a_power() -> None:
    rows = [10, 100, 1_000, 10_000]
    straight = growth.line(rows, [3.0 * n for n in rows])
    assert straight.slope == pytest.approx(1)
    assert straight.low <= straight.slope <= straight.high
    assert straight.at(1_000_000) == pytest.approx(3_000_000)
    assert growth.line(rows, [2.0 * n**1.5 for n in rows]).slope == pytest.approx(1.5)
    assert growth.line(rows[:2], [1.0, 10.0]).high == float("inf")
