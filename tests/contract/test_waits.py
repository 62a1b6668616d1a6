"""How often the host waits for the device: once a column that is read, and a few times more."""

from __future__ import annotations

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
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from pipeline import frames
from pipeline.preprocessing.program import Program
from tests.contract.cases import folds
from tests.contract.recorder import RECORDER, Recorder

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
OF_CATEGORIES = [
    OneHotEncoder(),
    OneHotEncoder(drop="first", handle_unknown="ignore"),
    OrdinalEncoder(),
    SimpleImputer(strategy="most_frequent"),
    TargetEncoder(cv=folds()),
]


def waits(spec: Any, columns: int, *, text: bool = False) -> int:
    """Return how often the host waits while a step is fitted on a table, read once, and used."""
    values = np.random.default_rng(0).integers(0, 9, (ROWS, columns)).astype("float64")
    X = pd.DataFrame(values, columns=[f"x{j}" for j in range(columns)])
    there = frames.to_device(X.astype("str") if text else X, "cuda")
    steps = make_pipeline(clone(spec), OrdinalEncoder()) if text and _imputes(spec) else clone(spec)
    RECORDER.clear()
    Program(steps).fit_transform(there, np.arange(ROWS) % 2)
    return RECORDER.syncs()


def _imputes(spec: Any) -> bool:
    return isinstance(spec, SimpleImputer)


def a_column(spec: Any, **kind: bool) -> float:
    """Return how many more times it waits for each further column."""
    return (waits(spec, MANY, **kind) - waits(spec, FEW, **kind)) / (MANY - FEW)


@pytest.mark.parametrize("spec", OF_NUMBERS, ids=str)
def test_columns_of_numbers_are_waited_for_once(spec: Any, device: Recorder) -> None:
    assert a_column(spec) <= 1
    assert waits(spec, FEW) <= FEW + 10


@pytest.mark.parametrize("spec", OF_CATEGORIES, ids=str)
def test_columns_of_text_are_waited_for_when_their_values_come(spec: Any, device: Recorder) -> None:
    assert a_column(spec, text=True) <= 1
    assert waits(spec, FEW, text=True) <= FEW + 8


@pytest.mark.parametrize("spec", OF_CATEGORIES, ids=str)
def test_numbers_as_categories_are_waited_for_once_more(spec: Any, device: Recorder) -> None:
    # Only the device knows how many distinct values there are. An imputer reads numbers as such,
    # and looks for infinite ones first.
    most = 3 if _imputes(spec) else 2
    assert a_column(spec) <= most
    assert waits(spec, FEW) <= most * FEW + 8
