"""cuML's text classes have what our code calls, and take what it hands over."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from pipeline.backends.cuml import text
from pipeline.compile.compile import compile
from pipeline.optional import load
from tests.contract.test_text import each_spec

pytestmark = pytest.mark.filterwarnings("default")


@pytest.mark.parametrize("original", text.CUML, ids=lambda each: each.__name__)
def test_twin_has_what_we_call_and_no_parameter_is_left_out(original: type) -> None:
    twin = load(text.CUML[original])
    for method in ("fit", "fit_transform", "transform"):
        assert next(iter(inspect.signature(getattr(twin, method)).parameters)) == "self"
    assert not hasattr(original, "vocabulary") or callable(twin.get_feature_names_out)
    shared = set(text.SHARED.split())
    ours = {"stop_words", "vocabulary", "dtype", "preprocessor", "tokenizer", "analyzer"}
    assert set(twin().get_params()) <= shared | ours | {"delimiter", "verbose", "output_type"}
    refused = {"input", "strip_accents", "token_pattern", "encoding", "decode_error"}
    assert set(original().get_params()) <= shared | ours | refused


@each_spec
def test_parameters_construct_the_class(estimator: Any) -> None:
    leaves = [leaf.estimator for leaf in compile(estimator).leaves]
    for step in (each for each in leaves if type(each) in text.CUML):
        params = text.parameters(step, "step", "float32")
        assert params.items() <= load(text.CUML[type(step)])(**params).get_params().items()
