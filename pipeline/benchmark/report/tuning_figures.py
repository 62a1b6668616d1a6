"""The figures of the tuning page as geometry: across in per cent, down in pixels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from pipeline.benchmark.report.figures import (
    HEIGHT,
    HUES,
    Axis,
    Bar,
    Figure,
    Pieces,
    Segment,
    Tick,
)
from pipeline.benchmark.report.format import metric, seconds, share, short
from pipeline.benchmark.report.tuning_numbers import (
    NOT_DRAWN,
    STATES,
    Best,
    climb,
    complete,
    counts,
    end,
    labels,
    short_names,
    sign,
    thinned,
    trial,
    value_of,
    written,
)
from pipeline.benchmark.tuning_record import (
    ParameterRecord,
    SearchRecord,
    TrialRecord,
    TuningRecord,
)

LANE = 28
MOST_SPOTS = 400
MOST_THREADS = 150
MOST_AXES = 8
"""Parameters in one figure of parallel coordinates."""
SHADES = 5
"""Colours, from the worst trials to the best."""
SLOWER = 10
"""Times the seconds of the quicker search, from which on a logarithmic axis shows both."""
_REACH = 2.0
"""How far below the median score the axis goes, in times of the best one's distance to it."""


@dataclass(frozen=True)
class Spot:
    """A trial: where it stands, and the shape that says how it ended."""

    x: float
    y: float
    shape: str
    text: str


@dataclass(frozen=True)
class Steps:
    """The best score so far, of one search."""

    label: str
    hue: int
    pieces: Pieces


@dataclass(frozen=True)
class Plot:
    """Scores over something: lines, spots, and a dashed line at the default's score."""

    title: str
    description: str
    across: str
    ticks: tuple[Tick, ...]
    down: tuple[Tick, ...]
    lines: tuple[Steps, ...]
    spots: tuple[Spot, ...] = ()
    default: float | None = None
    lane: int = 0
    """Pixels below the axis, for trials that have no place on it."""

    @property
    def height(self) -> int:
        """Pixels."""
        return HEIGHT + self.lane

    @property
    def shapes(self) -> list[str]:
        """How the trials ended, each once."""
        return list(dict.fromkeys(spot.shape for spot in self.spots))


@dataclass(frozen=True)
class Upright:
    """An axis of parallel coordinates: what stands above and below it."""

    at: float
    name: str
    about: str
    high: str
    low: str


@dataclass(frozen=True)
class Thread:
    """A trial across the axes; `shade` counts from 1, the worst; 0 has no score."""

    pieces: Pieces
    shade: int
    best: bool


@dataclass(frozen=True)
class Parallel:
    """Trials across upright axes, of which the last is the score."""

    title: str
    description: str
    axes: tuple[Upright, ...]
    threads: tuple[Thread, ...]
    left_out: tuple[str, ...]
    height: int = HEIGHT


def hue_of(record: TuningRecord, variant: str) -> int:
    """Return the number of a variant's accent colour; the first grey one is no variant's."""
    names = [each.name for each in record.variants]
    return (names.index(variant) + 1 if variant in names else 1) % HUES


def score_axis(values: Sequence[float], shown: Iterable[float], direction: int) -> Axis:
    """Return an axis with round ends for scores, which bad ones do not make long.

    Parameters
    ----------
    values : sequence of float
        Of which those that are worse than the median by much may have no place.
    shown : iterable of float
        Have a place.
    direction : int
        1 where higher is better, else -1.
    """
    signed = [direction * value for value in values]
    best, middle = max(signed), median(signed)
    least = max(min(signed), middle - _REACH * (best - middle))
    every = [best, least, *(direction * value for value in shown)]
    low, high = sorted((direction * min(every), direction * max(every)))
    span = max(high - low, 1e-3 * max(abs(low), abs(high)), 1e-9)
    if span > high - low:
        low, high = (low + high - span) / 2, (low + high + span) / 2
    return _rounded(low, high)


def _rounded(low: float, high: float) -> Axis:
    """Return an axis that begins and ends with a tick."""
    step, wider = 0.0, _round_step(high - low)
    while wider > step * (1 + 1e-6):
        step = wider
        low, high = math.floor(low / step + 1e-6) * step, math.ceil(high / step - 1e-6) * step
        wider = _round_step(high - low)
    return Axis(float(f"{low:.12g}"), float(f"{high:.12g}"))


def _round_step(span: float) -> float:
    base = 10.0 ** math.floor(math.log10(span))
    return next(base * f for f in (0.2, 0.5, 1, 2) if span / (base * f) <= 5 + 1e-6)


