"""Predictions, the truth that they are compared with, and metrics of both.

Both are arrays with one entry a row, so that rows can be left out of both alike. Where a row has
several values they have fields: of the truth ``target``, ``query``, ``weight`` and ``row``; of
the predictions ``prediction``, ``decision``, ``probability`` and ``embedding``. Classes are stored
as their places among all of them, those of a binary task as 1 and 0; the prediction of a binary
task is the probability of 1, its decision the class.
"""

from __future__ import annotations

import math
from contextlib import nullcontext, suppress
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_outlier_detector

from pipeline.errors import ConfigError, DataError
from pipeline.task.faults import describe_fault
from pipeline.task.scoring import ScoringInfo, StoredPredictions, methods_of, sign_of, takes
from pipeline.task.task import Kind, Task
from pipeline.task.truth import decides_otherwise, places_of
from pipeline.typing import Estimator, Table, Target

PLAIN = ("target", "prediction")
"""What an array without fields holds."""
MOST_PERFECT = 10_000
"""Rows of which the best value of a metric is taken."""


def fields(**columns: Any) -> np.ndarray:
    """Return one array of several columns, each of as many entries.

    >>> both = fields(prediction=[1, 0], probability=[[0.2, 0.8], [0.9, 0.1]])
    >>> both["probability"][both["prediction"] == 0].tolist()
    [[0.9, 0.1]]
    """
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    # Only a pickle could keep an array of objects in a file.
    arrays = {n: a.astype(str) if a.dtype == object else a for n, a in arrays.items()}
    kinds = [(name, array.dtype, array.shape[1:]) for name, array in arrays.items()]
    table = np.empty(len(next(iter(arrays.values()))), kinds)
    for name, array in arrays.items():
        table[name] = array
    return table


def part(values: np.ndarray, name: str) -> np.ndarray | None:
    """Return a field of a truth or a prediction; None if it has no such field.

    >>> part(np.array([1.5]), "prediction").tolist(), part(np.array([1.5]), "embedding")
    ([1.5], None)
    """
    if values.dtype.names is None:
        return values if name in PLAIN else None
    return values[name] if name in values.dtype.names else None


@dataclass(frozen=True)
class Metric:
    """A scorer of a task, asked about stored predictions; classes are by name."""

    scorer: Any
    kind: Kind
    classes: Any = None

    def __call__(self, y_true: np.ndarray, answer: np.ndarray) -> float:
        """Return the value of the metric; ValueError if it has none.

        The value is that of the metric itself, also where less is better.
        """
        if self.kind == "ranking":
            return self._of_queries(y_true, answer)
        target: Any = part(y_true, "target")
        stored, scorer = _stored(answer, self.kind), self.scorer
        classes = np.array([0, 1]) if self.kind == "binary" else self.classes
        if self.kind == "multiclass":
            if "predict" not in methods_of(scorer):
                classes = classes[: stored["predict_proba"].shape[1]]
                if target.max() >= len(classes):
                    name = self.classes[target.max()].item()
                    raise ValueError(f"no training row has the class {name!r}")
                if takes(scorer, "labels"):
                    scorer = copy(scorer)
                    scorer._kwargs = {**scorer._kwargs, "labels": classes}
            target, stored["predict"] = self.classes[target], self.classes[stored["predict"]]
        weights = part(y_true, "weight")
        weighted = weights is not None and takes(scorer, "sample_weight")
        more = {"sample_weight": weights} if weighted else {}
        model = StoredPredictions(stored, classes)
        return sign_of(scorer) * float(scorer(model, part(y_true, "row"), target, **more))

    def _of_queries(self, y_true: np.ndarray, answer: np.ndarray) -> float:
        """Return the mean over queries of two rows or more; one row has no order.

        The scorer gets queries of equal length as matrices with a query in each row.
        """
        order = np.argsort(y_true["query"], kind="stable")
        target, scores = y_true["target"][order], answer[order]
        _, starts, lengths = np.unique(
            y_true["query"][order], return_index=True, return_counts=True
        )
        total, count = 0.0, 0
        for length in np.unique(lengths[lengths > 1]):
            rows = starts[lengths == length][:, None] + np.arange(length)
            model = StoredPredictions({"predict": scores[rows]})
            total += float(self.scorer(model, None, target[rows])) * len(rows)
            count += len(rows)
        if not count:
            raise ValueError("no query has two rows to rank")
        return sign_of(self.scorer) * total / count


def _stored(answer: np.ndarray, kind: Kind) -> dict[str, np.ndarray]:
    """Return what an estimator with these predictions would give, by method."""
    names = {
        "predict": "decision" if kind == "binary" else "prediction",
        "predict_proba": "prediction" if kind == "binary" else "probability",
        "transform": "embedding",
    }
    found = {method: part(answer, name) for method, name in names.items()}
    stored = {method: values for method, values in found.items() if values is not None}
    if kind == "binary" and "predict_proba" in stored:
        chance = stored["predict_proba"]
        stored["predict_proba"] = np.column_stack([1 - chance, chance])
    return stored


def judges(task: Task, classes: Any = None) -> dict[str, Metric]:
    """Return the metrics of a task; the classes are those of `encode_truth`."""
    return {name: Metric(scorer, task.kind, classes) for name, scorer in task.metrics.items()}


