from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from pipeline.blocks import table as blocks
from pipeline.compile.program import Program
from pipeline.compile.rules import compile_transformer
from pipeline.compile.spec import RowSpec
from tests.strategies import tables
from tests.twins.parity import assert_parity, cut


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
    "passed on first": make_column_transformer(
        ("passthrough", ["big", "c"]), (MinMaxScaler(), ["b"])
    ),
    "union": make_column_transformer(
        (make_union(MinMaxScaler(), StandardScaler()), BOTH), ("passthrough", ["c"])
    ),
}


TYPED = {
    **FRAMES,
    "most frequent integers": make_column_transformer(
        (SimpleImputer(strategy="most_frequent"), ["big", "i"]), (StandardScaler(), ["b"])
    ),
    "codes": make_column_transformer(
        (OrdinalEncoder(dtype="int32"), ["c"]), (MinMaxScaler(), ["f"]), (OneHotEncoder(
            dtype="int8", sparse_output=False), ["t"]), ("passthrough", ["big"])
    ),
    "bins": make_column_transformer(
        (KBinsDiscretizer(3, encode="ordinal", quantile_method="linear"), ["f"]),
        (Normalizer(), ["f"]), (make_pipeline(MinMaxScaler()), ["b"])
    ),
    "imputer alone": SimpleImputer(strategy="most_frequent"),
    "selection alone": VarianceThreshold(),
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
    program = Program(estimator, op=compile_transformer(estimator, "estimator", RowSpec()))
    reference = clone(estimator)
    for made, wanted in (
        (program.fit_transform(X), reference.fit_transform(X)),
        (program.transform(X[:9]), reference.transform(X[:9])),
    ):
        categories = dict(made.dtypes[made.dtypes == "category"])
        pd.testing.assert_frame_equal(made, wanted.astype(categories), check_exact=False, rtol=1e-6)
        for column in wanted.columns[wanted.dtypes == "int64"]:
            assert made[column].tolist() == wanted[column].tolist()
