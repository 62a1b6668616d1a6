"""The figures of the report as geometry; a template draws them.

Positions across are in per cent, so that a figure follows the width of the page while its text
keeps its size, on paper and on a phone. Positions down are in pixels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from pipeline.benchmark.report.format import integer, seconds, short
from pipeline.benchmark.report.table import TONES, pairs
from pipeline.benchmark.results import STAGES, Cell, Results
from pipeline.benchmark.scaling import POOR, Curve, curve, model
from pipeline.benchmark.statistics import OTHER, Ratio, Speed, measured, speed, stages

HUES = 5
"""Accent colours that the style sheet knows."""
HEIGHT = 260
"""Of a figure with lines, in pixels."""
MOST_TICKS = 7
LEAST_APART = 12.0
"""Per cent of an axis between two ticks of a logarithmic one, so that their labels never meet."""
_PIECES = 40
_LEADS = ((1, 1.5, 2, 3, 4, 5, 6, 8, 9), (1, 2, 5), (1, 3), (1,))
"""Round numbers between powers of ten, the fewer the longer the axis."""

T = TypeVar("T")


@dataclass(frozen=True)
class Tick:
    """A mark on an axis, and where it stands."""

    at: float
    label: str


@dataclass(frozen=True)
class Axis:
    """An axis from `low` to `high`; a logarithmic one has some room at both ends."""

    low: float
    high: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the per cent of the axis at which a value stands."""
        start, end = self._ends()
        at = math.log(value) if self.log else value
        return round(100 * (at - start) / (end - start), 2) if end > start else 0.0

    def down(self, value: float) -> float:
        """Return the pixels from the top at which a value stands."""
        return round(HEIGHT * (1 - self(value) / 100), 1)

    def _ends(self) -> tuple[float, float]:
        if not self.log:
            return self.low, self.high
        room = max((self.high / self.low) ** 0.07, 1.1)
        return math.log(self.low / room), math.log(self.high * room)

    def ticks(self, most: int = MOST_TICKS, *, down: bool = False) -> tuple[Tick, ...]:
        """Return a few round values, placed across or down.

        Examples
        --------
        >>> [tick.label for tick in Axis(0, 2.3).ticks()]
        ['0', '0.5', '1', '1.5', '2']
        >>> [tick.label for tick in Axis(-0.3, 1.1).ticks()]
        ['0', '0.5', '1']
        >>> [tick.label for tick in Axis(20_000, 300_000, log=True).ticks()]
        ['20k', '50k', '100k', '200k']
        >>> [tick.label for tick in Axis(0.2, 40, log=True).ticks()]
        ['0.3', '1', '3', '10', '30']
        """
        values = self._powers(most) if self.log else self._steps(most)
        place = self.down if down else self
        return tuple(Tick(place(value), short(value)) for value in values)

    def _steps(self, most: int) -> list[float]:
        length = self.high - self.low
        if length <= 0:
            return [self.low]
        base = 10.0 ** math.floor(math.log10(length))
        step = next(base * f for f in (0.2, 0.5, 1, 2) if length / (base * f) < most - 1 + 1e-6)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [float(f"{step * i:.6g}") for i in range(first, last + 1)]

    def _powers(self, most: int) -> list[float]:
        start, end = self._ends()
        kept: list[float] = []
        for leads in _LEADS:
            values = [lead * 10.0**power for power in range(-6, 12) for lead in leads]
            kept = [v for v in values if start <= math.log(v) <= end]
            places = [self(value) for value in kept]
            apart = min((b - a for a, b in zip(places, places[1:], strict=False)), default=100.0)
            if len(kept) <= most and apart >= LEAST_APART:
                break
        return kept


@dataclass(frozen=True)
class Mark:
    """A row of a figure: dots, a line from `low` to `high`, a middle; `text` says it."""

    label: str
    hue: int
    dots: tuple[float, ...]
    low: float
    high: float
    middle: float
    text: str
    tone: str = ""


@dataclass(frozen=True)
class Group:
    """A row of several marks, one below the other; `top` is where it begins, in pixels."""

    label: str
    marks: tuple[Mark, ...]
    top: int

    @property
    def height(self) -> int:
        """Pixels."""
        return 30 + 12 * len(self.marks)

    @property
    def text(self) -> str:
        """The marks in words."""
        return ", ".join(f"{mark.label} {mark.text}" for mark in self.marks)


@dataclass(frozen=True)
class Segment:
    """One stage of a stacked bar."""

    stage: str
    left: float
    width: float
    text: str


