"""The closed list of what a model file may name: estimators, splitters and functions.

A name in a file is looked up here and nowhere else. Nothing on the list does anything
when it is made but keep its parameters.


scikit-learn's estimators through skops, held to a list of types that is ours.

What a file may hold is decided by the estimator that it is to be the fitted form of: its
classes are walked, and each brings the few types that its fitted state is made of. The
file's own list of types is only ever compared with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any
from zipfile import BadZipFile

import numpy as np
from sklearn import feature_selection, model_selection
from sklearn.base import BaseEstimator

from pipeline.backends.cuml.tables import XGBOOST, public_name
from pipeline.errors import ConfigError, DataError
from pipeline.optional import load
from pipeline.optional import load as load_name
from pipeline.typing import Array

_PUBLIC = re.compile(r"sklearn(\.[a-z][a-z0-9_]*){1,2}\.[A-Z][A-Za-z0-9]*")
_NO_ESTIMATORS = ("sklearn.datasets", "sklearn.experimental", "sklearn.externals", "sklearn.tests")
OWN = ("pipeline.preprocessing.transformers.calendar.CalendarFeatures",)
MOVED = {"pipeline.preprocessing.calendar.CalendarFeatures": OWN[0]}
"""What files of earlier versions call them."""
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
    name = MOVED.get(name, name)
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


def name_of_function(value: Array) -> str | None:
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


def name_of_type(value: Array) -> str | None:
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


_TREE = ("sklearn.tree._tree.Tree",)
_NEIGHBOURS = (
    *(f"sklearn.metrics._dist_metrics.{n}Distance64" for n in ("Euclidean", "Manhattan")),
    *(f"sklearn.metrics._dist_metrics.{n}Distance64" for n in ("Minkowski", "Chebyshev")),
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
)
_BOOSTER = ("xgboost.core.Booster", *(f"xgboost.sklearn.{name}" for name in XGBOOST))
_SPARSE = ("scipy.sparse._csr.csr_matrix", "scipy.sparse._csr.csr_array")
_SPLINES = (
    "scipy._lib.array_api_compat.numpy._aliases.asarray",
    "scipy.interpolate._bsplines.BSpline",
)
EVERYWHERE = ("datetime.date", "numpy.dtype", "sklearn.utils._bunch.Bunch", *_SPARSE)
"""Types without behaviour that any estimator may hold."""

NEEDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            *("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier"),
            *("ExtraTreeRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor"),
            *("GradientBoostingClassifier", "GradientBoostingRegressor", "IsolationForest"),
            *("RandomForestClassifier", "RandomForestRegressor", "RandomTreesEmbedding"),
            *("AdaBoostClassifier", "AdaBoostRegressor", "BaggingClassifier", "BaggingRegressor"),
        ),
        _TREE,
    ),
    **dict.fromkeys(
        (
            *("KNeighborsClassifier", "KNeighborsRegressor", "KNeighborsTransformer"),
            *("KernelDensity", "LocalOutlierFactor", "NearestNeighbors", "Isomap"),
            *("LocallyLinearEmbedding", "RadiusNeighborsClassifier", "RadiusNeighborsRegressor"),
            *("RadiusNeighborsTransformer", "KNNImputer"),
        ),
        _NEIGHBOURS,
    ),
    **dict.fromkeys(
        ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
        (
            "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
            "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        ),
    ),
    **dict.fromkeys(
        ("MLPClassifier", "MLPRegressor"),
        (
            "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
            "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        ),
    ),
    **dict.fromkeys(
        ("SelectKBest", "SelectPercentile", "SelectFdr", "SelectFpr", "SelectFwe"),
        tuple(
            f"sklearn.feature_selection._univariate_selection.{name}"
            for name in ("chi2", "f_classif", "f_regression")
        ),
    ),
    "BisectingKMeans": (
        "sklearn.cluster._bisect_k_means._BisectingTree",
        "sklearn.cluster._kmeans._kmeans_single_lloyd",
    ),
    "CalendarFeatures": ("pipeline.preprocessing.transformers.calendar.CalendarFeatures",),
    "CalibratedClassifierCV": (
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
    ),
    "SplineTransformer": _SPLINES,
    "StackingClassifier": ("sklearn.model_selection._split.StratifiedKFold",),
    "StackingRegressor": ("sklearn.model_selection._split.KFold",),
    "TargetEncoder": (
        "sklearn.model_selection._split.KFold",
        "sklearn.model_selection._split.StratifiedKFold",
    ),
    "TweedieRegressor": ("sklearn._loss.loss.HalfTweedieLossIdentity",),
    **dict.fromkeys(XGBOOST, _BOOSTER),
}
"""Estimator -> types of its fitted state beyond scikit-learn's public ones."""


def trusted(estimator: BaseEstimator) -> list[str]:
    """Return the types that the fitted form of an estimator may hold, sorted.

    >>> from sklearn.ensemble import RandomForestClassifier
    >>> "sklearn.tree._tree.Tree" in trusted(RandomForestClassifier())
    True
    """
    names = {type(part).__name__ for part in _walk(estimator)}
    # Those that take any estimator fit a tree where they are given none.
    return sorted({*EVERYWHERE, *(each for name in names for each in NEEDS.get(name, ()))})


def _walk(value: Array) -> Iterator[BaseEstimator]:
    if isinstance(value, BaseEstimator):
        yield value
        yield from _walk(list(value.get_params(deep=False).values()))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _walk(each)


def dumps(fitted: BaseEstimator, estimator: BaseEstimator, where: str) -> bytes:
    """Return a fitted estimator as the bytes of a skops file.

    Raises
    ------
    ConfigError
        It holds types that could not be loaded again.
    """
    skops = load_name("skops.io")
    refused = load_name("skops.io.exceptions.UnsupportedTypeException")
    try:
        data: bytes = skops.dumps(fitted)
    except (refused, TypeError, ValueError) as error:
        raise ConfigError(
            f"{where}: {type(estimator).__name__} cannot be saved: {error}"
        ) from error
    _refuse_strangers(data, estimator, where)
    return data


def loads(data: bytes, estimator: BaseEstimator, where: str) -> Any:
    """Return the estimator in the bytes of a skops file.

    Raises
    ------
    ConfigError
        The file holds types that the fitted form of the estimator is not made of.
    DataError
        The bytes are no such file, or hold another estimator than the estimator.
    """
    skops = load_name("skops.io")
    try:
        _refuse_strangers(data, estimator, where)
        made = skops.loads(data, trusted=trusted(estimator))
    except ConfigError:
        raise
    except Exception as error:  # skops raises whatever the broken file leads it to
        raise DataError(f"{where}: not a model: {_line(error)}") from error
    if type(made) is not type(estimator):
        raise DataError(f"{where}: holds {type(made).__name__}, not {type(estimator).__name__}")
    return made


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"


def _refuse_strangers(data: bytes, estimator: BaseEstimator, where: str) -> None:
    try:
        found = load_name("skops.io").get_untrusted_types(data=data)
    except (BadZipFile, KeyError) as error:
        raise DataError(f"{where}: not a model: {_line(error)}") from error
    strangers = sorted(set(found) - set(trusted(estimator)))
    if strangers:
        raise ConfigError(f"{where}: holds types that are not trusted: {strangers}")
