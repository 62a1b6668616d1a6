"""What is special to imputers and indicators; what transformers share is in `test_parity`."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from pipeline.compile.program import Program
from tests.strategies import tables
from tests.twins.cases import ROWS, STRATEGIES, holes
from tests.twins.columns import MIXED, NUMBERS, OURS_ALONE, TEXT, frame, with_nan
from tests.twins.parity import assert_parity, close, sklearn_fit

FREQUENT = ["most_frequent", "constant"]


def encoded(**params: Any) -> Any:
    """Text needs an encoder to become a matrix."""
    return make_pipeline(SimpleImputer(**params), OneHotEncoder(handle_unknown="ignore"))


def assert_same_rows(estimator: Any, X: pd.DataFrame, given: pd.DataFrame | None = None) -> None:
    """Compare the values alone, with what scikit-learn makes of what it is given."""
    expected = sklearn_fit(estimator, X if given is None else given)[1]
    close(Program(estimator, "float64").fit_transform(X), expected)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kind", NUMBERS)
def test_kinds_of_numbers(strategy: str, kind: str) -> None:
    X, estimator = frame(kind), SimpleImputer(strategy=strategy)
    single = strategy == "median" and kind.startswith("float32")
    if not single and not (kind == "huge int" and strategy in ("mean", "median")):
        assert_parity(estimator, X)
        return
    # scikit-learn keeps the median in float32; the sum of such integers rounds in another order.
    program, (reference, expected) = Program(estimator, "float64"), sklearn_fit(estimator, X)
    found = program.fit_transform(X)
    np.testing.assert_allclose(found, expected, rtol=1e-6 if single else 1e-15)
    statistics = program.to_sklearn().statistics_
    np.testing.assert_allclose(statistics, reference.statistics_, rtol=1e-7 if single else 1e-15)


@pytest.mark.parametrize("strategy", FREQUENT)
@pytest.mark.parametrize("kind", [k for k in TEXT | MIXED if "object of ints, m" not in k])
def test_kinds_of_text(strategy: str, kind: str) -> None:
    assert_parity(encoded(strategy=strategy), frame(kind))


@pytest.mark.parametrize("kind", OURS_ALONE)
def test_none_is_a_value_and_na_is_nan(kind: str) -> None:
    X = frame(kind, OURS_ALONE)
    assert_same_rows(encoded(strategy="most_frequent"), X, with_nan(X))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("keep", "add"), list(product([False, True], repeat=2)))
def test_columns_without_values_and_indicators(strategy: str, keep: bool, add: bool) -> None:
    X = holes()[["a", "b", "int"]].assign(z=np.nan)
    new = pd.DataFrame({"a": [np.nan, 1], "b": [np.nan, 2], "int": [5.0, np.nan], "z": [np.nan, 3]})
    estimator = SimpleImputer(strategy=strategy, add_indicator=add, keep_empty_features=keep)
    assert assert_parity(estimator, X, new=new).width == 3 + keep + 3 * add
    assert assert_parity(estimator, X[["b"]]).width == 1


@pytest.mark.parametrize("strategy", FREQUENT)
@pytest.mark.parametrize("keep", [False, True])
def test_indicators_and_empty_columns_of_text(strategy: str, keep: bool) -> None:
    X = pd.DataFrame({"t": ["a", np.nan, "b", "a"], "u": list("xyxy")}).astype(object)
    X["z"] = pd.Series([np.nan] * 4, dtype=object)
    new = pd.DataFrame(
        {"t": ["b", np.nan], "u": [np.nan, "y"], "z": [np.nan, np.nan]}, dtype=object
    )
    estimator = encoded(strategy=strategy, add_indicator=True, keep_empty_features=keep)
    program = assert_parity(estimator, X, new=new)
    assert program.width == 2 + (strategy == "constant") + 2 + keep + 2 + 1
    assert_parity(encoded(strategy=strategy), X.astype({"z": "str"}))


@pytest.mark.parametrize(
    ("fill_value", "columns"),
    [(3, ["a", "int"]), (-1.5, ["a"]), (7, ["k"]), (np.nan, ["a", "c"]), (None, ["a", "k"])],
)
def test_constants(fill_value: Any, columns: list[str]) -> None:
    X = holes().assign(k=np.arange(ROWS) % 5)
    assert_parity(SimpleImputer(strategy="constant", fill_value=fill_value), X[columns])


@given(X=tables(), strategy=st.sampled_from(STRATEGIES), keep=st.booleans(), add=st.booleans())
def test_any_table(X: pd.DataFrame, strategy: str, keep: bool, add: bool) -> None:
    of_numbers = [name for name in X if X[name].dtype.kind in "if"]
    # Averages of integers near 2**62 round in another order.
    numeric = X[of_numbers].clip(-(2**40), 2**40)
    if numeric.notna().any().any():
        params = {"add_indicator": add, "keep_empty_features": keep}
        assert_parity(SimpleImputer(strategy=strategy, **params), numeric)
    text = X.drop(columns=of_numbers).dropna(axis=1, how="all")
    if text.shape[1]:
        assert_parity(encoded(strategy=FREQUENT[keep]), text)
