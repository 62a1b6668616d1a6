"""A comparison: variants measured side by side, at the size of the table and at smaller ones.

The runs of an interrupted command are used by the next one only if their `fingerprint` is the same.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.benchmark.judge import agreement, integrity
from pipeline.benchmark.record import results
from pipeline.benchmark.run import measure
from pipeline.benchmark.run.beforehand import Known, before_runs
from pipeline.benchmark.run.measure import Outcome
from pipeline.benchmark.run.resume import FinishedRuns
from pipeline.benchmark.run.rounds import CellRuns, Plan, as_run, run_rounds
from pipeline.benchmark.run.variants import variants
from pipeline.compile import source_code
from pipeline.errors import PipelineError
from pipeline.files.files import byte_size, digest, table_files
from pipeline.records import DataInfo
from pipeline.system import atomic, environment, gpu, hardware
from pipeline.system.progress import Say
from pipeline.task import metrics, task, truth
from pipeline.task.included import FOLDER
from pipeline.task.task import CLOCK, Job, Task

ISOLATION = "one process per variant and pipeline, idle while another one runs"
PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Comparison:
    """What to compare; the pipeline and the variant of the job are replaced."""

    task: Task
    job: Job
    pipelines: Sequence[str]
    device: str = "auto"
    """``"auto"`` adds the GPU where there is one."""
    repeats: int = 5
    """Timed runs of each pipeline by each variant, after one warm-up."""
    seeds: int = 2
    """Runs of the reference with other seeds, for how far its metrics move by themselves."""
    sizes: Sequence[float] = ()
    """Shares of the rows to time besides."""
    command: Sequence[str] = ()
    """The words of the command line that does the same."""

    @property
    def runs(self) -> int:
        """How many runs there will be if none fails."""
        able = sum(variant.status == "ok" for variant in variants(self.device))
        tables = 1 + len([size for size in self.sizes if size < 1])
        return len(self.pipelines) * (able * (1 + self.repeats) * tables + self.seeds)

    def measure(self, say: Say, finished: FinishedRuns) -> results.Results:
        """Run everything and return the record.

        `say` gets a line for each run. `finished` has the runs of an earlier command, and takes
        those that are made.
        """
        measure.check(self.task, self.job, self.pipelines)
        load = environment.load_average()
        known, entries = before_runs(self.task, self.job), variants(self.device)
        names = [variant.name for variant in entries if variant.status == "ok"]
        plan = Plan(self.repeats, self.seeds, finished, say)
        jobs = [replace(self.job, pipeline=name) for name in self.pipelines]
        done = [run_rounds(plan, job, names) for job in jobs]
        cells = [runs for of_pipeline, _ in done for runs in of_pipeline]
        order = [turn for _, turns in done for turn in turns]
        points = self._sweep(plan._replace(seeds=0), jobs, names)
        work = {(c.pipeline, c.variant): c.reports[-1].work for c in cells if c.reports}
        protocol = results.Protocol(
            seed=self.job.seed, repeats=self.repeats, warmups=1, order=order, clock=CLOCK,
            isolation=ISOLATION, resumed=finished.resumed,
        )  # fmt: skip
        known.cautions[:0] = integrity.unconverged(work, self.task.mute)
        return record_of(
            self, cells, load, known, protocol=protocol, variants=entries, points=points
        )

    def _sweep(self, plan: Plan, jobs: Sequence[Job], names: Sequence[str]) -> list[results.Point]:
        """Run on smaller tables, in ascending order; what fails is not tried on larger ones."""
        points = []
        for job in jobs:
            able = list(names)
            for size in self.sizes:
                if size == 1 or names[0] not in able:
                    continue
                smaller = replace(job, path=cut(job.path, size, job.seed))
                found, _ = run_rounds(plan, smaller, able, (f"size {size:g}",))
                points += [_point(runs, size) for runs in found]
                able = [runs.variant for runs in found if not runs.why]
        return points

    def fingerprint(self) -> dict[str, str]:
        """Return what must be the same for runs of an earlier command to be used."""
        what, job, here, found = self.task, self.job, hardware.describe(), gpu.probe()
        code = [source_code.code(what.pipeline(n, job.seed, job.changes)) for n in self.pipelines]
        rows = what.split(job.split), what.columns, what.target, what.weight, what.positive
        asked = job.seed, self.repeats, self.seeds, *self.sizes, CLOCK, self.device
        files = [path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".json")]
        files = [path for path in (*files, FOLDER / f"{what.name}.py") if path.exists()]
        machine = platform.node(), here.cpu, here.cores, here.system, here.memory_bytes
        pools = [os.environ.get(name) for name in environment.SETTINGS]
        return {
            "code": _brief(map(digest, sorted(files))),
            "data": digest(job.path),
            "machine": str((*machine, found.devices, found.driver, *pools)),
            "packages": f"{platform.python_version()} {environment.packages()}",
            "pipelines": _brief(code),
            "protocol": str((asked, [*what.metrics], what.margins, variants(self.device))),
            "rows": str((what.name, *rows)),
        }


def _brief(parts: Iterable[str]) -> str:
    return atomic.sha256("\n".join(parts).encode())[:16]


def record_of(
    asked: Any, cells: Sequence[CellRuns], load: float, known: Known, **more: Any
) -> results.Results:
    """Return the record of the runs of a `Comparison` or a `PredictedBatch`.

    `load` is that of the machine before the first run, and `more` the other fields of `Results`.
    `PipelineError` says that no run succeeded.
    """
    reports = [c.reports[-1] for c in cells if c.reports]
    if not reports:
        raise PipelineError("no run succeeded: " + "; ".join(c.why for c in cells))
    references = {c.pipeline: c.reports[-1] for c in cells if c.is_reference}
    return results.Results(
        schema=results.SCHEMA,
        machine=environment.machine(reports[0].threads, load),
        cells=[runs.cell(references.get(runs.pipeline), asked.task) for runs in cells],
        **describe(asked, reports[0]),
        **known._asdict(),
        **more,
    )


def describe(asked: Any, found: Outcome) -> dict[str, Any]:
    """Return what all records of a batch say of its task, its data and its pipelines."""
    what, job = asked.task, asked.job
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "task": _describe_task(what, job, found),
        "data": DataInfo(
            path=str(job.path),
            sha256=digest(job.path),
            bytes=byte_size(job.path),
            licence=what.licence,
            source=what.source,
        ),
        "source": environment.source(asked.command),
        "pipelines": [
            results.PipelineInfo(
                name=name,
                title=(what.pipelines[name].__doc__ or name).strip().partition("\n")[0],
                code=source_code.code(what.pipeline(name, job.seed, job.changes)),
            )
            for name in asked.pipelines
        ],
    }


def _describe_task(what: Task, job: Job, found: Outcome) -> results.TaskInfo:
    """Return the record of a task, with what a run has found in its data."""
    kind, (name, split) = what.kind, what.split(job.split)
    target: Any = metrics.part(found.y_true, "target")
    positive = None
    if kind == "binary":
        positive = found.classes.tolist()[truth.place_of_positive(what, found.classes)]
    return results.TaskInfo(
        name=what.name,
        title=what.title,
        target=what.target,
        split=f"{name}: {split.about}",
        rows_train=found.rows_train,
        rows_test=len(found.y_true),
        columns=len(what.columns),
        positive_rate=float(np.mean(target)) if kind == "binary" else None,
        margins=dict(what.margins),
        kind=kind,
        about_target=agreement.about(found.y_true, kind, found.classes, positive),
        classes=[] if found.classes is None else list(map(str, found.classes)),
        positive="" if positive is None else str(positive),
        weight=what.weight,
        train=task.in_words(split.train),
        test=task.in_words(split.test),
    )


def _point(runs: CellRuns, size: float) -> results.Point:
    last = runs.reports[-1] if runs.reports else runs.warmup
    return results.Point(
        pipeline=runs.pipeline,
        variant=runs.variant,
        size=size,
        rows_train=last.rows_train if last else 0,
        rows_test=len(last.y_true) if last else 0,
        status="failed" if runs.why else "ok",
        why=runs.why,
        runs=[as_run(report) for report in runs.reports],
    )


def cut(path: Path, share: float, seed: int) -> Path:
    """Write a share of a table's rows to a file in a hidden folder beside it, unless it is there.

    Rows are drawn one by one and keep their order; those of a smaller share are among those of a
    larger one.
    """
    made = path.parent / ".sizes" / f"{digest(path)[:16]}-{share:g}-seed{seed}.parquet"
    if made.exists():
        return made
    files = table_files(path)
    table = pa.concat_tables(map(pq.read_table, files))
    kept = table.filter(pa.array(np.random.default_rng(seed).random(len(table)) < share))
    aside, group = made.with_suffix(".part"), pq.read_metadata(files[0]).row_group(0).num_rows
    with atomic.writing(made):
        made.parent.mkdir(exist_ok=True)
        pq.write_table(kept.unify_dictionaries(), aside, row_group_size=group)
        aside.replace(made)
    return made
