"""A comparison beside an earlier one: another machine, another month, another commit.

Two records are set beside each other only if they measured the same: task, data, split,
pipelines and clock. What else differs (machine, packages, commit) is named, for the reader
asks which of it made the difference.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.console import Console

from pipeline.benchmark.judge.statistics import measured, ratio
from pipeline.benchmark.record.results import Results
from pipeline.benchmark.report.table import ReportTable, Values, by_pair, how_fast, span
from pipeline.benchmark.report.terminal import rich_table
from pipeline.errors import DataError
from pipeline.task.numerals import MISSING, seconds, size


def _differences(new: Results, old: Results) -> Iterator[str]:
    """Yield what two records did not have in common, so that they cannot be compared."""
    pairs = {
        "task": (new.task.name, old.task.name),
        "data (SHA-256)": (new.data.sha256, old.data.sha256),
        "split": (new.task.split, old.task.split),
        "target": (new.task.target, old.task.target),
        "training rows": (new.task.rows_train, old.task.rows_train),
        "test rows": (new.task.rows_test, old.task.rows_test),
        "positive class": (new.task.positive, old.task.positive or new.task.positive),
        "clock": (new.protocol.clock, old.protocol.clock),
    }
    yield from (
        f"{what}: {now!r} now, {then!r} then" for what, (now, then) in pairs.items() if now != then
    )
    code = {pipeline.name: pipeline.code for pipeline in old.pipelines}
    common = [pipeline for pipeline in new.pipelines if pipeline.name in code]
    if not common:
        yield f"pipelines: {[s.name for s in new.pipelines]} now, {[*code]} then"
    for pipeline in common:
        if pipeline.code != code[pipeline.name]:
            yield f"pipeline {pipeline.name}: its parameters are others"


def _environment(results: Results) -> dict[str, str]:
    """Return what a record was measured with, by name: machine, code, versions, threads."""
    machine, gpus = results.machine, results.machine.gpus
    return {
        "processor": f"{machine.cpu}, {machine.cores} cores",
        "memory": size(machine.memory_bytes),
        "GPU": ", ".join(gpu.name for gpu in gpus) or "none",
        "GPU driver": ", ".join(dict.fromkeys(gpu.driver for gpu in gpus)) or "none",
        "system": machine.system,
        "commit": results.source.commit + (", with changes" if results.source.dirty else ""),
        "seed": str(results.protocol.seed),
        "Python": machine.python,
        **dict(sorted(machine.packages.items())),
        **{f"threads of {name}": value for name, value in sorted(machine.threads.items())},
    }


def baseline_table(new: Results, old: Results) -> ReportTable:
    """Return the times of both records, and how much faster or slower the new ones are.

    Raises
    ------
    DataError
        They did not measure the same; every difference is named.
    """
    if reasons := [*_differences(new, old)]:
        raise DataError("the two results are not comparable: " + "; ".join(reasons))
    here, there = _environment(new), _environment(old)
    others = "; ".join(
        f"{what}: {here.get(what, 'none')} now, {there.get(what, 'none')} then"
        for what in {**here, **there}
        if here.get(what, "none") != there.get(what, "none")
    )

    def write(new: Results, pipeline: str, variant: str) -> Values | None:
        cells = (measured(results, pipeline, variant) for results in (old, new))
        times = [np.array([run.total for run in cell.runs]) for cell in cells if cell]
        if len(times) < 2:
            return None
        medians, against = (
            (seconds(float(np.median(each))) for each in times),
            ratio(times[1], times[0]),
        )
        return *medians, *((how_fast(against), span(against)) if against else (MISSING, MISSING))

    return by_pair(
        f"Now ({new.created[:10]}) beside then ({old.created[:10]})",
        ("Then, s", "Now, s", "Now it is", "95 % interval"),
        "rrll",
        "Medians. " + (f"What else differs: {others}." if others else "All else is the same."),
    )(write)(new)


def show(new: Results, old: Results) -> None:
    """Print the table; see `baseline_table` for what is raised."""
    table = baseline_table(new, old)
    Console().print(rich_table(table, table.caption, table.note))
