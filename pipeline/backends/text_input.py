"""Text as input: which estimators read documents, and what counts as documents.

A vectorizer takes one-dimensional input, a sequence of texts, where every other
estimator takes a table. The policy is the same on every device: text only, none
missing, at least one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import get_tags

from pipeline.backends import meta
from pipeline.errors import DataError
from pipeline.table import frames
from pipeline.typing import Estimator, Table, Target

NUMERIC = "iufcbmM"


def reads_text(estimator: Estimator) -> bool:
    """Return whether an estimator takes documents rather than a table.

    A pipeline does when its first step does, a union when one of its branches does, and what fits
    other estimators when one of those does.

    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.preprocessing import StandardScaler
    >>> reads_text(Pipeline([("words", TfidfVectorizer())])), reads_text(StandardScaler())
    (True, False)
    """
    if isinstance(estimator, Pipeline):
        steps = [how for _, how, *_ in estimator.steps if hasattr(how, "fit")]
        return bool(steps) and reads_text(steps[0])
    if isinstance(estimator, FeatureUnion):
        return any(reads_text(how) for _, how, *_ in estimator.transformer_list or ())
    if isinstance(estimator, type):
        return False
    if meta.holds_estimators(estimator):
        return any(map(reads_text, meta.inner_estimators(estimator).values()))
    if not hasattr(estimator, "__sklearn_tags__"):
        return False
    tags = get_tags(estimator).input_tags
    return bool(tags.string and not tags.two_d_array)


def documents(X: Table) -> Any:
    """Return texts as a pandas or cuDF series of text, where they are.

    They are a sequence, series or array of pandas, cuDF, NumPy, Arrow or Polars. One text, a table,
    no texts, and anything but text is a `DataError`.

    >>> documents(["one text", "another"]).tolist()
    ['one text', 'another']
    """
    X = _series(X)
    if len(X) == 0:
        raise DataError("X has 0 documents; pass at least one")
    on_host = frames.library(X) == "pandas"
    if not on_host and X.dtype.kind in NUMERIC:
        raise _no_text(f"{X.dtype} values")
    if missing := int(X.isna().sum()):
        raise DataError(f"X has {missing} missing documents; use X.fillna(''), or drop the rows")
    return _host_text(X) if on_host else X.astype("str")


def _series(X: Table) -> Any:
    if isinstance(X, str | bytes):
        raise DataError("X is a single text, not a list of texts; pass [X]")
    if frames.is_partitioned(X):
        raise DataError("X has partitions, which text must not have; pass X.compute()")
    if not isinstance(X, Iterable) and frames.library(X) != "cudf":
        raise DataError(f"X is of type {type(X).__name__}; pass a list of texts")
    if len(getattr(X, "shape", ())) > 1 or frames.is_frame(X):
        raise DataError(
            f"X is a table (shape={X.shape}), not a column of text; pass X['name'] of a "
            "frame, X[:, 0] of an array, or use a ColumnTransformer with the column's name as key"
        )
    if frames.library(X) == "cudf":
        return X
    X = X.to_pandas() if hasattr(X, "to_pandas") else X
    return X if isinstance(X, pd.Series) else pd.Series(list(X), dtype=object)


def _host_text(X: pd.Series) -> pd.Series:
    """Return a series in the type for text, which is also how it goes to a GPU."""
    X = X.astype(object) if isinstance(X.dtype, pd.CategoricalDtype) else X
    kind = pd.api.types.infer_dtype(X, skipna=False)
    if kind != "string":
        raise _no_text(f"{kind} values")
    try:
        return X.astype("str")
    except UnicodeEncodeError as error:
        raise DataError(f"a text in X cannot be written as UTF-8: {error}; fix it") from error


def _no_text(found: str) -> DataError:
    how = "convert them (astype('str'), or decode bytes) or leave them out"
    return DataError(f"X holds {found}, not text; {how}")


def labels(y: Target) -> np.ndarray:
    """Return labels, one column of which none is missing, as a host array."""
    y = np.asarray(frames.to_device(y, "cpu"))
    y = y.ravel() if y.ndim == 2 and y.shape[1] == 1 else y
    if y.ndim != 1 or not len(y):
        raise DataError(f"labels must be one column of values; these have the shape {y.shape}")
    if missing := int(np.count_nonzero(pd.isna(y))):
        raise DataError(f"{missing} labels are missing; drop these rows")
    return y
