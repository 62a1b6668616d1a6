from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pipeline.errors import ConfigError, DataError
from pipeline.preprocessing.engine.program import Program
from tests.preprocessing.columns import BOOLEANS, MIXED, NUMBERS, OURS_ALONE, TEXT, frame
from tests.preprocessing.parity import assert_both_refuse, assert_parity, close, sklearn_fit
from tests.strategies import tables

STRATEGIES = ["mean", "median", "most_frequent", "constant"]
FREQUENT = ["most_frequent", "constant"]


def encoded(**params: Any) -> Any:
    """Text needs an encoder to become a matrix."""
    return make_pipeline(SimpleImputer(**params), OneHotEncoder(handle_unknown="ignore"))


@pytest.fixture
def numbers() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.integers(0, 5, 200), "c": 1.0})
    X.loc[::7, "a"] = np.nan
    X.loc[::3, "c"] = np.nan
    return X


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numbers_equal_sklearn(numbers: pd.DataFrame, strategy: str, dtype: str) -> None:
    new = pd.DataFrame({"a": [np.nan, 1], "b": [np.nan, 2], "c": [5.0, np.nan]})
    assert_parity(SimpleImputer(strategy=strategy), numbers, new=new, dtype=dtype)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kind", NUMBERS)
def test_kinds_of_numbers(strategy: str, kind: str) -> None:
    X = frame(kind)
    if strategy == "median" and kind.startswith("float32"):
        reference, expected = sklearn_fit(SimpleImputer(strategy=strategy), X)
        program = Program(SimpleImputer(strategy=strategy), "float64")
        close(program.fit_transform(X), expected)
        # scikit-learn keeps the median in float32, we in float64.
        np.testing.assert_allclose(program.to_sklearn().statistics_, reference.statistics_)
    elif kind == "huge int" and strategy in ("mean", "median"):
        # Nothing is missing; the sum of such integers rounds in another order.
        assert_statistics(SimpleImputer(strategy=strategy), X)
    else:
        assert_parity(SimpleImputer(strategy=strategy), X)


def assert_statistics(estimator: SimpleImputer, X: pd.DataFrame) -> None:
    ours = Program(estimator, "float64").fit(X).to_sklearn()
    np.testing.assert_allclose(
        ours.statistics_, sklearn_fit(estimator, X)[0].statistics_, rtol=1e-15
    )


@pytest.mark.parametrize("strategy", FREQUENT)
@pytest.mark.parametrize("kind", TEXT)
def test_kinds_of_text(strategy: str, kind: str) -> None:
    assert_parity(encoded(strategy=strategy), frame(kind))


@pytest.mark.parametrize("strategy", FREQUENT)
@pytest.mark.parametrize("kind", [kind for kind in MIXED if "object of ints, m" not in kind])
def test_kinds_between(strategy: str, kind: str) -> None:
    assert_parity(encoded(strategy=strategy), frame(kind))


@pytest.mark.parametrize("kind", OURS_ALONE)
def test_none_and_na_are_missing_too(kind: str) -> None:
    X = frame(kind, OURS_ALONE)
    nan_only = X.astype(object).where(X.notna(), np.nan)
    program = Program(encoded(strategy="most_frequent"), "float64")
    close(program.fit_transform(X), sklearn_fit(encoded(strategy="most_frequent"), nan_only)[1])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_column_without_values_is_dropped(numbers: pd.DataFrame, strategy: str) -> None:
    program = assert_parity(SimpleImputer(strategy=strategy), numbers.assign(b=np.nan))
    assert program.transform(numbers.assign(b=1.0)).shape == (200, 2)


@pytest.mark.parametrize("strategy", FREQUENT)
def test_text_column_without_values_is_dropped(strategy: str) -> None:
    X = pd.DataFrame({"t": ["a", "b", "a"], "z": pd.Series([None] * 3, dtype="str")})
    assert_parity(encoded(strategy=strategy), X)


def test_nothing_left_is_refused() -> None:
    X = pd.DataFrame({"z": [np.nan, np.nan]})
    message = assert_both_refuse(make_pipeline(SimpleImputer(), StandardScaler()), X)
    assert message == "StandardScaler: the steps before it left no column"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_one_row(numbers: pd.DataFrame, strategy: str) -> None:
    assert_parity(SimpleImputer(strategy=strategy), numbers[1:2], new=numbers)


def test_ties_go_to_the_smallest() -> None:
    X = pd.DataFrame({"n": [2.0, 1.0, np.nan, 1.0, 2.0, 3.0], "m": [7.0, 7.0, -1.0, -1.0, 0, 9]})
    program = assert_parity(SimpleImputer(strategy="most_frequent"), X)
    assert program.to_sklearn().statistics_.tolist() == [1.0, -1.0]


