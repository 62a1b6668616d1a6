from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.preprocessing import OneHotEncoder

from pipeline.errors import ConfigError, DataError
from pipeline.preprocessing.engine import table as tables_module
from pipeline.preprocessing.engine.program import Program
from tests.preprocessing.columns import CATEGORICAL, OURS_ALONE, frame
from tests.preprocessing.parity import (
    assert_both_refuse,
    assert_parity,
    close,
    dense,
    quiet,
    sklearn_fit,
)
from tests.strategies import tables

UNKNOWN = ["error", "ignore", "infrequent_if_exist", "warn"]
DROPS: list[Any] = [None, "first", "if_binary", ["a", 0, np.nan, True]]
GROUPS: list[dict[str, Any]] = [
    {},
    {"min_frequency": 12},
    {"min_frequency": 0.1},
    {"min_frequency": 40},
    {"min_frequency": 10_000},
    {"min_frequency": 1},
    {"max_categories": 1},
    {"max_categories": 2},
    {"max_categories": 3},
    {"max_categories": 50},
    {"max_categories": 4, "min_frequency": 10},
]
LISTS = [["d", "a", "zz", "b", "c", np.nan], range(-2, 9), [-2.5, 0.0, 1.5, np.nan], [False, True]]


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rare = [0.5, 0.3, 0.15, 0.05]
    X = pd.DataFrame({"c": rng.choice(list("dbca"), 160, p=rare), "k": rng.integers(0, 6, 160)})
    X["f"] = rng.choice([1.5, -2.5, np.nan], 160, p=[0.6, 0.35, 0.05])
    X["b"] = rng.random(160) < 0.5
    X.loc[::8, "c"] = np.nan
    return X


@pytest.fixture
def new(table: pd.DataFrame) -> pd.DataFrame:
    return table[:5].assign(
        c=["a", "unseen", np.nan, "b", "c"], k=[0, 99, 1, 2, 3], f=[1.5, 7, np.nan, -2.5, 1.5]
    )


def assert_all_equal(estimator: Any, X: Any, new: Any) -> Program:
    """Parity, and the way back from the matrix to the values."""
    new = X if estimator.handle_unknown == "error" else new
    with quiet():
        program = assert_parity(estimator, X, new=new)
        if not program.width:
            return program
        reference = clone(estimator).fit(X)
        ours = program.to_sklearn().inverse_transform(program.transform(X))
        theirs = reference.inverse_transform(dense(reference.transform(X)))
    pd.testing.assert_frame_equal(pd.DataFrame(ours), pd.DataFrame(theirs))
    return program


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize("drop", DROPS, ids=str)
@pytest.mark.parametrize("unknown", UNKNOWN)
def test_drop_groups_and_unknown_values(
    unknown: str, drop: Any, group: dict[str, Any], table: pd.DataFrame, new: pd.DataFrame
) -> None:
    estimator = OneHotEncoder(drop=drop, handle_unknown=unknown, **group)
    if refuses(estimator, table):
        with pytest.raises(ValueError, match="infrequent"):
            Program(estimator).fit(table)
    else:
        assert_all_equal(estimator, table, new)


def refuses(estimator: Any, X: pd.DataFrame) -> bool:
    """Return whether scikit-learn does not drop an infrequent category; its message may fail."""
    try:
        clone(estimator).fit(X)
    except (AttributeError, ValueError):
        return True
    return False


def test_dropping_an_infrequent_category_is_refused(table: pd.DataFrame) -> None:
    text = OneHotEncoder(drop=["a"], max_categories=2)
    with pytest.raises(ConfigError, match=r"drop=\['a'\] names a category that is infrequent"):
        Program(text).fit(table[["c"]])
    number = OneHotEncoder(drop=[5], min_frequency=10_000)
    assert "because it is infrequent" in assert_both_refuse(number, table[["k"]])


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize("drop", [None, "first", "if_binary", ["zz", 8, -2.5, False]], ids=str)
@pytest.mark.parametrize("unknown", UNKNOWN)
def test_lists_of_categories_in_the_order_given(
    unknown: str, drop: Any, group: dict[str, Any], table: pd.DataFrame, new: pd.DataFrame
) -> None:
    estimator = OneHotEncoder(categories=LISTS, drop=drop, handle_unknown=unknown, **group)
    if refuses(estimator, table):
        with pytest.raises(ValueError, match="infrequent"):
            Program(estimator).fit(table)
        return
    program = assert_all_equal(estimator, table, new)
    assert program.to_sklearn().categories_[0].tolist()[:5] == ["d", "a", "zz", "b", "c"]


