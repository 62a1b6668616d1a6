"""The figures of the report: bars for HTML and CSS, curves for matplotlib.

Bars stand in per cent of the page's width, so that their text keeps its size on a phone and on
paper. Curves are SVG with text as text and the colours of the style sheet; the same numbers give
the same bytes.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from pipeline.benchmark.judge.statistics import measured, speed
from pipeline.benchmark.record.results import Results
from pipeline.benchmark.report.html_table import how_fast, pairs
from pipeline.errors import clean
from pipeline.task.numerals import short

HUES = 5
"""Accent colours that the style sheet knows."""
MOST_DOTS = 400
"""Of a line; more are thinned out evenly."""
_INCHES = 5.0, 3.4
"""As wide as a phone: 360 pixels at 72 to the inch."""
_COLOURS = {
    "#000000": "currentColor",
    "#0000aa": "var(--soft)",
    "#0000bb": "var(--rule)",
    **{f"#0000f{number}": f"var(--v{number})" for number in range(HUES)},
}
"""What matplotlib draws with -> what the page shows, light or dark."""
_INK, _SOFT, _RULE = [*_COLOURS][:3]
_STYLE = {
    "svg.fonttype": "none",
    "font.size": 11,
    "axes.edgecolor": _SOFT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
    "axes.labelcolor": _SOFT,
    "grid.color": _RULE,
    "axes.axisbelow": True,
}
APART = 24
"""Per cent of an axis between two ticks."""
_FORMATS = {"both": "o-", "line": "-", "ideal": "--"}

T = TypeVar("T")
Floats = Sequence[float] | npt.NDArray[np.float64]


@dataclass(frozen=True)
class Bar:
    """A row of a figure: a value with what it ranges over, in per cent of the axis.

    `text` says it, `hue` is the number of an accent colour.
    """

    label: str
    text: str
    low: float
    middle: float
    high: float
    hue: int = 1
    tone: str = ""


@dataclass(frozen=True)
class Bars:
    """Bars under a title; ticks are per cent and labels, `one` is where the bars part."""

    title: str
    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]
    one: float


@dataclass(frozen=True)
class Line:
    """A line of a figure, or its dots with what they range over.

    `hue` is the number of an accent colour, or None for that of the text; `kind` is a key of
    `_FORMATS`.
    """

    label: str
    hue: int | None
    x: Floats
    y: Floats
    kind: str
    low: Floats = ()
    high: Floats = ()


@dataclass(frozen=True)
class Curves:
    """Lines over two axes; `across` names the first, `down` the second."""

    title: str
    lines: tuple[Line, ...]
    across: str
    down: str = ""
    log: bool = False

    @property
    def description(self) -> str:
        """The figure in words, for those who do not see it."""
        return "; ".join(
            f"{line.label}: {line.y[0]:.4g} at {line.x[0]:,.6g} to {line.y[-1]:.4g} at "
            f"{line.x[-1]:,.6g}"
            for line in self.lines
        )

    def svg(self, name: str) -> Markup:
        """Return the figure for an HTML page in which no other has this name."""
        return Markup(_named(_drawn(self, name), self, name))  # noqa: S704


@dataclass(frozen=True)
class Scale:
    """A logarithmic axis from `low` to `high`, in per cent, with some room at both ends.

    >>> Scale(1, 100)(10)
    50.0
    """

    low: float
    high: float

    def __call__(self, value: float) -> float:
        """Return the per cent of the axis at which a value stands."""
        room = max((self.high / self.low) ** 0.07, 1.1)
        start, end, at = (math.log(x) for x in (self.low / room, self.high * room, value))
        return round(100 * (at - start) / (end - start), 2)

    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Return round speeds that are `APART` per cent or more apart, of all the 1.

        >>> [label for _, label in Scale(0.2, 40).ticks()]
        ['5× slower', 'equal', '5× faster']
        """
        kept: dict[float, str] = {}
        for value in sorted(round_values(self.low, self.high, log=True), key=lambda v: v != 1):
            if all(abs(self(value) - other) >= APART for other in kept):
                kept[self(value)] = _speed_tick(value)
        return tuple(sorted(kept.items()))


def round_values(low: float, high: float, *, log: bool = False, most: int = 6) -> list[float]:
    """Return a few round values from `low` to `high`; 1 and its powers of ten on a log axis.

    Examples
    --------
    >>> round_values(0.0, 0.9), round_values(2_000, 300_000, log=True)
    ([0.0, 0.2, 0.4, 0.6, 0.8], [2000.0, 5000.0, 10000.0, 20000.0, 50000.0, 100000.0, 200000.0])
    """
    from matplotlib.ticker import LogLocator, MaxNLocator

    if not high > low:
        return [low]
    if log and high / low > 3:
        leads = (1.0, 2.0, 5.0) if high / low < 500 else (1.0,)
        found = LogLocator(subs=leads, numticks=10).tick_values(low, high)
    else:
        found = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    values = [float(f"{value:.6g}") for value in np.asarray(found)]
    return [value for value in values if low - 1e-9 * abs(low) <= value <= high]


