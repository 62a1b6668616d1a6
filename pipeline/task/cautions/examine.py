"""The cautions of a table and of its split, before a model learns from it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import dataset
from pyarrow.parquet import filters_to_expression

from pipeline.files.files import Filter, table_files
from pipeline.task.cautions.caution import Caution, in_rank
from pipeline.task.cautions.columns import TableSample, of_columns
from pipeline.task.cautions.overview import TableSummary, summarize
from pipeline.task.cautions.rows import of_rows
from pipeline.task.cautions.split import of_split
from pipeline.task.folds import times_of
from pipeline.task.task import Job, Task
from pipeline.task.truth import split_of

MOST_READ = 1_000_000
"""Rows of a task that are looked through; of more a share, at random."""


def of_task(task: Task, job: Job) -> tuple[list[str], TableSummary]:
    """Return the cautions of a job's data and split, the worst first, and its columns."""
    name, split = split_of(task, job)
    table, is_part = _read(job.path)
    train, test = (_chosen(table, rows) for rows in (split.train, split.test))
    sample = TableSample(table, task.target, task.kind, task.columns, test & ~train, train)
    found = of_sample(sample)
    found += of_split(sample, split.groups, times_of(name, split))
    kept = [caution for caution in found if caution.id not in task.mute]
    with _silent():
        return in_rank(kept), summarize(sample, kept, sampled=is_part)


def of_table(
    table: pa.Table, target: str, kind: str, features: Sequence[str], test: Any = None
) -> list[str]:
    """Return the cautions about a table before a model learns from it, the worst first.

    Its columns are of their own types, its classes their names; see `TableSample`.

    >>> rows = pa.table({"x": [0.0, 1.0] * 200, "y": ["no", "yes"] * 200})
    >>> print(of_table(rows, "y", "binary", ["x"])[0].partition(":")[0])
    critical
    """
    return in_rank(of_sample(TableSample(table, target, kind, features, test)))


def of_sample(sample: TableSample) -> list[Caution]:
    """Return what to know of the columns and rows of a sample."""
    with _silent():
        return [*of_columns(sample), *of_rows(sample)]


@contextmanager
def _silent() -> Iterator[None]:
    """Hide warnings of classes with few rows, which the cautions name, and of odd numbers."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _read(path: Path) -> tuple[pa.Table, bool]:
    """Return a table, of a long one a share of the rows at random, and whether it is a share."""
    whole, draw = dataset.dataset(table_files(path)), np.random.default_rng(0)
    share = MOST_READ / max(whole.count_rows(), 1)
    kept = (b.filter(pa.array(draw.random(len(b)) < share)) for b in whole.to_batches())
    if share >= 1:
        return whole.to_table(), False
    return pa.Table.from_batches(kept, whole.schema), True


def _chosen(table: pa.Table, rows: Filter) -> np.ndarray:
    """Return which rows fulfil conditions."""
    if not rows:
        return np.ones(len(table), dtype=bool)
    fulfilled = dataset.dataset(table).to_table({"chosen": filters_to_expression([*rows])})
    return np.asarray(fulfilled["chosen"].fill_null(False))
