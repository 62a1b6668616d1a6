"""What is known of a task before its runs: cautions, and what the dummy scores."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import dataset
from pyarrow.parquet import filters_to_expression

from pipeline.benchmark import cautions, dummy, measure
from pipeline.benchmark.folds import times_of
from pipeline.benchmark.split_cautions import ranked_of_split
from pipeline.benchmark.task import Job, Task
from pipeline.data.files import Filter, parquet_files
from pipeline.data.schema import kind_of

MOST_READ = 1_000_000
"""Rows of a task that are looked through; of more a share, at random."""
FEWEST_GROUPS = 20
_ROW = "\0row"


def before_runs(task: Task, job: Job) -> tuple[list[str], dict[str, float]]:
    """Return what to know before a score is believed, and the dummy's value of each metric.

    What cannot be told is said, and ends no run.
    """
    noted: list[str] = []
    baseline: dict[str, float] = {}
    lacking = "The table was not looked through"
    try:
        noted += of_task(task, job)
        lacking = "No dummy was scored"
        baseline |= dummy.baseline(task, job)
    except Exception as error:
        why = " ".join(str(error).split())
        noted.insert(0, f"{lacking}: {type(error).__name__}: {why}")
    return noted, baseline


def of_task(task: Task, job: Job) -> list[str]:
    """Return the cautions of a task's data and of its split.

    Parameters
    ----------
    task : Task
    job : Job
        The data and the split.
    """
    table, split = _read(job.path), measure.typed_split(task.split(job.split)[1], job.path)
    train, test = (_chosen(table, rows) for rows in (split.train, split.test))
    what = task.target, task.kind
    found = cautions.ranked_of_table(
        table, *what, task.columns, test=test & ~train, metrics=[*task.metrics]
    )
    if task.kind in dummy.WITHOUT or split.folds:
        return cautions.in_rank([found])
    frame = cautions.sample(table, task.target, task.columns)
    here, there = (frame[chosen[frame.index]] for chosen in (train, test))
    # What is the same for all rows of a group divides them too; texts are names of groups sooner.
    names = sorted(map(str, frame.columns), key=lambda name: kind_of(frame[name]) != "text")
    split_by = next(filter(partial(_divides, here, there), names), "")
    times = times_of(task.split(job.split)[0], split)
    parted = ranked_of_split(here, there, task.target, task.columns, task.kind, split_by, times)
    return cautions.in_rank([found, parted])


def _divides(train: pd.DataFrame, test: pd.DataFrame, name: str) -> bool:
    """Tell whether the rows of each of many values are all in the same part."""
    if kind_of(train[name]) not in ("text", "number"):
        return False
    values = train[name].nunique() + test[name].nunique()
    rows = len(train) + len(test)
    many = FEWEST_GROUPS <= values <= rows / 2 and train[name].nunique() > 1
    return bool(many and not test[name].isin(train[name].dropna()).any())


def _read(path: Path) -> pa.Table:
    whole = dataset.dataset(parquet_files(path))
    share, draw = MOST_READ / max(whole.count_rows(), 1), np.random.default_rng(0)
    if share >= 1:
        return whole.to_table()
    batches = whole.to_batches()
    kept = (batch.filter(pa.array(draw.random(len(batch)) < share)) for batch in batches)
    return pa.Table.from_batches(kept, whole.schema)


def _chosen(table: pa.Table, rows: Filter) -> np.ndarray:
    """Return which rows fulfil conditions."""
    chosen = np.full(len(table), not rows)
    if rows:
        numbered = table.append_column(_ROW, pa.array(np.arange(len(table))))
        chosen[numbered.filter(filters_to_expression([*rows]))[_ROW].to_numpy()] = True
    return chosen
