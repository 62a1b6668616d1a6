"""What holds for each transformer of numbers, compared with scikit-learn's on one table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

from pipeline.preprocessing.engine import table
from pipeline.preprocessing.engine.program import Program
from tests.names import one_in
from tests.preprocessing.columns import BOOLEANS, NUMBERS, frame
from tests.preprocessing.parity import assert_both_refuse, assert_parity, close, quiet, sklearn_fit
from tests.strategies import tables

ROWS = 150
STANDARD = [StandardScaler(), StandardScaler(with_mean=False), StandardScaler(with_std=False)]
RANGES = [MinMaxScaler(), MinMaxScaler((-1, 3), clip=True), MaxAbsScaler()]
ROBUST = [RobustScaler(), RobustScaler(quantile_range=(1.0, 99.0), unit_variance=True)]
QUANTILES = [
    QuantileTransformer(n_quantiles=9),
    QuantileTransformer(n_quantiles=100, output_distribution="normal"),
    QuantileTransformer(n_quantiles=10, subsample=ROWS, random_state=0),
]
KEEP_MISSING = [*STANDARD, *RANGES, *ROBUST, *QUANTILES]
SPLINES = [
    SplineTransformer(handle_missing="zeros"),
    SplineTransformer(6, 4, knots="quantile", extrapolation="linear", handle_missing="zeros"),
    SplineTransformer(6, extrapolation="periodic", handle_missing="zeros"),
]
OF_ROWS = [Normalizer("l1"), Normalizer(), Normalizer("max"), Binarizer(threshold=0.5)]
PRODUCTS = [PolynomialFeatures(3), PolynomialFeatures(2, interaction_only=True, order="F")]
REFUSE_MISSING = [*OF_ROWS, *PRODUCTS]
EVERY = [*KEEP_MISSING, *SPLINES, *REFUSE_MISSING]
WITH_HOLES = [*KEEP_MISSING, *SPLINES]


@pytest.fixture
def numbers() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(3, 7, (ROWS, 3)), columns=["a", "b", "c"])
    X["rounded"] = X["a"].round()
    X["mostly zero"] = np.where(np.arange(ROWS) % 5 == 0, X["a"], 0.0)
    X["int"] = rng.integers(-4, 9, ROWS)
    X.loc[5] = 0.0
    return X


@pytest.mark.parametrize("estimator", KEEP_MISSING, ids=repr)
def test_missing_values_stay_missing(estimator: Any, numbers: pd.DataFrame) -> None:
    numbers.loc[::3, "a"] = np.nan
    numbers.loc[::4, "int"] = np.nan
    out = assert_parity(estimator, numbers).transform(numbers)
    assert np.isnan(out[::3, 0]).all()
    assert np.isnan(out).sum() == 50 + 38


@pytest.mark.parametrize("estimator", KEEP_MISSING, ids=repr)
def test_column_without_values(estimator: Any, numbers: pd.DataFrame) -> None:
    with quiet():
        program = assert_parity(estimator, numbers.assign(b=np.nan), new=numbers)
    if isinstance(estimator, MinMaxScaler | MaxAbsScaler):
        assert np.isnan(program.transform(numbers)[:, 1]).all()


@pytest.mark.parametrize("estimator", [*STANDARD, *RANGES, *ROBUST, *OF_ROWS, *PRODUCTS], ids=repr)
def test_one_row(estimator: Any, numbers: pd.DataFrame) -> None:
    assert_parity(estimator, numbers[:1], new=numbers)


@pytest.mark.parametrize("n_blocks", one_in(3, [7, 2, 64]))
@pytest.mark.parametrize("estimator", [e for e in EVERY if e not in STANDARD], ids=repr)
def test_result_does_not_depend_on_the_blocks(
    estimator: Any, n_blocks: int, numbers: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    if estimator in WITH_HOLES:
        numbers.loc[:100, "a"] = np.nan
    whole = Program(estimator, "float64").fit_transform(numbers)
    monkeypatch.setattr(table, "CHUNK_ROWS", -(-ROWS // n_blocks))
    np.testing.assert_array_equal(assert_parity(estimator, numbers).transform(numbers), whole)


@pytest.mark.parametrize("dtype", ["float64", "int64", "uint8", "bool"])
@pytest.mark.parametrize("estimator", EVERY, ids=repr)
def test_arrays(estimator: Any, numbers: pd.DataFrame, dtype: str) -> None:
    if comparable(estimator, dtype):
        assert_parity(estimator, numbers.abs().to_numpy().astype(dtype))


@pytest.mark.parametrize("estimator", EVERY, ids=repr)
def test_frame_without_string_names(estimator: Any, numbers: pd.DataFrame) -> None:
    assert_parity(estimator, numbers.set_axis(range(6), axis=1))


@pytest.mark.parametrize("estimator", EVERY, ids=repr)
def test_after_another_step(estimator: Any, numbers: pd.DataFrame) -> None:
    numbers.loc[::3, "a"] = np.nan
    assert_parity(make_pipeline(SimpleImputer(), estimator, StandardScaler()), numbers)


def comparable(estimator: Any, kind: str) -> bool:
    """Return whether scikit-learn takes a kind of column, and computes it as exactly."""
    if kind == "float32, missing":
        return estimator in STANDARD
    if kind == "huge int":
        return estimator not in SPLINES
    return estimator is not SPLINES[1] or "bool" not in kind


@pytest.mark.parametrize("kind", NUMBERS | BOOLEANS)
@pytest.mark.parametrize("estimator", EVERY, ids=repr)
def test_kinds_of_columns(estimator: Any, kind: str) -> None:
    if "missing" in kind and estimator in REFUSE_MISSING:
        assert "holds missing values" in assert_both_refuse(estimator, frame(kind))
    elif comparable(estimator, kind):
        assert_parity(estimator, frame(kind))


@pytest.mark.parametrize("estimator", EVERY, ids=repr)
def test_float32_is_computed_in_float64(estimator: Any, numbers: pd.DataFrame) -> None:
    X = numbers.to_numpy("float32")
    close(
        Program(estimator, "float64").fit_transform(X),
        sklearn_fit(estimator, X.astype("float64"))[1],
    )


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize(
    "estimator",
    [*KEEP_MISSING, *REFUSE_MISSING, SplineTransformer(), KBinsDiscretizer(), PowerTransformer()],
    ids=repr,
)
def test_infinity_is_refused_like_in_sklearn(
    estimator: Any, value: float, numbers: pd.DataFrame
) -> None:
    numbers.loc[3, "b"] = value
    assert assert_both_refuse(estimator, numbers) == (
        "column 'b' holds infinite values; replace them by numbers or by missing values "
        "(the first is in row 3)"
    )


@pytest.mark.parametrize("estimator", [*STANDARD, *RANGES, *ROBUST, *OF_ROWS], ids=repr)
@given(X=tables("numbers"))
def test_any_table_of_numbers(estimator: Any, X: pd.DataFrame) -> None:
    if estimator in STANDARD:  # sums of integers near 2**62 round, in another order
        X = X.clip(-(2**40), 2**40)
    with quiet():
        assert_parity(estimator, X.fillna(1.5) if estimator in OF_ROWS else X)
