from __future__ import annotations

import datetime
from copy import copy
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import IsolationForest, RandomForestClassifier, RandomForestRegressor
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from xgboost import XGBClassifier

from pipeline import Accelerated
from pipeline.errors import ConfigError, DataError, ParityError
from pipeline.model.certificate import Certificate

ROWS = 1_000
CLASSIFIED = ["predict", "predict_proba"]
DECIDED = [*CLASSIFIED, "decision_function"]
SCORES = ["decision_function", "score_samples"]
X, Y = make_classification(ROWS, 6, n_informative=4, n_classes=3, random_state=0)
TABLE = pd.DataFrame(X, columns=list("abcdef")).assign(town=np.resize(["x", "y", "z"], ROWS))
WORDS = np.array(["no", "so", "yes"])[Y]


def fitted(estimator: Any, X: Any = X, y: Any = Y) -> Accelerated:
    return Accelerated(estimator, device="cpu").fit(X, y)


def mixed(last: Any) -> Any:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    table = make_column_transformer((numbers, list("abcdef")), (OneHotEncoder(), ["town"]))
    return make_pipeline(table, last)


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("estimator", "X", "y", "methods"),
    [
        (LogisticRegression(), X, WORDS, DECIDED),
        (RandomForestRegressor(5), X, X[:, 0], ["predict"]),
        (StandardScaler(), X, None, ["transform"]),
        (KMeans(3, n_init=1), X, None, ["predict", "transform"]),
        (IsolationForest(n_estimators=10), X, None, ["predict", *SCORES]),
        (LinearRegression(), X, X[:, :2], ["predict"]),
        (RandomForestClassifier(5), X, np.c_[Y, Y == 1], CLASSIFIED),
        (XGBClassifier(n_estimators=3, enable_categorical=True), TABLE, Y, CLASSIFIED),
        (mixed(LogisticRegression()), TABLE, WORDS, DECIDED),
        (mixed(RandomForestClassifier(5)), TABLE, WORDS, CLASSIFIED),
        (make_pipeline(HashingVectorizer(), LogisticRegression()), TABLE["town"], Y, DECIDED),
    ],
)  # fmt: skip
def test_what_is_lifted_on_the_host_agrees(estimator: Any, X: Any, y: Any, methods: Any) -> None:
    model = fitted(estimator, X, y)
    found = model.certify(X)
    assert found is model.certificate_
    assert found.require().holds
    assert (found.rows, found.device) == (ROWS, "cpu")
    assert [each.method for each in found.differences] == methods
    assert all(each.differing == 0 for each in found.differences)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Certificate) == found
    assert found.packages["scikit-learn"]
    assert not hasattr(model.fit(X, y), "certificate_")


@pytest.mark.parametrize("last", [LogisticRegression(), XGBClassifier(n_estimators=3)])
def test_sparse_rows_are_compared_too(last: Any) -> None:
    rows = sparse.random(ROWS, 5, 0.3, format="csr", random_state=0)
    model = fitted(make_pipeline(StandardScaler(with_mean=False), last), rows, Y)
    found = model.certify(rows[:50]).require()
    assert (found.rows, found.passed[:6]) == (50, "scipy.")
    model.to_sklearn = lambda: fitted(clone(last), rows, 2 - Y)  # type: ignore[method-assign]
    assert not model.certify(rows).holds


class Wrong(Accelerated):
    """Lifts to a model that is a little off."""

    def to_sklearn(self) -> Any:
        lifted = copy(super().to_sklearn())
        lifted.coef_ = lifted.coef_ * 1.1
        return lifted


def test_a_wrong_lift_is_found_and_names_method_row_and_difference() -> None:
    model = Wrong(LogisticRegression(), device="cpu").fit(X, Y)
    found = model.certify(X)
    assert not found.holds
    probability = next(each for each in found.differences if each.method == "predict_proba")
    apart = np.abs(model.predict_proba(X) - model.to_sklearn().predict_proba(X))
    assert probability.largest == pytest.approx(apart.max())
    assert probability.row == apart.max(axis=1).argmax()
    assert probability.differing > 0.9
    with pytest.raises(ParityError, match=r"predict differs: .*; compared with 'cpu'"):
        found.require()
    assert "predict differs" in str(found)
    assert model.certify(X, rtol=1.0, atol=1.0, differing=0.5).holds


@pytest.mark.parametrize(
    ("estimator", "X"), [(DBSCAN(), X), (LogisticRegression(), X[:0])], ids=["no method", "no rows"]
)
def test_nothing_to_compare_is_refused(estimator: Any, X: Any) -> None:
    with pytest.raises((ConfigError, ValueError), match="nothing to compare|0 sample"):
        fitted(estimator).certify(X)


def test_labels_that_are_numbers_have_no_tolerance() -> None:
    y = 100_000.0 + Y
    model = fitted(LogisticRegression(), X, y)
    lifted = copy(model.to_sklearn())
    lifted.classes_ = np.roll(lifted.classes_, 1)
    model.to_sklearn = lambda: lifted  # type: ignore[method-assign]
    labels = model.certify(X).differences[0]
    assert (labels.method, labels.largest, labels.differing) == ("predict", None, 1.0)


