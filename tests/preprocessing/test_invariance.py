"""Fitted attributes do not depend on how rows are cut, nor on the order of merging."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import (
    VarianceThreshold,
)
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from pipeline.preprocessing.engine.blocks import Unread, holds_others
from pipeline.preprocessing.engine.table import Part, Table
from pipeline.preprocessing.engine.twin import Twin
from pipeline.preprocessing.transformers import TWINS
from pipeline.preprocessing.transformers.calendar import CalendarFeatures
from pipeline.preprocessing.transformers.feature_selection import UnivariateTwin
from tests.names import one_in

ROWS = 256
RTOL = 1e-12
FLAT = 1e-5
"""Of what an optimiser finds: rounding moves the place where it stops."""
ROUNDING = 1e-30
"""Of a variance that is zero: the square of the last digits of 0.1, and some."""

_rng = np.random.default_rng(0)
_hole = _rng.random(ROWS) < 0.3
_real = _rng.normal(3, 7, ROWS)
_few = _rng.choice(["b", "a", "Zé", "日本", ""], ROWS, p=[0.5, 0.3, 0.1, 0.08, 0.02])
_score = _real + _rng.normal(0, 5, ROWS)

NUMBERS = pd.DataFrame(
    {
        "real": _real,
        "small beside a large offset": 1e9 + _rng.normal(size=ROWS),
        "tiny beside a large offset": -1e9 - 1e-3 * _rng.random(ROWS),
        "tiny": 1e-9 * _rng.random(ROWS),
        "skewed": np.exp(_rng.normal(size=ROWS)),
        "constant": 0.1,
        "int": _rng.integers(-4, 9, ROWS),
        "large int": 10**9 + _rng.integers(0, 9, ROWS),
    }
)
VARIED = NUMBERS.drop(columns="constant")
WIDE = VARIED.drop(columns="tiny")
HOLES = VARIED.mask(_rng.random(VARIED.shape) < 0.3).assign(
    rare=np.where(np.arange(ROWS) == 99, 5.0, np.nan)
)
POSITIVE = NUMBERS[["tiny", "skewed"]].assign(offset=10 + _rng.random(ROWS))
CATEGORIES = pd.DataFrame(
    {
        "few": _few,
        "many": [f"town {i:03}" for i in _rng.zipf(1.5, ROWS) % 200],
        "declared": pd.Categorical(_few, ["日本", "x", "b", "Zé", "", "a"]),
        "int": _rng.integers(0, 5, ROWS),
    }
)
TEXT = CATEGORIES[["few", "many"]].mask(_rng.random((ROWS, 2)) < 0.3)

DATES = pd.DataFrame({"t": _rng.integers(0, 2**60, ROWS).view("datetime64[ns]")})

BINARY = (_score > 3).astype("int64")
THREE = np.array(["x", "y", "z"])[np.digitize(_score, [-2, 8])]


class Case(NamedTuple):
    """An estimator, what it is fitted on, and how near its attributes come if the order changes."""

    estimator: Any
    X: pd.DataFrame
    y: Any = None
    rtol: float = RTOL


UNKNOWN = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
CASES = {
    "binarizer": Case(Binarizer(), NUMBERS),
    "bins of equal width": Case(KBinsDiscretizer(4, strategy="uniform"), NUMBERS),
    "bins of equal weight": Case(KBinsDiscretizer([3, 4, 2, 5, 3, 4]), WIDE),
    "bins by another method": Case(KBinsDiscretizer(3, quantile_method="hazen"), WIDE),
    "calendar": Case(CalendarFeatures(cyclical=True), DATES),
    "function": Case(FunctionTransformer(np.log1p), NUMBERS),
    "largest": Case(MaxAbsScaler(), NUMBERS),
    "least and greatest": Case(MinMaxScaler(), HOLES),
    "missing": Case(MissingIndicator(), HOLES),
    "norm": Case(Normalizer(), NUMBERS),
    "one-hot": Case(OneHotEncoder(), CATEGORIES),
    "one-hot, infrequent together": Case(OneHotEncoder(min_frequency=9), CATEGORIES),
    "one-hot, few kept": Case(OneHotEncoder(max_categories=4, drop="first"), CATEGORIES),
    "ordinal": Case(OrdinalEncoder(encoded_missing_value=-2), TEXT),
    "ordinal, infrequent together": Case(OrdinalEncoder(max_categories=3, **UNKNOWN), TEXT),
    "products": Case(PolynomialFeatures(), NUMBERS),
    "power": Case(PowerTransformer(), NUMBERS[["real", "skewed", "int"]], rtol=FLAT),
    "power with holes": Case(PowerTransformer(), HOLES[["real", "skewed", "int"]], rtol=FLAT),
    "power of positives": Case(PowerTransformer(method="box-cox"), POSITIVE, rtol=FLAT),
    "quantiles": Case(QuantileTransformer(n_quantiles=50), HOLES),
    "between quartiles": Case(RobustScaler(unit_variance=True), HOLES),
    "mean": Case(SimpleImputer(add_indicator=True), HOLES),
    "median": Case(SimpleImputer(strategy="median"), HOLES),
    "most frequent number": Case(SimpleImputer(strategy="most_frequent"), HOLES.round()),
    "most frequent text": Case(SimpleImputer(strategy="most_frequent"), TEXT),
    "constant": Case(SimpleImputer(strategy="constant", fill_value=0.5), HOLES),
    "standard": Case(StandardScaler(), NUMBERS),
    "standard with holes": Case(StandardScaler(), HOLES),
    "target of two classes": Case(TargetEncoder(shuffle=False), CATEGORIES, BINARY),
    "target of three classes": Case(TargetEncoder(shuffle=False), TEXT, THREE),
    "target of numbers": Case(TargetEncoder(shuffle=False), TEXT, _score),
    "target beside an offset": Case(TargetEncoder(shuffle=False), TEXT, 1e9 + _score),
    "variance": Case(VarianceThreshold(0.5), HOLES),
    "more than one value": Case(VarianceThreshold(), NUMBERS),
}


def pieces(n_parts: int) -> list[slice]:
    """Cut the rows into pieces of any length, in any order; some have one row."""
    rng = np.random.default_rng(n_parts)
    edges = np.sort(rng.choice(np.arange(1, ROWS), n_parts - 1, replace=False))
    cuts = zip([0, *edges.tolist()], [*edges.tolist(), ROWS], strict=True)
    found = [slice(start, stop) for start, stop in cuts]
    return [found[i] for i in rng.permutation(n_parts)]


def in_turn(merge: Callable[[Any, Any], Any], stats: list[Any]) -> Any:
    return reduce(merge, stats)


def as_tree(merge: Callable[[Any, Any], Any], stats: list[Any]) -> Any:
    while len(stats) > 1:
        stats = [reduce(merge, stats[i : i + 2]) for i in range(0, len(stats), 2)]
    return stats[0]


def fit(case: Case, parts: list[slice], merging: Callable[..., Any] = in_turn) -> Twin[Any]:
    """Fit a twin on tables of its own for each part, so that each has dictionaries of its own."""
    twin = TWINS[type(case.estimator)](case.estimator)
    names = twin.names = list(case.X.columns)
    form = twin.form(lambda: not holds_others(Unread(names), case.X))
    aligned = twin.aligned(case.y)
    stats = []
    for rows in parts:
        X = case.X[rows].reset_index(drop=True)
        block = Part(Table(X), slice(0, len(X))).read(names, form)
        stats.append(twin.statistics(block, *(array[rows] for array in aligned)))
    twin.finalize(merging(twin.merge, stats))
    return twin


def assert_same(ours: Any, theirs: Any, path: str, rtol: float = RTOL) -> None:
    """Compare all that can be reached, numbers to the last digits and the rest exactly."""
    assert type(ours) is type(theirs), path
    if isinstance(theirs, np.ndarray):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), path
        if theirs.dtype.kind == "f":
            np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=ROUNDING, err_msg=path)
        else:
            assert_same(ours.ravel().tolist(), theirs.ravel().tolist(), path, rtol)
    elif isinstance(theirs, float):
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=ROUNDING, err_msg=path)
    elif isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs), path
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(a, b, f"{path}[{i}]", rtol)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs), path
        for name, value in theirs.items():
            assert_same(ours[name], value, f"{path}.{name}", rtol)
    elif hasattr(theirs, "__dict__") and not isinstance(theirs, type | ModuleType | np.ufunc):
        assert_same(vars(ours), vars(theirs), path, rtol)
    else:
        assert repr(ours) == repr(theirs), path


def test_every_twin_is_in_the_table() -> None:
    univariate = {twin for twin in TWINS if issubclass(TWINS[twin], UnivariateTwin)}
    assert {type(case.estimator) for case in CASES.values()} == set(TWINS) - univariate


@pytest.mark.quick(14)
@pytest.mark.filterwarnings("ignore:Feature.* constant", "ignore:invalid value .* in divide")
@pytest.mark.parametrize("n_parts", [2, 7, 64])
@pytest.mark.parametrize("name", one_in(4, CASES))
def test_attributes_do_not_depend_on_the_partitions(name: str, n_parts: int) -> None:
    case = CASES[name]
    whole = fit(case, [slice(0, ROWS)]).fitted
    for merging in (in_turn, as_tree):
        assert_same(fit(case, pieces(n_parts), merging).fitted, whole, name, case.rtol)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.rtol != RTOL])
def test_attributes_are_the_same_where_the_rows_keep_their_order(name: str) -> None:
    case = CASES[name]
    whole = fit(case, [slice(0, ROWS)]).fitted
    ordered = sorted(pieces(64), key=lambda rows: rows.start)
    for merging in (in_turn, as_tree):
        assert_same(fit(case, ordered, merging).fitted, whole, name)
