"""Programs as people write them, and a table for them: the same rows come out everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import LinearSVC
from xgboost import XGBClassifier

GAPS = [f"gaps_{i}" for i in range(5)]
"""Numbers, of which some are missing."""
WHOLE = [f"whole_{i}" for i in range(5)]
NUMBERS = GAPS + WHOLE
FEW = [f"few_{i}" for i in range(3)]
SOME = ["some_0", "some_1"]
FLIGHTS = ["carrier", "origin", "dest", "tailnum"]
LEVELS = {
    **dict.fromkeys(FEW, 5), **dict.fromkeys(SOME, 50), "many": 5_000, "most": 50_000,
    "carrier": 16, "origin": 3, "dest": 105, "tailnum": 4_043,
}  # fmt: skip
"""Text columns with their values; those of flights are as many as New York's of 2013."""
LABEL, AMOUNT = "label", "amount"
WORDS, VOCABULARY = 8, 20_000
"""Words of a text, and those that there are."""
_MISSING, _FEW = 0.05, 50
_SKEW, _FLAT_SKEW = 1.0, 0.5
"""Of Zipf's law; columns of few values are flatter, so that a thousand rows have them all."""


class Everyday(NamedTuple):
    """A program.

    Parameters
    ----------
    estimator : estimator
        Not fitted.
    columns : list of str
        What it is given.
    target : str
        What it learns to predict; empty where it needs none.
    """

    estimator: BaseEstimator
    columns: list[str]
    target: str = LABEL


def write(path: Path, rows: int, seed: int) -> None:
    """Write a table of all columns as Parquet."""
    random = np.random.default_rng([seed, rows])
    signal, columns = random.normal(size=rows), {}
    for i, name in enumerate(NUMBERS):
        drawn = random.normal(size=rows)
        signal += drawn * (i % 3 == 0)
        absent = random.random(rows) < _MISSING if name in GAPS else None
        columns[name] = pa.array(10.0 * i + (1 + i) * drawn, mask=absent)
    for name, levels in LEVELS.items():
        codes, names = _codes(levels, rows, random), [f"{name}-{i:05d}" for i in range(levels)]
        signal += random.normal(0, 0.5, levels)[codes]
        columns[name] = pa.array(names).take(pa.array(codes))
    words = _codes(VOCABULARY, rows * WORDS, random)
    signal += random.normal(0, 0.5, VOCABULARY)[words].reshape(rows, WORDS).sum(axis=1)
    columns["text"] = _texts(words)
    columns |= {LABEL: pa.array((signal > signal.mean()).astype("int64")), AMOUNT: pa.array(signal)}
    pq.write_table(pa.table(columns), path)