def history_figure(record: TuningRecord, search: SearchRecord) -> Plot | None:
    """Return each trial over its number, with the best score so far."""
    if not (scored := complete(search)) or len(search.trials) < 2:
        return None
    default = trial(search, search.default)
    shown = [each.score for each in (default, trial(search, search.best)) if each]
    kept = [value for value in shown if value is not None]
    y = score_axis(
        [score for each in scored if (score := each.score) is not None], kept, sign(record)
    )
    last = search.trials[-1].number
    x = Axis(-0.5, last + 0.5)
    spots = tuple(_spots(search, x, y, record.protocol.metric))
    steps = climb(search, sign(record), by_time=False)
    points = [(x(each.number), y.down(each.score)) for each in steps]
    line = Steps("best so far", hue_of(record, search.variant), stairs(points, x(last)))
    return Plot(
        f"Trials of {search.pipeline}, {search.variant}: {record.protocol.metric} by number",
        _told(record, search),
        "number of the trial",
        tuple(Tick(x(n), str(n)) for n in _numbers(last)),
        y.ticks(6, down=True),
        (line,),
        spots,
        y.down(default.score) if default and default.score is not None else None,
        LANE if any(spot.y > HEIGHT for spot in spots) else 0,
    )


def _numbers(last: int) -> list[int]:
    """Return a few round numbers of trials."""
    step = next(s * 10**p for p in range(9) for s in (1, 2, 5) if last / (s * 10**p) <= 6)
    return list(range(0, last + 1, step))


def _spots(search: SearchRecord, x: Axis, y: Axis, name: str) -> Iterator[Spot]:
    kept = thinned(search.trials, MOST_SPOTS)
    best = trial(search, search.best)
    for each in [*kept, *([best] if best and best not in kept else [])]:
        value = each.score if each.score is not None else (fmean(each.folds or [math.nan]))
        shape, down = _shape(search, each), HEIGHT + LANE / 2
        if each.state != "failed" and y.low <= value <= y.high:
            down = y.down(value)
        elif shape == "complete":
            shape = "beyond"
        yield Spot(x(each.number), down, shape, _said(each, name))


def _shape(search: SearchRecord, each: TrialRecord) -> str:
    if each.number == search.best:
        return "best"
    return STATES[each.state]


def _said(each: TrialRecord, name: str) -> str:
    if each.score is not None:
        return f"trial {each.number}: {name} {metric(each.score)}"
    return f"trial {each.number}: {'; '.join(filter(None, (STATES[each.state], each.reason)))}"


def _told(record: TuningRecord, search: SearchRecord) -> str:
    """Describe the history of a search."""
    steps = climb(search, sign(record), by_time=False)
    return (
        f"{len(search.trials)} trials: {counts(search)}. "
        f"Best so far: {', '.join(f'{metric(s.score)} at trial {s.number}' for s in steps)}."
    )


def stairs(points: Sequence[tuple[float, float]], to: float) -> Pieces:
    """Return a line that stays at each point's height until the next one, and ends at `to`."""
    pieces: list[tuple[float, float, float, float]] = []
    ends = [*(x for x, _ in points[1:]), to]
    for i, ((x, y), after) in enumerate(zip(points, ends, strict=True)):
        pieces.append((x, y, after, y))
        if i + 1 < len(points):
            pieces.append((after, y, after, points[i + 1][1]))
    return tuple(pieces)


def seconds_figure(record: TuningRecord, searches: Sequence[SearchRecord]) -> Plot | None:
    """Return the best score so far over the seconds of each search of a pipeline."""
    climbs = {each.variant: climb(each, sign(record)) for each in searches}
    climbs = {name: steps for name, steps in climbs.items() if steps}
    if not climbs or max(len(each.trials) for each in searches) < 2:
        return None
    took = {each.variant: max(each.seconds, climbs[each.variant][-1].seconds)
            for each in searches if each.variant in climbs}  # fmt: skip
    default = _default_score(searches)
    scores = [step.score for steps in climbs.values() for step in steps]
    y = score_axis(scores, [*(steps[-1].score for steps in climbs.values()),
                            *([] if default is None else [default])], sign(record))  # fmt: skip
    x = _time_axis(climbs, took)
    lines = tuple(
        Steps(name, hue_of(record, name), _over_time(steps, took[name], x, y))
        for name, steps in climbs.items()
    )
    return Plot(
        f"Best {record.protocol.metric} so far of {searches[0].pipeline}, over seconds",
        "; ".join(f"{name}: {_told_times(steps)}" for name, steps in climbs.items()) + ".",
        "seconds of the search" + (", logarithmic" if x.log else ""),
        x.ticks(),
        y.ticks(6, down=True),
        lines,
        default=None if default is None else y.down(default),
    )


def _default_score(searches: Iterable[SearchRecord]) -> float | None:
    found = [trial(each, each.default) for each in searches]
    return next((each.score for each in found if each and each.score is not None), None)


def _time_axis(climbs: Mapping[str, Sequence[Best]], took: Mapping[str, float]) -> Axis:
    first = min(steps[0].seconds for steps in climbs.values())
    if first > 0 and max(took.values()) > SLOWER * min(took.values()):
        return Axis(first, max(took.values()), log=True)
    return Axis(0, max(took.values()) or 1.0)


def _over_time(steps: Sequence[Best], until: float, x: Axis, y: Axis) -> Pieces:
    kept = [each for each in steps if y.low <= each.score <= y.high]
    return stairs([(x(each.seconds), y.down(each.score)) for each in kept], x(until))


