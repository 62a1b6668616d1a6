"""What a comparison allows to say, in sentences: pure functions over its record.

The numbers come from :mod:`pipeline.benchmark.judge.statistics`. What is missing is said,
never guessed: a cell that failed, a variant that was skipped, a GPU that was absent. What
weakens the conclusions is said too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Literal

from pipeline.benchmark.judge import doubts
from pipeline.benchmark.judge.statistics import (
    FEW,
    REFERENCE,
    Outcome,
    Parity,
    Ratio,
    Speed,
    cell_parity,
    measured,
    parity,
    speed,
)
from pipeline.benchmark.record.results import Cell, Results, Variant
from pipeline.task.numerals import MISSING, on_gpu, times

NO_REASON = "no reason recorded"
Kind = Literal["comparable", "CPU only", "not comparable"]


@dataclass(frozen=True)
class Headline:
    """What is said of one variant on one pipeline."""

    pipeline: str
    variant: str
    speed: Speed | None
    parity: Parity
    judged: str
    """The parity, and the metrics that speak against it."""
    text: str

    @property
    def outcome(self) -> Outcome | None:
        """Faster, slower or neither; None where there is no ratio."""
        return self.speed.ratio.outcome if self.speed and self.speed.ratio else None

    @property
    def figure(self) -> str:
        """The number of the text where a difference is shown: a speed-up, or a ratio of times."""
        if self.speed is None or self.speed.ratio is None or self.parity == "FAIL":
            return MISSING
        ratio = self.speed.ratio
        said = {
            "faster": f"{times(ratio.speed_up)} faster",
            "slower": f"{times(ratio.value)} slower",
        }
        return said.get(ratio.outcome, ratio.outcome)

    @property
    def interval(self) -> str:
        """The interval of the figure, of the speed-up where the variant is faster."""
        ratio = self.speed.ratio if self.speed else None
        if ratio is None or ratio.interval is None:
            return MISSING
        few = f" (n={ratio.n})" if ratio.n < FEW else ""
        return _span(ratio.interval, inverse=self.outcome == "faster") + few


@dataclass(frozen=True)
class Verdict:
    """The conclusions of a comparison, in sentences.

    Attributes
    ----------
    scores : tuple of str
        The first metric of each pipeline, beside the dummy's.
    cautions : tuple of str
        What is to be known before a score is believed, of the scores and of the table, the worst
        first.
    kind : {"comparable", "CPU only", "not comparable"}
        What may be concluded at all.
    badge : str
        The same in words, with the reason.
    headlines : tuple of Headline
        One per pipeline and variant.
    skipped : str
        Which variants did not run, and why; empty if all did.
    parity : str
        Quality parity of all cells in one sentence.
    places : tuple of str
        Where the steps of each variant ran.
    gpu : str
        Which GPU was used, or why none was.
    caveats : tuple of str
        What weakens the conclusions.
    """

    scores: tuple[str, ...]
    cautions: tuple[str, ...]
    kind: Kind
    badge: str
    headlines: tuple[Headline, ...]
    skipped: str
    parity: str
    places: tuple[str, ...]
    gpu: str
    caveats: tuple[str, ...]


def verdict(results: Results) -> Verdict:
    """Return everything that the comparison allows to say."""
    kind, badge = _badge(results)
    headlines = tuple(_headlines(results))
    return Verdict(
        scores=tuple(doubts.lines(results)),
        cautions=tuple(doubts.every_caution(results)),
        kind=kind,
        badge=badge,
        headlines=headlines,
        skipped=_skipped(results),
        parity=_parity(headlines),
        places=tuple(_places(results)),
        gpu=_gpu(results),
        caveats=tuple(caveats(results)),
    )


def _badge(results: Results) -> tuple[Kind, str]:
    """Return what may be concluded, and why no more."""
    names = [pipeline.name for pipeline in results.pipelines]
    lost = [name for name in names if not measured(results, name, REFERENCE)]
    ran = [v for v in rivals(results) if any(measured(results, name, v.name) for name in names)]
    reasons = {
        f"the reference has no times on {', '.join(lost)}": bool(lost),
        "the task declares no margin of quality": not results.task.margins,
        "nothing but the reference ran": not ran,
    }
    if why := next((why for why, holds in reasons.items() if holds), ""):
        return "not comparable", f"not comparable: {why}"
    if any(on_gpu(variant.device) for variant in ran):
        return "comparable", "comparable"
    return "CPU only", "CPU only: no GPU claim is made"


def rivals(results: Results) -> list[Variant]:
    """Return the variants that are compared with the reference."""
    return [variant for variant in results.variants if variant.name != REFERENCE]


def _headlines(results: Results) -> Iterator[Headline]:
    running = [variant for variant in rivals(results) if variant.status == "ok"]
    for pipeline in results.pipelines:
        for variant in running:
            yield _headline(results, pipeline.name, variant.name)


def _skipped(results: Results) -> str:
    """Name the variants that did not run, by reason."""
    reasons: dict[str, list[str]] = {}
    for variant in rivals(results):
        if variant.status != "ok":
            reasons.setdefault(variant.why or NO_REASON, []).append(variant.name)
    said = (f"{', '.join(names)} ({why})" for why, names in reasons.items())
    return f"Not run: {'; '.join(said)}." if reasons else ""


def _headline(results: Results, pipeline: str, variant: str) -> Headline:
    timed, found = speed(results, pipeline, variant), cell_parity(results, pipeline, variant)
    rows = parity(results, pipeline, variant)
    names = [row.metric for row in rows if row.judged in ("FAIL", "INCONCLUSIVE")]
    judged = found + (f" ({', '.join(names)})" if names else "")
    if timed is None:
        text = _not_timed(results, pipeline, variant)
    else:
        text = f"{_timed(results, timed, pipeline)}, quality parity {judged}"
    if found == "FAIL":
        text = f"no claim of speed on {pipeline}: its predictions are not as good; {text}"
    return Headline(pipeline, variant, timed, found, judged, f"{variant}: {text}")


def _not_timed(results: Results, pipeline: str, variant: str) -> str:
    cell = results.cell(pipeline, variant)
    if cell is None:
        return f"no record on {pipeline}"
    if cell.status == "ok":
        return f"no timed run on {pipeline}"
    return f"{cell.status} on {pipeline}, {cell.why or NO_REASON}"


def _timed(results: Results, timed: Speed, pipeline: str) -> str:
    if timed.ratio is None:
        return f"median {timed.median:.3f} s on {pipeline}, with no reference to compare"
    title = next((v.title for v in results.variants if v.name == REFERENCE), REFERENCE)
    return _comparison(timed.ratio, title, pipeline)


def _comparison(ratio: Ratio, title: str, pipeline: str) -> str:
    where = f"end to end on {pipeline}"
    if ratio.outcome == "faster":
        low_high = _interval(ratio, inverse=True)
        return f"{times(ratio.speed_up)} faster than {title} {where} ({low_high})"
    if ratio.outcome == "slower":
        return f"{times(ratio.value)} slower than {title} {where} ({_interval(ratio)})"
    took = f"takes {times(ratio.value)} as long ({_interval(ratio)})"
    return f"no difference from {title} shown {where}: {took}"


def _interval(ratio: Ratio, *, inverse: bool = False) -> str:
    if ratio.interval is None:
        return ratio.note
    span = _span(ratio.interval, inverse=inverse)
    return f"95 % interval {span}" if ratio.n >= FEW else f"{span}, {ratio.note}"


def _span(interval: tuple[float, float], *, inverse: bool) -> str:
    low, high = interval
    if inverse:
        low, high = 1 / high, 1 / low
    return f"{times(low)[:-1]}–{times(high)[:-1]}"


def _parity(headlines: tuple[Headline, ...]) -> str:
    counts = Counter(line.parity for line in headlines if line.speed is not None)
    judged = counts["PASS"] + counts["FAIL"] + counts["INCONCLUSIVE"]
    lost = sum(1 for line in headlines if line.speed is None)
    unsure = counts["INCONCLUSIVE"]
    rest = f"; {unsure} inconclusive: more test rows would tell" if unsure else ""
    rest += f"; {lost} did not run" if lost else ""
    if not judged:
        return f"Quality parity: not judged{rest}."
    return f"Quality parity: {counts['PASS']} of {judged} within the declared margins{rest}."


def _places(results: Results) -> Iterator[str]:
    for variant in results.variants:
        cells = [c for c in results.cells if c.variant == variant.name and c.status == "ok"]
        devices = Counter(step.device for cell in cells for step in cell.placement)
        total = sum(devices.values())
        if total:
            shares = ", ".join(f"{n} on {device}" for device, n in devices.items())
            yield f"{variant.name}: {total} steps over all pipelines: {shares}."


def _gpu(results: Results) -> str:
    ran = [
        variant.name
        for variant in rivals(results)
        if on_gpu(variant.device)
        and any(measured(results, pipeline.name, variant.name) for pipeline in results.pipelines)
    ]
    if ran:
        names = ", ".join(gpu.name for gpu in results.machine.gpus) or "a GPU that is not named"
        return f"{', '.join(ran)} ran on {names}."
    skipped = [v.why for v in rivals(results) if on_gpu(v.device) and v.why]
    why = results.machine.no_gpu_why or next(iter(skipped), "no variant for a GPU ran")
    return f"No GPU was used: {why.rstrip('.')}."


IDLE = 1.5
"""Factor of busy processors beyond which a variant had more of the machine than the reference."""
BUSY = 0.5
"""Load average per processor above which the machine was not quiet."""


def caveats(results: Results) -> Iterator[str]:
    """Yield what weakens the conclusions, a sentence each."""
    machine = results.machine
    if machine.load_before > BUSY * machine.cores:
        yield (
            f"The machine was busy: load average {machine.load_before:.2f} on {machine.cores} "
            "processors before the first run."
        )
    if resumed := results.protocol.resumed:
        yield (
            f"The comparison was interrupted and resumed: {resumed} runs are of the processes "
            "before, and those after them are of new ones."
        )
    if results.source.dirty:
        yield "The code had changes that no commit holds."
    least = min((len(cell.runs) for cell in results.cells if cell.runs), default=FEW)
    if least < FEW:
        yield f"Cells with fewer than {FEW} timed runs (the least: {least}): intervals indicative."
    for pipeline in results.pipelines:
        for variant in results.variants:
            if measured(results, pipeline.name, variant.name):
                yield from _cell_caveats(results, pipeline.name, variant)


def _cell_caveats(results: Results, pipeline: str, variant: Variant) -> Iterator[str]:
    where, cell = f"{variant.name} on {pipeline}", measured(results, pipeline, variant.name)
    if cell is None:
        return
    if len(cell.runs) < results.protocol.repeats:
        yield f"{where}: {len(cell.runs)} timed runs of {results.protocol.repeats} planned."
    if on_gpu(variant.device) and not any(on_gpu(step.device) for step in cell.placement):
        yield f"{where}: no step is recorded as having run on the GPU."
    theirs, ours = (_processors(measured(results, pipeline, n)) for n in (REFERENCE, variant.name))
    if variant.name != REFERENCE and theirs and ours > IDLE * theirs:
        yield (
            f"{where}: {ours:.1f} of {results.machine.cores} processors were busy, the reference's "
            f"{theirs:.1f}: part of the speed is that of more processors (set n_jobs, see the "
            "threads)."
        )


def _processors(cell: Cell | None) -> float:
    """Return the median of the processors that the runs kept busy."""
    shares = [run.cpu_seconds / run.total for run in cell.runs if run.cpu_seconds] if cell else []
    return median(shares) if shares else 0.0
