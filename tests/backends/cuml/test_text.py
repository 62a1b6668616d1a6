from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler

from pipeline import Accelerated, explain
from pipeline.backends.cuml import text
from pipeline.errors import ConfigError, Unsupported
from pipeline.planning.classify import classify
from pipeline.planning.lower import lower

TEXTS = [
    "The cat sat on the mat, the cat!",
    "A dog_1 barked 42 times; naïve cats don't.",
    "",
    "日本 tōkyō ΣΟΦΙΑ and the dog",
    "the MAT the mat the dog",
    "no mat  no dog \t no cat",
]
y = np.array([0, 1, 1, 1, 0, 0])

VECTORIZERS = {
    "counts": CountVectorizer(),
    "counts of pairs": CountVectorizer(ngram_range=(1, 2), max_df=1, stop_words=["the"]),
    "characters": CountVectorizer(analyzer="char_wb", ngram_range=(2, 3), binary=True),
    "hashes": HashingVectorizer(n_features=64),
    "weights": TfidfVectorizer(),
    "given words": TfidfVectorizer(vocabulary={"mat": 1, "cat": 0}, use_idf=False),
    "counts, then weights": make_pipeline(CountVectorizer(), TfidfTransformer(norm="l1")),
    "union": make_union(TfidfVectorizer(), CountVectorizer(analyzer="char")),
}


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if issparse(matrix) else np.asarray(matrix)


@pytest.mark.parametrize("estimator", VECTORIZERS.values(), ids=list(VECTORIZERS))
def test_rows_and_answers_are_those_of_sklearn(estimator: Any) -> None:
    reference = clone(estimator).fit(TEXTS[:4]).transform(TEXTS)
    model = Accelerated(estimator, device="cpu").fit(TEXTS[:4])
    rows = model.transform(TEXTS)
    assert issparse(rows)
    np.testing.assert_array_equal(dense(rows), dense(reference))
    np.testing.assert_array_equal(dense(model.to_sklearn().transform(TEXTS)), dense(rows))
    assert not hasattr(model, "n_features_in_")
    assert not hasattr(model, "feature_names_in_")
    pipeline = make_pipeline(clone(estimator), LogisticRegression())
    wanted = clone(pipeline).fit(TEXTS, y)
    for kind in (list, pd.Series, np.array):
        model = Accelerated(pipeline, device="cpu").fit(kind(TEXTS), y)
        found = model.predict_proba(kind(TEXTS))
        np.testing.assert_array_equal(found, wanted.predict_proba(TEXTS))
        assert model.classes_.tolist() == [0, 1]
        assert model.score(TEXTS, y) == wanted.score(TEXTS, y)


def test_places_on_both_devices_say_what_differs() -> None:
    estimator = make_pipeline(
        CountVectorizer(max_features=9), TfidfTransformer(), LogisticRegression()
    )
    assert str(explain(estimator, "cpu")).splitlines()[:2] == [
        "countvectorizer     cpu   sklearn.CountVectorizer",
        "tfidftransformer    cpu   sklearn.TfidfTransformer",
    ]
    counts, weights, _ = explain(estimator, "cuda").placements
    assert (counts.device, counts.implementation) == ("cuda", text.CUML[CountVectorizer])
    assert "floats instead of int64" in counts.note
    assert "max_features keeps the first terms of the alphabet" in counts.note
    assert "docs/gpu.md" in counts.note
    assert (weights.implementation, weights.note) == (text.CUML[TfidfTransformer], "")
    for words in ({}, {"lowercase": False}):
        floats = HashingVectorizer(dtype=np.float32, **words)
        assert "floats instead" not in text.TEXT_BACKEND.describe(floats, "step").note


REFUSED = [
    (CountVectorizer(input="filename"), "input"),
    (CountVectorizer(preprocessor=str.lower), "preprocessor"),
    (TfidfVectorizer(analyzer=str.split), "analyzer"),
    (TfidfVectorizer(tokenizer=str.split), "tokenizer"),
    (HashingVectorizer(strip_accents="unicode"), "strip_accents"),
    (CountVectorizer(token_pattern=r"(?u)\b\w+\b"), "token_pattern"),
    (CountVectorizer(ngram_range=(0, 1)), "ngram_range"),
    (CountVectorizer(ngram_range=(2, 1)), "ngram_range"),
    (CountVectorizer(analyzer="char_wb"), "analyzer"),
    (CountVectorizer(binary=True, max_features=3), "max_features"),
]
HONOURED = [
    CountVectorizer(encoding="latin-1", decode_error="ignore"),
    CountVectorizer(binary=True, max_features=3, vocabulary=["a"]),
    TfidfVectorizer(stop_words="english", min_df=0.1, max_df=0.9, ngram_range=(1, 3)),
    HashingVectorizer(alternate_sign=False, binary=True, norm=None),
    TfidfTransformer(norm=None, use_idf=False, smooth_idf=False, sublinear_tf=True),
]


