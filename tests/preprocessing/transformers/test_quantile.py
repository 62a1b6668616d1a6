from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import QuantileTransformer

from pipeline.errors import Unsupported
from pipeline.preprocessing.engine import table
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.transformers.quantile import quantile_table
from tests.preprocessing.parity import assert_both_refuse, assert_parity, close, quiet, sklearn_fit
from tests.strategies import tables

ROWS = 150
SHAPES = ["uniform", "normal"]
TRANSFORMERS = [
    *(
        QuantileTransformer(n_quantiles=n, output_distribution=shape)
        for n in (1, 2, 10, 100, ROWS)
        for shape in SHAPES
    ),
    QuantileTransformer(n_quantiles=10, subsample=None, copy=False),
    QuantileTransformer(n_quantiles=10, subsample=ROWS, random_state=0),
]


@pytest.fixture
def numbers() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(3, 7, (ROWS, 2)), columns=["a", "b"])
    X["rounded"] = X["a"].round()
    X["constant"] = 0.1
    X["mostly zero"] = np.where(np.arange(ROWS) % 5 == 0, X["a"], 0.0)
    X["int"] = rng.integers(0, 9, ROWS)
    return X


@pytest.mark.parametrize("estimator", TRANSFORMERS, ids=repr)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_equals_sklearn(estimator: Any, numbers: pd.DataFrame, dtype: str) -> None:
    near = [numbers + off for off in (0.0, 1e-8, -1e-8, 1e-6, -1e-6, 0.5)]
    new = pd.concat([*near, numbers * 3], ignore_index=True)
    assert_parity(estimator, numbers, new=new, dtype=dtype)


@pytest.mark.parametrize("shape", SHAPES)
def test_fewer_rows_than_quantiles(shape: str, numbers: pd.DataFrame) -> None:
    estimator = QuantileTransformer(output_distribution=shape)
    assert assert_parity(estimator, numbers).to_sklearn().n_quantiles_ == ROWS
    assert_parity(estimator, numbers[:1], new=numbers)


@pytest.mark.parametrize("seed", [0, 1])
def test_above_subsample_the_same_rows_are_drawn(
    seed: int, numbers: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "CHUNK_ROWS", 40)
    estimator = QuantileTransformer(n_quantiles=10, subsample=30, random_state=seed)
    drawn = assert_parity(estimator, numbers).to_sklearn()
    everything = Program(estimator.set_params(subsample=None)).fit(numbers).to_sklearn()
    assert drawn.quantiles_[0, 0] != everything.quantiles_[0, 0]


def test_generator_draws_as_in_sklearn_and_is_not_used_up(numbers: pd.DataFrame) -> None:
    generator = np.random.RandomState(3)
    estimator = QuantileTransformer(n_quantiles=10, subsample=30, random_state=generator)
    expected = sklearn_fit(estimator, numbers)[1]
    for _ in range(2):
        close(Program(estimator, "float64").fit_transform(numbers), expected)
    assert generator.random_sample() == np.random.RandomState(3).random_sample()


def test_shared_value_gets_the_middle_of_its_ranks() -> None:
    X = np.array([[0.0], [1.0], [1.0], [1.0], [2.0]])
    out = assert_parity(QuantileTransformer(n_quantiles=5), X).transform(X)
    assert out.ravel().tolist() == [0.0, 0.5, 0.5, 0.5, 1.0]


def test_extremes_shared_by_many_rows_are_the_ends() -> None:
    X = np.array([[0.0], [0.0], [1.0], [2.0], [2.0]])
    new = np.array([[-1.0], [0.0], [2.0], [3.0]])
    out = assert_parity(QuantileTransformer(n_quantiles=5), X, new=new).transform(new)
    assert out.ravel().tolist() == [0.0, 0.0, 1.0, 1.0]


def test_normal_ends_are_finite(numbers: pd.DataFrame) -> None:
    estimator = QuantileTransformer(n_quantiles=10, output_distribution="normal")
    out = assert_parity(estimator, numbers, new=numbers * 1e6).transform(numbers * 1e6)
    assert 5.1 < np.abs(out).max() < 5.2


@pytest.mark.parametrize("shape", SHAPES)
def test_large_offset(shape: str, numbers: pd.DataFrame) -> None:
    estimator = QuantileTransformer(n_quantiles=20, output_distribution=shape)
    assert_parity(estimator, numbers + 1e9)


def test_float32_is_computed_in_float64(numbers: pd.DataFrame) -> None:
    X = numbers.to_numpy("float32")
    X[::7, 0] = np.nan
    estimator = QuantileTransformer(n_quantiles=20)
    ours = Program(estimator, "float64").fit_transform(X)
    np.testing.assert_allclose(ours, estimator.fit_transform(X.copy()), rtol=1e-5, atol=1e-6)


def test_implicit_zeros_are_refused(numbers: pd.DataFrame) -> None:
    with pytest.raises(Unsupported) as caught:
        Program(QuantileTransformer(ignore_implicit_zeros=True)).fit(numbers)
    assert [reason.parameter for reason in caught.value.reasons] == ["ignore_implicit_zeros"]


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"n_quantiles": 0}, "'n_quantiles' parameter"),
        ({"n_quantiles": 50, "subsample": 40}, "cannot be greater than the number of samples"),
        ({"subsample": 0}, "'subsample' parameter"),
        ({"random_state": "x", "n_quantiles": 9}, "'random_state' parameter"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused_in_the_words_of_sklearn(
    params: dict[str, Any], said: str, numbers: pd.DataFrame
) -> None:
    message = assert_both_refuse(QuantileTransformer(**params), numbers)
    assert message.startswith("QuantileTransformer on the columns ['a', 'b', 'rounded'")
    assert said in message


def test_table_gives_slope_and_middle() -> None:
    found = quantile_table(np.array([0.0, 2.0, 2.0, 3.0]), np.array([0.0, 0.25, 0.75, 1.0]))
    assert found[2].tolist() == [0.125, 0.0, 0.25, 0.0]
    assert found[3].tolist() == [0.0, 0.5, 0.5, 1.0]


@given(X=tables("numbers"), n=st.integers(1, 30), shape=st.sampled_from(SHAPES))
def test_any_table_of_numbers(X: pd.DataFrame, n: int, shape: str) -> None:
    with quiet():
        assert_parity(QuantileTransformer(n_quantiles=n, output_distribution=shape), X)
