"""How often the host waits for the device: once a column that is read, and a few times more."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_classif
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from pipeline.data import frames
from pipeline.errors import DataError
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.transformers import power
from tests.contract import memory
from tests.contract.cases import folds
from tests.contract.live import LIVE
from tests.contract.recorder import RECORDER, Recorder
from tests.contract.verify import faults
from tests.names import one_in

ROWS, FEW, MANY = 300, 3, 9
OF_NUMBERS = [
    KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf"),
    MinMaxScaler(),
    MissingIndicator(),
    PolynomialFeatures(2),
    QuantileTransformer(n_quantiles=20),
    RobustScaler(),
    SelectKBest(f_classif, k=2),
    SimpleImputer(add_indicator=True),
    SimpleImputer(strategy="median"),
    SplineTransformer(4),
    StandardScaler(),
    VarianceThreshold(),
    make_pipeline(SimpleImputer(), StandardScaler(), MinMaxScaler()),
]
OF_POWERS = [PowerTransformer(), make_pipeline(MinMaxScaler((1, 2)), PowerTransformer("box-cox"))]
ROUNDS = 50
"""What the longest search for a power asks for, one point after the other."""
OF_CATEGORIES = [
    OneHotEncoder(),
    OneHotEncoder(drop="first", handle_unknown="ignore"),
    OrdinalEncoder(),
    SimpleImputer(strategy="most_frequent"),
    TargetEncoder(cv=folds()),
]
A_BLOCK = {"SimpleImputer, most frequent": memory.COLUMNS + 2, "PowerTransformer, Box-Cox": 3}
"""Waits for a further block: once for what is wrong in it, once for what is learnt of it."""


def waits(estimator: Any, columns: int, *, text: bool = False) -> int:
    """Return how often the host waits while a step is fitted on a table, read once, and used."""
    values = np.random.default_rng(0).integers(0, 9, (ROWS, columns)).astype("float64")
    X = pd.DataFrame(values, columns=[f"x{j}" for j in range(columns)])
    there = frames.to_device(X.astype("str") if text else X, "cuda")
    steps = (
        make_pipeline(clone(estimator), OrdinalEncoder())
        if text and _imputes(estimator)
        else clone(estimator)
    )
    RECORDER.clear()
    Program(steps).fit_transform(there, np.arange(ROWS) % 2)
    return RECORDER.syncs()


def _imputes(estimator: Any) -> bool:
    return isinstance(estimator, SimpleImputer)


def a_column(estimator: Any, **kind: bool) -> float:
    """Return how many more times it waits for each further column."""
    return (waits(estimator, MANY, **kind) - waits(estimator, FEW, **kind)) / (MANY - FEW)


@pytest.mark.parametrize("estimator", OF_NUMBERS, ids=str)
def test_columns_of_numbers_are_waited_for_together(estimator: Any, device: Recorder) -> None:
    assert a_column(estimator) == 0
    assert waits(estimator, FEW) <= 8


@pytest.mark.parametrize("estimator", OF_POWERS, ids=str)
def test_the_powers_of_all_columns_are_waited_for_together(
    estimator: Any, device: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert waits(estimator, FEW) <= ROUNDS
    assert waits(estimator, MANY) <= ROUNDS
    monkeypatch.setattr(power, "AT_ONCE", MANY // 2)
    assert ROUNDS < waits(estimator, MANY) <= 3 * ROUNDS


@pytest.mark.parametrize("estimator", OF_CATEGORIES, ids=str)
def test_columns_of_text_are_waited_for_when_their_values_come(
    estimator: Any, device: Recorder
) -> None:
    assert a_column(estimator, text=True) <= 1
    assert waits(estimator, FEW, text=True) <= FEW + 8


@pytest.mark.parametrize("estimator", OF_CATEGORIES, ids=str)
def test_only_the_device_knows_how_many_numbers_are_distinct(
    estimator: Any, device: Recorder
) -> None:
    assert a_column(estimator) <= 1
    assert waits(estimator, FEW) <= FEW + 6


@pytest.mark.parametrize("name", one_in(8, memory.CASES))
def test_a_further_block_is_waited_for_a_few_times(name: str) -> None:
    assert round(memory.a_block(name)) <= A_BLOCK.get(name, 2)


def test_arrays_of_many_types_come_by_one_copy(device: Recorder) -> None:
    there = np.arange(3)
    wanted = [
        np.array([True]),
        np.arange(6.0).reshape(2, 3),
        np.empty(0, "int8"),
        there,
        np.int64(5),
    ]
    arrays = [each if each is there else frames.to_device(each, "cuda") for each in wanted]
    device.clear()
    found = frames.all_to_host(arrays)
    assert device.syncs() == 1
    assert found[3] is there
    for one, expected in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, expected, strict=True)
        assert one.flags.aligned
    assert frames.all_to_host([]) == []
    assert faults(device.calls) == []


def test_many_distinct_numbers_do_not_stay_on_the_device(
    device: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = frames.to_device(np.random.default_rng(0).normal(size=(10_000, MANY)), "cuda")
    peaks = []
    for large in (2**10, 2**30):
        monkeypatch.setattr(frames, "LARGE", large)
        with device.paused(), LIVE.counted() as live:
            frames.all_categories(X, range(MANY))
        peaks.append(live.peak / X.nbytes)
    # The table, its codes and what one column takes; or all values twice, to come together.
    assert peaks[0] < 2 < 3 < peaks[1]


@pytest.mark.parametrize("framed", [False, True])
@pytest.mark.parametrize("estimator", [StandardScaler(), OrdinalEncoder()], ids=str)
def test_infinite_numbers_are_found_in_the_column_that_has_them(
    estimator: Any, framed: bool, device: Recorder
) -> None:
    X = np.ones((ROWS, FEW))
    X[7, 1] = -np.inf
    table = frames.to_device(pd.DataFrame(X) if framed else X, "cuda")
    with pytest.raises(DataError, match=r"column 1 holds infinite values.* in row 7\)"):
        Program(estimator).fit(table)


@pytest.mark.parametrize("missing", ["error", "zeros"])
@pytest.mark.parametrize("beyond", ["constant", "linear", "continue", "periodic"])
def test_splines_beyond_the_knots_are_not_asked_for(
    beyond: str, missing: str, device: Recorder
) -> None:
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(ROWS, FEW)), rng.normal(0, 3, (ROWS, FEW))
    if missing == "zeros":
        new[::3], X[:, 0] = np.nan, np.nan
    estimator = SplineTransformer(4, extrapolation=beyond, handle_missing=missing)
    program = Program(estimator, "float64").fit(frames.to_device(X, "cuda"))
    there = frames.to_device(new, "cuda")
    device.clear()
    found = program.transform(there)
    assert device.syncs() <= 2
    assert faults(device.calls) == []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = clone(estimator).fit(X).transform(new)
    np.testing.assert_allclose(found.get(), expected, rtol=1e-12, atol=1e-12)
