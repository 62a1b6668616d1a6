"""What one step hands to the next is what scikit-learn hands on: nothing is rounded, or merged."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.svm import SVC

from pipeline import Accelerated, load, save

ROWS = 1_508
RNG = np.random.default_rng(7)
SECONDS = 1_700_000_000 + np.sort(RNG.choice(3_600, ROWS, replace=False)).astype("float64")
NOISE = RNG.normal(size=(ROWS, 2))
Y = (np.sin(SECONDS / 300) + 0.1 * RNG.normal(size=ROWS) > 0).astype(int)
IDS = 20_000_001 + np.arange(ROWS) % 4
TEXT = RNG.choice(["a", "b", "c"], ROWS)


def seconds() -> pd.DataFrame:
    X = pd.DataFrame({"t": SECONDS, "u": NOISE[:, 0]})
    X.loc[::97, "u"] = np.nan
    return X


def text() -> pd.DataFrame:
    X = pd.DataFrame({"c": TEXT, "d": np.roll(TEXT, 5)})
    X.loc[::50, "c"] = np.nan
    return X


FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
CODES = OrdinalEncoder()
MOST = {"strategy": "most_frequent"}
CASES: dict[str, tuple[Any, Any]] = {
    "ids behind a selection": (
        make_pipeline(VarianceThreshold(), OrdinalEncoder()),
        np.column_stack([IDS, np.zeros(ROWS, "int64")]),
    ),
    "text": (
        make_pipeline(SimpleImputer(**MOST), OneHotEncoder(sparse_output=False)),
        text(),
    ),
    "columns, then steps": (
        make_pipeline(
            make_column_transformer(
                (SimpleImputer(), ["t", "u"]), ("passthrough", ["c"]), remainder="drop"
            ),
            OrdinalEncoder(),
        ),
        seconds().assign(c=TEXT),
    ),
    "text, then columns by name": (
        make_pipeline(
            SimpleImputer(**MOST).set_output(transform="pandas"),
            make_column_transformer((OneHotEncoder(sparse_output=False), ["c"]), (CODES, ["d"])),
        ),
        text(),
    ),
    "columns, then columns": (
        make_pipeline(
            make_column_transformer((SimpleImputer(), ["t", "u"]), ("passthrough", ["c"])),
            make_column_transformer((StandardScaler(), [0, 1]), (CODES, [2])),
        ),
        seconds().assign(c=TEXT),
    ),
    "float32": (
        make_pipeline(SimpleImputer(), StandardScaler(), KBinsDiscretizer(9, subsample=None)),
        NOISE.astype("float32"),
    ),
}


def dense(made: Any) -> np.ndarray:
    return np.asarray(made.toarray() if hasattr(made, "toarray") else made)


@pytest.mark.quick(10)
@pytest.mark.parametrize("name", CASES)
def test_transformers_give_what_sklearn_gives(name: str, tmp_path: Path) -> None:
    estimator, X = CASES[name]
    expected = dense(clone(estimator).fit_transform(X, Y))
    model = Accelerated(estimator, device="cpu")
    found = dense(model.fit_transform(X, Y))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert len(np.unique(found[:, 0])) == len(np.unique(expected[:, 0]))
    loaded, made = load(save(model, tmp_path / "model"), "cpu"), dense(model.transform(X))
    np.testing.assert_allclose(dense(loaded.transform(X)), made, rtol=1e-12, atol=1e-12)
    for each in (model, loaded):
        np.testing.assert_allclose(
            dense(each.to_sklearn().transform(X)), made, rtol=1e-9, atol=1e-9
        )


LIFTED: dict[str, Any] = {
    "KMeans": KMeans(3, random_state=0, n_init=1),
    "MiniBatchKMeans": MiniBatchKMeans(3, random_state=0, n_init=1),
    "HistGradientBoosting": HistGradientBoostingClassifier(max_iter=5),
    "KNN": KNeighborsClassifier(weights="distance"),
    "logistic": LogisticRegression(),
    "SVC": SVC(),
    "Gauss": GaussianNB(),
}


@pytest.mark.quick(12)
@pytest.mark.parametrize("dtype", ["auto", "float32", "float64"])
@pytest.mark.parametrize("name", LIFTED)
def test_lifted_models_answer_in_the_type_they_learnt_from(name: str, dtype: str) -> None:
    X = seconds()
    estimator = make_pipeline(SimpleImputer(), StandardScaler(), LIFTED[name])
    model = Accelerated(estimator, device="cpu", dtype=dtype).fit(X, Y)
    lifted = pickle.loads(pickle.dumps(model.to_sklearn()))
    np.testing.assert_allclose(lifted.predict(X), model.predict(X), rtol=1e-12)
    assert model.certify(X).holds


def test_a_lifted_model_of_frames_takes_float32_columns_alone() -> None:
    prepare = make_column_transformer(
        (StandardScaler(), ["t", "u"]), ("passthrough", ["c"]), verbose_feature_names_out=False
    ).set_output(transform="pandas")
    X = seconds().assign(c=pd.Series(TEXT).astype("category"))
    estimator = make_pipeline(
        prepare, HistGradientBoostingClassifier(categorical_features="from_dtype")
    )
    model = Accelerated(estimator, device="cpu", dtype="float32").fit(X, Y)
    np.testing.assert_array_equal(model.to_sklearn().predict_proba(X), model.predict_proba(X))


ADDING: dict[str, Any] = {
    "standard": StandardScaler(),
    "range": MinMaxScaler(),
    "one-hot": OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    "ordinal": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "columns": make_column_transformer((StandardScaler(), [0]), (MinMaxScaler(), [1])),
    "union": FeatureUnion([("s", StandardScaler()), ("m", MaxAbsScaler())]),
    "alone in a pipeline": Pipeline([("s", StandardScaler())]),
}


@pytest.mark.parametrize("name", ADDING)
def test_partial_fit_adds_to_what_fit_has_learnt(name: str) -> None:
    X = np.round(NOISE, 1)
    model = Accelerated(ADDING[name], device="cpu").fit(X[:500]).partial_fit(X[500:])
    expected = Accelerated(ADDING[name], device="cpu").fit(X)
    np.testing.assert_allclose(model.transform(X), expected.transform(X), rtol=1e-9, atol=1e-12)