def test_large_integers_do_not_fall_together() -> None:
    X = pd.DataFrame({"id": [2**62, 2**62 + 1, 2**62 + 2]})
    program = assert_parity(encoded(strategy="most_frequent"), X)
    assert program.width == 3


@pytest.mark.parametrize(
    ("fill_value", "columns"),
    [(3, ["a", "b"]), (-1.5, ["a"]), (7, ["b"]), (np.nan, ["a", "c"]), (None, ["a", "b"])],
)
def test_constants(numbers: pd.DataFrame, fill_value: Any, columns: list[str]) -> None:
    assert_parity(SimpleImputer(strategy="constant", fill_value=fill_value), numbers[columns])


def test_text_constants() -> None:
    X = frame("str, missing")
    assert_parity(encoded(strategy="constant", fill_value="gone"), X)
    assert_parity(encoded(strategy="constant", fill_value="a"), X)


def test_constant_for_integers_is_handed_over_for_integers(numbers: pd.DataFrame) -> None:
    program = Program(SimpleImputer(strategy="constant"), "float64").fit(numbers[["b"]])
    assert program.to_sklearn().transform(numbers[["b"]]).dtype == np.dtype("int64")


@pytest.mark.parametrize(
    ("fill_value", "column"), [("x", "a"), (2.5, "b")], ids=["text for numbers", "real for ints"]
)
def test_constants_of_another_type_are_refused(
    numbers: pd.DataFrame, fill_value: Any, column: str
) -> None:
    estimator = SimpleImputer(strategy="constant", fill_value=fill_value)
    message = assert_both_refuse(estimator, numbers[[column]])
    assert message.startswith(f"SimpleImputer on the columns ['{column}']: fill_value=")


@pytest.mark.parametrize("strategy", FREQUENT)
@pytest.mark.parametrize("kind", ["bool", "arrow bool"])
def test_lone_booleans(strategy: str, kind: str) -> None:
    estimator = SimpleImputer(strategy=strategy)
    if kind == "bool":
        assert "dtype bool" in assert_both_refuse(estimator, frame(kind, BOOLEANS))
    else:
        assert_parity(estimator, frame(kind, BOOLEANS))


@pytest.mark.parametrize("strategy", ["mean", "median"])
@pytest.mark.parametrize("kind", ["str, missing", "category, missing"])
def test_averages_of_text_are_refused(strategy: str, kind: str) -> None:
    message = assert_both_refuse(SimpleImputer(strategy=strategy), frame(kind))
    assert message.startswith(f"column '{kind}' holds")


@pytest.mark.parametrize("kind", ["object of ints", "category of ints"])
def test_averages_of_disguised_numbers_are_refused_not_guessed(kind: str) -> None:
    with pytest.raises(DataError, match=r"convert it \(astype\)"):
        Program(SimpleImputer()).fit(frame(kind))


def test_infinity_is_refused_like_in_sklearn(numbers: pd.DataFrame) -> None:
    message = assert_both_refuse(SimpleImputer(), numbers.assign(c=np.inf))
    assert message.startswith("column 'c' holds infinite values")


@pytest.mark.parametrize("marker", [np.nan, pd.NA], ids=["nan", "NA"])
def test_markers_of_missing_numbers(numbers: pd.DataFrame, marker: Any) -> None:
    assert_parity(SimpleImputer(missing_values=marker), numbers)


@pytest.mark.parametrize("keep", [False, True])
def test_none_marks_missing_text(keep: bool) -> None:
    X = pd.DataFrame({"t": ["b", None, "a"], "z": [None] * 3}, dtype=object)
    params = {"missing_values": None, "add_indicator": True, "keep_empty_features": keep}
    assert_parity(encoded(strategy="most_frequent", **params), X)


def test_mixed_table_goes_to_an_encoder(numbers: pd.DataFrame) -> None:
    X = numbers[["a", "b"]].assign(t=list("xyzxy") * 40).round(1)
    X.loc[::9, "t"] = np.nan
    estimator = encoded(strategy="most_frequent")
    close(Program(estimator, "float64").fit_transform(X), sklearn_fit(estimator, X)[1])


def test_text_without_an_encoder_is_refused() -> None:
    with pytest.raises(ConfigError, match="put OneHotEncoder, OrdinalEncoder or TargetEncoder"):
        Program(SimpleImputer(strategy="most_frequent")).fit_transform(frame("str, missing"))


def test_new_rows_of_text_with_new_values() -> None:
    new = pd.DataFrame({"str, missing": ["a", "never seen", np.nan]})
    assert_parity(encoded(strategy="most_frequent"), frame("str, missing"), new=new)


