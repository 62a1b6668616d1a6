"""Estimators have an identity in common if a fit cannot tell them apart, and only then."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pandas as pd
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
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
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
        return X * self.factor * scale()


FACTOR = 2.0


def scale() -> float:
    return FACTOR


def twice(X):
    return X * scale()


def noisy(X):
    return X + np.random.default_rng().normal(size=X.shape)


def columns(first: str = "a", **encoder):
    texts = make_column_selector(dtype_include=str)
    return make_column_transformer((StandardScaler(), [first]), (OneHotEncoder(**encoder), texts))


SHARED = {
    "plain": StandardScaler(),
    "columns": columns(),
    "array": OneHotEncoder(categories=[np.array(["a", "b"])]),
    "union": FeatureUnion([("a", StandardScaler()), ("b", PCA(2, svd_solver="full"))]),
    "seeded": TruncatedSVD(2, random_state=0),
    "folds": TargetEncoder(cv=SEEDED),
    "folds in order": TargetEncoder(cv=KFold(3)),
    "no numbers are drawn": SelectFromModel(LogisticRegression()),
    "few rows": QuantileTransformer(),
    "bins": KBinsDiscretizer(),
    "function": FunctionTransformer(np.log1p),
    "own function": FunctionTransformer(twice),
    "own class": Own(2.0),
    "lambda": FunctionTransformer(lambda X: X * 2),
    "partial": SelectKBest(partial(mutual_info_classif, random_state=0)),
    "score": SelectKBest(f_classif),
    "splits in order": RFECV(Ridge(), cv=3),
    "frame": StandardScaler().set_output(transform="pandas"),
}


@pytest.mark.parametrize("name", SHARED)
def test_a_clone_has_the_same(name: str) -> None:
    estimator = SHARED[name]
    assert identify(clone(estimator), n_rows=1000) == identify(estimator, n_rows=1000)


def test_all_of_these_differ() -> None:
    assert len({identify(each, n_rows=1000) for each in SHARED.values()}) == len(SHARED)


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
    (FunctionTransformer(twice, kw_args={}), FunctionTransformer(twice, kw_args={"a": 1})),
    (FunctionTransformer(lambda X: X * 2), FunctionTransformer(lambda X: X * 3)),
    (StandardScaler(), StandardScaler().set_output(transform="pandas")),
    (make_pipeline(StandardScaler(), Own()), make_pipeline(Own(), StandardScaler())),
    (Own(1.0), Own(1.5)),
    (
        SelectFromModel(RandomForestClassifier(random_state=0)),
        SelectFromModel(RandomForestClassifier(random_state=0, max_depth=2)),
    ),
]


@pytest.mark.parametrize(("one", "other"), CHANGES, ids=range(len(CHANGES)))
def test_what_matters_makes_another(one, other) -> None:
    assert identify(one) != identify(other)


@pytest.mark.parametrize("name", ["own function", "own class"])
def test_what_a_function_of_ones_own_reads_matters(name: str, monkeypatch) -> None:
    before = identify(SHARED[name])
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert identify(SHARED[name]) != before
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    assert identify(SHARED[name]) == before
    monkeypatch.setitem(globals(), "scale", lambda: 5.0)
    assert identify(SHARED[name]) != before


def test_what_a_closure_holds_matters() -> None:
    def times(factor):
        return FunctionTransformer(lambda X: X * factor)

    assert identify(times(2)) == identify(times(2))
    assert identify(times(2)) != identify(times(3))


UNSEEDED = [
    (TruncatedSVD(2), "svd.random_state=None is no seed; pass a number"),
    (TruncatedSVD(2, random_state=np.random.RandomState(0)), "is no seed; pass a number"),
    (make_pipeline(StandardScaler(), KMeans(2)), "svd.steps.kmeans.random_state=None"),
    (TargetEncoder(), "svd.cv=5 draws folds without a seed; pass StratifiedKFold("),
    (TargetEncoder(cv=KFold(3, shuffle=True)), "svd.cv.random_state=None"),
    (RFECV(Ridge(), cv=ShuffleSplit(3)), "svd.cv.random_state=None"),
    (SelectFromModel(RandomForestClassifier()), "svd.estimator.random_state=None"),
    (SelectFromModel(LogisticRegression(solver="saga")), "svd.estimator.random_state=None"),
    (PCA(2), "svd.random_state=None"),
    (QuantileTransformer(subsample=500), "svd.random_state=None"),
    (SelectKBest(mutual_info_classif), "mutual_info_classif draws numbers; pass functools.partial"),
    (SelectKBest(partial(mutual_info_classif, n_neighbors=2)), "draws numbers"),
    (FunctionTransformer(noisy), "noisy reads 'default_rng', and may differ each time"),
    (FunctionTransformer(iter([1]).__next__), "svd.func: .* is code whose source is not known"),
    (OneHotEncoder(categories=iter([1])), "svd.categories holds a list_iterator, which may change"),
]


@pytest.mark.parametrize(("estimator", "why"), UNSEEDED, ids=range(len(UNSEEDED)))
def test_what_may_differ_has_none(estimator, why: str) -> None:
    with pytest.raises(NotShared, match=why if ".*" in why else re.escape(why)):
        identify(estimator, "svd", n_rows=1000)


def test_a_class_of_ones_own_may_be_called_like_one_of_scikit_learn() -> None:
    class Ridge(Own):
        def __init__(self, random_state: int | None = None) -> None:
            self.random_state = random_state

    with pytest.raises(NotShared, match=r"random_state=None is no seed"):
        identify(Ridge(), "ridge")
    assert identify(Ridge(0)) != identify(Ridge(1))


def test_a_function_that_reads_what_is_not_there_yet_has_none() -> None:
    def make(there: bool):
        def call(X):
            return X * later

        if there:
            later = 2
        return call

    with pytest.raises(NotShared, match=r"call: [Cc]ell is empty"):
        identify(FunctionTransformer(make(False)))
    assert identify(FunctionTransformer(make(True)))


def test_values_are_told_apart_by_type_and_place() -> None:
    values = [
        None, 0, 0.0, -0.0, False, "0", b"0", np.float32(0), (0,), [0], {0}, {0: 0}, [[0], 0],
        [0, [0]], np.zeros(1), np.zeros((1, 1)), np.zeros(1, "float32"), slice(0), range(0),
        pd.Index([0]), re.compile("0"), np.dtype("int8"), {"a": 1, "b": 2}, {"a": 2, "b": 1},
    ]  # fmt: skip
    assert len({identify(value) for value in values}) == len(values)