def _drawn(curves: Curves, name: str) -> str:
    """Return what matplotlib draws; a name of its own keeps the ids of a page apart."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**_STYLE, "svg.hashsalt": name})
        figure = Figure(figsize=_INCHES, layout="constrained")
        axes = figure.add_subplot()
        for place, line in enumerate(curves.lines):
            later = sum(other.kind == line.kind for other in curves.lines[place + 1 :])
            _draw(axes, line, later)
        if curves.log:
            axes.set_xscale("log")
            axes.set_yscale("log")
        for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            values = round_values(low, high, log=curves.log)
            axis.set_ticks(values, [short(value) for value in values])
            axis.set_ticks([], minor=True)
        axes.grid(visible=True)
        axes.set_xlabel(curves.across)
        axes.set_ylabel(curves.down)
        sink = io.StringIO()
        none = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(sink, format="svg", transparent=True, metadata=none)
    return sink.getvalue()


def _draw(axes: Any, line: Line, later: int) -> None:
    """Draw a line, wider where others like it come later, so that equal ones are all seen."""
    kept = np.unique(np.linspace(0, len(line.x) - 1, MOST_DOTS).round().astype(int))
    x, y = np.asarray(line.x, float)[kept], np.asarray(line.y, float)[kept]
    colour = _SOFT if line.hue is None else f"#0000f{line.hue}"
    if len(line.low):
        ends = np.asarray([line.low, line.high], float)[:, kept]
        axes.vlines(x, *ends, color=colour, linewidth=1.2 + 1.6 * later)
    wider = 3.0 if line.kind == "line" else 1.6
    sizes = {"linewidth": 1.4 + wider * later, "markersize": 5 + 2.5 * later}
    axes.plot(x, y, _FORMATS[line.kind], color=colour, **sizes)


def _named(source: str, curves: Curves, name: str) -> str:
    """Return an SVG without what a page has itself: its head, colours, fonts and group names."""
    body = source[source.index("<svg") :]
    body = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->|<\?.*?\?>", "", body, flags=re.DOTALL)
    body = re.sub(r"<g id=\"[^\"]*\"", "<g", body).replace("xlink:href", "href")
    body = re.sub(r"; font-family: [^\";]*", "", body)
    for drawn, shown in _COLOURS.items():
        body = body.replace(drawn, shown)
    body = re.sub(r"\n\s*", "\n", body)
    title, description = map(Markup.escape, map(clean, (curves.title, curves.description)))
    size = " ".join(f"{72 * inches:g}" for inches in _INCHES)
    head = (
        f'<svg role="img" viewBox="0 0 {size}" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{title}</title><desc id="{name}-desc">{description}</desc>'
    )
    return head + body[body.index(">") + 1 :]


def hue(results: Results, variant: str) -> int:
    """Return the number of a variant's accent colour: its place among the variants."""
    return [item.name for item in results.variants].index(variant) % HUES


def each_pipeline(results: Results, draw: Callable[[Results, str], T | None]) -> list[T]:
    """Return what is drawn of each pipeline, where there is anything."""
    return [each for info in results.pipelines if (each := draw(results, info.name))]


def each_variant(results: Results, find: Callable[[str], T | None]) -> dict[str, T]:
    """Return what there is of each variant."""
    values = {variant.name: find(variant.name) for variant in results.variants}
    return {name: each for name, each in values.items() if each}


def speed_figure(results: Results) -> Bars | None:
    """Return the speed of all variants against the reference on one logarithmic axis, or None."""
    ratios = [
        (f"{pipeline}, {variant}", hue(results, variant), item.ratio)
        for pipeline, variant in pairs(results)
        if (item := speed(results, pipeline, variant)) and item.ratio
    ]
    if not ratios:
        return None
    ends = [1 / end for *_, ratio in ratios for end in (1.0, ratio.value, *(ratio.interval or ()))]
    scale = Scale(min(ends), max(ends))
    bars = []
    for label, number, ratio in ratios:
        low, high = ratio.interval or (ratio.value, ratio.value)
        said = how_fast(ratio)
        low, middle, high = map(scale, (1 / high, 1 / ratio.value, 1 / low))
        bars.append(Bar(label, said.text, low, middle, high, number, said.tone))
    title = "Speed against the reference, with its 95 % interval"
    return Bars(title, tuple(bars), scale.ticks(), scale(1.0))


def _speed_tick(value: float) -> str:
    if value == 1:
        return "equal"
    return f"{value:.3g}× faster" if value > 1 else f"{1 / value:.3g}× slower"


def size_figure(results: Results, pipeline: str) -> Curves | None:
    """Return the seconds over the rows of a pipeline that was measured at several sizes."""
    times = each_variant(results, lambda name: _by_rows(results, pipeline, name))
    if min((min(runs) for each in times.values() for runs in each.values()), default=0) <= 0:
        return None
    lines = []
    for name, each in times.items():
        medians, *ends = ([f(runs) for runs in each.values()] for f in (np.median, min, max))
        lines.append(Line(name, hue(results, name), [*each], medians, "both", *ends))
    title = f"Seconds of {pipeline} over training rows"
    return Curves(title, tuple(lines), "training rows", "seconds", log=True)


def _by_rows(results: Results, pipeline: str, variant: str) -> dict[int, list[float]]:
    """Return the seconds of each run by training rows; nothing where there is one size."""
    found = {
        point.rows_train: [run.total for run in point.runs]
        for point in results.points
        if (point.pipeline, point.variant, point.status) == (pipeline, variant, "ok") and point.runs
    }
    cell = measured(results, pipeline, variant)
    if found and cell is not None:
        found[results.task.rows_train] = [run.total for run in cell.runs]
    return dict(sorted(found.items()))
