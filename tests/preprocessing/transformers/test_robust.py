from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import RobustScaler

from tests.preprocessing.parity import assert_both_refuse, assert_parity

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


def test_large_offset(numbers: pd.DataFrame) -> None:
    assert_parity(RobustScaler(), numbers + 1e9)


def test_column_without_spread_is_not_divided_by_zero(numbers: pd.DataFrame) -> None:
    program = assert_parity(RobustScaler(), numbers)
    assert program.to_sklearn().scale_[3:5].tolist() == [1.0, 1.0]
    assert program.transform(numbers)[0, 4] == 0.5


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
