"""The metrics of a task as scorers of scikit-learn, which know their sign and what they read.

A scorer asks a model. Here it asks an estimator that gives back stored predictions, so that a
metric can be taken of any part of the rows, after the model is gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

import msgspec
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.metaestimators import available_if

from pipeline.errors import ConfigError, close_to

SAMPLE = 2_000
"""Rows of which all pairs of distances are taken."""
_READ = {
    "binary": {"predict", "predict_proba"},
    "multiclass": {"predict", "predict_proba"},
    "regression": {"predict"},
    "ranking": {"predict"},
    "clusters": {"predict", "transform"},
}
"""Kind of task -> methods whose results a run keeps."""
_OTHERS = {
    "binary": {"_regression": "numbers"},
    "multiclass": {"_regression": "numbers"},
    "regression": {"_classification": "classes", "_ranking": "classes"},
    "clusters": {"_classification": "classes", "_regression": "numbers"},
}
"""Kind of task -> modules of `sklearn.metrics` whose functions are for other targets."""


class ScoringInfo(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What there is to know of the metrics of a task beside their values."""

    signs: dict[str, int] = {}
    """Metric -> 1 if more is better, -1 for a loss; left out if that is not known."""
    best: dict[str, float] = {}
    """Metric -> its value for perfect predictions, if it was computed."""
    mute: list[str] = []
    """Ids of the cautions that the task hides."""


class RowScorer:
    """A scorer of rows and what became of them, without a target; higher is better."""

    _sign = 1
    _kwargs: Mapping[str, Any] = {}

    def __init__(self, score_func: Any, response_method: str) -> None:
        self._score_func, self._response_method = score_func, response_method

    def __call__(self, estimator: Any, X: Any, y_true: Any = None) -> float:
        """Return the score of at most `SAMPLE` rows, evenly spaced."""
        result = getattr(estimator, self._response_method)(X)
        rows = np.unique(np.linspace(0, len(X) - 1, min(SAMPLE, len(X))).astype(int))
        return float(self._score_func(X[rows], result[rows]))


def of_rows(metric: Any) -> RowScorer:
    """Return a scorer of the rows and their clusters, as of `silhouette_score`."""
    return RowScorer(metric, "predict")


def of_embedding(metric: Any) -> RowScorer:
    """Return a scorer of the rows and their places on a map, as of `trustworthiness`."""
    return RowScorer(metric, "transform")


class StoredPredictions(BaseEstimator):
    """An estimator that gives back stored predictions, by method, for whatever rows.

    >>> model = StoredPredictions({"predict": np.array([1, 0, 0])}, np.array([0, 1]))
    >>> get_scorer("accuracy")(model, None, [1, 0, 1])
    0.6666666666666666
    """

    def __init__(self, stored: Mapping[str, np.ndarray], classes: Any = None) -> None:
        self.stored, self.classes_ = stored, classes

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.classes_ is not None:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags

    @available_if(lambda self: "predict" in self.stored)
    def predict(self, X: Any) -> np.ndarray:
        """Return the stored predictions."""
        return self.stored["predict"]

    @available_if(lambda self: "predict_proba" in self.stored)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the stored probabilities."""
        return self.stored["predict_proba"]

    @available_if(lambda self: "transform" in self.stored)
    def transform(self, X: Any) -> np.ndarray:
        """Return the stored embedding."""
        return self.stored["transform"]


def scorers_of(task: str, kind: str, metrics: Any) -> dict[str, Any]:
    """Return the scorers of the metrics of a `Task`, each under the name that records show.

    >>> found = scorers_of("taxi", "regression", ["r2", "neg_mean_absolute_error"])
    >>> {name: sign_of(scorer) for name, scorer in found.items()}
    {'r2': 1, 'mean_absolute_error': -1}
    """
    if not isinstance(metrics, Mapping):
        metrics = {str(name).removeprefix("neg_"): name for name in metrics}
    found = {}
    for name, given in metrics.items():
        what = f"{task}: the metric {name!r}"
        found[name] = _scorer_of(what, given)
        _check(what, kind, found[name])
    return found


def sign_of(scorer: Any) -> int:
    """Return 1 where more of a metric is better, -1 of a loss."""
    return int(scorer._sign)


def methods_of(scorer: Any) -> Sequence[str]:
    """Return the methods whose results a scorer reads, the first that a model has."""
    methods = scorer._response_method
    return [methods] if isinstance(methods, str) else [*methods]


def takes(scorer: Any, parameter: str) -> bool:
    """Return whether the function of a scorer has a parameter that is still free."""
    try:
        known = signature(scorer._score_func).parameters
    except ValueError:  # of a function in C
        return False
    return parameter in known and parameter not in scorer._kwargs


def _scorer_of(what: str, given: Any) -> Any:
    if hasattr(given, "_score_func"):
        return given
    if isinstance(given, str):
        if given in get_scorer_names():
            return get_scorer(given)
        close = close_to(given, get_scorer_names())
        guess = f"; did you mean {close!r}?" if close else ""
        raise ConfigError(f"{what} is {given!r}, not a scorer of scikit-learn{guess}")
    for known in map(get_scorer, get_scorer_names()):
        if known._score_func is given:  # whatever average it is known with
            response, sign = known._response_method, known._sign
            return make_scorer(given, response_method=response, greater_is_better=sign > 0)
    name = getattr(given, "__name__", repr(given))
    raise ConfigError(
        f"{what} is {name}, not a scorer; use the name of a scorer of scikit-learn, or "
        f"make_scorer({name}, greater_is_better=..., response_method=...)"
    )


def _check(what: str, kind: str, scorer: Any) -> None:
    """Refuse a scorer that cannot score a kind of task."""
    function, methods = scorer._score_func, methods_of(scorer)
    name = getattr(function, "__name__", repr(function))
    package, _, module = (getattr(function, "__module__", "") or "").rpartition(".")
    other = _OTHERS.get(kind, {}).get(module) if package == "sklearn.metrics" else None
    if other:
        raise ConfigError(f"{what} is {name}, which is for {other}; choose one for kind {kind!r}")
    if isinstance(scorer, RowScorer) and kind != "clusters":
        raise ConfigError(f"{what} is {name}, which reads rows; this needs kind 'clusters'")
    if not _READ[kind] & {*methods}:
        kept = " or ".join(sorted(_READ[kind]))
        raise ConfigError(f"{what} is {name}, which needs {methods[0]}; runs store {kept}")
    average = signature(function).parameters["average"].default if takes(scorer, "average") else ""
    if kind == "multiclass" and scorer._kwargs.get("average", average) == "binary":
        raise ConfigError(f"{what} is {name} for two classes; set average=, such as 'macro'")
