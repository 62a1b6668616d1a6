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
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pipeline import Accelerated, DataError, Unsupported, explain, load, save
from pipeline.optional import load as load_package
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
    "own stop words": CountVectorizer(stop_words=["the", "no"], lowercase=False),
    "hashes": HashingVectorizer(n_features=32),
    "hashes of every length": HashingVectorizer(n_features=2**20, norm=None),
    "weights": TfidfVectorizer(max_features=2, sublinear_tf=True, norm="l1"),
    "no weights": TfidfVectorizer(use_idf=False, smooth_idf=False),
    "counts, then weights": make_pipeline(CountVectorizer(), TfidfTransformer(smooth_idf=False)),
    "a pipeline in a pipeline": make_pipeline(make_pipeline(CountVectorizer(), TfidfTransformer())),
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


@EVERYWHERE
@pytest.mark.parametrize("name", ["binary", "hashes", "counts, then weights"])
def test_a_classifier_takes_the_sparse_rows_and_a_saved_model_goes_on(
    name: str, tmp_path: Path
) -> None:
    program = make_pipeline(*map(clone, _steps(SPECS[name])), clone(EXACT))
    reference = clone(program).fit(TEXTS, y).predict_proba(NEW)
    for where in ("cuda", "cpu"):
        model = Accelerated(program, device=where, dtype="float64").fit(TEXTS, y)
        loaded: Any = load(save(model, tmp_path / where), "cuda")
        assert {place.device for place in loaded.plan_.placements} == {"cuda"}
        expected = model.predict_proba(NEW)
        np.testing.assert_allclose(expected, reference, atol=1e-2)
        for each in (loaded, model.to_sklearn(), loaded.to_sklearn()):
            np.testing.assert_allclose(each.predict_proba(NEW), expected, atol=1e-5)


def test_texts_go_up_once_and_rows_stay(device: Recorder) -> None:
    program = make_pipeline(CountVectorizer(), TfidfTransformer(), LogisticRegression())
    model = Accelerated(program, device="cuda").fit(TEXTS, y)
    entries = model.execution_log_.entries
    assert [e.step for e in entries if e.call == "copy"] == ["input"]
    assert entries[0].to_device_bytes == pd.Series(TEXTS, dtype="str").nbytes
    assert model.execution_log_.to_host_bytes == 0
    assert device.nbytes("host", "explicit") == 0


@EVERYWHERE
def test_texts_on_the_device_are_not_copied() -> None:
    there = load_package("cudf").from_pandas(pd.Series(TEXTS))
    model = Accelerated(CountVectorizer(), device="cuda").fit(there)
    assert all(entry.call != "copy" for entry in model.execution_log_.entries)
    expected = CountVectorizer().fit_transform(TEXTS)
    np.testing.assert_array_equal(dense(model.transform(there)), dense(expected))


@EVERYWHERE
def test_weights_of_a_table_of_counts() -> None:
    counts = pd.DataFrame({"cat": [1, 0, 2], "dog": [0, 3, 1]})
    model = Accelerated(TfidfTransformer(), device="cuda").fit(counts)
    expected = dense(TfidfTransformer().fit_transform(counts))
    for found in (model.transform(counts), model.to_sklearn().transform(counts.to_numpy())):
        np.testing.assert_allclose(dense(found), expected)


@pytest.mark.parametrize("estimator", [CountVectorizer(), TfidfVectorizer()], ids=repr)
def test_counts_take_the_type_of_the_program(estimator: Any) -> None:
    made = Accelerated(estimator, device="cuda").fit(TEXTS).transform(TEXTS)
    assert made.dtype == ("float32" if type(estimator) is CountVectorizer else "float64")


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


@EVERYWHERE
@pytest.mark.parametrize("name", BESIDE)
def test_rows_beside_numbers_are_those_of_sklearn(name: str) -> None:
    how = beside(BESIDE[name])
    made = Accelerated(how, device="cuda", dtype="float64").fit(TABLE).transform(TABLE)
    expected = clone(how).fit_transform(TABLE)
    assert issparse(made) is issparse(expected)
    if issparse(made):
        assert made.has_sorted_indices
        np.testing.assert_array_equal(made.indptr, expected.indptr)
    np.testing.assert_allclose(dense(made), dense(expected), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("how", "parameter"),
    [
        (TfidfVectorizer(token_pattern=r"\w+"), "token_pattern"),
        (
            make_pipeline(CountVectorizer(strip_accents="ascii"), TfidfTransformer()),
            "strip_accents",
        ),
        (make_union(TfidfVectorizer(), CountVectorizer()), None),
    ],
    ids=["vectorizer", "pipeline", "union"],
)
def test_a_branch_that_cuml_does_not_honour_runs_alone_on_the_host(
    how: Any, parameter: str | None
) -> None:
    program = make_pipeline(beside(how), LogisticRegression())
    with pytest.raises(Unsupported) as caught:
        Accelerated(program, device="cuda").fit(TABLE, y)
    (reason,) = caught.value.reasons
    assert reason.step.startswith("columntransformer.text")
    assert reason.parameter == parameter
    model = Accelerated(program, device="cuda", fallback=True).fit(TABLE, y)
    assert [p.step for p in model.plan_.placements if p.device == "cpu"] == [
        "columntransformer.text"
    ]
    expected = clone(program).fit(TABLE, y).predict_proba(TABLE)
    np.testing.assert_allclose(model.predict_proba(TABLE), expected, atol=1e-4)


@EVERYWHERE
@pytest.mark.parametrize(
    ("cells", "why"), [([1] * N, "int64 values"), ([None, *TEXTS[1:]], "1 missing")]
)
def test_what_is_no_text_is_one_clear_error(cells: list[Any], why: str) -> None:
    upload = load_package("cudf").from_pandas
    with pytest.raises(DataError, match=why):
        Accelerated(CountVectorizer(), device="cuda").fit(upload(pd.Series(cells)))
    program = beside(TfidfVectorizer())
    with pytest.raises(DataError, match=why):
        Accelerated(program, device="cuda").fit(upload(TABLE.assign(body=cells)))
