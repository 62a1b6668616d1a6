"""The tables of the gallery: variants over all tasks, each cell, and machines side by side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.benchmark.aggregate import FEWEST, RESULTS, CellResult, Standing
from pipeline.benchmark.baseline import environment_differences, why_not_comparable
from pipeline.benchmark.report.cells import Value, write_csv
from pipeline.benchmark.report.format import MISSING, seconds, times
from pipeline.benchmark.report.table import ReportTable, TableCell, row
from pipeline.benchmark.results import Results
from pipeline.benchmark.statistics import speed

LEVELS = 4
"""Shades to each side of 1, each up to a factor of 2 from the one before."""
SIGNS = {"tie": "=", "quality fails": "✗"}


@dataclass(frozen=True)
class Square:
    """A cell of the heatmap.

    Parameters
    ----------
    text : str
        The ratio, and a sign that says more.
    words : str
        The same for those who do not see it.
    shade : str
        ``"f1"`` to ``"f4"`` the faster, ``"s1"`` to ``"s4"`` the slower, ``"x"`` where time says
        nothing, or none where no difference is shown.
    """

    text: str
    words: str
    shade: str


def square(cell: CellResult | None) -> Square:
    """Return the cell of the heatmap that shows a result.

    Examples
    --------
    >>> square(None)
    Square(text='–', words='not run', shade='')
    """
    if cell is None or cell.result in ("not run", "failed"):
        failed = cell is not None and cell.result == "failed"
        return Square("failed" if failed else MISSING, cell.why if failed and cell else "not run",
                      "x" if failed else "")  # fmt: skip
    if cell.ratio is None:
        return Square(f"≥ {cell.at_least:.3g}", cell.why, shade(cell.at_least or 1.0))
    sign = SIGNS.get(cell.result, "")
    words = f"{cell.ratio:.3f} of the time of plain scikit-learn, {_outcome(cell)}"
    plain = {"quality fails": "x", "tie": ""}
    tone = plain.get(cell.result, shade(cell.ratio))
    return Square(f"{cell.ratio:.3g} {sign}".strip(), words, tone)


def _outcome(cell: CellResult) -> str:
    outcome = cell.speed.ratio.outcome if cell.speed and cell.speed.ratio else MISSING
    return f"{outcome}, quality parity {cell.parity}"


def shade(ratio: float) -> str:
    """Return the shade of a ratio.

    Examples
    --------
    >>> [shade(ratio) for ratio in (0.01, 0.3, 0.9, 1.0, 1.2, 3.0)]
    ['f4', 'f2', 'f1', '', 's1', 's2']
    """
    away = abs(math.log2(ratio))
    if away < 0.05:
        return ""
    return f"{'f' if ratio < 1 else 's'}{min(LEVELS, max(1, math.ceil(away)))}"


def standing_table(every: Sequence[Standing], *, machines: bool) -> ReportTable:
    """Return how each variant stands over all tasks.

    Parameters
    ----------
    every : sequence of Standing
    machines : bool
        Whether the machine is named.
    """
    head = ("Variant", *(("Machine",) if machines else ()), "Geometric mean", "95 % interval")
    counts = tuple(name.capitalize() for name in RESULTS)
    return ReportTable(
        "Time against plain scikit-learn, over all tasks",
        (*head, "Tasks", "Cells", *counts, "Largest ratio"),
        "l" * (1 + machines) + "rrrr" + "r" * len(counts) + "l",
        tuple(row(*_standing_row(each, machines=machines)) for each in every),
        "Geometric mean of the time ratios (Fleming and Wallace 1986), below 1 is faster; each "
        f"task counts once. Interval: bootstrap over tasks, from {FEWEST} on. A win or a loss is a "
        "ratio whose interval leaves 1 out; where quality fails nothing is won, and the ratio is "
        "not in the mean. Stopped: a run took longer than it was given.",
    )


def _standing_row(each: Standing, *, machines: bool) -> Iterable[str | TableCell]:
    yield each.variant
    if machines:
        yield each.machine
    yield MISSING if each.mean is None else f"{each.mean:.3f}"
    yield "–".join(f"{end:.3f}" for end in each.interval) if each.interval else MISSING
    yield str(each.tasks)
    yield str(each.cells)
    for name in RESULTS:
        count = each.counts[name]
        bad = name in ("loss", "quality fails", "stopped", "failed")
        yield TableCell(str(count), "bad" if bad and count else "" if count else "quiet")
    worst = each.worst
    yield f"{worst.ratio:.3f}, {worst.pipeline} of {worst.task}" if worst else MISSING


def machines_table(machines: Mapping[str, str], records: Mapping[str, int]) -> ReportTable:
    """Return the machines, and how many tasks each has a record of."""
    rows = tuple(row(name, what, str(records[name])) for name, what in machines.items())
    return ReportTable("Machines", ("Machine", "What it is", "Tasks"), "llr", rows)


def side_by_side(one: Results, other: Results, names: tuple[str, str]) -> ReportTable:
    """Return the median times of one task on two machines.

    Parameters
    ----------
    one, other : Results
        Of the same task.
    names : tuple of str
        Of the machines.
    """
    reasons = [*why_not_comparable(one, other, (f"on {names[0]}", f"on {names[1]}"))]
    caption = f"{one.task.name} on {names[0]} and {names[1]}"
    head = ("Pipeline", "Variant", *(f"{name}, s" for name in names), "Ratio")
    if reasons:
        said = f"{caption}: not compared, {'; '.join(reasons)}"
        return ReportTable(said, head, "llrrr", ())
    rows = [
        row(p.name, v.name, seconds(here.median), seconds(there.median),
            times(there.median / here.median))
        for p in one.pipelines
        for v in one.variants
        if (here := speed(one, p.name, v.name)) and (there := speed(other, p.name, v.name))
    ]  # fmt: skip
    note = f"Medians, end to end. Ratio: {names[1]} over {names[0]}."
    return ReportTable(caption, head, "llrrr", tuple(rows), note)


def difference_table(one: Results, other: Results, names: tuple[str, str]) -> ReportTable:
    """Return what two records were measured with, where it differs."""
    rows = tuple(row(*each) for each in environment_differences(one, other))
    caption = f"What differs between {names[0]} and {names[1]}, by their records of {one.task.name}"
    return ReportTable(caption, ("What", *names), "lll", rows)


def gallery_csv(every: Iterable[CellResult]) -> str:
    """Return a row for each cell of all tasks, in plain numbers."""
    return write_csv(_csv_row(cell) for cell in every)


def _csv_row(cell: CellResult) -> dict[str, Value]:
    timed = cell.speed
    ratio = timed.ratio if timed else None
    low, high = ratio.interval if ratio and ratio.interval else (None, None)
    return {
        "task": cell.task,
        "pipeline": cell.pipeline,
        "variant": cell.variant,
        "machine": cell.machine,
        "result": cell.result,
        "parity": cell.parity,
        "runs": timed.n if timed else 0,
        "median_seconds": timed.median if timed else None,
        "time_ratio": cell.ratio,
        "time_ratio_low": low,
        "time_ratio_high": high,
        "time_ratio_at_least": cell.at_least,
        "why": "" if timed else cell.why,
    }
