"""Programs as people write them, here and in plain scikit-learn: their time, memory and scores."""

from __future__ import annotations

import resource
import signal
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.preprocessing import OneHotEncoder

from pipeline import Accelerated
from pipeline.benchmark.worker import WorkerFailed, WorkerGone, WorkerProcess
from pipeline.planning import source_code
from pipeline.system import environment
from tools.bench import apart, everyday, preprocessing, programs_report, record
from tools.bench.claim import Ask, Case, Claim, here
from tools.bench.everyday import AMOUNT, PROGRAMS
from tools.bench.programs_report import OURS, PLAIN, WIDE
from tools.bench.record import Report, Run, Variant

FEW_ROWS = 1_000
WIDE_KINDS = {"int64": "10 columns of 50,000 integers", "text": "10 columns of 50,000 texts"}
WAYS: dict[str, Callable[[BaseEstimator], Any]] = {
    PLAIN: clone,
    OURS: lambda estimator: Accelerated(clone(estimator), device="cpu"),
}
HELD_OUT = 4
"""There is a row to predict for so many rows to learn from."""
PATIENCE = 5
"""Times the budget that our first run may take."""
SHORT, MOST_CALLS = 0.2, 50
"""Seconds that a turn lasts at least, by calling more often, but not more often than that."""
MANY, FEW_TURNS = 1_000_000, 5
"""Rows from which there are no more turns than these."""
MEMORY_SHARE = 0.5
"""Of the machine's memory, which a process may take."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What a process works on.

    Parameters
    ----------
    variant : {"plain", "ours"}
    program : str
    folder : str
        Of the tables.
    """

    variant: str
    program: str
    folder: str


class Request(msgspec.Struct, frozen=True):
    """A turn.

    Parameters
    ----------
    rows : int
    budget : float
        Seconds after which the first call ends the process; 0: none.
    """

    rows: int
    budget: float = 0


@lru_cache(maxsize=1)
def _table(job: Job, rows: int) -> everyday.Table:
    return everyday.read(_file(job.folder, rows), PROGRAMS[job.program], rows)


def _file(folder: str, rows: int) -> Path:
    return Path(folder) / f"{rows}.parquet"


def work(job: Job, request: Request) -> Report:
    """Fit, and predict for the rows held out; more than once if that is short."""
    table, make = _table(job, request.rows), WAYS[job.variant]
    estimator = PROGRAMS[job.program].estimator
    most = int(MEMORY_SHARE * psutil.virtual_memory().total)
    resource.setrlimit(resource.RLIMIT_DATA, (most, resource.RLIM_INFINITY))
    apart.give_back()
    before, start = apart.resident(), time.perf_counter()
    covers = apart.reset_peak()
    signal.setitimer(signal.ITIMER_REAL, request.budget)  # unhandled, it ends the process
    model, found, taken = _run(make(estimator), table)
    signal.setitimer(signal.ITIMER_REAL, 0)
    peak, calls = apart.peak(), [taken]
    values: dict[str, float | None] = {"score": _score(model, found, table)}
    del model, found
    while time.perf_counter() - start < SHORT and len(calls) < MOST_CALLS:
        calls.append(_run(make(estimator), table)[2])
    fit, predict = np.median(calls, axis=0).tolist()
    run = Run(
        seconds={"fit": fit, "predict": predict},
        bytes={"before": before, "peak": peak},
        calls=len(calls),
        note="" if covers == "each phase" else covers,
    )
    return Report(run=run, values=values, threads=environment.threads())


def _run(model: Any, table: everyday.Table) -> tuple[Any, Any, tuple[float, float]]:
    start = time.perf_counter()
    if hasattr(model, "predict"):
        model.fit(table.X, table.y)
        middle = time.perf_counter()
        found = model.predict(table.X_new)
    else:
        model.fit_transform(table.X, table.y)
        middle = time.perf_counter()
        found = model.transform(table.X_new)
    return model, found, (middle - start, time.perf_counter() - middle)


def _score(model: Any, found: Any, table: everyday.Table) -> float:
    """Return the accuracy or R²; of what predicts no target, a figure that its results have."""
    if not hasattr(model, "predict"):
        return float(abs(found).mean())
    if table.y_new is None:
        return float(model.score(table.X_new)) / len(table.X_new)
    judge = r2_score if table.y_new.name == AMOUNT else accuracy_score
    return float(judge(table.y_new, found))


