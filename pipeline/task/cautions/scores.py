"""Cautions about scores that are no better than those of a dummy, or too good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isclose

from pipeline.task.cautions.caution import Caution
from pipeline.task.numerals import beside_dummy, score
from pipeline.task.scoring import ScoringInfo

PERFECT = 0.999
"""Of a metric whose best value is 1."""
HARDLY = 0.01
"""Share of the way from the dummy's score to the best one below which nothing is shown."""


def of_scores(
    pipeline: str, metrics: Mapping[str, float], dummy: Mapping[str, float], scoring: ScoringInfo
) -> Iterator[Caution]:
    """Yield the cautions about the scores of a pipeline.

    >>> [said] = of_scores("linear", {"r2": -0.81}, {"r2": 0.0}, ScoringInfo(signs={"r2": 1}))
    >>> said.text.partition("; ")[0]
    'linear is worse than a dummy that ignores all columns: r2 -0.810, dummy 0.000'
    """
    best = scoring.best
    both = [name for name in metrics if name in dummy and scoring.signs.get(name)]
    same = {n for n in both if isclose(metrics[n], dummy[n], rel_tol=1e-6, abs_tol=1e-9)}
    gains = {n: (metrics[n] - dummy[n]) * scoring.signs[n] for n in both if n not in same}
    ways = [
        (metrics[n] - dummy[n]) / (best[n] - dummy[n])
        for n in both
        if best.get(n, dummy[n]) != dummy[n]
    ]
    alike = same and (not gains or "roc_auc" in same)
    worse = [name for name, gain in gains.items() if gain < 0 and not alike]
    said = "; ".join(beside_dummy(name, metrics[name], dummy) for name in worse or both)
    if worse:
        yield Caution(
            "worse-than-dummy",
            f"{pipeline} is worse than a dummy that ignores all columns: {said}; try a stronger "
            "penalty, other columns or another split, or calibrate its probabilities.",
        )
    elif alike or (ways and max(ways) < HARDLY):
        yield Caution(
            "no-better-than-dummy",
            f"{pipeline} is {'no' if alike else 'hardly'} better than a dummy that ignores all "
            f"columns: {said}; try a weaker penalty, other columns or another estimator.",
        )
    top = {name for name in metrics if best.get(name) == 1 and metrics[name] >= PERFECT}
    if perfect := [n for n, value in metrics.items() if n in top or value == best.get(n)]:
        told = ", ".join(f"{name} {score(metrics[name])}" for name in perfect)
        yield Caution(
            "perfect-score",
            f"{pipeline} is almost perfect ({told}): look for a column that is only known after "
            "the target, and for rows that are in both parts.",
        )
