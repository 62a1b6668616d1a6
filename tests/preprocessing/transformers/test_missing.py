from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from sklearn.compose import make_column_transformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pipeline.errors import DataError, Unsupported
from pipeline.preprocessing.engine import table
from pipeline.preprocessing.engine.blocks import Numbers
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.transformers.imputers import MissingIndicatorTwin
from tests.preprocessing.columns import ALL_MISSING, CATEGORICAL, OURS_ALONE, frame
from tests.preprocessing.parity import (
    assert_both_refuse,
    assert_parity,
    close,
)
from tests.strategies import tables

ROWS = 150
SPECS = [
    MissingIndicator(features=features, error_on_new=error, sparse=sparse)
    for features, error, sparse in product(
        ["missing-only", "all"], [True, False], ["auto", True, False]
    )
]


@pytest.fixture
def numbers() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(1, 4, (ROWS, 3)), columns=["a", "b", "c"])
    X["int"] = rng.integers(-4, 9, ROWS)
    X.loc[::3, "a"] = np.nan
    X.loc[149, "c"] = np.nan
    return X


@pytest.fixture
def mixed(numbers: pd.DataFrame) -> pd.DataFrame:
    text = pd.Series(list("xyzxy") * 30)
    return numbers.assign(
        full=text, text=text.mask(numbers["a"] > 2), kind=text.mask(numbers["b"] > 2)
    ).astype({"kind": "category"})


@pytest.mark.parametrize("estimator", SPECS, ids=repr)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numbers_equal_sklearn(estimator: Any, dtype: str, numbers: pd.DataFrame) -> None:
    assert_parity(estimator, numbers, new=numbers[::2], dtype=dtype)


@pytest.mark.parametrize("estimator", SPECS, ids=repr)
def test_text_equals_sklearn(estimator: Any, mixed: pd.DataFrame) -> None:
    assert_parity(estimator, mixed, new=mixed[::2])
    assert_parity(estimator, mixed[["full", "text"]])


@pytest.mark.parametrize("kind", [kind for kind in CATEGORICAL if kind != "bool"])
@pytest.mark.parametrize("features", ["missing-only", "all"])
def test_kinds_of_columns(kind: str, features: str) -> None:
    program = assert_parity(MissingIndicator(features=features), frame(kind))
    missing = int(frame(kind)[kind].isna().sum())
    assert program.transform(frame(kind)).sum() == missing
    assert program.width == (features == "all" or missing > 0)


def test_lone_booleans_are_refused_like_in_sklearn() -> None:
    assert "dtype bool" in assert_both_refuse(MissingIndicator(), frame("bool"))
    assert_both_refuse(MissingIndicator(), np.ones((3, 2), dtype=bool))


def test_booleans_beside_other_columns(numbers: pd.DataFrame) -> None:
    assert_parity(MissingIndicator(), numbers.assign(flag=numbers["b"] > 0))


@pytest.mark.parametrize("kind", OURS_ALONE)
@pytest.mark.parametrize("marker", [np.nan, None, pd.NA], ids=str)
def test_none_and_na_are_missing_too(kind: str, marker: Any) -> None:
    X = frame(kind, OURS_ALONE)
    out = Program(MissingIndicator(missing_values=marker), "float64").fit_transform(X)
    np.testing.assert_array_equal(out, X.isna())


@pytest.mark.parametrize("marker", [None, pd.NA], ids=str)
def test_none_marks_missing_text(marker: Any) -> None:
    X = frame("object with None", OURS_ALONE)
    assert_parity(MissingIndicator(missing_values=marker), X)
    assert_parity(MissingIndicator(missing_values=marker), X.to_numpy())


@pytest.mark.parametrize(("marker", "columns"), [(None, ["b"]), (None, ["a"]), (pd.NA, ["a"])])
def test_markers_that_sklearn_refuses(
    marker: Any, columns: list[str], numbers: pd.DataFrame
) -> None:
    estimator = MissingIndicator(missing_values=marker)
    message = assert_both_refuse(estimator, numbers[columns])
    assert message.startswith(f"MissingIndicator on the columns {columns}: ")


@pytest.mark.parametrize("estimator", SPECS, ids=repr)
def test_nothing_is_missing(estimator: Any, numbers: pd.DataFrame) -> None:
    program = assert_parity(estimator, numbers[["b", "int"]])
    assert program.width == 2 * (estimator.features == "all")


@pytest.mark.parametrize("estimator", SPECS, ids=repr)
def test_everything_is_missing(estimator: Any) -> None:
    for kind in ALL_MISSING:
        assert assert_parity(estimator, frame(kind)).transform(frame(kind)).all()


@pytest.mark.parametrize("estimator", SPECS, ids=repr)
def test_one_row(estimator: Any, numbers: pd.DataFrame, mixed: pd.DataFrame) -> None:
    assert_parity(estimator, numbers[:1])
    assert_parity(estimator, mixed[:1])


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "object"])
def test_arrays(numbers: pd.DataFrame, dtype: str) -> None:
    X = numbers.fillna(1) if dtype in ("int64", "uint8") else numbers
    for estimator in SPECS:
        assert_parity(estimator, X.abs().to_numpy().astype(dtype))


