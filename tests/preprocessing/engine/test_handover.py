"""Fitted `ColumnTransformer`s that scikit-learn makes of a row in which something is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    SplineTransformer,
    StandardScaler,
)

from pipeline import Accelerated

TYPES = ["Int64", "UInt8", "Float64", "boolean", *map(pd.ArrowDtype, (pa.int64(), pa.bool_()))]

PASSING = {
    "passed on": ("passthrough", ["a"]),
    "through a function": (FunctionTransformer(feature_names_out="one-to-one"), ["a"]),
    "of a function": (FunctionTransformer(np.negative, feature_names_out="one-to-one"), ["b"]),
    "of a nested one": (make_column_transformer(("passthrough", ["a"])), ["a"]),
    "chosen by its type": ("passthrough", make_column_selector(dtype_include=["Int64"])),
    "beside splines": (SplineTransformer(handle_missing="zeros"), ["b"]),
    "imputed": (SimpleImputer(missing_values=pd.NA), ["a"]),
    "encoded": (OneHotEncoder(), ["a"]),
}


def table(kind: Any = "Int64") -> pd.DataFrame:
    cells = pd.array([None, 1, 0, 1, 1, 0], dtype="Int64").astype("boolean").astype(kind)
    others = pd.array([None, 15, 17, 19, 15, 18], dtype="Int64")
    return pd.DataFrame({"a": cells, "b": others, "c": np.arange(6.0)})


def lifted(estimator: Any, X: pd.DataFrame) -> None:
    """Hold the lifted transformer to ours and to scikit-learn's, on rows without a gap."""
    model, whole = Accelerated(estimator, device="cpu").fit(X), X.dropna()
    found = model.to_sklearn()
    made = found.transform(whole)
    np.testing.assert_allclose(made.astype("float64"), model.transform(whole))
    reference = estimator.fit(whole)
    assert [name for *_, name in found.transformers_] == [n for *_, n in reference.transformers_]
    assert found.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_a_first_row_may_be_missing_in_what_is_passed_on(kind: Any) -> None:
    lifted(make_column_transformer((StandardScaler(), ["c"]), ("passthrough", ["a"])), table(kind))


@pytest.mark.parametrize("how", PASSING)
def test_a_first_row_may_be_missing_in_all_that_passes(how: str) -> None:
    estimator = make_column_transformer(PASSING[how], ("passthrough", ["a"]), sparse_threshold=0)
    lifted(estimator, table())


def test_a_first_row_may_be_missing_in_text_that_another_one_encodes() -> None:
    X = pd.DataFrame({"t": pd.array([None, "u", "v"], dtype="string"), "c": np.arange(3.0)})
    first = make_column_transformer(("passthrough", ["t"]), (StandardScaler(), ["c"]))
    estimator = make_pipeline(first, make_column_transformer((OneHotEncoder(), [0])))
    found = Accelerated(estimator, device="cpu").fit(X).to_sklearn().transform(X[1:])
    assert found.tolist() == [[1, 0, 0], [0, 1, 0]]