def _told_times(steps: Iterable[Best]) -> str:
    return ", ".join(f"{metric(each.score)} after {seconds(each.seconds)} s" for each in steps)


def importance_figure(search: SearchRecord) -> Figure | None:
    """Return a bar for each parameter that the scores depend on."""
    if len(search.importances) < 2:
        return None
    names = short_names([*search.importances])
    axis = Axis(0, max([*search.importances.values(), 1e-9]))
    bars = (
        Bar(names[name], (Segment("importance", 0, axis(value), share(value)),), share(value))
        for name, value in search.importances.items()
    )
    ticks = tuple(Tick(axis(tick), f"{tick:.0%}".replace("%", " %")) for tick in _shares(axis.high))
    title = f"Importance of the parameters of {search.pipeline}, {search.variant}"
    return Figure(title, tuple(bars), ticks)


def _shares(high: float) -> list[float]:
    step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 1) if high / s <= 5)
    return [i * step for i in range(math.floor(high / step + 1e-9) + 1)]


def parallel_figure(record: TuningRecord, search: SearchRecord) -> Parallel | None:
    """Return the trials across the most important parameters and the score."""
    every = record.spaces.get(search.pipeline, [])
    space = dict(zip(labels(every), every, strict=True))
    if len(scored := complete(search)) < 2 or not space:
        return None
    order = sorted(space, key=lambda name: -search.importances.get(name, 0.0))
    names, shown = short_names([*space]), order[:MOST_AXES]
    chosen = [space[name] for name in shown]
    values = [score for each in scored if (score := each.score) is not None]
    y = score_axis(values, [], sign(record))
    step = 100 / len(chosen)
    axes = [_upright(space[name], names[name], i * step) for i, name in enumerate(shown)]
    axes.append(Upright(100.0, record.protocol.metric, _which(record), short(y.high), short(y.low)))
    ranks = sorted(scored, key=lambda each: sign(record) * (each.score or 0.0))
    stopped = [each for each in search.trials if each.state == "pruned"]
    drawn = [*thinned(stopped, MOST_THREADS), *thinned(ranks, MOST_THREADS)]
    shades = {each.number: 1 + i * SHADES // len(ranks) for i, each in enumerate(ranks)}
    threads = (
        Thread(_pieces(each, chosen, y, step),
               shades.get(each.number, 0), each.number == search.best)
        for each in drawn
    )  # fmt: skip
    return Parallel(
        f"Parameters of {search.pipeline}, {search.variant}, and the score of each trial",
        _told_best(search, axes, chosen),
        tuple(axes),
        tuple(threads),
        tuple(names[name] for name in order[MOST_AXES:]),
    )


def _which(record: TuningRecord) -> str:
    return "less is better" if sign(record) < 0 else "more is better"


def _upright(parameter: ParameterRecord, name: str, at: float) -> Upright:
    if parameter.kind != "choice":
        about = "logarithmic" if parameter.log else ""
        return Upright(at, name, about, end(parameter.high), end(parameter.low))
    first, last = written(parameter.choices[0]), written(parameter.choices[-1])
    between = len(parameter.choices) - 2
    about = f"{between} more between" if between > 0 else ""
    return Upright(at, name, about, last if between > -1 else "", first)


def _told_best(
    search: SearchRecord, axes: Sequence[Upright], chosen: Sequence[ParameterRecord]
) -> str:
    best = trial(search, search.best)
    ranges = ", ".join(f"{axis.name} from {axis.low} to {axis.high}" for axis in axes)
    if best is None:
        return f"Axes: {ranges}."
    values = (
        f"{axis.name} {written(value)}"
        for axis, parameter in zip(axes, chosen, strict=False)
        if (value := value_of(best, parameter)) is not NOT_DRAWN
    )
    return f"Axes: {ranges}. The best trial has {', '.join(values)}, score {metric(best.score)}."


def _pieces(each: TrialRecord, chosen: Sequence[ParameterRecord], y: Axis, step: float) -> Pieces:
    """Return the line of a trial; it is broken where the trial has no value."""
    heights = [height(parameter, value_of(each, parameter)) for parameter in chosen]
    if each.score is not None:
        heights.append(y.down(min(max(each.score, y.low), y.high)))
    points = [(round(i * step, 2), at) for i, at in enumerate(heights)]
    pairs = zip(points, points[1:], strict=False)
    return tuple((a, b, c, d) for (a, b), (c, d) in pairs if b is not None and d is not None)


def height(parameter: ParameterRecord, value: Any) -> float | None:
    """Return the pixels from the top at which a value stands on its axis; None for none."""
    if parameter.kind == "choice":
        if value not in parameter.choices:
            return None
        up = parameter.choices.index(value) / max(len(parameter.choices) - 1, 1)
        return round(HEIGHT * (1 - up), 1)
    low, high = parameter.low, parameter.high
    if not isinstance(value, int | float) or low is None or high is None:
        return None
    if parameter.log and min(low, value) > 0:
        low, high, value = math.log(low), math.log(high), math.log(value)
    up = (value - low) / (high - low) if high > low else 0.5
    return round(HEIGHT * (1 - min(max(up, 0.0), 1.0)), 1)
