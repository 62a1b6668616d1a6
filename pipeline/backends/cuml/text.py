"""Text vectorizers: scikit-learn's own on the CPU, cuML's on a GPU; both return sparse rows.

cuML translates no parameters for these classes, so it is done here, value by
value, after cuML's source: what it would ignore or do differently is rejected.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.pipeline import FeatureUnion, Pipeline

from pipeline.backends.base import Backend, Model, Placement
from pipeline.backends.gpu_rules import RULES, name_of_class
from pipeline.backends.text_input import documents, reads_text
from pipeline.errors import ConfigError, Reason, Unsupported
from pipeline.optional import load
from pipeline.table import frames
from pipeline.typing import DType, Estimator, Table, Target

CUML: dict[type, str] = {
    original: RULES[name_of_class(original)].twin
    for original in (CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer)
}
"""scikit-learn class -> cuML class. By exact type: a subclass is another algorithm."""

SHARED = (
    "lowercase ngram_range analyzer binary max_df min_df max_features n_features alternate_sign "
    "norm use_idf smooth_idf sublinear_tf"
)
"""Parameters that mean the same in both libraries."""

TOKEN_PATTERN = r"(?u)\b\w\w+\b"
"""The one pattern that cuML's tokens follow: scikit-learn's default."""

ON_CPU = "or run the step on the CPU with device='auto'"

BEFOREHAND = f"leave it out and preprocess the texts beforehand, {ON_CPU}"


def is_container(estimator: Estimator) -> bool:
    """Return whether it is a pipeline or a union that turns documents into rows.

    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_union
    >>> is_container(make_union(TfidfVectorizer())), is_container(TfidfVectorizer())
    (True, False)
    """
    whole = type(estimator) in (Pipeline, FeatureUnion) and hasattr(estimator, "transform")
    return whole and not hasattr(estimator, "predict") and reads_text(estimator)


class TextBackend(Backend):
    """Runs scikit-learn's vectorizers by cuML's."""

    def place(self, estimator: Estimator, step: str, dtype: str = "float32") -> Model:
        """Return cuML's vectorizer in the place of scikit-learn's."""
        return Vectorizer(estimator, step, dtype)

    def describe(self, estimator: Estimator, step: str) -> Placement:
        """Return cuML's class and how it differs."""
        if reasons := [Reason(step, *each) for each in _find_unsupported_values(estimator)]:
            raise Unsupported(*reasons)
        _terms(estimator, step)
        return Placement(step, CUML[type(estimator)], "cuda", "; ".join(_differences(estimator)))


def _find_unsupported_values(estimator: Estimator) -> Iterator[tuple[str, str, str]]:
    """Yield cause, suggestion and parameter for each value that cuML does not honour."""
    if isinstance(estimator, TfidfTransformer):
        return
    if estimator.input != "content":
        yield "cuML does not read files", f"read them and pass the texts, {ON_CPU}", "input"
    for name in ("preprocessor", "tokenizer"):
        if callable(getattr(estimator, name)):
            yield "a Python function cannot run on the GPU", BEFOREHAND, name
    if estimator.analyzer != "word":
        yield "cuML splits texts into characters differently", f"use 'word', {ON_CPU}", "analyzer"
    if estimator.strip_accents is not None and estimator.preprocessor is None:
        yield "cuML does not strip accents", BEFOREHAND, "strip_accents"
    if estimator.tokenizer is None and estimator.token_pattern != TOKEN_PATTERN:
        why = f"cuML only supports the pattern {TOKEN_PATTERN!r}"
        yield why, f"use the default, {ON_CPU}", "token_pattern"
    shortest, longest = estimator.ngram_range
    if not 1 <= shortest <= longest:
        why = f"{estimator.ngram_range!r} is not a range that starts at 1 or more"
        yield why, "use (1, 1), (1, 2), …", "ngram_range"
    if _limited(estimator) and estimator.binary:
        why = "with binary=True, scikit-learn ranks terms by documents, cuML by occurrences"
        yield why, f"use min_df instead, {ON_CPU}", "max_features"


def _limited(estimator: Estimator) -> bool:
    return getattr(estimator, "max_features", None) is not None and estimator.vocabulary is None


def _differences(estimator: Estimator) -> Iterator[str]:
    """Yield what differs and cannot be seen from the parameters."""
    if not isinstance(estimator, TfidfTransformer):
        yield "letters beyond U+FFFF and the Greek final sigma differ; see docs/gpu.md"
        if not _held(estimator.dtype):
            yield f"floats instead of {np.dtype(estimator.dtype)}: CuPy has no sparse integers"
    if _limited(estimator):
        yield "max_features keeps the alphabetically first terms of equal count"


def _held(dtype: DType) -> bool:
    return np.dtype(dtype) in (np.dtype("float32"), np.dtype("float64"))


def parameters(estimator: Estimator, step: str, dtype: str) -> dict[str, Any]:
    """Return cuML's parameters for a vectorizer whose values it takes.

    `dtype` is that of the matrix where the estimator asks for one that CuPy cannot hold.
    """
    given = estimator.get_params(deep=False)
    params = {name: given[name] for name in SHARED.split() if name in given}
    if isinstance(estimator, TfidfTransformer):
        return params
    params["dtype"] = np.dtype(estimator.dtype if _held(estimator.dtype) else dtype).type
    params["stop_words"] = sorted(estimator.get_stop_words() or ()) or None
    if isinstance(estimator, CountVectorizer):
        params["vocabulary"] = _terms(estimator, step)
    return params


