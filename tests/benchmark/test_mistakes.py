"""The panel "Where the predictions are wrong" shows the record's facts, and rates made of them."""

from __future__ import annotations

from pipeline.benchmark.record.results import Diagnostics
from pipeline.benchmark.report import mistakes
from pipeline.benchmark.report.panels import comparison_page
from tests.benchmark import fixtures


def texts(table: mistakes.ReportTable) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_a_matrix_has_recall_and_precision() -> None:
    [table, *_] = mistakes.confusion_tables(fixtures.of_classes())
    assert table.caption == "True class by predicted class, logistic, reference"
    rows = texts(table)
    assert rows[0] == ["a", "40", "2", "0", "0.9524"]
    assert rows[1] == ["b", "3", "50", "0.5", "0.9346"]
    assert rows[2][1:] == ["0", "0", "0", "–"]
    assert rows[3] == ["Precision", "0.9302", "0.9615", "0.0000", ""]


def test_residuals_are_told_by_their_quantiles() -> None:
    [row, *_] = texts(mistakes.residual_table(fixtures.of_numbers()))
    assert row == ["logistic", "reference", "-9", *["–"] * 3, "0.2", *["–"] * 3, "17.5"]


def test_a_kind_without_it_has_no_panel() -> None:
    none = fixtures.with_diagnostics("ranking", Diagnostics())
    assert "mistakes" not in comparison_page(none).panels
    for make in (fixtures.normal, fixtures.of_classes, fixtures.of_numbers):
        assert "mistakes" in comparison_page(make()).panels
