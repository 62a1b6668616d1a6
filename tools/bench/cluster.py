"""Two workers of Dask beside one process: ``python -m tools.bench.cluster``.

The same pipeline on the same files, in turns, each fit in a process of its own.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import numpy as np

from datasets import synthetic
from datasets.synthetic.recipe import Recipe
from pipeline import records
from pipeline.benchmark.rounds import turns
from pipeline.benchmark.statistics import ratio
from pipeline.errors import ConfigError
from pipeline.system import environment
from tools.bench import large, publication
from tools.bench.large import Fit, Way
from tools.bench.publication import Record, fingerprint

SCHEMA: Final = "cluster.results/1"
WORKERS = 2
TREES = 20
"""Fewer than in the other measurement: each fit is made several times."""
HELD_OUT = 200_000
WAYS: dict[Way, str] = {"memory": "one process", "cluster": "workers"}


class Size(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table and the fits that were made of it."""

    rows: int
    read: int
    """Columns that are read."""
    memory: list[Fit]
    cluster: list[Fit]
    auc_memory: float
    auc_cluster: float


class Results(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The record."""

    schema: Literal["cluster.results/1"]
    columns: int
    trees: int
    workers: int
    rows_held_out: int
    sizes: list[Size]


def load(path: Path) -> Results:
    """Read and validate a record; see `pipeline.records.load` for what is raised."""
    return records.load(path, Results, schema=SCHEMA, command="make bench-cluster")


def measure(given: argparse.Namespace, home: Path, held_out: int = HELD_OUT) -> Results:
    """Return the fits of all sizes; the tables are made in a folder.

    Raises
    ------
    ConfigError
        A fit failed; there is no record without it.
    """
    load_before = environment.load_average()
    pairs = zip(given.rows, given.repeats, strict=True)
    recipes = [(Recipe(rows=rows, columns=given.columns, seed=given.seed), n) for rows, n in pairs]
    return Results(
        schema=SCHEMA,
        sizes=[_size(recipe, n, given.trees, home, held_out) for recipe, n in recipes],
        **fingerprint("tools.bench.cluster", load_before, given.seed),
        columns=given.columns,
        trees=given.trees,
        workers=WORKERS,
        rows_held_out=held_out,
    )


def _size(recipe: Recipe, repeats: int, trees: int, home: Path, held_out: int) -> Size:
    folder = synthetic.prepare(home, recipe, max(1, recipe.rows // 250_000))
    fits: dict[Way, list[Fit]] = {way: [] for way in WAYS}
    for way in turns(list(WAYS), repeats, recipe.seed):
        fits[way].append(_fit(way, recipe, folder, home / way, trees))
    numbers, categories = large.columns(recipe)
    return Size(
        rows=recipe.rows,
        read=len(numbers) + len(categories),
        memory=fits["memory"],
        cluster=fits["cluster"],
        auc_memory=large.auc(home / "memory", recipe, held_out),
        auc_cluster=large.auc(home / "cluster", recipe, held_out),
    )


def _fit(way: Way, recipe: Recipe, folder: Path, model: Path, trees: int) -> Fit:
    options: dict[str, Any] = {"workers": WORKERS} if way == "cluster" else {}
    found = large.run(
        large.job(way, recipe, folder, model, trees=trees, seed=recipe.seed, **options)
    )
    publication.say(f"{recipe.rows:,} rows, {large.told(found)}")
    if found.error:
        raise ConfigError(f"{way}, {recipe.rows:,} rows: {found.error}")
    return found


def part(found: Results) -> str:
    """Return the tables of the guide, in Markdown."""
    lines = [
        "| rows | way | runs | seconds | ratio | 95 % interval | AUC |",
        "|---:|---|---:|---:|---:|:---:|---:|",
    ]
    lines += [line for size in found.sizes for line in _times(size)]
    here = found.machine
    return "\n".join(lines) + (
        f"\n\nMedians of runs in turns of random order, each in a process of its own, from opening "
        f"the files to the fitted model; starting the {found.workers} workers comes on "
        f"top. {found.sizes[0].read} columns, {found.trees} trees; AUC on "
        f"{found.rows_held_out:,} rows that no model saw; {here.cpu}, {here.cores} cores, load "
        f"average before {here.load_before:.1f}; {found.created[:10]}."
    )


def _times(size: Size) -> list[str]:
    memory, cluster = (
        np.array([fit.seconds for fit in fits]) for fits in (size.memory, size.cluster)
    )
    compared = ratio(cluster, memory)
    assert compared is not None
    low, high = compared.interval or (float("nan"), float("nan"))
    interval = f"{low:.2f}–{high:.2f}" if compared.interval else "too few runs"
    return [
        f"| {size.rows:,} | {WAYS['memory']} | {len(memory)} | {np.median(memory):.1f} "
        f"| | | {size.auc_memory:.4f} |",
        f"| {size.rows:,} | {WAYS['cluster']} | {len(cluster)} | {np.median(cluster):.1f} "
        f"| × {compared.value:.2f} | {interval} | {size.auc_cluster:.4f} |",
    ]


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.cluster", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results/cluster-cpu"))
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 5_000_000])
    parser.add_argument("--repeats", type=int, nargs="+", default=[5, 5], help="for each of --rows")
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--trees", type=int, default=TREES)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if len(given.rows) != len(given.repeats) or min(given.repeats) < 1:
        parser.error("--repeats needs a number of at least 1 for each of --rows")
    return given


def main() -> int:
    """Measure, publish and print the record; return the exit code."""
    given = arguments()
    return publication.publish(given.out, lambda home: measure(given, home), part)


if __name__ == "__main__":
    sys.exit(main())
