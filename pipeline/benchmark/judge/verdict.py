"""What a comparison allows to say, and the cautions before it: pure functions over its record.

What is missing is said, never guessed: a run that failed, a variant that was skipped, a GPU that
was absent. What weakens the conclusions is said too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Literal, NamedTuple

from pipeline.benchmark.judge.statistics import (
    BUSY,
    FEW,
    REFERENCE,
    Parity,
    Speed,
    cell_parity,
    measured,
    others_share,
    parity,
    speed,
)
from pipeline.benchmark.record.results import Cell, Results, Variant
from pipeline.benchmark.record.tuning_record import TuningRecord
from pipeline.task.cautions.caution import in_rank
from pipeline.task.cautions.scores import of_scores
from pipeline.task.numerals import on_gpu, share

IDLE = 1.5
"""Factor of busy processors beyond which a variant had more of the machine than the reference."""
LOADED = 0.5
"""Load average per processor above which the machine was not quiet."""
SHOWN = 8
"""Cautions that a terminal shows."""
Kind = Literal["comparable", "CPU only", "not comparable"]


class Headline(NamedTuple):
    """What may be said of one variant on one pipeline."""

    pipeline: str
    variant: str
    speed: Speed | None
    parity: Parity
    judged: str
    """The parity, and the metrics that speak against it."""


class Verdict(NamedTuple):
    """The conclusions of a comparison, in sentences."""

    cautions: Sequence[str]
    """What is to be known before a score is believed, the worst first."""
    kind: Kind
    """What may be concluded at all."""
    badge: str
    """The same in words, with the reason."""
    headlines: Sequence[Headline]
    """One per pipeline and variant."""
    best: str
    """The pipeline with the best first metric; empty where none is known to be better."""
    skipped: str
    """Which variants did not run, and why; empty if all did or the badge says it."""
    parity: str
    """Quality parity of all runs in one sentence."""
    caveats: Sequence[str]
    """What weakens the conclusions."""


def verdict(results: Results) -> Verdict:
    """Return everything that the comparison allows to say."""
    kind, badge = _badge(results)
    headlines = [
        _headline(results, pipeline.name, variant.name)
        for pipeline in results.pipelines
        for variant in _rivals(results)
        if variant.status == "ok"
    ]
    return Verdict(
        cautions=every_caution(results),
        kind=kind,
        badge=badge,
        headlines=headlines,
        best=_best(results),
        skipped=_skipped(results, kind),
        parity=_parity(headlines),
        caveats=[*_caveats(results)],
    )


def _badge(results: Results) -> tuple[Kind, str]:
    """Return what may be concluded, and why no more."""
    pipelines = [pipeline.name for pipeline in results.pipelines]
    lost = [name for name in pipelines if not measured(results, name, REFERENCE)]
    ran = [v for v in _rivals(results) if any(measured(results, n, v.name) for n in pipelines)]
    reasons = {
        f"plain scikit-learn has no times on {', '.join(lost)}": bool(lost),
        "the task declares no margin of quality": not results.task.margins,
        "only plain scikit-learn ran": not ran,
    }
    if why := next((why for why, holds in reasons.items() if holds), ""):
        return "not comparable", f"not comparable: {why}"
    gpus = [variant for variant in _rivals(results) if on_gpu(variant.device)]
    if names := ", ".join(variant.name for variant in gpus if variant in ran):
        where = ", ".join(gpu.name for gpu in results.machine.gpus) or "an unnamed GPU"
        return "comparable", f"comparable: {names} ran on {where}"
    whys = [results.machine.no_gpu_why, *(v.why for v in gpus), "no variant for a GPU ran"]
    return "CPU only", f"CPU only: {next(filter(None, whys)).rstrip('.')}"


def ranked(results: Results) -> list[str]:
    """Return the names of the pipelines, the best first metric first, where they share one."""
    names = [pipeline.name for pipeline in results.pipelines]
    firsts = {name: found for name in names if (found := first_metric(results, name))}
    shared = {metric for metric, _ in firsts.values()}
    sign = results.scoring.signs.get(next(iter(shared))) if len(shared) == 1 else None
    if sign is None:
        return names
    return sorted(names, key=lambda n: -sign * firsts[n][1] if n in firsts else math.inf)


def _best(results: Results) -> str:
    """Return the first of `ranked` if it ran and there is an order."""
    first = ranked(results)[0] if results.pipelines else ""
    found = first_metric(results, first)
    return first if found and results.scoring.signs.get(found[0]) else ""


def _rivals(results: Results) -> list[Variant]:
    return [variant for variant in results.variants if variant.name != REFERENCE]


def _skipped(results: Results, kind: Kind) -> str:
    """Name the variants that did not run, by reason, but those of the GPU that the badge names."""
    reasons: dict[str, list[str]] = {}
    for variant in _rivals(results):
        if variant.status != "ok" and not (kind == "CPU only" and on_gpu(variant.device)):
            reasons.setdefault(variant.why or "no reason recorded", []).append(variant.name)
    said = (f"{', '.join(names)} ({why})" for why, names in reasons.items())
    return f"Not run: {'; '.join(said)}." if reasons else ""


def _headline(results: Results, pipeline: str, variant: str) -> Headline:
    cell = results, pipeline, variant
    names = [row.metric for row in parity(*cell) if row.judged in ("FAIL", "INCONCLUSIVE")]
    found = cell_parity(*cell)
    judged = found + (f" ({', '.join(names)})" if names else "")
    return Headline(pipeline, variant, speed(*cell), found, judged)


def _parity(headlines: Sequence[Headline]) -> str:
    counts = Counter(line.parity for line in headlines if line.speed is not None)
    lost, unsure = sum(line.speed is None for line in headlines), counts["INCONCLUSIVE"]
    judged = counts["PASS"] + counts["FAIL"] + unsure
    rest = f"; {unsure} inconclusive: too few test rows" if unsure else ""
    rest += f"; {lost} did not run" if lost else ""
    found = f"{counts['PASS']} of {judged} within the declared margins" if judged else "no margin"
    return f"Quality parity: {found}{rest}."


def _caveats(results: Results) -> Iterator[str]:
    """Yield what weakens the conclusions, a sentence each."""
    machine = results.machine
    if machine.load_before > LOADED * machine.cores:
        yield (
            f"The machine was busy: load average {machine.load_before:.2f} on {machine.cores} "
            "processors before the first run."
        )
    if (others := others_share(results, results.cells)) > BUSY:
        yield f"The machine was busy: other processes took {share(others)} of its processors' time."
    if resumed := results.protocol.resumed:
        yield f"The comparison was interrupted and resumed: {resumed} runs are from before."
    if results.source.dirty:
        yield "The code had changes that no commit holds."
    least = min((len(cell.runs) for cell in results.cells if cell.runs), default=FEW)
    if least < FEW:
        yield f"Some variants have {least} timed runs; a verdict needs {FEW} (--repeats {FEW})."
    for pipeline in results.pipelines:
        theirs = _processors(measured(results, pipeline.name, REFERENCE))
        for variant in results.variants:
            if cell := measured(results, pipeline.name, variant.name):
                where = f"{variant.name} on {pipeline.name}"
                yield from _cell_caveats(results, cell, variant, where, theirs)


def _cell_caveats(
    results: Results, cell: Cell, variant: Variant, where: str, theirs: float
) -> Iterator[str]:
    if len(cell.runs) < results.protocol.repeats:
        yield f"{where}: {len(cell.runs)} timed runs of {results.protocol.repeats} planned."
    if on_gpu(variant.device) and not any(on_gpu(step.device) for step in cell.placement):
        yield f"{where}: no step ran on the GPU."
    if theirs and (ours := _processors(cell)) > IDLE * theirs:
        yield (
            f"{where} used {ours:.1f} of {results.machine.cores} processors, plain scikit-learn "
            f"{theirs:.1f}: part of the speed comes from more processors (set n_jobs)."
        )


def _processors(cell: Cell | None) -> float:
    """Return the median of the processors that the runs kept busy."""
    return median(run.cpu_seconds / run.total for run in cell.runs) if cell else 0.0


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
    """Return what the scores of models, by name, tell, and then the cautions of the table."""
    scoring = record.scoring
    found = (c for model in models for c in of_scores(*model, record.baseline, scoring))
    return [*in_rank(found, scoring.mute), *record.cautions]


def in_terminal(cautions: Sequence[str], where: object) -> Iterator[str]:
    """Yield the lines of the first cautions, and where the others are.

    >>> [*in_terminal([*"abcdefghi"], "record.json")][-2:]
    ['h', '1 more cautions: record.json']
    """
    yield from cautions[:SHOWN]
    if len(cautions) > SHOWN:
        yield f"{len(cautions) - SHOWN} more cautions: {where}"
