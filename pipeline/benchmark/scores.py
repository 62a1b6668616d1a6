"""The scores of a comparison beside the dummy's, and what makes them doubtful.

Pure functions over records; see `pipeline.benchmark.dummy`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import isclose

from pipeline.benchmark.report.format import beside_dummy, score
from pipeline.benchmark.responses import metric_words, smaller_is_better
from pipeline.benchmark.results import Results
from pipeline.benchmark.statistics import REFERENCE, measured

PERFECT = 0.999
"""Of a metric whose best value is 1."""
_BEST_IS_ONE = {
    "accuracy", "auc", "corrcoef", "f1", "jaccard", "kappa", "mcc", "precision", "r2", "recall",
}  # fmt: skip
_CHANCES = {"log", "brier"}
HARDLY = 0.01
"""Share of the way from the dummy's score to the best one below which nothing is shown."""
SHOWN = 8
"""Cautions that a terminal shows."""
BLURRED = 0.02
"""Half the interval of a metric beyond which the test rows are too few to say more."""


def first_metric(results: Results, pipeline: str) -> tuple[str, float] | None:
    """Return the first metric of a pipeline and its value: the reference's, if that ran."""
    order = [REFERENCE, *(variant.name for variant in results.variants)]
    for cell in (measured(results, pipeline, variant) for variant in order):
        if cell is not None and cell.metrics:
            return next(iter(cell.metrics.items()))
    return None


def best_pipeline(results: Results) -> str | None:
    """Return the pipeline that is best by the metric that the first one has; None if none ran."""
    found = {p.name: m for p in results.pipelines if (m := first_metric(results, p.name))}
    if not found:
        return None
    metric = next(iter(found.values()))[0]
    same = {name: value for name, (other, value) in found.items() if other == metric}
    return (min if smaller_is_better(metric) else max)(same, key=same.__getitem__)


def lines(results: Results) -> Iterator[str]:
    """Yield the first metric of each pipeline, beside the dummy's."""
    for pipeline in results.pipelines:
        if found := first_metric(results, pipeline.name):
            yield f"{pipeline.name}: {beside_dummy(*found, results.baseline)}"
    if not results.baseline:
        yield why_no_dummy(results)


def why_no_dummy(results: Results) -> str:
    """Say why nothing stands beside the scores."""
    has = results.task.kind not in ("ranking", "clusters")
    return "No dummy was recorded." if has else f"For {results.task.kind} there is no dummy."


def every_caution(results: Results) -> list[str]:
    """Return what is to be known before the scores of a comparison are believed."""
    cells = {p.name: measured(results, p.name, REFERENCE) for p in results.pipelines}
    found = [(name, cell.metrics) for name, cell in cells.items() if cell is not None]
    rows = results.task.rows_test
    return with_doubts(results.cautions, [(*each, results.baseline, rows) for each in found])


def with_doubts(
    cautions: Sequence[str],
    runs: Sequence[tuple[str, Mapping[str, float], Mapping[str, float], int]],
) -> list[str]:
    """Return the cautions of a table among what the scores themselves tell, the worst first.

    Parameters
    ----------
    cautions : sequence of str
    runs : sequence of tuple
        Of each pipeline, what `doubts` takes and the number of test rows.
    """
    told = chain.from_iterable(doubts(*run[:3]) for run in runs)
    blurred = chain.from_iterable(_blurred(name, values, n) for name, values, _, n in runs)
    return [*told, *cautions, *blurred]


def in_terminal(cautions: Sequence[str], where: object) -> Iterator[str]:
    """Yield the lines of the first cautions, and where the others are.

    >>> [*in_terminal(["'x' is a copy of the target."], "record.json")]
    ["caution: 'x' is a copy of the target."]
    """
    yield from (f"caution: {caution}" for caution in cautions[:SHOWN])
    if len(cautions) > SHOWN:
        yield f"{len(cautions) - SHOWN} more cautions: {where}"


def doubts(
    pipeline: str, metrics: Mapping[str, float], baseline: Mapping[str, float]
) -> Iterator[str]:
    """Yield what makes the scores of a pipeline worthless, a sentence each.

    Parameters
    ----------
    pipeline : str
    metrics, baseline : mapping of str to float
        Its values, and the dummy's.

    Examples
    --------
    >>> [said] = doubts("linear", {"r2": -0.81}, {"r2": 0.0})
    >>> said.partition("; ")[0]
    'linear is worse than a dummy that looks at no column: r2 -0.810, dummy 0.000'
    """
    both = [name for name in metrics if name in baseline]
    same = {n for n in both if isclose(metrics[n], baseline[n], rel_tol=1e-6, abs_tol=1e-9)}
    worse = [n for n in both if n not in same and _better(n, baseline[n], metrics[n])]
    way = [w for n in both if (w := _way(n, metrics[n], baseline[n])) is not None]
    if same and (len(same) == len(both) or "roc_auc" in same):
        said = _beside(both, metrics, baseline)
        yield (
            f"{pipeline} is no better than a dummy that answers alike for all rows: {said}; it "
            "learnt nothing: take a weaker penalty, other columns or another estimator."
        )
    elif worse:
        said = _beside(worse, metrics, baseline)
        alone = len(worse) < len(both) and all(_CHANCES & {*metric_words(n)} for n in worse)
        yield f"{pipeline} is worse than a dummy that looks at no column: {said}; " + (
            "calibrate its probabilities (CalibratedClassifierCV)."
            if alone
            else "take a stronger penalty, other columns or another split."
        )
    elif way and max(way) < HARDLY:
        said = _beside(both, metrics, baseline)
        yield (
            f"{pipeline} is hardly better than a dummy that looks at no column: {said}; models "
            "that learnt nothing agree on any device: take other columns or another estimator."
        )
    if perfect := [name for name, value in metrics.items() if _perfect(name, value)]:
        said = ", ".join(f"{name} {score(metrics[name])}" for name in perfect)
        yield (
            f"{pipeline} is all but perfect ({said}): look for a column that is known only after "
            "the target is, and for the same rows in both parts."
        )


def _blurred(pipeline: str, metrics: Mapping[str, float], rows_test: int) -> Iterator[str]:
    accuracy = metrics.get("accuracy", 1.0)
    if 0 <= accuracy <= 1 and rows_test:
        reach = 1.96 * (accuracy * (1 - accuracy) / rows_test) ** 0.5
        if reach > BLURRED:
            yield (
                f"{pipeline}: of {rows_test} test rows, accuracy {score(accuracy)} is known to "
                f"±{reach:.3f}."
            )


def _better(metric: str, one: float, other: float) -> bool:
    return one < other if smaller_is_better(metric) else one > other


def _way(metric: str, value: float, dummy: float) -> float | None:
    """Return how far a score is on the way from the dummy's to the best; None if that is unknown.

    The best is 0 of what is less for a better model.
    """
    if smaller_is_better(metric):
        return 1 - value / dummy if dummy > 0 else None
    if _BEST_IS_ONE.isdisjoint(metric_words(metric)) or dummy >= 1:
        return None
    return (value - dummy) / (1 - dummy)


def _beside(names: list[str], metrics: Mapping[str, float], baseline: Mapping[str, float]) -> str:
    return "; ".join(beside_dummy(name, metrics[name], baseline) for name in names)


def _perfect(metric: str, value: float) -> bool:
    if smaller_is_better(metric):
        return value == 0
    return value >= PERFECT and not _BEST_IS_ONE.isdisjoint(metric_words(metric))
