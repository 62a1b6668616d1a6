"""Text on the GPU path: cuML's vectorizers get what they take, and hand back what they learned."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from pipeline import Accelerated, DataError
from pipeline.backends.cuml import text
from pipeline.optional import available, load
from tests.contract.recorder import Recorder
from tests.contract.verify import faults

TEXTS = ["The cat sat", "A dog_1 barked;  the cat?", "", "42 naïve dogs  sat", "the dog"] * 8
y = np.array([0, 1, 0, 1, 1] * 8)

SPECS = {
    "counts": CountVectorizer(ngram_range=(1, 2), stop_words="english", min_df=2),
    "binary": CountVectorizer(binary=True, vocabulary={"dog": 1, "cat": 0}, dtype=np.float32),
    "characters": CountVectorizer(analyzer="char", ngram_range=(1, 3)),
    "inside words": TfidfVectorizer(analyzer="char_wb", lowercase=False, ngram_range=(2, 4)),
    "hashes": HashingVectorizer(n_features=32),
    "weights": TfidfVectorizer(max_features=4, sublinear_tf=True, norm="l1"),
    "no weights": TfidfVectorizer(use_idf=False),
    "counts, then weights": make_pipeline(CountVectorizer(), TfidfTransformer(smooth_idf=False)),
    "counts, then no weights": make_pipeline(CountVectorizer(), TfidfTransformer(use_idf=False)),
}
each_spec = pytest.mark.parametrize("estimator", SPECS.values(), ids=list(SPECS))


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if issparse(matrix) else np.asarray(matrix)


@each_spec
def test_matrix_is_that_of_sklearn(estimator: Any, device: Recorder) -> None:
    model = Accelerated(clone(estimator), device="cuda", dtype="float64").fit(pd.Series(TEXTS))
    found = model.transform(TEXTS)
    expected = clone(estimator).fit(TEXTS).transform(TEXTS)
    assert issparse(found)
    np.testing.assert_allclose(dense(found), dense(expected), rtol=1e-6)
    assert {placement.device for placement in model.plan_.placements} == {"cuda"}
    assert faults(device.calls) == []


@each_spec
def test_vectorizer_is_handed_over_whole(estimator: Any, device: Recorder) -> None:
    model = Accelerated(clone(estimator), device="cuda", dtype="float64").fit(TEXTS)
    lifted, reference = model.to_sklearn(), clone(estimator).fit(TEXTS)
    assert lifted.get_params().keys() == reference.get_params().keys()
    np.testing.assert_allclose(dense(lifted.transform(TEXTS)), dense(model.transform(TEXTS)))
    for ours, theirs in zip(_steps(lifted), _steps(reference), strict=True):
        assert fitted(ours) == fitted(theirs)
        assert getattr(ours, "vocabulary_", None) == getattr(theirs, "vocabulary_", None)
        if hasattr(theirs, "idf_"):
            np.testing.assert_allclose(ours.idf_, theirs.idf_)


def fitted(estimator: Any) -> set[str]:
    return {name for name in vars(estimator) if name.endswith("_")}


def _steps(estimator: Any) -> list[Any]:
    return list(getattr(estimator, "named_steps", {"": estimator}).values())


@each_spec
def test_classifier_takes_the_sparse_rows(estimator: Any, device: Recorder) -> None:
    program = make_pipeline(*map(clone, _steps(estimator)), LogisticRegression())
    model = Accelerated(program, device="cuda", dtype="float64").fit(TEXTS, y)
    expected = clone(program).fit(TEXTS, y).predict_proba(TEXTS)
    np.testing.assert_allclose(model.predict_proba(TEXTS), expected, atol=1e-4)
    assert faults(device.calls) == []


@pytest.mark.parametrize("labels", [y, np.array(["no", "yes"], dtype=object)[y]])
def test_labels_are_those_of_the_cpu(labels: np.ndarray, device: Recorder) -> None:
    program = make_pipeline(TfidfVectorizer(), LogisticRegression())
    model = Accelerated(program, device="cuda").fit(TEXTS, labels)
    on_cpu = Accelerated(program, device="cpu").fit(TEXTS, labels)
    np.testing.assert_array_equal(model.predict(TEXTS), on_cpu.predict(TEXTS))


def test_texts_go_up_once_and_rows_stay(device: Recorder) -> None:
    program = make_pipeline(CountVectorizer(), TfidfTransformer(), LogisticRegression())
    model = Accelerated(program, device="cuda").fit(TEXTS, y)
    entries = model.execution_log_.entries
    assert [e.step for e in entries if e.call == "copy"] == ["input"]
    assert entries[0].to_device_bytes == pd.Series(TEXTS, dtype="str").nbytes
    assert model.execution_log_.to_host_bytes == 0
    assert device.nbytes("host", "explicit") == 0


def test_texts_on_the_device_are_not_copied(device: Recorder) -> None:
    import cudf

    model = Accelerated(CountVectorizer(), device="cuda").fit(cudf.from_pandas(pd.Series(TEXTS)))
    assert all(entry.call != "copy" for entry in model.execution_log_.entries)
    expected = CountVectorizer().fit_transform(TEXTS)
    np.testing.assert_array_equal(dense(model.transform(TEXTS)), dense(expected))
    assert faults(device.calls) == []


def test_what_is_no_text_on_the_device_is_one_clear_error(device: Recorder) -> None:
    import cudf

    for wrong, why in ((pd.Series([1, 2]), "int64 values"), (pd.Series(["a", None]), "1 missing")):
        with pytest.raises(DataError, match=why):
            Accelerated(CountVectorizer(), device="cuda").fit(cudf.from_pandas(wrong))


def test_weights_of_a_table_of_counts(device: Recorder) -> None:
    counts = pd.DataFrame({"cat": [1, 0, 2], "dog": [0, 3, 1]})
    model = Accelerated(TfidfTransformer(), device="cuda").fit(counts)
    expected = TfidfTransformer().fit_transform(counts)
    np.testing.assert_allclose(dense(model.transform(counts)), dense(expected))
    np.testing.assert_allclose(
        dense(model.to_sklearn().transform(counts.to_numpy())), dense(expected)
    )
    assert faults(device.calls) == []


def test_spaces_are_one_before_characters_are_cut(device: Recorder) -> None:
    Accelerated(SPECS["characters"], device="cuda").fit(TEXTS)
    (replaced,) = [call for call in device.calls if call.name == "replace"]
    assert (replaced.args, replaced.kwargs) == ((r"\s\s+", " "), {"regex": True})


def test_counts_take_the_type_of_the_program(device: Recorder) -> None:
    assert (
        Accelerated(CountVectorizer(), device="cuda").fit(TEXTS).transform(TEXTS).dtype == "float32"
    )
    assert (
        Accelerated(TfidfVectorizer(), device="cuda").fit(TEXTS).transform(TEXTS).dtype == "float64"
    )


def test_texts_too_short_for_cuml_are_an_error_that_names_the_step(device: Recorder) -> None:
    estimator = make_pipeline(
        CountVectorizer(analyzer="char", ngram_range=(2, 3)), LogisticRegression()
    )
    model = Accelerated(estimator, device="cuda").fit(TEXTS, y)
    with pytest.raises(DataError, match=r"^countvectorizer: every text is too short.*\(2, 3\)"):
        model.predict(["a", ""])


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(TfidfVectorizer(token_pattern=r"\w+"), LogisticRegression()),
        make_pipeline(TfidfVectorizer(), MaxAbsScaler(), LogisticRegression()),
        make_pipeline(TfidfVectorizer(), SGDClassifier(random_state=0)),
        make_pipeline(
            CountVectorizer(analyzer=str.split), TfidfTransformer(), LogisticRegression()
        ),
    ],
    ids=["vectorizer", "in the middle", "estimator", "counts"],
)
def test_what_the_gpu_cannot_runs_on_the_host_in_plain_sight(
    estimator: Any, device: Recorder
) -> None:
    model = Accelerated(estimator, device="cuda", fallback=True).fit(TEXTS, y)
    expected = clone(estimator).fit(TEXTS, y).predict(TEXTS)
    np.testing.assert_array_equal(model.predict(TEXTS), expected)
    assert [p.device for p in model.plan_.placements].count("cpu") == 1
    assert any(p.note.startswith("on the host") for p in model.plan_.placements)
    assert faults(device.calls) == []


MISSING = [package for package in ("cuml", "cupyx") if not available(package)]


class TestLive:
    pytestmark = [
        pytest.mark.contract_live,
        pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
        pytest.mark.filterwarnings("default"),
    ]

    @pytest.mark.parametrize("original", text.CUML, ids=lambda original: original.__name__)
    def test_twin_has_what_we_call(self, original: type) -> None:
        twin = load(text.CUML[original])
        for method in ("fit", "fit_transform", "transform"):
            assert next(iter(inspect.signature(getattr(twin, method)).parameters)) == "self"
        if hasattr(original, "vocabulary"):
            assert callable(twin.get_feature_names_out)

    @each_spec
    def test_parameters_construct_the_class(self, estimator: Any) -> None:
        for step in _steps(estimator):
            params = text.parameters(step, "step", "float32")
            twin = load(text.CUML[type(step)])(**params)
            assert params.items() <= twin.get_params().items()

    @pytest.mark.parametrize("original", text.CUML, ids=lambda original: original.__name__)
    def test_every_parameter_is_handled(self, original: type) -> None:
        """A parameter that a newer version brings must be read before it is handed on."""
        shared = set(text.SHARED.split())
        ours = {"stop_words", "vocabulary", "dtype", "preprocessor", "tokenizer", "analyzer"}
        without = {"delimiter", "verbose", "output_type"}
        assert set(load(text.CUML[original])().get_params()) <= shared | ours | without
        refused = {"input", "strip_accents", "token_pattern", "encoding", "decode_error"}
        assert set(original().get_params()) <= shared | ours | refused

    def test_rows_bear_the_name_that_our_code_looks_for(self) -> None:
        rows = load("cupyx.scipy.sparse.csr_matrix")
        assert rows.__module__.startswith("cupyx.")
        for name, module in (("data", "_data"), ("indices", "_compressed")):
            source = inspect.getsource(load(f"cupyx.scipy.sparse.{module}"))
            assert f"self.{name} = " in source

    @pytest.mark.parametrize("original", [TfidfTransformer, TfidfVectorizer])
    def test_learned_weights_have_their_name(self, original: type) -> None:
        assert hasattr(load(text.CUML[original]), "idf_")
