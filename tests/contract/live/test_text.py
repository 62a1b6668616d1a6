"""cuML's text classes have what our code calls, and take what it hands over."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer

from pipeline.backends.cuml import text
from pipeline.optional import load
from pipeline.preprocessing.engine import tree
from tests.contract.test_text import each_spec

pytestmark = pytest.mark.filterwarnings("default")
EACH_CLASS = pytest.mark.parametrize("original", text.CUML, ids=lambda each: each.__name__)


@EACH_CLASS
def test_twin_has_what_we_call(original: type) -> None:
    twin = load(text.CUML[original])
    for method in ("fit", "fit_transform", "transform"):
        assert next(iter(inspect.signature(getattr(twin, method)).parameters)) == "self"
    if hasattr(original, "vocabulary"):
        assert callable(twin.get_feature_names_out)


@each_spec
def test_parameters_construct_the_class(estimator: Any) -> None:
    for step in filter(text.is_vectorizer, dict(tree.leaves(estimator, "")).values()):
        params = text.parameters(step, "step", "float32")
        twin = load(text.CUML[type(step)])(**params)
        assert params.items() <= twin.get_params().items()


@EACH_CLASS
def test_every_parameter_is_handled(original: type) -> None:
    """A parameter that a newer version brings must be read before it is handed on."""
    shared = set(text.SHARED.split())
    ours = {"stop_words", "vocabulary", "dtype", "preprocessor", "tokenizer", "analyzer"}
    without = {"delimiter", "verbose", "output_type"}
    assert set(load(text.CUML[original])().get_params()) <= shared | ours | without
    refused = {"input", "strip_accents", "token_pattern", "encoding", "decode_error"}
    assert set(original().get_params()) <= shared | ours | refused


def test_rows_bear_the_name_that_our_code_looks_for() -> None:
    rows = load("cupyx.scipy.sparse.csr_matrix")
    assert rows.__module__.startswith("cupyx.")
    for name, module in (("data", "_data"), ("indices", "_compressed")):
        source = inspect.getsource(load(f"cupyx.scipy.sparse.{module}"))
        assert f"self.{name} = " in source


@pytest.mark.parametrize("original", [TfidfTransformer, TfidfVectorizer])
def test_learned_weights_have_their_name(original: type) -> None:
    assert hasattr(load(text.CUML[original]), "idf_")