@dataclass(frozen=True)
class Bar:
    """One stacked bar."""

    label: str
    segments: tuple[Segment, ...]
    total: str

    @property
    def text(self) -> str:
        """The bar in words."""
        return f"{self.total}, of which " + ", ".join(each.text for each in self.segments)


@dataclass(frozen=True)
class Dot:
    """The median at one size, and the range of the runs."""

    x: float
    y: float
    low: float
    high: float
    text: str


Pieces = tuple[tuple[float, float, float, float], ...]
"""Straight pieces of a line: x and y of one end, x and y of the other."""


@dataclass(frozen=True)
class Line:
    """One variant: its dots, and a line in straight pieces; without a hue, what would be ideal."""

    label: str
    hue: int | None
    dots: tuple[Dot, ...]
    pieces: Pieces
    text: str


@dataclass(frozen=True)
class Figure:
    """Rows under a title; `one` is where a ratio of 1 stands, `down` has ticks of a second axis."""

    title: str
    rows: tuple[Mark, ...] | tuple[Group, ...] | tuple[Bar, ...] | tuple[Line, ...]
    ticks: tuple[Tick, ...]
    one: float | None = None
    down: tuple[Tick, ...] = ()

    @property
    def height(self) -> int:
        """Pixels."""
        if self.down:
            return HEIGHT
        return sum(getattr(row, "height", 48) for row in self.rows) + 4

    @property
    def description(self) -> str:
        """The figure in words, for those who do not see it."""
        return "; ".join(f"{row.label}: {row.text}" for row in self.rows)


def hue(results: Results, variant: str) -> int:
    """Return the number of a variant's accent colour: its place among the variants."""
    return [item.name for item in results.variants].index(variant) % HUES


def run_figures(results: Results) -> list[Figure]:
    """Return one figure per pipeline: every timed run as a dot, on an axis from 0."""
    return each_pipeline(results, _runs)


def stage_figures(results: Results) -> list[Figure]:
    """Return one figure per pipeline: a stacked bar of stages for each variant."""
    return each_pipeline(results, _stages)


def size_figures(results: Results) -> list[Figure]:
    """Return one figure per pipeline that was measured at several sizes."""
    return each_pipeline(results, _sizes)


def each_pipeline(results: Results, draw: Callable[[Results, str], Figure | None]) -> list[Figure]:
    """Return what is drawn of each pipeline, where there is anything."""
    return [each for info in results.pipelines if (each := draw(results, info.name))]


def each_variant(results: Results, find: Callable[[str], T | None]) -> dict[str, T]:
    """Return what there is of each variant."""
    values = {variant.name: find(variant.name) for variant in results.variants}
    return {name: each for name, each in values.items() if each}


def _runs(results: Results, pipeline: str) -> Figure | None:
    speeds = each_variant(results, lambda name: speed(results, pipeline, name))
    if not speeds:
        return None
    axis = Axis(0, max(each.maximum for each in speeds.values()))
    rows = (
        _run_mark(name, hue(results, name), measured(results, pipeline, name), each, axis)
        for name, each in speeds.items()
    )
    return Figure(f"Timed runs of {pipeline}, in seconds", tuple(rows), axis.ticks())


def _run_mark(label: str, number: int, cell: Cell | None, timed: Speed, axis: Axis) -> Mark:
    return Mark(
        label,
        number,
        tuple(axis(run.total) for run in cell.runs) if cell else (),
        axis(timed.minimum),
        axis(timed.maximum),
        axis(timed.median),
        f"median {seconds(timed.median)} s, n={timed.n}",
    )


def ratio_figure(results: Results) -> Figure | None:
    """Return the intervals of all time ratios on one logarithmic axis, or None."""
    ratios = [
        (f"{pipeline}, {variant}", hue(results, variant), item.ratio)
        for pipeline, variant in pairs(results)
        if (item := speed(results, pipeline, variant)) and item.ratio
    ]
    if not ratios:
        return None
    ends = [end for _, _, ratio in ratios for end in (1.0, ratio.value, *(ratio.interval or ()))]
    axis = Axis(min(ends), max(ends), log=True)
    rows = tuple(_ratio_mark(label, number, ratio, axis) for label, number, ratio in ratios)
    return Figure("Time ratio to the reference, with its interval", rows, axis.ticks(), axis(1.0))


def _ratio_mark(label: str, number: int, ratio: Ratio, axis: Axis) -> Mark:
    low, high = ratio.interval or (ratio.value, ratio.value)
    text, tone = f"{ratio.value:.3f}, {ratio.outcome}", TONES.get(ratio.outcome, "")
    return Mark(label, number, (), axis(low), axis(high), axis(ratio.value), text, tone)


