from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from pipeline.errors import DataError
from pipeline.preprocessing.engine.program import Program
from tests.preprocessing.columns import CATEGORICAL, OURS_ALONE, TEXT, frame
from tests.preprocessing.parity import (
    assert_both_refuse,
    assert_parity,
    close,
    quiet,
    sklearn_fit,
)
from tests.strategies import tables

ONE_HOT = OneHotEncoder(handle_unknown="ignore")
ORDINAL = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
ENCODERS = [ONE_HOT, ORDINAL]
STRICT = [OneHotEncoder(), OrdinalEncoder()]


def name(encoder: Any) -> str:
    return type(encoder).__name__


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"c": rng.choice(list("dbca"), 150), "k": rng.integers(0, 6, 150)})
    X["f"] = rng.choice([1.5, -2.5, np.nan], 150)
    X["b"] = rng.random(150) < 0.5
    X.loc[::8, "c"] = np.nan
    return X


@pytest.fixture
def new(table: pd.DataFrame) -> pd.DataFrame:
    return table[:5].assign(
        c=["a", "unseen", np.nan, "b", "c"], k=[0, 99, 1, 2, 3], f=[1.5, 7, np.nan, -2.5, 1.5]
    )


@pytest.mark.parametrize("encoder", ENCODERS, ids=name)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_equals_sklearn_and_lets_unknown_values_pass(
    encoder: Any, table: pd.DataFrame, new: pd.DataFrame, dtype: str
) -> None:
    assert_parity(encoder, table, new=new, dtype=dtype)


@pytest.mark.parametrize("encoder", ENCODERS, ids=name)
@pytest.mark.parametrize("kind", CATEGORICAL)
def test_kinds_of_columns(encoder: Any, kind: str) -> None:
    assert_parity(encoder, frame(kind))


@pytest.mark.parametrize("encoder", STRICT, ids=name)
@pytest.mark.parametrize("kind", OURS_ALONE)
def test_none_and_na_are_missing_too(encoder: Any, kind: str) -> None:
    X = frame(kind, OURS_ALONE)
    nan_only = X.astype(object).where(X.notna(), np.nan)
    program = Program(encoder, "float64")
    close(program.fit_transform(X), sklearn_fit(encoder, nan_only)[1])
    assert list(program.to_sklearn().categories_[0][-1:]) == [pytest.approx(np.nan, nan_ok=True)]


@pytest.mark.parametrize("encoder", STRICT, ids=name)
@pytest.mark.parametrize(
    ("column", "value", "shown"),
    [("c", "unseen", "'unseen'"), ("k", 99, "99"), ("f", 7.5, "7.5"), ("c", "", "''")],
)
def test_unknown_values_are_refused_by_name(
    encoder: Any, table: pd.DataFrame, column: str, value: Any, shown: str
) -> None:
    program = assert_parity(encoder, table)
    new = table[:5].copy()
    new.loc[3, column] = value
    with pytest.raises(DataError, match=f"column '{column}' holds {shown}, which was not there"):
        program.transform(new)
    with quiet(), pytest.raises(ValueError, match="Found unknown categories"):
        program.to_sklearn().transform(new)


@pytest.mark.parametrize("encoder", STRICT, ids=name)
def test_missing_value_that_was_not_there_at_fit_is_unknown(
    encoder: Any, table: pd.DataFrame
) -> None:
    program = Program(encoder).fit(table.dropna())
    with pytest.raises(DataError, match="column 'c' holds a missing value"):
        program.transform(table[["c", "k"]].assign(f=1.5, b=True))


def test_missing_value_that_was_not_there_at_fit_can_pass(table: pd.DataFrame) -> None:
    for encoder in ENCODERS:
        assert_parity(encoder, table.dropna(), new=table)


@pytest.mark.parametrize(
    "params",
    [
        {"encoded_missing_value": -1},
        {"handle_unknown": "use_encoded_value", "unknown_value": np.nan},
        {"handle_unknown": "use_encoded_value", "unknown_value": 1000},
        {
            "handle_unknown": "use_encoded_value",
            "unknown_value": -1,
            "encoded_missing_value": -1,
        },
        {"dtype": np.int32, "encoded_missing_value": -5},
    ],
    ids=str,
)
def test_ordinal_parameters(params: dict[str, Any], table: pd.DataFrame, new: pd.DataFrame) -> None:
    unknown_passes = "handle_unknown" in params
    assert_parity(OrdinalEncoder(**params), table, new=new if unknown_passes else table)


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"handle_unknown": "use_encoded_value"}, "unknown_value should be an integer"),
        ({"unknown_value": 3}, "unknown_value should only be set when"),
        ({"handle_unknown": "use_encoded_value", "unknown_value": 1}, "already used"),
        ({"encoded_missing_value": 1}, "already used"),
        ({"dtype": np.int32}, "There are missing values"),
    ],
    ids=str,
)
def test_ordinal_parameters_that_sklearn_refuses(
    params: dict[str, Any], why: str, table: pd.DataFrame
) -> None:
    message = assert_both_refuse(OrdinalEncoder(**params), table)
    assert message.startswith("OrdinalEncoder on the columns ['c', 'k', 'f', 'b']: ")
    assert why in message


