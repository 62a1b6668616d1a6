"""One timed run of one spec: from opening the file to predictions on the host."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from sklearn.pipeline import Pipeline

from pipeline import io, loading
from pipeline.advice import of_size
from pipeline.clusters import active
from pipeline.devices import choose
from pipeline.errors import ConfigError, DataError
from pipeline.estimator import Accelerated
from pipeline.lowering import parts
from pipeline.placement import Placement
from pipeline.preprocessing.refusals import leaves
from pipeline.residency import Entry
from pipeline.rules.cpu import describe
from pipeline.task import Kind, Split, Task

CLOCK = "from opening the Parquet file to predictions of the test rows on the host"
_STAGE = {"fit_transform": "preprocess", "transform": "preprocess", "copy": "copy", "fit": "fit"}


@dataclass(frozen=True)
class Job:
    """What to run; plain data, so that another process can be told.

    Parameters
    ----------
    task, spec, variant : str
        Names; the variant is ``"reference"``, ``"cpu"`` or ``"cuda"``.
    path : Path
        The prepared Parquet file.
    seed : int
    split : str or None
        None is the task's default.
    changes : mapping
        Nested parameter name -> value, laid over the spec.
    """

    task: str
    spec: str
    variant: str
    path: Path
    seed: int = 0
    split: str | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Outcome:
    """What a run gave.

    Attributes
    ----------
    total : float
        Seconds of wall time.
    stages : dict of str to float
        Stage -> seconds.
    rows_train : int
    truth, predicted : numpy.ndarray, shape (n_test,)
        Target and `answer` for the test rows.
    placements, residency : list
        Where the steps ran and what moved; empty for the reference's residency.
    model : object
        The fitted `Pipeline` or `Accelerated`.
    """

    total: float = 0.0
    stages: dict[str, float] = field(default_factory=dict)
    rows_train: int = 0
    truth: Any = None
    predicted: Any = None
    placements: list[Placement] = field(default_factory=list)
    residency: list[Entry] = field(default_factory=list)
    model: Any = None

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the block's wall time to a stage."""
        start = time.perf_counter()
        yield
        self.stages[name] = self.stages.get(name, 0.0) + time.perf_counter() - start


def run(task: Task, spec: Any, job: Job) -> Outcome:
    """Read, fit, predict; return the times and the predictions."""
    _, split = task.split(job.split)
    outcome = Outcome()
    start = time.perf_counter()
    if job.variant == "reference":
        _reference(task, spec, split, job.path, outcome)
    else:
        _accelerated(task, Accelerated(spec, device=job.variant), split, job.path, outcome)
    outcome.total = time.perf_counter() - start
    return outcome


def _accelerated(
    task: Task, model: Accelerated, split: Split, path: Path, outcome: Outcome
) -> None:
    device = _device(task, model, path)

    def read(rows: Any) -> Any:
        with outcome.stage("read"):
            if active() is None:
                return io.read(path, task.features, task.target, rows, device)
            return loading.scan(path, _table(task), task.target, rows=rows, device=device)

    X, y = read(split.train)
    outcome.rows_train = len(y)
    _check_classes(task, y)
    outcome.model = model.fit(X, y)
    X, outcome.truth = read(split.test)
    outcome.predicted = answer(model, X, task.kind)
    outcome.residency = model.residency_.entries
    outcome.placements = model.plan_.placements
    for entry in outcome.residency:
        stage = _STAGE.get(entry.call, "predict")
        outcome.stages[stage] = outcome.stages.get(stage, 0.0) + entry.seconds


def _device(task: Task, model: Accelerated, path: Path) -> str:
    choice = choose(model.device)
    if model.device != "auto":
        return choice.name
    return of_size(choice, model.spec, pq.read_metadata(path).num_rows, len(task.features)).name


def _reference(task: Task, spec: Any, split: Split, path: Path, outcome: Outcome) -> None:
    """Run the program as people write it: `pandas.read_parquet` and scikit-learn.

    The pipeline's last step is called apart from the others, which is what
    `Pipeline.fit` does, so that the stages can be timed.
    """

    def read(rows: Any) -> Any:
        with outcome.stage("read"):
            frame = pd.read_parquet(path, columns=[*task.columns, task.target], filters=list(rows))
            return frame[_wanted(task)], frame[task.target].to_numpy()

    before, last = (spec[:-1], spec[-1]) if isinstance(spec, Pipeline) else (None, spec)
    X, y = read(split.train)
    outcome.rows_train = len(y)
    _check_classes(task, y)
    if before is not None and len(before):
        with outcome.stage("preprocess"):
            X = before.fit_transform(X, y)
    with outcome.stage("fit"):
        last.fit(X, y)
    X, outcome.truth = read(split.test)
    if before is not None and len(before):
        with outcome.stage("preprocess"):
            X = before.transform(X)
    with outcome.stage("predict"):
        outcome.predicted = answer(last, X, task.kind)
    outcome.model = spec
    outcome.placements = [
        Placement(
            step,
            "scikit-learn" if isinstance(leaf, str) else describe(leaf, step).implementation,
            "cpu",
        )
        for name, part in parts(spec)
        for step, leaf in leaves(part, name)
    ]


def _check_classes(task: Task, y: Any) -> None:
    # A target on the workers of a cluster is judged there.
    if task.kind == "regression" or not isinstance(y, np.ndarray) or len(np.unique(y)) > 1:
        return
    what = f"are all of the class {y[0]!s}" if len(y) else "are none"
    raise DataError(
        f"{task.name}: the {len(y):,} training rows {what}; choose another --split, or other data"
    )


def _table(task: Task) -> list[str]:
    """Return the columns that workers read; texts are no table."""
    if isinstance(task.features, str):
        raise ConfigError(f"{task.name}: texts are read by one process; leave out --cluster")
    return list(task.columns)


def _wanted(task: Task) -> Any:
    """Return what selects the features from a frame: a name gives a column, a list a frame."""
    return task.features if isinstance(task.features, str) else task.columns


def answer(model: Any, X: Any, kind: Kind) -> np.ndarray:
    """Return what is judged: the probability of class 1, or what `predict` says.

    Parameters
    ----------
    model : object
        Fitted.
    X : frame or array
    kind : {"binary", "multiclass", "regression"}

    Returns
    -------
    numpy.ndarray, shape (n_rows,)
    """
    if kind == "binary":
        return np.asarray(model.predict_proba(X)[:, 1])
    return np.asarray(model.predict(X))


def judge(task: Task, outcome: Outcome) -> dict[str, float]:
    """Return the task's metrics of the predictions.

    Raises
    ------
    DataError
        A metric has no finite value, which a record could hold.
    """
    return {name: _score(name, metric, outcome) for name, metric in task.metrics.items()}


def _score(name: str, metric: Any, outcome: Outcome) -> float:
    what = f"{name} of the {len(outcome.truth)} test rows"
    try:
        value = float(metric(outcome.truth, outcome.predicted))
    except ValueError as error:
        raise DataError(f"{what}: {error}") from error
    if not math.isfinite(value):
        raise DataError(f"{what} is {value}; does the target vary among them?")
    return value
