from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
    TargetEncoder,
)

from pipeline.preprocessing.engine import table as blocks
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.engine.workers import HostWorker
from tests.preprocessing.parity import PRIVATE, assert_parity, cut
from tests.strategies import tables

ROWS = 448
NUMBERS = ["real", "far", "int"]


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"real": rng.normal(size=ROWS), "far": 1e3 + rng.normal(size=ROWS)})
    X["int"] = rng.integers(0, 7, ROWS)
    X["text"] = rng.choice(["a", "b", "c", "only once"], ROWS, p=[0.5, 0.3, 0.19, 0.01])
    X["town"] = rng.integers(0, 60, ROWS).astype(str)
    X.loc[::6, ["real", "text"]] = np.nan
    # A block of its own without any value.
    X.loc[:99, "far"] = np.nan
    return X


def target() -> np.ndarray:
    return np.random.default_rng(1).normal(size=ROWS) + 1e3


def programs() -> dict[str, Any]:
    return {
        "scaled": make_column_transformer((StandardScaler(), NUMBERS)),
        "mean": make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS)
        ),
        "median": make_column_transformer((SimpleImputer(strategy="median"), NUMBERS)),
        "mode": make_column_transformer((SimpleImputer(strategy="most_frequent"), NUMBERS)),
        "one-hot": make_column_transformer((OneHotEncoder(), ["text", "int"])),
        "filled one-hot": make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["int"]),
            (make_pipeline(SimpleImputer(strategy="constant"), OneHotEncoder()), ["text"]),
        ),
        "ordinal": make_column_transformer((OrdinalEncoder(), ["text", "town", "real"])),
        "target": make_column_transformer((TargetEncoder(cv=KFold(3)), ["text", "town", "int"])),
        "target of imputed": make_column_transformer(
            (make_pipeline(SimpleImputer(), TargetEncoder(cv=KFold(3)), StandardScaler()), ["int"])
        ),
    }


def fitted_values(fitted: Any) -> list[Any]:
    """Return what was learnt, in order: arrays and numbers at any depth."""
    if isinstance(fitted, list | tuple):
        return [value for part in fitted for value in fitted_values(part)]
    if isinstance(fitted, np.ndarray | float | int):
        return [fitted]
    learnt = getattr(fitted, "__dict__", {})
    chosen = [learnt[n] for n in sorted(learnt) if n not in PRIVATE | {"_random_state"}]
    return [value for part in chosen for value in fitted_values(part)]


def assert_equally_fitted(ours: Program, other: Program) -> None:
    pairs = zip(fitted_values(ours.to_sklearn()), fitted_values(other.to_sklearn()), strict=True)
    compared = 0
    for a, b in pairs:
        if np.asarray(a).dtype.kind in "fiub":
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
            compared += 1
        else:
            assert np.asarray(a).dtype == np.asarray(b).dtype
            assert pd.Series(a).equals(pd.Series(b))
    assert compared > 3


def fit_in_blocks(estimator: Any, n_blocks: int, patch: pytest.MonkeyPatch) -> tuple[Program, Any]:
    patch.setattr(blocks, "CHUNK_ROWS", ROWS // n_blocks)
    assert len(blocks.Table(table()).parts()) == n_blocks
    program = Program(estimator, "float64")
    return program, program.fit_transform(table(), target())


@pytest.mark.quick(9)
@pytest.mark.parametrize("n_blocks", [2, 7, 64])
@pytest.mark.parametrize("name", programs())
def test_blocks_do_not_matter(name: str, n_blocks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    estimator = programs()[name]
    one, expected = fit_in_blocks(estimator, 1, monkeypatch)
    many, found = fit_in_blocks(estimator, n_blocks, monkeypatch)
    assert_equally_fitted(many, one)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(
        many.transform(table()), one.transform(table()), rtol=1e-12, atol=1e-9
    )


@given(X=tables(), n_rows=st.integers(1, 9))
def test_any_table_in_any_blocks(X: pd.DataFrame, n_rows: int) -> None:
    X = X.loc[:, X.notna().any()]
    numbers = [n for n in X.columns if X[n].dtype.kind in "if"]
    text = [n for n in X.columns if n not in numbers]
    estimator = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), text),
    )
    if X.shape[1]:
        X[numbers] = X[numbers].clip(-(2**40), 2**40)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(blocks, "CHUNK_ROWS", n_rows)
            assert_parity(estimator, X)


