"""Stand-ins for cuML's text classes and CuPy's sparse rows: scikit-learn and SciPy inside."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import text as sklearn_text

from tests.contract import arrays, tables
from tests.contract.recorder import RECORDER, OnDevice, Refused

FLOATS = (np.float32, np.float64)


class csr_matrix(OnDevice):  # noqa: N801
    __module__ = "cupyx.scipy.sparse._csr"
    OWNER = "cupyx.scipy.sparse.csr_matrix"

    def __init__(self, host: Any) -> None:
        RECORDER.call(self.OWNER, "__init__", (host,))
        if not sparse.issparse(host):
            raise Refused(f"the stand-in makes no sparse rows of a {type(host).__name__}")
        if host.dtype not in (bool, *FLOATS):
            # cupyx.scipy.sparse._compressed._compressed_sparse_matrix.__init__
            raise ValueError("Only bool, float32, float64, complex64 and complex128 are supported")
        self._host = sparse.csr_matrix(host)
        RECORDER.copied("device", "explicit", self.nbytes_of_parts())

    @classmethod
    def made(cls, host: Any) -> csr_matrix:
        """Return rows that were computed on the device."""
        with RECORDER.paused():
            return cls(host)

    def nbytes_of_parts(self) -> int:
        return sum(getattr(self._host, part).nbytes for part in ("data", "indices", "indptr"))

    @property
    def shape(self) -> tuple[int, int]:
        return self._host.shape

    @property
    def dtype(self) -> np.dtype:
        return self._host.dtype

    @property
    def data(self) -> arrays.ndarray:
        return self._part("data")

    @property
    def indices(self) -> arrays.ndarray:
        return self._part("indices")

    @property
    def indptr(self) -> arrays.ndarray:
        return self._part("indptr")

    def _part(self, name: str) -> arrays.ndarray:
        # Not recorded: the real ones are set by __init__, so that the class does not show them.
        return arrays.ndarray(getattr(self._host, name))

    def get(self, stream: Any = None) -> sparse.csr_matrix:
        RECORDER.call(self.OWNER, "get", (stream,))
        RECORDER.copied("host", "explicit", self.nbytes_of_parts())
        return self._host.copy()

    def toarray(self) -> arrays.ndarray:
        RECORDER.call(self.OWNER, "toarray", ())
        return arrays.ndarray(self._host.toarray())


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
        return csr_matrix.made(self._inside.fit_transform(self._taken(X)))

    def transform(self, X: Any) -> csr_matrix:
        RECORDER.call(self.OWNER, "transform", (X,))
        return csr_matrix.made(self._inside.transform(self._taken(X)))

    def _taken(self, X: Any) -> Any:
        if not isinstance(X, tables.Series):
            raise Refused(f"a {type(X).__name__} was handed to cuML where it wants a cudf.Series")
        preprocessor = self.params.get("preprocessor")
        texts = list((preprocessor(X) if preprocessor else X)._host)
        self._refuse_short(texts)
        return texts

    def _refuse_short(self, texts: list[str]) -> None:
        longest = self.params["ngram_range"][1]
        if self.params["analyzer"] == "char" and max(map(len, texts)) < longest:
            # nvtext::generate_character_ngrams
            raise RuntimeError("CUDF failure: Insufficient number of characters in each string")


class _Weighted(_Text):
    @property
    def idf_(self) -> arrays.ndarray:
        RECORDER.call(self.OWNER, "idf_")
        return arrays.ndarray(self._inside.idf_)


class HashingVectorizer(_Text):
    pass


class CountVectorizer(_Text):
    def get_feature_names_out(self) -> np.ndarray:
        """Return the terms, on the host."""
        RECORDER.call(self.OWNER, "get_feature_names_out", ())
        return self._inside.get_feature_names_out()


class TfidfVectorizer(CountVectorizer, _Weighted):
    pass


class TfidfTransformer(_Weighted):
    @property
    def n_features_in_(self) -> int:
        return self._inside.n_features_in_

    def _taken(self, X: Any) -> Any:
        if not isinstance(X, csr_matrix | arrays.ndarray):
            raise Refused(f"a {type(X).__name__} was handed to cuML where it wants counts")
        return X._host


def modules() -> dict[str, ModuleType]:
    text, rows = "cuml.feature_extraction.text", "cupyx.scipy.sparse"
    made = {name: ModuleType(name) for name in ("cuml.feature_extraction", text, rows)}
    for kind in (CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer):
        setattr(made[text], kind.__name__, kind)
    made[rows].csr_matrix = csr_matrix
    return made