def test_partitions_are_refused() -> None:
    dd = pytest.importorskip("dask.dataframe")
    partitions = dd.from_pandas(TABLE[["a"]], npartitions=2)
    with pytest.raises(DataError, match=r"a certificate needs all rows .* pass X.compute\(\)"):
        fitted(StandardScaler(), partitions, None).certify(partitions)


DAYS = [datetime.date(2020, 1, 1), datetime.date(2020, 3, 1), datetime.date(2020, 2, 1)]
HOT = OneHotEncoder(handle_unknown="ignore", sparse_output=False)


def cells(values: list[Any], dtype: Any = object) -> pd.DataFrame:
    return pd.DataFrame({"c": pd.Series(values * 10, dtype=dtype)})


AS_SKLEARN_HAS_IT = {
    "text with None": cells(["a", None, "b"]),
    "text with None and NaN": cells(["a", None, np.nan]),
    "text of pandas": cells(["a", None, "b"], "str"),
    "categories": cells(["a", None, "b"], "category"),
    "booleans with None": cells([True, None, False]),
    "nullable booleans": cells([True, None, False], "boolean"),
    "whole numbers with None": cells([3, None, 2]),
    "real numbers with None": cells([1.5, None, -2.5]),
    "nullable integers": cells([3, None, 2], "Int64"),
    "nothing": cells([None, None, None]),
    "words for missing": cells(["nan", None, "None"]),
    "booleans of NumPy": cells([np.True_, np.False_, None]),
    "hours": cells([datetime.datetime(2020, 1, 1, hour) for hour in (3, 12, 7)]),
    "hours of a zone": cells([pd.Timestamp(day, tz="Europe/Berlin") for day in DAYS]),
    "durations": cells([datetime.timedelta(days) for days in (1, 3, 2)]),
    "Arrow integers": cells([3, None, 2], pd.ArrowDtype(pa.int64())),
    "days": cells(DAYS),
    "objects of NumPy": np.array([["a", 1], [None, 2], ["b", None]] * 10, dtype=object),
    "rows": [["a", 1], [None, 2], ["b", None]] * 10,
    "Polars": pl.DataFrame({"c": ["a", None, "b"] * 10, "n": [1, None, 2] * 10}),
    "Polars categories": pl.DataFrame({"c": ["a", None, "b"] * 10}).cast(pl.Categorical),
    "Polars enumeration": pl.DataFrame({"c": ["a", None, "b"] * 10}).cast(pl.Enum(["b", "a"])),
    "Arrow": pa.table({"c": ["a", None, "b"] * 10}),
    "Arrow dates": pa.table({"c": pa.array(DAYS * 10)}),
}  # fmt: skip
"""Columns as encoders of scikit-learn take them."""

NAMED_OTHERWISE = ("Polars", "Arrow dates", "hours", "durations")
"""A matrix of objects holds 1.0 for 1; points in time and durations are written as NumPy does."""

ENCODERS = {
    "one-hot": HOT,
    "ordinal": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-9),
}


@pytest.mark.quick(22)
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("name", AS_SKLEARN_HAS_IT)
def test_an_encoder_answers_as_sklearn_on_the_rows_as_they_were_passed(
    name: str, encoder: str
) -> None:
    X, y = AS_SKLEARN_HAS_IT[name], np.resize([0.0, 5.0, 1.0], 30)
    plain = clone(ENCODERS[encoder]).fit(X, y)
    model = Accelerated(ENCODERS[encoder], device="cpu", dtype="float64").fit(X, y)
    np.testing.assert_allclose(model.transform(X), plain.transform(X))
    np.testing.assert_array_equal(model.to_sklearn().transform(X), model.transform(X))
    assert model.certify(X).holds
    if name not in NAMED_OTHERWISE:
        names = plain.get_feature_names_out().tolist()
        assert model.get_feature_names_out().tolist() == names


ONLY_OURS = {
    "NA among objects": (HOT, cells(["a", pd.NA, "b"])),
    "text with NA": (HOT, cells(["a", pd.NA, "b"], "string")),
    "passed on with NA": (
        make_column_transformer(("passthrough", ["c"])), cells([None, 2, 3], "Int64")
    ),
    "Arrow text in pandas": (HOT, cells(["a", None, "b"], pd.ArrowDtype(pa.string()))),
    # PyArrow makes "b" of the null on its way to NumPy, which is what scikit-learn sees.
    "Arrow dictionary": (HOT, pa.table({"c": pa.array(["a", None, "b"] * 9).dictionary_encode()})),
}  # fmt: skip


@pytest.mark.parametrize("name", ONLY_OURS)
def test_where_the_lifted_model_would_answer_otherwise_the_certificate_does_not_hold(
    name: str,
) -> None:
    estimator, X, *others = ONLY_OURS[name]
    found = fitted(estimator, X, None).certify(*(others or [X]))
    assert not found.holds
    with pytest.raises(ParityError, match="transform"):
        found.require()
