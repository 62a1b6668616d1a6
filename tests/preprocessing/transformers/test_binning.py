from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer

from pipeline.errors import DataError, Unsupported
from pipeline.preprocessing.engine import table
from pipeline.preprocessing.engine.program import Program
from tests.names import one_in
from tests.preprocessing.columns import frame
from tests.preprocessing.parity import (
    assert_both_refuse,
    assert_handed_over,
    close,
    dense,
    quiet,
    sklearn_fit,
)
from tests.preprocessing.statistics.test_quantiles import METHODS
from tests.strategies import tables

ROWS = 150
ENCODINGS = ["onehot", "onehot-dense", "ordinal"]
STRATEGIES = ["uniform", "quantile"]
BINNERS = [
    *(KBinsDiscretizer(4, encode=e, strategy=s) for e in ENCODINGS for s in STRATEGIES),
    *(KBinsDiscretizer(quantile_method=method, encode="ordinal") for method in METHODS),
    KBinsDiscretizer(2, encode="ordinal", strategy="uniform", dtype=np.float32),
    KBinsDiscretizer(64, encode="ordinal", dtype=np.float64),
    KBinsDiscretizer([2, 3, 4, 5, 6, 7]),
    KBinsDiscretizer(np.array([9, 2, 9, 2, 9, 2]), strategy="uniform"),
    KBinsDiscretizer(subsample=None),
    KBinsDiscretizer(subsample=ROWS, random_state=0),
]


def assert_parity(estimator: Any, X: Any, new: Any = None, dtype: str = "float64") -> Program:
    """Compare as `parity.assert_parity` does, and the edges column by column."""
    new = X if new is None else new
    reference, expected = sklearn_fit(estimator, X)
    program = Program(estimator, dtype)
    close(program.fit_transform(X), expected, dtype)
    with quiet():
        close(program.transform(new), dense(reference.transform(new)), dtype)
    plain = program.to_sklearn()
    last = plain[-1] if isinstance(plain, Pipeline) else plain
    assert last.bin_edges_.dtype == object
    assert_handed_over(with_list(plain), with_list(reference), new)
    return program


def with_list(fitted: Any) -> Any:
    """Return a copy with the edges as a list of arrays, not an array of arrays."""
    fitted = deepcopy(fitted)
    last = fitted[-1] if isinstance(fitted, Pipeline) else fitted
    last.bin_edges_ = list(last.bin_edges_)
    return fitted


@pytest.fixture
def numbers() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(3, 7, (ROWS, 2)), columns=["a", "b"])
    X["rounded"] = X["a"].round()
    X["constant"] = 0.1
    X["mostly zero"] = np.where(np.arange(ROWS) % 5 == 0, X["a"], 0.0)
    X["int"] = rng.integers(0, 9, ROWS)
    return X


@pytest.mark.parametrize("binner", BINNERS, ids=repr)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_equals_sklearn(binner: Any, numbers: pd.DataFrame, dtype: str) -> None:
    new = pd.concat([numbers[:20] * 3, numbers - 1e-9], ignore_index=True)
    assert_parity(binner, numbers, new=new, dtype=dtype)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("encode", ENCODINGS)
def test_values_on_the_edges_go_where_sklearn_puts_them(strategy: str, encode: str) -> None:
    X = pd.DataFrame({"x": np.arange(13.0), "y": np.arange(13.0) / 10})
    assert_parity(KBinsDiscretizer(4, encode=encode, strategy=strategy), X)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", [0, 1])
def test_above_subsample_the_same_rows_are_drawn(
    strategy: str, seed: int, numbers: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "CHUNK_ROWS", 40)
    estimator = KBinsDiscretizer(6, strategy=strategy, subsample=30, random_state=seed)
    assert_parity(estimator, numbers)
    everything = Program(estimator.set_params(subsample=None)).fit(numbers).to_sklearn()
    drawn = Program(estimator.set_params(subsample=30)).fit(numbers).to_sklearn()
    assert drawn.bin_edges_[0][0] != everything.bin_edges_[0][0]


def test_generator_draws_as_in_sklearn_and_is_not_used_up(numbers: pd.DataFrame) -> None:
    generator = np.random.RandomState(3)
    estimator = KBinsDiscretizer(6, subsample=30, random_state=generator)
    expected = sklearn_fit(estimator, numbers)[1]
    for _ in range(2):
        close(Program(estimator, "float64").fit_transform(numbers), expected)
    assert generator.random_sample() == np.random.RandomState(3).random_sample()


