from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, Normalizer, OneHotEncoder

from pipeline.errors import DataError
from pipeline.preprocessing.engine.blocks import Numbers
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.transformers.scalers import (
    BinarizerTwin,
    NormalizerTwin,
    require_finite,
)
from tests.preprocessing.parity import (
    assert_both_refuse,
    assert_parity,
)

SPECS: list[Any] = [
    Normalizer(),
    Normalizer("l1"),
    Normalizer("max"),
    Binarizer(),
    Binarizer(threshold=2.5),
    Binarizer(threshold=-1),
]
NORMS = SPECS[:3]
ROWS = 150


@pytest.fixture
def numbers() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(1, 4, (ROWS, 3)), columns=["a", "b", "c"])
    X["int"] = rng.integers(-4, 9, ROWS)
    X.loc[5] = 0
    return X


@pytest.mark.parametrize("estimator", SPECS, ids=repr)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_equals_sklearn(estimator: Any, numbers: pd.DataFrame, dtype: str) -> None:
    assert_parity(estimator, numbers, new=numbers[:9] * -3, dtype=dtype)


@pytest.mark.parametrize("estimator", SPECS, ids=repr)
def test_one_row_and_one_column(estimator: Any, numbers: pd.DataFrame) -> None:
    assert_parity(estimator, numbers[:1], new=numbers)
    assert_parity(estimator, numbers[["b"]])


@pytest.mark.parametrize("estimator", SPECS, ids=repr)
@pytest.mark.parametrize("offset", [1e9, -1e15, 1e300])
def test_large_offset(estimator: Any, numbers: pd.DataFrame, offset: float) -> None:
    if offset == 1e300 and estimator.get_params().get("norm") == "l2":
        # The squares overflow in scikit-learn and here: the norm is infinite.
        with np.errstate(over="ignore"):
            assert_parity(estimator, numbers + offset)
    else:
        assert_parity(estimator, numbers + offset)


@pytest.mark.parametrize("estimator", NORMS, ids=repr)
@pytest.mark.parametrize(("size", "kept"), [(0.0, True), (1e-15, True), (1e-12, False)])
def test_tiny_rows_stay(estimator: Any, size: float, kept: bool) -> None:
    X = np.array([[size, -size / 4], [1.0, 2.0]])
    out = assert_parity(estimator, X).transform(X)
    assert (out[0, 0] == size) == kept


@pytest.mark.parametrize("threshold", [0.1, np.float64(0.1), 0])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool"])
def test_values_at_the_threshold(threshold: Any, dtype: str) -> None:
    X = np.array([[0.1, np.nextafter(0.1, 1)], [0.0, 1.0]]).astype(dtype)
    assert_parity(Binarizer(threshold=threshold), X)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "bool"])
def test_zeros_and_ones_have_the_type_of_the_block(dtype: str) -> None:
    twin = BinarizerTwin(Binarizer())
    twin.finalize(1)
    assert twin.apply(Numbers(np.ones((2, 1), dtype=dtype))).values.dtype == dtype


def test_an_encoder_after_the_binarizer_sees_what_it_sees_in_sklearn(
    numbers: pd.DataFrame,
) -> None:
    assert_parity(make_pipeline(Binarizer(), OneHotEncoder()), numbers)
    assert_parity(make_pipeline(Binarizer(), OneHotEncoder()), numbers[["int"]])


@pytest.mark.parametrize("estimator", SPECS, ids=repr)
def test_missing_values_are_refused_like_in_sklearn(estimator: Any, numbers: pd.DataFrame) -> None:
    numbers.loc[140, "b"] = np.nan
    assert assert_both_refuse(estimator, numbers) == (
        f"{type(estimator).__name__}: column 'b' holds missing values (NaN), which it does not "
        f"take; "
        "impute them before this step (SimpleImputer)"
    )
    with pytest.raises(DataError, match="column 'b' holds missing values"):
        Program(estimator).fit(numbers)
    with pytest.raises(DataError, match="column 'b' holds missing values"):
        Program(estimator).fit(numbers[:50]).transform(numbers)
    assert "column 1 holds" in assert_both_refuse(estimator, numbers.to_numpy())


def test_infinity_made_by_an_earlier_step_is_refused() -> None:
    twin = NormalizerTwin(Normalizer())
    with pytest.raises(DataError, match="Normalizer: column 1 holds infinite values"):
        require_finite(twin, np.array([[1.0, -np.inf], [2.0, 3.0]]))


def test_finite_values_whose_sum_is_not_are_taken() -> None:
    require_finite(NormalizerTwin(Normalizer()), np.full((9, 1), 1e308))


@pytest.mark.parametrize(
    ("estimator", "parameter"),
    [(Normalizer("l3"), "norm"), (Binarizer(threshold="1"), "threshold")],
)
def test_bad_parameter_is_refused(estimator: Any, parameter: str, numbers: pd.DataFrame) -> None:
    message = assert_both_refuse(estimator, numbers)
    assert message.startswith(f"{type(estimator).__name__} on the columns ['a', 'b', 'c', 'int']: ")
    assert f"{parameter!r} parameter" in message
