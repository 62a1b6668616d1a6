"""What is special to quantiles and bins; what all transformers share is in `test_parity`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, QuantileTransformer, StandardScaler

from pipeline.errors import DataError
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.transformers.quantile import quantile_table
from tests.preprocessing.cases import ROWS, numbers
from tests.preprocessing.columns import frame
from tests.preprocessing.parity import assert_parity, close, cut, quiet, sklearn_fit
from tests.strategies import tables

SHAPES = ["uniform", "normal"]
ENCODINGS = ["onehot", "onehot-dense", "ordinal"]
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


@pytest.mark.parametrize(
    ("known", "new", "expected"),
    [
        ([0.0, 1.0, 1.0, 1.0, 2.0], [0.0, 1.0, 2.0], [0.0, 0.5, 1.0]),
        ([0.0, 0.0, 1.0, 2.0, 2.0], [-1.0, 0.0, 2.0, 3.0], [0.0, 0.0, 1.0, 1.0]),
    ],
    ids=["the middle of its ranks", "extremes are the ends"],
)
def test_values_that_rows_share(known: list[float], new: list[float], expected: Any) -> None:
    X = np.array(known)[:, None]
    program = assert_parity(QuantileTransformer(n_quantiles=5), X, new=np.array(new)[:, None])
    assert program.transform(np.array(new)[:, None]).ravel().tolist() == expected


def test_normal_ends_are_finite() -> None:
    estimator = QuantileTransformer(n_quantiles=10, output_distribution="normal")
    out = assert_parity(estimator, numbers(), new=numbers() * 1e6).transform(numbers() * 1e6)
    assert 5.1 < np.abs(out).max() < 5.2


def test_fewer_rows_than_quantiles() -> None:
    assert assert_parity(QuantileTransformer(), numbers()).to_sklearn().n_quantiles_ == ROWS


def test_table_gives_slope_and_middle() -> None:
    found = quantile_table(np.array([0.0, 2.0, 2.0, 3.0]), np.array([0.0, 0.25, 0.75, 1.0]))
    assert found[2].tolist() == [0.125, 0.0, 0.25, 0.0]
    assert found[3].tolist() == [0.0, 0.5, 0.5, 1.0]


@given(X=tables("numbers"), n=st.integers(1, 30), shape=st.sampled_from(SHAPES))
def test_any_table_of_numbers(X: pd.DataFrame, n: int, shape: str) -> None:
    with quiet():
        assert_parity(QuantileTransformer(n_quantiles=n, output_distribution=shape), X)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("encode", ENCODINGS)
def test_values_on_the_edges_go_where_sklearn_puts_them(strategy: str, encode: str) -> None:
    X = pd.DataFrame({"x": np.arange(13.0), "y": np.arange(13.0) / 10})
    assert_parity(KBinsDiscretizer(4, encode=encode, strategy=strategy), X)


@pytest.mark.parametrize("encode", ENCODINGS)
@pytest.mark.parametrize("kind", ["int", "negative int", "uint8", "float"])
def test_kinds_of_columns(kind: str, encode: str) -> None:
    assert_parity(KBinsDiscretizer(3, encode=encode), frame(kind))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["Int64", "arrow int", "bool"])
def test_kinds_of_columns_that_sklearn_does_not_take(kind: str) -> None:
    X, estimator = frame(kind), KBinsDiscretizer(3, encode="ordinal")
    with pytest.raises((TypeError, ValueError)), quiet():
        estimator.fit_transform(X)
    expected = sklearn_fit(estimator, X.astype("float64"))[1]
    close(Program(estimator, "float64").fit_transform(X), expected)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("method", ["linear", "averaged_inverted_cdf", "hazen"])
def test_types_of_arrays(dtype: str, method: str) -> None:
    assert_parity(KBinsDiscretizer(quantile_method=method), numbers().to_numpy().astype(dtype))


def test_float32_output_bins_rounded_values() -> None:
    # Rounded to float32, a hair below an edge is the edge.
    X = np.array([[0.0], [2.0], [1.0 - 1e-12]])
    estimator = KBinsDiscretizer(2, encode="ordinal", strategy="uniform", dtype=np.float32)
    assert assert_parity(estimator, X).transform(X).ravel().tolist() == [0.0, 1.0, 1.0]


@pytest.mark.filterwarnings("ignore")
def test_integers_that_are_one_float_have_no_bins() -> None:
    X = frame("huge int")
    assert_parity(KBinsDiscretizer(3, encode="ordinal"), X)
    with pytest.raises(DataError, match="so no bin is left"):
        Program(KBinsDiscretizer(3)).fit(X)


@pytest.mark.filterwarnings("ignore")
def test_values_too_near_to_each_other_for_any_bin() -> None:
    X = pd.DataFrame({"x": [0.0, 1e-9, 2e-9], "y": [0.0, 1.0, 2.0]})
    program = assert_parity(KBinsDiscretizer(2, encode="ordinal"), X)
    assert program.to_sklearn().n_bins_.tolist() == [0, 2]
    with pytest.raises(DataError, match=r"columns \['x'\] hold values within 1e-08"):
        Program(KBinsDiscretizer(2)).fit(X)


@given(X=tables("numbers"), strategy=st.sampled_from(STRATEGIES), n_bins=st.integers(2, 9))
def test_bins_of_any_table(X: pd.DataFrame, strategy: str, n_bins: int) -> None:
    # Edges between integers near 2**62 are rounded to floats at another moment.
    X = X.fillna(0.0).clip(-(2**40), 2**40)
    assert_parity(KBinsDiscretizer(n_bins, strategy=strategy, encode="ordinal"), X)
    assert_parity(KBinsDiscretizer(n_bins, strategy=strategy), X, new=X[::-1])


def test_float32_that_rounds_to_an_extreme_is_sent_there() -> None:
    X = np.repeat(np.arange(97, dtype="float32"), 3)[:, None] + 3
    estimator = QuantileTransformer(n_quantiles=291, output_distribution="normal")
    found = Program(make_pipeline(estimator, StandardScaler())).fit_transform(X)
    expected = make_pipeline(estimator, StandardScaler()).fit_transform(X)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