@pytest.mark.parametrize(("estimator", "parameter"), REFUSED, ids=str)
def test_a_value_that_cuml_does_not_honour_is_refused(estimator: Any, parameter: str) -> None:
    with pytest.raises(Unsupported) as caught:
        lower(estimator, "cuda")
    (reason,) = caught.value.reasons
    assert (reason.step, reason.parameter) == (type(estimator).__name__.lower(), parameter)
    assert reason.why
    assert reason.instead


@pytest.mark.parametrize("estimator", HONOURED, ids=str)
def test_a_value_that_cuml_honours_has_its_place(estimator: Any) -> None:
    placement = text.TEXT_BACKEND.describe(estimator, "step")
    assert placement.implementation == text.CUML[type(estimator)]


def test_parameters_are_put_into_cumls_terms() -> None:
    estimator = TfidfVectorizer(
        stop_words={"the", "a"}, vocabulary={"b": 1, "c": 0}, dtype=np.float32
    )
    params = text.parameters(estimator, "step", "float64")
    assert params["stop_words"] == ["a", "the"]
    assert params["vocabulary"] == ["c", "b"]
    assert params["dtype"] is np.float32
    assert (params["lowercase"], params["sublinear_tf"]) == (True, False)
    assert not {"token_pattern", "encoding", "input", "preprocessor"} & set(params)
    for words in (None, [], set()):
        vectorizer = CountVectorizer(stop_words=words)
        assert text.parameters(vectorizer, "step", "float32")["stop_words"] is None
    for dtype in ("float32", "float64"):
        assert text.parameters(CountVectorizer(), "step", dtype)["dtype"] is getattr(np, dtype)
        assert text.parameters(HashingVectorizer(), "step", dtype)["dtype"] is np.float64


@pytest.mark.parametrize("vocabulary", [["a", "a"], {"a": 0, "b": 2}, {"a": 0, "b": 0}, []])
def test_vocabulary_that_sklearn_refuses_is_an_error_of_the_step(vocabulary: Any) -> None:
    with pytest.raises(ConfigError, match=r"^words\(vocabulary\): "):
        text.TEXT_BACKEND.describe(CountVectorizer(vocabulary=vocabulary), "words")


@pytest.mark.parametrize(
    ("estimator", "takes"),
    [(GaussianNB(), False), (HistGradientBoostingClassifier(), False), (SGDClassifier(), True)],
)
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_estimator_that_takes_no_sparse_rows_is_refused_before_anything_runs(
    estimator: Any, takes: bool, device: str
) -> None:
    estimator = make_pipeline(TfidfVectorizer(), estimator)
    if takes:
        assert len(explain(estimator, device).placements) == 2
        return
    with pytest.raises(Unsupported, match="takes no sparse rows, which tfidfvectorizer makes; put"):
        explain(estimator, device)


MIXED = make_pipeline(
    ColumnTransformer(
        [("text", TfidfVectorizer(max_features=1000), "headline"), ("n", StandardScaler(), ["n"])]
    ),
    LogisticRegression(),
)


@pytest.mark.parametrize(
    ("how", "runs"),
    [
        (CountVectorizer(), "CountVectorizer"),
        (
            make_pipeline(CountVectorizer(), TfidfTransformer()),
            "CountVectorizer + TfidfTransformer",
        ),
    ],
    ids=["vectorizer", "pipeline"],
)
def test_a_text_column_of_a_table_is_cumls_on_the_gpu(how: Any, runs: str) -> None:
    places = explain(clone(MIXED).set_params(columntransformer__text=how), "cuda").placements
    classes = " + ".join(f"cuml.feature_extraction.text.{name}" for name in runs.split(" + "))
    assert [(place.step, place.implementation) for place in places] == [
        ("columntransformer.text", classes),
        ("columntransformer.n", "pipeline.preprocessing (CuPy)"),
        ("logisticregression", "cuml.linear_model.LogisticRegression"),
    ]


@pytest.mark.parametrize(
    ("how", "step", "parameter"),
    [
        (TfidfVectorizer(lowercase=False, input="file"), "text", "input"),
        (
            make_pipeline(CountVectorizer(strip_accents="ascii")),
            "text.countvectorizer",
            "strip_acc",
        ),
        (make_union(CountVectorizer()), "text", None),
        (make_pipeline(CountVectorizer(), SelectKBest()), "text.selectkbest", None),
    ],
    ids=["vectorizer", "pipeline", "union", "without a rule"],
)
def test_a_text_column_that_cuml_cannot_read_is_refused_alone(
    how: Any, step: str, parameter: str | None
) -> None:
    whole = clone(MIXED).set_params(columntransformer__text=how)
    with pytest.raises(Unsupported) as caught:
        lower(whole, "cuda")
    (reason,) = caught.value.reasons
    assert reason.step.startswith(f"columntransformer.{step}")
    assert (reason.parameter or "").startswith(parameter or "")
    assert "device='auto'" in reason.instead
    places = classify(whole, "cuda")[0].placements
    assert [place.device for place in places] == ["cpu", "cuda"], "where it may run on the host"
