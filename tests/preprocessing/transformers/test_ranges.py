from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler

from pipeline.errors import DataError
from pipeline.preprocessing.engine.program import Program
from tests.preprocessing.parity import (
    assert_both_refuse,
    assert_handed_over,
    assert_parity,
    close,
    sklearn_fit,
)

FEATURE_RANGES = [(0, 1), (-1, 1), (-2.5, 0.3)]
SCALERS: list[Any] = [
    *(MinMaxScaler(r, clip=clip) for r, clip in product(FEATURE_RANGES, [False, True])),
    MaxAbsScaler(),
    MaxAbsScaler(clip=True),
]
ROWS = 150


@pytest.fixture
def numbers() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(3, 7, (ROWS, 3)), columns=["a", "b", "c"])
    X["constant"] = 0.1
    X["zero"] = 0.0
    X["int"] = rng.integers(-4, 9, ROWS)
    return X


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_equals_sklearn(scaler: Any, numbers: pd.DataFrame, dtype: str) -> None:
    assert_parity(scaler, numbers, new=numbers[:7] * 2, dtype=dtype)


@pytest.mark.parametrize("offset", [1e9, -1e15, 1e300])
@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_large_offset(scaler: Any, numbers: pd.DataFrame, offset: float) -> None:
    assert_parity(scaler, numbers + offset)


@pytest.mark.parametrize(("width", "constant"), [(1e-15, True), (2e-15, True), (3e-15, False)])
@pytest.mark.parametrize("scaler", [MinMaxScaler(), MaxAbsScaler()], ids=repr)
def test_ranges_of_rounding_are_constant(scaler: Any, width: float, constant: bool) -> None:
    X = pd.DataFrame({"x": [0.0, width, width / 2]})
    fitted = assert_parity(scaler, X).to_sklearn()
    assert (fitted.scale_[0] == 1.0) == constant


@pytest.mark.parametrize(
    ("scaler", "low", "high"),
    [(MinMaxScaler((-2, 3), clip=True), -2.0, 3.0), (MaxAbsScaler(clip=True), -1.0, 1.0)],
    ids=["min-max", "max-abs"],
)
def test_clipped_values_stay_within_the_range(
    scaler: Any, low: float, high: float, numbers: pd.DataFrame
) -> None:
    out = assert_parity(scaler, numbers, new=numbers * 9).transform(numbers * 9)
    assert (out.min(), out.max()) == (low, high)


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_float32_is_computed_in_float64(scaler: Any, numbers: pd.DataFrame) -> None:
    X = numbers.to_numpy("float32")
    program = Program(scaler, "float64")
    ours = program.fit_transform(X)
    reference, exact = sklearn_fit(scaler, X.astype("float64"))
    close(ours, exact)
    assert_handed_over(program.to_sklearn(), reference, X.astype("float64"))
    np.testing.assert_allclose(ours, sklearn_fit(scaler, X)[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("estimator", [MinMaxScaler((1, 1)), MinMaxScaler((2, 0)), MinMaxScaler(3)])
def test_bad_range_is_refused(estimator: Any, numbers: pd.DataFrame) -> None:
    message = assert_both_refuse(estimator, numbers)
    assert message.startswith("MinMaxScaler on the columns ['a', 'b',")
    assert "feature" in message


@pytest.mark.parametrize("estimator", [MinMaxScaler(clip="yes"), MaxAbsScaler(clip=2)], ids=repr)
def test_bad_clip_is_refused(estimator: Any, numbers: pd.DataFrame) -> None:
    assert "'clip' parameter" in assert_both_refuse(estimator, numbers)


def test_text_is_refused_with_the_way_out(numbers: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="column 't' holds str values"):
        Program(MinMaxScaler()).fit(numbers.assign(t="x"))