FRAME_ROWS = 60
BOTH = ["a", "b"]


def columns_of_each_type(n_rows: int = FRAME_ROWS) -> pd.DataFrame:
    row = np.arange(n_rows)
    X = pd.DataFrame(
        {
            "a": np.where(row % 7 == 0, np.nan, row / 3),
            "b": row % 5,
            "big": row + 2**60,
            "c": pd.Categorical(np.array(["x", "y", "z"])[row % 3], ["z", "y", "x", "w"]),
            "t": np.array(["red", "blue"])[row % 2],
        },
        index=pd.Index(row * 10, name="key"),
    )
    return X.astype({"t": "str"})


MARKED = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())

FRAMES = {
    "numbers": make_column_transformer((MARKED, BOTH)),
    "encoders": make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["t"]), (OrdinalEncoder(), ["c"]), (MARKED, BOTH)
    ),
    "categories passed on": make_column_transformer(
        (MARKED, BOTH), ("passthrough", ["c"]), verbose_feature_names_out=False
    ),
    "remainder": make_column_transformer(
        (MinMaxScaler(), ["b"]), ("drop", ["t"]), remainder="passthrough"
    ),
    "passed on first": make_column_transformer(
        ("passthrough", ["big", "c"]), (MinMaxScaler(), ["b"])
    ),
    "union": make_column_transformer(
        (make_union(MinMaxScaler(), StandardScaler()), BOTH), ("passthrough", ["c"])
    ),
    "function": make_column_transformer((FunctionTransformer(np.abs), ["b"])),
}


TYPED = {
    **FRAMES,
    "most frequent integers": make_column_transformer(
        (SimpleImputer(strategy="most_frequent"), ["big", "i"]), (StandardScaler(), ["b"])
    ),
    "integers as they are": make_column_transformer(
        (FunctionTransformer(feature_names_out="one-to-one"), ["big"]), (StandardScaler(), ["b"])
    ),
    "codes": make_column_transformer(
        (OrdinalEncoder(dtype="int32"), ["c"]), (MinMaxScaler(), ["f"]), (OneHotEncoder(
            dtype="int8", sparse_output=False), ["t"]), ("passthrough", ["big"])
    ),
    "holes": make_column_transformer((MissingIndicator(), ["a"]), (MaxAbsScaler(), ["f", "i"])),
    "bins": make_column_transformer(
        (KBinsDiscretizer(3, encode="ordinal", quantile_method="linear"), ["f"]),
        (Binarizer(), ["i"]), (Normalizer(), ["f"]), (make_pipeline(MinMaxScaler()), ["b"])
    ),
    "imputer alone": SimpleImputer(strategy="most_frequent"),
    "selection alone": VarianceThreshold(),
    "selection": make_column_transformer((VarianceThreshold(), ["big", "f", "i"])),
    "selection behind": make_pipeline(
        make_column_transformer(
            (MinMaxScaler(), ["f"]), ("passthrough", ["big", "i"]), ("drop", ["b"]),
        ), VarianceThreshold(0.1), VarianceThreshold(),
    ),
    "a union": make_union(SimpleImputer(strategy="most_frequent"), StandardScaler()),
}  # fmt: skip


@pytest.mark.quick(15)
@pytest.mark.parametrize("n_rows", [13, FRAME_ROWS])
@pytest.mark.parametrize("name", TYPED)
def test_columns_have_the_types_of_sklearn(
    name: str, n_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut(monkeypatch, n_rows, 1)
    estimator = clone(TYPED[name]).set_output(transform="pandas")
    X = columns_of_each_type().assign(
        f=np.float32(1.5) + columns_of_each_type()["b"].astype("float32")
    )
    X["i"] = X["b"].astype("int32")
    X = X[["big", "i"]] if name.endswith("alone") or name == "a union" else X
    program = Program(estimator, classified=True, make_worker=HostWorker)
    reference = clone(estimator)
    for made, wanted in (
        (program.fit_transform(X), reference.fit_transform(X)),
        (program.transform(X[:9]), reference.transform(X[:9])),
    ):
        categories = dict(made.dtypes[made.dtypes == "category"])
        pd.testing.assert_frame_equal(made, wanted.astype(categories), check_exact=False, rtol=1e-6)
        for column in wanted.columns[wanted.dtypes == "int64"]:
            assert made[column].tolist() == wanted[column].tolist()
