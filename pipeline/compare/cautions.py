"""What weakens the conclusions of a comparison, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.compare.results import Results, Variant
from pipeline.compare.statistics import FEW, OTHER, REFERENCE, measured, speed, stages
from pipeline.compare.words import on_gpu, times

IDLE = 1.5
"""Factor of busy processors beyond which a variant had more of the machine than the reference."""
BUSY = 0.5
"""Load average per processor above which the machine was not quiet."""
UNATTRIBUTED = 0.2
"""Share of the time outside all stages that deserves a word."""
SPREAD = 1.5
"""Slowest run over median that deserves a word."""


def cautions(results: Results) -> Iterator[str]:
    """Yield what weakens the conclusions, a sentence each."""
    machine = results.machine
    if machine.load_before > BUSY * machine.cores:
        yield (
            f"The machine was busy: load average {machine.load_before:.2f} on {machine.cores} "
            "processors before the first run."
        )
    if resumed := results.protocol.resumed:
        yield (
            f"The comparison was ended before its end and taken up again: {resumed} runs are of "
            "the processes before, and those after them are of new ones."
        )
    if results.source.dirty:
        yield "The code had changes that no commit holds."
    least = min((len(cell.runs) for cell in results.cells if cell.runs), default=FEW)
    if least < FEW:
        yield f"Cells with fewer than {FEW} timed runs (the least: {least}): intervals indicative."
    for spec in results.specs:
        for variant in results.variants:
            if measured(results, spec.name, variant.name):
                yield from _cell_cautions(results, spec.name, variant)


def _cell_cautions(results: Results, spec: str, variant: Variant) -> Iterator[str]:
    where, found = f"{variant.name} on {spec}", speed(results, spec, variant.name)
    cell = measured(results, spec, variant.name)
    if found is None or cell is None:
        return
    if found.n < results.protocol.repeats:
        yield f"{where}: {found.n} timed runs of {results.protocol.repeats} planned."
    if found.maximum > SPREAD * found.median:
        yield f"{where}: the slowest run took {times(found.maximum / found.median)} the median."
    if stages(results, spec, variant.name)[OTHER] > UNATTRIBUTED * found.median:
        yield f"{where}: more than {UNATTRIBUTED:.0%} of the time belongs to no stage."
    if variant.name != REFERENCE and cell.agreement is None:
        yield f"{where}: predictions were not compared with the reference's."
    if busy := _fewer_processors(results, spec, variant.name):
        yield f"{where}: {busy}"
    if on_gpu(variant.device) and not any(on_gpu(step.device) for step in cell.placement):
        yield f"{where}: no step is recorded as having run on the GPU."


def _fewer_processors(results: Results, spec: str, variant: str) -> str:
    """Return how many processors were busy, where the reference had far fewer of them."""
    theirs, ours = (_processors(results, spec, name) for name in (REFERENCE, variant))
    if variant == REFERENCE or not theirs or ours <= IDLE * theirs:
        return ""
    return (
        f"{ours:.1f} of {results.machine.cores} processors were busy, the reference's "
        f"{theirs:.1f}: part of the speed is that of more processors (set n_jobs, see the threads)."
    )


def _processors(results: Results, spec: str, variant: str) -> float:
    cell = measured(results, spec, variant)
    shares = [run.cpu_seconds / run.total for run in cell.runs if run.cpu_seconds] if cell else []
    return sorted(shares)[len(shares) // 2] if shares else 0.0
