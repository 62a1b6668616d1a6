"""The geometry of the figures agrees with the numbers."""

from __future__ import annotations

import pytest

from pipeline.benchmark.report import html
from pipeline.benchmark.report.figures import (
    Axis,
    Line,
    ratio_figure,
    run_figures,
    size_figures,
    stage_figures,
    use_figures,
)
from pipeline.benchmark.statistics import stages
from tests.benchmark import fixtures, fuller


def test_every_timed_run_is_a_dot() -> None:
    figures = run_figures(fixtures.with_gpu())
    assert [[len(mark.dots) for mark in figure.rows] for figure in figures] == [[7, 7, 7]] * 3
    assert {figure.height for figure in figures} == {3 * 48 + 4}
    source = html.render_html(fixtures.with_gpu())
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
    assert min(heights) == heights[1] == 0, "300 W stand highest, which is the least from the top"
    assert len(use_figures(fixtures.normal())) == 3


def test_the_line_of_a_model_goes_through_the_dots_of_its_sizes() -> None:
    figure = size_figures(fuller.with_sizes())[1]
    line = figure.rows[0]
    assert isinstance(line, Line)
    assert [dot.text for dot in line.dots] == [
        "0.428 s at 5,200 rows", "2.142 s at 26,000 rows", "8.568 s at 104,000 rows",
        line.dots[-1].text,
    ]  # fmt: skip
    ends = line.pieces[0][:2], line.pieces[-1][2:]
    for dot, (x, y) in zip((line.dots[0], line.dots[-1]), ends, strict=True):
        assert (dot.x, dot.y) == (pytest.approx(x), pytest.approx(y, abs=3))
        assert dot.high <= dot.y <= dot.low, "pixels are counted from the top"
    assert size_figures(fixtures.normal()) == []


@pytest.mark.parametrize("upper", [1e-4, 0.3, 1, 6.2, 9.99, 47, 3600])
def test_linear_ticks_are_few_and_within(upper: float) -> None:
    ticks = Axis(0, upper).ticks()
    assert 3 <= len(ticks) <= 7
    assert all(0 <= tick.at <= 100 for tick in ticks)


@pytest.mark.parametrize("ends", [(0.97, 1), (0.4, 1), (0.01, 3.0), (1, 900.0), (1.0, 1.0)])
def test_logarithmic_ticks_are_few_and_hold_one(ends: tuple[float, float]) -> None:
    ticks = Axis(*ends, log=True).ticks()
    assert len(ticks) <= 7
    assert "1" in [tick.label for tick in ticks]
    assert all(0 <= tick.at <= 100 for tick in ticks)


def test_nothing_stands_at_the_start_of_an_axis_without_length() -> None:
    axis = Axis(0, 0)
    assert (axis(0), [tick.label for tick in axis.ticks()]) == (0, ["0"])
