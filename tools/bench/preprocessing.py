"""Preprocessing alone, beside scikit-learn, skrub and Polars, and the memory of a long table."""

from __future__ import annotations

import gc
import pickle
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow.parquet as pq

from datasets import flights
from pipeline.benchmark.report.format import MISSING, seconds, size
from pipeline.benchmark.worker import WorkerProcess
from pipeline.data.files import digest
from pipeline.planning import source_code
from pipeline.records import DataInfo
from pipeline.system import environment
from tools.bench import apart, mixed, record, report
from tools.bench.claim import Ask, Case, Claim, here
from tools.bench.record import Cell, Report, Results, Run
from tools.bench.rowset import Rowset
from tools.bench.variants import REFERENCE, TRUTH, VARIANTS, WAYS

CHUNK = 65_536
"""Rows that are compared at a time."""
FEW_ROWS = 1_000
MEMORY = "memory"
PHASES = ("fit_transform", "transform")
OBJECTS = "sklearn-object"
"""What scikit-learn encodes fastest in one thread."""
SPEEDS = [
    ("fit_transform", REFERENCE, 6.0),
    ("transform", REFERENCE, 8.0),
    ("fit_transform", OBJECTS, 6.0),
    ("transform", OBJECTS, 8.0),
]
"""Phase, opponent, and how many times as fast, in every case; set before any run."""
JUDGED = ("ours-str", "ours")
"""Ours with the input that scikit-learn's users have, and with codes from the file, in the types
that scikit-learn makes; the memory of both is measured on the long table."""
MEMORY_SHARE = 0.25
"""`transform` may take the bytes of its result and this share of its input's."""
SAME_NUMBERS = 1e-5
"""Largest absolute difference that counts as the same numbers; scaled columns vary by 1."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker does.

    Parameters
    ----------
    variant : str
    table : Rowset
    folder : str
        Of the numbers to compare with, or of the fitted program.
    few : Rowset, optional
        A few rows to try the fitted program on.
    """

    variant: str
    table: Rowset
    folder: str
    few: Rowset | None = None


def work(job: Job, request: object = None) -> Report:
    """Read, fit and transform, and transform again; time each.

    The results are compared with the true ones, or saved as such, with no clock running. What is no
    longer needed is given back: it would only be in the next one's way.
    """
    try:
        return _work(job)
    finally:
        apart.give_back()


def _work(job: Job) -> Report:
    way = WAYS[job.variant]
    program = way.make(job.table)
    (X, y), read, _, _ = _timed(lambda: way.read(job.table))
    first, fitting, before, fit_peak = _timed(lambda: program.fit_transform(X, y))
    values: dict[str, float | None] = {"fit_transform": _compare(first, job, "fit_transform")}
    values |= {"input bytes": nbytes(X), "output bytes": nbytes(first)}
    values |= {"columns": X.shape[1], "width": first.shape[1]}
    del first
    again, transforming, _, transform_peak = _timed(lambda: program.transform(X))
    values["transform"] = _compare(again, job, "transform")
    run = Run(
        seconds={"read": read, "fit_transform": fitting, "transform": transforming},
        bytes={"before": before, "fit_transform": fit_peak, "transform": transform_peak},
        note="" if (covers := apart.reset_peak()) == "each phase" else covers,
    )
    return Report(run=run, values=values, threads=environment.threads() | _polars_threads())


def _polars_threads() -> dict[str, str]:
    polars = sys.modules.get("polars")
    return {"polars": str(polars.thread_pool_size())} if polars else {}


def _timed(do: Callable[[], Any]) -> tuple[Any, float, int, int]:
    """Return a result, its seconds, and resident bytes: before, and at the highest."""
    gc.collect()
    apart.reset_peak()
    before, start = apart.resident(), time.perf_counter()
    result = do()
    taken = time.perf_counter() - start
    return result, taken, before, apart.peak()


def nbytes(table: Any) -> int:
    """Return the bytes of the values of a table or an array."""
    if hasattr(table, "memory_usage"):
        return int(table.memory_usage(index=False, deep=True).sum())
    return int(table.estimated_size() if hasattr(table, "estimated_size") else table.nbytes)


def _compare(matrix: Any, job: Job, phase: str) -> float | None:
    file = Path(job.folder) / f"{phase}.npy"
    if job.variant == TRUTH:
        np.save(file, np.asarray(matrix))
        return 0.0
    return apart_by(np.asarray(matrix), np.load(file, mmap_mode="r"))


def apart_by(a: np.ndarray, b: np.ndarray) -> float | None:
    """Return the largest absolute difference, or None where there is none to give.

    >>> apart_by(np.array([[1.0], [2.0]]), np.array([[1.0], [2.5]]))
    0.5
    >>> apart_by(np.array([[1.0]]), np.array([[np.nan]])) is None
    True
    """
    if a.shape != b.shape:
        return None
    starts = range(0, len(a), CHUNK)
    found = max(float(np.abs(a[i : i + CHUNK] - b[i : i + CHUNK]).max()) for i in starts)
    return found if np.isfinite(found) else None