@pytest.mark.parametrize(
    "params",
    [
        {"sparse_output": False},
        {"dtype": np.int8},
        {"feature_name_combiner": lambda feature, value: f"{feature} is {value}"},
    ],
    ids=["dense", "int8", "combiner"],
)
def test_one_hot_parameters(params: dict[str, Any], table: pd.DataFrame) -> None:
    assert_parity(OneHotEncoder(**params), table)


@pytest.mark.parametrize("encoder", STRICT, ids=name)
def test_text_beside_numbers_is_refused(encoder: Any) -> None:
    X = pd.DataFrame({"mixed": pd.Series([1, "a", 2.5], dtype=object)})
    message = assert_both_refuse(encoder, X)
    assert "on the columns ['mixed']" in message
    assert "['float', 'int', 'str']" in message


@pytest.mark.parametrize("encoder", STRICT, ids=name)
def test_infinity_is_refused_like_in_sklearn(encoder: Any, table: pd.DataFrame) -> None:
    message = assert_both_refuse(encoder, table.assign(f=np.inf))
    assert message.startswith("column 'f' holds infinite values")


@pytest.mark.parametrize("encoder", ENCODERS, ids=name)
def test_one_row(encoder: Any, table: pd.DataFrame, new: pd.DataFrame) -> None:
    assert_parity(encoder, table[:1], new=new)


@pytest.mark.parametrize("encoder", ENCODERS, ids=name)
def test_arrays(encoder: Any, table: pd.DataFrame) -> None:
    assert_parity(encoder, table[["k"]].to_numpy())
    assert_parity(encoder, table[["k", "f"]].to_numpy("float32"))
    assert_parity(encoder, table[["c", "k"]].astype(object).to_numpy())


@pytest.mark.parametrize("encoder", ENCODERS, ids=name)
def test_frame_without_string_names(encoder: Any, table: pd.DataFrame) -> None:
    assert_parity(encoder, table.set_axis([10, 20, 30, 40], axis=1))


def test_dictionary_of_new_rows_need_not_match() -> None:
    X = frame("category, unsorted and unused")
    new = X[:9].astype("str")
    for encoder in ENCODERS:
        assert_parity(encoder, X, new=new)
        assert_parity(encoder, new, new=X)


@pytest.mark.parametrize("encoder", ENCODERS, ids=name)
def test_truth_values_are_found_beside_gaps_and_without(encoder: Any) -> None:
    gaps = pd.DataFrame({"b": pd.array([True, False, None] * 3, dtype="boolean")})
    none = pd.DataFrame({"b": [True, False] * 3})
    assert_parity(encoder, gaps, new=none)
    assert_parity(encoder, none, new=none.astype("float64"))


@pytest.mark.parametrize("after", [StandardScaler(with_mean=False), OrdinalEncoder()], ids=name)
def test_encoded_columns_feed_other_steps(after: Any, table: pd.DataFrame) -> None:
    estimator = make_pipeline(OneHotEncoder(sparse_output=False), after)
    assert_parity(estimator, table)


def test_ones_are_where_the_categories_say(table: pd.DataFrame) -> None:
    program = Program(OneHotEncoder(), "float32")
    out = program.fit_transform(table)
    assert out.sum(axis=1).tolist() == [4.0] * 150
    learnt = program.to_sklearn().categories_[0]
    assert learnt.tolist()[:4] == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(out[:, 0] == 1, table["c"] == "a")
    np.testing.assert_array_equal(out[:, 4] == 1, table["c"].isna())


@pytest.mark.parametrize("kind", TEXT)
def test_codes_follow_sorted_values(kind: str) -> None:
    X = frame(kind)
    codes = Program(OrdinalEncoder(), "float64").fit_transform(X)[:, 0]
    values = X[kind].astype(object).to_numpy()
    known = X[kind].notna().to_numpy()
    learnt = sorted(set(values[known]))
    assert [learnt[int(code)] for code in codes[known]] == values[known].tolist()


@given(X=tables())
def test_any_table(X: pd.DataFrame) -> None:
    for encoder in ENCODERS:
        assert_parity(encoder, X, new=X[::-1])
