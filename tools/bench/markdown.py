"""The record as Markdown: every figure of the documents comes from here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from pipeline.benchmark.report.format import MISSING, integer, seconds, size
from pipeline.benchmark.statistics import Ratio
from tools.bench import verdicts
from tools.bench.schema import REFERENCE, Case, Cell, Memory, Results

TITLE = "# Preprocessing on the CPU: the measurement"
_TIMED = ("fit_transform", "transform", "read+fit_transform")


def report(results: Results) -> str:
    """Return the whole document that lies beside the record."""
    programs = [f"## The program of {c.name}\n\n```python\n{c.code}\n```" for c in results.cases]
    return "\n\n".join([TITLE, "## Results", part(results), *programs]) + "\n"


def part(results: Results) -> str:
    """Return targets, times, numbers and memory, with the machine."""
    parts = [_machine(results), "### Targets", _targets(results)]
    for case in results.cases:
        parts += [f"### {case.name}: times", _about(case), _times(results, case)]
        parts += [f"### {case.name}: numbers and memory", _numbers(results, case)]
    if results.memory:
        parts += ["### Memory of a long `transform`", _memory(results.memory)]
    return "\n\n".join([*parts, *_notes(results)])


def summary(results: Results) -> str:
    """Return the machine and the targets, with what was found."""
    return f"{_machine(results)}\n\n{_targets(results)}"


def times_as_fast(ratio: Ratio | None) -> str:
    """Write how many times as fast, with its interval.

    >>> times_as_fast(Ratio(0.125, (0.1, 0.2), 7))
    '8.0× (5.0–10.0)'
    """
    if ratio is None:
        return MISSING
    if ratio.interval is None:
        return f"{ratio.speed_up:.1f}× ({ratio.note})"
    low, high = (1 / end for end in reversed(ratio.interval))
    return f"{ratio.speed_up:.1f}× ({low:.1f}–{high:.1f})"


def _machine(results: Results) -> str:
    here, protocol = results.machine, results.protocol
    names = ("numpy", "pandas", "pyarrow", "scikit-learn", "polars", "skrub")
    packages = ", ".join(f"{n} {here.packages[n]}" for n in names if n in here.packages)
    return (
        f"{here.cpu}, {here.cores} cores, {size(here.memory_bytes)}, Python {here.python}, "
        f"{packages}; {results.created[:10]}. Medians of {protocol.repeats} runs in random order "
        f"after a warm-up; {protocol.isolation}. Load average before: {here.load_before:.2f}. "
        f"Code: {results.source.commit[:12]}{' and changes' if results.source.dirty else ''}."
    )


def _about(case: Case) -> str:
    return (
        f"{integer(case.rows)} rows, {case.columns} columns in, {case.width} out. The factors are "
        f"times as fast as `{REFERENCE}`, with the 95 % interval."
    )


def _targets(results: Results) -> str:
    rows = [
        [
            found.case,
            found.phase,
            found.variant,
            found.against,
            f"{found.wanted:.0f}×",
            times_as_fast(found.found),
            "yes" if found.met else "**no**",
        ]
        for found in verdicts.speeds(results)
    ]
    rows += [
        [
            "memory",
            "transform",
            found.variant,
            f"output + {verdicts.MEMORY_SHARE:.0%} of input".replace("%", " %"),
            size(verdicts.allowed(found)),
            size(verdicts.taken(found)) if not found.why else found.why,
            "yes" if verdicts.within(found) else "**no**",
        ]
        for found in results.memory
    ]
    head = ["case", "phase", "variant", "against", "wanted", "found", "met"]
    return table(head, rows, right=(4, 5))


def _times(results: Results, case: Case) -> str:
    head = ["variant", "library", "input", "read, s"]
    for phase in _TIMED:
        head += [f"{phase.replace('+', ' + ')}, s", "factor"]
    rows = [[v.name, v.title, v.input, *_measured(results, case, v.name)] for v in results.variants]
    return table(head, rows, right=range(3, len(head)))


def _measured(results: Results, case: Case, variant: str) -> Iterator[str]:
    cell = results.cell(case.name, variant)
    yield seconds(verdicts.median(cell, "read")) if cell else _failed(results, case, variant)
    for phase in _TIMED:
        yield seconds(verdicts.median(cell, phase)) if cell else MISSING
        other = verdicts.against(results, case.name, variant, REFERENCE, phase)
        yield MISSING if variant == REFERENCE else times_as_fast(other)


def _failed(results: Results, case: Case, variant: str) -> str:
    found = [c.why for c in results.cells if (c.case, c.variant) == (case.name, variant)]
    return f"failed: {found[0]}" if found else MISSING


def _numbers(results: Results, case: Case) -> str:
    head = ["variant", "output", "largest difference: fit_transform", "transform", "same numbers"]
    head += ["input", "result", "peak: fit_transform", "transform"]
    rows = [
        [variant.name, variant.output, *_compared(cell)]
        for variant in results.variants
        if (cell := results.cell(case.name, variant.name))
    ]
    return table(head, rows, right=(2, 3, 5, 6, 7, 8))


def _compared(cell: Cell) -> list[str]:
    found = cell.difference
    values = (found.fit_transform, found.transform) if found else (None, None)
    peaks = [
        float(np.median([getattr(run, f"{phase}_peak_bytes") for run in cell.runs]))
        for phase in ("fit_transform", "transform")
    ]
    return [
        *(MISSING if value is None else f"{value:.1e}" if value else "0" for value in values),
        "yes" if verdicts.same(found) else "**no**",
        *map(size, (cell.input_bytes, cell.output_bytes, *peaks)),
    ]


def _memory(found: Sequence[Memory]) -> str:
    head = ["variant", "rows", "input", "output", "before reading", "before", "peak"]
    head += ["peak − before", "taken", "allowed"]
    rows = [
        [
            m.variant,
            integer(m.rows),
            *map(size, (m.input_bytes, m.output_bytes, m.empty_bytes, m.before_bytes)),
            *map(size, (m.peak_bytes, m.peak_bytes - m.before_bytes)),
            *map(size, (verdicts.taken(m), verdicts.allowed(m))),
        ]
        for m in found
        if not m.why
    ]
    return table(head, rows, right=range(1, len(head)))


def _notes(results: Results) -> Iterator[str]:
    notes = [f"- `{v.name}`: {v.note}." for v in results.variants if v.note]
    whole = "since the start of its phase" if results.peaks == "each phase" else "so far"
    yield "\n".join([*notes, f"- A peak is the most resident memory of the process {whole}."])


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """Return a Markdown table.

    >>> print(table(["a", "b"], [["x", "1"]], right=[1]))
    | a | b |
    | :--- | ---: |
    | x | 1 |
    """
    marks = ["---:" if i in set(right) else ":---" for i in range(len(head))]
    lines = [head, marks, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
