"""Stand-ins for cuML's text classes: scikit-learn inside."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from sklearn.feature_extraction import text as sklearn_text

from tests.contract import arrays, tables
from tests.contract.csr import FLOATS, csr_matrix
from tests.contract.recorder import RECORDER, Refused


class _Text:
    """What the four classes share: the class of scikit-learn with the same name inside."""

    OWNER = ""

    def __init_subclass__(cls) -> None:
        cls.OWNER = f"cuml.feature_extraction.text.{cls.__name__}"

    def __init__(self, **params: Any) -> None:
        RECORDER.call(self.OWNER, "__init__", (), params)
        if params.get("dtype", np.float32) not in FLOATS:
            raise Refused(f"CuPy has no sparse rows of {params['dtype']}")
        for name in ("stop_words", "vocabulary"):
            if not isinstance(params.get(name), list | None):
                raise Refused(f"{name} goes into a cudf.Series and is {params[name]!r}")
        self.params = params
        known = {name: value for name, value in params.items() if name != "preprocessor"}
        own = {"lowercase": False} if params.get("preprocessor") else {}
        self._inside = getattr(sklearn_text, type(self).__name__)(**known | own)

    def fit(self, X: Any, y: Any = None) -> Any:
        RECORDER.call(self.OWNER, "fit", (X,))
        self._inside.fit(self._taken(X))
        return self

    def fit_transform(self, X: Any, y: Any = None) -> csr_matrix:
        RECORDER.call(self.OWNER, "fit_transform", (X,))
        return _made(self._inside.fit_transform(self._taken(X)))

    def transform(self, X: Any) -> csr_matrix:
        RECORDER.call(self.OWNER, "transform", (X,))
        return _made(self._inside.transform(self._taken(X)))

    def _taken(self, X: Any) -> Any:
        if not isinstance(X, tables.Series):
            raise Refused(f"a {type(X).__name__} was handed to cuML where it wants a cudf.Series")
        preprocessor = self.params.get("preprocessor")
        return list((preprocessor(X) if preprocessor else X)._host)


def _made(rows: Any) -> csr_matrix:
    """Return rows as cuML makes them: the cells of each in order, none of them twice."""
    rows = rows.copy()
    rows.sum_duplicates()
    return csr_matrix.made(rows)


class _Weights:
    """The weights of scikit-learn's transformer: as in cuML, they can be set on a transformer."""

    OWNER = "cuml.feature_extraction.text.TfidfTransformer"

    def __init__(self, inside: Any) -> None:
        self._inside = inside

    @property
    def idf_(self) -> arrays.ndarray:
        RECORDER.call(self.OWNER, "idf_")
        return arrays.ndarray(self._inside.idf_)

    @idf_.setter
    def idf_(self, weights: arrays.ndarray) -> None:
        if not isinstance(weights, arrays.ndarray):
            raise Refused(f"idf_ is set to a {type(weights).__name__}")
        self._inside.idf_ = weights._host


class HashingVectorizer(_Text):
    pass


class CountVectorizer(_Text):
    def get_feature_names_out(self) -> np.ndarray:
        """Return the terms, on the host."""
        RECORDER.call(self.OWNER, "get_feature_names_out", ())
        return self._inside.get_feature_names_out()


class TfidfVectorizer(CountVectorizer):
    @property
    def _tfidf(self) -> _Weights:
        return _Weights(self._inside._tfidf)

    @property
    def idf_(self) -> arrays.ndarray:
        """Return the weights, which cannot be set."""
        RECORDER.call(self.OWNER, "idf_")
        return self._tfidf.idf_


class TfidfTransformer(_Text, _Weights):
    @property
    def n_features_in_(self) -> int:
        return self._inside.n_features_in_

    def _taken(self, X: Any) -> Any:
        if not isinstance(X, csr_matrix | arrays.ndarray):
            raise Refused(f"a {type(X).__name__} was handed to cuML where it wants counts")
        return X._host


def modules() -> dict[str, ModuleType]:
    text = "cuml.feature_extraction.text"
    made = {name: ModuleType(name) for name in ("cuml.feature_extraction", text)}
    for kind in (CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer):
        setattr(made[text], kind.__name__, kind)
    return made
