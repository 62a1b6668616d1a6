from __future__ import annotations

from pathlib import Path

import pytest

from tools.bench import predict, prediction
from tools.bench.predict import timed, times

pytestmark = pytest.mark.slow


def test_the_record_and_the_page_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(predict, "TRAINED", 1_000)
    monkeypatch.setattr(predict, "WARMUP", 1)
    monkeypatch.setattr(predict, "ROUNDS", 1)
    options = ["--rows", "2000", "--calls", "2", "--out", str(tmp_path / "out")]
    monkeypatch.setattr("sys.argv", ["predict", *options])
    monkeypatch.chdir(tmp_path)
    assert predict.main() == 0
    found = prediction.load(tmp_path / "out" / "results.json")
    assert {row.model for row in found.one_row} == set(predict.MODELS)
    assert all(row.loaded.calls == 2 for row in found.one_row)
    assert found.batch is not None
    assert (found.batch.rows, found.batch.columns) == (2_000, 30)
    assert found.batch.peak_bytes > 50 * 1024**2
    assert prediction.part(found) in capsys.readouterr().out
    assert not [*tmp_path.glob(".bench.*")]


def test_a_target_that_is_missed_is_shown() -> None:
    fast, slow = (prediction.Times(calls=1, median=seconds, p95=1.0) for seconds in (1.0, 1.9))
    plain = prediction.Matrix(model="m", rows=1, columns=1, loaded=slow, bare=fast)
    assert "0.53 of its throughput (at least 0.9: **no**)" in prediction._matrix(plain)
    equal = prediction.Matrix(model="m", rows=1, columns=1, loaded=slow, bare=slow)
    assert "1.00 of its throughput (at least 0.9: yes)" in prediction._matrix(equal)


def test_ways_take_turns() -> None:
    seen: list[str] = []
    found = timed([lambda: seen.append("a"), lambda: seen.append("b")], 3, seed=0)
    rounds = [seen[i : i + 2] for i in range(0, len(seen), 2)]
    assert len(rounds) == predict.WARMUP + 3
    assert {tuple(each) for each in rounds} == {("a", "b"), ("b", "a")}
    assert [each.calls for each in found] == [3, 3]


def test_times_are_the_middle_and_the_slow_end() -> None:
    found = times([1.0, 2.0, 3.0, 100.0])
    assert (found.calls, found.median) == (4, 2.5)
    assert found.p95 > 50
