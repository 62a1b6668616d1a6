"""What the tuning page says of a search, derived from its record: no input, no output."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.stats import t as student

from pipeline.benchmark.report.format import MISSING
from pipeline.benchmark.results import Interval
from pipeline.benchmark.statistics import LEVEL
from pipeline.benchmark.tuning_record import (
    ParameterRecord,
    SearchRecord,
    TrialRecord,
    TuningRecord,
)

T = TypeVar("T")
NOT_DRAWN = object()
STATES = {"complete": "complete", "pruned": "stopped", "failed": "failed"}
"""How a trial ended -> in words."""
MOST_SIGNS = 40
"""Of a value; the code of the tuned pipeline has all of it."""


@dataclass(frozen=True)
class Gain:
    """The best trial's score less that of the pipeline as it is, over the same folds.

    The interval is Student's of the differences of the folds, with the variance that Nadeau and
    Bengio ("Inference for the generalization error", Machine Learning 52, 2003) give to folds
    whose training rows overlap: for k folds, s² (1/k + 1/(k - 1)), and by time s² (1/k + r), with
    r the mean of 1, 1/2, …, 1/k: rows judged by for each one learnt from.
    """

    value: float
    interval: Interval | None


class Best(NamedTuple):
    """The best score so far, from a moment of the search on."""

    seconds: float
    number: int
    score: float


def sign(record: TuningRecord) -> int:
    """Return 1 where a higher score is better, else -1."""
    return -1 if record.protocol.smaller_is_better else 1


def trial(search: SearchRecord, number: int | None) -> TrialRecord | None:
    """Return a trial by its number."""
    return next((each for each in search.trials if each.number == number), None)


def complete(search: SearchRecord) -> list[TrialRecord]:
    """Return the trials that have a score."""
    return [e for e in search.trials if e.state == "complete" and e.score is not None]


def count(search: SearchRecord, state: str) -> int:
    """Return how many trials ended so."""
    return sum(each.state == state for each in search.trials)


def counts(search: SearchRecord) -> str:
    """Write how many trials ended in each way."""
    return ", ".join(f"{count(search, state)} {word}" for state, word in STATES.items())


def gain(search: SearchRecord, *, by_time: bool = False) -> Gain | None:
    """Return what the best trial is over the default; None where one of them lacks a score.

    Parameters
    ----------
    search : SearchRecord
    by_time : bool, default=False
        Whether each fold is judged by the rows after those it learns from.
    """
    one, other = trial(search, search.best), trial(search, search.default)
    if one is None or other is None or one.score is None or other.score is None:
        return None
    value, k = one.score - other.score, len(one.folds)
    if k < 2 or k != len(other.folds) or one is other:
        return Gain(value, None)
    differences = np.subtract(one.folds, other.folds)
    overlap = np.mean(1 / np.arange(1, k + 1)) if by_time else 1 / (k - 1)
    spread = float(np.std(differences, ddof=1) * np.sqrt(1 / k + overlap))
    reach = float(student.ppf((1 + LEVEL) / 2, k - 1)) * spread
    return Gain(value, Interval(low=value - reach, high=value + reach))


def climb(search: SearchRecord, direction: int, *, by_time: bool = True) -> list[Best]:
    """Return each best score so far.

    Parameters
    ----------
    search : SearchRecord
    direction : int
        As `sign` says it.
    by_time : bool, default=True
        In the order in which trials ended; else in that of their numbers.
    """
    found: list[Best] = []
    order = sorted(complete(search), key=lambda each: each.seconds if by_time else each.number)
    for each in order:
        score = each.score
        if score is not None and (not found or direction * (score - found[-1].score) > 0):
            found.append(Best(each.seconds, each.number, score))
    return found


def best_at(steps: Sequence[Best], seconds: float) -> Best | None:
    """Return the best that was known at a moment."""
    return next((each for each in reversed(steps) if each.seconds <= seconds), None)


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return names without what they begin with in common, as far as they stay apart.

    Examples
    --------
    >>> short_names(["xgbclassifier__max_depth", "xgbclassifier__eta"])
    {'xgbclassifier__max_depth': 'max_depth', 'xgbclassifier__eta': 'eta'}
    >>> short_names(["pca__alpha", "ridge__alpha"])
    {'pca__alpha': 'pca__alpha', 'ridge__alpha': 'ridge__alpha'}
    """
    ends = [name.rpartition("__")[2] or name for name in names]
    return {
        name: end if ends.count(end) == 1 else name for name, end in zip(names, ends, strict=True)
    }


def labels(space: Sequence[ParameterRecord]) -> list[str]:
    """Return the names of parameters, with the parts of the space where these draw otherwise.

    Examples
    --------
    >>> one, other = (ParameterRecord(name="eta", kind="float", parts=(i,)) for i in range(2))
    >>> labels([one]), labels([one, other])
    (['eta'], ['eta [0]', 'eta [1]'])
    """
    names = [each.name for each in space]
    return [
        name if names.count(name) == 1 else f"{name} [{', '.join(map(str, each.parts))}]"
        for name, each in zip(names, space, strict=True)
    ]


def value_of(each: TrialRecord, parameter: ParameterRecord) -> Any:
    """Return the value of a trial that was drawn so; `NOT_DRAWN` where it was not."""
    return each.params.get(parameter.name, NOT_DRAWN) if each.part in parameter.parts else NOT_DRAWN


def written(value: Any) -> str:
    """Write a value of a parameter; the end of a long text is left out.

    Examples
    --------
    >>> written(0.031234567), written(300), written(None), written("gini"), written(1e-05)
    ('0.03123', '300', 'None', 'gini', '1e-05')
    """
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= MOST_SIGNS else text[: MOST_SIGNS - 1] + "…"


def searched(parameter: ParameterRecord) -> str:
    """Write what a parameter was drawn from.

    Examples
    --------
    >>> searched(ParameterRecord(name="eta", kind="float", low=0.01, high=0.3, log=True))
    '0.01 to 0.3, logarithmic'
    >>> searched(ParameterRecord(name="booster", kind="choice", choices=["gbtree", "dart"]))
    'gbtree, dart'
    """
    if parameter.kind == "choice":
        return ", ".join(map(written, parameter.choices))
    step = f", in steps of {written(parameter.step)}" if _is_coarse(parameter) else ""
    return f"{end(parameter.low)} to {end(parameter.high)}{step}" + (
        ", logarithmic" if parameter.log else ""
    )


def _is_coarse(parameter: ParameterRecord) -> bool:
    return parameter.step is not None and (parameter.kind == "float" or parameter.step > 1)


def end(value: float | None) -> str:
    """Write an end of a range.

    >>> end(300.0), end(0.001), end(None)
    ('300', '0.001', '–')
    """
    if value is None:
        return MISSING
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e6 else f"{value:.4g}"


def at_edge(search: SearchRecord, name: str) -> bool:
    """Tell whether the record says that the best value of a parameter is at an edge."""
    whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    return any(whole.search(each) for each in search.edges)


def thinned(values: Sequence[T], most: int) -> list[T]:
    """Return so many values at most, evenly chosen, with the first and the last.

    >>> thinned(range(10), 4)
    [0, 3, 6, 9]
    """
    if len(values) <= most:
        return list(values)
    return [values[round(i * (len(values) - 1) / (most - 1))] for i in range(most)]
