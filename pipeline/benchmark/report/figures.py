"""Geometry of the three kinds of figure, in per cent of the width; a template draws it.

Positions in per cent let a figure follow the width of the page while its text
keeps its size, on paper and on a phone.


Axes of the figures: values to per cent of the width, and round ticks.

Figures of quality against time, and of what the runs used as they went on.

The panel of scaling: times at several sizes, cost models, where one variant overtakes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.benchmark.report.format import MISSING, integer, metric, seconds
from pipeline.benchmark.report.tables import TONES, Row, Table, TableCell, pairs, row
from pipeline.benchmark.results import STAGES, Cell, Results
from pipeline.benchmark.scaling import (
    FEWEST,
    FOR_POWER,
    GOOD,
    POOR,
    BreakEven,
    Curve,
    Model,
    curve,
    model,
    overtaking,
)
from pipeline.benchmark.statistics import OTHER, REFERENCE, Ratio, Speed, measured, speed, stages

HUES = 5
"""Accent colours that the style sheet knows."""


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
class Segment:
    """One stage of a stacked bar."""

    stage: str
    left: float
    width: float
    text: str


@dataclass(frozen=True)
class Bar:
    """One stacked bar; `text` says its total."""

    label: str
    hue: int
    segments: tuple[Segment, ...]
    text: str

    @property
    def words(self) -> str:
        """All segments in words."""
        return ", ".join(segment.text for segment in self.segments)


@dataclass(frozen=True)
class Marks:
    """Dots and intervals on one axis; `one` is where the ratio is 1, if it is of ratios."""

    title: str
    rows: tuple[Mark, ...]
    ticks: tuple[Tick, ...]
    one: float | None = None

    @property
    def description(self) -> str:
        """The figure in words, for those who do not see it."""
        return "; ".join(f"{mark.label}: {mark.text}" for mark in self.rows)


@dataclass(frozen=True)
class Bars:
    """Stacked bars on one axis."""

    title: str
    rows: tuple[Bar, ...]
    ticks: tuple[Tick, ...]

    @property
    def description(self) -> str:
        """The figure in words, for those who do not see it."""
        return "; ".join(f"{bar.label}: {bar.text}, of which {bar.words}" for bar in self.rows)


def hue(results: Results, variant: str) -> int:
    """Return the number of a variant's accent colour: its place among the variants."""
    return [item.name for item in results.variants].index(variant) % HUES


def run_figures(results: Results) -> list[Marks]:
    """Return one figure per pipeline: every timed run as a dot, on an axis from 0."""
    return [figure for pipeline in results.pipelines if (figure := _runs(results, pipeline.name))]


def _runs(results: Results, pipeline: str) -> Marks | None:
    found = [
        (variant.name, cell, item)
        for variant in results.variants
        if (cell := measured(results, pipeline, variant.name))
        and (item := speed(results, pipeline, variant.name))
    ]
    if not found:
        return None
    axis = Linear(max(item.maximum for _, _, item in found))
    rows = (_run(name, hue(results, name), cell, item, axis) for name, cell, item in found)
    return Marks(f"Timed runs of {pipeline}, in seconds", tuple(rows), axis.ticks())


def _run(label: str, number: int, cell: Cell, found: Speed, axis: Linear) -> Mark:
    return Mark(
        label,
        number,
        tuple(axis(run.total) for run in cell.runs),
        axis(found.minimum),
        axis(found.maximum),
        axis(found.median),
        f"median {seconds(found.median)} s, n={found.n}",
    )


def ratio_figure(results: Results) -> Marks | None:
    """Return the intervals of all time ratios on one logarithmic axis, or None."""
    found = [
        (f"{pipeline}, {variant}", hue(results, variant), item.ratio)
        for pipeline, variant in pairs(results)
        if (item := speed(results, pipeline, variant)) and item.ratio
    ]
    if not found:
        return None
    ends = [end for _, _, ratio in found for end in (ratio.value, *(ratio.interval or ()))]
    axis = Logarithmic(min(ends), max(ends))
    rows = tuple(_interval(label, number, ratio, axis) for label, number, ratio in found)
    return Marks("Time ratio to the reference, with its interval", rows, axis.ticks(), axis(1.0))


