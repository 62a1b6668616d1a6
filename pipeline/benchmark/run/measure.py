"""One timed run of one pipeline: from opening the file to predictions on the host."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelEncoder

from pipeline.backends.base import Placement
from pipeline.backends.cpu import HOST
from pipeline.compile.choose import choose_by_size
from pipeline.compile.compile import compile
from pipeline.distributed.cluster import active
from pipeline.errors import ConfigError
from pipeline.files import parquet
from pipeline.files.files import table_files
from pipeline.files.read import Preflight, preflight, read
from pipeline.model.accelerated import Accelerated
from pipeline.system.devices import choose, prepare_memory
from pipeline.table import frames
from pipeline.table.partitioned import compute
from pipeline.task import metrics, truth
from pipeline.task.task import Job, Split, Task
from pipeline.trace import Event
from pipeline.typing import Estimator, Table, Target

PLAIN = ("reference", "intelex", "accel")
"""Variants that run the program as it is; the last two with others in place of its classes."""
_STAGE = {"fit_transform": "preprocess", "transform": "preprocess", "copy": "copy", "fit": "fit"}
_WHOLE = {"fit_transform", "fit_predict"}
"""Calls of the last step that learn and answer in one; they count as its fit."""
_ALONE = {"ranking": "queries", "clusters": "all rows"}
"""Kind -> what has to be in one table, as texts have."""


@dataclass
class Outcome:
    """What a run gave."""

    total: float = 0.0
    """Seconds of wall time."""
    stages: dict[str, float] = field(default_factory=dict)
    rows_train: int = 0
    y_true: Any = None
    predicted: Any = None
    """What is judged of the test rows, as is `y_true`; see :mod:`pipeline.task.metrics`."""
    classes: Any = None
    """Where there are any: those of the training rows in order, then others of the test rows."""
    weights: Any = None
    """Of the test rows, where the task has them."""
    placements: list[Placement] = field(default_factory=list)
    execution_log: list[Event] = field(default_factory=list)
    model: Any = None
    """The fitted `Pipeline` or `Accelerated`."""
    reading: Preflight | None = None
    """How the table was read, where there was a choice."""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the block's wall time to a stage."""
        start = time.perf_counter()
        yield
        self.stages[name] = self.stages.get(name, 0.0) + time.perf_counter() - start


def measure_once(task: Task, pipeline: Estimator, job: Job) -> Outcome:
    """Read, fit, predict; return the times and the predictions."""
    _, split = truth.split_of(task, job)
    outcome = Outcome()
    start = time.perf_counter()
    if job.variant in PLAIN:
        _reference(task, pipeline, split, job.path, outcome)
    else:
        model = Accelerated(pipeline, device=job.variant, checkpoint=job.checkpoint)
        _accelerated(task, model, split, job.path, outcome)
    outcome.total = time.perf_counter() - start
    if task.kind == "clusters":
        X, _ = parquet.read_parquet(job.path, task.columns, task.target, split.train, "cpu")
        rows = X.astype("float32")
        row = rows.fillna(rows.mean()).to_numpy()
        outcome.y_true = metrics.fields(target=outcome.y_true, row=row)
    elif outcome.classes is not None:
        outcome.classes, outcome.y_true = truth.encode_truth(task, outcome.classes, outcome.y_true)
    if outcome.weights is not None:
        outcome.y_true = metrics.fields(target=outcome.y_true, weight=outcome.weights)
    return outcome


def check(task: Task, job: Job, pipelines: Sequence[str]) -> None:
    """Refuse targets, classes and weights that no run could use, before there is any."""
    if task.kind == "clusters":
        return
    _, split = truth.split_of(task, job)
    for name in pipelines:
        truth.require_weights(task, task.pipeline(name, job.seed, job.changes))
    train, test = (
        truth.learnt(task, parquet.read_parquet(job.path, [], task.others, rows, "cpu")[1], part)
        for rows, part in ((split.train, "training"), (split.test, "test"))
    )
    if task.kind in ("binary", "multiclass"):
        truth.encode_truth(task, truth.classes_of(task, train[0]), test[0])


def judge_outcome(task: Task, outcome: Outcome) -> dict[str, float]:
    """Return the task's metrics of an outcome; see `pipeline.task.metrics.judge`."""
    return metrics.judge(task, outcome.y_true, outcome.predicted, outcome.classes)


