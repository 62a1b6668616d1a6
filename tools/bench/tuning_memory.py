"""What a search holds of memory: with rows shared within a room, and without."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from pathlib import Path

import msgspec
import pandas as pd
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from datasets import flights
from pipeline import Accelerated, shared
from tasks.flights import TASK
from tools.bench import apart, record, report
from tools.bench.claim import Ask, Case, here
from tools.bench.record import Report, Results, Run
from tools.bench.report import MIB, in_mib

NAME = "memory"
UNSHARED, SHARED = "ours", "shared"
FOLDS = 5
OVERHEAD = 64
"""Target, MiB: what the peak may grow by beside the room."""


class Job(msgspec.Struct, frozen=True):
    """A search in a process of its own."""

    file: str
    rows: int
    seed: int
    room_mib: int
    """Of what is shared; 0: nothing is."""


def search(job: Job) -> Report:
    """Search over boosting; return the peak of the process and what was kept."""
    table = pd.read_parquet(job.file).sample(job.rows, random_state=job.seed)
    X, y = table[list(TASK.features)].reset_index(drop=True), table[TASK.target].to_numpy()
    del table
    search = GridSearchCV(
        Accelerated(TASK.pipelines["boosting"](job.seed), device="cpu"),
        {"estimator__xgbclassifier__learning_rate": [0.1, 0.2]},
        scoring="roc_auc", refit=False,
        cv=StratifiedKFold(FOLDS, shuffle=True, random_state=job.seed),
    )  # fmt: skip
    apart.give_back()
    covers, start = apart.reset_peak(), apart.resident()
    rows = shared(X, room_bytes=job.room_mib * MIB) if job.room_mib else X
    search.fit(rows, y)
    held = {"start": start, "peak": apart.peak()}
    if rows is not X:
        held["kept"] = rows.table.cache().most_bytes
    return Report(run=Run(seconds=_seconds(search), bytes=held, note=covers))


def _seconds(search: GridSearchCV) -> dict[str, float]:
    found = search.cv_results_
    taken = found["mean_fit_time"] + found["mean_score_time"]
    return {"search": float(taken.sum() * FOLDS)}


def cases(ask: Ask) -> Generator[Case, None, None]:
    """Yield the case, if it is asked for."""
    if not ask.wants(NAME):
        return
    file = Path(flights.prepare(ask.data)).resolve()
    rows, room = min(ask.one("memory_rows"), flights.ROWS), ask.one("room_mib")
    works = {
        way: partial(
            apart.apart, search, Job(str(file), rows, ask.seed, room_mib),
            environ=apart.SYSTEM_POOL,
        )
        for way, room_mib in ((UNSHARED, 0), (SHARED, room))
    }  # fmt: skip
    yield Case(
        record.Case(name=NAME, facts={"rows": rows, "room": room * MIB}),
        {way: here(work) for way, work in works.items()},
        warms_up=False,
    )


def _grown(results: Results, case: str) -> report.Found | None:
    one, other = (results.cell(case, way) for way in (SHARED, UNSHARED))
    if one is None or other is None:
        return None
    room, grown = results.case(case).facts["room"], one.most("peak") - other.most("peak")
    said = f"{in_mib(grown)} MiB, room {in_mib(room)} MiB"
    return said, grown <= room + OVERHEAD * MIB


def _kept(results: Results, case: str) -> report.Found | None:
    found = results.cell(case, SHARED)
    if found is None:
        return None
    return f"{in_mib(found.most('kept'))} MiB", found.most("kept") <= results.case(case).facts[
        "room"
    ]


def _caption(results: Results) -> str:
    facts = results.case(NAME).facts
    return (
        f"Boosting of {facts['rows']:,} flights, 2 candidates, a process each; "
        f"`shared(X, room_bytes=...)` of {in_mib(facts['room'])} MiB:"
    )


TABLE = report.Table(
    [
        report.variant(),
        report.most("before the search, MiB", "start", in_mib),
        report.most("peak, MiB", "peak", in_mib),
        report.most("kept, MiB", "kept", in_mib),
    ],
    cases=[NAME],
    caption=_caption,
)
TARGETS = [
    report.Target("kept", SHARED, "", "≤ the room", _kept, [NAME]),
    report.Target("peak", SHARED, UNSHARED, f"≤ + the room + {OVERHEAD} MiB", _grown, [NAME]),
]
