from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from sklearn.feature_selection import VarianceThreshold

from pipeline.errors import DataError
from pipeline.preprocessing.engine import table
from pipeline.preprocessing.engine.blocks import Numbers
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.transformers.feature_selection import VarianceThresholdTwin
from tests.preprocessing.columns import BOOLEANS, NUMBERS, frame
from tests.preprocessing.parity import assert_both_refuse, assert_parity, quiet
from tests.strategies import tables

ROWS = 150
THRESHOLDS = [0, 0.0, 1e-9, 0.2, np.float64(2.0), 50]


@pytest.fixture
def numbers() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(1, [0.3, 1, 9], (ROWS, 3)), columns=["a", "b", "c"])
    X["constant"] = 0.5
    X["int"] = rng.integers(-4, 9, ROWS)
    X["flag"] = (np.arange(ROWS) % 5 == 0).astype(float)
    return X


def in_blocks(monkeypatch: pytest.MonkeyPatch, n_blocks: int) -> None:
    monkeypatch.setattr(table, "CHUNK_ROWS", -(-ROWS // n_blocks))


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_variance_equals_sklearn(threshold: Any, dtype: str, numbers: pd.DataFrame) -> None:
    assert_parity(VarianceThreshold(threshold), numbers, new=numbers[:7] * 2, dtype=dtype)


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_missing_values_count_for_nothing(threshold: Any, numbers: pd.DataFrame) -> None:
    numbers.loc[::3, ["a", "c", "constant"]] = np.nan
    assert_parity(VarianceThreshold(threshold), numbers)


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_column_without_values_is_dropped(threshold: Any, numbers: pd.DataFrame) -> None:
    estimator = VarianceThreshold(threshold)
    program = assert_parity(estimator, numbers.assign(b=np.nan))
    assert "b" not in program.to_sklearn().get_feature_names_out()


@pytest.mark.parametrize("n_blocks", [1, 2, 7, 64])
@pytest.mark.parametrize("value", [0.1, 1e9 / 3, -7e-9, 1e16 / 7])
@pytest.mark.parametrize("hole", [False, True])
def test_constant_is_dropped_whatever_it_is(
    value: float, n_blocks: int, hole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = pd.DataFrame({"constant": np.full(ROWS, value), "other": np.arange(ROWS) % 7})
    X.loc[3 if hole else ROWS, "constant"] = np.nan
    X = X[:ROWS].astype({"other": float})
    in_blocks(monkeypatch, n_blocks)
    program = Program(VarianceThreshold(), "float64").fit(X)
    assert program.to_sklearn().get_feature_names_out().tolist() == ["other"]
    assert program.to_sklearn().variances_[0] == 0.0


def test_range_counts_where_it_is_less_than_the_variance() -> None:
    X = pd.DataFrame({"wide": [0.0, 100.0, 50.0], "hole": [0.0, np.nan, 90.0]})
    assert assert_parity(VarianceThreshold(), X).to_sklearn().variances_[0] == 100.0
    assert assert_parity(VarianceThreshold(1.0), X).to_sklearn().variances_[0] > 1000.0


def test_variance_beside_a_large_offset(numbers: pd.DataFrame) -> None:
    X = numbers.drop(columns="constant") + 1e9
    program = assert_parity(VarianceThreshold(0.01), X)
    exact = (X - 1e9).var(ddof=0)
    np.testing.assert_allclose(program.to_sklearn().variances_, exact, rtol=1e-12)


@pytest.mark.parametrize("n_blocks", [2, 7, 64])
@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_variance_does_not_depend_on_the_blocks(
    threshold: Any, n_blocks: int, numbers: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers.loc[:70, "a"] = np.nan
    whole = Program(VarianceThreshold(threshold)).fit(numbers).to_sklearn()
    in_blocks(monkeypatch, n_blocks)
    cut = assert_parity(VarianceThreshold(threshold), numbers).to_sklearn()
    np.testing.assert_allclose(cut.variances_, whole.variances_, rtol=1e-12)


@pytest.mark.parametrize("kind", NUMBERS | BOOLEANS)
def test_kinds_of_columns(kind: str) -> None:
    X = frame(kind).assign(other=np.arange(120) % 9)
    assert_parity(VarianceThreshold(), X)


def test_column_that_falls_together_as_floats_is_constant() -> None:
    X = frame("huge int").assign(other=np.arange(120))
    program = assert_parity(VarianceThreshold(), X)
    assert program.to_sklearn().get_feature_names_out().tolist() == ["other"]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool"])
def test_arrays(numbers: pd.DataFrame, dtype: str) -> None:
    assert_parity(VarianceThreshold(), numbers.to_numpy().clip(0).astype(dtype))


def test_values_and_types_pass_unchanged() -> None:
    X = np.array([[2**62 + 1, 5], [2**62 + 3, 5], [-3, 5]])
    twin = VarianceThresholdTwin(VarianceThreshold())
    twin.finalize(twin.statistics(Numbers(X)))
    out = twin.apply(Numbers(X)).values
    assert out.dtype == "int64"
    assert out.ravel().tolist() == [2**62 + 1, 2**62 + 3, -3]


@pytest.mark.parametrize("threshold", [1e6, 1e300, float("inf")])
def test_no_column_left_is_refused(threshold: float, numbers: pd.DataFrame) -> None:
    assert "VarianceThreshold" in assert_both_refuse(VarianceThreshold(threshold), numbers)


def test_no_column_left_names_the_way_out(numbers: pd.DataFrame) -> None:
    message = assert_both_refuse(VarianceThreshold(), numbers[["constant"]])
    assert message == (
        "VarianceThreshold: no column has a variance above 0.0, so none is left; "
        "lower the threshold, or leave the step out"
    )
    assert_both_refuse(VarianceThreshold(), numbers[:1])


@pytest.mark.parametrize("threshold", [-1, "a", None, float("nan")])
def test_bad_threshold_is_refused(threshold: Any, numbers: pd.DataFrame) -> None:
    message = assert_both_refuse(VarianceThreshold(threshold), numbers)
    assert message.startswith("VarianceThreshold on the columns ['a', ")
    assert "'threshold' parameter" in message


def test_infinity_is_refused_like_in_sklearn(numbers: pd.DataFrame) -> None:
    numbers.loc[3, "b"] = np.inf
    message = assert_both_refuse(VarianceThreshold(), numbers)
    assert "column 'b' holds infinite values" in message


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinity_made_by_an_earlier_step_is_refused(value: float) -> None:
    twin = VarianceThresholdTwin(VarianceThreshold())
    with pytest.raises(DataError, match="infinite values"), quiet():
        twin.finalize(twin.statistics(Numbers(np.array([[1.0, value], [2.0, 3.0]]))))


@given(X=tables("numbers"))
def test_variance_of_any_table(X: pd.DataFrame) -> None:
    # As for StandardScaler: sums of integers near 2**62 round in another order.
    X = X.clip(-(2**40), 2**40).assign(other=np.arange(len(X)) % 2)
    if len(X) > 1:
        assert_parity(VarianceThreshold(), X)