@pytest.mark.parametrize("n_blocks", one_in(3, [7, 2, 64]))
@pytest.mark.parametrize("binner", BINNERS, ids=repr)
def test_result_does_not_depend_on_the_blocks(
    binner: Any, n_blocks: int, numbers: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Program(binner, "float64").fit_transform(numbers)
    monkeypatch.setattr(table, "CHUNK_ROWS", -(-ROWS // n_blocks))
    cut = assert_parity(binner, numbers).transform(numbers)
    np.testing.assert_array_equal(cut, whole)


def test_columns_of_equal_counts_have_their_own_edges(numbers: pd.DataFrame) -> None:
    found = assert_parity(KBinsDiscretizer(4), numbers).to_sklearn()
    assert found.n_bins_.tolist()[:2] == [4, 4]
    assert found.n_bins_[3] == 1
    assert found.n_bins_[4] < 4
    assert found.bin_edges_[3].tolist() == [-np.inf, np.inf]


@pytest.mark.parametrize("encode", ENCODINGS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_one_row(encode: str, strategy: str, numbers: pd.DataFrame) -> None:
    assert_parity(KBinsDiscretizer(encode=encode, strategy=strategy), numbers[:1], new=numbers)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_large_offset(strategy: str, numbers: pd.DataFrame) -> None:
    assert_parity(KBinsDiscretizer(strategy=strategy), numbers + 1e9)


@pytest.mark.parametrize("encode", ENCODINGS)
@pytest.mark.parametrize("kind", ["int", "negative int", "uint8", "float"])
def test_kinds_of_columns(kind: str, encode: str) -> None:
    assert_parity(KBinsDiscretizer(3, encode=encode), frame(kind))


@pytest.mark.parametrize("kind", ["Int64", "arrow int", "bool"])
def test_kinds_of_columns_that_sklearn_does_not_take(kind: str) -> None:
    X, estimator = frame(kind), KBinsDiscretizer(3, encode="ordinal")
    with pytest.raises((TypeError, ValueError)), quiet():
        estimator.fit_transform(X)
    expected = sklearn_fit(estimator, X.astype("float64"))[1]
    close(Program(estimator, "float64").fit_transform(X), expected)


def test_integers_that_are_one_float_have_no_bins() -> None:
    X = frame("huge int")
    assert_parity(KBinsDiscretizer(3, encode="ordinal"), X)
    with pytest.raises(DataError, match="so no bin is left"):
        Program(KBinsDiscretizer(3)).fit(X)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8"])
@pytest.mark.parametrize("method", ["linear", "averaged_inverted_cdf", "hazen"])
def test_arrays(dtype: str, method: str, numbers: pd.DataFrame) -> None:
    X = numbers.to_numpy().astype(dtype)
    assert_parity(KBinsDiscretizer(quantile_method=method), X)
    assert_parity(KBinsDiscretizer(encode="ordinal", strategy="uniform"), X)


def test_float32_output_bins_rounded_values() -> None:
    # Rounded to float32, a hair below an edge is the edge.
    X = np.array([[0.0], [2.0], [1.0 - 1e-12]])
    estimator = KBinsDiscretizer(2, encode="ordinal", strategy="uniform", dtype=np.float32)
    assert assert_parity(estimator, X).transform(X).ravel().tolist() == [0.0, 1.0, 1.0]


def test_frame_without_string_names(numbers: pd.DataFrame) -> None:
    assert_parity(KBinsDiscretizer(), numbers.set_axis(range(6), axis=1))


def test_after_another_step(numbers: pd.DataFrame) -> None:
    numbers.loc[::3, "a"] = np.nan
    assert_parity(make_pipeline(SimpleImputer(), KBinsDiscretizer()), numbers)


def test_missing_values_are_refused_like_in_sklearn(numbers: pd.DataFrame) -> None:
    numbers.loc[3, "b"] = np.nan
    message = assert_both_refuse(KBinsDiscretizer(), numbers)
    assert message.startswith("KBinsDiscretizer: column 'b' holds missing values")
    assert "SimpleImputer" in message


def test_missing_values_in_new_rows_are_refused(numbers: pd.DataFrame) -> None:
    program = Program(KBinsDiscretizer()).fit(numbers)
    with pytest.raises(DataError, match="column 'int' holds missing values"):
        program.transform(numbers.assign(int=np.nan))


def test_values_too_near_to_each_other_for_any_bin() -> None:
    X = pd.DataFrame({"x": [0.0, 1e-9, 2e-9], "y": [0.0, 1.0, 2.0]})
    program = assert_parity(KBinsDiscretizer(2, encode="ordinal"), X)
    assert program.to_sklearn().n_bins_.tolist() == [0, 2]
    with pytest.raises(DataError, match=r"columns \['x'\] hold values within 1e-08"):
        Program(KBinsDiscretizer(2)).fit(X)


def test_means_are_refused_with_the_way_out(numbers: pd.DataFrame) -> None:
    with pytest.raises(Unsupported) as caught:
        Program(KBinsDiscretizer(strategy="kmeans")).fit(numbers)
    (reason,) = caught.value.reasons
    assert reason.parameter == "strategy"
    assert "'quantile'" in reason.instead


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"n_bins": 1}, "'n_bins' parameter"),
        ({"n_bins": [2, 3]}, "n_bins must be a scalar or array of shape (n_features,)"),
        ({"n_bins": [2, 3, 4, 5, 1, 6]}, "invalid number of bins at indices 4"),
        ({"quantile_method": "lower"}, "'quantile_method' parameter"),
        ({"dtype": np.int32}, "'dtype' parameter"),
        ({"subsample": 0}, "'subsample' parameter"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused_in_the_words_of_sklearn(
    params: dict[str, Any], said: str, numbers: pd.DataFrame
) -> None:
    message = assert_both_refuse(KBinsDiscretizer(**params), numbers)
    assert message.startswith("KBinsDiscretizer on the columns ['a', 'b', 'rounded'")
    assert said in message


@given(X=tables("numbers"), strategy=st.sampled_from(STRATEGIES), n_bins=st.integers(2, 9))
def test_any_table_of_numbers(X: pd.DataFrame, strategy: str, n_bins: int) -> None:
    # Edges between integers near 2**62 are rounded to floats at another moment.
    X = X.fillna(0.0).clip(-(2**40), 2**40)
    assert_parity(KBinsDiscretizer(n_bins, strategy=strategy, encode="ordinal"), X)
    assert_parity(KBinsDiscretizer(n_bins, strategy=strategy), X, new=X[::-1])
