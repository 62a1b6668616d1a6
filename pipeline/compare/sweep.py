"""The same contest at other sizes of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

from pipeline.compare import results as record
from pipeline.compare.contest import Contest, as_run
from pipeline.compare.rounds import Rounds
from pipeline.compare.sizes import cut
from pipeline.errors import ConfigError
from pipeline.measure import Job
from pipeline.persistence import parquet_files
from pipeline.task import Task


def file_of(task: Task, job: Job, size: float) -> Path:
    """Return the file that holds a table of the task in a size.

    Raises
    ------
    ConfigError
        A number of rows was asked for, and the task's table is not generated.
    """
    if task.generated:
        whole = sum(pq.read_metadata(file).num_rows for file in parquet_files(job.path))
        return task.data(job.path.parents[1], rows=int(size * whole if size <= 1 else size))
    if size <= 1:
        return cut(job.path, size, job.seed)
    raise ConfigError(
        f"--sizes {size:g}: {task.name} has the rows it has; give shares up to 1, or numbers "
        "of rows for a task whose table is generated, such as synthetic"
    )


def sweep(
    task: Task, job: Job, specs: Sequence[str], names: Sequence[str], sizes: Sequence[float],
    rounds: Rounds,
) -> list[record.Point]:  # fmt: skip
    """Run all specs by all variants at each size but that of the task's own table.

    A variant that fails at a size is not tried at larger ones.

    Parameters
    ----------
    task : Task
    job : Job
        Its spec, variant and path are replaced.
    specs, names : sequence of str
        Of the programs and of the variants.
    sizes : sequence of float
        In ascending order.
    rounds : Rounds
    """
    files = [(size, file_of(task, job, size)) for size in sizes if size != 1]
    return [point for spec in specs for point in _spec(task, job, spec, names, files, rounds)]


def _spec(
    task: Task, job: Job, spec: str, names: Sequence[str], files: Sequence[tuple[float, Path]],
    rounds: Rounds,
) -> Iterator[record.Point]:  # fmt: skip
    able = list(names)
    for size, path in files:
        found, _ = rounds.run(
            replace(job, spec=spec, path=path), able, task.kind, label=(f"size {size:g}",)
        )
        yield from (_point(contest, size) for contest in found)
        able = [contest.variant for contest in found if not contest.why]
        if names[0] not in able:
            return


def _point(contest: Contest, size: float) -> record.Point:
    last = contest.reports[-1] if contest.reports else contest.warmup
    return record.Point(
        spec=contest.spec,
        variant=contest.variant,
        size=size,
        rows_train=last.rows_train if last else 0,
        rows_test=len(last.truth) if last else 0,
        status="failed" if contest.why else "ok",
        why=contest.why,
        runs=[as_run(report) for report in contest.reports],
    )
