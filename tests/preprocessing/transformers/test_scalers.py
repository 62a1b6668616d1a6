"""What is special to the scalers; what all transformers share is in `test_parity`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    StandardScaler,
)

from pipeline.preprocessing.engine.blocks import Numbers
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.transformers.scalers import (
    BinarizerTwin,
)
from tests.preprocessing.cases import OF_ROWS, numbers
from tests.preprocessing.parity import assert_parity


def test_large_offset_keeps_the_digits_of_the_variance() -> None:
    X = numbers()[["a", "int"]] + 1e9
    program = Program(StandardScaler(), "float64")
    # One unit in the last place of 1e9 is 1.2e-7.
    theirs = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(program.fit_transform(X), theirs, rtol=1e-6, atol=1.2e-7)
    exact = np.sqrt((X - 1e9).var(ddof=0))
    np.testing.assert_allclose(program.to_sklearn().scale_, exact, rtol=1e-12)


def test_near_constant_columns_are_constant_where_sklearn_says_so() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "rounding of 1e9": 1e9 + rng.normal(size=200) * 1e-8,
            "rounding of 0.1": np.where(rng.random(200) < 0.5, 0.1, np.nextafter(0.1, 1)),
            "last place of 1e16": np.r_[np.full(199, 1e16), 1e16 + 2],
            "small but real": 1 + np.r_[np.full(199, 0.0), 1e-9],
        }
    )
    program = assert_parity(StandardScaler(), X)
    assert program.to_sklearn().scale_.tolist()[:3] == [1.0, 1.0, 1.0]
    assert program.to_sklearn().scale_[3] < 1e-9


@pytest.mark.parametrize(("width", "constant"), [(1e-15, True), (2e-15, True), (3e-15, False)])
@pytest.mark.parametrize("scaler", [MinMaxScaler(), MaxAbsScaler()], ids=repr)
def test_ranges_of_rounding_are_constant(scaler: Any, width: float, constant: bool) -> None:
    X = pd.DataFrame({"x": [0.0, width, width / 2], "zero": 0.0})
    fitted = assert_parity(scaler, X).to_sklearn()
    assert (fitted.scale_[0] == 1.0) == constant


@pytest.mark.parametrize("estimator", OF_ROWS[:3], ids=repr)
@pytest.mark.parametrize(("size", "kept"), [(0.0, True), (1e-15, True), (1e-14, False)])
def test_tiny_rows_stay(estimator: Any, size: float, kept: bool) -> None:
    X = np.array([[size, -size / 4], [1.0, 2.0]])
    out = assert_parity(estimator, X).transform(X)
    assert (out[0, 0] == size) == kept


@pytest.mark.parametrize("threshold", [0.1, np.float64(0.1), 0])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool"])
def test_values_at_the_threshold(threshold: Any, dtype: str) -> None:
    X = np.array([[0.1, np.nextafter(0.1, 1)], [0.0, 1.0]]).astype(dtype)
    assert_parity(Binarizer(threshold=threshold), X)
    twin = BinarizerTwin(Binarizer())
    twin.finalize(1)
    assert twin.apply(Numbers(X)).values.dtype == dtype


@pytest.mark.parametrize("columns", [["a", "int"], ["int"]])
def test_an_encoder_after_the_binarizer_sees_what_it_sees_in_sklearn(columns: list[str]) -> None:
    assert_parity(make_pipeline(Binarizer(), OneHotEncoder()), numbers()[columns])
