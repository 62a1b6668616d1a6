from __future__ import annotations

import pytest

from pipeline.benchmark.report import tables
from pipeline.benchmark.report.figures import frontier_figure, frontier_table, use_figures
from tests.benchmark import fixtures, fuller


def places(results: fixtures.Results) -> dict[tuple[str, str], str]:
    return {(r[0].text, r[1].text): r[4].text for r in frontier_table(results).rows}


def test_the_fastest_is_on_the_frontier_and_what_it_beats_is_behind() -> None:
    found = places(fixtures.normal())
    assert found["logistic", "cpu"] == "on it"
    assert found["logistic", "reference"] == "behind cpu on logistic"
    assert len(found) == 6


def test_what_is_slower_and_better_is_on_it_too() -> None:
    better = fixtures.with_cell(fixtures.normal(), "forest", "cpu", metrics={"roc_auc": 0.9})
    assert places(better)["forest", "cpu"] == "on it"


def test_of_losses_less_is_better() -> None:
    base = fixtures.normal()
    task = fixtures.replace(base.task, margins={"log_loss": 0.1})
    better = fixtures.with_cell(
        fixtures.replace(base, task=task), "forest", "cpu", metrics={"log_loss": 0.1}
    )
    found = places(better)
    assert found["forest", "cpu"] == "on it"
    assert found["forest", "reference"].startswith("behind")


def test_the_figure_has_a_dot_for_each_cell_and_the_better_stands_higher() -> None:
    better = fixtures.with_cell(fixtures.normal(), "forest", "cpu", metrics={"roc_auc": 0.9})
    figure = frontier_figure(better)
    assert [(line.label, len(line.dots)) for line in figure.rows] == [("reference", 3), ("cpu", 3)]
    dots = {(line.label, dot.label): dot for line in figure.rows for dot in line.dots}
    assert dots["cpu", "forest"].y < dots["reference", "forest"].y
    assert dots["cpu", "forest"].x < dots["reference", "forest"].x
    assert "0.90000 in 8." in figure.description


def test_use_over_time_is_drawn_of_the_trace() -> None:
    figures = use_figures(fuller.everything())
    assert len(figures) == 3 * 3, "processors, the GPU's use and its watts of each pipeline"
    watts = figures[2]
    assert watts.title == "Watts of the GPU, logistic, over the seconds of the run"
    (line,) = watts.rows
    assert line.text == "1.000 s, at most 300"
    assert [x for piece in line.pieces for x in piece[::2]] == pytest.approx(
        [0, 25, 25, 50, 50, 75, 75, 100]
    )
    heights = [piece[3] for piece in line.pieces]
    assert min(heights) == heights[1], "300 W stand highest, which is the least from the top"
    assert len(use_figures(fixtures.normal())) == 3


def test_only_pages_of_ours_are_linked() -> None:
    results = fuller.everything()
    assert tables.profiles(results)[0] == ("cpu on forest", "profile-1.html", "")
    for bad in ("javascript:alert(1)", "../profile-1.html", "https://x/profile-1.html"):
        hostile = [fixtures.replace(p, file=bad) for p in results.profiles]
        found = tables.profiles(fixtures.replace(results, profiles=hostile))
        assert all(file == "" for _, file, _ in found)
