"""What a fit takes as its rows grow: a line through the logarithms."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import stats

from datasets.synthetic.recipe import Recipe
from tools.bench import report
from tools.bench.claim import Ask, Case, Claim, here
from tools.bench.fits import Made
from tools.bench.record import Results, Variant
from tools.bench.report import in_mib

BEYOND = 100_000_000
"""Rows that the table of sizes ends with; extrapolated where they were not measured."""


def _scaling(ask: Ask) -> Generator[Case, None, None]:
    for rows in sorted(ask.settings["rows"]):
        table = Made(ask, Recipe(rows=rows, columns=ask.one("columns"), seed=ask.seed))
        trees = {"trees": ask.one("trees")}
        work = here(partial(table.run, "stream", {"room_bytes": table.room, **trees}))
        yield Case(table.about(f"{rows:,}", **trees), {"stream": work}, warms_up=False)
        shutil.rmtree(table.folder)


class Line(NamedTuple):
    """A line through logarithms of rows and of what they take.

    Parameters
    ----------
    slope : float
        1 where what is taken grows as the rows do.
    low, high : float
        Central 95 % interval of the slope; infinite with two points.
    scale : float
        What a row takes by a line of slope 0: the intercept, not as a logarithm.
    """

    slope: float
    low: float
    high: float
    scale: float

    def at(self, rows: float) -> float:
        """Return what so many rows take by the line."""
        return float(self.scale * rows**self.slope)

    def __str__(self) -> str:
        """Return the slope with its interval."""
        return f"{self.slope:.2f} (95 % interval {self.low:.2f} to {self.high:.2f})"


def line(rows: Sequence[float], taken: Sequence[float]) -> Line:
    """Return the line of least squares through logarithms; two points or more.

    >>> found = line([10, 100, 1000], [2.0, 20.0, 200.0])
    >>> round(found.slope, 6), round(found.at(10_000))
    (1.0, 2000)
    """
    fitted = stats.linregress(np.log(rows), np.log(taken))
    free = len(rows) - 2
    half = float(stats.t.ppf(0.975, free) * fitted.stderr) if free else np.inf
    slope = float(fitted.slope)
    return Line(slope, slope - half, slope + half, float(np.exp(fitted.intercept)))


def growth(results: Results) -> str:
    """Return the sizes with what they took, and the lines through them, as Markdown."""
    facts = [results.case(cell.case).facts for cell in results.cells]
    rows, size = [each["rows"] for each in facts], [each["bytes"] for each in facts]
    seconds = [cell.median("fit") for cell in results.cells]
    starts, peaks = ([cell.most(name) for cell in results.cells] for name in ("start", "peak"))
    how = ["gather" in cell.runs[0].seconds for cell in results.cells]
    words = ["measured, gathered" if gathered else "measured" for gathered in how]
    taken = line(rows, seconds)
    beside = line(rows, [peak - start for peak, start in zip(peaks, starts, strict=True)])
    lines: list[tuple[float, float, float, float, str]]
    lines = [*zip(rows, size, seconds, peaks, words, strict=True)]
    if max(rows) < BEYOND:
        far = size[-1] * BEYOND // rows[-1], taken.at(BEYOND), starts[-1] + beside.at(BEYOND)
        lines.append((BEYOND, *far, "**extrapolated**"))
    head = ["rows", "data, GB", "seconds", "seconds a million rows", "peak, MiB", "how"]
    shown = [
        [
            f"{n:,}",
            f"{held / 1e9:.2f}",
            f"{t:,.0f}",
            f"{t / n * 1e6:.1f}",
            in_mib(peak),
            word,
        ]
        for n, held, t, peak, word in lines
    ]
    return (
        f"{report.table(head, shown, right=range(5))}\n\nThe lines through the logarithms have "
        f"the slope {taken} for seconds and {beside} for the bytes beside the libraries; 1 is "
        f"linear. {facts[0]['read']} columns are read."
    )


SCALING = Claim(
    folder="scaling-cpu",
    settings={"rows": (1_000_000, 3_000_000, 10_000_000), "columns": (30,), "trees": (10,)},
    repeats=1,
    cases=_scaling,
    variants=[Variant(name="stream", title="from the disk")],
    clock="{trees} trees",
    isolation="a process each, with too little memory to gather the rows",
    notes=growth,
)
