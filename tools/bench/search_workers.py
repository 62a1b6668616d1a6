"""`Search` on two workers of this machine, each on a core of its own, beside one."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from optuna.samplers import RandomSampler

from datasets import flights
from pipeline import Search, cluster
from pipeline.errors import ConfigError
from tools.bench import record, report
from tools.bench.claim import Ask, Case, Claim, here
from tools.bench.record import Report, Results, Run, Variant
from tools.bench.search import FOLDS, TREES, Rows, ours

ONE, TWO = "one", "two"
WORKERS = {ONE: 1, TWO: 2}
LEAST = 1.8
"""Target: how many times as fast as one worker."""
FEW = 500
"""Rows of the search that lets each worker import what it needs, before the clock."""


def _run(rows: Rows, trials: int, workers: int) -> Report:
    """Search once; the workers are started, and have imported all, before the clock."""
    with cluster("local", workers=workers) as here_and_there:
        client = here_and_there.client
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < workers:
            raise ConfigError(f"{workers} workers want as many cores, and there are {len(cores)}")
        for address, core in zip(here_and_there.workers(), cores, strict=False):
            client.run(keep_to, core, workers=[address])
        first = Rows(rows.X[:FEW], rows.y[:FEW], rows.X[:FEW], rows.y[:FEW], rows.seed)
        _search(first, 2 * workers).fit(first.X, first.y)
        before = client.run(time.process_time)
        search, start = _search(rows, trials), time.perf_counter()
        search.fit(rows.X, rows.y)
        seconds = time.perf_counter() - start
        spent = [after - before[each] for each, after in client.run(time.process_time).items()]
    values = {"score": search.best_score_, "trials": len(search.cv_results_["params"])}
    return Report(run=Run(seconds={"search": seconds}), values={**values, "busy": min(spent)})


def _search(rows: Rows, trials: int) -> Search:
    """Return a search whose candidates do not depend on what has been judged."""
    sampler = RandomSampler(seed=rows.seed)
    return ours(rows, prune=False, trials=trials, sampler=sampler, jobs=1)


def keep_to(core: int) -> None:
    """Let all threads of this process run on one core."""
    for thread in Path("/proc/self/task").iterdir():
        os.sched_setaffinity(int(thread.name), {core})


def _cases(ask: Ask) -> Generator[Case, None, None]:
    table = pd.read_parquet(flights.prepare(ask.data))
    rows, trials = Rows.draw(table, ask.one("rows"), 1, ask.seed), ask.one("trials")
    yield Case(
        record.Case(name=f"{trials} trials", facts={"rows": len(rows.X), "trials": trials}),
        {way: here(partial(_run, rows, trials, count)) for way, count in WORKERS.items()},
        warms_up=False,
    )


def _same(results: Results, case: str) -> report.Found | None:
    found: list[Any] = [results.cell(case, way) for way in WORKERS]
    if None in found:
        return None
    one, two = (cell.values["score"] for cell in found)
    return f"{two:.6f}, {one:.6f}", one == two


CLAIM = Claim(
    folder="search-workers-cpu",
    settings={"rows": (20_000,), "trials": (40,)},
    repeats=5,
    cases=_cases,
    variants=[Variant(name=ONE, title="one worker"), Variant(name=TWO, title="two workers")],
    clock=(
        f"`Search(prune=False)`, boosting of {TREES} trees on {{rows}} flights, {FOLDS} folds, "
        "without a refit, the same candidates; a thread each; starting the workers comes on top"
    ),
    isolation="a process and a core for each worker",
    tables=[
        report.Table(
            [
                report.variant(),
                report.took("s", "search", "{:.1f}".format),
                report.value("CPU of the idlest worker, s", "busy", "{:.1f}".format),
            ]
        )
    ],
    targets=[
        report.as_fast("search", TWO, ONE, LEAST, digits=2),
        report.Target("best score", TWO, ONE, "the same", _same),
    ],
)
