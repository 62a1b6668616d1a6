"""The figures agree with the numbers, and are drawn alike each time."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from msgspec.structs import replace

from pipeline.benchmark.judge.statistics import speed
from pipeline.benchmark.record.results import Diagnostics, Results
from pipeline.benchmark.report import figures, mistakes
from pipeline.benchmark.report.figures import Curves, Line
from pipeline.benchmark.report.html_table import how_fast
from tests.benchmark import fixtures, fuller

MARK = re.compile(r'<use href="#m\w+" x="([\d.]+)" y="([\d.]+)" style="fill: var\(--v(\d)\)')


def first(draw: Callable[[Results, str], Curves | None], results: Results):  # noqa: ANN201
    return next(each for info in results.pipelines if (each := draw(results, info.name)))


def test_stacks_are_as_long_as_the_times_and_say_how_fast() -> None:
    results = fixtures.with_gpu()
    figure = figures.stage_figure(results)
    assert [name for name, *_ in figure.pipelines] == [*fixtures.SPECS]
    assert [name for _, name in figure.stages] == ["read", "preprocess", "fit", "predict", "other"]
    for pipeline, score, bars in figure.pipelines:
        assert score == "roc_auc 0.812, dummy 0.500"
        assert [bar.label for bar in bars] == ["reference", "cpu", "cuda"]
        base, cpu, cuda = (speed(results, pipeline, bar.label) for bar in bars)
        longest = max(base.median, *(base.median * s.ratio.interval[1] for s in (cpu, cuda)))
        for bar, timed in zip(bars, (base, cpu, cuda), strict=True):
            (_, start, width) = bar.parts[-1]
            assert start + width == pytest.approx(100 * timed.median / longest, abs=0.05)
            starts = [each[1] for each in bar.parts]
            ends = [each[1] + each[2] for each in bar.parts]
            assert starts[1:] == pytest.approx(ends[:-1], abs=0.02)
            if timed.ratio:
                assert bar.ends[0] < start + width < bar.ends[1] <= 100
                assert bar.speed.text == how_fast(timed.ratio).text
    slower = figure.pipelines[0][2][2]
    assert (slower.speed.text, slower.quality.text) == ("1.30× slower", "PASS")


def test_a_bar_without_quality_claims_no_speed() -> None:
    figure = figures.stage_figure(fixtures.parity_failed())
    (bar,) = (b for name, _, bars in figure.pipelines if name == "boosting" for b in bars[1:])
    assert (bar.speed.text, bar.span) == ("no claim: quality fails", "")


@pytest.mark.parametrize(
    ("low", "high", "log"),
    [(0, 1e-4, False), (0, 6.2, False), (0, 3600, False), (-3.2, 1, False), (0.99, 0.999, False),
     (0.97, 1, True), (0.4, 1, True), (0.01, 3, True), (1, 900, True), (5e3, 2.6e5, True)],
)  # fmt: skip
def test_ticks_are_few_and_round(low: float, high: float, log: bool) -> None:
    ends = [low, high]
    drawn = Curves("t", (Line("a", 1, ends, ends, "both"),), "across", log=log).svg("n")
    across, down = (re.findall(r">(\S+)</text>", part) for part in drawn.split(">across</text>"))
    assert across == down
    assert 2 <= len(across) <= 12
    assert all(len(each) <= 6 for each in across)


def test_a_curve_has_a_mark_for_each_point_in_its_colour() -> None:
    made = Curves("t", (Line("a", 1, [1, 2, 4], [3, 1, 2], "both"),
                        Line("b", 3, [1, 4], [0, 4], "both")), "x")  # fmt: skip
    marks = [(float(x), float(y), hue) for x, y, hue in MARK.findall(made.svg("n"))]
    assert [hue for *_, hue in marks] == ["1"] * 3 + ["3"] * 2
    x, y = np.array([(x, y) for x, y, _ in marks]).T
    assert np.polyfit(x, [1, 2, 4, 1, 4], 1, full=True)[1] == pytest.approx(0, abs=1e-6)
    slope = np.polyfit(y, [3, 1, 2, 0, 4], 1)[0]
    assert slope < 0, "pixels are counted from the top"


def test_a_curve_is_text_in_the_colours_of_the_page_and_the_same_each_time() -> None:
    figure = first(figures.size_figure, fuller.with_sizes(fixtures.with_gpu()))
    assert [line.label for line in figure.lines] == ["reference", "cpu", "cuda"]
    assert figure.lines[0].x == [5_200, 26_000, 104_000, 260_000]
    assert figure.lines[0].y[0] == pytest.approx(0.02 * 4 * 1.02)
    source = figure.svg("one")
    assert source == figure.svg("one")
    ids = set(re.findall(r' id="([^"]+)"', source))
    assert not ids & set(re.findall(r' id="([^"]+)"', figure.svg("two")))
    assert {name[1:] for name in re.findall(r'href="([^"]+)"', source)} <= ids
    assert re.findall(r"#[0-9a-f]{6}|font-family|<metadata|<style", source) == []
    assert ">200k</text>" in source
    assert 'viewBox="0 0 360 ' in source


def test_a_bar_ends_at_the_median_though_the_stages_add_up_to_more() -> None:
    results = fixtures.normal()
    slow = [replace(run, stages={"fit": 2 * run.total}) for run in results.cells[0].runs]
    results = fixtures.with_cell(results, "logistic", "reference", runs=slow)
    bars = {name: bars for name, _, bars in figures.stage_figure(results).pipelines}
    [(_, start, width)] = bars["logistic"][0].parts
    assert (start, width) == (0, 100)


def test_a_calibration_that_is_too_low_lies_below_the_diagonal() -> None:
    figure = first(mistakes.calibration_figure, fixtures.normal())
    assert [line.label for line in figure.lines] == ["reference", "cpu", "the diagonal"]
    line = figure.lines[0]
    assert all(y < x for x, y in zip(line.x, line.y, strict=True))
    assert all(low < y < high for low, y, high in zip(line.low, line.y, line.high, strict=True))


def test_curves_over_thresholds_say_their_areas_and_stand_in_pairs() -> None:
    drawn = [*mistakes.curves(fixtures.normal(), "logistic")]
    assert [each.title for each in drawn] == [
        "ROC curve, logistic",
        "Precision–recall curve, logistic",
        "Calibration, logistic",
    ]
    assert [line.label for line in drawn[0].lines] == [
        "reference, roc_auc 0.81230",
        "cpu, roc_auc 0.81230",
        "random scores",
    ]
    assert drawn[1].lines[0].label == "reference, average precision 0.60000"
    assert drawn[1].lines[-1].y == (0.25, 0.25), "the share of the positive class"
    widths = re.findall(r"stroke: var\(--v[01]\); stroke-width: ([\d.]+)", drawn[0].svg("n"))
    assert float(widths[0]) > float(widths[1]), "equal lines are both seen"


def texts(table: mistakes.ReportTable) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_a_matrix_has_recall_and_precision_and_is_of_all_variants_that_agree() -> None:
    results = fixtures.of_classes()
    [table, *_] = mistakes.confusion_tables(results)
    assert table.caption == "True class by predicted class, logistic, reference, cpu"
    apart = fixtures.with_cell(
        results, "logistic", "cpu", diagnostics=Diagnostics(confusion=[[1.0] * 3] * 3)
    )
    [table, other, *_] = mistakes.confusion_tables(apart)
    assert (table.caption[-9:], other.caption[-5:]) == ("reference", ", cpu")
    rows = texts(table)
    assert rows[0] == ["a", "40", "2", "0", "0.9524"]
    assert rows[1] == ["b", "3", "50", "0.5", "0.9346"]
    assert rows[2][1:] == ["0", "0", "0", "–"]
    assert rows[3] == ["Precision", "0.9302", "0.9615", "0.0000", ""]


def test_residuals_are_told_by_their_quantiles() -> None:
    [row, *_] = texts(mistakes.residual_table(fixtures.of_numbers()))
    assert row == ["logistic", "reference", "-9", *["–"] * 3, "0.2", *["–"] * 3, "17.5"]
