"""What is judged: a program's answer, the truth it is held against, and metrics of the two.

Both are arrays with one entry a row, so that rows can be left out of both alike. Where a
row has more than one thing to say they have fields: of the truth ``target``, ``query``,
``weight`` and ``row``; of the answer ``prediction``, ``decision``, ``probability`` and
``embedding``. Classes stand there by their places among all of them, those of a binary task by 1
and 0; the prediction of a binary task is the probability of 1, its decision the class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial, wraps
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import is_outlier_detector

from pipeline.benchmark.faults import describe_fault
from pipeline.benchmark.responses import function_of, response_of
from pipeline.benchmark.task import Kind, Task
from pipeline.benchmark.truth import decides_otherwise, places_of, positive_of
from pipeline.errors import ConfigError, DataError
from pipeline.typing import Estimator, Table

Score = Callable[[Any, Any], float]
PLAIN = ("target", "prediction")
"""What an array without fields holds."""
_READ = {("binary", "decision"): "decision", ("multiclass", "chance"): "probability"}
"""Kind of task and what a function of `sklearn.metrics` reads -> a field but the prediction."""
SAMPLE = 2_000
"""Rows of which all pairs of distances are taken."""


def fields(**columns: Any) -> np.ndarray:
    """Return one array of several columns, each of as many entries.

    >>> both = fields(prediction=[1, 0], probability=[[0.2, 0.8], [0.9, 0.1]])
    >>> both["probability"][both["prediction"] == 0].tolist()
    [[0.9, 0.1]]
    """
    arrays = {name: _plain(np.asarray(column)) for name, column in columns.items()}
    kinds = [(name, array.dtype, array.shape[1:]) for name, array in arrays.items()]
    table = np.empty(len(next(iter(arrays.values()))), kinds)
    for name, array in arrays.items():
        table[name] = array
    return table


def _plain(array: np.ndarray) -> np.ndarray:
    # An array of objects can be kept in a file by a pickle alone.
    return array.astype(str) if array.dtype == object else array


def part(values: np.ndarray, name: str) -> np.ndarray | None:
    """Return a field of a truth or an answer; None if it has no such field.

    >>> part(np.array([1.5]), "prediction").tolist(), part(np.array([1.5]), "embedding")
    ([1.5], None)
    """
    if values.dtype.names is None:
        return values if name in PLAIN else None
    return values[name] if name in values.dtype.names else None


@dataclass(frozen=True)
class Metric:
    """A metric and the fields that it reads.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, answer)``, from :mod:`sklearn.metrics`.
    y_true, answer : str
        Names of the fields.
    most : int, optional
        Rows to read, evenly spaced; all by default.
    classes : numpy.ndarray, optional
        The names for whose places the target and the prediction stand.
    """

    metric: Score
    y_true: str = "target"
    answer: str = "prediction"
    most: int | None = None
    classes: Any = None

    def __call__(self, y_true: np.ndarray, answer: np.ndarray) -> float:
        """Return the value of the metric; ValueError if it has none."""
        if self.most is not None and len(y_true) > self.most:
            rows = np.linspace(0, len(y_true) - 1, self.most).astype(int)
            y_true, answer = y_true[rows], answer[rows]
        wanted, said = part(y_true, self.y_true), part(answer, self.answer)
        more = self._more(y_true, said)
        if self.classes is not None and not self._takes_places():
            wanted = self.classes[wanted]
            said = self.classes[said] if self.answer == "prediction" else said
        return float(self.metric(wanted, said, **more))

    def _more(self, y_true: np.ndarray, said: Any) -> dict[str, Any]:
        """Return the weights of the rows, and the classes of a matrix, where they are taken."""
        more: dict[str, Any] = {}
        weights = part(y_true, "weight")
        if weights is not None and self._takes("sample_weight"):
            more["sample_weight"] = weights
        if self.classes is not None and self.answer == "probability" and self._takes("labels"):
            more["labels"] = self.classes[: said.shape[1]]
        return more

    def _takes(self, name: str) -> bool:
        try:
            return name in signature(self.metric).parameters and name not in _given(self.metric)
        except ValueError:  # of a function in C
            return False

    def _takes_places(self) -> bool:
        """Return whether a metric is the same whatever the classes are called; text is slow."""
        plain = response_of(self.metric) == "decision" and self.classes.dtype.kind == "U"
        # Of two classes by any name there is no positive one here, so scikit-learn has to object.
        named = (
            self._takes("pos_label") and _given(self.metric).get("average", "binary") == "binary"
        )
        return plain and not named and not {*_given(self.metric)} & {"labels", "weights"}

    def applies(self, y_true: np.ndarray, answer: np.ndarray) -> bool:
        """Return whether there is what it reads."""
        return part(y_true, self.y_true) is not None and part(answer, self.answer) is not None


def _given(metric: Score) -> dict[str, Any]:
    return getattr(metric, "keywords", {})


class Queries(Metric):
    """A metric of ranked rows, averaged over queries; one of a single row has no order."""

    def __call__(self, y_true: np.ndarray, answer: np.ndarray) -> float:
        """Return the mean over queries; the metric gets those of equal length as matrices."""
        order = np.argsort(y_true["query"], kind="stable")
        target, scores = y_true["target"][order], answer[order]
        _, starts, lengths = np.unique(
            y_true["query"][order], return_index=True, return_counts=True
        )
        total, count = 0.0, 0
        for length in np.unique(lengths[lengths > 1]):
            rows = starts[lengths == length][:, None] + np.arange(length)
            total += float(self.metric(target[rows], scores[rows])) * len(rows)
            count += len(rows)
        if not count:
            raise ValueError("no query has two rows to order")
        return total / count


def probability_metric(metric: Score) -> Metric:
    """Return a metric of the probabilities of all classes, shape (n_rows, n_classes)."""
    return Metric(metric, answer="probability")


def decision_metric(metric: Score) -> Metric:
    """Return a metric of the classes that are decided for, of a binary task 1 and 0."""
    return Metric(metric, answer="decision")


def of_rows(metric: Score) -> Metric:
    """Return a metric of the rows and their clusters, as `silhouette_score`."""
    return Metric(metric, y_true="row", most=SAMPLE)


def of_embedding(metric: Score) -> Metric:
    """Return a metric of the rows and where they are put, as `trustworthiness`."""
    return Metric(metric, y_true="row", answer="embedding", most=SAMPLE)


def judges(task: Task, classes: Any = None) -> dict[str, Metric]:
    """Return the task's metrics; a plain function reads the target and the prediction.

    One of `sklearn.metrics` reads what its parameters are called after.

    Parameters
    ----------
    task : Task
    classes : numpy.ndarray, optional
        For whose places truth and answer stand; those of a binary task are 1 and 0 to metrics.
    """
    names = classes if task.kind == "multiclass" else None
    return {n: replace(_made(task, m, classes), classes=names) for n, m in task.metrics.items()}


def _made(task: Task, metric: Any, classes: Any) -> Metric:
    """Return a metric that reads what a task of this kind answers."""
    if task.kind == "ranking":
        return metric if isinstance(metric, Metric) else Queries(metric)
    field = _READ.get((task.kind, response_of(metric)), "prediction")
    wrapped = metric if isinstance(metric, Metric) else Metric(metric, answer=field)
    if task.kind == "binary":
        told = _of_one(task, wrapped.metric, classes)
        if wrapped.answer == "probability":
            return replace(wrapped, metric=_of_both(told), answer="prediction")
        return replace(wrapped, metric=told)
    decided = wrapped.answer == "decision"
    return replace(wrapped, answer="prediction") if decided else wrapped


def _of_both(metric: Any) -> Score:
    """Return a metric of the probabilities of both classes that is given that of the positive."""

    @wraps(metric)
    def of_both(y_true: Any, chance: Any, **more: Any) -> float:
        return float(metric(y_true, np.column_stack([1 - chance, chance]), **more))

    return of_both


def _of_one(task: Task, metric: Any, classes: Any) -> Any:
    """Return a metric of two classes that is told the positive one as 1, as the answers have it."""
    if classes is None or "pos_label" not in _given(metric):
        return metric
    asked, positive = _given(metric)["pos_label"], positive_of(task, classes)
    if asked != positive:
        raise ConfigError(
            f"{task.name}: {function_of(metric).__name__} has pos_label={asked!r}, and the task is "
            f"about {positive!r}; leave it out, or set positive= of the task"
        )
    return partial(metric, pos_label=1)


def answer(
    model: Estimator, X: Table, kind: Kind, classes: Any = None, positive: int = 1, *,
    decide: bool = False,
) -> np.ndarray:  # fmt: skip
    """Return what is judged of a fitted model.

    Parameters
    ----------
    model : object
    X : frame or array
    kind : {"binary", "multiclass", "regression", "ranking"}
        The probability of the positive class, or how anomalous a row is; the places of classes
        with the probabilities of all of them, where there are any; a number, or a score to rank
        by.
    classes : numpy.ndarray, optional
        That the model has learnt.
    positive : int, default=1
        Which of them is positive, by place.
    decide : bool, default=False
        Whether the classes of a binary task are wanted too.

    Returns
    -------
    numpy.ndarray, shape (n_rows,)
    """
    if kind == "binary":
        chance = _of_positive(model, X, positive)
        decided = _decided(model, X, chance, classes, positive) if decide else None
        return chance if decided is None else fields(prediction=chance, decision=decided)
    if kind == "multiclass":
        return _of_classes(model, X, classes)
    return np.asarray(model.predict(X))


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
    raise ConfigError(f"{name} gives neither probabilities nor scores of anomaly to judge")


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


def wants_decisions(task: Task) -> bool:
    """Tell whether a metric of a binary task reads classes."""
    return any(each.answer == "decision" for each in judges(task).values())


def fit_answer(model: Estimator, X: Table) -> np.ndarray:
    """Fit a model without a target; return the clusters of its rows, or where it puts them."""
    if hasattr(model, "fit_predict"):
        return np.asarray(model.fit_predict(X))
    return fields(embedding=np.asarray(model.fit_transform(X)))


def judge(
    task: Task, y_true: np.ndarray, answer: np.ndarray, classes: Any = None
) -> dict[str, float]:
    """Return those of the task's metrics that the answer can be judged by.

    Raises
    ------
    DataError
        A metric has no finite value, which a record could hold, or none can be taken.
    """
    every = judges(task, classes).items()
    values = {
        n: _score(n, each, y_true, answer) for n, each in every if each.applies(y_true, answer)
    }
    if not values:
        raise DataError(f"{task.name}: no metric reads {answer.dtype.names}; declare one that does")
    return values


def _score(name: str, each: Metric, y_true: np.ndarray, answer: np.ndarray) -> float:
    what = f"{name} of the {len(y_true)} test rows"
    try:
        value = each(y_true, answer)
    except ValueError as error:
        way = "; decision_metric(...) gives it classes" if "and continuous" in str(error) else ""
        raise DataError(f"{what}: {error}{way}") from error
    except Exception as error:
        raise ConfigError(f"{what}: {describe_fault(error)}") from error
    if not math.isfinite(value):
        those = "them" if part(y_true, "weight") is None else "those of a weight above 0"
        raise DataError(f"{what} is {value}; does the target vary among {those}?")
    return value


def columns(values: np.ndarray, names: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Return flat columns of a truth or an answer, for a file; a matrix gives numbered ones.

    Parameters
    ----------
    values : numpy.ndarray
    names : mapping of str to str
        Field -> name in the file; others are left out.

    Examples
    --------
    >>> both = fields(prediction=[1], probability=[[0.25, 0.75]])
    >>> list(columns(both, {"prediction": "class", "probability": "p"}))
    ['class', 'p_0', 'p_1']
    """
    result: dict[str, np.ndarray] = {}
    for name, called in names.items():
        field = part(values, name)
        if field is None:
            continue
        flat = field if field.ndim == 2 else field[:, None]
        several = {f"{called}_{i}": column for i, column in enumerate(flat.T)}
        result |= several if field.ndim == 2 else {called: field}
    return result
