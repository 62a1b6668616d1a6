"""The tables of what the runs took: memory, processors, disk, GPU, energy."""

from __future__ import annotations

import numpy as np

from pipeline import records
from pipeline.compare.report.format import MISSING, share, size
from pipeline.compare.report.table import Table, row
from pipeline.compare.report.tables import pairs
from pipeline.compare.results import Results
from pipeline.compare.statistics import REFERENCE, measured
from pipeline.compare.words import times


def memory_table(results: Results) -> Table:
    """Return the peak resident memory of each worker, and its ratio to the reference's."""
    return Table(
        "Peak resident memory of the process",
        ("Spec", "Variant", "Peak RSS", "Ratio to the reference"),
        "llrr",
        tuple(
            row(spec, variant, size(cell.peak_rss_bytes), _memory_ratio(results, spec, variant))
            for spec, variant in pairs(results)
            if (cell := measured(results, spec, variant))
        ),
        "Host memory, libraries included. Memory of a GPU is not in it.",
    )


def resource_table(results: Results) -> Table:
    """Return what the last timed run of each cell took of the machine."""
    found = [
        (spec, variant, cell.trace)
        for spec, variant in pairs(results)
        if (cell := measured(results, spec, variant)) and cell.trace
    ]
    return Table(
        "What the last timed run took",
        (
            *("Spec", "Variant", "Busy processors", "Read from disk", "GPU in use", "GPU memory"),
            *("Energy", "Cost of watching"),
        ),
        "llrrrrrr",
        tuple(row(spec, variant, *_resources(trace)) for spec, variant, trace in found),
        "Busy processors: mean over the run. GPU: mean share of the time in which a kernel ran, "
        "and the most memory in use, of the whole GPU. " + _unmeasured(found),
    )


def _resources(trace: records.Trace) -> tuple[str, ...]:
    span = trace.seconds[-1]
    steps = np.diff(trace.seconds, prepend=0.0)
    busy = float(np.dot(steps, trace.processors)) / span if span else 0.0
    joules = [f"{part} {energy.joules:.3g} J" for part, energy in trace.energy.items()]
    return (
        f"{busy:.2f}",
        MISSING if trace.read_bytes is None else size(trace.read_bytes),
        share(float(np.mean(trace.gpu_use))) if trace.gpu_use else MISSING,
        size(max(trace.gpu_bytes)) if trace.gpu_bytes else MISSING,
        ", ".join(joules) or "not measured",
        share(trace.cost),
    )


def _unmeasured(found: list[tuple[str, str, records.Trace]]) -> str:
    reasons = {f"{what}: {why}" for _, _, t in found for what, why in t.not_measured.items()}
    how = {f"{part}: {e.how}" for _, _, t in found for part, e in t.energy.items()}
    told = [f"Energy of the {each}." for each in sorted(how)]
    return " ".join(told + [f"Not measured: {each}." for each in sorted(reasons)])


def _memory_ratio(results: Results, spec: str, variant: str) -> str:
    cell, base = measured(results, spec, variant), measured(results, spec, REFERENCE)
    if variant == REFERENCE or cell is None or base is None or base.peak_rss_bytes <= 0:
        return MISSING
    return times(cell.peak_rss_bytes / base.peak_rss_bytes)
