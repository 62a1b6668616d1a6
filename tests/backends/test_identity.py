"""Estimators have an identity in common if a fit cannot tell them apart, and only then."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import (
    RFECV,
    SelectFromModel,
    SelectKBest,
    f_classif,
    mutual_info_classif,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)

from pipeline.backends.identity import NotShared, identify

SEEDED = StratifiedKFold(3, shuffle=True, random_state=0)


class Own(TransformerMixin, BaseEstimator):
    """A transformer of a user's own."""

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X * self.factor


def twice(X):
    return X * 2


def columns(first: str = "a", **encoder):
    texts = make_column_selector(dtype_include=str)
    return make_column_transformer((StandardScaler(), [first]), (OneHotEncoder(**encoder), texts))


SHARED = {
    "plain": StandardScaler(),
    "columns": columns(),
    "seeded": TruncatedSVD(2, random_state=0),
    "folds": TargetEncoder(cv=SEEDED),
    "folds in order": TargetEncoder(cv=KFold(3)),
    "function": FunctionTransformer(np.log1p),
    "scores": SelectKBest(),
    "splits in order": RFECV(Ridge(random_state=0), cv=3),
    "frame": StandardScaler().set_output(transform="pandas"),
}


@pytest.mark.parametrize("name", SHARED)
def test_a_clone_has_the_same(name: str) -> None:
    estimator = SHARED[name]
    assert identify(clone(estimator)) == identify(estimator)


def test_all_of_these_differ() -> None:
    assert len({identify(each) for each in SHARED.values()}) == len(SHARED)


CHANGES = [
    (StandardScaler(), StandardScaler(with_mean=False)),
    (columns(), columns("b")),
    (columns(), columns(min_frequency=1)),
    (columns(min_frequency=1), columns(min_frequency=1.0)),
    (columns(min_frequency=1), columns(min_frequency=True)),
    (columns(), make_column_transformer(*[each[1:] for each in columns().transformers[::-1]])),
    (OneHotEncoder(categories=[["a"]]), OneHotEncoder(categories=[["b"]])),
    (OneHotEncoder(categories=[["a", "b"]]), OneHotEncoder(categories=[["a"], ["b"]])),
    (OneHotEncoder(dtype=np.float32), OneHotEncoder(dtype=np.float64)),
    (TruncatedSVD(2, random_state=0), TruncatedSVD(2, random_state=1)),
    (TargetEncoder(cv=SEEDED), TargetEncoder(cv=KFold(3, shuffle=True, random_state=0))),
    (
        TargetEncoder(cv=SEEDED),
        TargetEncoder(cv=StratifiedKFold(3, shuffle=True, random_state=1)),
    ),
    (FunctionTransformer(np.log1p), FunctionTransformer(np.tanh)),
    (FunctionTransformer(np.exp, kw_args={}), FunctionTransformer(np.exp, kw_args={"a": 1})),
    (StandardScaler(), StandardScaler().set_output(transform="pandas")),
    (
        make_pipeline(StandardScaler(), OneHotEncoder()),
        make_pipeline(OneHotEncoder(), StandardScaler()),
    ),
    (
        SelectFromModel(RandomForestClassifier(random_state=0)),
        SelectFromModel(RandomForestClassifier(random_state=0, max_depth=2)),
    ),
]


@pytest.mark.parametrize(("one", "other"), CHANGES, ids=range(len(CHANGES)))
def test_what_matters_makes_another(one, other) -> None:
    assert identify(one) != identify(other)


UNSEEDED = [
    (TruncatedSVD(2), "svd.random_state=None is not a seed; pass an integer"),
    (TruncatedSVD(2, random_state=np.random.RandomState(0)), "is not a seed; pass an integer"),
    (make_pipeline(StandardScaler(), KMeans(2)), "svd.steps.kmeans.random_state=None"),
    (TargetEncoder(), "svd.cv=5 draws random folds; pass StratifiedKFold("),
    (TargetEncoder(cv=KFold(3, shuffle=True)), "svd.cv.random_state=None"),
    (RFECV(Ridge(), cv=ShuffleSplit(3)), "svd.cv.random_state=None"),
    (SelectFromModel(RandomForestClassifier()), "svd.estimator.random_state=None"),
    (SelectFromModel(LogisticRegression()), "svd.estimator.random_state=None"),
    (PCA(2), "svd.random_state=None"),
    (QuantileTransformer(), "svd.random_state=None"),
    (SelectKBest(mutual_info_classif), "svd.score_func: mutual_info_classif draws numbers"),
    (SelectKBest(partial(f_classif)), "svd.score_func holds a partial, which may change"),
    (FunctionTransformer(twice), "svd.func: twice is your own code, which may change"),
    (FunctionTransformer(lambda X: X * 2), "svd.func: .*<lambda> is your own code"),
    (make_pipeline(StandardScaler(), Own()), "svd.steps.own: Own is your own code"),
    (OneHotEncoder(categories=iter([1])), "svd.categories holds a list_iterator, which may change"),
]


@pytest.mark.parametrize(("estimator", "why"), UNSEEDED, ids=range(len(UNSEEDED)))
def test_what_may_differ_has_none(estimator, why: str) -> None:
    with pytest.raises(NotShared, match=why if ".*" in why else re.escape(why)):
        identify(estimator, "svd")
