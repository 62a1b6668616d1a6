"""Cautions of scores: models that learnt nothing, or too much, beside the dummy's values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isclose

from pipeline.task.cautions.caution import Caution
from pipeline.task.numerals import beside_dummy, score
from pipeline.task.scoring import ScoringInfo, known_sign

PERFECT = 0.999
"""Of a metric whose best value is 1."""
HARDLY = 0.01
"""Share of the way from the dummy's score to the best one below which nothing is shown."""
BLURRED = 0.02
"""Half the interval of an accuracy beyond which the test rows are too few to say more."""

Values = Mapping[str, float]


def sign_of(metric: str, scoring: ScoringInfo) -> int | None:
    """Return 1 where more of a metric is better, -1 of a loss; None where no one says so.

    A record without signs has those of scikit-learn's scorers of these names.
    """
    return scoring.signs.get(metric, known_sign(metric))


def of_scores(
    pipeline: str, metrics: Values, dummy: Values, rows_test: int, scoring: ScoringInfo
) -> Iterator[Caution]:
    """Yield what makes the scores of a pipeline worthless or vague.

    Parameters
    ----------
    pipeline : str
    metrics, dummy : mapping of str to float
        Its values, and the dummy's.
    rows_test : int
    scoring : ScoringInfo

    Examples
    --------
    >>> [said] = of_scores("linear", {"r2": -0.81}, {"r2": 0.0}, 900, ScoringInfo())
    >>> said.text.partition("; ")[0]
    'linear is worse than a dummy that looks at no column: r2 -0.810, dummy 0.000'
    """
    yield from _beside_dummy(pipeline, metrics, dummy, scoring)
    if perfect := [n for n, value in metrics.items() if _is_perfect(value, scoring.best.get(n))]:
        said = ", ".join(f"{name} {score(metrics[name])}" for name in perfect)
        yield Caution(
            "perfect-score",
            f"{pipeline} is all but perfect ({said}): look for a column that is known only after "
            "the target is, and for the same rows in both parts.",
        )
    accuracy = metrics.get("accuracy", 1.0)
    reach = 1.96 * (accuracy * (1 - accuracy) / max(rows_test, 1)) ** 0.5
    if reach > BLURRED:
        yield Caution(
            "few-test-rows",
            f"{pipeline}: of {rows_test} test rows, accuracy {score(accuracy)} is known to "
            f"±{reach:.3f}.",
        )


def _beside_dummy(
    pipeline: str, metrics: Values, dummy: Values, scoring: ScoringInfo
) -> Iterator[Caution]:
    signs = {name: sign for name in metrics if (sign := sign_of(name, scoring))}
    both = [name for name in signs if name in dummy]
    same = {n for n in both if isclose(metrics[n], dummy[n], rel_tol=1e-6, abs_tol=1e-9)}
    worse = [n for n in both if n not in same and signs[n] * (metrics[n] - dummy[n]) < 0]
    way = [
        (metrics[n] - dummy[n]) / (scoring.best[n] - dummy[n])
        for n in both
        if scoring.best.get(n, dummy[n]) != dummy[n]
    ]
    if same and (len(same) == len(both) or "roc_auc" in same):
        yield Caution(
            "no-better-than-dummy",
            f"{pipeline} is no better than a dummy that answers alike for all rows: "
            f"{_said(both, metrics, dummy)}; it learnt nothing: take a weaker penalty, other "
            "columns or another estimator.",
        )
    elif worse:
        alone = len(worse) < len(both) and {*worse} <= {"log_loss", "brier_score_loss"}
        yield Caution(
            "worse-than-dummy",
            f"{pipeline} is worse than a dummy that looks at no column: "
            f"{_said(worse, metrics, dummy)}; "
            + (
                "calibrate its probabilities (CalibratedClassifierCV)."
                if alone
                else "take a stronger penalty, other columns or another split."
            ),
        )
    elif way and max(way) < HARDLY:
        yield Caution(
            "no-better-than-dummy",
            f"{pipeline} is hardly better than a dummy that looks at no column: "
            f"{_said(both, metrics, dummy)}; models that learnt nothing agree on any device: take "
            "other columns or another estimator.",
        )


def _said(names: list[str], metrics: Values, dummy: Values) -> str:
    return "; ".join(beside_dummy(name, metrics[name], dummy) for name in names)


def _is_perfect(value: float, best: float | None) -> bool:
    return value >= PERFECT if best == 1 else value == best
