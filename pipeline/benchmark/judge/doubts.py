"""The first score of a pipeline, and all cautions: pure functions over records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pipeline.benchmark.judge.statistics import REFERENCE, measured
from pipeline.benchmark.record.results import Results
from pipeline.benchmark.record.tuning_record import TuningRecord
from pipeline.task.cautions.caution import RANKS, in_rank
from pipeline.task.cautions.scores import of_scores

SHOWN = 8
"""Cautions that a terminal shows."""


def first_metric(results: Results, pipeline: str) -> tuple[str, float] | None:
    """Return the first metric of a pipeline and its value: the reference's, if that ran."""
    return next(iter(_metrics(results, pipeline).items()), None)


def _metrics(results: Results, pipeline: str) -> Mapping[str, float]:
    order = [REFERENCE, *(variant.name for variant in results.variants)]
    cells = (measured(results, pipeline, variant) for variant in order)
    return next((cell.metrics for cell in cells if cell and cell.metrics), {})


def every_caution(results: Results) -> list[str]:
    """Return what is to be known before the scores of a comparison are believed."""
    return with_doubts(results, [(p.name, _metrics(results, p.name)) for p in results.pipelines])


def with_doubts(
    record: Results | TuningRecord, models: Sequence[tuple[str, Mapping[str, float]]]
) -> list[str]:
    """Return the cautions of a table between what the scores tell, the worst first.

    Parameters
    ----------
    record : Results or TuningRecord
    models : sequence of tuple
        The name of each, and its metrics.
    """
    scoring = record.scoring
    found = [c for model in models for c in of_scores(*model, record.baseline, scoring)]
    first, last = (
        in_rank([c for c in found if (RANKS[c.id] == 1) == worthless], scoring.mute)
        for worthless in (True, False)
    )
    return [*first, *record.cautions, *last]


def in_terminal(cautions: Sequence[str], where: object) -> Iterator[str]:
    """Yield the lines of the first cautions, and where the others are.

    >>> [*in_terminal(["'x' is a copy of the target."], "record.json")]
    ["caution: 'x' is a copy of the target."]
    """
    yield from (f"caution: {caution}" for caution in cautions[:SHOWN])
    if len(cautions) > SHOWN:
        yield f"{len(cautions) - SHOWN} more cautions: {where}"
