"""What is said to come from a column changes with it alone, and moves with its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from pipeline import CalendarFeatures
from pipeline.preprocessing.engine.sources import find_sources

ROWS = 90
rng = np.random.default_rng(0)
NUMBERS = pd.DataFrame(rng.lognormal(size=(ROWS, 3)), columns=list("abc"))
HOLES = NUMBERS.mask(rng.random((ROWS, 3)) < 0.2).assign(b=np.nan)
WORDS = pd.DataFrame(rng.choice(["x", "y", "z"], (ROWS, 3)), columns=list("abc"))
DAYS = pd.DataFrame(
    {name: pd.Timestamp("2024") + pd.to_timedelta(rng.integers(0, 400, ROWS), "D") for name in "ab"}
)
Y = rng.integers(0, 3, ROWS)

BY_ROW = {
    "binarizer": (Binarizer(), NUMBERS),
    "calendar": (CalendarFeatures(["month", "hour"], cyclical=["month"]), DAYS),
    "function": (FunctionTransformer(np.log1p), NUMBERS),
    "identity": (FunctionTransformer(), NUMBERS),
    "bins": (KBinsDiscretizer([3, 4, 2], quantile_method="averaged_inverted_cdf"), NUMBERS),
    "bins as numbers": (
        KBinsDiscretizer(3, encode="ordinal", quantile_method="averaged_inverted_cdf"),
        NUMBERS,
    ),
    "largest": (MaxAbsScaler(), NUMBERS),
    "least": (MinMaxScaler(), NUMBERS),
    "missing": (MissingIndicator(), HOLES),
    "missing or not": (MissingIndicator(features="all"), HOLES),
    "one-hot": (OneHotEncoder(drop="if_binary", min_frequency=25), WORDS.assign(b="one")),
    "ordinal": (OrdinalEncoder(), WORDS),
    "power": (PowerTransformer(), NUMBERS),
    "quantiles": (QuantileTransformer(n_quantiles=9, output_distribution="normal"), NUMBERS),
    "robust": (RobustScaler(), NUMBERS),
    "best": (SelectKBest(k=2), NUMBERS),
    "varied": (VarianceThreshold(), NUMBERS.assign(a=1.0)),
    "filled": (SimpleImputer(add_indicator=True), HOLES),
    "filled, empty kept": (SimpleImputer(keep_empty_features=True), HOLES),
    "filled with text": (SimpleImputer(strategy="most_frequent"), WORDS.mask(HOLES.isna())),
    "splines": (SplineTransformer(4, include_bias=False), NUMBERS),
    "standard": (StandardScaler(), NUMBERS),
    "target": (TargetEncoder(random_state=0), WORDS),
    "target of two": (TargetEncoder(random_state=0), WORDS),
    "pipeline": (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), HOLES),
    "union": (
        FeatureUnion([("a", StandardScaler()), ("b", "drop"), ("c", "passthrough")]),
        NUMBERS,
    ),
    "columns": (
        make_column_transformer(
            (make_pipeline(OrdinalEncoder(), OneHotEncoder()), ["b", "a"]),
            (TfidfVectorizer(token_pattern="."), "c"),
            (CountVectorizer(token_pattern="."), "a"),
            (HashingVectorizer(n_features=8, token_pattern="."), "b"),
            (OrdinalEncoder(), slice(0, 2)),
            remainder="passthrough",
            sparse_threshold=1,
        ),
        WORDS,
    ),
}
MIXED = {
    "products": (PolynomialFeatures(2), NUMBERS),
    "neighbours": (make_column_transformer((KNNImputer(), ["a", "c"])), HOLES),
    "lengths": (
        make_column_transformer((Normalizer(), ["b", "a"]), (StandardScaler(), ["c"])),
        NUMBERS,
    ),
    "own function": (
        make_column_transformer((FunctionTransformer(np.cumsum, kw_args={"axis": 0}), ["a"])),
        NUMBERS,
    ),
}


def fitted(name: str, transformer: Any, X: pd.DataFrame) -> Any:
    return transformer.fit(X, Y > 1 if name == "target of two" else Y)


def dense(made: Any) -> np.ndarray:
    return np.asarray(made.toarray() if sparse.issparse(made) else made)


@pytest.mark.filterwarnings("ignore:Skipping features")
@pytest.mark.parametrize("name", {**BY_ROW, **MIXED})
def test_sources_are_those_that_a_permutation_shows(name: str) -> None:
    transformer, X = {**BY_ROW, **MIXED}[name]
    model = fitted(name, transformer, X)
    before = dense(model.transform(X))
    sources, order = find_sources(model, X.shape[1]), rng.permutation(ROWS)
    assert len(sources.origins) == before.shape[1]
    for column, label in enumerate(X):
        permuted = X.assign(**{label: X[label].to_numpy()[order]})
        made, outputs = dense(model.transform(permuted)), sources.fed_by(column)
        alone = sources.move_with(column)
        others = np.delete(np.arange(before.shape[1]), outputs)
        np.testing.assert_array_equal(made[:, others], before[:, others])
        if alone:
            np.testing.assert_array_equal(made[:, outputs], before[order][:, outputs])
        assert alone or name in MIXED


@pytest.mark.parametrize("name", MIXED)
def test_what_is_made_of_several_columns_is_not_said_to_move_with_one(name: str) -> None:
    transformer, X = MIXED[name]
    sources = find_sources(fitted(name, transformer, X), X.shape[1])
    assert not sources.move_with(0)


def test_of_what_does_not_say_how_much_it_makes_nothing_is_known() -> None:
    assert find_sources(FunctionTransformer(lambda X: X), 3) is None


def test_a_step_behind_that_mixes_mixes_all() -> None:
    columns = make_column_transformer((StandardScaler(), ["a"]), (KNNImputer(), ["b"]))
    sources = find_sources(columns.fit(NUMBERS), 3)
    assert [sources.move_with(i) for i in range(2)] == [True, False]
    sources = find_sources(make_pipeline(columns, PCA(2)).fit(NUMBERS), 3)
    assert [sources.move_with(i) for i in range(2)] == [False, False]
