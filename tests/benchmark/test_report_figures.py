"""The geometry of the figures agrees with the numbers."""

from __future__ import annotations

import pytest

from pipeline.benchmark.report import html
from pipeline.benchmark.report.figures import (
    Linear,
    Logarithmic,
    ratio_figure,
    run_figures,
    stage_figures,
)
from pipeline.benchmark.statistics import stages
from tests.benchmark import fixtures


def test_every_timed_run_is_a_dot() -> None:
    figures = run_figures(fixtures.with_gpu())
    assert [[len(mark.dots) for mark in figure.rows] for figure in figures] == [[7, 7, 7]] * 3
    source = html.page(fixtures.with_gpu())
    assert source.count('<circle class="dot"') == 63


def test_marks_lie_within_the_figure_and_on_the_right_side_of_one() -> None:
    figure = ratio_figure(fixtures.with_gpu())
    assert figure is not None
    assert figure.one is not None
    for mark in figure.rows:
        assert 0 <= mark.low <= mark.middle <= mark.high <= 100
        assert (mark.high < figure.one) == mark.text.endswith("faster")


def test_bars_are_as_long_as_their_seconds() -> None:
    results = fixtures.with_gpu()
    figure = stage_figures(results)[0]
    widths = {bar.label: sum(segment.width for segment in bar.segments) for bar in figure.rows}
    times = {name: sum(stages(results, "logistic", name).values()) for name in widths}
    for name, width in widths.items():
        assert width / widths["cuda"] == pytest.approx(times[name] / times["cuda"], abs=0.002)


@pytest.mark.parametrize("upper", [1e-4, 0.3, 1, 6.2, 9.99, 47, 3600])
def test_linear_ticks_are_few_and_within(upper: float) -> None:
    ticks = Linear(upper).ticks()
    assert 3 <= len(ticks) <= 7
    assert all(0 <= tick.at <= 100 for tick in ticks)


@pytest.mark.parametrize("ends", [(0.97, 0.99), (0.4, 0.45), (0.01, 3.0), (1.2, 900.0), (1.0, 1.0)])
def test_ratio_ticks_are_few_and_hold_one(ends: tuple[float, float]) -> None:
    ticks = Logarithmic(*ends).ticks()
    assert len(ticks) <= 8
    assert "1" in [tick.label for tick in ticks]
    assert all(0 <= tick.at <= 100 for tick in ticks)