def _interval(label: str, number: int, ratio: Ratio, axis: Logarithmic) -> Mark:
    low, high = ratio.interval or (ratio.value, ratio.value)
    text, tone = f"{ratio.value:.3f}, {ratio.outcome}", TONES.get(ratio.outcome, "")
    return Mark(label, number, (), axis(low), axis(high), axis(ratio.value), text, tone)


def stage_figures(results: Results) -> list[Bars]:
    """Return one figure per pipeline: a stacked bar of stages for each variant."""
    return [figure for pipeline in results.pipelines if (figure := _stages(results, pipeline.name))]


def _stages(results: Results, pipeline: str) -> Bars | None:
    found = [
        (variant.name, parts)
        for variant in results.variants
        if (parts := stages(results, pipeline, variant.name))
    ]
    if not found:
        return None
    axis = Linear(max(sum(max(part, 0.0) for part in parts.values()) for _, parts in found))
    rows = (_bar(name, hue(results, name), parts, axis) for name, parts in found)
    return Bars(f"Stages of {pipeline}, in seconds", tuple(rows), axis.ticks())


def _bar(label: str, number: int, parts: dict[str, float], axis: Linear) -> Bar:
    segments, start = [], 0.0
    for stage in (*STAGES, OTHER):
        end = start + max(parts[stage], 0.0)
        if end > start:
            text = f"{stage} {seconds(parts[stage])} s"
            segments.append(Segment(stage, axis(start), round(axis(end) - axis(start), 2), text))
        start = end
    return Bar(label, number, tuple(segments), f"{seconds(sum(parts.values()))} s")


MOST_TICKS = 7

_COARSE = tuple(lead * 10.0**power for power in range(-6, 7) for lead in (1, 2, 5))
_FINE = tuple(round(step / 10, 1) for step in range(2, 31))


@dataclass(frozen=True)
class Tick:
    """A mark on an axis, at a per cent of the width."""

    at: float
    label: str


def place(part: float) -> float:
    """Return the per cent of the width that shows a part, 0 to 1, of an axis."""
    return round(100 * part, 2)


@dataclass(frozen=True)
class Linear:
    """An axis from 0 to `upper`."""

    upper: float

    def __call__(self, value: float) -> float:
        """Return the per cent of the width for a value."""
        return place(value / self.upper if self.upper > 0 else 0.0)

    def ticks(self) -> tuple[Tick, ...]:
        """Return about five round values from 0 on.

        Examples
        --------
        >>> [tick.label for tick in Linear(2.3).ticks()]
        ['0', '0.5', '1', '1.5', '2']
        """
        if self.upper <= 0:
            return (Tick(self(0), "0"),)
        step = next(c for c in _decades(self.upper) if self.upper / c <= MOST_TICKS - 1)
        values = [step * i for i in range(int(self.upper / step + 1e-9) + 1)]
        return tuple(Tick(self(value), f"{value:.6g}") for value in values)


def _decades(upper: float) -> tuple[float, ...]:
    base = 10.0 ** math.floor(math.log10(upper))
    return tuple(base * factor for factor in (0.2, 0.5, 1, 2))


@dataclass(frozen=True)
class Span:
    """An axis over `low` to `high`, with some room, that need not hold 0."""

    low: float
    high: float

    def _ends(self) -> tuple[float, float]:
        room = 0.08 * (self.high - self.low) or 0.01 * abs(self.low) or 1.0
        return self.low - room, self.high + room

    def __call__(self, value: float) -> float:
        """Return the per cent of the axis for a value."""
        start, end = self._ends()
        return place((value - start) / (end - start))

    def ticks(self) -> tuple[Tick, ...]:
        """Return about five round values.

        Examples
        --------
        >>> [tick.label for tick in Span(0.781, 0.812).ticks()]
        ['0.78', '0.79', '0.8', '0.81']
        """
        start, end = self._ends()
        step = next(c for c in _decades(end - start) if (end - start) / c <= MOST_TICKS - 1)
        values = [step * i for i in range(math.ceil(start / step), math.floor(end / step) + 1)]
        return tuple(Tick(self(value), f"{value:.6g}") for value in values)


