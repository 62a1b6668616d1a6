"""`Accelerated` around transformers: containers, names, batches, cross-fitting."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    Normalizer,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.utils import get_tags
from xgboost import XGBClassifier

from pipeline.errors import ConfigError
from pipeline.table.output import CONTAINERS
from tests.programs import NUMBERS, TABLE, on_cpu
from tests.twins.parity import dense

N = [name for name in TABLE if TABLE[name].dtype.kind in "iuf"]
C = ["c1", "c2"]
SCALED = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), N),
    (OneHotEncoder(sparse_output=False, handle_unknown="ignore"), C),
)


@pytest.mark.parametrize("way", ["of the estimator", "of the model", "of the session"])
def test_frames_come_where_they_are_asked_for(way: str) -> None:
    estimator = clone(SCALED)
    with config_context(transform_output="pandas"):
        expected = clone(SCALED).fit_transform(TABLE)
    model = on_cpu(estimator, dtype="float64")
    if way == "of the estimator":
        estimator.set_output(transform="pandas")
    elif way == "of the model":
        assert model.set_output(transform="pandas") is model
    with config_context(transform_output="pandas" if way == "of the session" else None):
        found = model.fit_transform(TABLE)
        again = model.transform(TABLE)
        assert model.get_feature_names_out().tolist() == list(expected)
    pd.testing.assert_frame_equal(found, expected.astype("float64"), rtol=1e-6)
    pd.testing.assert_frame_equal(again, found)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # as in scikit-learn
def test_the_choice_is_cloned_and_can_be_taken_back() -> None:
    model = clone(on_cpu(SCALED).set_output(transform="pandas")).fit(TABLE)
    assert isinstance(model.transform(TABLE), pd.DataFrame)
    assert isinstance(model.set_output(transform="default").transform(TABLE), np.ndarray)
    assert isinstance(model.set_output().transform(TABLE), np.ndarray)
    function = FunctionTransformer(np.abs).set_output(transform="polars")
    found = on_cpu(function).set_output(transform="default").fit_transform(MIXED[["n"]])
    pd.testing.assert_frame_equal(found, MIXED[["n"]])
    with pytest.raises(ConfigError, match="transform='arrow': choose from default, pandas, polars"):
        model.set_output(transform="arrow")


@pytest.mark.parametrize(
    ("estimator", "why"),
    [
        (SCALED, "a step learns from the output of the one before"),
        (TargetEncoder(), "TargetEncoder needs the target of all rows"),
    ],
    ids=["chain", "target"],
)
def test_what_needs_all_rows_says_so(estimator: object, why: str) -> None:
    assert not hasattr(on_cpu(estimator), "partial_fit")
    with pytest.raises(AttributeError) as caught:
        on_cpu(estimator).partial_fit(TABLE, NUMBERS)
    assert why in str(caught.value)


STATELESS = {
    "one": (Normalizer(), TABLE[N[:2]]),
    "a function": (FunctionTransformer(np.cbrt), TABLE[N]),
    "a pipeline": (make_pipeline(Normalizer(), Binarizer(threshold=0.3)), TABLE[N[:2]]),
    "a union": (make_union(Normalizer(), "passthrough"), TABLE[N[:2]]),
    "texts": (HashingVectorizer(n_features=8), ["one two", "three"]),
}


@pytest.mark.parametrize("case", STATELESS)
def test_what_needs_no_fit_is_applied_without_one(case: str) -> None:
    estimator, X = STATELESS[case]
    X = X.fillna(0).to_numpy() if isinstance(X, pd.DataFrame) else X
    model = on_cpu(estimator)
    np.testing.assert_allclose(dense(model.transform(X)), dense(clone(estimator).transform(X)))
    assert not get_tags(model).requires_fit
    assert not hasattr(model, "plan_")


MIXED = pd.DataFrame(
    {"n": [1.0, 4.0, 9.0], "i": np.array([1, 2, 3], "int8"), "b": [True, False, True]}
)
FRAMED: dict[str, Any] = {
    "a function": FunctionTransformer(lambda X: X * 2),
    "after a scaler": make_pipeline(StandardScaler(), FunctionTransformer(np.abs)),
    "in a branch": make_column_transformer(
        (FunctionTransformer(np.sqrt), ["n"]), ("passthrough", ["i"])
    ),
    "passed on": make_column_transformer((StandardScaler(), ["n"]), remainder="passthrough"),
    "without a twin": PCA(2),
    "without a twin behind columns that a union has picked": make_pipeline(
        make_union(VarianceThreshold()), make_pipeline(PCA(2), RobustScaler())
    ),
    "a function in a union": make_union(FunctionTransformer(np.abs), PCA(2)),
}  # fmt: skip


@pytest.mark.parametrize("way", ["of the estimator", "of the model"])
@pytest.mark.parametrize("name", FRAMED)
def test_frames_are_those_that_sklearn_makes(name: str, way: str) -> None:
    estimator = clone(FRAMED[name])
    plain = clone(estimator).set_output(transform="pandas").fit(MIXED)
    expected = plain.transform(MIXED)
    if way == "of the model":
        model = on_cpu(estimator).set_output(transform="pandas")
    else:
        model = on_cpu(estimator.set_output(transform="pandas"))
    pd.testing.assert_frame_equal(model.fit(MIXED).transform(MIXED), expected)
    pd.testing.assert_frame_equal(model.to_sklearn().transform(MIXED), expected)
    if hasattr(plain, "get_feature_names_out"):
        assert names_or_error(model) == names_or_error(plain)
    pd.testing.assert_frame_equal(model.fit_transform(MIXED), expected)


def names_or_error(model: Any) -> Any:
    try:
        return model.get_feature_names_out().tolist()
    except AttributeError as error:
        return type(error)


@pytest.mark.filterwarnings(
    "ignore:X (has|does not have valid) feature names", "ignore:When `set_o"
)
@pytest.mark.parametrize(("first", "later"), [*permutations(CONTAINERS, 2)])
def test_a_container_that_is_chosen_after_fit_is_filled_as_in_sklearn(
    first: str, later: str
) -> None:
    X = MIXED[["n", "i"]]
    for name in ("passed on", "after a scaler", "without a twin", "a function"):
        plain = clone(FRAMED[name]).set_output(transform=first).fit(X)
        expected = plain.set_output(transform=later).transform(X)
        model = on_cpu(FRAMED[name]).set_output(transform=first).fit(X)
        for _ in range(2):
            assert_same_container(model.set_output(transform=later).transform(X), expected, name)


def test_rows_transformed_with_their_target_keep_the_index_of_the_frame() -> None:
    frame = pd.DataFrame({"a": [0.0, 1, 3], "b": [2.0, 0, 1]}, index=["x", "y", "z"])
    y = frame["a"] + frame["b"]
    model = on_cpu(PLSRegression(1)).set_output(transform="pandas").fit(frame.to_numpy(), y)
    with pytest.warns(UserWarning, match="matched by position"):
        rows, scores = model.transform(frame, y)
    assert rows.index.equals(frame.index)
    assert isinstance(scores, np.ndarray)


def assert_same_container(found: Any, expected: Any, name: str = "") -> None:
    assert type(found) is type(expected), name
    if isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    else:
        assert list(found.dtypes) == list(expected.dtypes), name
        assert list(found.columns) == list(expected.columns)
        np.testing.assert_allclose(found.to_numpy(), expected.to_numpy(), rtol=1e-12)


SPARSE: dict[str, Any] = {
    "alone": OneHotEncoder(),
    "first": make_pipeline(OneHotEncoder(), MaxAbsScaler()),
    "in a branch": make_column_transformer((OneHotEncoder(), ["c1"])),
    "bins": KBinsDiscretizer(2, quantile_method="averaged_inverted_cdf"),
}


@pytest.mark.parametrize("way", ["of the estimator", "of the model", "of the session", "later"])
@pytest.mark.parametrize("name", SPARSE)
def test_of_sparse_rows_no_frame_is_made(name: str, way: str) -> None:
    estimator = clone(SPARSE[name])
    X = TABLE[["n2"]] if name == "bins" else TABLE[["c1"]]
    model = on_cpu(estimator)
    with config_context(transform_output="pandas" if way == "of the session" else None):
        if way == "of the estimator":
            estimator.set_output(transform="pandas")
        elif way == "of the model":
            model.set_output(transform="pandas")
        if way == "later":
            model.fit(X).set_output(transform="pandas")
        with pytest.raises(ValueError, match=r"sparse"):
            model.transform(X) if way == "later" else model.fit_transform(X)


@pytest.mark.parametrize("type_", ["bool", "uint8", "int64", "float32", "Int64", "boolean"])
def test_the_labels_of_xgboost_have_its_type(type_: str) -> None:
    y = pd.Series(NUMBERS).astype(type_)
    booster = XGBClassifier(n_estimators=1, n_jobs=1)
    plain = clone(booster).fit(TABLE[["n2"]], y)
    for estimator in (booster, make_pipeline(StandardScaler(), booster)):
        model = on_cpu(estimator).fit(TABLE[["n2"]], y)
        assert model.classes_.dtype == plain.classes_.dtype
        assert model.classes_.tolist() == plain.classes_.tolist()
        assert model.predict(TABLE[["n2"]]).dtype == plain.predict(TABLE[["n2"]]).dtype
