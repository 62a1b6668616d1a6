"""Geometry of the three kinds of figure, in per cent of the width; a template draws it.

Positions in per cent let a figure follow the width of the page while its text
keeps its size, on paper and on a phone.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.compare.report.axes import Linear, Logarithmic, Tick
from pipeline.compare.report.format import seconds
from pipeline.compare.report.tables import TONES, pairs
from pipeline.compare.results import STAGES, Cell, Results
from pipeline.compare.statistics import OTHER, Ratio, Speed, measured, speed, stages

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
    """Return one figure per spec: every timed run as a dot, on an axis from 0."""
    return [figure for spec in results.specs if (figure := _runs(results, spec.name))]


def _runs(results: Results, spec: str) -> Marks | None:
    found = [
        (variant.name, cell, item)
        for variant in results.variants
        if (cell := measured(results, spec, variant.name))
        and (item := speed(results, spec, variant.name))
    ]
    if not found:
        return None
    axis = Linear(max(item.maximum for _, _, item in found))
    rows = (_run(name, hue(results, name), cell, item, axis) for name, cell, item in found)
    return Marks(f"Timed runs of {spec}, in seconds", tuple(rows), axis.ticks())


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
        (f"{spec}, {variant}", hue(results, variant), item.ratio)
        for spec, variant in pairs(results)
        if (item := speed(results, spec, variant)) and item.ratio
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
    """Return one figure per spec: a stacked bar of stages for each variant."""
    return [figure for spec in results.specs if (figure := _stages(results, spec.name))]


def _stages(results: Results, spec: str) -> Bars | None:
    found = [
        (variant.name, parts)
        for variant in results.variants
        if (parts := stages(results, spec, variant.name))
    ]
    if not found:
        return None
    axis = Linear(max(sum(max(part, 0.0) for part in parts.values()) for _, parts in found))
    rows = (_bar(name, hue(results, name), parts, axis) for name, parts in found)
    return Bars(f"Stages of {spec}, in seconds", tuple(rows), axis.ticks())


def _bar(label: str, number: int, parts: dict[str, float], axis: Linear) -> Bar:
    segments, start = [], 0.0
    for stage in (*STAGES, OTHER):
        end = start + max(parts[stage], 0.0)
        if end > start:
            text = f"{stage} {seconds(parts[stage])} s"
            segments.append(Segment(stage, axis(start), round(axis(end) - axis(start), 2), text))
        start = end
    return Bar(label, number, tuple(segments), f"{seconds(sum(parts.values()))} s")
