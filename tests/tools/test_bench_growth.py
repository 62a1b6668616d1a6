"""The measurements of large tables run on small ones, and say what they found."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from tools.bench import cluster, large, scaling, streaming

pytestmark = pytest.mark.slow

Argv = pytest.MonkeyPatch


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Fits are made here, without their limits; one in memory with a hard limit fails."""

    def run(job: large.Job) -> large.Fit:
        free = msgspec.structs.replace(job, room_bytes=0, limit_bytes=0)
        fit = large.made(free)
        limited = job.way == "memory" and job.limit_bytes
        error = "OutOfMemory: input: told" if limited else fit.error
        return msgspec.structs.replace(
            fit, error=error, limit_bytes=job.limit_bytes, peak_bytes=fit.start_bytes + 2**20
        )

    monkeypatch.setattr(large, "run", run)
    monkeypatch.setattr(streaming, "HELD_OUT", 1_000)
    monkeypatch.setattr(cluster, "HELD_OUT", 1_000)
    monkeypatch.chdir(tmp_path)


def fit(way: large.Way, seconds: float, **changed: object) -> large.Fit:
    plain = large.Fit(
        way=way,
        error="",
        limit_bytes=0,
        start_bytes=200 * 2**20,
        peak_bytes=500 * 2**20,
        seconds=seconds,
        parts={"read": seconds / 4, "train": seconds / 2},
        note="",
    )
    return msgspec.structs.replace(plain, **changed)


def test_the_record_of_streaming_is_published_and_read_back(
    monkeypatch: Argv, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = "--rows 2000 --columns 12 --trees 2 --repeats 2 --limit-mib 300"
    words += " --limit-rows 3000 --limit-columns 14 --limit-trees 2 --out out"
    monkeypatch.setattr(sys, "argv", ["streaming", *words.split()])
    streaming.main()
    found = streaming.load(Path("out/results.json"))
    assert (len(found.times.memory), len(found.times.stream)) == (2, 2)
    assert (found.times.read, found.limit.read) == (10, 12)
    assert found.limit.stream[0].limit_bytes == 300 * 2**20
    text = streaming.part(found)
    assert text in capsys.readouterr().out
    assert "| in memory | set |" in text
    assert "`OutOfMemory: input: told`" in text
    assert [path.name for path in tmp_path.glob("[!.]*")] == ["out"]
    assert not [*tmp_path.glob(".bench.*")]


def test_a_fit_that_leaves_the_limit_or_fails_is_told(monkeypatch: Argv) -> None:
    good = fit("stream", 4.0, limit_bytes=600 * 2**20)
    case = streaming.Case(
        rows=10,
        columns=3,
        read=3,
        bytes=2400 * 2**20,
        trees=1,
        bins=64,
        memory=[fit("memory", 2.0)],
        stream=[good],
        limited=fit("memory", 1.0, error="OutOfMemory: x", limit_bytes=600 * 2**20),
        auc_memory=0.8,
        auc_stream=0.8015,
    )
    limit = 600 * 2**20
    assert "within the limit" in streaming._verdict(case, limit)
    assert "0.0015 apart (at most 0.002: yes)" in streaming._verdict(case, limit)
    apart = msgspec.structs.replace(case, auc_stream=0.81)
    assert "**no**" in streaming._verdict(apart, limit)
    assert "**above**" in streaming._verdict(case, 400 * 2**20)
    failed = msgspec.structs.replace(case, auc_stream=None)
    assert "did not complete" in streaming._verdict(failed, limit)


def test_the_record_of_a_cluster_is_published_and_read_back(
    monkeypatch: Argv, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "--rows 2000 --repeats 1 --columns 12 --trees 2 --out out"
    monkeypatch.setattr(sys, "argv", ["cluster", *words.split()])
    assert cluster.main() == 0
    found = cluster.load(Path("out/results.json"))
    (size,) = found.sizes
    assert size.cluster[0].parts.keys() >= {"start", "read", "preprocess", "train"}
    assert size.cluster[0].note == "trained by all workers of the cluster"
    assert abs(size.auc_memory - size.auc_cluster) < 0.1
    text = cluster.part(found)
    assert text in capsys.readouterr().out
    assert "| 2,000 | workers | 1 |" in text
    assert "too few runs" in text


def test_repeats_belong_to_sizes(monkeypatch: Argv) -> None:
    monkeypatch.setattr(sys, "argv", ["cluster", "--rows", "2000", "--repeats", "1", "2"])
    with pytest.raises(SystemExit):
        cluster.main()


def test_the_record_of_scaling_is_published_and_says_what_was_not_measured(
    monkeypatch: Argv, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "--rows 2000 4000 --columns 12 --trees 2 --out out"
    monkeypatch.setattr(sys, "argv", ["scaling", *words.split()])
    assert scaling.main() == 0
    found = scaling.load(Path("out/results.json"))
    assert [point.rows for point in found.points] == [2_000, 4_000]
    text = scaling.part(found)
    assert text in capsys.readouterr().out
    assert "| 100,000,000 | " in text
    assert text.count("**extrapolated**") == 1


def test_a_size_that_fails_leaves_no_record(monkeypatch: Argv) -> None:
    monkeypatch.setattr(large, "run", lambda job: fit("stream", 1.0, error="OutOfMemory: told"))
    monkeypatch.setattr(
        sys, "argv", ["scaling", "--rows", "2000", "4000", "--columns", "12", "--out", "out"]
    )
    assert scaling.main() == 2
    assert not Path("out").exists()


def test_the_line_has_the_slope_of_what_grows_by_a_power() -> None:
    rows = [10, 100, 1_000, 10_000]
    straight = scaling.line(rows, [3.0 * n for n in rows])
    assert straight.slope == pytest.approx(1)
    assert straight.low <= straight.slope <= straight.high
    assert straight.at(1_000_000) == pytest.approx(3_000_000)
    assert scaling.line(rows, [2.0 * n**1.5 for n in rows]).slope == pytest.approx(1.5)
    assert scaling.line(rows[:2], [1.0, 10.0]).high == float("inf")
