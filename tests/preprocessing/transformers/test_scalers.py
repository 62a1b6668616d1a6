from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from pipeline.errors import DataError
from pipeline.preprocessing.engine.program import Program
from tests.preprocessing.parity import assert_both_refuse, assert_parity

SCALERS = [
    StandardScaler(with_mean=mean, with_std=std) for mean, std in product([True, False], repeat=2)
]


def names(scaler: StandardScaler) -> str:
    return f"mean={scaler.with_mean} std={scaler.with_std}"


@pytest.fixture
def numbers() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(3, 7, (150, 3)), columns=["a", "b", "c"])
    X["constant"] = 0.1
    X["int"] = rng.integers(0, 9, 150)
    return X


@pytest.mark.parametrize("scaler", SCALERS, ids=names)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_equals_sklearn(scaler: StandardScaler, numbers: pd.DataFrame, dtype: str) -> None:
    assert_parity(scaler, numbers, new=numbers[:7] * 2, dtype=dtype)


def test_large_offset_keeps_the_digits_of_the_variance(numbers: pd.DataFrame) -> None:
    program = Program(StandardScaler(), "float64")
    program.fit(numbers[["a", "b"]] + 1e9)
    exact = np.sqrt(((numbers[["a", "b"]] + 1e9) - 1e9).var(ddof=0))
    np.testing.assert_allclose(program.to_sklearn().scale_, exact, rtol=1e-12)


def test_large_offset_equals_sklearn(numbers: pd.DataFrame) -> None:
    X = numbers[["a", "int"]] + 1e9
    program = Program(StandardScaler(), "float64")
    theirs = StandardScaler().fit_transform(X)
    # One unit in the last place of 1e9 is 1.2e-7.
    np.testing.assert_allclose(program.fit_transform(X), theirs, rtol=1e-6, atol=1.2e-7)


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


def test_float32_is_computed_in_float64(numbers: pd.DataFrame) -> None:
    X = numbers.to_numpy("float32")
    ours = Program(StandardScaler(), "float64").fit_transform(X)
    exact = StandardScaler().fit_transform(X.astype("float64"))
    np.testing.assert_allclose(ours, exact, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours, StandardScaler().fit_transform(X), rtol=1e-5, atol=1e-6)


def test_infinity_in_new_rows_is_refused(numbers: pd.DataFrame) -> None:
    program = Program(StandardScaler()).fit(numbers)
    with pytest.raises(DataError, match="column 'c' holds infinite values"):
        program.transform(numbers.assign(c=np.inf))


def test_text_is_refused_with_the_way_out(numbers: pd.DataFrame) -> None:
    message = assert_both_refuse(StandardScaler(), numbers.assign(t="x"))
    assert message.startswith("column 't' holds str values where numbers are needed")
    assert "OneHotEncoder" in message


@pytest.mark.parametrize("scaler", SCALERS, ids=names)
def test_weighted_rows_give_what_sklearn_gives(
    scaler: StandardScaler, numbers: pd.DataFrame
) -> None:
    numbers.loc[::3, "a"] = np.nan
    weights = np.random.default_rng(2).exponential(1e-3, 150)
    plain = clone(scaler).fit(numbers, sample_weight=weights)
    program = Program(scaler, "float64")
    program.weights = [(scaler, weights)]
    fitted = program.fit(numbers).to_sklearn()
    for name in ("mean_", "var_", "scale_", "n_samples_seen_"):
        found, expected = getattr(fitted, name), getattr(plain, name)
        if expected is None:
            assert found is None
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=name)
    np.testing.assert_allclose(program.transform(numbers), plain.transform(numbers), 1e-9, 1e-15)
