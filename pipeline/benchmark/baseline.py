"""A comparison beside an earlier one: another machine, another month, another commit.

Two records are set beside each other only if they measured the same: task, data, split,
pipelines and clock. What else differs (machine, packages, commit) is named, for the reader
asks which of it made the difference.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.console import Console
from rich.table import Table as Shown

from pipeline.benchmark.report.format import MISSING, seconds, size
from pipeline.benchmark.report.table import ReportTable, Row, row
from pipeline.benchmark.report.tables import outcome, span
from pipeline.benchmark.results import Cell, Results
from pipeline.benchmark.statistics import ratio
from pipeline.errors import DataError


def require_comparable(new: Results, old: Results) -> None:
    """Check that two records measured the same.

    Raises
    ------
    DataError
        They did not; every difference is named.
    """
    reasons = list(why_not_comparable(new, old))
    if reasons:
        raise DataError("the two results are not comparable: " + "; ".join(reasons))


def why_not_comparable(
    new: Results, old: Results, sides: tuple[str, str] = ("now", "then")
) -> Iterator[str]:
    """Yield what two records did not have in common, so that they cannot be compared.

    Parameters
    ----------
    new, old : Results
    sides : tuple of str
        What each of them is called.
    """
    one, other = sides
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
    for what, (now, then) in pairs.items():
        if now != then:
            yield f"{what}: {now!r} {one}, {then!r} {other}"
    code = {pipeline.name: pipeline.code for pipeline in old.pipelines}
    common = [pipeline for pipeline in new.pipelines if pipeline.name in code]
    if not common:
        yield f"pipelines: {[s.name for s in new.pipelines]} {one}, {[*code]} {other}"
    for pipeline in common:
        if pipeline.code != code[pipeline.name]:
            yield f"pipeline {pipeline.name}: its parameters are others"


def environment(results: Results) -> dict[str, str]:
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


def environment_differences(new: Results, old: Results) -> list[tuple[str, str, str]]:
    """Return what two records were measured with where it differs: name, new and old."""
    here, there = environment(new), environment(old)
    pairs = ((name, here.get(name, "none"), there.get(name, "none")) for name in {**here, **there})
    return [each for each in pairs if each[1] != each[2]]


def baseline_table(new: Results, old: Results) -> ReportTable:
    """Return the times of both records, and their ratio, new over old.

    Raises
    ------
    DataError
        They are not comparable.
    """
    require_comparable(new, old)
    then = {(cell.pipeline, cell.variant): cell for cell in old.cells if cell.runs}
    rows = [
        _row(cell, then[cell.pipeline, cell.variant])
        for cell in new.cells
        if cell.runs and (cell.pipeline, cell.variant) in then
    ]
    others = "; ".join(
        f"{what}: {now} now, {then} then" for what, now, then in environment_differences(new, old)
    )
    return ReportTable(
        f"Now ({new.created[:10]}) beside then ({old.created[:10]})",
        ("Pipeline", "Variant", "Then, s", "Now, s", "Ratio", "Interval", "Verdict"),
        "llrrrrl",
        tuple(rows),
        "Medians; below 1 is faster than then. "
        + (f"What else differs: {others}." if others else "All else is the same."),
    )


def _row(now: Cell, then: Cell) -> Row:
    times = [np.array([run.total for run in cell.runs]) for cell in (now, then)]
    against = ratio(*times)
    medians = [seconds(float(np.median(each))) for each in reversed(times)]
    if against is None:
        return row(now.pipeline, now.variant, *medians, *[MISSING] * 3)
    judged = f"{against.value:.3f}", span(against), outcome(against)
    return row(now.pipeline, now.variant, *medians, *judged)


def show(new: Results, old: Results) -> None:
    """Print the table; see `table` for what is raised."""
    table = baseline_table(new, old)
    shown = Shown(title=table.caption, caption=table.note)
    for name, side in zip(table.head, table.align, strict=True):
        shown.add_column(name, justify="right" if side == "r" else "left")
    for cells in table.rows:
        shown.add_row(*(cell.text for cell in cells))
    Console().print(shown)
