"""Text on the GPU path: cuML's vectorizers get what they take, and hand back what they learned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pipeline import Accelerated, explain, load, save
from tests.contract.cases import EVERYWHERE, dense
from tests.contract.recorder import Recorder

pytestmark = pytest.mark.usefixtures("device")

TEXTS = [
    "The cat sat on the mat, the cat!",
    "A dog_1 barked 42 times; naïve cats don't. _ __ a_",
    "",
    "   \t\n ",
    "日本語 tōkyō Straße ﬁne e\u0301tude",
    "the MAT\u00a0the\u3000mat\nthe  dog\t\tdog",
    "3.14 e-mail@example.org #tag C++ x",
    "ночь, улица 🦊 фонарь ½ ² Ⅷ",
    "ab abc abcd abcde abcdef abcdefg " + "x" * 40,
    "no mat  no dog \t no cat",
]
NEW = ["the unseen cat", "", "日本語 42", "zzz", "naïve 🦊 dog_1"]
N = len(TEXTS)
y = np.arange(N) % 2
EXACT = LogisticRegression(tol=1e-6, max_iter=1000)

SPECS = {
    "words": CountVectorizer(),
    "counts": CountVectorizer(ngram_range=(1, 2), stop_words="english", min_df=2, max_df=0.4),
    "binary": CountVectorizer(binary=True, vocabulary={"mat": 0, "cat": 1}, dtype=np.float32),
    "hashes": HashingVectorizer(n_features=32),
    "weights": TfidfVectorizer(max_features=2, sublinear_tf=True, norm="l1"),
    "counts, then weights": make_pipeline(CountVectorizer(), TfidfTransformer(smooth_idf=False)),
    "counts, then no weights": make_pipeline(CountVectorizer(), TfidfTransformer(use_idf=False)),
}
each_spec = pytest.mark.parametrize("estimator", SPECS.values(), ids=list(SPECS))


@EVERYWHERE
@each_spec
def test_matrix_is_that_of_sklearn_and_the_vectorizer_is_handed_over_whole(estimator: Any) -> None:
    model = Accelerated(clone(estimator), device="cuda", dtype="float64").fit(pd.Series(TEXTS))
    assert {placement.device for placement in model.plan_.placements} == {"cuda"}
    lifted, reference = model.to_sklearn(), clone(estimator).fit(TEXTS)
    for texts in (TEXTS, NEW):
        found = model.transform(texts)
        assert issparse(found)
        expected = dense(reference.transform(texts))
        np.testing.assert_allclose(dense(found), expected, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(dense(lifted.transform(texts)), expected, rtol=1e-5, atol=1e-7)
    assert lifted.get_params().keys() == reference.get_params().keys()
    for ours, theirs in zip(_steps(lifted), _steps(reference), strict=True):
        assert fitted(ours) == fitted(theirs)
        assert getattr(ours, "vocabulary_", None) == getattr(theirs, "vocabulary_", None)
        if hasattr(theirs, "idf_"):
            np.testing.assert_allclose(ours.idf_, theirs.idf_)


def fitted(estimator: Any) -> set[str]:
    return {name for name in vars(estimator) if name.endswith("_")}


def _steps(estimator: Any) -> list[Any]:
    return list(getattr(estimator, "named_steps", {"": estimator}).values())


def test_texts_go_up_once_and_rows_stay(device: Recorder) -> None:
    program = make_pipeline(CountVectorizer(), TfidfTransformer(), LogisticRegression())
    model = Accelerated(program, device="cuda").fit(TEXTS, y)
    entries = model.execution_log_.entries
    assert [e.step for e in entries if e.call == "copy"] == ["input"]
    assert entries[0].to_device_bytes == pd.Series(TEXTS, dtype="str").nbytes
    assert model.execution_log_.to_host_bytes == 0
    assert device.nbytes("host", "explicit") == 0


TABLE = pd.DataFrame(
    {
        "body": TEXTS,
        "title": TEXTS[::-1],
        "a": np.linspace(-1, 2, N),
        "b": np.arange(N) % 7,
        "c": np.resize(list("xyz"), N),
    }
)
BESIDE = {
    "hashes": HashingVectorizer(n_features=32),
    "a pipeline": make_pipeline(CountVectorizer(), TfidfTransformer(sublinear_tf=True)),
    "components": make_pipeline(TfidfVectorizer(), TruncatedSVD(1, random_state=0)),
}


def beside(how: Any) -> ColumnTransformer:
    """Return a transformer of two text columns beside numbers and categories."""
    rest = ("num", StandardScaler(), ["a", "b"]), ("cat", OneHotEncoder(), ["c"])
    title = ("title", CountVectorizer(), "title")
    return ColumnTransformer([("text", clone(how), "body"), title, *rest])


@EVERYWHERE
@pytest.mark.parametrize("name", BESIDE)
def test_text_columns_are_read_beside_numbers(name: str, tmp_path: Path) -> None:
    program = make_pipeline(beside(BESIDE[name]), clone(EXACT))
    model = Accelerated(program, device="cuda", dtype="float64").fit(TABLE, y)
    places = {p.step: p for p in explain(program, "cuda").placements}
    assert {p.step: p.implementation for p in model.plan_.placements} == {
        step: place.implementation for step, place in places.items()
    }
    assert {place.device for place in places.values()} == {"cuda"}
    text = places["columntransformer.text"].implementation
    assert text.startswith("cuml.feature_extraction.text.")
    assert model.execution_log_.rows_bytes == 0, "no rows come back"
    new = TABLE.assign(body=["unseen bird", "", *TEXTS[2:]])
    expected = clone(program).fit(TABLE, y).predict_proba(new)
    on_cpu = Accelerated(program, device="cpu", dtype="float64").fit(TABLE, y)
    saved = save(model, tmp_path / "model"), save(on_cpu, tmp_path / "host")
    loaded: list[Any] = [load(saved[0], "cuda"), load(saved[0], "cpu"), load(saved[1], "cuda")]
    for made in (model, model.to_sklearn(), *loaded):
        np.testing.assert_allclose(made.predict_proba(new), expected, atol=1e-2)