@pytest.mark.parametrize("drop", [None, "first"])
@pytest.mark.parametrize("unknown", UNKNOWN[1:])
def test_values_outside_the_lists_pass_at_fit(
    unknown: str, drop: str | None, table: pd.DataFrame, new: pd.DataFrame
) -> None:
    lists = [["d", "b"], [0, 3, 4], [1.5], [True]]
    for group in GROUPS:
        estimator = OneHotEncoder(categories=lists, drop=drop, handle_unknown=unknown, **group)
        with quiet():
            assert_parity(estimator, table, new=new)


@pytest.mark.parametrize(
    ("column", "listed", "shown"),
    [
        ("c", ["a", "b", np.nan, "c"][:2], "'d'"),
        ("c", ["a", "b", "c", "d"], "a missing value"),
        ("k", [0, 1, 2, 3, 4], "5"),
        ("f", [1.5, np.nan], "-2.5"),
        ("b", [True], "False"),
    ],
)
def test_values_outside_the_lists_are_refused_by_name(
    column: str, listed: list[Any], shown: str, table: pd.DataFrame
) -> None:
    X = table[[column]] if shown != "'d'" else table[["c"]].query("c != 'c'")
    message = assert_both_refuse(OneHotEncoder(categories=[listed]), X)
    assert message.startswith(f"column '{column}' holds {shown}, which is not in categories[0] ")


def test_first_column_at_fault_is_named(table: pd.DataFrame) -> None:
    estimator = OneHotEncoder(categories=[LISTS[0], LISTS[1], [1.5, np.nan], [True]])
    assert assert_both_refuse(estimator, table).startswith("column 'f' holds -2.5, which is not in")
    array = table[["k", "f"]].to_numpy()
    estimator = OneHotEncoder(categories=[range(9), [1.5, np.nan]])
    assert assert_both_refuse(estimator, array).startswith("column 1 holds -2.5, which is not in")


@pytest.mark.parametrize(
    ("categories", "why"),
    [
        ([["a", "b", "c", "d", np.nan]], "Shape mismatch"),
        ([["a", np.nan, "b", "c", "d"], range(9)], "Nan should be the last element"),
        ([["a", "a", "b", "c", "d", np.nan], range(9)], "duplicate elements"),
        ([["a", "b", "c", "d", np.nan], [5, 4, 3, 2, 1, 0]], "Unsorted categories"),
        ([["a", "b", "c", "d", 1, np.nan], range(9)], "uniformly strings or numbers"),
    ],
    ids=["shape", "nan first", "twice", "unsorted", "mixed"],
)
def test_lists_that_sklearn_refuses(categories: list[Any], why: str, table: pd.DataFrame) -> None:
    message = assert_both_refuse(OneHotEncoder(categories=categories), table[["c", "k"]])
    assert message.startswith("OneHotEncoder on the columns ['c', 'k']: ")
    assert why in message


@pytest.mark.parametrize("listed", [[], "abcd", 5, {"a"}], ids=str)
def test_what_is_no_list_of_values_is_refused(listed: Any, table: pd.DataFrame) -> None:
    estimator = OneHotEncoder(categories=[range(9), listed], handle_unknown="ignore")
    with pytest.raises(ConfigError, match=r"categories\[1\] is .* of the column 'c'"):
        Program(estimator).fit(table[["k", "c"]])


@pytest.mark.parametrize(
    ("drop", "why"),
    [
        (["a", 0], "`drop` should have length equal"),
        (["unseen", 0, 1.5, True], "not found in the training data"),
        ("last", "The 'drop' parameter of OneHotEncoder must be"),
    ],
)
def test_drops_that_sklearn_refuses(drop: Any, why: str, table: pd.DataFrame) -> None:
    assert why in assert_both_refuse(OneHotEncoder(drop=drop), table)


