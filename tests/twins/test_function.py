from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from pipeline.compile.program import Program
from pipeline.errors import DataError
from pipeline.twins.function import UFUNCS
from tests.strategies import tables
from tests.twins.columns import NUMBERS, frame
from tests.twins.parity import (
    assert_both_refuse,
    assert_parity,
    close,
    differences,
    quiet,
    sklearn_fit,
)

ROWS = 130
SNAPSHOT = Path(__file__).parents[1] / "contract" / "snapshot.json"


def one(func: Any = None, inverse: Any = None, **params: Any) -> FunctionTransformer:
    return FunctionTransformer(func, inverse, feature_names_out="one-to-one", **params)


@pytest.fixture
def numbers() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.uniform(0.1, 0.9, ROWS), "b": rng.uniform(0.2, 0.8, ROWS)})


@pytest.mark.parametrize("name", sorted(UFUNCS))
def test_every_function_equals_sklearn(name: str, numbers: pd.DataFrame) -> None:
    X = numbers + (1 if name == "arccosh" else 0)
    assert_parity(one(getattr(np, name)), X)
    assert_parity(one(getattr(np, name)), X, dtype="float32")


def test_every_function_is_in_cupy_too_and_takes_one_array() -> None:
    cupy = json.loads(SNAPSHOT.read_text("utf-8"))["owners"]["cupy"]
    assert set(cupy) >= UFUNCS
    for name in UFUNCS:
        assert (getattr(np, name).nin, getattr(np, name).nout) == (1, 1)


@pytest.mark.parametrize("func", [None, np.abs, np.square, np.negative])
@pytest.mark.parametrize("validate", [False, True])
@pytest.mark.parametrize("kind", [k for k in NUMBERS if "missing" not in k and "huge" not in k])
def test_kinds_of_numbers(func: Any, validate: bool, kind: str) -> None:
    assert_parity(one(func, validate=validate), frame(kind))


CHAINS = {
    "two, then scaled": make_pipeline(one(np.abs), one(np.sqrt), StandardScaler()),
    "behind an array": make_pipeline(StandardScaler(), one(np.tanh), SimpleImputer()),
    "in a column transformer": make_column_transformer(
        (make_pipeline(one(np.log), StandardScaler()), ["b"]), (one(np.exp), ["a"])
    ),
    "in a union": FeatureUnion([("log", one(np.log)), ("same", one()), ("p", "passthrough")]),
}


@pytest.mark.parametrize("name", CHAINS)
def test_steps_around_it_equal_sklearn(name: str, numbers: pd.DataFrame) -> None:
    """The names that a frame keeps are those that scikit-learn hands on."""
    assert_parity(CHAINS[name], numbers)


def test_text_stays_text() -> None:
    X = pd.DataFrame({"c": ["a", "b", None, "a"], "n": [1.0, 2.0, 2.0, np.nan]})
    imputed = make_pipeline(one(), SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    close(Program(imputed, "float64").fit_transform(X), sklearn_fit(imputed, X)[1])
    assert_parity(make_pipeline(one(), OneHotEncoder(handle_unknown="ignore")), X[["c"]])


def test_functions_of_text_are_refused() -> None:
    X = pd.DataFrame({"c": ["a", "b"]})
    assert "column 'c' holds" in assert_both_refuse(one(validate=True), X)
    with pytest.raises(DataError, match="column 'c' holds"):
        Program(one(np.log)).fit(X)


@pytest.mark.parametrize("rows", [1, 3, ROWS])
def test_a_wrong_inverse_is_warned_of(
    numbers: pd.DataFrame, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.blocks.table.CHUNK_ROWS", rows)
    estimator = one(np.sqrt, np.log1p)
    with pytest.warns(UserWarning, match="not strictly inverse"):
        sklearn_spec = estimator.fit(numbers)
    with pytest.warns(UserWarning, match="not strictly inverse .* set 'check_inverse=False"):
        ours = Program(estimator).fit(numbers).to_sklearn()
    assert differences(ours, sklearn_spec) == []


def test_a_right_inverse_and_one_not_checked_are_not_warned_of(numbers: pd.DataFrame) -> None:
    Program(one(np.log, np.exp)).fit(numbers)
    Program(one(np.log, np.log, check_inverse=False)).fit(numbers)
    assert_parity(one(np.log, lambda X: X, check_inverse=False), numbers)


@given(X=tables("numbers"), func=st.sampled_from([None, np.sign, np.arctan, np.cbrt, np.floor]))
def test_any_numbers(X: pd.DataFrame, func: Any) -> None:
    X = X.astype("float64")
    with quiet():
        assert_parity(one(func), X)