def scoring_of(task: Task, y_true: np.ndarray | None = None, classes: Any = None) -> ScoringInfo:
    """Return which way each metric of a task goes, and its value of perfect predictions.

    Without the truth of the test rows no best value is known.
    """
    signs = {name: sign_of(scorer) for name, scorer in task.metrics.items()}
    if y_true is None:
        return ScoringInfo(signs=signs, mute=[*task.mute])
    some = y_true[np.unique(np.linspace(0, len(y_true) - 1, MOST_PERFECT).astype(int))]
    target: Any = part(some, "target")
    perfect = target
    if task.kind == "binary":
        perfect = fields(prediction=target.astype("float64"), decision=target)
    elif task.kind == "multiclass":
        perfect = fields(prediction=target, probability=np.eye(len(classes))[target])
    best = judge(task, some, perfect, classes, strict=False)
    return ScoringInfo(signs=signs, best=best, mute=[*task.mute])


def answer(
    model: Estimator, X: Table, kind: Kind, classes: Any = None, positive: int = 1
) -> np.ndarray:
    """Return the predictions of a fitted model, one entry a row.

    Of a binary task that is the probability of the positive class, by its place among those that
    the model has learned, or how anomalous a row is, with the class, where the model decides on
    one; of several classes their places, with the probabilities of all, where there are any;
    else a number, or a score to rank by.
    """
    if kind == "binary":
        chance = _of_positive(model, X, positive)
        decided = _decided(model, X, chance, classes, positive)
        return chance if decided is None else fields(prediction=chance, decision=decided)
    return _of_classes(model, X, classes) if kind == "multiclass" else np.asarray(model.predict(X))


def _of_classes(model: Estimator, X: Table, classes: Any) -> np.ndarray:
    if not hasattr(model, "predict_proba"):
        return places_of(np.asarray(model.predict(X)), classes)
    probability = np.asarray(model.predict_proba(X))
    places = probability.argmax(axis=1)
    if decides_otherwise(program_of(model)):
        places = places_of(np.asarray(model.predict(X)), classes)
    kind = np.min_scalar_type(probability.shape[1])
    return fields(prediction=places.astype(kind), probability=probability)


def program_of(model: Estimator) -> Any:
    """Return the estimator that a variant runs, in whatever wrapper."""
    return getattr(model, "pipeline", getattr(model, "estimator", model))


def _of_positive(model: Estimator, X: Table, positive: int) -> np.ndarray:
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X)[:, positive])
    if hasattr(model, "score_samples"):
        # Of scikit-learn's detectors the least is the most anomalous.
        return -np.asarray(model.score_samples(X))
    name = type(program_of(model)).__name__
    raise ConfigError(
        f"{name} has neither predict_proba nor score_samples; use an estimator with one"
    )


def _decided(
    model: Estimator, X: Table, chance: np.ndarray, classes: Any, positive: int
) -> np.ndarray | None:
    """Return 1 where `predict` says the positive class, or an outlier; None if it says neither."""
    program = program_of(model)
    if is_outlier_detector(program):
        return (np.asarray(model.predict(X)) == -1).astype("int8")
    if not hasattr(model, "predict_proba"):
        return None
    if decides_otherwise(program):
        places = places_of(np.asarray(model.predict(X)), classes)
        return (places == positive).astype("int8")
    # Of two that are as probable, scikit-learn takes the first.
    return (chance > 0.5 if positive else chance >= 0.5).astype("int8")


def fit_answer(model: Estimator, X: Table) -> np.ndarray:
    """Fit a model without a target; return the clusters of its rows, or where it puts them."""
    if hasattr(model, "fit_predict"):
        return np.asarray(model.fit_predict(X))
    return fields(embedding=np.asarray(model.fit_transform(X)))


def judge(
    task: Task, y_true: np.ndarray, answer: np.ndarray, classes: Any = None, *, strict: bool = True
) -> dict[str, float]:
    """Return those of the task's metrics that the predictions can be scored by.

    A metric without a finite value, which a record could hold, is an error; if not `strict`, it is
    left out.
    """
    stored, values = _stored(answer, task.kind), {}
    for name, metric in judges(task, classes).items():
        if not stored.keys().isdisjoint(methods_of(metric.scorer)):
            with nullcontext() if strict else suppress(DataError):
                values[name] = _score(name, metric, y_true, answer)
    if strict and not values:
        raise DataError(f"{task.name}: no metric uses {' or '.join(stored)}; add one that does")
    return values


def _score(name: str, each: Metric, y_true: np.ndarray, answer: np.ndarray) -> float:
    what = f"{name} of the {len(y_true)} test rows"
    try:
        value = each(y_true, answer)
    except ValueError as error:
        raise DataError(f"{what}: {error}") from error
    except Exception as error:
        raise ConfigError(f"{what}: {describe_fault(error)}") from error
    if not math.isfinite(value):
        those = "them" if part(y_true, "weight") is None else "those of a weight above 0"
        raise DataError(f"{what} is {value}; check that the target varies among {those}")
    return value


@dataclass(frozen=True)
class TaskScorer:
    """The first metric of a task as a scorer: higher is better, and it reads predictions alone."""

    metric: Metric
    classes: Any
    """That the pipeline learns, sorted; None of numbers."""
    positive: int
    """The place of the class that a binary task is about."""
    reads_answers_only = True

    def __call__(
        self, model: Estimator, X: Table, y: Target, sample_weight: np.ndarray | None = None
    ) -> float:
        """Return the score of a fitted model."""
        kind, known = self.metric.kind, y
        said = answer(model, X, kind, self.classes, self.positive)
        if self.classes is not None:
            known = places_of(y, self.classes)
            known = (known == self.positive).astype("int64") if kind == "binary" else known
        if sample_weight is not None:
            known = fields(target=known, weight=sample_weight)
        return sign_of(self.metric.scorer) * self.metric(known, said)


def first_metric_of(task: Task) -> tuple[str, int]:
    """Return the metric that searches are about, and 1, or -1 where less is better."""
    name, scorer = next(iter(task.metrics.items()))
    return name, sign_of(scorer)
