from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler

from pipeline.errors import DataError
from pipeline.preprocessing.engine import table
from pipeline.preprocessing.engine.program import Program
from tests.preprocessing.columns import BOOLEANS, NUMBERS, frame
from tests.preprocessing.parity import (
    assert_both_refuse,
    assert_handed_over,
    assert_parity,
    close,
    quiet,
    sklearn_fit,
)
from tests.strategies import bounded, tables

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


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_missing_values_stay_missing(scaler: Any, numbers: pd.DataFrame) -> None:
    numbers.loc[::3, "a"] = np.nan
    numbers.loc[::4, "int"] = np.nan
    out = assert_parity(scaler, numbers).transform(numbers)
    assert np.isnan(out[::3, 0]).all()
    assert np.isnan(out).sum() == 50 + 38


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_column_without_values(scaler: Any, numbers: pd.DataFrame) -> None:
    with quiet():
        program = assert_parity(scaler, numbers.assign(b=np.nan), new=numbers)
    assert np.isnan(program.transform(numbers)[:, 1]).all()


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_one_row(scaler: Any, numbers: pd.DataFrame) -> None:
    assert_parity(scaler, numbers[:1], new=numbers)


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


@pytest.mark.parametrize("kind", [kind for kind in NUMBERS | BOOLEANS if "float32" not in kind])
@pytest.mark.parametrize("scaler", [MinMaxScaler(), MaxAbsScaler()], ids=repr)
def test_kinds_of_columns(scaler: Any, kind: str) -> None:
    assert_parity(scaler, frame(kind))


@pytest.mark.parametrize("dtype", ["float64", "int64", "uint8", "bool"])
@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_arrays(scaler: Any, numbers: pd.DataFrame, dtype: str) -> None:
    assert_parity(scaler, numbers.abs().to_numpy().astype(dtype))


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_float32_is_computed_in_float64(scaler: Any, numbers: pd.DataFrame) -> None:
    X = numbers.to_numpy("float32")
    program = Program(scaler, "float64")
    ours = program.fit_transform(X)
    reference, exact = sklearn_fit(scaler, X.astype("float64"))
    close(ours, exact)
    assert_handed_over(program.to_sklearn(), reference, X.astype("float64"))
    np.testing.assert_allclose(ours, sklearn_fit(scaler, X)[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n_blocks", [1, 2, 7, 64])
@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_result_does_not_depend_on_the_blocks(
    scaler: Any, n_blocks: int, numbers: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers.loc[:100, "a"] = np.nan
    whole = Program(scaler, "float64").fit_transform(numbers)
    monkeypatch.setattr(table, "CHUNK_ROWS", -(-ROWS // n_blocks))
    cut = assert_parity(scaler, numbers).transform(numbers)
    np.testing.assert_array_equal(cut, whole)


def test_frame_without_string_names(numbers: pd.DataFrame) -> None:
    assert_parity(MinMaxScaler(), numbers.set_axis(range(6), axis=1))


@pytest.mark.parametrize("scaler", [MinMaxScaler(), MaxAbsScaler()], ids=repr)
def test_infinity_is_refused_like_in_sklearn(scaler: Any, numbers: pd.DataFrame) -> None:
    numbers.loc[3, "b"] = -np.inf
    assert "column 'b' holds infinite values" in assert_both_refuse(scaler, numbers)


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


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_inside_a_pipeline(scaler: Any, numbers: pd.DataFrame) -> None:
    numbers.loc[::3, "a"] = np.nan
    assert_parity(make_pipeline(SimpleImputer(), scaler), numbers)


@bounded
@given(X=tables("numbers"))
def test_any_table_of_numbers(X: pd.DataFrame) -> None:
    for scaler in SCALERS:
        with quiet():
            assert_parity(scaler, X)
