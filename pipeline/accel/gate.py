"""Whether a call is worth the engine, and whether it may run there, without importing it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from pipeline.accel.adopted import SETTINGS, vars_of
from pipeline.typing import Estimator, Table, Target

MIN_SIZE = 200_000
"""Values of a table, rows × columns, below which plain scikit-learn runs."""
OWNERS = ("sklearn", "xgboost")
HELD = {
    "ColumnTransformer": "transformers",
    "FeatureUnion": "transformer_list",
    "Pipeline": "steps",
}
TARGETS = ("LabelBinarizer", "LabelEncoder", "MultiLabelBinarizer")
ENCODERS = frozenset({"OneHotEncoder", "OrdinalEncoder", "TargetEncoder"})
"""What the engine runs faster on the CPU from `MIN_SIZE` on (docs/benchmarks.md)."""
NUMERIC = frozenset(
    (
        *("CalendarFeatures", "FunctionTransformer", "KBinsDiscretizer", "MaxAbsScaler"),
        *("MinMaxScaler", "Normalizer", "PolynomialFeatures", "PowerTransformer"),
        *("QuantileTransformer", "RobustScaler", "SelectFdr", "SelectFpr", "SelectFwe"),
        *("SelectKBest", "SelectPercentile", "SimpleImputer", "StandardScaler"),
        "VarianceThreshold",
    )
)
"""What else the engine runs itself; on the CPU that pays for large tables."""
LARGE = 5_000_000
"""Assumed: in docs/benchmarks.md, they are slower at 500,000 and faster at 5,000,000 values."""


def count_values(X: Table) -> int:
    """Return the number of values of a table, the non-zero ones of a sparse one.

    >>> count_values([[1, 2], [3, 4]]), count_values(np.zeros((3, 5))), count_values(None)
    (2, 15, 0)
    """
    if (n_values := getattr(X, "nnz", None)) is not None:
        return int(n_values)
    shape = getattr(X, "shape", None)
    if shape is not None:
        return math.prod(shape[:2])
    return len(X) if isinstance(X, list | tuple) else 0


def pays_on_cpu(estimator: Estimator, n_values: int) -> bool:
    """Return whether the engine would be faster on the CPU for a table of so many values.

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> scaled = make_pipeline(StandardScaler(), Ridge())
    >>> pays_on_cpu(Ridge(), LARGE), pays_on_cpu(scaled, LARGE), pays_on_cpu(scaled, MIN_SIZE)
    (False, True, False)
    """
    inner = vars_of(estimator).get("estimator")  # of a search
    whole = inner if type(inner).__name__ in HELD else estimator
    kinds = {type(part).__name__ for part in leaves(whole)}
    return bool(kinds & ENCODERS or (n_values >= LARGE and kinds & NUMERIC))


def leaves(estimator: Estimator) -> Iterator[Any]:
    """Yield the steps of pipelines and the branches of unions, or the estimator itself."""
    held = HELD.get(type(estimator).__name__)
    for each in getattr(estimator, held) if held else ():
        yield from leaves(each[1])
    if not held:
        yield estimator


def obstacle(estimator: BaseEstimator, X: Table, y: Target = None) -> str:
    """Return what scikit-learn itself has to run; empty if nothing has.

    >>> from sklearn.linear_model import SGDClassifier
    >>> obstacle(SGDClassifier(warm_start=True), np.ones((1, 1)))
    'warm_start=True'
    >>> obstacle(SGDClassifier(), np.ones((1, 1)))
    ''
    """
    if type(estimator).__name__ in TARGETS:
        return "it transforms the target"
    if isinstance(X, Iterator):
        return "X can be read only once"
    dtype = getattr(y, "dtype", None)
    nullable = getattr(dtype, "kind", "") in ("i", "u", "b") and not isinstance(dtype, np.dtype)
    if nullable and is_classifier(estimator):
        return f"its classes are floats, because y is of type {dtype}"
    if isinstance(X, list | tuple) and not (X and isinstance(X[0], str)):
        return "X is a list"
    functions = any(type(part).__name__ == "FunctionTransformer" for part in leaves(estimator))
    if functions and type(X).__module__.startswith("polars."):
        return "a function of yours is to get a Polars frame"
    params = [("", estimator), *estimator.get_params(deep=True).items()]
    return next(filter(None, (_obstacle(name, value) for name, value in params)), "")


def _obstacle(name: str, value: Any) -> str:
    last = name.rpartition("__")[2]
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return f"{name} is a generator, which advances"
    if isinstance(value, Iterator):
        return f"{name} can be read only once"
    if last in ("warm_start", "prefit") and value is True:
        return f"{name}=True"
    if last.startswith("copy") and value is False:
        return f"{name}=False may change the table"
    if last == "memory" and value is not None:
        return f"{name} keeps fitted steps"
    if (last == "cv" and isinstance(value, str)) or type(value).__name__ == "FrozenEstimator":
        return f"{name} is fitted already"
    if not hasattr(value, "get_params") or isinstance(value, type):
        return ""
    known = type(value).__module__.startswith((*OWNERS, "pipeline."))
    name = name or type(value).__name__
    if not known or not isinstance(value, BaseEstimator):
        return f"{name} is of another package, or of your own"
    own = vars_of(value)
    if "_skl_callbacks" in own:
        return f"{name} has callbacks"
    others = own.keys() - {*value._get_param_names(), *SETTINGS}
    replaced = [each for each in others if hasattr(type(value), each)]
    plain = type(value).__module__.startswith("sklearn.")
    return f"{name} has a {replaced[0]} of your own" if replaced and plain else ""
