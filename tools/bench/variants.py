"""The ways to do the same preprocessing; each reads the table as its users would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import parallel_config
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder

from pipeline.preprocessing.engine.program import Program
from tasks.flights import folds
from tools.bench.cases import Case
from tools.bench.schema import REFERENCE

TRUTH = "truth"
"""Not measured: scikit-learn on float64 numbers, to which all numbers are compared."""
Table = tuple[Any, np.ndarray]


@dataclass(frozen=True)
class Variant:
    """One way to preprocess.

    Parameters
    ----------
    title : str
    input : str
        What it gets, in words.
    output : str
        What it returns, in words.
    note : str
        Where it is not quite the same; may be empty.
    read : callable
        ``read(case)`` returns the features and the target.
    make : callable
        ``make(case)`` returns an object with `fit_transform(X, y)` and `transform(X)`.
    """

    title: str
    input: str
    output: str
    read: Callable[[Case], Table]
    make: Callable[[Case], Any]
    note: str = ""


def read_text(case: Case) -> Table:
    """Read text columns as what pandas makes of them: `str`."""
    return _split(case, pd.read_parquet(case.text, columns=[*case.features, case.target]))


def read_object(case: Case) -> Table:
    """Read text columns and turn them into Python objects."""
    X, y = read_text(case)
    return X.astype(dict.fromkeys([*case.few, *case.many], object)), y


def read_coded(case: Case) -> Table:
    """Read dictionary columns as what pandas makes of them: categories."""
    return _split(case, pd.read_parquet(case.coded, columns=[*case.features, case.target]))


def read_exact(case: Case) -> Table:
    """Read text columns, and numbers as float64."""
    X, y = read_text(case)
    return X.astype(dict.fromkeys(case.numbers, "float64")), y


def read_polars(case: Case) -> Table:
    """Read text columns with Polars."""
    import polars as pl

    X = pl.read_parquet(case.text, columns=[*case.features, case.target])
    return X.select(case.features), X[case.target].to_numpy()


def _split(case: Case, table: pd.DataFrame) -> Table:
    y = table.pop(case.target).to_numpy()
    return table, y


class Threaded:
    """A scikit-learn program whose columns are worked on by threads.

    Parameters
    ----------
    case : Case
    """

    def __init__(self, case: Case) -> None:
        self._pipeline = case.pipeline().set_params(n_jobs=-1)

    def fit_transform(self, X: Any, y: Any) -> Any:
        """Fit and transform."""
        with parallel_config("threading"):
            return self._pipeline.fit_transform(X, y)

    def transform(self, X: Any) -> Any:
        """Transform."""
        with parallel_config("threading"):
            return self._pipeline.transform(X)


def by_hand(case: Case) -> Any:
    """Return the version in Polars."""
    from tools.bench.by_hand import ByHand

    return ByHand(case)


def vectorizer(case: Case) -> Any:
    """Return skrub's TableVectorizer, told to do what the pipeline does."""
    from skrub import TableVectorizer

    target = TargetEncoder(cv=folds(case.seed))
    many = make_pipeline(target, StandardScaler()) if case.scaled else target
    return TableVectorizer(
        numeric=make_pipeline(SimpleImputer(), StandardScaler()),
        low_cardinality=OneHotEncoder(
            handle_unknown="ignore", sparse_output=False, dtype="float32"
        ),
        # Named, because it would read a column of numerals such as a flight's as numbers.
        specific_transformers=[(many, list(case.many))],
    )


def _sklearn(case: Case) -> Any:
    return case.pipeline()


def _float32(case: Case) -> Any:
    return Program(case.pipeline(), "float32")


def _float64(case: Case) -> Any:
    return Program(case.pipeline(), "float64")


_TEXT, _CODES = "pandas, `str` columns", "pandas, category columns"
_F32, _F64 = "float32 array", "float64 array"
VARIANTS = {
    REFERENCE: Variant("scikit-learn", _TEXT, _F64, read_text, _sklearn),
    "sklearn-object": Variant(
        "scikit-learn", "pandas, object columns", _F64, read_object, _sklearn
    ),
    "sklearn-category": Variant("scikit-learn", _CODES, _F64, read_coded, _sklearn),
    "sklearn-threads": Variant(
        "scikit-learn, n_jobs=-1", "pandas, object columns", _F64, read_object, Threaded,
        "threads, not processes: the columns are not copied",
    ),
    "skrub": Variant(
        "skrub TableVectorizer", _TEXT, "float32/64 frame", read_text, vectorizer,
        "numbers are cast to float32 before they are scaled; cleaning of the columns is included",
    ),
    "polars": Variant("Polars by hand", "Polars, String columns", _F32, read_polars, by_hand),
    "ours-str": Variant("ours", _TEXT, _F32, read_text, _float32),
    "ours": Variant(
        "ours", _CODES, _F32, read_coded, _float32,
        "codes of the categories come from the file, and are in the time of reading",
    ),
    "ours-float64": Variant("ours", _CODES, _F64, read_coded, _float64),
}  # fmt: skip
HIDDEN = {TRUTH: Variant("scikit-learn", _TEXT, _F64, read_exact, _sklearn)}


def path(name: str, case: Case) -> Path:
    """Return the file that a variant reads."""
    coded = (VARIANTS | HIDDEN)[name].read is read_coded
    return case.coded if coded else case.text