def _accelerated(
    task: Task, model: Accelerated, split: Split, path: Path, outcome: Outcome
) -> None:
    choice = choose(model.device)
    if model.device == "auto":
        rows = sum(pq.read_metadata(file).num_rows for file in table_files(path))
        choice = choose_by_size(choice, model.estimator, rows, len(task.columns))
    device = choice.name
    prepare_memory(device)

    def read_rows(rows: Table) -> Any:
        with outcome.stage("read"):
            if whole := "texts" if isinstance(task.features, str) else _ALONE.get(task.kind):
                if active() is None:
                    return parquet.read_parquet(path, task.features, task.others, rows, device)
                raise ConfigError(
                    f"{task.name}: {whole} are read by one process; leave out --cluster"
                )
            features, more = task.columns, [task.weight] if task.weight else []
            outcome.reading = preflight(path, [*features, *more, task.target], device=device)
            X, y = read(path, [*features, *more], task.target, rows=rows, device=device)
            # The files of a folder may come in another order by another reader.
            return X[features], {task.target: y, **{name: _on_host(X[name]) for name in more}}

    _learn_and_answer(task, model, split, read_rows, outcome)
    outcome.model = model
    outcome.execution_log = model.execution_log_.entries
    outcome.placements = model.plan_.placements
    last = model.plan_.steps[-1].name if task.kind == "clusters" else ""
    for entry in outcome.execution_log:
        stage = _STAGE.get(entry.call, "predict")
        if entry.step == last and entry.call in _WHOLE:
            stage = "fit"
        outcome.stages[stage] = outcome.stages.get(stage, 0.0) + entry.seconds


def _on_host(column: Any) -> np.ndarray:
    """Return a column as an array of the host, whole."""
    whole = compute([column])[0] if frames.is_partitioned(column) else column
    return np.asarray(frames.to_device(whole, "cpu").to_numpy())


def _learn_and_answer(
    task: Task, model: Estimator, split: Split, read: Any, outcome: Outcome
) -> None:
    X, known = read(split.train)
    if task.kind == "clusters":
        outcome.rows_train, outcome.y_true = len(known[task.target]), known[task.target]
        outcome.predicted = metrics.fit_answer(model, X)
        return
    y, params = truth.learnt(task, known, "training")
    outcome.rows_train = len(y)
    place = 1
    if task.kind in ("binary", "multiclass"):
        outcome.classes = truth.classes_of(task, y)
        place = truth.place_of_positive(task, outcome.classes)
    truth.require_weights(task, metrics.program_of(model))
    fit(model, X, y, outcome.classes, **params)
    X, known = read(split.test)
    outcome.y_true, more = truth.learnt(task, known, "test")
    outcome.weights = more.get("sample_weight")
    if task.query:
        outcome.y_true = metrics.fields(target=outcome.y_true, query=known[task.query])
    outcome.predicted = metrics.answer(model, X, task.kind, outcome.classes, place)


def fit(model: Estimator, X: Table, y: Target, classes: Any, **params: Any) -> None:
    """Fit a program; one that knows no names of classes learns their places, as its users do."""
    if classes is None or not truth.knows_places_alone(metrics.program_of(model), classes):
        model.fit(X, y, **params)
        return
    encoder = LabelEncoder()
    model.fit(X, encoder.fit_transform(y), **params)
    model.classes_ = encoder.classes_


def _reference(task: Task, pipeline: Estimator, split: Split, path: Path, outcome: Outcome) -> None:
    """Run the program as people write it: `pandas.read_parquet` and scikit-learn.

    The pipeline's last step is called apart from the others, which is what
    `Pipeline.fit` does, so that the stages can be timed.
    """
    # A name gives a column, a list a frame.
    wanted = task.features if isinstance(task.features, str) else task.columns

    def read(rows: Table) -> Any:
        with outcome.stage("read"):
            columns = [*task.columns, *task.others]
            frame = pd.read_parquet(path, columns=columns, filters=list(rows) or None)
            return frame[wanted], {name: frame[name].to_numpy() for name in task.others}

    before, last = (
        (pipeline[:-1], pipeline[-1]) if isinstance(pipeline, Pipeline) else (None, pipeline)
    )
    steps = _Reference(before if before is not None and len(before) else None, last, outcome)
    _learn_and_answer(task, steps, split, read, outcome)
    outcome.model = pipeline
    outcome.placements = [_placed(leaf.estimator, leaf.path) for leaf in compile(pipeline).leaves]


class _Reference:
    """A pipeline whose last step is called apart from the others, each of them timed."""

    def __init__(self, before: Any, last: Estimator, outcome: Outcome) -> None:
        self.before, self.pipeline, self.outcome = before, last, outcome

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the last step; a method gets prepared rows."""
        found = getattr(self.pipeline, name)
        learns = name.startswith("fit")

        def called(X: Table, *y: Any, **params: Any) -> Any:
            if self.before is not None:
                with self.outcome.stage("preprocess"):
                    before = self.before
                    X = before.fit_transform(X, *y) if learns else before.transform(X)
            with self.outcome.stage("fit" if learns else "predict"):
                return found(X, *y, **params)

        return called if callable(found) else found


def _placed(leaf: Estimator, step: str) -> Placement:
    """Return what ran a step of the program itself."""
    if isinstance(leaf, str):
        return Placement(step, "scikit-learn", "cpu")
    if not hasattr(type(leaf), "_cpu_class"):
        return HOST.describe(leaf, step)
    # A class of cuml.accel; only the one that was fitted, which is no clone, knows where.
    ran = getattr(leaf, "n_features_in_", None) is not None
    where = ("cuda" if leaf._gpu is not None else "cpu") if ran else "cuda or cpu"
    note = "" if where == "cuda" else "cuml.accel uses scikit-learn for what it does not support"
    return Placement(step, f"cuml.accel {type(leaf).__name__}", where, note)
