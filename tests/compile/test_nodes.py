"""Column transformers, pipelines and unions, and the scikit-learn that is made of them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    StandardScaler,
    TargetEncoder,
)

from pipeline import Accelerated
from pipeline.compile.program import Program
from tests.names import one_in
from tests.twins.parity import assert_parity, quiet

ROWS = 160
NUMBERS = make_pipeline(SimpleImputer(), StandardScaler())
MEDIAN = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
ONE_HOT = OneHotEncoder(handle_unknown="ignore")
TARGET = TargetEncoder(cv=KFold(3))
INNER = ColumnTransformer([("n", NUMBERS, ["n1"]), ("c", ONE_HOT, ["c1"])])


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"n1": rng.normal(size=ROWS), "n2": rng.integers(0, 9, ROWS)})
    X["c1"], X["c2"] = rng.choice(list("abc"), ROWS), rng.choice(["x", "y"], ROWS)
    X["b"] = rng.random(ROWS) < 0.5
    X.loc[::5, "n1"] = np.nan
    X.loc[::7, "c1"] = np.nan
    return X


def new_rows() -> pd.DataFrame:
    return table()[:6].assign(n1=[np.nan, 0, 1, 2, 3, 4], c1=["a", "new", "b", "c", np.nan, "a"])


def two_new() -> pd.DataFrame:
    return pd.DataFrame({"a": [np.nan, 1.0, 7.0], "b": [3, 2, 11]})


def words() -> pd.DataFrame:
    return table()[["c1", "c2"]].fillna("z")


def new_words() -> pd.DataFrame:
    return pd.DataFrame({"c1": ["a", "new"], "c2": ["x", "y"]})


def columns(*transformers: tuple[str, Any, Any], **params: Any) -> ColumnTransformer:
    return ColumnTransformer(list(transformers), **params)


NUMERIC = make_column_selector(dtype_include=np.number)
WORDS = make_column_selector(dtype_exclude=[np.number, bool])
SPECS = {
    "names": columns(("n", NUMBERS, ["n1", "n2"]), ("c", ONE_HOT, ["c1", "c2"])),
    "slices": columns(("n", NUMBERS, slice(0, 2)), ("c", ONE_HOT, slice("c1", "c2"))),
    "selectors": columns(("n", NUMBERS, NUMERIC), ("c", ONE_HOT, WORDS)),
    "passed through": columns(("n", NUMBERS, ["n1"]), ("p", "passthrough", ["n2", "b"])),
    "remainder passed through": columns(
        ("n", NUMBERS, ["n1"]), ("c", ONE_HOT, ["c2", "c1"]), remainder="passthrough"
    ),
    "remainder scaled": columns(
        ("n", NUMBERS, ["n1"]), ("c", ONE_HOT, ["c1", "c2"]), remainder=StandardScaler()
    ),
    "a column twice": columns(("a", NUMBERS, ["n1"]), ("b", MEDIAN, ["n1", "n2"])),
    "target": columns(("t", TargetEncoder(cv=KFold(3)), ["c1", "c2"]), ("n", NUMBERS, ["n1"])),
    "nested": columns(("in", INNER, ["n1", "c1"]), ("x", ONE_HOT, ["c2"])),
    "steps left out": columns(
        ("n", Pipeline([("off", "passthrough"), ("s", StandardScaler())]), ["n1", "n2"]),
        ("c", Pipeline([("off", "passthrough"), ("o", ONE_HOT)]), ["c1"]),
        ("p", Pipeline([("off", "passthrough")]), ["n2"]),
    ),
}


def two_columns() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(5, 2, ROWS), "b": rng.integers(0, 9, ROWS)})
    X.loc[::6, "a"] = np.nan
    return X


def union(*parts: tuple[str, Any], **params: Any) -> FeatureUnion:
    return FeatureUnion(list(parts), **params)


BOTH = union(("s", NUMBERS), ("m", MinMaxScaler()))
UNIONS = {
    "two": BOTH,
    "passed through first": union(("p", "passthrough"), ("s", NUMBERS)),
    "union in a union": union(("u", BOTH), ("s", MinMaxScaler())),
    "first in a pipeline": make_pipeline(BOTH, StandardScaler()),
    "behind a step": make_pipeline(
        SimpleImputer(strategy="median"),
        union(("s", StandardScaler()), ("p", "passthrough"), ("m", MinMaxScaler())),
    ),
    "of column transformers": union(
        ("one", columns(("s", NUMBERS, ["b", "a"]))),
        ("two", columns(("m", MinMaxScaler(), ["b"]), remainder="passthrough")),
    ),
    "in a column transformer": columns(
        ("u", union(("s", NUMBERS), ("p", "passthrough")), ["a"]), remainder=MinMaxScaler()
    ),
}

TEXTS = {
    "union of text": union(("o", ONE_HOT), ("t", TARGET)),
    "union of text in a column transformer": columns(
        ("u", union(("o", ONE_HOT), ("t", TARGET)), ["c1"]), ("d", ONE_HOT, ["c2"])
    ),
}
EVERY = {
    **{name: (estimator, table, new_rows) for name, estimator in SPECS.items()},
    **{name: (estimator, two_columns, two_new) for name, estimator in UNIONS.items()},
    **{name: (estimator, words, new_words) for name, estimator in TEXTS.items()},
}


@pytest.mark.quick(15)
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("dtype", one_in(2, ["float64", "float32"]))
def test_equals_sklearn(name: str, dtype: str) -> None:
    estimator, X, new = EVERY[name]
    assert_parity(estimator, X(), np.random.default_rng(1).normal(size=ROWS), new(), dtype)


@pytest.mark.parametrize(
    "estimator",
    [
        columns(("n", NUMBERS, [0, 1]), ("c", ONE_HOT, [2])),
        columns(("n", NUMBERS, slice(0, 2)), remainder="passthrough"),
        columns(("n", NUMBERS, [True, False, True])),
        make_pipeline(SimpleImputer(), StandardScaler()),
    ],
    ids=["positions", "slices", "masks", "pipeline"],
)
def test_arrays_equal_sklearn(estimator: Any) -> None:
    X = table()[["n1", "n2", "b"]].astype("float64").to_numpy()
    assert_parity(estimator, X)


@pytest.mark.parametrize("name", ["remainder scaled", "nested", "of column transformers"])
def test_hand_over_holds_nothing_of_ours_and_can_be_fitted_again(name: str) -> None:
    estimator, X, new = EVERY[name]
    plain = Program(estimator).fit(X()[:50]).to_sklearn()
    assert "Frozen" not in repr(vars(plain))
    assert b"pipeline." not in pickle.dumps(plain).replace(b"sklearn.pipeline.", b"")
    with quiet():
        again = plain.fit(X()).transform(new())
        np.testing.assert_allclose(again, clone(estimator).fit(X()).transform(new()))


TYPES = ["Int64", "UInt8", "Float64", "boolean", *map(pd.ArrowDtype, (pa.int64(), pa.bool_()))]

PASSING = {
    "passed on": ("passthrough", ["a"]),
    "through a function": (FunctionTransformer(feature_names_out="one-to-one"), ["a"]),
    "of a function": (FunctionTransformer(np.negative, feature_names_out="one-to-one"), ["b"]),
    "chosen by its type": ("passthrough", make_column_selector(dtype_include=["Int64"])),
    "encoded": (OneHotEncoder(), ["a"]),
}


def with_gaps(kind: Any = "Int64") -> pd.DataFrame:
    cells = pd.array([None, 1, 0, 1, 1, 0], dtype="Int64").astype("boolean").astype(kind)
    others = pd.array([None, 15, 17, 19, 15, 18], dtype="Int64")
    return pd.DataFrame({"a": cells, "b": others, "c": np.arange(6.0)})


def assert_lifted(estimator: Any, X: pd.DataFrame) -> None:
    """Hold the lifted transformer to ours and to scikit-learn's, on rows without a gap."""
    model, whole = Accelerated(estimator, device="cpu").fit(X), X.dropna()
    found = model.to_sklearn()
    made = found.transform(whole)
    np.testing.assert_allclose(made.astype("float64"), model.transform(whole))
    reference = estimator.fit(whole)
    assert [name for *_, name in found.transformers_] == [n for *_, n in reference.transformers_]
    assert found.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()


@pytest.mark.parametrize("how", PASSING)
def test_a_first_row_may_be_missing_in_all_that_passes(how: str) -> None:
    estimator = make_column_transformer(PASSING[how], ("passthrough", ["a"]), sparse_threshold=0)
    assert_lifted(estimator, with_gaps())