def _codes(levels: int, rows: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
    share = np.cumsum(np.arange(1, levels + 1) ** -(_FLAT_SKEW if levels <= _FEW else _SKEW))
    drawn = np.searchsorted(share / share[-1], random.random(rows))
    # The common values are not the first in the alphabet.
    return np.asarray(random.permutation(levels)[np.minimum(drawn, levels - 1)])


def _texts(words: npt.NDArray[np.int64]) -> pa.Array:
    known = pa.array([f"word{i}" for i in range(VOCABULARY)])
    starts = pa.array(np.arange(0, len(words) + 1, WORDS, dtype="int32"))
    return pc.binary_join(pa.ListArray.from_arrays(starts, known.take(pa.array(words))), " ")


class Table(NamedTuple):
    """What a program is given: rows to learn from, and rows that it has not seen."""

    X: pd.DataFrame
    y: pd.Series | None
    X_new: pd.DataFrame
    y_new: pd.Series | None


def read(path: Path, program: Everyday, rows: int) -> Table:
    """Return the first `rows` of the columns of a program, and the others."""
    names = [*program.columns, *filter(None, [program.target])]
    frame = pd.read_parquet(path, columns=names)
    parts = [frame.iloc[:rows].reset_index(drop=True), frame.iloc[rows:].reset_index(drop=True)]
    (X, y), (X_new, y_new) = ((part[program.columns], part.get(program.target)) for part in parts)
    return Table(X, y, X_new, y_new)


ONE_HOT = OneHotEncoder(handle_unknown="ignore")
FILLED = make_pipeline(SimpleImputer(), StandardScaler())
ORDINAL = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
TARGET = TargetEncoder(cv=StratifiedKFold(shuffle=True, random_state=0))
FOREST = RandomForestClassifier(n_estimators=50, max_depth=10, n_jobs=-1, random_state=0)


def _beside(names: list[str], *after: BaseEstimator, target: str = LABEL) -> Everyday:
    """Return one-hot columns beside filled and scaled numbers, and what follows them."""
    columns = make_column_transformer((FILLED, NUMBERS), (ONE_HOT, names))
    return Everyday(make_pipeline(columns, *after), [*NUMBERS, *names], target)


def _flights(model: BaseEstimator) -> Everyday:
    return Everyday(make_pipeline(ONE_HOT, model), FLIGHTS)


def _text(vectorizer: BaseEstimator, names: list[str], model: BaseEstimator) -> Everyday:
    columns = make_column_transformer((vectorizer, "text"), (FILLED, NUMBERS), (ONE_HOT, names))
    return Everyday(make_pipeline(columns, model), ["text", *NUMBERS, *names])


def _numbers(*steps: BaseEstimator, target: str = LABEL) -> Everyday:
    return Everyday(make_pipeline(*steps), NUMBERS, target)


SVC = LinearSVC(random_state=0)
PROGRAMS: dict[str, Everyday] = {
    "scale": Everyday(StandardScaler(), WHOLE, ""),
    "minmax": Everyday(MinMaxScaler(), WHOLE, ""),
    "impute": Everyday(SimpleImputer(), GAPS, ""),
    "onehot": Everyday(OneHotEncoder(), [*FEW, *SOME], ""),
    "ordinal": Everyday(OrdinalEncoder(), [*FEW, *SOME], ""),
    "target": Everyday(TARGET, [*SOME, "many"]),
    "numbers-logistic": _numbers(FILLED, LogisticRegression()),
    "bins-logistic": _numbers(SimpleImputer(), KBinsDiscretizer(), LogisticRegression()),
    "polynomial-ridge": _numbers(FILLED, PolynomialFeatures(), Ridge(), target=AMOUNT),
    "pca": _numbers(FILLED, PCA(), target=""),
    "robust-knn": _numbers(SimpleImputer(), RobustScaler(), KNeighborsClassifier()),
    "onehot5-logistic": _beside(FEW, LogisticRegression()),
    "onehot5-forest": _beside(FEW, FOREST),
    "onehot5-kmeans": _beside(FEW, KMeans(random_state=0), target=""),
    "onehot50-svc": _beside(SOME, SVC),
    "onehot50-ridge": _beside(SOME, Ridge(), target=AMOUNT),
    "onehot50-maxabs-logistic": _beside(SOME, MaxAbsScaler(), LogisticRegression()),
    "onehot50-xgboost": _beside(SOME, XGBClassifier(random_state=0)),
    "onehot5000-logistic": _beside(["many"], LogisticRegression()),
    "onehot5000-svd": _beside(["many"], TruncatedSVD(20, random_state=0), target=""),
    "onehot5000-xgboost": _beside(["many"], XGBClassifier(random_state=0)),
    "onehot50000-svc": _beside(["most"], SVC),
    "onehot50000-ridge": _beside(["most"], Ridge(), target=AMOUNT),
    "ordinal-boosting": Everyday(
        make_pipeline(
            make_column_transformer(("passthrough", NUMBERS), (ORDINAL, [*FEW, *SOME])),
            HistGradientBoostingClassifier(random_state=0),
        ),
        [*NUMBERS, *FEW, *SOME],
    ),
    "target-xgboost": Everyday(
        make_pipeline(
            make_column_transformer(("passthrough", NUMBERS), (TARGET, [*SOME, "many"])),
            XGBClassifier(random_state=0),
        ),
        [*NUMBERS, *SOME, "many"],
    ),
    "tfidf-logistic": _text(TfidfVectorizer(), FEW, LogisticRegression()),
    "tfidf-svc": _text(TfidfVectorizer(), SOME, SVC),
    "hashing-logistic": _text(HashingVectorizer(), FEW, LogisticRegression()),
    "flights-logistic": _flights(LogisticRegression()),
    "flights-xgboost": _flights(XGBClassifier(random_state=0)),
}
"""Each has its parts' defaults, save what makes runs repeatable and lets unseen values pass."""
