"""Figures of quality against time, and of what the runs used as they went on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.compare.report.axes import Decades, Linear, Span, Tick
from pipeline.compare.report.format import metric, seconds
from pipeline.compare.report.plots import hue
from pipeline.compare.report.sizes import HEIGHT, Dot, Line, Lines, down
from pipeline.compare.report.table import Cell, Row, Table, row
from pipeline.compare.report.tables import pairs
from pipeline.compare.results import Results
from pipeline.compare.statistics import measured, speed

_FALLING = ("loss", "error", "brier", "rmse", "mae", "mse", "deviance")
"""Words in the names of metrics of which less is better."""


def less_is_better(name: str) -> bool:
    """Tell whether a metric is better when it is smaller, by its name.

    >>> less_is_better("log_loss"), less_is_better("roc_auc")
    (True, False)
    """
    return any(word in name.lower() for word in _FALLING)


def frontier_table(results: Results) -> Table:
    """Return quality and time of all cells, and which of them no other one beats in both."""
    name = next(iter(results.task.margins), "")
    found = list(_points(results, name))
    rows = [_frontier_row(each, found, falling=less_is_better(name)) for each in found]
    return Table(
        f"{name} and time of every program and variant",
        ("Spec", "Variant", "Median, s", name, "Frontier"),
        "llrrl",
        tuple(rows) if name else (),
        "On the frontier: no other row is both faster and better. The margins of quality and the "
        "noise of the times are not in it.",
    )


_Point = tuple[str, str, float, float]


def _points(results: Results, name: str) -> Iterator[_Point]:
    for spec, variant in pairs(results):
        cell, found = measured(results, spec, variant), speed(results, spec, variant)
        if cell and found and name in cell.metrics:
            yield spec, variant, found.median, cell.metrics[name]


def _frontier_row(one: _Point, every: Sequence[_Point], *, falling: bool) -> Row:
    sign = -1 if falling else 1
    beaten = [
        other
        for other in every
        if other[2] <= one[2]
        and sign * other[3] >= sign * one[3]
        and (other[2], other[3]) != (one[2], one[3])
    ]
    place = Cell("on it", "good")
    if beaten:
        best = min(beaten, key=lambda other: other[2])
        place = Cell(f"behind {best[1]} on {best[0]}", "quiet")
    return row(one[0], one[1], seconds(one[2]), metric(one[3]), place)


def frontier_figure(results: Results) -> Lines | None:
    """Return quality over time, a dot for each cell; None where there are fewer than two."""
    name = next(iter(results.task.margins), "")
    found = list(_points(results, name))
    if len(found) < 2:
        return None
    times, values = [p[2] for p in found], [p[3] for p in found]
    # What is less than the margin apart should look so.
    room = results.task.margins[name]
    x, y = Decades(min(times), max(times)), Span(min(values) - room, max(values) + room)
    rows = []
    for variant in dict.fromkeys(point[1] for point in found):
        mine = [point for point in found if point[1] == variant]
        dots = tuple(_dot(point, x, y) for point in mine)
        rows.append(Line(variant, hue(results, variant), dots, ()))
    marks = tuple(Tick(down(tick.at), tick.label) for tick in y.ticks())
    better = "lower" if less_is_better(name) else "higher"
    title = f"{name} over seconds of a run; {better} and further left is better"
    return Lines(title, tuple(rows), x.ticks(5), marks)


def _dot(point: _Point, x: Decades, y: Span) -> Dot:
    spec, _, time, value = point
    at = down(y(value))
    return Dot(x(time), at, at, at, f"{spec}: {metric(value)} in {seconds(time)} s", spec)


def use_figures(results: Results) -> list[Lines]:
    """Return, for each spec, busy processors over the last timed run, and the GPU's use."""
    return [figure for spec in results.specs for figure in _use(results, spec.name)]


def _use(results: Results, spec: str) -> Iterator[Lines]:
    cells = [
        (v.name, cell.trace)
        for v in results.variants
        if (cell := measured(results, spec, v.name)) and cell.trace
    ]
    busy = {name: (t.seconds, t.processors) for name, t in cells}
    gpu = {name: (t.seconds, t.gpu_use) for name, t in cells if t.gpu_use}
    watts = {name: (t.seconds, t.watts) for name, t in cells if t.watts}
    kinds = {
        "Busy processors": busy,
        "Share of the GPU's time in use": gpu,
        "Watts of the GPU": watts,
    }
    for what, series in kinds.items():
        if series:
            yield _lines(results, f"{what}, {spec}, over the seconds of the run", series)


def _lines(
    results: Results, title: str, series: dict[str, tuple[list[float], list[float]]]
) -> Lines:
    x = Linear(max(seconds[-1] for seconds, _ in series.values()) or 1.0)
    y = Linear(max(max(values) for _, values in series.values()) or 1.0)
    rows = tuple(
        _line(name, hue(results, name), times, values, (x, y))
        for name, (times, values) in series.items()
    )
    ticks = tuple(Tick(down(tick.at), tick.label) for tick in y.ticks())
    return Lines(title, rows, x.ticks(), ticks, HEIGHT)


def _line(
    label: str, number: int, times: list[float], values: list[float], axes: tuple[Linear, Linear]
) -> Line:
    x, y = axes
    points = [(x(t), down(y(v))) for t, v in zip(times, values, strict=True)]
    pieces = tuple((*one, *two) for one, two in zip(points, points[1:], strict=False))
    words = f"{seconds(times[-1])} s, at most {max(values):.3g}"
    return Line(label, number, (), pieces, words)
