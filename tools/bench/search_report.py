"""What follows of the record of `Search`: tables, targets, and curves over the seconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from pipeline.benchmark.report.format import MISSING
from pipeline.benchmark.statistics import ratio
from tools.bench import report
from tools.bench.record import Cell, Results

TRIALS, SECONDS = "trials", "seconds"
"""Kinds of cases: as many trials, and as many seconds."""
PRUNED, FULL, BY_HAND, HALVING = "search", "full", "by-hand", "halving"
TIMED = (PRUNED, BY_HAND, HALVING)
LEAST_FASTER = 4
"""Target: how many times as fast as full trials."""
MOST_WORSE = 0.001
"""Target: what the best score may lose to that of full trials."""
AFTER = "seconds", "complete", "score", "held out"
"""What is recorded after so many trials."""
POINTS = 200
"""Of a curve."""
Floats = npt.NDArray[np.float64]


def cells(results: Results, kind: str, variant: str) -> list[Cell]:
    """Return the cells of a variant, one of each seed, in the order of the cases."""
    names = [case.name for case in results.cases if case.name.startswith(f"{kind},")]
    found = (results.cell(name, variant) for name in names)
    return [cell for cell in found if cell]


class Mean(NamedTuple):
    """A mean over seeds with the ends of its 95 % interval, Student's; infinite of one seed."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        """Return the mean of values.

        >>> Mean.of([1.0, 2.0, 3.0])
        Mean(value=2.0, low=-0.48..., high=4.48...)
        """
        middle, n = float(np.mean(values)), len(values)
        half = np.inf
        if n > 1:
            half = float(student.ppf(0.975, n - 1) * np.std(values, ddof=1) / np.sqrt(n))
        return cls(middle, middle - half, middle + half)

    def __str__(self) -> str:
        """Return it with its interval."""
        return f"{self.value:+.4f} ({self.low:+.4f} to {self.high:+.4f})"


def difference(results: Results, kind: str, name: str, variant: str, against: str) -> Mean | None:
    """Return how much higher a value is than another variant's, over the seeds that both have."""
    ours, theirs = (_by_seed(results, kind, each, name) for each in (variant, against))
    apart = [ours[seed] - theirs[seed] for seed in ours if seed in theirs]
    return Mean.of(apart) if apart else None


def _by_seed(results: Results, kind: str, variant: str, name: str) -> dict[float, float]:
    found = {
        results.case(cell.case).facts["seed"]: last(cell, name)
        for cell in cells(results, kind, variant)
    }
    return {seed: value for seed, value in found.items() if value is not None}


def last(cell: Cell, name: str) -> float | None:
    """Return a value of the last of the best candidates of a search."""
    known = [key for key in sorted(cell.values) if key == name or key.startswith(f"{name} ")]
    return cell.values[known[-1]] if known else None


def curve(cell: Cell, name: str, seconds: Floats) -> Floats:
    """Return a value of the best candidate so far at some seconds; nan before the first."""
    at, value = (
        np.array([v for key, v in sorted(cell.values.items()) if key.startswith(f"{each} ")])
        for each in ("at", name)
    )
    place = np.searchsorted(at.astype("float64"), seconds, side="right")
    return np.append(np.nan, value.astype("float64"))[place]


def text(results: Results) -> str:
    """Return the tables as Markdown, and the plot where there are curves."""
    parts = [_of_trials(results), _targets(results)]
    if cells(results, SECONDS, PRUNED):
        parts += [_of_seconds(results), f"![{ALT}](search.svg)"]
    return "\n\n".join(filter(None, parts))


ALT = "AUC on rows held out, of the best candidate so far, over the seconds of each search"


def after(name: str, count: int) -> str:
    """Return how a value after so many trials is called in the record."""
    return f"{name} after {count}"