def test_arrays(numbers: pd.DataFrame) -> None:
    for strategy in STRATEGIES:
        assert_parity(SimpleImputer(strategy=strategy), numbers.to_numpy())
        assert_parity(SimpleImputer(strategy=strategy), numbers[["b"]].to_numpy())


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_indicators_and_empty_columns(
    numbers: pd.DataFrame, strategy: str, keep: bool, dtype: str
) -> None:
    X = numbers.assign(z=np.nan)
    new = pd.DataFrame({"a": [np.nan, 1], "b": [np.nan, 2], "c": [5.0, np.nan], "z": [np.nan, 3]})
    estimator = SimpleImputer(strategy=strategy, add_indicator=True, keep_empty_features=keep)
    program = assert_parity(estimator, X, new=new, dtype=dtype)
    assert program.width == 3 + keep + 3
    estimator = SimpleImputer(strategy=strategy, keep_empty_features=keep)
    assert assert_parity(estimator, X, new=new, dtype=dtype).width == 3 + keep


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_indicators_where_nothing_is_missing_at_fit(numbers: pd.DataFrame, strategy: str) -> None:
    estimator = SimpleImputer(strategy=strategy, add_indicator=True)
    assert assert_parity(estimator, numbers[["b"]]).width == 1
    assert_parity(estimator, numbers.to_numpy())


@pytest.mark.parametrize("strategy", FREQUENT)
@pytest.mark.parametrize("keep", [False, True])
def test_indicators_and_empty_columns_of_text(strategy: str, keep: bool) -> None:
    X = pd.DataFrame({"t": ["a", np.nan, "b", "a"], "u": list("xyxy")}).astype(object)
    X["z"] = pd.Series([np.nan] * 4, dtype=object)
    new = pd.DataFrame(
        {"t": ["b", np.nan], "u": [np.nan, "y"], "z": [np.nan, np.nan]}, dtype=object
    )
    estimator = encoded(strategy=strategy, add_indicator=True, keep_empty_features=keep)
    program = assert_parity(estimator, X, new=new)
    assert program.width == 2 + (strategy == "constant") + 2 + keep + 2 + 1


@pytest.mark.parametrize("fill_value", [None, "gone"])
def test_empty_numbers_beside_text_are_filled_with_text(fill_value: Any) -> None:
    X = pd.DataFrame({"t": ["a", None, "b"], "z": [np.nan] * 3})
    estimator = encoded(strategy="constant", fill_value=fill_value, keep_empty_features=True)
    close(Program(estimator, "float64").fit_transform(X), sklearn_fit(estimator, X)[1])


def test_indicators_of_numbers_stay_numbers_for_an_encoder(numbers: pd.DataFrame) -> None:
    estimator = encoded(strategy="most_frequent", add_indicator=True)
    assert_parity(estimator, numbers.round(1))


def test_nothing_but_indicators(numbers: pd.DataFrame) -> None:
    X = numbers[["a"]].assign(a=np.nan)
    program = assert_parity(SimpleImputer(add_indicator=True), X)
    assert program.transform(X).tolist() == [[1.0]] * len(X)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("n_blocks", [1, 2, 7, 64])
def test_indicators_do_not_depend_on_the_blocks(
    numbers: pd.DataFrame, strategy: str, n_blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "pipeline.preprocessing.engine.table.CHUNK_ROWS", -(-len(numbers) // n_blocks)
    )
    X = numbers.assign(late=np.where(np.arange(len(numbers)) == len(numbers) - 1, np.nan, 2.0))
    program = assert_parity(SimpleImputer(strategy=strategy, add_indicator=True), X)
    assert program.to_sklearn().indicator_.features_.tolist() == [0, 2, 3]


@given(X=tables("numbers"), strategy=st.sampled_from(STRATEGIES), keep=st.booleans())
def test_any_numbers_with_indicators(X: pd.DataFrame, strategy: str, keep: bool) -> None:
    estimator = SimpleImputer(strategy=strategy, add_indicator=True, keep_empty_features=keep)
    if X.notna().any().any():
        assert_parity(estimator, X.clip(-(2**40), 2**40))


@given(X=tables("numbers"), strategy=st.sampled_from(STRATEGIES))
def test_any_numbers(X: pd.DataFrame, strategy: str) -> None:
    if X.notna().any().all():
        # As above: averages of integers near 2**62 round in another order.
        assert_parity(SimpleImputer(strategy=strategy), X.clip(-(2**40), 2**40))


@given(X=tables("text"), strategy=st.sampled_from(FREQUENT))
def test_any_text(X: pd.DataFrame, strategy: str) -> None:
    X = X.loc[:, X.notna().any()]
    if X.shape[1]:
        assert_parity(encoded(strategy=strategy), X)
