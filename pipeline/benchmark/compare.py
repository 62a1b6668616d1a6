"""A comparison: variants measured side by side, at the size of the table and at others.

The runs of an interrupted command are used by the next one only if their `fingerprint` is the same.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.benchmark.judge import agreement, integrity
from pipeline.benchmark.record import provenance, results
from pipeline.benchmark.run import measure
from pipeline.benchmark.run.beforehand import before_runs
from pipeline.benchmark.run.live import Watch
from pipeline.benchmark.run.measure import Outcome
from pipeline.benchmark.run.resume import FinishedRuns
from pipeline.benchmark.run.rounds import CellRuns, Schedule, as_run
from pipeline.benchmark.run.variants import variants
from pipeline.benchmark.run.worker import RunReport
from pipeline.data.files import digest, parquet_files
from pipeline.errors import ConfigError, OutputError, PipelineError
from pipeline.planning import source_code
from pipeline.system import atomic, environment, gpu, hardware
from pipeline.task import metrics, task, truth
from pipeline.task.task import CLOCK, Job, Task

ISOLATION = "one process per variant and pipeline, idle while another one runs"
PACKAGE = Path(__file__).parents[1]
SIZES = ".sizes"
"""Hidden folder of smaller tables, beside the whole one."""
_CODE = {".py", ".json"}


@dataclass(frozen=True)
class Comparison:
    """What to compare.

    Parameters
    ----------
    task : Task
    job : Job
        The data, the seed and the split; its pipeline and variant are replaced.
    pipelines : sequence of str
    device : {"auto", "cpu", "cuda"}
        ``"auto"`` adds the GPU where there is one.
    repeats : int
        Timed runs of each pipeline by each variant, after one warm-up.
    seeds : int
        Runs of the reference with other seeds, for how far its metrics move by themselves.
    sizes : sequence of float
        Other sizes of the table to time: up to 1 a share of the rows, above it rows.
    command : sequence of str
        The words of the command line that does the same.
    limit : float, optional
        Seconds that a run may take; a variant that takes longer is stopped and has no times.
    """

    task: Task
    job: Job
    pipelines: Sequence[str]
    device: str = "auto"
    repeats: int = 5
    seeds: int = 2
    sizes: Sequence[float] = ()
    command: Sequence[str] = ()
    limit: float | None = None

    def measure(
        self, watch: Watch, finished: FinishedRuns | None = None, pages: Path | None = None
    ) -> results.Results:
        """Run everything and return the record.

        Parameters
        ----------
        watch : Watch
            Is told of every run.
        finished : FinishedRuns, optional
            Has the runs that need not be repeated, and takes those that are made.
        pages : Path, optional
            Takes pages of where the time of one more run of each cell goes.
        """
        measure.check(self.task, self.job, self.pipelines)
        finished = finished or FinishedRuns()
        load, key = environment.load_average(), self.key
        noted, baseline, scoring = before_runs(self.task, self.job)
        entries = variants(self.device)
        names = [variant.name for variant in entries if variant.status == "ok"]
        rounds = Schedule(
            self.repeats, self.seeds, finished, watch, pages, explains=True, limit=self.limit
        )
        elsewhere = replace(rounds, seeds=0, pages=None, explains=False)
        files = [(size, file_of(self.task, self.job, size)) for size in self.sizes if size != 1]
        each = rounds.count(len(names)) + len(files) * elsewhere.count(len(names))
        watch.expect(each * len(self.pipelines))
        cells, order = [], []
        for pipeline in self.pipelines:
            runs, turns = rounds.run(replace(self.job, pipeline=pipeline), names, self.task.kind)
            cells += runs
            order += turns
        points = [
            point
            for pipeline in self.pipelines
            for point in self._sweep(pipeline, names, files, elsewhere)
        ]
        work = {(c.pipeline, c.variant): c.reports[-1].work for c in cells if c.reports}
        plan = results.Protocol(
            seed=self.job.seed, repeats=self.repeats, warmups=1, order=order, clock=CLOCK,
            isolation=ISOLATION, resumed=finished.resumed,
        )  # fmt: skip
        return record_of(
            self.task,
            self.job,
            cells,
            load,
            protocol=plan,
            source=environment.source(self.command),
            variants=entries,
            points=points,
            cautions=[*integrity.unconverged(work, self.task.mute), *noted],
            baseline=baseline,
            scoring=scoring,
            fingerprint=key,
        )

    def _sweep(
        self,
        pipeline: str,
        names: Sequence[str],
        files: Sequence[tuple[float, Path]],
        rounds: Schedule,
    ) -> Iterator[results.Point]:
        """Run a pipeline on tables of other sizes; what fails is not tried on larger ones."""
        able = list(names)
        for size, path in files:
            able = able if names[0] in able else []
            rounds.watch.expect(rounds.count(len(able)) - rounds.count(len(names)))
            if not able:
                continue
            job, label = replace(self.job, pipeline=pipeline, path=path), (f"size {size:g}",)
            found, _ = rounds.run(job, able, self.task.kind, label)
            yield from (_point(runs, size) for runs in found)
            able = [runs.variant for runs in found if not runs.why]

    @property
    def key(self) -> str:
        """The fingerprint in short."""
        return _brief(f"{name}: {value}" for name, value in self.fingerprint().items())

    def fingerprint(self) -> dict[str, str]:
        """Return what must be the same for runs of an earlier command to be used, in words."""
        what, job = self.task, self.job
        code = [
            source_code.code(what.pipeline(name, job.seed, job.changes)) for name in self.pipelines
        ]
        return {
            "task": what.name,
            "data": digest(job.path),
            "split": str(what.split(job.split)),
            "columns": _brief([*what.columns, what.target, what.weight, repr(what.positive)]),
            "metrics": ", ".join([*what.metrics, *map(str, what.margins.items())]),
            "pipelines": _brief(code),
            "seed": str(job.seed),
            "clock": CLOCK,
            **circumstances([*code_files(PACKAGE), task.FOLDER / f"{what.name}.py"]),
            "repeats": str(self.repeats),
            "seeds": str(self.seeds),
            "isolation": ISOLATION,
            "sizes": ", ".join(f"{size:g}" for size in self.sizes),
            **({} if self.limit is None else {"limit": f"{self.limit:g}"}),
            "variants": ", ".join(f"{v.name} {v.status}" for v in variants(self.device)),
        }


def circumstances(code: Iterable[Path]) -> dict[str, str]:
    """Return code, versions and machine, in words, which must be the same for runs to count.

    Parameters
    ----------
    code : iterable of Path
        Files that decide what is measured.
    """
    here, found = hardware.describe(), gpu.probe()
    settings = (f"{name}={os.environ[name]}" for name in environment.SETTINGS if name in os.environ)
    return {
        "code": _brief(digest(path) for path in code if path.exists()),
        "Python": platform.python_version(),
        "packages": ", ".join(f"{name} {v}" for name, v in environment.packages().items()),
        "machine": f"{platform.node()}, {here.cpu}, {here.cores} cores, {here.system}",
        "memory": str(here.memory_bytes),
        "GPU": "; ".join(map(str, found.devices)) + f" {found.driver}",
        "threads": ", ".join(settings),
    }


def code_files(folder: Path) -> list[Path]:
    """Return the files of a folder that decide what is measured."""
    return sorted(path for path in folder.rglob("*") if path.suffix in _CODE)


def _brief(parts: Iterable[str]) -> str:
    return atomic.sha256("\n".join(parts).encode())[:16]


def record_of(
    what: Task, job: Job, cells: Sequence[CellRuns], load: float, **more: Any
) -> results.Results:
    """Return the record of runs.

    Parameters
    ----------
    what : Task
    job : Job
    cells : sequence of CellRuns
        Of each pipeline and variant.
    load : float
        Of the machine before the first run.
    **more
        The other fields of `Results`.

    Raises
    ------
    PipelineError
        No run succeeded.
    """
    reports = [c.reports[-1] for c in cells if c.reports]
    if not reports:
        raise PipelineError("no run succeeded: " + "; ".join(c.why for c in cells))
    references = {c.pipeline: c.reports[-1] for c in cells if c.is_reference}
    return results.Results(
        schema=results.SCHEMA,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        task=describe_task(what, job, reports[0]),
        data=provenance.describe_data(what, job.path),
        machine=environment.machine(reports[0].threads, load),
        pipelines=[
            describe_pipeline(what, job, name) for name in dict.fromkeys(c.pipeline for c in cells)
        ],
        cells=[runs.cell(references.get(runs.pipeline), what) for runs in cells],
        **more,
    )


def describe_task(what: Task, job: Job, found: RunReport | Outcome) -> results.TaskInfo:
    """Return the record of a task, with what a run has found in its data."""
    kind, (name, split) = what.kind, what.split(job.split)
    target: Any = metrics.part(found.y_true, "target")
    positive = truth.positive_of(what, found.classes)
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
        train=task.in_words(split.train) if not split.folds else "the other folds of each",
        test=task.in_words(split.test) if not split.folds else f"each fold in {split.folds}",
    )


def describe_pipeline(what: Task, job: Job, name: str) -> results.PipelineInfo:
    """Return the record of a pipeline, as the job changes it."""
    make: Any = what.pipelines[name]
    title = (make.__doc__ or name).strip().partition("\n")[0]
    code = source_code.code(what.pipeline(name, job.seed, job.changes))
    return results.PipelineInfo(name=name, title=title, code=code)


def file_of(task: Task, job: Job, size: float) -> Path:
    """Return the file that holds a table of the task in a size.

    Raises
    ------
    ConfigError
        A number of rows was asked for, and the task's table is not generated.
    """
    if task.generated:
        files = parquet_files(job.path) if size <= 1 else []
        whole = sum(pq.read_metadata(file).num_rows for file in files) or 1
        return task.data(job.path.parents[1], rows=int(size * whole))
    if size <= 1:
        return cut(job.path, size, job.seed)
    raise ConfigError(
        f"--sizes {size:g}: {task.name} has the rows it has; give shares up to 1, or numbers "
        "of rows for a task whose table is generated, such as synthetic"
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


def parse(text: str) -> tuple[float, ...]:
    """Return sizes in ascending order, each once.

    Parameters
    ----------
    text : str
        Numbers with commas: up to 1 a share of the rows, above it a number of rows.

    Raises
    ------
    ConfigError
        Something in it is no such number.

    Examples
    --------
    >>> parse("1.0, 0.1,0.3")
    (0.1, 0.3, 1.0)
    >>> parse("")
    ()
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    return tuple(sorted({_size(word) for word in words}))


