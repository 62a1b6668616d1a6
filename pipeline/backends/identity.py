"""A digest of everything that decides what an estimator learns from the same rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from inspect import isclass, signature
from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import BaseCrossValidator, BaseShuffleSplit

from pipeline.errors import PipelineError

_LIBRARIES = ("builtins", "math", "numpy", "operator", "pandas", "pipeline", "re", "scipy",
              "sklearn", "xgboost")  # fmt: skip


class NotShared(PipelineError):
    """An estimator may learn something else with the same parameters; the message says why."""


def identify(value: Any, path: str = "") -> str:
    """Return a digest that two values share only if a fit cannot distinguish them.

    The values are estimators, parameters, and sequences and mappings of them; `path` is what they
    are called in messages. `NotShared` if an estimator is fitted, or has a random state that is not
    an integer, or your own code, which may change.

    >>> from sklearn.decomposition import TruncatedSVD
    >>> from sklearn.preprocessing import StandardScaler
    >>> identify(StandardScaler()) == identify(StandardScaler(with_std=True))
    True
    >>> identify(TruncatedSVD(), "svd")
    Traceback (most recent call last):
    pipeline.backends.identity.NotShared: svd.random_state=None is not a seed; pass an integer
    """
    _check(value, path)
    return str(joblib.hash(clone(value, safe=False)))


def _check(value: Any, path: str) -> None:
    """Reject what may change, or draw other numbers, between two fits."""
    if isinstance(value, BaseEstimator):
        if any(name.endswith("_") and name[:1] != "_" for name in vars(value)):
            raise NotShared(f"{path or type(value).__name__} is already fitted")
        _check_params(value.get_params(deep=False), path)
    elif isinstance(value, BaseCrossValidator | BaseShuffleSplit):
        if getattr(value, "shuffle", isinstance(value, BaseShuffleSplit)):
            _check_params(vars(value), path)
    elif isinstance(value, Mapping):
        for name, each in value.items():
            _check(each, f"{path}[{name!r}]")
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            step = isinstance(each, tuple) and each and isinstance(each[0], str)
            _check(each, f"{path}.{each[0]}" if step else path)
        return
    elif isinstance(value, partial | Iterator):
        raise NotShared(f"{path} holds a {type(value).__name__}, which may change")
    _check_code(value, path)


def _check_params(params: Mapping[str, Any], path: str) -> None:
    for name, value in params.items():
        if name == "random_state" and not isinstance(value, int | np.integer | str):
            raise NotShared(f"{path}.{name}={value!r} is not a seed; pass an integer")
        if name == "cv" and "shuffle" in params and not hasattr(value, "split"):
            folds = "StratifiedKFold(5, shuffle=True, random_state=0)"
            raise NotShared(f"{path}.cv={value!r} draws random folds; pass {folds}")
        _check(value, f"{path}.{name}")


def _check_code(value: Any, path: str) -> None:
    """Reject functions and classes of the user, and functions that draw numbers."""
    if isinstance(value, np.ufunc):
        return
    code = value if isclass(value) or hasattr(value, "__name__") else type(value)
    name = getattr(code, "__qualname__", code.__name__)
    module = str(getattr(code, "__module__", None) or "numpy")
    if module.partition(".")[0] not in _LIBRARIES or "<lambda>" in name:
        raise NotShared(f"{path}: {name} is your own code, which may change")
    with suppress(TypeError, ValueError):  # of C, which has no signature
        if not isclass(code) and re.search(r"\brandom_state\b", str(signature(code))):
            raise NotShared(f"{path}: {name} draws numbers without a seed")
