"""Processes, clocks and memory, on tables of a few rows."""

from __future__ import annotations

import os
import signal
import sys

import numpy as np
import pytest

from pipeline.benchmark.worker import Worker, WorkerFailed
from tools.bench import memory, rss, schema, verdicts, work
from tools.bench.__main__ import main
from tools.bench.contest import CellRuns
from tools.bench.preprocessing import Bench
from tools.bench.work import Ask, Job

pytestmark = pytest.mark.slow

MIB = 2**20


def job(home, variant="ours", rows=300) -> Job:
    return Job(case="synthetic", variant=variant, home=str(home), rows=rows, seed=0)


@pytest.mark.skipif(rss.now() == 0, reason="the system does not tell")
def test_a_peak_is_seen_though_the_memory_is_given_back() -> None:
    covers = rss.reset()
    before = rss.now()
    np.ones(64 * MIB, dtype=np.uint8)
    assert rss.peak() - before > 56 * MIB
    assert rss.now() - before < 32 * MIB
    if covers == "each phase":
        rss.reset()
        assert rss.peak() - before < 32 * MIB


def test_an_answer_has_times_sizes_and_peaks(tmp_path) -> None:
    found = work.answer(job(tmp_path), Ask())
    assert found.shape[:2] == (300, 30)
    assert found.output_bytes == 300 * found.shape[2] * 4
    assert found.difference is None
    assert min(found.run.read, found.run.fit_transform, found.run.transform) > 0
    assert found.run.fit_transform_peak_bytes >= found.run.before_bytes > 0


def test_numbers_are_compared_with_those_that_were_saved(tmp_path) -> None:
    work.answer(job(tmp_path, "truth"), Ask(folder=str(tmp_path), save=True))
    assert verdicts.same(work.answer(job(tmp_path), Ask(folder=str(tmp_path))).difference)
    other = np.load(tmp_path / "transform.npy")
    other[-1, -1] += 1
    np.save(tmp_path / "transform.npy", other)
    found = work.answer(job(tmp_path), Ask(folder=str(tmp_path))).difference
    assert found.transform == pytest.approx(1, abs=1e-6)
    assert not verdicts.same(found)


def test_another_shape_has_no_difference(tmp_path) -> None:
    work.answer(job(tmp_path, "truth", rows=200), Ask(folder=str(tmp_path), save=True))
    found = work.answer(job(tmp_path), Ask(folder=str(tmp_path))).difference
    assert found == schema.Difference(fit_transform=None, transform=None)


def test_a_worker_runs_again_and_again_until_it_is_killed(tmp_path) -> None:
    with Worker(job(tmp_path), work.serve) as worker:
        assert worker.ask(Ask()).shape == worker.ask(Ask()).shape
        with pytest.raises(WorkerFailed, match="FileNotFoundError"):
            worker.ask(Ask(folder=str(tmp_path / "nowhere")))
        assert worker.ask(Ask()).run is not None
        os.kill(worker._process.pid, signal.SIGKILL)
        with pytest.raises(WorkerFailed, match="killed"):
            worker.ask(Ask())


def test_a_whole_measurement_is_recorded(tmp_path) -> None:
    bench = Bench(
        home=tmp_path, rows=300, memory_rows=0, repeats=2, cases=["synthetic"], variants=["ours"]
    )
    lines: list[str] = []
    found = bench.measure(lines.append)
    assert found.protocol.order == ["synthetic/ours"] * 2
    (cell,) = found.cells
    assert (cell.why, len(cell.runs), cell.warmup is not None) == ("", 2, True)
    assert verdicts.same(cell.difference)
    assert found.memory == []
    assert any("warm-up" in line for line in lines)
    assert not list((tmp_path / "bench").glob("tmp*"))


def test_a_variant_that_fails_is_recorded_and_runs_no_more(tmp_path) -> None:
    contest = CellRuns(job(tmp_path))
    lines: list[str] = []
    for _ in range(2):
        contest.run(Broken(), lines.append)
        contest.compare(Broken(), "", lines.append)
    cell = contest.cell()
    assert (cell.why, cell.runs, cell.warmup, cell.difference) == ("no room", [], None, None)
    assert lines == ["synthetic  ours  failed: no room"]


class Broken:
    """A worker whose runs fail."""

    def ask(self, ask: Ask) -> None:
        raise WorkerFailed("no room")


def test_the_order_is_random_and_the_same_for_a_seed(tmp_path) -> None:
    def turns(seed: int) -> list[str]:
        lane, order = [CellRuns(job(tmp_path, name)) for name in "abcd"], list[str]()
        assert len([*Bench(home=tmp_path, seed=seed, repeats=3)._turns(lane, order)]) == 12
        assert all(sorted(order[i : i + 4]) == sorted(order[:4]) for i in (4, 8))
        return order

    assert turns(0) == turns(0) != turns(1)


def test_memory_is_measured_in_processes_of_its_own(tmp_path) -> None:
    found = memory.measure(job(tmp_path, rows=2_000))
    assert (found.why, found.rows, found.output_bytes) == ("", 2_000, 2_000 * 78 * 4)
    if found.empty_bytes:
        assert 0 < found.before_bytes < found.peak_bytes


def test_memory_that_cannot_be_measured_says_why(tmp_path) -> None:
    found = memory.measure(job(tmp_path, "truth"))
    assert (found.why, found.peak_bytes) == ("KeyError: 'truth'", 0)


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--repeats", "0", "--repeats must be at least 1"),
        ("--rows", "0", "--rows must be at least 1"),
        ("--variants", "polar", "did you mean 'polars'"),
        ("--cases", "taxi", "unknown case 'taxi'"),
    ],
)
def test_a_wrong_option_is_named_before_anything_runs(
    tmp_path, monkeypatch, capsys, option, value, says
) -> None:
    out = tmp_path / "out"
    monkeypatch.setattr(sys, "argv", ["bench", "--out", str(out), option, value])
    assert main() == 2
    assert says in capsys.readouterr().err
    assert not out.exists()