def fit_and_keep(job: Job) -> Report:
    """Fit the program on the table and write it to a file."""
    way, start = WAYS[job.variant], time.perf_counter()
    program = way.make(job.table)
    program.fit(*way.read(job.table))
    (Path(job.folder) / "fitted.pickle").write_bytes(pickle.dumps(program))
    return Report(run=Run(seconds={"fit": time.perf_counter() - start}))


def transform_kept(job: Job) -> Report:
    """Transform the table with the program of a file, and watch what is resident.

    What is loaded on first use is loaded before, by a few rows.
    """
    assert job.few is not None
    way = WAYS[job.variant]
    program = pickle.loads((Path(job.folder) / "fitted.pickle").read_bytes())
    program.transform(way.read(job.few)[0])
    apart.give_back()
    empty = apart.resident()
    X = way.read(job.table)[0]
    apart.give_back()
    matrix, taken, before, peak = _timed(lambda: program.transform(X))
    held = {"empty": empty, "before": before, "peak": peak}
    run = Run(seconds={"transform": taken}, bytes=held)
    sizes: dict[str, float | None]
    sizes = {"rows": len(X), "input bytes": nbytes(X), "output bytes": nbytes(matrix)}
    return Report(run=run, values=sizes)


def long_transform(job: Job) -> Report:
    """Fit in one process and transform in the next, which holds the table and the program only.

    So no memory that fitting freed can hide what `transform` takes.
    """
    apart.apart(fit_and_keep, job, environ=apart.SYSTEM_POOL)
    return apart.apart(transform_kept, job, environ=apart.SYSTEM_POOL)


def tables(name: str, ask: Ask, rows: int) -> Rowset:
    """Return a table of the flights, or of so many generated rows, having made its files."""
    if name == "flights":
        coded, text = flights.prepare(ask.data), ask.home / "flights-text.parquet"
        pq.write_table(mixed.as_text(pq.read_table(coded)), text)
        return Rowset(kind="flights", text=str(text), coded=str(coded), seed=ask.seed)
    paths = {kind: ask.home / f"{name}-{rows}-{kind}.parquet" for kind in ("text", "coded")}
    for kind, path in paths.items():
        mixed.write(path, rows, ask.seed, text=kind == "text")
    kept = {kind: str(path.resolve()) for kind, path in paths.items()}
    return Rowset(kind="mixed", seed=ask.seed, **kept)


def _cases(ask: Ask) -> Generator[Case, None, None]:
    for name in filter(ask.wants, ("flights", "synthetic")):
        record.say(f"{name}  making the table, and the numbers to compare with")
        table = tables(name, ask, ask.one("rows"))
        with tempfile.TemporaryDirectory(dir=ask.home) as folder:
            true = Job(variant=TRUTH, table=table, folder=str(Path(folder).resolve()))
            with WorkerProcess(true, work) as worker:
                made: Report = worker.run()
            yield Case(
                _about(name, table, made),
                {each.name: _worker(true, each.name) for each in VARIANTS},
            )
    if ask.one("memory_rows") and ask.wants(MEMORY):
        yield _memory(ask, ask.one("memory_rows"))


def _worker(true: Job, variant: str) -> Callable[[], AbstractContextManager[WorkerProcess]]:
    return partial(WorkerProcess, msgspec.structs.replace(true, variant=variant), work)


def _about(name: str, table: Rowset, made: Report) -> record.Case:
    rows = pq.read_metadata(table.text).num_rows
    ours = {"licence": "none needed: drawn at random", "source": "tools/bench/mixed.py"}
    theirs = {"licence": flights.LICENCE, "source": flights.SOURCE}
    about = theirs if table.kind == "flights" else ours
    return record.Case(
        name=name,
        title=flights.TITLE if table.kind == "flights" else f"Generated table of {rows:,} rows",
        facts={"rows": rows, **{key: int(made.values[key] or 0) for key in ("columns", "width")}},
        code=source_code.code(table.pipeline()),
        files=[
            DataInfo(
                path=path.name, sha256=digest(path), bytes=path.stat().st_size, **about
            )
            for path in (Path(table.text), Path(table.coded))
        ],
    )  # fmt: skip


def _memory(ask: Ask, rows: int) -> Case:
    table, few = tables(MEMORY, ask, rows), tables(MEMORY, ask, FEW_ROWS)
    jobs = {
        name: Job(variant=name, table=table, few=few, folder=str(ask.home.resolve()))
        for name in reversed(JUDGED)
    }
    return Case(
        record.Case(name=MEMORY, facts={"rows": rows}),
        {name: here(partial(long_transform, job)) for name, job in jobs.items()},
        most_repeats=1,
        warms_up=False,
    )


def same(cell: Cell) -> bool:
    """Return whether both results hold the numbers of scikit-learn."""
    found = [cell.values.get(phase) for phase in PHASES]
    return all(value is not None and value <= SAME_NUMBERS for value in found)