def _terms(estimator: Estimator, step: str) -> list[str] | None:
    """Return the given vocabulary in the order of its columns, as scikit-learn understands it."""
    if getattr(estimator, "vocabulary", None) is None:
        return None
    try:
        words = CountVectorizer(vocabulary=estimator.vocabulary, lowercase=estimator.lowercase)
        columns: dict[str, int] = words.fit([""]).vocabulary_
    except ValueError as error:
        raise ConfigError(f"{step}(vocabulary): {error}") from error
    return sorted(columns, key=columns.__getitem__)


class Vectorizer(Model):
    """A cuML vectorizer in the place of a scikit-learn one.

    `dtype` is that of the matrix where the estimator asks for one that CuPy cannot hold.
    """

    def __init__(self, estimator: BaseEstimator, step: str, dtype: str = "float32") -> None:
        self.step, self.parameters = step, parameters(estimator, step, dtype)
        super().__init__(estimator, load(CUML[type(estimator)])(**self.parameters))

    def fit(self, X: Table, y: Target, **params: Any) -> None:
        """Learn the vocabulary and the frequencies of a cuDF series of text, or of counts."""
        self.native.fit(self._rows(X))

    def fit_transform(self, X: Table, y: Target, **params: Any) -> Any:
        """Learn, and return the sparse rows of the training texts, on the device."""
        return self.native.fit_transform(self._rows(X))

    def call(self, method: str, X: Table, **params: Any) -> Any:
        """Return ``estimator.method(X)``."""
        return getattr(self.native, method)(self._rows(X), **params)

    def _rows(self, X: Table) -> Any:
        """Return texts as a series, which a column of a table is not yet; counts as they are."""
        counts = isinstance(self.estimator, TfidfTransformer)
        return frames.matrix(X if counts else documents(X))

    def resume(self, fitted: Estimator) -> None:
        """Take over the vocabulary and the weights of a fitted scikit-learn vectorizer."""
        if isinstance(fitted, HashingVectorizer):
            return
        if isinstance(fitted, TfidfTransformer):
            self.native.fit(frames.to_device(np.ones((1, fitted.n_features_in_)), "cuda"))
            weights = self.native
        else:
            terms = fitted.get_feature_names_out().tolist()
            known = {**self.parameters, "vocabulary": terms}
            self.native = load(CUML[type(fitted)])(**known)
            # With a term, and no shorter than any n-gram.
            text = f"{terms[0]} {'a' * fitted.ngram_range[1]}"
            self.native.fit(frames.to_device(pd.Series([text], dtype="str"), "cuda"))
            weights = getattr(self.native, "_tfidf", None)
        if getattr(fitted, "use_idf", False):
            weights.idf_ = frames.to_device(fitted.idf_, "cuda")

    def to_sklearn(self) -> Any:
        """Return scikit-learn's vectorizer, with the vocabulary and weights that cuML learned."""
        if isinstance(self.estimator, HashingVectorizer):
            return clone(self.estimator)
        # About the parameters: scikit-learn gives them to those who fit with it.
        with warnings.catch_warnings(action="ignore"):
            if isinstance(self.estimator, TfidfTransformer):
                width = self.native.n_features_in_
                lifted = clone(self.estimator).fit(sparse.csr_matrix((1, width), dtype="float64"))
            else:
                lifted = with_vocabulary(self.estimator, self.native.get_feature_names_out())
        if getattr(self.estimator, "use_idf", False):
            weights = self.native.idf_
            made = weights.to_cupy() if hasattr(weights, "to_cupy") else weights
            lifted.idf_ = frames.to_host(made)
        return lifted


def with_vocabulary(estimator: Estimator, terms: Any) -> Any:
    """Return a fitted `CountVectorizer` or `TfidfVectorizer` that knows the given terms.

    >>> words = with_vocabulary(CountVectorizer(), ["a", "text"])
    >>> words.vocabulary_, words.transform(["Text, text."]).toarray().tolist()
    ({'a': 0, 'text': 1}, [[0, 2]])
    """
    lifted = clone(estimator).set_params(vocabulary=[str(term) for term in terms]).fit([""])
    lifted.fixed_vocabulary_ = estimator.vocabulary is not None
    return lifted.set_params(vocabulary=clone(estimator).vocabulary)


class DocumentsModel(Model):
    """The models of a pipeline's steps, one after the other, by the names of the steps."""

    def __init__(self, estimator: Estimator, models: Mapping[str, Model]) -> None:
        super().__init__(estimator)
        self.models = models

    def fit(self, X: Table, y: Target, **params: Any) -> None:
        """Learn from a cuDF series of text."""
        self.fit_transform(X, y)

    def fit_transform(self, X: Table, y: Target, **params: Any) -> Any:
        """Learn, and return the rows of the training texts, on the device."""
        for model in self.models.values():
            X = model.fit_transform(X, y)
        return X

    def call(self, method: str, X: Table, **params: Any) -> Any:
        """Return the result of the last step for texts."""
        for model in self.models.values():
            X = model.call("transform", X)
        return X

    def to_sklearn(self) -> Any:
        """Return the pipeline of the fitted steps."""
        fitted = {name: model.to_sklearn() for name, model in self.models.items()}
        steps = [(name, fitted.get(name, how)) for name, how in self.estimator.steps]
        return clone(self.estimator).set_params(steps=steps)

    def resume(self, fitted: Estimator) -> None:
        """Take a fitted pipeline over to the device."""
        parts = dict(fitted.steps)
        for name, model in self.models.items():
            model.resume(parts[name])  # type: ignore[attr-defined]
