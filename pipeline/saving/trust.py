"""scikit-learn's estimators through skops, held to a list of types that is ours.

What a file may hold is decided by the spec that it is to be the fitted form of: its
classes are walked, and each brings the few types that its fitted state is made of. The
file's own list of types is only ever compared with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from zipfile import BadZipFile

from sklearn.base import BaseEstimator

from pipeline.errors import ConfigError, DataError
from pipeline.optional import load as load_name
from pipeline.rules.tables import XGBOOST

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
    "CalendarFeatures": ("pipeline.preprocessing.calendar.CalendarFeatures",),
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

ALL = sorted({*EVERYWHERE, *(each for types in NEEDS.values() for each in types)})
"""All types on the list, for files of which nobody knows the spec."""


def trusted(spec: BaseEstimator) -> list[str]:
    """Return the types that the fitted form of a spec may hold, sorted.

    >>> from sklearn.ensemble import RandomForestClassifier
    >>> "sklearn.tree._tree.Tree" in trusted(RandomForestClassifier())
    True
    """
    names = {type(part).__name__ for part in _walk(spec)}
    # Those that take any estimator fit a tree where they are given none.
    return sorted({*EVERYWHERE, *(each for name in names for each in NEEDS.get(name, ()))})


def _walk(value: Any) -> Iterator[BaseEstimator]:
    if isinstance(value, BaseEstimator):
        yield value
        yield from _walk(list(value.get_params(deep=False).values()))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _walk(each)


def dumps(fitted: BaseEstimator, spec: BaseEstimator, where: str) -> bytes:
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
        raise ConfigError(f"{where}: {type(spec).__name__} cannot be saved: {error}") from error
    _refuse_strangers(data, spec, where)
    return data


def loads(data: bytes, spec: BaseEstimator, where: str) -> Any:
    """Return the estimator in the bytes of a skops file.

    Raises
    ------
    ConfigError
        The file holds types that the fitted form of the spec is not made of.
    DataError
        The bytes are no such file, or hold another estimator than the spec.
    """
    skops = load_name("skops.io")
    try:
        _refuse_strangers(data, spec, where)
        made = skops.loads(data, trusted=trusted(spec))
    except ConfigError:
        raise
    except Exception as error:  # skops raises whatever the broken file leads it to
        raise DataError(f"{where}: not a model: {_line(error)}") from error
    if type(made) is not type(spec):
        raise DataError(f"{where}: holds {type(made).__name__}, not {type(spec).__name__}")
    return made


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"


def _refuse_strangers(data: bytes, spec: BaseEstimator, where: str) -> None:
    try:
        found = load_name("skops.io").get_untrusted_types(data=data)
    except (BadZipFile, KeyError) as error:
        raise DataError(f"{where}: not a model: {_line(error)}") from error
    strangers = sorted(set(found) - set(trusted(spec)))
    if strangers:
        raise ConfigError(f"{where}: holds types that are not trusted: {strangers}")
