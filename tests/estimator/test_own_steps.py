"""Cheap steps of numbers are scikit-learn's own on the CPU, wherever a twin would be slower."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from pipeline import Accelerated, DataError, load, save

ROWS = 12_000
TWIN = "pipeline.preprocessing (NumPy)"


def table(n_rows: int = ROWS, kind: Any = "float64") -> pd.DataFrame:
    """Return numbers far from zero and near it, with gaps in one column."""
    values = np.random.default_rng(0).normal(3, 2, (n_rows, 3)) * [1, 1e-3, 1e4]
    X = pd.DataFrame(values.astype(kind), columns=["a", "b", "c"])
    X.loc[::7, "a"] = np.nan
    return X


X = table()
y = X["b"].to_numpy() > 0.003
OWN: dict[str, Any] = {
    "mean": SimpleImputer(),
    "imputer, scaler": make_pipeline(SimpleImputer(), StandardScaler()),
    "before PCA": make_pipeline(SimpleImputer(), StandardScaler(), PCA(2)),
    "columns": make_pipeline(
        make_column_transformer((StandardScaler(), ["a", "b"]), ("passthrough", ["c"])),
        SimpleImputer(),
    ),
    "function": FunctionTransformer(np.arctan),
}


def ran(model: Accelerated) -> set[str]:
    """Return what ran the preprocessing of a fitted model."""
    placements = [place for step in model.plan_.steps[:1] for place in step.placements]
    assert not any(place.reasons for place in placements), "it is no fallback"
    return {place.implementation for place in placements}


def answers(model: Any, rows: Any) -> Any:
    """Return what a fitted model makes of rows."""
    return np.asarray((model.predict if hasattr(model, "predict") else model.transform)(rows))


@pytest.mark.quick(8)
@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("name", OWN)
def test_steps_of_numbers_are_sklearns_own(name: str, kind: str, tmp_path: Path) -> None:
    rows = table(kind=kind)
    expected = answers(clone(OWN[name]).fit(rows, y), rows)
    model = Accelerated(OWN[name], device="cpu").fit(rows, y)
    assert TWIN not in ran(model)
    why = "frames of frames" if name == "function" else "faster"
    assert why in model.plan_.placements[0].note
    made = answers(model, rows)
    assert made.dtype == expected.dtype
    np.testing.assert_array_equal(made, expected)
    np.testing.assert_array_equal(answers(model.to_sklearn(), rows), expected)
    save(model, tmp_path / "own.model")
    loaded = load(tmp_path / "own.model", device="cpu")
    np.testing.assert_array_equal(answers(loaded, rows), expected)
    if hasattr(model, "fit_transform"):
        again = Accelerated(OWN[name], device="cpu").fit_transform(rows, y)
        np.testing.assert_array_equal(again, clone(OWN[name]).fit_transform(rows, y))


TWINS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "few rows": (MinMaxScaler(), X[:100], {}),
    "rows may be added": (MinMaxScaler(), X, {}),
    "a twin is faster": (make_pipeline(SimpleImputer(), PolynomialFeatures()), X, {}),
    "rows are contiguous": (StandardScaler(), np.ascontiguousarray(X), {}),
    "text beside them": (
        make_column_transformer((StandardScaler(), ["b"]), (OneHotEncoder(), ["t"])),
        X.assign(t="x"),
        {},
    ),
    "float64 of float32": (MinMaxScaler(), table(kind="float32"), {"dtype": "float64"}),
    "in place": (MinMaxScaler(copy=False), X, {}),
    "a frame is asked for": (MinMaxScaler().set_output(transform="pandas"), X, {}),
}


@pytest.mark.parametrize("name", TWINS)
def test_other_rows_are_the_twins(name: str) -> None:
    estimator, rows, options = TWINS[name]
    model = Accelerated(estimator, device="cpu", **options).fit(rows)
    assert ran(model) == {TWIN}


def test_columns_are_named_where_sklearn_names_none() -> None:
    infinite = X.replace({"b": {X["b"][3]: np.inf}})
    with pytest.raises(DataError, match=r"^Input X contains infinity(.|\n)*'b'"):
        Accelerated(SimpleImputer(), device="cpu").fit(infinite)
    model = Accelerated(SimpleImputer(), device="cpu").fit(X)
    with pytest.raises(DataError, match=r"^Input X contains infinity(.|\n)*'b'"):
        model.transform(infinite)
    assert TWIN not in ran(model)


@pytest.mark.parametrize(
    ("estimator", "n_rows"),
    [
        (RobustScaler(), 100),
        (QuantileTransformer(n_quantiles=20), 100),
        (SimpleImputer(strategy="most_frequent"), ROWS),
    ],
)
def test_rows_that_were_not_kept_are_not_forgotten_in_silence(estimator: Any, n_rows: int) -> None:
    model = Accelerated(estimator, device="cpu").fit(X[:n_rows])
    assert TWIN not in ran(model)
    with pytest.raises(AttributeError, match="call partial_fit with the first rows as well"):
        model.partial_fit(X)
