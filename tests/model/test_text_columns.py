"""Text beside numbers on the CPU: scikit-learn's vectorizers as branches, its rows to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

from pipeline import Accelerated, load, save
from tests.model.test_sparse_output import assert_same

ROWS = 200
RNG = np.random.default_rng(0)
WORDS = ["engine", "wheel", "doctor", "café", "faith", "temple", "The", "OF", "and", "in", "42"]


def texts(rows: int, words: list[str]) -> list[str]:
    return [" ".join(RNG.choice(words, RNG.integers(1, 9))) for _ in range(rows)]


X = pd.DataFrame(
    {
        "body": texts(ROWS, WORDS),
        "title": texts(ROWS, WORDS[:5]),
        "a": RNG.normal(size=ROWS),
        "b": RNG.integers(0, 9, ROWS),
        "c": RNG.choice(list("xyz"), ROWS),
    }
)
Y = X["body"].str.contains("engine").astype("int64").to_numpy()
NEW = X.sample(30, random_state=0).assign(title=texts(30, [*WORDS[:5], "unseen"]))
NUMBERS, HOT = ("num", StandardScaler(), ["a", "b"]), ("cat", OneHotEncoder(), ["c"])
BESIDE = ColumnTransformer([("text", TfidfVectorizer(), "body"), NUMBERS, HOT])
WEIGHED = make_pipeline(CountVectorizer(), TfidfTransformer(sublinear_tf=True))


def beside(how: Any, **params: Any) -> ColumnTransformer:
    """Return a transformer of a text column beside numbers and categories."""
    return ColumnTransformer([("text", how, "body"), NUMBERS, HOT], **params)


SPECS: dict[str, Any] = {
    "weights": BESIDE,
    "counts": beside(CountVectorizer(ngram_range=(1, 2), min_df=2)),
    "hashes": beside(HashingVectorizer(n_features=64)),
    "a pipeline": beside(WEIGHED),
    "components": beside(make_pipeline(TfidfVectorizer(), TruncatedSVD(3, random_state=0))),
    "the best": beside(make_pipeline(CountVectorizer(), SelectKBest(chi2, k=4))),
    "two columns": ColumnTransformer(
        [("t", TfidfVectorizer(), "title"), ("b", CountVectorizer(), "body"), NUMBERS]
    ),
    "text alone": ColumnTransformer([("text", TfidfVectorizer(), "body")]),
    "a union in a branch": beside(make_union(TfidfVectorizer(), CountVectorizer(analyzer="char"))),
    "dense as asked for": beside(TfidfVectorizer(), sparse_threshold=0),
    "sparse as asked for": beside(CountVectorizer(), sparse_threshold=1.0),
    "rows within a pipeline": make_pipeline(BESIDE, MaxAbsScaler()),
    "scaled": make_pipeline(BESIDE, StandardScaler(with_mean=False)),
    "a transformer inside": make_union(BESIDE, make_column_transformer((StandardScaler(), ["b"]))),
}
each_spec = pytest.mark.parametrize("name", SPECS)


@pytest.mark.quick(5)
@each_spec
def test_rows_are_those_of_sklearn(name: str, tmp_path: Path) -> None:
    model, reference = Accelerated(clone(SPECS[name]), device="cpu"), clone(SPECS[name])
    assert_same(model.fit_transform(X, Y), reference.fit_transform(X, Y))
    assert not model.plan_.as_given
    places = model.plan_.placements
    assert "sklearn.ColumnTransformer" not in [place.implementation for place in places]
    expected = reference.transform(NEW)
    assert_same(model.transform(NEW), expected)
    assert_same(model.to_sklearn().transform(NEW), expected)
    names = reference.get_feature_names_out() if name != "hashes" else []
    if len(names):
        np.testing.assert_array_equal(model.get_feature_names_out(), names)
    save(model, tmp_path / "m.model")
    loaded: Any = load(tmp_path / "m.model", device="cpu")
    assert_same(loaded.transform(NEW), expected)
    assert_same(loaded.to_sklearn().transform(NEW), expected)


MODELS = {
    "logistic": LogisticRegression(max_iter=300),
    "bayes": MultinomialNB(),
    "trees": XGBClassifier(n_estimators=5),
    "clusters": KMeans(3, n_init=1, random_state=0),
}


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", MODELS)
def test_models_learn_from_the_same_rows(name: str, tmp_path: Path) -> None:
    numbers = ("num", MinMaxScaler(), ["a", "b"])
    estimator = make_pipeline(
        ColumnTransformer([("text", WEIGHED, "body"), numbers, HOT]), MODELS[name]
    )
    model = Accelerated(clone(estimator), device="cpu").fit(X, Y)
    expected = clone(estimator).fit(X, Y).predict(NEW)
    same = np.testing.assert_array_equal if name == "trees" else np.testing.assert_allclose
    same(model.predict(NEW), expected)
    same(model.to_sklearn().predict(NEW), expected)
    assert model.certify(NEW).holds
    save(model, tmp_path / "m.model")
    same(load(tmp_path / "m.model", device="cpu").predict(NEW), expected)


FAULTS: dict[str, Any] = {
    "None": X.assign(body=[None, *X["body"][1:].astype(object)]).astype({"body": object}),
    "NaN": X.assign(body=[np.nan, *X["body"][1:].astype(object)]).astype({"body": object}),
    "integers": X.assign(body=range(ROWS)),
    "stop words": X.assign(body="a b"),
    "no rows": X[:0],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_told_in_sklearns_words(fault: str) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - whatever scikit-learn raises
        clone(BESIDE).fit(FAULTS[fault], Y[: len(FAULTS[fault])])
    with pytest.raises(type(theirs.value)) as ours:
        Accelerated(clone(BESIDE), device="cpu").fit(FAULTS[fault], Y[: len(FAULTS[fault])])
    assert str(theirs.value) in str(ours.value)


@pytest.mark.parametrize("name", ["sparse as asked for", "hashes", "two columns"])
def test_partitions_are_gathered_to_be_learnt_from(name: str) -> None:
    dask = pytest.importorskip("dask.dataframe")
    parts, whole = dask.from_pandas(X, npartitions=3), clone(SPECS[name])
    model, reference = Accelerated(whole, device="cpu").fit(parts, Y), clone(whole).fit(X, Y)
    assert "gathered to one process" in model.plan_.placements[0].note
    assert_same(model.transform(parts).compute(), reference.transform(X))
    assert_same(model.transform(NEW), reference.transform(NEW))


UNIONS: dict[str, Any] = {
    "words and characters": make_union(
        TfidfVectorizer(), CountVectorizer(analyzer="char_wb", ngram_range=(2, 3))
    ),
    "dense beside sparse": make_union(
        make_pipeline(TfidfVectorizer(), TruncatedSVD(2, random_state=0)), CountVectorizer()
    ),
}


@pytest.mark.quick(7)
@pytest.mark.parametrize("name", UNIONS)
@pytest.mark.parametrize("form", [list, pd.Series], ids=["list", "series"])
def test_unions_of_vectorizers_read_documents(name: str, form: Any) -> None:
    documents, more = form(X["body"].tolist()), form(NEW["title"].tolist())
    model, reference = Accelerated(clone(UNIONS[name]), device="cpu"), clone(UNIONS[name])
    assert_same(model.fit_transform(documents), reference.fit_transform(documents))
    assert_same(model.transform(more), reference.transform(more))
    whole = make_pipeline(clone(UNIONS[name]), LogisticRegression())
    fitted = Accelerated(whole, device="cpu").fit(documents, Y)
    assert not fitted.plan_.as_given
    assert [place.note for place in fitted.plan_.placements] == ["", ""]
    expected = clone(whole).fit(documents, Y).predict_proba(more)
    np.testing.assert_array_equal(fitted.predict_proba(more), expected)
    assert fitted.certify(more).holds
