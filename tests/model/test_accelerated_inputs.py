"""What `Accelerated` takes, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from xgboost import XGBRanker

import pipeline
from pipeline import Accelerated
from pipeline.compile.rules import needs_order
from pipeline.errors import ConfigError, DataError, DeviceUnavailable
from tests.programs import NUMBERS, ROWS, TABLE, WORDS, on_cpu


@pytest.mark.parametrize(
    "make",
    [list, np.array, pd.Series, lambda y: pd.Series(y, dtype="category"), lambda y: pa.array(y)],
    ids=["list", "array", "series", "category", "arrow"],
)
def test_targets_of_any_kind(make: Any) -> None:
    expected = on_cpu().fit(TABLE, WORDS).predict(TABLE)
    np.testing.assert_array_equal(on_cpu().fit(TABLE, make(WORDS)).predict(TABLE), expected)


DATES = [pd.Timestamp(day, tz="UTC") for day in ("2020-07-01T05", "2020-01-01", "2021-01-01")]
POLARS = pl.DataFrame({"t": ["b", None, "b"], "d": DATES, "n": [None, 2, 1]}).with_columns(
    pl.col("d").dt.convert_time_zone("Europe/Berlin"), pl.col("d").dt.date().alias("day")
)


@pytest.mark.parametrize("make", [POLARS.select, lambda names: POLARS.select(names).to_arrow()])
@pytest.mark.parametrize(
    ("estimator", "names"),
    [
        (MissingIndicator(features="all"), ["t"]),
        (MissingIndicator(features="all"), ["t", "n"]),
        (SimpleImputer(strategy="most_frequent"), ["t", "n"]),
        (SimpleImputer(strategy="constant", fill_value="z"), ["t"]),
        (SimpleImputer(strategy="most_frequent", missing_values=None), ["t"]),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OrdinalEncoder()), ["t"]),
        (OneHotEncoder(sparse_output=False), ["t", "n"]),
        (OrdinalEncoder(), ["d"]),
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["t", "d"]),
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["t", "day"]),
    ],
)
def test_nulls_and_dates_of_arrow_are_what_numpy_makes_of_them(
    estimator: Any, names: list[str], make: Any
) -> None:
    X = make(names)
    expected = clone(estimator).fit_transform(X).tolist()
    model = Accelerated(estimator, device="cpu").fit(X)
    assert repr(model.transform(X).tolist()) == repr(expected)
    assert repr(model.to_sklearn().transform(X).tolist()) == repr(expected)


def test_columns_may_come_in_any_order_and_with_others() -> None:
    model = on_cpu().fit(TABLE, WORDS)
    expected = model.predict_proba(TABLE)
    np.testing.assert_array_equal(model.predict_proba(TABLE[TABLE.columns[::-1]]), expected)
    np.testing.assert_array_equal(model.predict_proba(TABLE.assign(more=1)), expected)
    assert model.feature_names_in_.tolist() == list(TABLE.columns)
    assert model.n_features_in_ == 4
    with pytest.raises(DataError, match=r"X lacks the columns \['n1', 'c2'\]"):
        model.predict(TABLE[["n2", "c1"]])
    with pytest.raises(DataError, match=r"pass a frame with the columns \['n1', 'n2'"):
        model.predict(TABLE.to_numpy())


BY_NAME = make_column_transformer((StandardScaler(), ["n1"]))
ORDERED = {
    "scaler": StandardScaler(),
    "behind a step that is left out": make_pipeline("passthrough", StandardScaler()),
    "model": make_pipeline(StandardScaler(), LogisticRegression()),
    "by name": BY_NAME,
    "by name, and a model": make_pipeline(BY_NAME, LogisticRegression()),
    "function": FunctionTransformer(),
    "function, and a model": make_pipeline(FunctionTransformer(np.abs), LogisticRegression()),
    "union of both": make_union(StandardScaler(), BY_NAME),
    "union by name": make_union(BY_NAME, clone(BY_NAME)),
    "classes apart": OneVsRestClassifier(make_pipeline(BY_NAME, LogisticRegression())),
}


@pytest.mark.parametrize("name", ORDERED)
def test_columns_in_another_order_are_taken_where_scikit_learn_takes_them(
    name: str, tmp_path: Path
) -> None:
    X = TABLE[["n1", "n2"]].fillna(0.0)
    turned = X[["n2", "n1"]]

    def answers(model: Any, X: pd.DataFrame) -> Any:
        try:
            return np.asarray((model.predict if hasattr(model, "predict") else model.transform)(X))
        except ValueError as error:
            return str(error).partition("pass X[")[0]

    model = on_cpu(ORDERED[name]).fit(X, NUMBERS)
    # Where the function makes arrays, scikit-learn's model reads other columns without a word.
    given = X if name == "function, and a model" else turned
    expected = answers(clone(ORDERED[name]).fit(X, NUMBERS), given)
    for ours in (model, pipeline.load(pipeline.save(model, tmp_path / "model"), "cpu")):
        found = answers(ours, turned)
        if isinstance(expected, str):
            assert found == expected
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-6)


class NoEstimator:
    """A step that is no `BaseEstimator`, as scikit-learn takes it."""

    def fit(self, X: Any, y: Any = None) -> NoEstimator:
        return self

    def transform(self, X: Any) -> np.ndarray:
        return np.asarray(X)


def test_what_a_step_of_another_library_asks_of_the_order_is_not_known() -> None:
    assert not needs_order(NoEstimator())
    assert not needs_order(make_union(NoEstimator(), BY_NAME))
    assert needs_order(make_union(NoEstimator(), StandardScaler()))


def test_a_frame_after_an_array() -> None:
    X = TABLE[["n2"]].to_numpy("float64")
    for step in (StandardScaler(), make_column_transformer((StandardScaler(), [0]))):
        model = on_cpu(make_pipeline(step, LogisticRegression())).fit(X, NUMBERS)
        expected = model.predict_proba(X)
        for frame in (pd.DataFrame(X), TABLE[["n2"]]):
            np.testing.assert_array_equal(model.predict_proba(frame), expected)
        with pytest.raises(DataError, match="X has 2 features, but Accelerated is expecting 1"):
            model.predict(np.column_stack([X, X]))


def test_unseen_categories() -> None:
    model = on_cpu().fit(TABLE, WORDS)
    assert set(model.predict(TABLE.assign(c1="new", c2="new"))) <= {"no", "yes"}
    strict = on_cpu(make_pipeline(OneHotEncoder(), LogisticRegression())).fit(TABLE[["c1"]], WORDS)
    with pytest.raises(DataError, match="column 'c1' holds 'new', which is not a fitted category"):
        strict.predict(pd.DataFrame({"c1": ["a", "new"]}))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda y: y[:-1], f"y has {ROWS - 1} values, but X has {ROWS} rows"),
        (lambda y: pd.Series(y)[:-1], f"y has {ROWS - 1} values"),
        (lambda y: np.where(np.arange(ROWS) < 3, np.nan, 1.0), "y has 3 missing values"),
        (lambda y: pd.Series(y).mask(np.arange(ROWS) < 3), "y has 3 missing values; drop"),
        (lambda y: pd.Series([1, pd.NA] * (ROWS // 2), dtype="Int64"), "120 missing values"),
        (lambda y: np.array(["a", None] * (ROWS // 2), dtype=object), "120 missing values"),
    ],
    ids=["short", "short series", "nan", "str", "NA", "None"],
)
def test_bad_targets_are_refused(spoil: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        on_cpu().fit(TABLE, spoil(WORDS))


@pytest.mark.parametrize("name", ["y", "sample_weight", "qid"])
def test_another_index_is_told_and_rows_go_by_position(name: str) -> None:
    X = TABLE[["n2"]]
    given = {"sample_weight": np.arange(ROWS) / ROWS, "qid": np.arange(ROWS) // 10, "y": NUMBERS}
    other = pd.Series(given[name], index=np.arange(ROWS)[::-1])
    estimator = (
        XGBRanker(n_estimators=2)
        if name == "qid"
        else make_pipeline(StandardScaler(), LogisticRegression())
    )
    named = {"y": "y", "qid": "qid", "sample_weight": "standardscaler__sample_weight"}[name]
    plainly = {"y": NUMBERS} | {named: given[name]}
    expected = clone(estimator).fit(X, **plainly).predict(X)
    with pytest.warns(
        UserWarning, match=rf"the index of .*{name} differs from that of X; rows are"
    ):
        model = on_cpu(estimator).fit(X, **(plainly | {named: other}))
    np.testing.assert_array_equal(model.predict(X), expected)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"device": "tpu"}, "unknown device 'tpu'"),
        ({"device": None}, "unknown device None"),
        ({"device": "cpu", "dtype": "int8"}, "dtype='int8': choose 'auto'"),
        ({"host_bytes": -1}, "host_bytes=-1 is negative"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused_at_fit(params: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Accelerated(LinearRegression(), **params).fit(np.zeros((2, 1)), [0.0, 1.0])


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.system.devices.obstacle", lambda: "no NVIDIA driver")
    X, y = np.eye(2), np.array([0.0, 1.0])
    with pytest.raises(DeviceUnavailable, match="no NVIDIA driver") as caught:
        Accelerated(LinearRegression(), device="cuda").fit(X, y)
    assert caught.value.exit_code == 69
    model = Accelerated(LinearRegression()).fit(X, y)
    assert (model.device_, model.device_why_) == ("cpu", "no usable GPU: no NVIDIA driver")


CLASSES: dict[str, Any] = {
    "alone": Ridge,
    "deep": make_pipeline(
        make_column_transformer((make_pipeline(StandardScaler), ["n2"])), Ridge()
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_in_the_place_of_an_estimator_is_named_in_sklearns_words(name: str) -> None:
    kind = "Ridge" if name == "alone" else "StandardScaler"
    words = rf"Expected an estimator instance \({kind}\(\)\), got estimator class instead"
    if name != "alone":
        with pytest.raises(TypeError, match=words):
            CLASSES[name].fit(TABLE[["n2"]], NUMBERS)
    with pytest.raises(TypeError, match=words):
        on_cpu(CLASSES[name]).fit(TABLE[["n2"]], NUMBERS)
    with pytest.raises(ConfigError, match=words):
        on_cpu(CLASSES[name]).explain()


READ: dict[str, Any] = {
    "columns": make_column_transformer((StandardScaler(), ["n2"])),
    "by position": make_column_transformer((StandardScaler(), [1])),
    "and a model": make_pipeline(
        make_column_transformer((StandardScaler(), ["n2"]), (OneHotEncoder(), ["c2"])), Ridge()
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_columns_that_no_step_reads_may_be_missing(name: str) -> None:
    model = on_cpu(READ[name]).fit(TABLE.assign(late=NUMBERS), NUMBERS)
    method = "predict" if hasattr(model, "predict") else "transform"
    expected = getattr(model, method)(TABLE.assign(late=NUMBERS))
    np.testing.assert_array_equal(getattr(model, method)(TABLE[["c2", "n2"]]), expected)
    with pytest.raises(DataError, match=r"X lacks the columns \['n2'\]"):
        getattr(model, method)(TABLE[["c1", "c2"]])
