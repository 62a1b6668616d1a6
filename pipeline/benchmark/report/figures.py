"""The figures of the report: bars for HTML and CSS, curves for matplotlib.

Bars are in per cent of their box, so that their text keeps its size on a phone and on paper.
Curves are SVG with text as text and the colours of the style sheet; the same numbers give the
same bytes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from pipeline.benchmark.judge.statistics import OTHER, REFERENCE, measured, speed, stages
from pipeline.benchmark.judge.verdict import first_metric, ranked, verdict
from pipeline.benchmark.record.results import STAGES, Results
from pipeline.benchmark.report.html_table import TONES, TableCell, claim, span
from pipeline.errors import clean
from pipeline.task.numerals import beside_dummy, seconds, short

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
_FORMATS = {"both": "o-", "line": "-", "ideal": "--"}

T = TypeVar("T")
Floats = Sequence[float] | npt.NDArray[np.float64]


@dataclass(frozen=True)
class Stack:
    """The median time of a variant, in per cent of the longest bar of its pipeline.

    `parts` are number, start and width of each stage; `ends` are the interval's, if there is one.
    """

    label: str
    time: str
    parts: tuple[tuple[int, float, float], ...]
    ends: tuple[float, float] | None
    speed: TableCell
    span: str
    quality: TableCell | None


@dataclass(frozen=True)
class Stacks:
    """The stacks of each pipeline under its name and score; `stages` are named by their number."""

    title: str
    stages: tuple[tuple[int, str], ...]
    pipelines: tuple[tuple[str, str, tuple[Stack, ...]], ...]


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


def _drawn(curves: Curves, name: str) -> str:
    """Return what matplotlib draws; a name of its own keeps the ids of a page apart."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

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
            locator: Any = MaxNLocator(6, steps=[1, 2, 2.5, 5, 10])
            if curves.log and high / low > 3:
                locator = LogLocator(subs=(1, 2, 5) if high / low < 500 else (1,), numticks=10)
            axis.set_major_locator(locator)
            axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
            axis.set_minor_locator(NullLocator())
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


def each_variant(results: Results, find: Callable[[str], T | None]) -> dict[str, T]:
    """Return what there is of each variant."""
    values = {variant.name: find(variant.name) for variant in results.variants}
    return {name: each for name, each in values.items() if each}


def stage_figure(results: Results) -> Stacks | None:
    """Return the median time of each variant as stacked stages, or None if nothing was timed."""
    pipelines = []
    for name in ranked(results):
        if stacks := _stacks(results, name):
            first = first_metric(results, name)
            score = beside_dummy(*first, results.baseline) if first else ""
            pipelines.append((name, score, stacks))
    if not pipelines:
        return None
    seen = {part[0] for *_, stacks in pipelines for stack in stacks for part in stack.parts}
    names = [(number, name) for number, name in enumerate((*STAGES, OTHER)) if number in seen]
    return Stacks("Median time of one run, by stage", tuple(names), tuple(pipelines))


def _stacks(results: Results, pipeline: str) -> tuple[Stack, ...]:
    """Return a bar for each variant that was timed; the longest, with its interval, fills 100 %."""
    lines = {line.variant: line for line in verdict(results).headlines if line.pipeline == pipeline}
    timed = each_variant(results, lambda variant: speed(results, pipeline, variant))
    base = timed[REFERENCE].median if REFERENCE in timed else 0.0
    intervals = {
        variant: [base * end for end in each.ratio.interval]
        for variant, each in timed.items()
        if each.ratio and each.ratio.interval
    }
    ends = [each.median for each in timed.values()] + [high for _, high in intervals.values()]
    longest = max(ends, default=0.0)
    stacks = []
    for variant, each in timed.items():
        taken = [max(part, 0.0) for part in stages(results, pipeline, variant).values()]
        # Medians of stages can add up to more than the median of the totals, where the bar ends.
        scale = 100 * each.median / (sum(taken) or 1.0) / longest
        parts, start = [], 0.0
        for number, part in enumerate(taken):
            width = part * scale
            parts += [(number, round(start, 2), round(width, 2))] if width >= 0.01 else []
            start += width
        low, high = (round(100 * end / longest, 2) for end in intervals.get(variant, (0.0, 0.0)))
        line, ratio = lines.get(variant), each.ratio
        stacks.append(
            Stack(
                label=variant,
                time=f"{seconds(each.median)} s",
                parts=tuple(parts),
                ends=(low, high) if high else None,
                speed=claim(ratio, line.parity) if line else TableCell(""),
                span=span(ratio) if ratio and line and line.parity != "FAIL" else "",
                quality=TableCell(line.judged, TONES.get(line.parity, "quiet")) if line else None,
            )
        )
    return tuple(stacks)


def size_figure(results: Results, pipeline: str) -> Curves | None:
    """Return the seconds over the rows of a pipeline that was measured at several sizes."""
    times = each_variant(results, lambda name: _by_rows(results, pipeline, name))
    if not times:
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