@pytest.mark.parametrize("table_of", ["numbers", "mixed"])
def test_new_holes_are_refused_like_in_sklearn(
    table_of: str, request: pytest.FixtureRequest
) -> None:
    X = request.getfixturevalue(table_of)
    new = with_empty_row(X)
    program = Program(MissingIndicator()).fit(X)
    names = [name for name in X.columns if X[name].notna().all()]
    with pytest.raises(ValueError, match="have missing values in transform"):
        MissingIndicator().fit(X).transform(new)
    with pytest.raises(DataError) as caught:
        program.transform(new)
    assert str(caught.value) == (
        f"MissingIndicator: the columns {names} miss values and did not at fit; impute them "
        "first, or set error_on_new=False or features='all'"
    )
    with pytest.raises(DataError, match="the columns \\[1, 3\\] miss values"):
        Program(MissingIndicator()).fit(numbers_of(X)).transform(numbers_of(new))


def with_empty_row(X: pd.DataFrame) -> pd.DataFrame:
    return X.reindex(range(ROWS + 1))


def numbers_of(X: pd.DataFrame) -> np.ndarray:
    return X[["a", "b", "c", "int"]].to_numpy("float64")


@pytest.mark.parametrize(
    "estimator", [s for s in SPECS if s.features == "all" or not s.error_on_new], ids=repr
)
def test_new_holes_are_taken_where_sklearn_takes_them(
    estimator: Any, numbers: pd.DataFrame, mixed: pd.DataFrame
) -> None:
    assert_parity(estimator, numbers, new=with_empty_row(numbers))
    assert_parity(estimator, mixed, new=with_empty_row(mixed))


@pytest.mark.parametrize("n_blocks", [1, 2, 7, 64])
@pytest.mark.parametrize("estimator", SPECS[::3], ids=repr)
def test_result_does_not_depend_on_the_blocks(
    estimator: Any,
    n_blocks: int,
    numbers: pd.DataFrame,
    mixed: pd.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(table, "CHUNK_ROWS", -(-ROWS // n_blocks))
    assert_parity(estimator, numbers)
    assert_parity(estimator, mixed)


def test_out_of_a_block_come_zeros_and_ones() -> None:
    twin = MissingIndicatorTwin(MissingIndicator(features="all"))
    block = Numbers(np.array([[np.nan, 2.0]]))
    twin.finalize(twin.statistics(block))
    out = np.full((1, 2), 9.0)
    twin.apply(block).write(out)
    assert out.tolist() == [[1.0, 0.0]]


def test_beside_an_imputer(mixed: pd.DataFrame) -> None:
    estimator = make_column_transformer(
        (SimpleImputer(), ["a", "b"]), (MissingIndicator(sparse=False), ["a", "c", "text"])
    )
    program = assert_parity(estimator, mixed)
    assert program.width == 5


def test_inside_a_pipeline(numbers: pd.DataFrame, mixed: pd.DataFrame) -> None:
    scaled = make_pipeline(MissingIndicator(sparse=False), StandardScaler())
    assert_parity(scaled, mixed)
    assert_parity(make_pipeline(MissingIndicator(sparse=False), OneHotEncoder()), numbers)
    assert_parity(make_pipeline(StandardScaler(), MissingIndicator()), numbers)


@pytest.mark.parametrize("columns", [["text", "kind"], ["a", "c"]])
def test_after_an_imputer_nothing_is_missing(columns: list[str], mixed: pd.DataFrame) -> None:
    imputer = SimpleImputer(strategy="most_frequent")
    estimator = make_pipeline(imputer, MissingIndicator(features="all"))
    close(Program(estimator, "float64").fit_transform(mixed[columns]), np.zeros((ROWS, 2)))


def test_infinity_is_refused_like_in_sklearn(numbers: pd.DataFrame) -> None:
    numbers.loc[3, "b"] = np.inf
    assert "column 'b' holds infinite" in assert_both_refuse(MissingIndicator(), numbers)


@pytest.mark.parametrize("value", [0, -1, "", 1.5])
def test_other_markers_are_refused(value: Any, numbers: pd.DataFrame) -> None:
    with pytest.raises(Unsupported) as caught:
        Program(MissingIndicator(missing_values=value)).fit(numbers)
    assert [reason.parameter for reason in caught.value.reasons] == ["missing_values"]


@pytest.mark.parametrize("params", [{"features": "some"}, {"sparse": "no"}, {"error_on_new": 3}])
def test_bad_parameters_are_refused(params: dict[str, Any], numbers: pd.DataFrame) -> None:
    message = assert_both_refuse(MissingIndicator(**params), numbers)
    assert f"{next(iter(params))!r} parameter" in message


@given(X=tables())
def test_any_table(X: pd.DataFrame) -> None:
    for estimator in SPECS[::3]:
        assert_parity(estimator, X)
