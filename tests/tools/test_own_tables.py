"""What real tables are compared by: the same rows, programs by hand, and where ours is behind."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipeline import records
from tests.benchmark.nasty import workspace
from tools.own_tables.__main__ import OUT, SCHEMA, Compared, Results, compare, page
from tools.own_tables.real import TABLES, RealTable

__all__ = ["workspace"]

ROOT = Path(__file__).parents[2]
draw = np.random.default_rng(0)
ROWS = 240


def text() -> bytes:
    x = draw.normal(size=ROWS).round(3)
    table = {
        "id": np.arange(ROWS),
        "day": pd.date_range("2024-01-01", periods=ROWS).strftime("%d.%m.%Y"),
        "x": x, "town": np.array(["Bern", "Thun"])[np.arange(ROWS) % 2],
        "kind": np.where(x > 0, "up", np.where(x > -3, "down", "rare")),
    }  # fmt: skip
    return pd.DataFrame(table).to_csv(index=False).encode()


SMALL = RealTable("small", "numpy", text, "kind", "binary", {"day": "%d.%m.%Y"}, ["id"])


def test_the_task_and_the_program_by_hand_are_judged_on_the_same_splits(workspace) -> None:
    found = compare(SMALL, 2)
    assert found.kind == "binary"
    assert found.rows == ROWS
    assert {name: len(scores) for name, scores in found.scores.items()} == {
        "linear": 2, "boosting": 2, "by hand": 2,
    }  # fmt: skip
    assert min(map(found.mean, found.scores)) > 0.97
    assert found.holds
    assert any("'x'" in line for line in found.said)


def test_by_hand_dates_are_parts_and_texts_categories(tmp_path) -> None:
    (tmp_path / "small.csv").write_bytes(text())
    made = SMALL.by_hand(tmp_path / "small.csv")
    assert list(made)[:2] == ["x", "town"]
    assert list(made["day day"][:3]) == [1, 2, 3]
    assert made["town"].dtype == "category"


def result(by_hand: float, kind: str = "binary") -> Compared:
    scores = {"linear": [0.7, 0.9], "boosting": [0.5, 0.6], "by hand": [by_hand, by_hand]}
    return Compared(
        name="t", package="p", version="1", target="y", kind=kind, rows=9, columns=2, options={},
        said=[], scores=scores,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("by_hand", "kind", "holds"),
    [(0.2, "binary", True), (0.809, "binary", True), (0.811, "binary", False),
     (0.811, "multiclass", False), (0.819, "regression", True), (0.821, "regression", False)],
)  # fmt: skip
def test_the_better_of_ours_may_be_a_little_behind(by_hand, kind, holds) -> None:
    assert result(by_hand, kind).holds is holds


def test_there_are_twenty_tables_of_several_packages_and_all_kinds() -> None:
    assert len({real.name for real in TABLES}) == len(TABLES) == 20
    assert {real.kind for real in TABLES} == {"binary", "multiclass", "regression"}
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    listed = {re.match(r"[\w-]+", each)[0] for each in groups["tables"] + groups["tasks"]}
    assert {real.package for real in TABLES} == listed


def test_the_published_page_follows_from_the_record() -> None:
    found = records.load_record(ROOT / OUT / "results.json", Results, schema=SCHEMA, command="make")
    assert [each.name for each in found.tables] == [real.name for real in TABLES]
    assert (ROOT / OUT / "report.md").read_text(encoding="utf-8") == page(found)
