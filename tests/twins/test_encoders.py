"""What holds for each encoder of categories, compared with scikit-learn's on one table."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

from pipeline.compile.program import Program
from pipeline.errors import DataError
from tests.names import one_in, plain
from tests.strategies import tables
from tests.twins.columns import CATEGORICAL, OURS_ALONE, frame, with_nan
from tests.twins.parity import assert_both_refuse, assert_parity, close, quiet, sklearn_fit

ROWS = 160
UNKNOWN = ["error", "ignore", "infrequent_if_exist", "warn"]
GROUPS: list[dict[str, Any]] = [
    {},
    {"max_categories": 2},
    {"min_frequency": 0.1},
    {"max_categories": 4, "min_frequency": 10},
    {"min_frequency": 10_000},
    {"min_frequency": 12},
    {"min_frequency": 40},
    {"min_frequency": 1},
    {"max_categories": 1},
    {"max_categories": 3},
    {"max_categories": 50},
]
PASSING: list[dict[str, Any]] = [
    {},
    {"handle_unknown": "use_encoded_value", "unknown_value": -1},
    {"handle_unknown": "use_encoded_value", "unknown_value": np.nan},
    {"handle_unknown": "use_encoded_value", "unknown_value": -1, "encoded_missing_value": -1},
    {"handle_unknown": "use_encoded_value", "unknown_value": 77, "encoded_missing_value": 78},
    {"encoded_missing_value": -7, "dtype": np.int16},
]
LISTS = [["d", "a", "zz", "b", "c", np.nan], range(-2, 9), [-2.5, 0.0, 1.5, np.nan], [False, True]]
SOME = [["d", "b"], [0, 3, 4], [1.5], [True]]
DROPS = [None, "first", "if_binary"]
EVERY = [
    *(
        OneHotEncoder(drop=drop, handle_unknown=unknown, **group)
        for unknown, drop, group in product(UNKNOWN, DROPS, GROUPS)
    ),
    *(
        OneHotEncoder(categories=LISTS, drop=drop, handle_unknown=unknown, **group)
        for unknown, drop, group in product(UNKNOWN, DROPS, GROUPS)
    ),
    *(
        OneHotEncoder(categories=SOME, drop=drop, handle_unknown=unknown, **group)
        for unknown, drop, group in product(UNKNOWN[1:], DROPS[:2], GROUPS)
    ),
    *(
        OrdinalEncoder(categories=lists, **passing, **group)
        for lists, passing, group in product(["auto", LISTS], PASSING, GROUPS)
    ),
    *(
        OrdinalEncoder(categories=SOME, **passing, **group)
        for passing, group in product(PASSING[1:5], GROUPS)
    ),
    *(OrdinalEncoder(encoded_missing_value=-5, dtype=dtype) for dtype in ("int32", "float32")),
    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=1000),
    OneHotEncoder(sparse_output=False, dtype=np.int8),
    OneHotEncoder(feature_name_combiner=lambda feature, value: f"{feature} is {value}"),
]
ONE_HOT = OneHotEncoder(handle_unknown="ignore")
ORDINAL = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
ENCODERS = [ONE_HOT, ORDINAL]
STRICT = [OneHotEncoder(), OrdinalEncoder()]
TARGET = TargetEncoder(cv=KFold(3, shuffle=True, random_state=3))
Y = np.random.default_rng(5).normal(size=ROWS)


def name(encoder: Any) -> str:
    return type(encoder).__name__


def described(encoder: Any) -> str:
    return " ".join(plain(encoder).split()) if encoder.get_params() else name(encoder)


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rare = [0.5, 0.3, 0.15, 0.05]
    X = pd.DataFrame({"c": rng.choice(list("dbca"), ROWS, p=rare), "k": rng.integers(0, 6, ROWS)})
    X["f"] = rng.choice([1.5, -2.5, np.nan], ROWS, p=[0.6, 0.35, 0.05])
    X["b"] = rng.random(ROWS) < 0.5
    X.loc[::8, "c"] = np.nan
    return X


@pytest.fixture
def new(table: pd.DataFrame) -> pd.DataFrame:
    return table[:5].assign(
        c=["a", "unseen", np.nan, "b", "c"], k=[0, 99, 1, 2, 3], f=[1.5, 7, np.nan, -2.5, 1.5]
    )


@pytest.mark.quick(19)
@pytest.mark.parametrize("encoder", one_in(4, EVERY), ids=described)
def test_equals_sklearn_and_lets_unknown_values_pass(
    encoder: Any, table: pd.DataFrame, new: pd.DataFrame
) -> None:
    with quiet():
        rows = table if encoder.handle_unknown == "error" else new
        program = assert_parity(encoder, table, new=rows)
    if encoder.categories is LISTS:
        assert program.to_sklearn().categories_[0].tolist()[:5] == LISTS[0][:5]


KINDS = [
    *ENCODERS,
    TARGET,
    OneHotEncoder(drop="first"),
    OneHotEncoder(drop="if_binary", max_categories=2),
    OneHotEncoder(min_frequency=0.2, handle_unknown="infrequent_if_exist"),
    OrdinalEncoder(max_categories=3, min_frequency=0.2),
]


@pytest.mark.quick(59)
@pytest.mark.parametrize("kind", CATEGORICAL)
@pytest.mark.parametrize(
    "encoder", [*KINDS[:3], *one_in(4, KINDS[3:])], ids=lambda e: " ".join(plain(e).split())
)
def test_kinds_of_columns(encoder: Any, kind: str) -> None:
    assert_parity(encoder, frame(kind), Y[: len(frame(kind))])


@pytest.mark.parametrize("encoder", [*STRICT, TARGET], ids=name)
@pytest.mark.parametrize("kind", OURS_ALONE)
def test_none_is_a_category_and_na_is_nan(encoder: Any, kind: str) -> None:
    X, y = frame(kind, OURS_ALONE), Y[:120]
    program = Program(encoder, "float64")
    reference, expected = sklearn_fit(encoder, with_nan(X), y)
    close(program.fit_transform(X, y), expected)
    assert repr(program.to_sklearn().categories_) == repr(reference.categories_)


@pytest.mark.parametrize("encoder", [*STRICT, OrdinalEncoder(max_categories=2)], ids=described)
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
    with pytest.raises(DataError, match=f"column '{column}' holds {shown}, which is not a fitted"):
        program.transform(new)
    with quiet(), pytest.raises(ValueError, match="Found unknown categories"):
        program.to_sklearn().transform(new)


@pytest.mark.parametrize("encoder", STRICT, ids=name)
@pytest.mark.parametrize(
    ("column", "listed", "shown"),
    [
        ("c", ["a", "b", "c", np.nan], "'d'"),
        ("c", ["a", "b", "c", "d"], "nan"),
        ("k", [0, 1, 2, 3, 4], "np.int64(5)"),
        ("f", [1.5, np.nan], "np.float64(-2.5)"),
        ("b", [True], "np.False_"),
    ],
)
def test_values_outside_the_lists_are_refused_by_name(
    encoder: Any, column: str, listed: list[Any], shown: str, table: pd.DataFrame
) -> None:
    one = clone(encoder).set_params(categories=[listed])
    said = f"Found unknown categories [{shown}] in column 0 during fit\nin {name(encoder)}, "
    assert assert_both_refuse(one, table[[column]]) == f"{said}the columns ['{column}']"


@pytest.mark.parametrize("encoder", STRICT, ids=name)
def test_columns_that_are_refused(encoder: Any, table: pd.DataFrame) -> None:
    mixed = pd.DataFrame({"mixed": pd.Series([1, "a", 2.5], dtype=object)})
    message = assert_both_refuse(encoder, mixed)
    assert message.endswith(f"in {type(encoder).__name__}, the columns ['mixed']")
    assert "['float', 'int', 'str']" in message
    message = assert_both_refuse(encoder, table.assign(f=np.inf))
    assert message.startswith("column 'f' holds infinite values")


@given(X=tables(), data=st.data())
def test_any_table(X: pd.DataFrame, data: st.DataObject) -> None:
    group = {
        "max_categories": data.draw(st.one_of(st.none(), st.integers(1, 4))),
        "min_frequency": data.draw(st.sampled_from([None, 2, 0.3])),
    }
    missing = data.draw(st.sampled_from([np.nan, -1, -2]))
    one_hot = OneHotEncoder(
        drop=data.draw(st.sampled_from([None, "first", "if_binary"])),
        handle_unknown=data.draw(st.sampled_from(UNKNOWN)),
        sparse_output=data.draw(st.booleans()),
        **group,
    )
    rows = data.draw(st.integers(1, len(X)))
    with quiet():
        assert_parity(one_hot, X[:rows], new=X if one_hot.handle_unknown != "error" else None)
    assert_parity(OrdinalEncoder(**PASSING[1], **group), X[:rows], new=X)
    assert_parity(OrdinalEncoder(**PASSING[1], encoded_missing_value=missing), X[:rows], new=X)


def caught(call: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    return [str(warning.message) for warning in seen]


@pytest.mark.parametrize("drop", [None, "first"])
@pytest.mark.parametrize("group", [{}, {"max_categories": 2}], ids=str)
@pytest.mark.parametrize("unknown", ["ignore", "infrequent_if_exist", "warn"])
def test_warns_like_sklearn(
    unknown: str, group: dict[str, Any], drop: str | None, table: pd.DataFrame, new: pd.DataFrame
) -> None:
    estimator = OneHotEncoder(drop=drop, handle_unknown=unknown, **group)
    program, reference = Program(estimator).fit(table), clone(estimator).fit(table)
    expected = caught(lambda: reference.transform(new))
    assert caught(lambda: program.transform(new)) == expected
    assert caught(lambda: program.transform(new.copy())) == expected
    assert caught(lambda: program.transform(table)) == []
    assert bool(expected) == (unknown == "warn" or drop is not None)