def _stages(results: Results, pipeline: str) -> Figure | None:
    every = each_variant(results, lambda name: stages(results, pipeline, name))
    if not every:
        return None
    axis = Axis(0, max(sum(max(part, 0.0) for part in parts.values()) for parts in every.values()))
    rows = tuple(_bar(name, parts, axis) for name, parts in every.items())
    return Figure(f"Stages of {pipeline}, in seconds", rows, axis.ticks())


def _bar(label: str, parts: dict[str, float], axis: Axis) -> Bar:
    segments, start = [], 0.0
    for stage in (*STAGES, OTHER):
        end = start + max(parts[stage], 0.0)
        if end > start:
            text = f"{stage} {seconds(parts[stage])} s"
            segments.append(Segment(stage, axis(start), round(axis(end) - axis(start), 2), text))
        start = end
    return Bar(label, tuple(segments), f"{seconds(sum(parts.values()))} s")


def use_figures(results: Results) -> list[Figure]:
    """Return, for each pipeline, busy processors over the last timed run, and the GPU's use."""
    return [figure for info in results.pipelines for figure in _use(results, info.name)]


def _use(results: Results, pipeline: str) -> Iterator[Figure]:
    cells = each_variant(results, lambda name: measured(results, pipeline, name))
    traces = {name: cell.trace for name, cell in cells.items() if cell.trace}
    kinds = {
        "Busy processors": {name: t.processors for name, t in traces.items()},
        "Share of the GPU's time in use": {name: t.gpu_use for name, t in traces.items()},
        "Watts of the GPU": {name: t.watts for name, t in traces.items()},
    }
    for what, values in kinds.items():
        series = {name: (traces[name].seconds, each) for name, each in values.items() if each}
        if series:
            yield _use_figure(results, f"{what}, {pipeline}, over the seconds of the run", series)


def _use_figure(
    results: Results, title: str, series: dict[str, tuple[list[float], list[float]]]
) -> Figure:
    x = Axis(0, max(times[-1] for times, _ in series.values()) or 1.0)
    y = Axis(0, max(max(values) for _, values in series.values()) or 1.0)
    rows = (
        Line(name, hue(results, name), (), join_points(zip(times, values, strict=True), x, y),
             f"{seconds(times[-1])} s, at most {max(values):.3g}")
        for name, (times, values) in series.items()
    )  # fmt: skip
    return Figure(title, tuple(rows), x.ticks(), down=y.ticks(down=True))


def join_points(points: Iterable[tuple[float, float]], x: Axis, y: Axis) -> Pieces:
    """Return the straight pieces between points of two axes."""
    placed = [(x(across), y.down(value)) for across, value in points]
    return tuple((*one, *two) for one, two in zip(placed, placed[1:], strict=False))


def _sizes(results: Results, pipeline: str) -> Figure | None:
    curves = each_variant(results, lambda name: curve(results, pipeline, name))
    times = [time for each in curves.values() for runs in each.runs for time in runs]
    if min(times, default=0) <= 0:
        return None
    rows = [n for each in curves.values() for n in each.rows]
    x, y = (Axis(min(ends), max(ends), log=True) for ends in (rows, times))
    lines = (_size_line(name, hue(results, name), each, x, y) for name, each in curves.items())
    title = f"Seconds of {pipeline} over training rows"
    return Figure(title, tuple(lines), x.ticks(5), down=y.ticks(5, down=True))


def _size_line(label: str, number: int, sizes: Curve, x: Axis, y: Axis) -> Line:
    dots = tuple(
        Dot(x(n), y.down(median), y.down(min(runs)), y.down(max(runs)),
            f"{seconds(median)} s at {integer(n)} rows")
        for n, median, runs in zip(sizes.rows, sizes.medians, sizes.runs, strict=True)
    )  # fmt: skip
    return Line(label, number, dots, _model(sizes, x, y), ", ".join(dot.text for dot in dots))


def _model(sizes: Curve, x: Axis, y: Axis) -> Pieces:
    fitted = model(sizes)
    if fitted is None or fitted.miss > POOR:
        return ()
    rows = np.geomspace(sizes.rows[0], sizes.rows[-1], _PIECES)
    # A model may leave the figure by as much as it misses.
    values: Sequence[float] = np.clip(fitted(rows), y.low, y.high).tolist()
    return join_points(zip(rows.tolist(), values, strict=True), x, y)