class Pair:
    """The processes of a program, one a side, which go from the fewest rows to the most.

    Parameters
    ----------
    program : str
    folder : Path
        Of the tables.
    budget : float
        Seconds of a first plain run; where it takes longer, neither side runs these rows or more.
    """

    def __init__(self, program: str, folder: Path, budget: float) -> None:
        self._program, self._folder, self._budget = program, str(folder.resolve()), budget
        self._workers: dict[str, tuple[WorkerProcess, ExitStack]] = {}
        self._begun: set[tuple[str, int]] = set()
        self._over = ""

    def __enter__(self) -> Pair:
        """Return the pair."""
        return self

    def __exit__(self, *exc: object) -> None:
        """End the processes."""
        for way in [*self._workers]:
            self._end(way)

    def run(self, way: str, rows: int) -> Report:
        """Let a side have a turn.

        Raises
        ------
        WorkerFailed
            It failed, or there was not the time for it.
        """
        if self._over:
            raise WorkerFailed(self._over)
        budget = 0.0 if (way, rows) in self._begun else self._budget * (1, PATIENCE)[way == OURS]
        self._begun.add((way, rows))
        try:
            done: Report = self._worker(way).ask(Request(rows, budget))
        except WorkerGone as error:
            self._end(way)
            if "SIGALRM" not in str(error):
                raise
            said = f"not run: over {self._budget:g} s in plain scikit-learn"
            self._over = said if way == PLAIN else ""
            raise WorkerFailed(self._over or f"over {budget:g} s") from None
        return done

    def _worker(self, way: str) -> WorkerProcess:
        if way not in self._workers:
            job, stack = Job(variant=way, program=self._program, folder=self._folder), ExitStack()
            self._workers[way] = stack.enter_context(WorkerProcess(job, work)), stack
        return self._workers[way][0]

    def _end(self, way: str) -> None:
        self._workers.pop(way)[1].close()


class Wide(msgspec.Struct, frozen=True, kw_only=True):
    """Columns of many values.

    Parameters
    ----------
    rows : int
    text : bool
        Whether their values are text; else they are int64.
    columns, levels : int
    seed : int
    """

    rows: int
    text: bool
    columns: int = 10
    levels: int = 50_000
    seed: int = 0


def encode(job: Wide) -> Report:
    """Make all of the columns one-hot in this process, and watch what is resident."""
    _encode(_drawn(msgspec.structs.replace(job, rows=FEW_ROWS)))  # loads what is loaded once
    apart.give_back()
    empty, X = apart.resident(), _drawn(job)
    apart.give_back()
    apart.reset_peak()
    before, start = apart.resident(), time.perf_counter()
    found = _encode(X)
    seconds, peak = time.perf_counter() - start, apart.peak()
    output = sum(each.nbytes for each in (found.data, found.indices, found.indptr))
    sizes: dict[str, float | None]
    sizes = {"input bytes": preprocessing.nbytes(X), "output bytes": output}
    held = {"empty": empty, "before": before, "peak": peak}
    return Report(run=Run(seconds={"fit": seconds}, bytes=held), values=sizes)


def _encode(X: pd.DataFrame) -> Any:
    return Accelerated(OneHotEncoder(), device="cpu").fit_transform(X)


def _drawn(job: Wide) -> pd.DataFrame:
    random = np.random.default_rng(job.seed)
    drawn = (random.integers(0, job.levels, job.rows) for _ in range(job.columns))
    if job.text:
        names = pa.array([f"value-{i:05d}" for i in range(job.levels)])
        drawn = (pa.table([names.take(pa.array(codes))], ["a"]).to_pandas()["a"] for codes in drawn)
    return pd.DataFrame({f"column_{i}": values for i, values in enumerate(drawn)})


def _cases(ask: Ask) -> Generator[Case, None, None]:
    wanted = [name for name in PROGRAMS if ask.wants(name)]
    for rows in sorted(ask.settings["rows"]) if wanted else ():
        record.say(f"making a table of {rows:,} rows")
        everyday.write(_file(str(ask.home), rows), rows + rows // HELD_OUT, ask.seed)
    for name in wanted:
        with Pair(name, ask.home, ask.one("budget")) as pair:
            for rows in sorted(ask.settings["rows"]):
                about = record.Case(
                    name=f"{name} {rows}",
                    title=name,
                    facts={"rows": rows, "held out": rows // HELD_OUT},
                    code=source_code.code(PROGRAMS[name].estimator),
                )
                sides = {way: here(partial(pair.run, way, rows)) for way in WAYS}
                yield Case(about, sides, most_repeats=FEW_TURNS if rows >= MANY else ask.repeats)
    if ask.one("wide_rows") and ask.wants(WIDE):
        for kind, title in WIDE_KINDS.items():
            job = Wide(rows=ask.one("wide_rows"), text=kind == "text", seed=ask.seed)
            run = here(partial(apart.apart, encode, job, environ=apart.SYSTEM_POOL))
            about = record.Case(name=f"{WIDE} {kind}", title=title, facts={"rows": job.rows})
            yield Case(about, {OURS: run}, most_repeats=1, warms_up=False)


CLAIM = Claim(
    folder="programs-cpu",
    settings={"rows": (1_000, 100_000, 1_000_000), "budget": (10,), "wide_rows": (10_000_000,)},
    repeats=7,
    cases=_cases,
    names=(*PROGRAMS, WIDE),
    variants=[Variant(name=PLAIN, title="plain scikit-learn"), Variant(name=OURS, title="ours")],
    clock=(
        f"{FEW_TURNS} of {MANY:,} rows; fit and predict or transform, in memory; a first plain run "
        "of at most {budget} s"
    ),
    isolation="one process per side and program, idle while the other runs",
    notes=programs_report.page,
    details=programs_report.details,
    may_fail=True,
)
