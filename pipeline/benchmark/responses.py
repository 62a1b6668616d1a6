"""What the functions of `sklearn.metrics` read of an answer, and for which kinds of task they are.

The names of their parameters tell, as `response_method` does for a scorer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import signature
from typing import Any

from pipeline.errors import ConfigError

DECISIONS, CHANCES = ("y_pred", "y2"), ("y_score", "y_proba")
"""Names of the parameter that takes classes, and of the one that takes probabilities."""
_OTHERS = {
    "binary": {"_regression": "numbers"},
    "multiclass": {"_regression": "numbers"},
    "regression": {"_classification": "classes", "_ranking": "classes"},
    "clusters": {"_classification": "classes", "_regression": "numbers"},
}
"""Kind of task -> modules of `sklearn.metrics` that judge something else."""


_LOSSES = {"brier", "deviance", "error", "loss", "mae", "mape", "mse", "rmse"}


def metric_words(metric: str) -> list[str]:
    """Return the words of the name of a metric."""
    return re.findall("[a-z0-9]+", metric.lower())


def smaller_is_better(metric: str) -> bool:
    """Tell by its name whether a metric is a loss.

    >>> smaller_is_better("log_loss"), smaller_is_better("roc_auc")
    (True, False)
    """
    words = metric_words(metric)
    return not _LOSSES.isdisjoint(words) and words[-1] != "score"


def check_metric(task: str, kind: str, name: str, metric: Any) -> None:
    """Refuse a metric that cannot judge a kind of task.

    Raises
    ------
    ConfigError
        It is a scorer, reads what no run keeps, is for tasks of another kind, or is called as if
        more were better where less is, or the reverse.
    """
    what, function = f"{task}: the metric {name!r}", function_of(metric)
    if score := getattr(function, "_score_func", None):
        raise ConfigError(f"{what} is a scorer, which takes a model; give {score.__name__} itself")
    if other := _OTHERS.get(kind, {}).get(_module(function)):
        told = f"{what} is {function.__name__}, which judges {other}; kind {kind!r} takes another"
        raise ConfigError(told)
    if _second(function) == "pred_decision":
        told = f"{what} is {function.__name__}, which reads a decision_function"
        raise ConfigError(f"{told}; take a metric of classes or of probabilities")
    if getattr(metric, "y_true", "") == "row" and kind != "clusters":
        raise ConfigError(f"{what} reads rows, which are judged of kind 'clusters' alone")
    less = smaller_is_better(known := getattr(function, "__name__", ""))
    if _module(function) and less != smaller_is_better(name):
        told = f"{what} is {known}, of which {'less' if less else 'more'} is better"
        raise ConfigError(f"{told}, and its name says otherwise; name it {known!r}")


def response_of(metric: Any) -> str:
    """Return what a function of `sklearn.metrics` reads; nothing for another's.

    >>> from sklearn.metrics import f1_score, log_loss
    >>> response_of(f1_score), response_of(log_loss), response_of(max)
    ('decision', 'chance', '')
    """
    second = _second(function_of(metric))
    return "decision" if second in DECISIONS else "chance" if second in CHANCES else ""


def function_of(metric: Any) -> Any:
    """Return the function of a metric, without its parameters."""
    metric = getattr(metric, "metric", metric)
    return getattr(metric, "func", metric)


def _module(function: Callable[..., Any]) -> str:
    package, _, name = (getattr(function, "__module__", "") or "").rpartition(".")
    return name if package == "sklearn.metrics" else ""


def _second(function: Callable[..., Any]) -> str:
    """Return the name of the parameter that takes the answer, of a metric of classes."""
    if _module(function) not in ("_classification", "_ranking"):
        return ""
    return [*signature(function).parameters][1]