@dataclass(frozen=True)
class Logarithmic:
    """A logarithmic axis that holds `low`, `high` and 1, all greater than 0."""

    low: float
    high: float

    def _ends(self) -> tuple[float, float]:
        low, high = min(self.low, 1.0), max(self.high, 1.0)
        room = max((high / low) ** 0.08, 1.05)
        return math.log(low / room), math.log(high * room)

    def __call__(self, value: float) -> float:
        """Return the per cent of the width for a value."""
        start, end = self._ends()
        return place((math.log(value) - start) / (end - start))

    def ticks(self) -> tuple[Tick, ...]:
        """Return a few round values, 1 among them.

        Examples
        --------
        >>> [tick.label for tick in Logarithmic(0.04, 1.2).ticks()]
        ['0.05', '0.1', '0.2', '0.5', '1']
        """
        start, end = self._ends()
        within = [
            v for v in (_FINE if end - start < 1.5 else _COARSE) if start <= math.log(v) <= end
        ]
        every = math.ceil(len(within) / MOST_TICKS)
        kept = [v for i, v in enumerate(within) if (i - within.index(1.0)) % every == 0]
        return tuple(Tick(self(value), f"{value:g}") for value in kept)


@dataclass(frozen=True)
class Decades:
    """A logarithmic axis over `low` to `high`, both greater than 0, with some room."""

    low: float
    high: float

    def _ends(self) -> tuple[float, float]:
        room = max((self.high / self.low) ** 0.06, 1.1)
        return math.log(self.low / room), math.log(self.high * room)

    def __call__(self, value: float) -> float:
        """Return the per cent of the axis for a value."""
        start, end = self._ends()
        return place((math.log(value) - start) / (end - start))

    def ticks(self, most: int = MOST_TICKS) -> tuple[Tick, ...]:
        """Return round values, the fewer the longer the axis.

        Examples
        --------
        >>> [tick.label for tick in Decades(20_000, 300_000).ticks()]
        ['20k', '50k', '100k', '200k']
        >>> [tick.label for tick in Decades(0.2, 40).ticks()]
        ['0.3', '1', '3', '10', '30']
        """
        start, end = self._ends()
        for leads in ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 5), (1, 3), (1,)):
            values = [lead * 10.0**power for power in range(-6, 12) for lead in leads]
            kept = [v for v in values if start <= math.log(v) <= end]
            if len(kept) <= most:
                break
        return tuple(Tick(self(value), short(value)) for value in kept)


def short(value: float) -> str:
    """Write a round number with k or M for thousands and millions.

    Examples
    --------
    >>> short(0.5), short(20_000), short(3e6)
    ('0.5', '20k', '3M')
    """
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:g}{letter}"
    return f"{value:g}"


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
    for pipeline, variant in pairs(results):
        cell, found = measured(results, pipeline, variant), speed(results, pipeline, variant)
        if cell and found and name in cell.metrics:
            yield pipeline, variant, found.median, cell.metrics[name]


def _frontier_row(one: _Point, every: Sequence[_Point], *, falling: bool) -> Row:
    sign = -1 if falling else 1
    beaten = [
        other
        for other in every
        if other[2] <= one[2]
        and sign * other[3] >= sign * one[3]
        and (other[2], other[3]) != (one[2], one[3])
    ]
    place = TableCell("on it", "good")
    if beaten:
        best = min(beaten, key=lambda other: other[2])
        place = TableCell(f"behind {best[1]} on {best[0]}", "quiet")
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
    pipeline, _, time, value = point
    at = down(y(value))
    return Dot(x(time), at, at, at, f"{pipeline}: {metric(value)} in {seconds(time)} s", pipeline)


def use_figures(results: Results) -> list[Lines]:
    """Return, for each pipeline, busy processors over the last timed run, and the GPU's use."""
    return [figure for pipeline in results.pipelines for figure in _use(results, pipeline.name)]


