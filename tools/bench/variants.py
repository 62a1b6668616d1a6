"""The ways to do the same preprocessing; each reads the table as its users would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import parallel_config
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder

from pipeline.preprocessing.engine.program import Program
from tasks.flights import folds
from tools.bench.record import Variant
from tools.bench.rowset import Rowset

REFERENCE = "sklearn-str"
"""The variant that the others are compared with: scikit-learn as people write it."""
TRUTH = "truth"
"""Not measured: scikit-learn on float64 numbers, to which all numbers are compared."""
Rows = tuple[Any, np.ndarray]
"""Features and target."""


class Way(NamedTuple):
    """How a variant reads the table, and what preprocesses it.

    Parameters
    ----------
    read : callable
        ``read(table)`` returns the features and the target.
    make : callable
        ``make(table)`` returns an object with `fit_transform(X, y)` and `transform(X)`.
    """

    read: Callable[[Rowset], Rows]
    make: Callable[[Rowset], Any]


def read_text(table: Rowset) -> Rows:
    """Read text columns as what pandas makes of them: `str`."""
    return _read(table, table.text)


def read_coded(table: Rowset) -> Rows:
    """Read dictionary columns as what pandas makes of them: categories."""
    return _read(table, table.coded)


def read_object(table: Rowset) -> Rows:
    """Read text columns and turn them into Python objects."""
    X, y = read_text(table)
    return X.astype(dict.fromkeys([*table.columns.few, *table.columns.many], object)), y


def read_exact(table: Rowset) -> Rows:
    """Read text columns, and numbers as float64."""
    X, y = read_text(table)
    return X.astype(dict.fromkeys(table.columns.numbers, "float64")), y


def read_polars(table: Rowset) -> Rows:
    """Read text columns with Polars."""
    import polars as pl

    X = pl.read_parquet(table.text, columns=[*table.features, table.columns.target])
    return X.select(table.features), X[table.columns.target].to_numpy()


def _read(table: Rowset, path: str) -> Rows:
    X = pd.read_parquet(path, columns=[*table.features, table.columns.target])
    return X, X.pop(table.columns.target).to_numpy()


class Threaded:
    """A scikit-learn program whose columns are worked on by threads.

    Parameters
    ----------
    table : Rowset
    """

    def __init__(self, table: Rowset) -> None:
        self._pipeline = table.pipeline().set_params(n_jobs=-1)

    def fit_transform(self, X: pd.DataFrame, y: np.ndarray) -> np.ndarray:
        """Fit and transform."""
        with parallel_config("threading"):
            return np.asarray(self._pipeline.fit_transform(X, y))

    def transform(self, X: pd.DataFrame) -> np.ndarray:
        """Transform."""
        with parallel_config("threading"):
            return np.asarray(self._pipeline.transform(X))


def _by_hand(table: Rowset) -> Any:
    from tools.bench.by_hand import ByHand

    return ByHand(table)


def vectorizer(table: Rowset) -> Any:
    """Return skrub's TableVectorizer, told to do what the pipeline does."""
    from skrub import TableVectorizer

    target = TargetEncoder(cv=folds(table.seed))
    many = make_pipeline(target, StandardScaler()) if table.scaled else target
    return TableVectorizer(
        numeric=make_pipeline(SimpleImputer(), StandardScaler()),
        low_cardinality=OneHotEncoder(
            handle_unknown="ignore", sparse_output=False, dtype="float32"
        ),
        # Named, because it would read a column of numerals such as a flight's as numbers.
        specific_transformers=[(many, list(table.columns.many))],
    )


def _as_scikit_learn(table: Rowset) -> Program:
    return Program(table.pipeline())


def _float32(table: Rowset) -> Program:
    return Program(table.pipeline(), "float32")


_INPUTS: dict[Callable[[Rowset], Rows], str] = {
    read_text: "pandas, `str` columns",
    read_coded: "pandas, category columns",
    read_object: "pandas, object columns",
    read_polars: "Polars, String columns",
}
_F32, _F64 = "float32 array", "float64 array"
_ROWS: list[tuple[str, str, Callable[[Rowset], Rows], Callable[[Rowset], Any], str, str]]
_ROWS = [
    (REFERENCE, "scikit-learn", read_text, Rowset.pipeline, _F64, ""),
    ("sklearn-object", "scikit-learn", read_object, Rowset.pipeline, _F64, ""),
    ("sklearn-category", "scikit-learn", read_coded, Rowset.pipeline, _F64, ""),
    ("sklearn-threads", "scikit-learn, n_jobs=-1", read_object, Threaded, _F64,
     "threads, not processes: the columns are not copied"),
    ("skrub", "skrub TableVectorizer", read_text, vectorizer, "float32/64 frame",
     "numbers are cast to float32 before they are scaled; cleaning of the columns is included"),
    ("polars", "Polars by hand", read_polars, _by_hand, _F32, ""),
    ("ours-str", "ours", read_text, _as_scikit_learn, _F64, ""),
    ("ours", "ours", read_coded, _as_scikit_learn, _F64,
     "codes of the categories come from the file, and are in the time of reading"),
    ("ours-float32", "ours", read_coded, _float32, _F32, ""),
]  # fmt: skip
WAYS = {TRUTH: Way(read_exact, Rowset.pipeline)}
WAYS |= {name: Way(read, make) for name, _, read, make, *_ in _ROWS}
VARIANTS = [
    Variant(name=name, title=title, input=_INPUTS[read], output=output, note=note)
    for name, title, read, _, output, note in _ROWS
]