def _of_trials(results: Results) -> str:
    head = ["trials", "", "s", "judged by all folds", "best score", "held out"]
    lines = []
    for count in results.settings["trials"]:
        for variant in results.variants:
            if found := cells(results, TRIALS, variant.name):
                of = {name: _median(found, after(name, count)) for name in AFTER}
                scores = (f"{of[name]:.4f}" for name in ("score", "held out"))
                lines.append([f"{count}", variant.title, f"{of['seconds']:.1f}",
                              f"{of['complete']:g}", *scores])  # fmt: skip
    return report.table(head, lines, (0, *range(2, len(head)))) if lines else ""


def _targets(results: Results) -> str:
    head = ["trials", "stopped early against full trials", "wanted", "found", "met"]
    lines = [line for count in results.settings["trials"] for line in _targets_of(results, count)]
    return report.table(head, lines, (0, 2, 3)) if lines else ""


def _targets_of(results: Results, count: int) -> Iterator[list[str]]:
    seconds = [_by_seed(results, TRIALS, each, after("seconds", count)) for each in (PRUNED, FULL)]
    faster = ratio(*(np.array(list(each.values())) for each in seconds)) if all(seconds) else None
    if faster is None:
        return
    yield [f"{count}", "seconds", f"{LEAST_FASTER}×", report.times(faster, digits=2),
           _met(faster.speed_up >= LEAST_FASTER)]  # fmt: skip
    for name, title in (("score", "best score"), ("held out", "held out")):
        apart = difference(results, TRIALS, after(name, count), PRUNED, FULL)
        # What the candidate is worth on other rows is told, and was no target.
        wanted = f"≥ -{MOST_WORSE}, lower end" if name == "score" else MISSING
        met = _met(apart is not None and apart.low >= -MOST_WORSE) if name == "score" else MISSING
        yield [f"{count}", title, wanted, str(apart or MISSING), met]


def _of_seconds(results: Results) -> str:
    """Return what the searches have found when their time was over."""
    budget = results.settings["seconds"][0]
    head = [f"in {budget} s", "took, s", "candidates", "held out", "`Search` is better by"]
    lines = []
    for variant in results.variants:
        found = cells(results, SECONDS, variant.name)
        if not found:
            continue
        scores = [value for cell in found if (value := last(cell, "held out")) is not None]
        apart = difference(results, SECONDS, "held out", PRUNED, variant.name)
        lines.append(
            [
                variant.title,
                f"{np.median([cell.median('search') for cell in found]):.1f}",
                f"{_median(found, 'trials'):g}",
                f"{np.median(scores):.4f} ({min(scores):.4f}–{max(scores):.4f})",
                MISSING if variant.name == PRUNED else str(apart or MISSING),
            ]
        )
    return report.table(head, lines, range(1, len(head)))


def _median(found: Sequence[Cell], name: str) -> float:
    return float(np.median([value for cell in found if (value := cell.values[name]) is not None]))


def _met(met: bool) -> str:
    return "yes" if met else "**no**"


class Line(NamedTuple):
    """The curves of a variant over all seeds, shape (points,) each.

    Before all seeds have a candidate there is no line.
    """

    variant: str
    title: str
    seconds: Floats
    middle: Floats
    low: Floats
    high: Floats


def lines(results: Results, name: str = "held out") -> Iterator[Line]:
    """Yield the curves of the searches that had the same time: median and range of the seeds."""
    for variant in results.variants:
        found = cells(results, SECONDS, variant.name)
        if not found:
            continue
        ends = max(results.settings["seconds"][0], *(last(cell, "at") or 0 for cell in found))
        seconds = np.linspace(0, ends, POINTS + 1)
        every = np.array([curve(cell, name, seconds) for cell in found])
        known = ~np.isnan(every).any(axis=0)
        if not known.any():
            continue
        every = every[:, known]
        ends_of_range = every.min(axis=0), every.max(axis=0)
        yield Line(
            variant.name, variant.title, seconds[known], np.median(every, axis=0), *ends_of_range
        )
