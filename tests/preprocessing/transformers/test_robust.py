from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler

from pipeline.preprocessing.engine import table
from pipeline.preprocessing.engine.program import Program
from tests.preprocessing.columns import BOOLEANS, NUMBERS, frame
from tests.preprocessing.parity import assert_both_refuse, assert_parity, close, quiet, sklearn_fit
from tests.strategies import bounded, tables

ROWS = 150
RANGES = [(25.0, 75.0), (10, 90), (0.0, 33.3), (50.0, 50.0)]
SCALERS = [
    *(RobustScaler(quantile_range=q) for q in RANGES),
    RobustScaler(quantile_range=(0, 100)),
    RobustScaler(unit_variance=True),
    RobustScaler(unit_variance=True, quantile_range=(5.0, 80.0)),
    *(
        RobustScaler(with_centering=centre, with_scaling=scale)
        for centre, scale in product([True, False], repeat=2)
    ),
    RobustScaler(copy=False),
]


@pytest.fixture
def numbers() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(3, 7, (ROWS, 3)), columns=["a", "b", "c"])
    X["constant"] = 0.1
    X["almost constant"] = np.where(np.arange(ROWS) < 9, 1.0, 0.5)
    X["int"] = rng.integers(0, 9, ROWS)
    return X


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_equals_sklearn(scaler: RobustScaler, numbers: pd.DataFrame, dtype: str) -> None:
    assert_parity(scaler, numbers, new=numbers[:7] * 2, dtype=dtype)


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_missing_values_stay_missing(scaler: RobustScaler, numbers: pd.DataFrame) -> None:
    numbers.loc[::3, "a"] = np.nan
    numbers.loc[::4, "int"] = np.nan
    out = assert_parity(scaler, numbers).transform(numbers)
    assert np.isnan(out[::3, 0]).all()
    assert np.isfinite(out[:, 1]).all()


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_column_without_values(scaler: RobustScaler, numbers: pd.DataFrame) -> None:
    assert_parity(scaler, numbers.assign(b=np.nan))


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_one_row(scaler: RobustScaler, numbers: pd.DataFrame) -> None:
    assert_parity(scaler, numbers[:1], new=numbers)


def test_large_offset(numbers: pd.DataFrame) -> None:
    assert_parity(RobustScaler(), numbers + 1e9)


def test_column_without_spread_is_not_divided_by_zero(numbers: pd.DataFrame) -> None:
    program = assert_parity(RobustScaler(), numbers)
    assert program.to_sklearn().scale_[3:5].tolist() == [1.0, 1.0]
    assert program.transform(numbers)[0, 4] == 0.5


@pytest.mark.parametrize("n_blocks", [1, 2, 7, 64])
@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_result_does_not_depend_on_the_blocks(
    scaler: RobustScaler, n_blocks: int, numbers: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers.loc[:100, "a"] = np.nan
    whole = Program(scaler, "float64").fit_transform(numbers)
    monkeypatch.setattr(table, "CHUNK_ROWS", -(-ROWS // n_blocks))
    cut = assert_parity(scaler, numbers).transform(numbers)
    np.testing.assert_array_equal(cut, whole)


@pytest.mark.parametrize("kind", sorted((NUMBERS | BOOLEANS).keys() - {"float32, missing"}))
def test_kinds_of_columns(kind: str) -> None:
    assert_parity(RobustScaler(), frame(kind))


@pytest.mark.parametrize("dtype", ["float64", "int64", "bool"])
def test_arrays(numbers: pd.DataFrame, dtype: str) -> None:
    assert_parity(RobustScaler(), numbers.to_numpy().astype(dtype))


def test_float32_is_computed_in_float64(numbers: pd.DataFrame) -> None:
    X = numbers.to_numpy("float32")
    X[::7, 0] = np.nan
    ours = Program(RobustScaler(), "float64").fit_transform(X)
    close(ours, sklearn_fit(RobustScaler(), X.astype("float64"))[1])
    np.testing.assert_allclose(ours, RobustScaler().fit_transform(X), rtol=1e-5, atol=1e-6)


def test_after_another_step(numbers: pd.DataFrame) -> None:
    numbers.loc[::3, "a"] = np.nan
    assert_parity(make_pipeline(SimpleImputer(), RobustScaler()), numbers)


def test_frame_without_string_names(numbers: pd.DataFrame) -> None:
    assert_parity(RobustScaler(), numbers.set_axis(range(6), axis=1))


def test_infinity_is_refused_like_in_sklearn(numbers: pd.DataFrame) -> None:
    numbers.loc[3, "b"] = -np.inf
    assert "column 'b' holds infinite values" in assert_both_refuse(RobustScaler(), numbers)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"quantile_range": (75.0, 25.0)}, "Invalid quantile range"),
        ({"quantile_range": (-1.0, 25.0)}, "Invalid quantile range"),
        ({"quantile_range": [25.0, 75.0]}, "'quantile_range' parameter"),
        ({"with_scaling": "yes"}, "'with_scaling' parameter"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused_in_the_words_of_sklearn(
    params: dict[str, Any], said: str, numbers: pd.DataFrame
) -> None:
    message = assert_both_refuse(RobustScaler(**params), numbers)
    assert message.startswith("RobustScaler on the columns ['a', 'b', 'c'")
    assert said in message


@bounded
@given(X=tables("numbers"))
def test_any_table_of_numbers(X: pd.DataFrame) -> None:
    with quiet():
        assert_parity(RobustScaler(), X)
        assert_parity(RobustScaler(quantile_range=(1.0, 99.0), unit_variance=True), X)
