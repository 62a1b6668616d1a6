"""The measurement of the generated tables runs, and the document says what it found."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from datasets.synthetic import Recipe
from tools import docs
from tools.synthetic import auc, memory, plot, schema


def test_the_record_shows_a_model_that_approaches_the_best() -> None:
    found = schema.load(plot.RECORD)
    scores = [point.auc for point in found.points]
    assert scores == sorted(scores)
    assert found.truth - scores[-1] < (found.truth - scores[0]) / 4
    assert scores[-1] < found.truth


def test_the_record_of_writing_holds_to_a_gibibyte() -> None:
    found = schema.load_written(docs.ROOT / "docs/results/synthetic-memory/results.json")
    assert (found.rows, found.columns) == (10_000_000, 30)
    assert found.peak_rss_bytes < 2**30


def test_a_small_measurement_runs() -> None:
    found = auc.measure([500, 4_000], 12, 3, test=2_000)
    few, more = (point.auc for point in found.points)
    assert 0.5 < few < more < found.truth < 1


def test_writing_is_measured_and_leaves_nothing(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["memory"])
    found = memory.measure(Recipe(rows=1_000), 2)
    assert (found.rows, found.partitions) == (1_000, 2)
    assert found.bytes > 10_000
    assert not list(tmp_path.iterdir())


def test_the_plot_is_that_of_the_record(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plot.draw(schema.load(plot.RECORD), tmp_path / "plot.svg")
    drawn = [path.read_text() for path in (tmp_path / "plot.svg", plot.PLOT)]
    for point in schema.load(plot.RECORD).points:
        assert all(f"{point.auc:.4f}" in text for text in drawn)
