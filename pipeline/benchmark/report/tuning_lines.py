"""What the terminal says of a batch of searches."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.benchmark.judge.doubts import in_terminal, with_doubts
from pipeline.benchmark.record.tuning_record import (
    TUNING_FILE,
    SearchRecord,
    TrialRecord,
    TuningRecord,
)
from pipeline.optional import PYTHON
from pipeline.task.numerals import difference, score

STATES = {"complete": "complete", "pruned": "stopped", "failed": "failed"}
"""How a trial ended -> in words."""


def trial(search: SearchRecord, number: int | None) -> TrialRecord | None:
    """Return a trial by its number."""
    return next((each for each in search.trials if each.number == number), None)


def tuning_lines(record: TuningRecord, folder: Path) -> Iterator[str]:
    """Yield what came of the searches, and what to do with it.

    Parameters
    ----------
    record : TuningRecord
    folder : Path
        Where it lies.
    """
    for search in record.searches:
        yield from _of_search(record, search, folder)
    judged = [each for each in record.searches if each.tuned]
    models = [(e.pipeline, e.tuned.metrics) for e in judged if e.tuned and e.model]
    edges = [f"{each.pipeline} {each.variant}: {edge}" for each in judged for edge in each.edges]
    cautions = with_doubts(record, models)
    yield from in_terminal([*edges, *cautions], folder / TUNING_FILE)
    page = folder / "index.html"
    yield f"tuning: {page.resolve().as_uri() if page.exists() else folder / TUNING_FILE}"


def _of_search(record: TuningRecord, search: SearchRecord, folder: Path) -> Iterator[str]:
    name = f"{search.pipeline}  {search.variant}"
    ended = f"{search.seconds:.0f} s, ended by {search.ended}"
    counts = (
        f"{sum(t.state == state for t in search.trials)} {word}" for state, word in STATES.items()
    )
    yield f"{name}: {len(search.trials)} trials in {ended}: {', '.join(counts)}"
    best = trial(search, search.best)
    if best is None or search.tuned is None or search.untuned is None:
        yield f"{name}: failed: {search.why}"
        return
    metric = record.protocol.metric
    own = trial(search, search.default)
    before = f"{score(own.score)} → " if own is not None and own.score is not None else ""
    yield f"{name}: {metric} by cross-validation {before}{score(best.score or 0.0)}"
    values = search.untuned.metrics[metric], search.tuned.metrics[metric]
    apart = search.differences.get(metric)
    within = f" ({difference(apart.low)} to {difference(apart.high)})" if apart else ""
    yield f"{name}: {metric} of the test rows {score(values[0])} → {score(values[1])}{within}"
    yield f"  {set_options(best.params)}"
    if search.model is not None:
        model = (folder / search.model.file).parent
        yield f"  {PYTHON} -m pipeline predict {shlex.quote(str(model))} IN OUT"


def set_options(params: dict[str, Any]) -> str:
    """Return parameters as the options of `run` and `compare` that set them.

    >>> set_options({"ridge__alpha": 0.5, "ridge__solver": "svd"})
    '--set ridge__alpha=0.5 --set ridge__solver=svd'
    """
    words = (shlex.quote(f"{name}={value}") for name, value in params.items())
    return " ".join(f"--set {word}" for word in words)
