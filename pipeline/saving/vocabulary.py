"""The closed list of what a model file may name: estimators, splitters and functions.

A name in a file is looked up here and nowhere else. Nothing on the list does anything
when it is made but keep its parameters.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import numpy as np
from sklearn import feature_selection, model_selection
from sklearn.base import BaseEstimator

from pipeline.errors import DataError
from pipeline.optional import load
from pipeline.rules.tables import XGBOOST, public_name

_PUBLIC = re.compile(r"sklearn(\.[a-z][a-z0-9_]*){1,2}\.[A-Z][A-Za-z0-9]*")
_NO_ESTIMATORS = ("sklearn.datasets", "sklearn.experimental", "sklearn.externals", "sklearn.tests")
OWN = ("pipeline.preprocessing.calendar.CalendarFeatures",)
"""Our own transformers."""

SPLITTERS = (
    "GroupKFold",
    "KFold",
    "LeaveOneOut",
    "RepeatedKFold",
    "RepeatedStratifiedKFold",
    "ShuffleSplit",
    "StratifiedGroupKFold",
    "StratifiedKFold",
    "StratifiedShuffleSplit",
    "TimeSeriesSplit",
)
"""Classes of `sklearn.model_selection` that cut rows; their state is their parameters."""

SCORES = ("chi2", "f_classif", "f_regression", "mutual_info_classif", "mutual_info_regression")
"""Functions of `sklearn.feature_selection`."""

BUILTINS = {kind.__name__: kind for kind in (bool, float, int, object, str)}


def estimator(name: str) -> type[BaseEstimator]:
    """Return the class of an estimator by its public name.

    Raises
    ------
    DataError
        It is no public estimator of scikit-learn, XGBoost or this package.

    Examples
    --------
    >>> estimator("sklearn.linear_model.Ridge").__name__
    'Ridge'
    >>> estimator("os.system")
    Traceback (most recent call last):
    pipeline.errors.DataError: 'os.system' is no estimator that a model file may name
    """
    module, _, short = name.rpartition(".")
    known = (
        name in OWN
        or (module == "xgboost.sklearn" and short in XGBOOST)
        or (_PUBLIC.fullmatch(name) is not None and not module.startswith(_NO_ESTIMATORS))
    )
    found = _imported(module, short) if known else None
    if not _is_public(found, name):
        raise DataError(f"{name!r} is no estimator that a model file may name")
    return found  # type: ignore[return-value]


def _imported(module: str, name: str) -> object:
    try:
        return vars(import_module(module)).get(name)
    except ImportError:
        return None


def _is_public(found: object, name: str) -> bool:
    return isinstance(found, type) and issubclass(found, BaseEstimator) and _name(found) == name


def _name(kind: type) -> str:
    return f"{kind.__module__.partition('._')[0]}.{kind.__name__}"


def name_of(value: BaseEstimator) -> str | None:
    """Return the public name of an estimator, None where it is not on the list."""
    try:
        return public_name(value) if estimator(public_name(value)) is type(value) else None
    except DataError:
        return None


def splitter(name: str) -> type:
    """Return the class of a splitter of rows.

    Raises
    ------
    DataError
        It is not in `SPLITTERS`.
    """
    if name not in SPLITTERS:
        raise DataError(f"{name!r} is no splitter that a model file may name")
    kind: type = getattr(model_selection, name)
    return kind


def function(name: str) -> Any:
    """Return a function by its name: a ufunc of NumPy or SciPy, or one of `SCORES`.

    Raises
    ------
    DataError
        There is none of this name on the list.
    """
    library, _, short = name.partition(":")
    found: Any = None
    if library == "score" and short in SCORES:
        return getattr(feature_selection, short)
    if library in ("numpy", "scipy.special") and re.fullmatch(r"[a-z]\w*", short):
        found = getattr(np if library == "numpy" else load("scipy.special"), short, None)
    if not isinstance(found, np.ufunc):
        raise DataError(f"{name!r} is no function that a model file may name")
    return found


def name_of_function(value: Any) -> str | None:
    """Return the name that `function` takes, None where a function is not on the list.

    >>> name_of_function(np.log1p), name_of_function(print)
    ('numpy:log1p', None)
    """
    short = getattr(value, "__name__", "")
    for library in ("score", "numpy", "scipy.special"):
        try:
            if function(f"{library}:{short}") is value:
                return f"{library}:{short}"
        except DataError:
            continue
    return None


def scalar_type(name: str) -> type:
    """Return a type of numbers by its name, as ``"float32"`` of NumPy or ``"int"`` of Python.

    Raises
    ------
    DataError
        There is none of this name.
    """
    library, _, short = name.partition(":")
    found = BUILTINS.get(short) if library == "python" else None
    if library == "numpy" and re.fullmatch(r"[a-z]\w*", short):
        found = getattr(np, short, None)
    if not isinstance(found, type) or (library == "numpy" and not issubclass(found, np.generic)):
        raise DataError(f"{name!r} is no type of numbers that a model file may name")
    return found


def name_of_type(value: Any) -> str | None:
    """Return the name that `scalar_type` takes, None for other types.

    >>> name_of_type(np.float32), name_of_type(int), name_of_type(dict)
    ('numpy:float32', 'python:int', None)
    """
    if not isinstance(value, type):
        return None
    name = value.__name__
    if BUILTINS.get(name) is value:
        return f"python:{name}"
    known = issubclass(value, np.generic) and getattr(np, name, None) is value
    return f"numpy:{name}" if known else None
