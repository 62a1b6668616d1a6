from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from pipeline.benchmark.record import history, results
from pipeline.benchmark.report import tables
from tests.benchmark import fixtures, fuller


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "results.json"
    path.write_bytes(results.dumps(fixtures.normal()))
    return path


def test_an_earlier_record_is_kept_in_short(old: Path) -> None:
    (past,) = history.earlier(fixtures.normal(), old)
    assert past.cpu == "Example CPU 3000"
    assert set(past.medians) == {f"{s}/{v}" for s in fixtures.SPECS for v in ("reference", "cpu")}
    assert past.medians["forest/reference"] == pytest.approx(21, rel=0.05)


def test_those_before_it_stay_and_the_oldest_go(old: Path) -> None:
    before = [history.brief(replace(fixtures.normal(), created=str(n))) for n in range(40)]
    old.write_bytes(results.dumps(replace(fixtures.normal(), history=before, created="last")))
    found = history.earlier(fixtures.normal(), old)
    assert [past.created for past in found] == [*map(str, range(11, 40)), "last"]


def test_records_of_other_work_are_left_out(old: Path) -> None:
    now = fixtures.normal()
    other = replace(now, task=replace(now.task, split="another"))
    assert history.earlier(other, old) == []


def test_no_record_or_a_damaged_one_is_no_history(old: Path, tmp_path: Path) -> None:
    assert history.earlier(fixtures.normal(), tmp_path / "none.json") == []
    old.write_text("{")
    assert history.earlier(fixtures.normal(), old) == []


def test_the_newest_stands_next_to_the_present() -> None:
    table = tables.history_table(fuller.everything())
    assert table.head[2:] == ("Now", "2026-01-02 00:00", "2026-01-01 00:00")
    assert [cell.text for cell in table.rows[0][3:]] == ["1.250", "1.250"]
    assert "2026-01-01 00:00: commit 012345678 on Example CPU, Synthetic GPU 0." in table.note
    assert tables.history_table(fixtures.normal()).rows == ()
