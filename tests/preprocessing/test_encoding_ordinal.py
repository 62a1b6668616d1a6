from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.preprocessing import OrdinalEncoder

from pipeline.errors import DataError
from pipeline.preprocessing.engine import table as tables_module
from pipeline.preprocessing.engine.program import Program
from tests.preprocessing.columns import CATEGORICAL, frame
from tests.preprocessing.parity import assert_both_refuse, assert_parity, quiet
from tests.strategies import tables

GROUPS: list[dict[str, Any]] = [
    {},
    {"min_frequency": 12},
    {"min_frequency": 0.1},
    {"min_frequency": 10_000},
    {"min_frequency": 1},
    {"max_categories": 1},
    {"max_categories": 2},
    {"max_categories": 3},
    {"max_categories": 50},
    {"max_categories": 4, "min_frequency": 10},
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
    program = assert_parity(estimator, X, new=X if estimator.handle_unknown == "error" else new)
    reference = clone(estimator).fit(X)
    ours = way_back(program.to_sklearn(), program.transform(X))
    theirs = way_back(reference, reference.transform(X).astype("float64"))
    pd.testing.assert_frame_equal(ours, theirs)
    return program


def way_back(fitted: Any, matrix: np.ndarray) -> pd.DataFrame:
    """Return the values; scikit-learn does not find them where NaN stands beside a group."""
    try:
        with quiet():
            return pd.DataFrame(fitted.inverse_transform(matrix))
    except IndexError as error:
        return pd.DataFrame([str(error)])


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize("passing", PASSING, ids=str)
def test_groups_missing_and_unknown_values(
    passing: dict[str, Any], group: dict[str, Any], table: pd.DataFrame, new: pd.DataFrame
) -> None:
    assert_all_equal(OrdinalEncoder(**passing, **group), table, new)


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize("passing", PASSING, ids=str)
def test_lists_of_categories_in_the_order_given(
    passing: dict[str, Any], group: dict[str, Any], table: pd.DataFrame, new: pd.DataFrame
) -> None:
    assert_all_equal(OrdinalEncoder(categories=LISTS, **passing, **group), table, new)


def test_numbers_follow_the_list(table: pd.DataFrame) -> None:
    listed = ["c", "d", "zz", "b", "a", np.nan]
    codes = Program(OrdinalEncoder(categories=[listed]), "float64").fit_transform(table[["c"]])
    expected = [listed.index(v) if isinstance(v, str) else np.nan for v in table["c"]]
    np.testing.assert_array_equal(codes[:, 0], expected)


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize("passing", PASSING[1:5], ids=str)
def test_values_outside_the_lists_pass_at_fit(
    passing: dict[str, Any], group: dict[str, Any], table: pd.DataFrame, new: pd.DataFrame
) -> None:
    lists = [["d", "b"], [0, 3, 4], [1.5], [True]]
    assert_parity(OrdinalEncoder(categories=lists, **passing, **group), table, new=new)


def test_values_outside_the_lists_are_refused_by_name(table: pd.DataFrame) -> None:
    estimator = OrdinalEncoder(categories=[LISTS[0], LISTS[1], [1.5, np.nan], [True]])
    message = assert_both_refuse(estimator, table)
    assert message.startswith("column 'f' holds -2.5, which is not in categories[2] ")
    estimator.set_params(categories=[LISTS[0][:-1], *LISTS[1:]])
    message = assert_both_refuse(estimator, table)
    assert message.startswith("column 'c' holds a missing value, which is not in categories[0] ")


@pytest.mark.parametrize(
    "params",
    [
        {"handle_unknown": "use_encoded_value", "unknown_value": 0},
        {"encoded_missing_value": 0},
    ],
    ids=str,
)
def test_values_that_stand_for_a_group_are_taken(
    params: dict[str, Any], table: pd.DataFrame
) -> None:
    estimator = OrdinalEncoder(max_categories=2, **params)
    assert "already used" in assert_both_refuse(estimator, table)
    free = {name: 2 if isinstance(value, int) else value for name, value in params.items()}
    assert_parity(OrdinalEncoder(max_categories=2, **free), table)


def test_unknown_values_are_refused_though_there_is_a_group(
    table: pd.DataFrame, new: pd.DataFrame
) -> None:
    program = Program(OrdinalEncoder(max_categories=2)).fit(table)
    with pytest.raises(DataError, match="column 'c' holds 'unseen', which was not there at fit"):
        program.transform(new)


@pytest.mark.parametrize("kind", CATEGORICAL)
def test_kinds_of_columns(kind: str) -> None:
    assert_parity(OrdinalEncoder(max_categories=3, min_frequency=0.2), frame(kind))
    listed = OrdinalEncoder().fit(frame(kind)).categories_[0].tolist()
    assert_parity(OrdinalEncoder(categories=[listed], min_frequency=20), frame(kind))


@pytest.mark.parametrize("rows", [1, 2, 7, 64])
@pytest.mark.parametrize(
    "params", [{"max_categories": 3}, {"categories": LISTS, "min_frequency": 0.1}], ids=str
)
def test_blocks_do_not_matter(
    params: dict[str, Any],
    rows: int,
    table: pd.DataFrame,
    new: pd.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables_module, "CHUNK_ROWS", rows)
    assert_all_equal(OrdinalEncoder(**PASSING[1], **params), table, new)


def test_one_row(table: pd.DataFrame, new: pd.DataFrame) -> None:
    for group in GROUPS:
        assert_parity(OrdinalEncoder(**PASSING[1], **group), table[:1], new=new)


@given(X=tables(), data=st.data())
def test_any_table(X: pd.DataFrame, data: st.DataObject) -> None:
    estimator = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=-1,
        encoded_missing_value=data.draw(st.sampled_from([np.nan, -1, -2])),
        max_categories=data.draw(st.one_of(st.none(), st.integers(1, 4))),
        min_frequency=data.draw(st.sampled_from([None, 2, 0.3])),
    )
    cut = data.draw(st.integers(1, len(X)))
    assert_parity(estimator, X[:cut], new=X)
