"""What decides on what an estimator learns from the same rows, as one digest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from inspect import signature
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator, BaseShuffleSplit

from pipeline.data.output import container
from pipeline.errors import PipelineError
from pipeline.typing import Estimator

_PLAIN: tuple[type, ...] = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    np.generic,
    np.dtype,
    range,
    slice,
)
_PLAIN += (re.Pattern, pd.Index, pd.Series)
_LIBRARIES = ("builtins", "math", "numpy", "operator", "pandas", "pipeline", "scipy", "sklearn",
              "xgboost")  # fmt: skip


class NotShared(PipelineError):
    """What an estimator learns may differ though its parameters do not; the message says why."""


def identify(value: Any, path: str = "") -> str:
    """Return a digest that two values have in common only if a fit cannot tell them apart.

    Parameters
    ----------
    value : object
        Estimators, parameters, and sequences and mappings of them.
    path : str
        What it is called in messages.

    Raises
    ------
    NotShared
        An estimator has a random state that is no integer, is fitted, or holds code of your own,
        which may change.

    Examples
    --------
    >>> from sklearn.decomposition import TruncatedSVD
    >>> from sklearn.preprocessing import StandardScaler
    >>> identify(StandardScaler()) == identify(StandardScaler(with_std=True))
    True
    >>> identify(TruncatedSVD(), "svd")
    Traceback (most recent call last):
    pipeline.backends.identity.NotShared: svd.random_state=None is no seed; pass a number
    """
    return str(joblib.hash(_facts(value, path)))


def identify_if_known(value: Any) -> str | None:
    """Return the digest of a value; None where it may differ though it looks the same.

    >>> identify_if_known([iter([1])]) is None
    True
    """
    try:
        return identify(value)
    except NotShared:
        return None


def _facts(value: Any, path: str) -> Any:
    """Return a value as plain data that decide."""
    kind = type(value)
    if isinstance(value, _PLAIN):
        return kind.__name__, repr(value) if isinstance(value, re.Pattern) else value
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value
    if isinstance(value, list | tuple | np.ndarray):
        return kind.__name__, [*_items(list(value), path)]
    if isinstance(value, set | frozenset):
        return kind.__name__, sorted(identify(each, path) for each in value)
    if isinstance(value, Mapping):
        pairs = value.items()
        return "mapping", [(_facts(k, path), _facts(v, f"{path}[{k!r}]")) for k, v in pairs]
    if isinstance(value, BaseEstimator):
        return _code(kind, path), container(value), _named(_params(value, path), path)
    if isinstance(value, BaseCrossValidator | BaseShuffleSplit):
        draws = getattr(value, "shuffle", isinstance(value, BaseShuffleSplit))
        kept = {k: v for k, v in vars(value).items() if draws or k != "random_state"}
        return _code(kind, path), _named(kept, path)
    if isinstance(value, partial):
        inside = [value.args, value.keywords]
        return _function(value.func, path, value.keywords), _facts(inside, path)
    if isinstance(value, type):
        return _code(value, path)
    if callable(value) and hasattr(value, "__name__"):
        return _function(value, path, {})
    if _of_library(kind) and hasattr(value, "__dict__"):
        return _code(kind, path), _named(vars(value), path)
    raise NotShared(f"{path} holds a {kind.__name__}, which may change")


def _items(values: list[Any], path: str) -> Iterator[Any]:
    for i, each in enumerate(values):
        if isinstance(each, tuple) and each and isinstance(each[0], str):  # a step
            yield "step", [_facts(part, f"{path}.{each[0]}") for part in each]
        else:
            yield _facts(each, f"{path}[{i}]")


def _params(value: Estimator, path: str) -> Mapping[str, Any]:
    if any(name.endswith("_") and name[:1] != "_" for name in vars(value)):
        raise NotShared(f"{path or type(value).__name__} is fitted, which its parameters hide")
    params: Mapping[str, Any] = value.get_params(deep=False)
    return params


def _named(values: Mapping[str, Any], path: str) -> list[Any]:
    for name, value in values.items():
        if name == "random_state" and not isinstance(value, int | np.integer | str):
            raise NotShared(f"{path}.{name}={value!r} is no seed; pass a number")
        if name == "cv" and "shuffle" in values and not hasattr(value, "split"):
            raise NotShared(
                f"{path}.cv={value!r} draws folds without a seed; pass StratifiedKFold("
                "5, shuffle=True, random_state=0)"
            )
    return [(name, _facts(value, f"{path}.{name}")) for name, value in sorted(values.items())]


def _function(value: Any, path: str, given: Mapping[str, Any]) -> Any:
    known = _code(value, path)
    if "random_state" in _parameters(value) and given.get("random_state") is None:
        raise NotShared(
            f"{path}: {value.__name__} draws numbers; pass functools.partial("
            f"{value.__name__}, random_state=0)"
        )
    return known


def _code(value: Any, path: str) -> str:
    """Return the name of a class or function of a library, which does not change."""
    name = getattr(value, "__qualname__", value.__name__)
    if not _of_library(value):
        raise NotShared(f"{path}: {name} is code of your own, which may change")
    return f"{getattr(value, '__module__', 'numpy')}.{name}"


def _of_library(value: Any) -> bool:
    module = str(getattr(value, "__module__", None)).partition(".")[0]
    named = "<lambda>" not in getattr(value, "__qualname__", "")
    return (module in _LIBRARIES and named) or isinstance(value, np.ufunc)


def _parameters(function: Any) -> Mapping[str, Any]:
    try:
        return signature(function).parameters
    except (TypeError, ValueError):  # of C
        return {}