def _size(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf") or (value > 1 and value != int(value)):
        raise ConfigError(
            f"--sizes: {word!r} is no size; give shares of the rows such as 0.1,0.3,1.0 "
            "(or numbers of rows, for a task whose table is generated)"
        )
    return value


def cut(path: Path, share: float, seed: int) -> Path:
    """Write a share of a file's rows to a file of its own, unless it is there.

    Rows are drawn one by one and keep their order; those of a smaller share are among those of a
    larger one. Types, compression and the size of row groups are the file's.

    Parameters
    ----------
    path : Path
        A Parquet file, or a folder of such files.
    share : float
        Greater than 0, up to 1.
    seed : int

    Returns
    -------
    Path
        In a hidden folder beside the file; the file itself for all of it.

    Raises
    ------
    OutputError
        The folder of the data cannot be written, or the disk is full.
    """
    if share >= 1:
        return path
    made = path.parent / SIZES / f"{digest(path)[:16]}-{share:g}-seed{seed}.parquet"
    if made.exists():
        return made
    try:
        made.parent.mkdir(exist_ok=True)
        aside = made.with_suffix(".part")
        _write(path, aside, share, seed)
        aside.replace(made)
    except OSError as error:
        raise OutputError(f"{made}: {error.strerror or error}; --sizes needs room there") from error
    return made


def _write(path: Path, target: Path, share: float, seed: int) -> None:
    files = [pq.ParquetFile(each) for each in parquet_files(path)]
    groups = (file.read_row_group(n) for file in files for n in range(file.num_row_groups))
    random, first = np.random.default_rng(seed), files[0].metadata.row_group(0)
    parts = [group.filter(pa.array(random.random(len(group)) < share)) for group in groups]
    compression = first.column(0).compression.lower()
    pq.write_table(
        pa.concat_tables(parts).unify_dictionaries(),
        target,
        row_group_size=first.num_rows,
        compression="none" if compression == "uncompressed" else compression,
    )
