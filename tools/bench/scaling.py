"""Fits from the disk of more and more rows: ``python -m tools.bench.scaling``.

How time and memory grow, as a line through their logarithms, and what the line says of more
rows than were measured.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec
import numpy as np
from scipy import stats

from datasets import synthetic
from datasets.synthetic.recipe import Recipe
from pipeline import records
from pipeline.errors import ConfigError
from pipeline.system import environment
from tools.bench import large, publication
from tools.bench.large import Fit
from tools.bench.publication import Record, fingerprint

SCHEMA: Final = "scaling.results/1"
SIZES = (1_000_000, 3_000_000, 10_000_000)
BEYOND = 100_000_000
"""Rows that the table ends with; extrapolated where they were not measured."""
TREES = 10


class Point(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fit of one size."""

    rows: int
    read: int
    """Columns that are read."""
    bytes: int
    """Of the columns that are read, as one Arrow table."""
    fit: Fit


class Results(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The record."""

    schema: Literal["scaling.results/1"]
    columns: int
    trees: int
    points: list[Point]


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

    def at(self, rows: int) -> float:
        """Return what so many rows take."""
        return float(self.scale * rows**self.slope)


def line(rows: list[int], taken: list[float]) -> Line:
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


def load(path: Path) -> Results:
    """Read and validate a record; see `pipeline.records.load` for what is raised."""
    return records.load(path, Results, schema=SCHEMA, command="make bench-scaling")


def measure(given: argparse.Namespace, home: Path) -> Results:
    """Return the fits of all sizes; each table is made in a folder and removed again.

    Raises
    ------
    ConfigError
        A fit failed; there is no record without it.
    """
    load_before = environment.load_average()
    recipes = [Recipe(rows=n, columns=given.columns, seed=given.seed) for n in sorted(given.rows)]
    return Results(
        schema=SCHEMA,
        points=[_point(recipe, given.trees, home) for recipe in recipes],
        **fingerprint("tools.bench.scaling", load_before, given.seed),
        columns=given.columns,
        trees=given.trees,
    )


def _point(recipe: Recipe, trees: int, home: Path) -> Point:
    folder = synthetic.prepare(home, recipe)
    numbers, categories = large.columns(recipe)
    names = [*numbers, *categories]
    size = large.arrow_bytes(folder, names)
    options = {"trees": trees, "seed": recipe.seed, "room_bytes": large.room(size)}
    found = large.run(large.job("stream", recipe, folder, home / "model", **options))
    publication.say(f"{recipe.rows:,} rows, {large.told(found)}")
    shutil.rmtree(folder)
    if found.error:
        raise ConfigError(f"{recipe.rows:,} rows: {found.error}")
    return Point(rows=recipe.rows, read=len(names), bytes=size, fit=found)


def part(found: Results) -> str:
    """Return the table of the guide, in Markdown."""
    points = found.points
    rows = [point.rows for point in points]
    taken = line(rows, [point.fit.seconds for point in points])
    beside = line(rows, [_beside(point) for point in points])
    lines = ["| rows | data, GB | seconds | seconds a million rows | peak, MiB | how |"]
    lines += ["|---:|---:|---:|---:|---:|---|"]
    for point in points:
        lines.append(_row(point, point.fit.seconds, point.fit.peak_bytes, how(point.fit)))
    if max(rows) < BEYOND:
        last = points[-1]
        far = msgspec.structs.replace(last, rows=BEYOND, bytes=last.bytes * BEYOND // last.rows)
        peak = last.fit.start_bytes + beside.at(BEYOND)
        lines.append(_row(far, taken.at(BEYOND), peak, "**extrapolated**"))
    here = found.machine
    return "\n".join(lines) + (
        f"\n\nThe lines through the logarithms have the slope {_slope(taken)} for seconds and "
        f"{_slope(beside)} for the bytes beside the libraries; 1 is linear. One fit of each size, "
        f"in a process that has too little memory to gather the rows; "
        f"{points[0].read} columns, {found.trees} trees; {here.cpu}, {here.cores} cores, load "
        f"average before {here.load_before:.1f}; {found.created[:10]}."
    )


def how(fit: Fit) -> str:
    """Return whether the rows were gathered after all, in a word of the table."""
    return "measured, gathered" if "gather" in fit.parts else "measured"


def _beside(point: Point) -> float:
    return float(point.fit.peak_bytes - point.fit.start_bytes)


def _row(point: Point, seconds: float, peak: float, word: str) -> str:
    return (
        f"| {point.rows:,} | {point.bytes / 1e9:.2f} | {seconds:,.0f} "
        f"| {seconds / point.rows * 1e6:.1f} | {peak / 2**20:,.0f} | {word} |"
    )


def _slope(found: Line) -> str:
    return f"{found.slope:.2f} (95 % interval {found.low:.2f} to {found.high:.2f})"


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.scaling", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results/scaling-cpu"))
    parser.add_argument("--rows", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--trees", type=int, default=TREES)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if len(set(given.rows)) < 2:
        parser.error("--rows needs two sizes or more")
    return given


def main() -> int:
    """Measure, publish and print the record; return the exit code."""
    given = arguments()
    return publication.publish(given.out, lambda home: measure(given, home), part)


if __name__ == "__main__":
    sys.exit(main())
