"""What holds for each transformer of numbers, compared with scikit-learn's on one table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from scipy.sparse import issparse
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from pipeline.compile.program import Program
from pipeline.errors import DataError
from tests.names import one_in, plain
from tests.strategies import tables
from tests.twins.cases import (
    BEST,
    BINS,
    CASES,
    CORE,
    IMPUTERS,
    KEEP_MISSING,
    MORE,
    OF_ROWS,
    RANGES,
    REFUSE_MISSING,
    ROBUST,
    ROWS,
    STANDARD,
    TAKE_MISSING,
    VARIANCES,
    around,
    holes,
    numbers,
    target,
)
from tests.twins.columns import BOOLEANS, NUMBERS, frame
from tests.twins.parity import assert_both_refuse, assert_parity, cut, quiet, sklearn_fit


def table_for(estimator: Any) -> pd.DataFrame:
    """Return missing values where they are taken."""
    return numbers() if estimator in REFUSE_MISSING else holes()


@pytest.mark.quick(39)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("estimator", CORE, ids=plain)
def test_equals_sklearn(estimator: Any, dtype: str) -> None:
    X = numbers()
    assert_parity(estimator, X, target(estimator), around(X), dtype)


@pytest.mark.quick(33)
@pytest.mark.parametrize("estimator", MORE, ids=plain)
def test_other_parameters_equal_sklearn(estimator: Any) -> None:
    X = holes() if isinstance(estimator, SimpleImputer) else numbers()
    X = X.assign(empty=np.nan) if isinstance(estimator, SimpleImputer) else X
    assert_parity(estimator, X, target(estimator), around(X))


@pytest.mark.parametrize(
    "estimator", [e for e in (*KEEP_MISSING, *TAKE_MISSING) if e not in ROBUST], ids=plain
)
def test_columns_may_hold_no_value(estimator: Any) -> None:
    X = holes().assign(b=np.nan)
    with quiet():
        program = assert_parity(estimator, X)
        assert_parity(estimator, X, new=numbers())
    if estimator in RANGES:
        assert np.isnan(program.transform(numbers())[:, 1]).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", REFUSE_MISSING, ids=plain)
def test_missing_values_are_refused_like_in_sklearn(estimator: Any) -> None:
    X, y = numbers(), target(estimator)
    fitted = Program(estimator).fit(X, y)
    X.loc[140, "b"] = np.nan
    assert assert_both_refuse(estimator, X, y) == (
        f"Input X contains NaN.\n{type(estimator).__name__}: column 'b' holds missing values "
        "(NaN), which it does not support; impute them before this step (SimpleImputer)"
    )
    for act in (fitted.transform, lambda X: Program(estimator).fit(X, y)):
        with pytest.raises(DataError, match="column 'b' holds missing values"):
            act(X)
    assert "column 1 holds" in assert_both_refuse(estimator, X.to_numpy(), y)


@pytest.mark.quick(23)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_blocks", one_in(3, [7, 2, 64]))
@pytest.mark.parametrize("estimator", CORE, ids=plain)
def test_result_does_not_depend_on_the_blocks(
    estimator: Any, n_blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = table_for(estimator), target(estimator)
    whole = Program(estimator, "float64").fit_transform(X, y)
    cut(monkeypatch, ROWS, n_blocks)
    found = assert_parity(estimator, X, y).transform(X)
    # Sums of blocks are rounded in another order.
    digits = 1e-13 if estimator in (*STANDARD, *IMPUTERS) else 0
    np.testing.assert_allclose(found, whole, rtol=digits, atol=digits)


ABOVE = {type(estimator) for estimator in [*CORE, *MORE]}


@pytest.mark.parametrize("name", [name for name, (e, *_) in CASES.items() if type(e) not in ABOVE])
def test_other_classes_equal_sklearn_in_blocks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    estimator, X, y = CASES[name]
    cut(monkeypatch, ROWS, 7)
    assert_parity(estimator, X, y)


@pytest.mark.parametrize("dtype", one_in(2, ["bool", "uint8", "int64", "float64"]))
@pytest.mark.parametrize("estimator", CORE, ids=plain)
def test_arrays(estimator: Any, dtype: str) -> None:
    X = numbers().abs().to_numpy().astype(dtype)
    if dtype == "bool" and estimator in IMPUTERS[2:]:
        assert "bool" in assert_both_refuse(estimator, X)
    elif comparable(estimator, dtype):
        with quiet():
            assert_parity(estimator, X, target(estimator))


@pytest.mark.quick(28)
@pytest.mark.parametrize("estimator", CORE, ids=plain)
def test_between_other_steps(estimator: Any) -> None:
    steps = (SimpleImputer(), estimator, StandardScaler(with_mean=False))
    assert_parity(make_pipeline(*steps), holes(), target(estimator))


def comparable(estimator: Any, kind: str) -> bool:
    """Return whether scikit-learn takes a kind of column, and computes it as exactly."""
    if kind == "float32, missing":
        return estimator in (*STANDARD, IMPUTERS[0], IMPUTERS[2], IMPUTERS[3])
    if kind == "huge int":
        return estimator not in (*IMPUTERS[:2], *BINS, *VARIANCES)
    if estimator is BEST[0]:  # scikit-learn adds up small integers as such
        return kind not in ("bool", "uint8")
    of_more_values = (VARIANCES[1], *BINS)
    return estimator not in of_more_values or "bool" not in kind


ALONE = [e for e in CORE if e not in (*BINS, *BEST, *IMPUTERS)]


@pytest.mark.quick(79)
@pytest.mark.parametrize("kind", one_in(3, NUMBERS | BOOLEANS))
@pytest.mark.parametrize("estimator", ALONE, ids=plain)
def test_kinds_of_columns(estimator: Any, kind: str) -> None:
    X = frame(kind)
    if estimator in VARIANCES:
        X = X.assign(other=np.arange(len(X)) % 90)
    if "missing" in kind and estimator in REFUSE_MISSING:
        assert "holds missing values" in assert_both_refuse(estimator, X)
    elif comparable(estimator, kind):
        assert_parity(estimator, X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", CORE, ids=plain)
def test_float32_is_computed_as_in_sklearn(estimator: Any) -> None:
    X, y = table_for(estimator).to_numpy("float32"), target(estimator)
    reference, _ = sklearn_fit(estimator, X, y)
    program = Program(estimator)
    trained = program.fit_transform(X, y)
    lifted = program.to_sklearn()
    types = {name: getattr(value, "dtype", None) for name, value in vars(reference).items()}
    found = {name: getattr(value, "dtype", None) for name, value in vars(lifted).items()}
    assert found == types
    with quiet():
        expected = lifted.transform(X)
    expected = expected.toarray() if issparse(expected) else expected
    assert trained.dtype == expected.dtype
    if estimator in OF_ROWS[:2]:  # which SciPy and NumPy add up in another order
        np.testing.assert_allclose(trained, expected, rtol=1e-6, atol=1e-6)
    else:
        np.testing.assert_array_equal(trained, expected)


@pytest.mark.parametrize("value", one_in(2, [-np.inf, np.inf]))
@pytest.mark.parametrize(
    "estimator",
    [*CORE, PowerTransformer()],
    ids=plain,
)
def test_infinity_is_refused_like_in_sklearn(estimator: Any, value: float) -> None:
    X = numbers()
    X.loc[3, "b"] = value
    assert assert_both_refuse(estimator, X, target(estimator)) == (
        "column 'b' holds infinite values; replace them with numbers or missing values "
        "(the first is in row 3)"
    )


@pytest.mark.parametrize("estimator", [e for e in CORE if e not in IMPUTERS[2:]], ids=plain)
def test_text_is_refused_with_the_way_out(estimator: Any) -> None:
    X = numbers().assign(t=pd.Series(["x", "y", "z"] * 50))
    message = assert_both_refuse(estimator, X, target(estimator))
    assert message.startswith("column 't' holds str values, but numbers are needed")
    assert "OneHotEncoder" in message


REFUSED: list[tuple[Any, str]] = [
    (MinMaxScaler((1, 1)), "Minimum of desired feature range must be smaller"),
    (MaxAbsScaler(clip=2), "'clip' parameter"),
    (RobustScaler(quantile_range=(75.0, 25.0)), "Invalid quantile range"),
    (Normalizer("l3"), "'norm' parameter"),
    (QuantileTransformer(n_quantiles=50, subsample=40), "cannot be greater than the number of"),
    (KBinsDiscretizer([2, 3]), "n_bins must be a scalar or array of shape (n_features,)"),
    (KBinsDiscretizer(quantile_method="lower"), "'quantile_method' parameter"),
    (PowerTransformer(standardize="yes"), "'standardize' parameter"),
    (PolynomialFeatures((3, 2)), "degree"),
    (PolynomialFeatures(0, include_bias=False), "would result in an empty output array"),
    (VarianceThreshold(-1), "'threshold' parameter"),
    (SelectKBest(k="some"), "'k' parameter"),
    (SimpleImputer(strategy="constant", fill_value="x"), "fill_value='x'"),
]


@pytest.mark.parametrize(("estimator", "said"), REFUSED, ids=plain)
def test_bad_parameters_are_refused_in_the_words_of_sklearn(estimator: Any, said: str) -> None:
    message = assert_both_refuse(estimator, numbers(), target(estimator))
    where = f"\nin {type(estimator).__name__}, the columns ['a', 'b', 'c'"
    assert message.startswith("estimator: The ") or where in message
    assert said in message


ANY = [*STANDARD, *RANGES, *ROBUST, *OF_ROWS, VARIANCES[0], BINS[1], *BINS[2:]]


@pytest.mark.quick(3)
@pytest.mark.parametrize("estimator", ANY, ids=plain)
@given(X=tables("numbers"))
def test_any_table_of_numbers(estimator: Any, X: pd.DataFrame) -> None:
    # Sums of integers near 2**62, and edges between them, are rounded in another order.
    X = X if estimator in (*RANGES, *ROBUST, *OF_ROWS) else X.clip(-(2**40), 2**40)
    if estimator in VARIANCES:
        X = X.assign(other=np.arange(len(X)) % 2) if len(X) > 1 else numbers()
    X = X.fillna(1.5) if estimator in REFUSE_MISSING else X
    if estimator in ROBUST:  # which leave columns without a value to scikit-learn's own
        X = X.fillna({name: 1.5 for name in X if X[name].isna().all()})
    with quiet():
        assert_parity(estimator, X, new=X[::-1])