@pytest.mark.parametrize("kind", CATEGORICAL)
@pytest.mark.parametrize(
    "params",
    [
        {"drop": "first"},
        {"drop": "if_binary", "max_categories": 2},
        {"min_frequency": 0.2, "handle_unknown": "infrequent_if_exist"},
    ],
    ids=str,
)
def test_kinds_of_columns(params: dict[str, Any], kind: str) -> None:
    assert_parity(OneHotEncoder(**params), frame(kind))


@pytest.mark.parametrize("kind", CATEGORICAL)
def test_kinds_of_columns_with_their_own_categories_as_list(kind: str) -> None:
    X = frame(kind)
    listed = OneHotEncoder().fit(X).categories_[0].tolist()
    assert_parity(OneHotEncoder(categories=[listed], max_categories=3), X)


@pytest.mark.parametrize("kind", OURS_ALONE)
def test_none_and_na_are_missing_in_lists_too(kind: str) -> None:
    X = frame(kind, OURS_ALONE)
    nan_only = X.astype(object).where(X.notna(), np.nan)
    values = ["日本", "b", "a", "Zé", ""]
    reference = OneHotEncoder(categories=[[*values, np.nan]], min_frequency=20)
    for missing in (None, pd.NA, np.nan):
        estimator = OneHotEncoder(categories=[[*values, missing]], min_frequency=20)
        program = Program(estimator, "float64")
        close(program.fit_transform(X), sklearn_fit(reference, nan_only)[1])
        assert program.to_sklearn().get_params()["categories"][0][-1] is missing


@pytest.mark.parametrize("rows", [1, 2, 7, 64])
@pytest.mark.parametrize(
    "params",
    [
        {"max_categories": 3, "drop": "first"},
        {"min_frequency": 0.2, "handle_unknown": "infrequent_if_exist"},
        {"categories": LISTS, "min_frequency": 9},
    ],
    ids=["most", "share", "lists"],
)
def test_blocks_do_not_matter(
    params: dict[str, Any],
    rows: int,
    table: pd.DataFrame,
    new: pd.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables_module, "CHUNK_ROWS", rows)
    assert_all_equal(OneHotEncoder(**params), table, new)


def test_all_columns_may_be_dropped(table: pd.DataFrame) -> None:
    program = assert_parity(OneHotEncoder(drop="first"), table[["c"]].assign(c="one"))
    assert program.width == 0


def test_one_row(table: pd.DataFrame, new: pd.DataFrame) -> None:
    for group in GROUPS:
        estimator = OneHotEncoder(handle_unknown="infrequent_if_exist", drop="if_binary", **group)
        with quiet():
            assert_parity(estimator, table[:1], new=new)


def test_unknown_values_are_refused_though_there_is_a_group(
    table: pd.DataFrame, new: pd.DataFrame
) -> None:
    program = Program(OneHotEncoder(max_categories=2, drop="first")).fit(table)
    with pytest.raises(DataError, match="column 'c' holds 'unseen', which was not there at fit"):
        program.transform(new)


def test_names_of_grouped_columns(table: pd.DataFrame) -> None:
    estimator = OneHotEncoder(
        max_categories=2, feature_name_combiner=lambda feature, value: f"{feature}={value}"
    )
    names = assert_parity(estimator, table[["c"]]).to_sklearn().get_feature_names_out()
    assert names.tolist() == ["c=d", "c=infrequent_sklearn"]


@given(X=tables(), data=st.data())
def test_any_table(X: pd.DataFrame, data: st.DataObject) -> None:
    estimator = OneHotEncoder(
        drop=data.draw(st.sampled_from([None, "first", "if_binary"])),
        handle_unknown=data.draw(st.sampled_from(UNKNOWN)),
        max_categories=data.draw(st.one_of(st.none(), st.integers(1, 4))),
        min_frequency=data.draw(st.sampled_from([None, 2, 0.3])),
        sparse_output=data.draw(st.booleans()),
    )
    cut = data.draw(st.integers(1, len(X)))
    with quiet():
        assert_parity(estimator, X[:cut], new=X if estimator.handle_unknown != "error" else None)
