"""Text on a GPU against scikit-learn, strict; each test is a row of docs/gpu.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pipeline import Accelerated, DataError, load, save
from tests.contract.cases import dense

TEXTS = [
    "The cat sat on the mat, the cat!",
    "A dog_1 barked 42 times; naïve cats don't. _ __ a_",
    "",
    "   \t\n ",
    "日本語 tōkyō Straße İstanbul ﬁne e\u0301tude",
    "the MAT\u00a0the\u3000mat\nthe  dog\t\tdog",
    "3.14 e-mail@example.org #tag C++ x",
    "ночь, улица 🦊 фонарь ½ ² Ⅷ",
    "A",
    "no mat  no dog \t no cat",
]
NEW = ["the unseen cat", "", "日本語 42", "zzz", "naïve 🦊 dog_1"]
y = np.array([0, 1, 1, 0, 1, 0, 1, 0, 1, 0])

SPECS = {
    "words": CountVectorizer(),
    "case": CountVectorizer(lowercase=False),
    "pairs": CountVectorizer(ngram_range=(1, 3)),
    "stop words": CountVectorizer(ngram_range=(1, 2), stop_words="english"),
    "own stop words": CountVectorizer(stop_words=["the", "no"]),
    "frequent": CountVectorizer(min_df=2, max_df=0.3),
    "best": CountVectorizer(max_features=2),
    "binary": CountVectorizer(binary=True),
    "given words": CountVectorizer(vocabulary={"mat": 1, "cat": 0, "日本語": 2}),
    "characters": CountVectorizer(analyzer="char", ngram_range=(1, 3)),
    "inside words": CountVectorizer(analyzer="char_wb", ngram_range=(2, 5)),
    "weights": TfidfVectorizer(),
    "weights of pairs": TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, norm="l1"),
    "raw weights": TfidfVectorizer(smooth_idf=False, norm=None, dtype=np.float32),
    "no weights": TfidfVectorizer(use_idf=False),
    "hashes": HashingVectorizer(),
    "few hashes": HashingVectorizer(n_features=7, norm="l1"),
    "hashes without signs": HashingVectorizer(n_features=1000, alternate_sign=False, norm=None),
    "binary hashes": HashingVectorizer(n_features=16, binary=True),
    "hashed characters": HashingVectorizer(analyzer="char_wb", ngram_range=(3, 4)),
    "counts, then weights": make_pipeline(CountVectorizer(), TfidfTransformer()),
}
each_spec = pytest.mark.parametrize("estimator", SPECS.values(), ids=list(SPECS))


@each_spec
def test_matrix_is_that_of_sklearn(estimator: Any) -> None:
    reference = clone(estimator).fit(TEXTS)
    model = Accelerated(clone(estimator), device="cuda", dtype="float64").fit(TEXTS)
    assert {placement.device for placement in model.plan_.placements} == {"cuda"}
    for texts in (TEXTS, NEW):
        expected = dense(reference.transform(texts))
        np.testing.assert_allclose(dense(model.transform(texts)), expected, rtol=1e-5, atol=1e-7)


@each_spec
def test_handed_over_vectorizer_gives_the_same_matrix(estimator: Any) -> None:
    reference = clone(estimator).fit(TEXTS)
    model = Accelerated(clone(estimator), device="cuda", dtype="float64").fit(TEXTS)
    lifted = model.to_sklearn()
    assert getattr(lifted, "vocabulary_", None) == getattr(reference, "vocabulary_", None)
    found = dense(lifted.transform(NEW))
    np.testing.assert_allclose(found, dense(model.transform(NEW)), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ["words", "weights", "hashes", "characters"])
def test_classifier_on_sparse_rows_agrees_with_sklearn(name: str) -> None:
    program = make_pipeline(clone(SPECS[name]), LogisticRegression(tol=1e-6, max_iter=1000))
    model = Accelerated(program, device="cuda", dtype="float64").fit(TEXTS, y)
    expected = clone(program).fit(TEXTS, y).predict_proba(NEW)
    np.testing.assert_allclose(model.predict_proba(NEW), expected, atol=1e-2)
    np.testing.assert_allclose(model.to_sklearn().predict_proba(NEW), expected, atol=1e-2)


def test_series_on_the_device_gives_the_same() -> None:
    import cudf

    model = Accelerated(TfidfVectorizer(), device="cuda").fit(cudf.Series(TEXTS))
    expected = TfidfVectorizer().fit_transform(TEXTS)
    np.testing.assert_allclose(
        dense(model.transform(cudf.Series(TEXTS))), dense(expected), rtol=1e-5, atol=1e-7
    )


def test_equal_counts_keep_the_first_terms_of_the_alphabet() -> None:
    estimator = CountVectorizer(max_features=2)
    model = Accelerated(estimator, device="cuda").fit(["bb cc dd aa", "dd"])
    assert sorted(model.to_sklearn().vocabulary_) == ["aa", "dd"]


def test_letters_beyond_the_first_plane_split_words() -> None:
    model = Accelerated(CountVectorizer(), device="cuda").fit(["\U00020000\U00020001 ab"])
    assert sorted(model.to_sklearn().vocabulary_) == ["ab"]


def test_final_sigma_is_an_ordinary_sigma() -> None:
    model = Accelerated(CountVectorizer(), device="cuda").fit(["ΟΔΟΣ"])
    assert list(model.to_sklearn().vocabulary_) == ["οδοσ"]
    assert list(CountVectorizer().fit(["ΟΔΟΣ"]).vocabulary_) == ["οδος"]


def test_hashes_are_those_of_sklearn_for_every_length() -> None:
    texts = ["ab abc abcd abcde abcdef abcdefg é日本語 " + "x" * 40]
    estimator = HashingVectorizer(n_features=2**20, norm=None)
    found = Accelerated(estimator, device="cuda").fit(texts).transform(texts)
    expected = estimator.fit_transform(texts)
    assert (abs(found - expected)).nnz == 0


def test_no_terms_are_the_error_of_sklearn() -> None:
    with pytest.raises(ValueError, match="empty vocabulary; perhaps the documents only contain"):
        Accelerated(CountVectorizer(), device="cuda").fit(["a b", ""])
    with pytest.raises(ValueError, match="After pruning, no terms remain"):
        Accelerated(CountVectorizer(min_df=2), device="cuda").fit(["aa", "bb"])


def test_texts_shorter_than_every_gram_are_one_clear_error() -> None:
    estimator = CountVectorizer(analyzer="char", ngram_range=(2, 3))
    model = Accelerated(estimator, device="cuda").fit(TEXTS)
    with pytest.raises(DataError, match="every text is too short"):
        model.transform(["a", ""])


COLUMNS = {
    "weights": TfidfVectorizer(),
    "a pipeline": make_pipeline(CountVectorizer(), TfidfTransformer()),
    "a union": make_union(TfidfVectorizer(), HashingVectorizer(n_features=64)),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_text_column_stands_beside_numbers(name: str, tmp_path: Path) -> None:
    table = pd.DataFrame({"text": TEXTS, "n": range(len(TEXTS)), "c": list("xyxyxyxyxy")})
    hot = (OneHotEncoder(), ["c"])
    program = make_column_transformer((COLUMNS[name], "text"), (StandardScaler(), ["n"]), hot)
    expected = dense(clone(program).fit_transform(table))
    model = Accelerated(program, device="cuda", dtype="float64").fit(table)
    assert {placement.device for placement in model.plan_.placements} == {"cuda"}
    loaded: Any = load(save(model, tmp_path / "model"), "cuda")
    for made in (model, model.to_sklearn(), loaded):
        np.testing.assert_allclose(dense(made.transform(table)), expected, rtol=1e-5, atol=1e-7)