def taken(cell: Cell) -> int:
    """Return the bytes that `transform` took above the program and the table.

    The larger of two counts: what came on top of the memory that held the table, and
    what came on top of the table's own bytes; a table whose reading left memory behind
    that `transform` could use again gains nothing by it.
    """
    peak, before, empty = (cell.most(name) for name in ("peak", "before", "empty"))
    return max(peak - before, peak - empty - int(cell.values["input bytes"] or 0))


def allowed(cell: Cell) -> int:
    """Return the bytes that `transform` may take."""
    output, given = (cell.values[f"{name} bytes"] or 0 for name in ("output", "input"))
    return int(output + MEMORY_SHARE * given)


def _memory_target(variant: str) -> report.Target:
    def find(results: Results, case: str) -> report.Found | None:
        cell = results.cell(case, variant)
        if cell is None:
            return None
        within = cell.most("peak") > 0 and taken(cell) <= allowed(cell)
        return f"{size(taken(cell))} of {size(allowed(cell))}", within

    share = f"output + {MEMORY_SHARE:.0%} of input".replace("%", " %")
    return report.Target("transform", variant, "", share, find, [MEMORY])


SPEED_CASES = ("flights", "synthetic")
TARGETS = [
    *(
        report.as_fast(phase, variant, other, least, cases=SPEED_CASES, also=same)
        for phase, other, least in SPEEDS
        for variant in JUDGED
    ),
    *map(_memory_target, reversed(JUDGED)),
]


def _times(case: str) -> report.Table:
    columns = [
        report.about("variant", "name"),
        report.about("library", "title"),
        report.about("input", "input"),
        report.took("read, s", "read", seconds, says_why=True),
    ]
    for phase in (*PHASES, "read+fit_transform"):
        columns += [
            report.took(f"{phase.replace('+', ' + ')}, s", phase, seconds),
            report.factor("factor", phase, REFERENCE, faster=True, digits=1),
        ]
    return report.Table(columns, [case])


def _numbers(case: str) -> report.Table:
    def peak(phase: str) -> report.Column:
        return report.Column(
            f"peak: {phase}",
            lambda _, cell: size(report.median(run.bytes[phase] for run in cell.runs))
            if cell.runs else MISSING,
        )  # fmt: skip

    def difference(value: float) -> str:
        return f"{value:.1e}" if value else "0"

    return report.Table(
        [
            report.about("variant", "name"),
            report.about("output", "output"),
            report.value("largest difference: fit_transform", "fit_transform", difference),
            report.value("transform", "transform", difference),
            report.Column("same numbers", lambda _, c: "yes" if same(c) else "**no**", right=False),
            report.value("input", "input bytes", size),
            report.value("result", "output bytes", size),
            *map(peak, PHASES),
        ],
        [case],
    )


MEMORY_TABLE = report.Table(
    [
        report.about("variant", "name"),
        report.value("rows", "rows", "{:,.0f}".format),
        report.value("input", "input bytes", size),
        report.value("output", "output bytes", size),
        report.most("before reading", "empty"),
        report.most("before", "before"),
        report.most("peak", "peak"),
        report.Column("peak − before", lambda _, c: size(c.most("peak") - c.most("before"))),
        report.Column("taken", lambda _, c: size(taken(c))),
        report.Column("allowed", lambda _, c: size(allowed(c))),
    ],
    [MEMORY],
)


def details(results: Results) -> str:
    """Return the whole document that lies beside the record."""
    return "\n\n".join(["# Preprocessing on the CPU: the measurement", *_details(results)]) + "\n"


def _details(results: Results) -> Iterator[str]:
    yield from ("## Results", report.machine(results), "### Targets")
    yield report.verdicts(results, TARGETS)
    timed = [case for case in results.cases if case.name != MEMORY]
    for case in timed:
        facts = case.facts
        yield f"### {case.name}: times"
        yield (
            f"{facts['rows']:,} rows, {facts['columns']} columns in, {facts['width']} out. The "
            f"factors are times as fast as `{REFERENCE}`, with the 95 % interval."
        )
        yield _times(case.name).text(results)
        yield from (f"### {case.name}: numbers and memory", _numbers(case.name).text(results))
    if memory := MEMORY_TABLE.text(results):
        yield from ("### Memory of a long `transform`", memory)
    notes = [f"- `{v.name}`: {v.note}." for v in results.variants if v.note]
    covers = {run.note for cell in results.cells for run in cell.runs} - {""}
    whole = "so far" if covers else "since the start of its phase"
    yield "\n".join([*notes, f"- A peak is the most resident memory of the process {whole}."])
    yield from (f"## The program of {case.name}\n\n```python\n{case.code}\n```" for case in timed)


CLAIM = Claim(
    folder="preprocessing-cpu",
    settings={"rows": (1_000_000,), "memory_rows": (5_000_000,)},
    repeats=7,
    cases=_cases,
    names=(*SPEED_CASES, MEMORY),
    variants=VARIANTS,
    clock="fit_transform and transform of the same rows, each by itself; reading apart",
    isolation="one process per variant and case, idle while another one runs; all cores for each",
    targets=TARGETS,
    details=details,
    may_fail=True,
)
