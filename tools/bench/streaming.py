"""Fits from the disk beside fits in memory: ``python -m tools.bench.streaming``.

The same pipeline on the same files, each in a process of its own. Once to compare times;
and once with a hard limit of a quarter of the data, to which the fit from the disk has to hold,
and with which the one in memory has to end.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import numpy as np

from datasets import synthetic
from datasets.synthetic.recipe import Recipe
from pipeline import records
from pipeline.benchmark.rounds import turns
from pipeline.benchmark.statistics import ratio
from pipeline.system import environment
from tools.bench import large, publication
from tools.bench.large import Fit
from tools.bench.publication import Record, fingerprint

SCHEMA: Final = "streaming.results/1"
SHARE = 4
"""The limit is the bytes of the data divided by this."""
HELD_OUT = 200_000
"""Rows behind those of the table, on which the models are judged."""
BINS = 256
"""Of XGBoost unless it is told otherwise."""
Learner = dict[str, int]
"""The parameters `trees` and `bins` of `large.Job`."""
CELLS = 4_000_000
"""Of a file of the table under a limit: about a partition's, so that no file is split."""
MOST_APART = 0.002
"""Target for the difference of the areas under the curve."""


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table and the fits that were made of it."""

    rows: int
    columns: int
    """Of the table; those that are read are fewer."""
    read: int
    bytes: int
    """Of the columns that are read, as one Arrow table."""
    trees: int
    bins: int
    """Of a column, `max_bin` of XGBoost."""
    memory: list[Fit]
    """In one frame, as often as it was repeated."""
    stream: list[Fit]
    """From the disk, with a limit."""
    limited: Fit | None
    """In one frame with the limit that the fits from the disk had."""
    auc_memory: float | None
    auc_stream: float | None


class Results(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The record."""

    schema: Literal["streaming.results/1"]
    rows_held_out: int
    times: Case
    limit: Case


def load(path: Path) -> Results:
    """Read and validate a record; see `pipeline.records.load` for what is raised."""
    return records.load(path, Results, schema=SCHEMA, command="make bench-streaming")


def times(recipe: Recipe, home: Path, learner: Learner, repeats: int) -> Case:
    """Return fits of a table in memory and from the disk, in turns.

    The fits from the disk get less memory than gathering the rows takes.
    """
    folder = synthetic.prepare(home, recipe)
    size = large.arrow_bytes(folder, _names(recipe))
    fits: dict[large.Way, list[Fit]] = {"memory": [], "stream": []}
    options: dict[large.Way, dict[str, int]]
    options = {"memory": {}, "stream": {"room_bytes": large.room(size)}}
    for way in turns(list(fits), repeats, recipe.seed):
        job = large.job(
            way, recipe, folder, home / way, **learner, seed=recipe.seed, **options[way]
        )
        fits[way].append(large.run(job))
        publication.say(large.told(fits[way][-1]))
    return _case(recipe, home, size, learner, **fits, limited=None)


