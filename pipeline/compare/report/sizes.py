"""The panel of scaling: times at several sizes, cost models, where one variant overtakes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipeline.compare.report.axes import Decades, Tick
from pipeline.compare.report.format import MISSING, integer, seconds
from pipeline.compare.report.plots import hue
from pipeline.compare.report.table import Cell, Row, Table, row
from pipeline.compare.report.tables import pairs
from pipeline.compare.results import Results
from pipeline.compare.scaling import (
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
from pipeline.compare.statistics import REFERENCE

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
    """Return one figure per spec that was measured at several sizes."""
    return [figure for spec in results.specs if (figure := _figure(results, spec.name))]


def _curves(results: Results, spec: str) -> dict[str, Curve]:
    found = {v.name: curve(results, spec, v.name) for v in results.variants}
    return {name: each for name, each in found.items() if each}


def _figure(results: Results, spec: str) -> Lines | None:
    found = _curves(results, spec)
    if not found:
        return None
    every = [time for each in found.values() for runs in each.runs for time in runs]
    rows = [n for each in found.values() for n in each.rows]
    if min(every) <= 0:
        return None
    x, y = Decades(min(rows), max(rows)), Decades(min(every), max(every))
    lines = (_line(name, hue(results, name), each, x, y) for name, each in found.items())
    marks = tuple(Tick(down(tick.at), tick.label) for tick in y.ticks(5))
    return Lines(f"Seconds of {spec} over training rows", tuple(lines), x.ticks(5), marks)


def down(at: float) -> float:
    """Return the pixels from the top for a per cent of the height."""
    return round(HEIGHT * (1 - at / 100), 1)


def _line(label: str, number: int, found: Curve, x: Decades, y: Decades) -> Line:
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
    """Return the median seconds at each size, one row per spec and variant."""
    rows = sorted({n for s, v in pairs(results) if (c := curve(results, s, v)) for n in c.rows})
    return Table(
        "Median seconds at each size",
        ("Spec", "Variant", *(f"{integer(n)} rows" for n in rows)),
        "ll" + "r" * len(rows),
        tuple(
            row(spec, variant, *_medians(results, spec, variant, rows))
            for spec, variant in pairs(results)
            if curve(results, spec, variant)
        ),
        "Rows to train; the test rows are cut in the same share. " + _failures(results),
    )


def _medians(results: Results, spec: str, variant: str, rows: list[int]) -> list[str]:
    found = curve(results, spec, variant)
    times = dict(zip(found.rows, found.medians, strict=True)) if found else {}
    return [seconds(times[n]) if n in times else MISSING for n in rows]


def _failures(results: Results) -> str:
    lost = [p for p in results.points if p.status != "ok"]
    return " ".join(f"{p.variant} on {p.spec} failed at size {p.size:g}: {p.why}." for p in lost)


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
            _model_row(results, spec, variant, found)
            for spec, variant in pairs(results)
            if (found := curve(results, spec, variant))
        ),
        "A start plus a price for each training row, fitted to the medians; a power of the rows "
        f"is taken where there are {FOR_POWER} sizes or more, the line misses a median by more "
        f"than {100 * GOOD:g} %, and the power by less than half of that. Break-even: where they "
        "cross, with the central 95 % of resampled runs. Nothing is said beyond these sizes.",
    )


def _model_row(results: Results, spec: str, variant: str, found: Curve) -> Row:
    fitted, crossing = model(found), overtaking(results, spec, variant)
    said = Cell("the reference", "quiet") if variant == REFERENCE else Cell(_said(crossing))
    if fitted is None:
        return row(spec, variant, f"fewer than {FEWEST} sizes", MISSING, said)
    return row(spec, variant, formula(fitted), f"{fitted.miss:.1%}".replace("%", " %"), said)


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
        f"{variant} on {spec}: {sentence(each)}."
        for spec, variant, each in found
        if each and each.rows is not None
    ]
