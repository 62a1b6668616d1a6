"""The panel "Where the answers are wrong" shows the record's facts, and rates made of them."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_score, recall_score

from pipeline.benchmark.diagnostics import diagnose
from pipeline.benchmark.report import mistakes
from pipeline.benchmark.report.panels import PANELS
from pipeline.benchmark.results import Diagnostics
from tests.benchmark import fixtures


def texts(table: mistakes.ReportTable) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_rates_of_a_threshold_are_those_of_scikit_learn() -> None:
    random = np.random.default_rng(0)
    chance = random.random(400)
    truth = (random.random(400) < chance).astype(int)
    found = diagnose(truth, chance, "binary", None, LogisticRegression())
    assert found is not None
    results = fixtures.with_diagnostics("binary", found)
    [table, *_] = mistakes.threshold_tables(results)
    [row] = [row for row in texts(table) if row[:2] == ["cpu", "0.3"]]
    called = chance >= 0.3
    rate = (called & (truth == 0)).sum() / (truth == 0).sum()
    wanted = [called.mean(), precision_score(truth, called), recall_score(truth, called), rate]
    assert row[2:] == [f"{value:.4f}" for value in [*wanted, f1_score(truth, called)]]
    [first, *_] = texts(mistakes.calibration_table(results))
    assert first[:2] == ["logistic", "reference"]
    assert float(first[-1]) >= max(float(row[-1]) for row in texts(table))


def test_a_perfect_calibration_is_on_the_diagonal() -> None:
    [figure, *_] = mistakes.calibration_figures(fixtures.normal())
    assert [line.label for line in figure.rows] == ["reference", "cpu", mistakes.IDEAL]
    low = figure.rows[0].dots  # type: ignore[union-attr]
    assert [dot.y > 260 * (1 - dot.x / 100) for dot in low] == [True] * 10, "shares are too low"
    assert all(dot.high <= dot.y <= dot.low for dot in low)


def test_a_matrix_has_recall_and_precision() -> None:
    [(name, table), *_] = mistakes.confusion_tables(fixtures.of_classes())
    assert name == "logistic, reference"
    rows = texts(table)
    assert rows[0] == ["a", "40", "2", "0", "0.9524"]
    assert rows[1] == ["b", "3", "50", "0.5", "0.9346"]
    assert rows[2][1:] == ["0", "0", "0", "–"]
    assert rows[3] == ["Precision", "0.9302", "0.9615", "0.0000", ""]
    [row, *_] = texts(mistakes.confused_table(fixtures.of_classes()))
    assert row[2:] == ["5.5", "b as a: 3"]


def test_residuals_are_over_the_prediction() -> None:
    results = fixtures.of_numbers()
    [figure, *_] = mistakes.residual_figures(results)
    assert "median residual 0.7 at 70, 100 rows" in figure.rows[0].text
    [row, *_] = texts(mistakes.residual_table(results))
    assert row == ["logistic", "reference", "-9", *["–"] * 3, "0.2", *["–"] * 3, "17.5"]


def test_a_kind_without_it_has_no_panel() -> None:
    none = fixtures.with_diagnostics("ranking", Diagnostics())
    assert PANELS["mistakes"].pieces(none) == []
    for make in (fixtures.normal, fixtures.of_classes, fixtures.of_numbers):
        assert PANELS["mistakes"].pieces(make())