def _use(results: Results, pipeline: str) -> Iterator[Lines]:
    cells = [
        (v.name, cell.trace)
        for v in results.variants
        if (cell := measured(results, pipeline, v.name)) and cell.trace
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
            yield _lines(results, f"{what}, {pipeline}, over the seconds of the run", series)


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


HOW = "python -m pipeline compare {task} --sizes 0.1,0.3,1.0"
HEIGHT = 260
_PIECES = 40


@dataclass(frozen=True)
class Dot:
    """The median at one size, and the range of the runs."""

    x: float
    y: float
    low: float
    high: float
    text: str
    label: str = ""


@dataclass(frozen=True)
class Line:
    """One variant: its medians, and the curve of its model in straight pieces."""

    label: str
    hue: int
    dots: tuple[Dot, ...]
    pieces: tuple[tuple[float, float, float, float], ...]
    words: str = ""

    @property
    def text(self) -> str:
        """The line in words."""
        return self.words or ", ".join(dot.text for dot in self.dots)


@dataclass(frozen=True)
class Lines:
    """Curves on two logarithmic axes; positions across in per cent, down in pixels."""

    title: str
    rows: tuple[Line, ...]
    across: tuple[Tick, ...]
    down: tuple[Tick, ...]
    height: int = HEIGHT

    @property
    def description(self) -> str:
        """The figure in words, for those who do not see it."""
        return "; ".join(f"{line.label}: {line.text}" for line in self.rows)


def note(results: Results) -> str:
    """Say how to measure other sizes, where none were."""
    if results.points:
        return ""
    return "No other sizes were measured; to do so: " + HOW.format(task=results.task.name)


def figures(results: Results) -> list[Lines]:
    """Return one figure per pipeline that was measured at several sizes."""
    return [figure for pipeline in results.pipelines if (figure := _figure(results, pipeline.name))]


def _curves(results: Results, pipeline: str) -> dict[str, Curve]:
    found = {v.name: curve(results, pipeline, v.name) for v in results.variants}
    return {name: each for name, each in found.items() if each}


def _figure(results: Results, pipeline: str) -> Lines | None:
    found = _curves(results, pipeline)
    if not found:
        return None
    every = [time for each in found.values() for runs in each.runs for time in runs]
    rows = [n for each in found.values() for n in each.rows]
    if min(every) <= 0:
        return None
    x, y = Decades(min(rows), max(rows)), Decades(min(every), max(every))
    lines = (_size_line(name, hue(results, name), each, x, y) for name, each in found.items())
    marks = tuple(Tick(down(tick.at), tick.label) for tick in y.ticks(5))
    return Lines(f"Seconds of {pipeline} over training rows", tuple(lines), x.ticks(5), marks)


def down(at: float) -> float:
    """Return the pixels from the top for a per cent of the height."""
    return round(HEIGHT * (1 - at / 100), 1)


def _size_line(label: str, number: int, found: Curve, x: Decades, y: Decades) -> Line:
    dots = tuple(
        Dot(
            x(n),
            down(y(median)),
            down(y(min(runs))),
            down(y(max(runs))),
            f"{seconds(median)} s at {integer(n)} rows",
        )
        for n, median, runs in zip(found.rows, found.medians, found.runs, strict=True)
    )
    return Line(label, number, dots, _pieces(found, x, y))


def _pieces(found: Curve, x: Decades, y: Decades) -> tuple[tuple[float, float, float, float], ...]:
    fitted = model(found)
    if fitted is None or fitted.miss > POOR:
        return ()
    rows = np.geomspace(found.rows[0], found.rows[-1], _PIECES)
    # A model may leave the figure by as much as it misses.
    values = np.clip(fitted(rows), y.low, y.high)
    points = [(x(n), down(y(t))) for n, t in zip(rows.tolist(), values.tolist(), strict=True)]
    return tuple((*one, *two) for one, two in zip(points, points[1:], strict=False))


def table(results: Results) -> Table:
    """Return the median seconds at each size, one row per pipeline and variant."""
    rows = sorted({n for s, v in pairs(results) if (c := curve(results, s, v)) for n in c.rows})
    return Table(
        "Median seconds at each size",
        ("Spec", "Variant", *(f"{integer(n)} rows" for n in rows)),
        "ll" + "r" * len(rows),
        tuple(
            row(pipeline, variant, *_medians(results, pipeline, variant, rows))
            for pipeline, variant in pairs(results)
            if curve(results, pipeline, variant)
        ),
        "Rows to train; the test rows are cut in the same share. " + _failures(results),
    )


def _medians(results: Results, pipeline: str, variant: str, rows: list[int]) -> list[str]:
    found = curve(results, pipeline, variant)
    times = dict(zip(found.rows, found.medians, strict=True)) if found else {}
    return [seconds(times[n]) if n in times else MISSING for n in rows]


def _failures(results: Results) -> str:
    lost = [p for p in results.points if p.status != "ok"]
    return " ".join(
        f"{p.variant} on {p.pipeline} failed at size {p.size:g}: {p.why}." for p in lost
    )


def model_table(results: Results) -> Table:
    """Return the cost models and the break-even sizes."""
    return Table(
        "What a row costs, and where one overtakes the other",
        (
            "Spec",
            "Variant",
            "Model of the seconds",
            "Largest miss",
            "Break-even with the reference",
        ),
        "llrrl",
        tuple(
            _model_row(results, pipeline, variant, found)
            for pipeline, variant in pairs(results)
            if (found := curve(results, pipeline, variant))
        ),
        "A start plus a price for each training row, fitted to the medians; a power of the rows "
        f"is taken where there are {FOR_POWER} sizes or more, the line misses a median by more "
        f"than {100 * GOOD:g} %, and the power by less than half of that. Break-even: where they "
        "cross, with the central 95 % of resampled runs. Nothing is said beyond these sizes.",
    )


def _model_row(results: Results, pipeline: str, variant: str, found: Curve) -> Row:
    fitted, crossing = model(found), overtaking(results, pipeline, variant)
    said = (
        TableCell("the reference", "quiet") if variant == REFERENCE else TableCell(_said(crossing))
    )
    if fitted is None:
        return row(pipeline, variant, f"fewer than {FEWEST} sizes", MISSING, said)
    return row(pipeline, variant, formula(fitted), f"{fitted.miss:.1%}".replace("%", " %"), said)


def formula(fitted: Model) -> str:
    """Write a model.

    >>> formula(Model(0.5, 2e-6, 1.0, 0.0)), formula(Model(0.0, 1e-6, 1.5, 0.0))
    ('0.500 s + 2 s per million', '0.000 s + 1e-06 s · rows^1.5')
    """
    if fitted.c == 1:
        return f"{seconds(fitted.a)} s + {1e6 * fitted.b:.3g} s per million"
    return f"{seconds(fitted.a)} s + {fitted.b:.3g} s · rows^{fitted.c:g}"


def _said(found: BreakEven | None) -> str:
    if found is None:
        return "no reference to compare"
    return sentence(found)


def sentence(found: BreakEven) -> str:
    """Write a break-even.

    >>> sentence(BreakEven(81234.0, (70123.0, 95000.0), True))
    'faster above 81,200 rows (95 % interval 70,100–95,000)'
    """
    if found.rows is None or found.interval is None:
        return found.why
    word = "faster" if found.faster_above else "slower"
    low, high = (integer(_three(end)) for end in found.interval)
    return f"{word} above {integer(_three(found.rows))} rows (95 % interval {low}–{high})"


def _three(value: float) -> int:
    """Round to three significant digits."""
    return int(float(f"{value:.3g}"))


def headlines(results: Results) -> list[str]:
    """Return a sentence on each break-even that there is."""
    found = [(s, v, overtaking(results, s, v)) for s, v in pairs(results)]
    return [
        f"{variant} on {pipeline}: {sentence(each)}."
        for pipeline, variant, each in found
        if each and each.rows is not None
    ]
