"""Programs and tables that the GPU path is tried on; nothing here needs a GPU."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest, SelectPercentile, chi2, f_classif
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)

from pipeline.optional import load
from pipeline.system.devices import obstacle
from pipeline.twins.calendar import FEATURES, CalendarFeatures

NO_GPU = obstacle()
ON_A_GPU = [pytest.mark.gpu, pytest.mark.skipif(bool(NO_GPU), reason=NO_GPU)]
EVERYWHERE = pytest.mark.parametrize(
    "device", ["stand-in", pytest.param("gpu", marks=ON_A_GPU)], indirect=True
)
"""Marks a test of the fixture `device` that holds on the stand-ins, and on a GPU alike."""
ROWS = 240
NUMBERS = ["amount", "count", "visits"]
DATES = ["joined", "seen"]


def table(n_rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """Return a table of every kind of column; all categories occur in the first 240 rows."""
    rng = np.random.default_rng(seed)
    row = np.arange(n_rows)
    made = pd.DataFrame(
        {
            "amount": rng.normal(100, 20, n_rows),
            "count": rng.integers(0, 9, n_rows),
            "visits": pd.array(rng.integers(0, 5, n_rows), dtype="Int64"),
            "member": rng.random(n_rows) < 0.3,
            "colour": np.array(["red", "green", "blue"], dtype=object)[row % 3],
            "town": [f"town {number:02}" for number in row % 40],
            "size": pd.Categorical(np.array(["M", "S", "L"])[row % 3 - 1], ["S", "M", "L", "XL"]),
            "joined": np.datetime64("1969-11-30T23:59:59", "us") + row * np.timedelta64(7919, "m"),
        }
    )
    made.loc[row % 7 == 1, ["amount", "visits"]] = pd.NA
    made.loc[row % 11 == 1, ["colour", "size"]] = None
    made["seen"] = made["joined"].dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")
    made.loc[row % 5 == 1, ["joined", "seen"]] = None
    return made


def to_cudf(host: Any) -> Any:
    """Upload a table, a column or an index of pandas."""
    return load("cudf").from_pandas(host)


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def target(X: pd.DataFrame, n_classes: int = 2) -> np.ndarray:
    """Return labels that depend on the table."""
    rng = np.random.default_rng(1)
    score = X["count"] + X["town"].str[-2:].astype(int) / 4 + rng.normal(0, 2, len(X))
    return (score > 9).to_numpy().astype("int64") + (n_classes > 2) * (score > 12).to_numpy()


def folds() -> StratifiedKFold:
    """Return splits that do not depend on the run."""
    return StratifiedKFold(5, shuffle=True, random_state=0)


def preprocessing() -> Any:
    """Return what a usual program does before its estimator."""
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
        (OneHotEncoder(handle_unknown="ignore"), ["colour", "size"]),
        (TargetEncoder(cv=folds()), ["town"]),
    )


def imputed(columns: list[str], **params: Any) -> Any:
    return make_column_transformer((SimpleImputer(**params), columns))


def imputed_text(**params: Any) -> Any:
    how = make_pipeline(SimpleImputer(**params), OneHotEncoder())
    return make_column_transformer((how, ["colour"]))


def after_imputing(*steps: Any) -> Any:
    return make_column_transformer((make_pipeline(SimpleImputer(), *steps), NUMBERS))


class Case(NamedTuple):
    """An estimator, the number of classes of its target, and how near scikit-learn it comes."""

    estimator: Any
    n_classes: int = 2
    atol: float = 1e-9


ORDINAL = OrdinalEncoder(
    handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
)
TRANSFORMERS = {
    "usual": Case(preprocessing()),
    "one-hot of text, categories, bools": Case(
        make_column_transformer((OneHotEncoder(), ["colour", "size", "member", "count", "visits"]))
    ),
    "one-hot, infrequent together": Case(
        make_column_transformer(
            (
                OneHotEncoder(max_categories=3, handle_unknown="warn"),
                ["colour", "town", "visits"],
            )
        )
    ),
    "ordinal": Case(make_column_transformer((ORDINAL, ["colour", "size", "town", "visits"]))),
    "target, three classes": Case(
        make_column_transformer((TargetEncoder(cv=folds()), ["town", "colour"])), 3
    ),
    "median": Case(imputed(NUMBERS, strategy="median")),
    "imputed with indicators": Case(imputed(NUMBERS, add_indicator=True)),
    "imputed text with indicators": Case(
        imputed_text(strategy="most_frequent", add_indicator=True, keep_empty_features=True)
    ),
    "scaled": Case(make_column_transformer((StandardScaler(), [*NUMBERS, "member"]))),
    "rows": Case(after_imputing(Normalizer("l1"))),
    "products": Case(after_imputing(StandardScaler(), PolynomialFeatures(3))),
    "best of few classes": Case(after_imputing(SelectKBest(f_classif, k=2)), 3),
    "best by sums": Case(after_imputing(MinMaxScaler(), SelectPercentile(chi2, percentile=50)), 3),
    "bins": Case(after_imputing(KBinsDiscretizer(4, encode="onehot-dense", subsample=None))),
    "quantiles": Case(after_imputing(QuantileTransformer(n_quantiles=50))),
    "power": Case(after_imputing(PowerTransformer())),
    "union": Case(
        after_imputing(
            FeatureUnion(
                [("s", StandardScaler()), ("p", "passthrough"), ("b", KBinsDiscretizer(3))],
            )
        )
    ),
    "function of a table": Case(
        make_column_transformer(
            (make_pipeline(FunctionTransformer(np.sqrt), StandardScaler()), ["count", "visits"]),
            (make_pipeline(FunctionTransformer(), OneHotEncoder()), ["colour"]),
        )
    ),
    "calendar": Case(
        make_column_transformer((CalendarFeatures(FEATURES, epoch="2000-02-29"), DATES))
    ),
}
"""Programs that end in a matrix."""

CLASSIFIERS = {
    "logistic": Case(make_pipeline(preprocessing(), LogisticRegression(C=0.5))),
    "forest": Case(
        make_pipeline(
            preprocessing(), RandomForestClassifier(20, max_leaf_nodes=15, random_state=0)
        )
    ),
    "logistic, three classes": Case(make_pipeline(preprocessing(), LogisticRegression()), 3),
}
"""Programs that end in an estimator with a cuML twin."""
