from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tools.bench import predict
from tools.bench.predict import Results, report, timed, times


def test_the_record_and_the_page_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(predict, "TRAINED", 1_000)
    monkeypatch.setattr(predict, "WARMUP", 1)
    monkeypatch.setattr(predict, "ROUNDS", 1)
    options = ["--rows", "2000", "--calls", "2", "--out", str(tmp_path / "out")]
    monkeypatch.setattr("sys.argv", ["predict", *options])
    predict.main()
    found = msgspec.json.decode((tmp_path / "out" / "results.json").read_bytes(), type=Results)
    assert {row.model for row in found.one_row} == set(predict.MODELS)
    assert all(row.loaded.calls == 2 for row in found.one_row)
    assert found.batch is not None
    assert (found.batch.rows, found.batch.columns) == (2_000, 30)
    assert found.batch.peak_bytes > 50 * 1024**2
    assert (tmp_path / "out" / "report.md").read_text() == report(found) == capsys.readouterr().out


def test_ways_take_turns() -> None:
    seen: list[str] = []
    found = timed([lambda: seen.append("a"), lambda: seen.append("b")], 3)
    assert seen == ["a", "b"] * (predict.WARMUP + 3)
    assert [each.calls for each in found] == [3, 3]


def test_times_are_the_middle_and_the_slow_end() -> None:
    found = times([1.0, 2.0, 3.0, 100.0])
    assert (found.calls, found.median) == (4, 2.5)
    assert found.p95 > 50
