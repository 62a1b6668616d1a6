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
from pipeline.compile.compile import compile
from pipeline.compile.lower import lower
from pipeline.compile.spec import RowSpec
from pipeline.errors import Unsupported

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


@pytest.mark.parametrize(("estimator", "parameter"), REFUSED, ids=str)
def test_a_value_that_cuml_does_not_honour_is_refused(estimator: Any, parameter: str) -> None:
    with pytest.raises(Unsupported) as caught:
        lower(estimator, "cuda")
    (reason,) = caught.value.reasons
    assert (reason.step, reason.parameter) == (type(estimator).__name__.lower(), parameter)
    assert reason.why
    assert reason.instead


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
    with pytest.raises(
        Unsupported, match="does not support sparse rows, which tfidfvectorizer returns; put"
    ):
        explain(estimator, device)


MIXED = make_pipeline(
    ColumnTransformer(
        [("text", TfidfVectorizer(max_features=1000), "headline"), ("n", StandardScaler(), ["n"])]
    ),
    LogisticRegression(),
)


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
    places = compile(whole, RowSpec("cuda")).steps[0].placements
    assert [place.device for place in places] == ["cpu", "cuda"], "where it may run on the host"
