"""What is special to quantiles and bins; what all transformers share is in `test_parity`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import KBinsDiscretizer, QuantileTransformer

from pipeline.compile.program import Program
from tests.strategies import tables
from tests.twins.cases import ROWS, numbers
from tests.twins.parity import assert_parity, close, cut, quiet

SHAPES = ["uniform", "normal"]
STRATEGIES = ["uniform", "quantile"]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    "estimator",
    [QuantileTransformer(n_quantiles=10), *(KBinsDiscretizer(6, strategy=s) for s in STRATEGIES)],
    ids=repr,
)
def test_above_subsample_the_same_rows_are_drawn(
    estimator: Any, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut(monkeypatch, ROWS, 4)

    def edges(**params: Any) -> list[float]:
        fitted = assert_parity(estimator.set_params(**params), numbers()).to_sklearn()
        found = fitted.quantiles_.T if hasattr(fitted, "quantiles_") else fitted.bin_edges_
        return list(found[0])

    assert edges(subsample=30, random_state=seed) != edges(subsample=None)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [QuantileTransformer, KBinsDiscretizer])
def test_a_generator_draws_on_as_in_sklearn(kind: Any) -> None:
    size = {"n_quantiles": 10} if kind is QuantileTransformer else {"encode": "ordinal"}
    plain, ours = (
        kind(**size, subsample=30, random_state=np.random.RandomState(3)) for _ in range(2)
    )
    for _ in range(2):
        expected = plain.fit_transform(numbers())
        close(Program(ours, "float64").fit_transform(numbers()), expected)
    assert ours.random_state.random_sample() == plain.random_state.random_sample()


def test_normal_ends_are_finite() -> None:
    estimator = QuantileTransformer(n_quantiles=10, output_distribution="normal")
    out = assert_parity(estimator, numbers(), new=numbers() * 1e6).transform(numbers() * 1e6)
    assert 5.1 < np.abs(out).max() < 5.2


@given(X=tables("numbers"), n=st.integers(1, 30), shape=st.sampled_from(SHAPES))
def test_any_table_of_numbers(X: pd.DataFrame, n: int, shape: str) -> None:
    with quiet():
        assert_parity(QuantileTransformer(n_quantiles=n, output_distribution=shape), X)


@pytest.mark.filterwarnings("ignore")
def test_values_too_near_to_each_other_for_any_bin() -> None:
    X = pd.DataFrame({"x": [0.0, 1e-9, 2e-9], "y": [0.0, 1.0, 2.0]})
    program = assert_parity(KBinsDiscretizer(2, encode="ordinal"), X)
    assert program.to_sklearn().n_bins_.tolist() == [0, 2]


@given(X=tables("numbers"), strategy=st.sampled_from(STRATEGIES), n_bins=st.integers(2, 9))
def test_bins_of_any_table(X: pd.DataFrame, strategy: str, n_bins: int) -> None:
    # Edges between integers near 2**62 are rounded to floats at another moment.
    X = X.fillna(0.0).clip(-(2**40), 2**40)
    assert_parity(KBinsDiscretizer(n_bins, strategy=strategy, encode="ordinal"), X)
    assert_parity(KBinsDiscretizer(n_bins, strategy=strategy), X, new=X[::-1])
