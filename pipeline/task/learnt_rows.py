"""The training rows of a task, as a search takes them, and how it judges a candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import LabelEncoder

from pipeline.data import parquet
from pipeline.system.devices import prepare_memory
from pipeline.task import metrics, truth
from pipeline.task.scoring import sign_of
from pipeline.task.task import Job, Task
from pipeline.task.truth import typed_split
from pipeline.typing import Estimator, Table, Target


@dataclass(frozen=True)
class TaskScorer:
    """The first metric of a task as a scorer: higher is better, and it reads predictions alone.

    Parameters
    ----------
    metric : Metric
    classes : numpy.ndarray or None
        That the pipeline learns, sorted.
    positive : int
        The place of the class that a binary task is about.
    decide : bool
        Whether the metric reads the classes of a binary task.
    encoded : bool
        Whether the target comes as `pipeline.task.metrics` has it, not as it is learnt.
    """

    metric: metrics.Metric
    classes: Any
    positive: int
    decide: bool
    encoded: bool = False
    reads_answers_only = True

    @property
    def sign(self) -> int:
        """1, or -1 of a loss."""
        return sign_of(self.metric.scorer)

    def __call__(
        self, model: Estimator, X: Table, y: Target, sample_weight: np.ndarray | None = None
    ) -> float:
        """Return the score of a fitted model."""
        kind, known = self.metric.kind, y
        said = metrics.answer(model, X, kind, self.classes, self.positive, decide=self.decide)
        if not self.encoded and self.classes is not None:
            known = truth.places_of(y, self.classes)
            known = (known == self.positive).astype("int64") if kind == "binary" else known
        if sample_weight is not None:
            known = metrics.fields(target=known, weight=sample_weight)
        return self.sign * self.metric(known, said)


class LearntRows(NamedTuple):
    """What a search over a pipeline is given."""

    X: Table
    y: np.ndarray
    """As the pipeline learns it: one that knows no names of classes learns their places."""
    params: Mapping[str, Any]
    """What else `fit` is told."""
    scorer: TaskScorer
    by: Mapping[str, np.ndarray] = {}
    """Columns that folds go by."""


def first_metric_of(task: Task) -> tuple[str, int]:
    """Return the metric that searches are about, and 1, or -1 where less is better."""
    name, scorer = next(iter(task.metrics.items()))
    return name, sign_of(scorer)


def read_learnt_rows(
    task: Task, job: Job, pipeline: Estimator, device: str, by: Sequence[str] = ()
) -> LearntRows:
    """Read the training rows of a task onto a device.

    Parameters
    ----------
    task : Task
        Of classes or of numbers.
    job : Job
        The data and the split.
    pipeline : estimator
        What will learn from them.
    device : {"cpu", "cuda"}
    by : sequence of str
        Columns that folds go by.
    """
    prepare_memory(device)
    split = typed_split(task.split(job.split)[1], job.path)
    others = [*dict.fromkeys([task.target, *filter(None, [task.weight]), *by])]
    X, known = parquet.read_parquet(job.path, task.features, others, split.train, device)
    truth.require_weights(task, pipeline)
    y, params = truth.learnt(task, known, "training")
    name, _ = first_metric_of(task)
    classes, plain, place = None, None, 1
    if task.kind != "regression":
        classes = truth.classes_of(task, y)
        place = truth.place_of_positive(task, classes)
        plain, _ = truth.encode_truth(task, classes, y)
        if truth.knows_places_alone(pipeline, classes):
            y, classes = LabelEncoder().fit_transform(y), np.arange(len(classes))
    metric, decide = metrics.judges(task, plain)[name], metrics.wants_decisions(task)
    scorer = TaskScorer(metric, classes, place, decide)
    return LearntRows(X, y, params, scorer, {name: known[name] for name in by})
