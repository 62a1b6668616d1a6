"""The training rows of a task, as a search takes them, and how it judges a candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import LabelEncoder

from pipeline.benchmark import measure, metrics, truth
from pipeline.benchmark.scoring import sign_of
from pipeline.benchmark.task import Job, Kind, Task
from pipeline.data import parquet
from pipeline.system.devices import prepare_memory
from pipeline.typing import Estimator, Table, Target


@dataclass(frozen=True)
class AnswerScorer:
    """A metric of a task as a scorer: higher is better, and it reads nothing but answers.

    Parameters
    ----------
    metric : Metric
    sign : {1, -1}
        -1 for a loss.
    kind : {"binary", "multiclass", "regression", "ranking"}
    classes : numpy.ndarray or None
        That the pipeline learns, sorted.
    positive : int
        The place of the class that a binary task is about.
    decide : bool
        Whether the metric reads the classes of a binary task.
    """

    metric: metrics.Metric
    sign: int
    kind: Kind
    classes: Any
    positive: int
    decide: bool
    reads_answers_only = True

    def __call__(self, model: Estimator, X: Table, y: np.ndarray) -> float:
        """Return the score of a fitted model; `y` is as `pipeline.benchmark.metrics` has it."""
        said = metrics.answer(model, X, self.kind, self.classes, self.positive, decide=self.decide)
        return self.sign * self.metric(y, said)


class MetricScorer(AnswerScorer):
    """The same of a target as the pipeline learns it, which scikit-learn's searches give."""

    def __call__(
        self, model: Estimator, X: Table, y: Target, sample_weight: np.ndarray | None = None
    ) -> float:
        """Return the score of a fitted model."""
        known: Any = y
        if self.classes is not None:
            known = truth.places_of(y, self.classes)
        if self.kind == "binary":
            known = (known == self.positive).astype("int64")
        if sample_weight is not None:
            known = metrics.fields(target=known, weight=sample_weight)
        return super().__call__(model, X, known)


class LearntRows(NamedTuple):
    """What a search over a pipeline is given."""

    X: Table
    y: np.ndarray
    """As the pipeline learns it: one that knows no names of classes learns their places."""
    params: Mapping[str, Any]
    """What else `fit` is told."""
    scorer: MetricScorer
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
    split = measure.typed_split(task.split(job.split)[1], job.path)
    others = [*dict.fromkeys([task.target, *filter(None, [task.weight]), *by])]
    X, known = parquet.read_parquet(job.path, task.features, others, split.train, device)
    truth.require_weights(task, pipeline)
    y, params = truth.learnt(task, known, "training")
    name, sign = first_metric_of(task)
    classes, plain, place = None, None, 1
    if task.kind != "regression":
        classes = truth.classes_of(task, y)
        place = truth.place_of_positive(task, classes)
        plain, _ = truth.encode_truth(task, classes, y)
        if truth.knows_places_alone(pipeline, classes):
            y, classes = LabelEncoder().fit_transform(y), np.arange(len(classes))
    metric, decide = metrics.judges(task, plain)[name], metrics.wants_decisions(task)
    scorer = MetricScorer(metric, sign, task.kind, classes, place, decide)
    return LearntRows(X, y, params, scorer, {name: known[name] for name in by})
