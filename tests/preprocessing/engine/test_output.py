"""Programs that make frames, against scikit-learn with the same `set_output`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.impute import MissingIndicator, SimpleImputer
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
)

from pipeline.preprocessing.engine import table as blocks
from pipeline.preprocessing.engine.program import Program

ROWS = 60
NUMBERS = ["a", "b"]


def table(n_rows: int = ROWS) -> pd.DataFrame:
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


def numbers() -> Any:
    return make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())


SPECS = {
    "numbers": make_column_transformer((numbers(), NUMBERS)),
    "encoders": make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["t"]), (OrdinalEncoder(), ["c"]), (numbers(), NUMBERS)
    ),
    "categories passed on": make_column_transformer(
        (numbers(), NUMBERS), ("passthrough", ["c"]), verbose_feature_names_out=False
    ),
    "remainder": make_column_transformer(
        (MinMaxScaler(), ["b"]), ("drop", ["t"]), remainder="passthrough"
    ),
    "passed on first": make_column_transformer(
        ("passthrough", ["big", "c"]), (MinMaxScaler(), ["b"])
    ),
    "union": make_column_transformer(
        (make_union(MinMaxScaler(), StandardScaler()), NUMBERS), ("passthrough", ["c"])
    ),
    "function": make_column_transformer((FunctionTransformer(np.abs), ["b"])),
}


@pytest.mark.parametrize("n_rows", [13, ROWS])
@pytest.mark.parametrize("name", SPECS)
def test_frames_equal_sklearns(name: str, n_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "CHUNK_ROWS", n_rows)
    estimator = clone(SPECS[name]).set_output(transform="pandas")
    program = Program(estimator, "float64")
    reference = clone(estimator)
    same(program.fit_transform(table()), reference.fit_transform(table()))
    same(program.transform(table(9)), reference.transform(table(9)))
    same(program.to_sklearn().transform(table(9)), reference.transform(table(9)))


TYPED = {
    **SPECS,
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
    "a union": make_union(SimpleImputer(strategy="most_frequent"), StandardScaler()),
}  # fmt: skip


@pytest.mark.parametrize("n_rows", [13, ROWS])
@pytest.mark.parametrize("name", TYPED)
def test_columns_have_the_types_of_sklearn(
    name: str, n_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "CHUNK_ROWS", n_rows)
    estimator = clone(TYPED[name]).set_output(transform="pandas")
    X = table().assign(f=np.float32(1.5) + table()["b"].astype("float32"))
    X["i"] = X["b"].astype("int32")
    X = X if isinstance(estimator, ColumnTransformer) else X[["big", "i"]]
    program, reference = Program(estimator), clone(estimator)
    for made, wanted in (
        (program.fit_transform(X), reference.fit_transform(X)),
        (program.transform(X[:9]), reference.transform(X[:9])),
    ):
        categories = dict(made.dtypes[made.dtypes == "category"])
        pd.testing.assert_frame_equal(made, wanted.astype(categories), check_exact=False, rtol=1e-6)
        for column in wanted.columns[wanted.dtypes == "int64"]:
            assert made[column].tolist() == wanted[column].tolist()


def same(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    """Compare frames; ours has one type of numbers, but for those passed on."""
    assert found.columns.tolist() == expected.columns.tolist()
    assert found.index.equals(expected.index)
    for name in expected:
        if found[name].dtype == "float64":
            theirs = expected[name].astype("float64")
            np.testing.assert_allclose(found[name], theirs, rtol=1e-6, atol=1e-12)
        else:
            pd.testing.assert_series_equal(found[name], expected[name])


def test_text_that_is_passed_on_is_categorical() -> None:
    estimator = make_column_transformer(("passthrough", ["t"])).set_output(transform="pandas")
    found = Program(estimator).fit_transform(table())
    assert found["passthrough__t"].dtype == "category"
    assert found["passthrough__t"].astype("str").tolist() == table()["t"].tolist()


def test_steps_are_named_by_the_frames_between_them() -> None:
    estimator = make_column_transformer((numbers(), NUMBERS)).set_output(transform="pandas")
    program, reference = Program(estimator), clone(estimator).fit(table())
    program.fit(table())
    ours, theirs = (
        fitted.named_transformers_["pipeline"]["standardscaler"].feature_names_in_.tolist()
        for fitted in (program.to_sklearn(), reference)
    )
    assert ours == theirs == ["a", "b", "missingindicator_a"]


def test_sparse_output_has_no_frame() -> None:
    estimator = make_column_transformer((OneHotEncoder(), ["t"])).set_output(transform="pandas")
    with pytest.raises(ValueError, match="Pandas output does not support sparse data"):
        Program(estimator).fit_transform(table())