def hard_limit(recipe: Recipe, home: Path, learner: Learner, limit_bytes: int) -> Case:
    """Return fits of a table with a limit, and the one in memory without it.

    Parameters
    ----------
    limit_bytes : int
        Of the whole process; 0: a quarter of the bytes of the data.
    """
    folder = synthetic.prepare(home, recipe, max(1, recipe.rows * recipe.columns // CELLS))
    size = large.arrow_bytes(folder, _names(recipe))
    limit = limit_bytes or size // SHARE
    found = []
    todo: list[tuple[large.Way, int]] = [("stream", limit), ("memory", limit), ("memory", 0)]
    for way, bound in todo:
        job = large.job(
            way, recipe, folder, home / way, **learner, seed=recipe.seed, limit_bytes=bound
        )
        found.append(large.run(job))
        publication.say(large.told(found[-1]))
    stream, limited, memory = found
    return _case(recipe, home, size, learner, memory=[memory], stream=[stream], limited=limited)


def _names(recipe: Recipe) -> list[str]:
    return [name for names in large.columns(recipe) for name in names]


def _case(recipe: Recipe, home: Path, size: int, learner: Learner, **fits: Any) -> Case:
    return Case(
        rows=recipe.rows,
        columns=recipe.columns,
        read=len(_names(recipe)),
        bytes=size,
        trees=learner["trees"],
        bins=learner["bins"],
        auc_memory=_judged("memory", fits["memory"], home, recipe),
        auc_stream=_judged("stream", fits["stream"], home, recipe),
        **fits,
    )


def _judged(way: str, fits: Sequence[Fit], home: Path, recipe: Recipe) -> float | None:
    return None if fits[-1].error else large.auc(home / way, recipe, HELD_OUT)


def part(found: Results) -> str:
    """Return the tables of the guide, in Markdown."""
    return "\n\n".join([_times(found.times), _limit(found), _where(found)])


def _times(case: Case) -> str:
    compared = ratio(
        *(np.array([fit.seconds for fit in fits]) for fits in (case.stream, case.memory))
    )
    assert compared is not None
    low, high = compared.interval or (float("nan"), float("nan"))
    lines = [
        f"{_size(case)}:",
        "",
        "| way | seconds | peak, MiB | before reading, MiB | AUC |",
        "|---|---:|---:|---:|---:|",
    ]
    for way, fits, auc in _ways(case):
        seconds = np.median([fit.seconds for fit in fits])
        lines.append(
            f"| {way} | {seconds:.1f} | {_peak(fits):,.0f} "
            f"| {fits[0].start_bytes / 2**20:,.0f} | {_score(auc)} |"
        )
    lines += ["", f"From the disk takes × {compared.value:.2f} the time ({low:.2f}–{high:.2f})."]
    return "\n".join(lines)


def _ways(case: Case) -> list[tuple[str, list[Fit], float | None]]:
    return [
        ("in memory", case.memory, case.auc_memory),
        ("from the disk", case.stream, case.auc_stream),
    ]


def _size(case: Case) -> str:
    return (
        f"{case.rows:,} rows, {case.read} columns of {case.bytes / 1e9:.2f} GB, {case.trees} trees "
        f"with max_bin={case.bins}"
    )


def _peak(fits: Sequence[Fit]) -> float:
    return max(fit.peak_bytes for fit in fits) / 2**20


def _score(auc: float | None) -> str:
    return "–" if auc is None else f"{auc:.4f}"


def _limit(found: Results) -> str:
    case = found.limit
    assert case.limited is not None
    limit = case.limited.limit_bytes
    share = f"1/{case.bytes / limit:.1f}"
    lines = [
        f"{_size(case)}; the limit is {limit / 2**20:,.0f} MiB, {share} of that:",
        "",
        "| way | limit | seconds | peak, MiB | AUC | ended |",
        "|---|---:|---:|---:|---:|---|",
    ]
    rows = [
        ("in memory", "none", case.memory[0], case.auc_memory),
        ("in memory", "set", case.limited, None),
        ("from the disk", "set", case.stream[0], case.auc_stream),
    ]
    for way, bound, fit, auc in rows:
        ended = f"`{fit.error}`" if fit.error else "fitted"
        peak = f"{fit.peak_bytes / 2**20:,.0f}" if fit.peak_bytes else "–"
        lines.append(f"| {way} | {bound} | {fit.seconds:.0f} | {peak} | {_score(auc)} | {ended} |")
    return "\n".join([*lines, "", _verdict(case, limit)])


def _verdict(case: Case, limit: int) -> str:
    fit = case.stream[0]
    if fit.error or case.auc_memory is None or case.auc_stream is None:
        return "**The fit from the disk did not complete.**"
    within = "within" if fit.peak_bytes <= limit else "**above**"
    apart = abs(case.auc_memory - case.auc_stream)
    met = "yes" if apart <= MOST_APART else "**no**"
    return (
        f"The fit from the disk completed with its peak {within} the limit; the areas under the "
        f"curve are {apart:.4f} apart (at most {MOST_APART}: {met})."
    )


def _where(found: Results) -> str:
    n, here = len(found.times.memory), found.machine
    return (
        f"Medians of {n} runs in turns of random order, one of each with the limit; peaks are the "
        f"largest; AUC on {found.rows_held_out:,} rows that no model saw; {here.cpu}, "
        f"{here.cores} cores, load average before {here.load_before:.1f}; {found.created[:10]}."
    )


def measure(given: argparse.Namespace, home: Path) -> Results:
    """Return all measurements; the tables are made in a folder."""
    load_before = environment.load_average()
    small = Recipe(rows=given.rows, columns=given.columns, seed=given.seed)
    wide = Recipe(rows=given.limit_rows, columns=given.limit_columns, seed=given.seed)
    tight = {"trees": given.limit_trees, "bins": given.limit_bins}
    return Results(
        schema=SCHEMA,
        times=times(small, home, {"trees": given.trees, "bins": BINS}, given.repeats),
        limit=hard_limit(wide, home, tight, int(given.limit_mib * 2**20)),
        **fingerprint("tools.bench.streaming", load_before, given.seed),
        rows_held_out=HELD_OUT,
    )


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.streaming", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results/streaming-cpu"))
    parser.add_argument("--rows", type=int, default=1_000_000, help="to compare times")
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--limit-rows", type=int, default=2_500_000, help="with the limit")
    parser.add_argument("--limit-columns", type=int, default=512)
    parser.add_argument("--limit-trees", type=int, default=3)
    parser.add_argument("--limit-bins", type=int, default=32, help="max_bin of XGBoost")
    parser.add_argument("--limit-mib", type=float, default=0, help="0: a quarter of the data")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main() -> int:
    """Measure, publish and print the record; return the exit code."""
    given = arguments()
    return publication.publish(given.out, lambda home: measure(given, home), part)


if __name__ == "__main__":
    sys.exit(main())
