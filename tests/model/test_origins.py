"""Which columns feed which: a column of the matrix changes where those that feed it do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_classif
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from pipeline import CalendarFeatures
from pipeline.model.origins import find_made_alone, trace_columns

pytestmark = pytest.mark.filterwarnings("ignore:Skipping features without any observed values")

ROWS = 60
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "a": RNG.normal(2, 1, ROWS),
        "b": RNG.normal(-1, 2, ROWS),
        "c": np.where(RNG.random(ROWS) < 0.2, np.nan, RNG.normal(size=ROWS)),
        "empty": np.nan,
        "town": RNG.choice(["x", "y", "z"], ROWS),
        "kind": RNG.choice(["p", "q"], ROWS),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 900, ROWS), "D"),
        "words": RNG.choice(["one two", "two", "three one"], ROWS),
    }
)
CLASSES = RNG.integers(0, 3, ROWS)
NUMBERS, HOLES, TEXT = ["a", "b"], ["a", "c", "empty"], ["town", "kind"]

EXACT: dict[str, Any] = {
    "scaled": (StandardScaler(), NUMBERS),
    "quantiles": (QuantileTransformer(n_quantiles=10), NUMBERS),
    "ordinal": (OrdinalEncoder(), TEXT),
    "one hot": (OneHotEncoder(), TEXT),
    "one hot without the first": (OneHotEncoder(drop="first"), TEXT),
    "imputed": (SimpleImputer(), HOLES),
    "imputed, marked": (SimpleImputer(add_indicator=True), ["a", "c"]),
    "imputed with words": (SimpleImputer(strategy="most_frequent"), TEXT),
    "marked": (MissingIndicator(), ["a", "c"]),
    "products": (PolynomialFeatures(3), ["a", "b"]),
    "splines": (SplineTransformer(), NUMBERS),
    "bins": (KBinsDiscretizer(quantile_method="averaged_inverted_cdf"), NUMBERS),
    "targets": (TargetEncoder(), TEXT),
    "logarithms": (FunctionTransformer(np.square), NUMBERS),
    "declared": (FunctionTransformer(lambda X: X * 2, feature_names_out="one-to-one"), NUMBERS),
    "selected": (SelectKBest(f_classif, k=1), NUMBERS),
    "varied": (VarianceThreshold(1.5), NUMBERS),
    "calendar": (CalendarFeatures(["year", "month"]), ["day"]),
    "words": (CountVectorizer(), "words"),
    "passed on": ("passthrough", NUMBERS),
    "rotated": (PCA(2), NUMBERS),
    "normed": (Normalizer(), NUMBERS),
    "in turn": (make_pipeline(SimpleImputer(), MinMaxScaler(), PolynomialFeatures(2)), ["a", "c"]),
    "beside each other": (make_union(StandardScaler(), PCA(1)), NUMBERS),
}


def changed_by(fitted: Any, table: pd.DataFrame, at: int) -> set[int]:
    """Return which columns of the matrix are others where a column of the table is reversed."""
    other = table.copy()
    other[table.columns[at]] = table[table.columns[at]].to_numpy()[::-1]
    made, remade = (dense(fitted.transform(X)) for X in (table, other))
    same = (made == remade) | (pd.isna(made) & pd.isna(remade))
    return {*np.flatnonzero(~same.all(axis=0)).tolist()}


def dense(made: Any) -> np.ndarray:
    return np.asarray(made.toarray() if hasattr(made, "toarray") else made)


MIXED = ("declared", "products", "rotated", "normed", "in turn", "beside each other")
"""What makes a column of several, or of rows that it does not tell."""


@pytest.mark.quick(7)
@pytest.mark.parametrize("name", EXACT)
def test_a_column_changes_where_one_that_feeds_it_does_and_nowhere_else(name: str) -> None:
    beside = (StandardScaler(), ["b", "a"])
    columns = make_column_transformer(EXACT[name], beside, (OneHotEncoder(), ["kind"]))
    fitted = columns.fit(TABLE, CLASSES)
    width = dense(fitted.transform(TABLE)).shape[1]
    origins = trace_columns(fitted, [frozenset({at}) for at in range(TABLE.shape[1])], width)
    assert len(origins) == width
    for at in range(TABLE.shape[1]):
        fed = {place for place, each in enumerate(origins) if at in each}
        assert changed_by(fitted, TABLE, at) == fed, TABLE.columns[at]


@pytest.mark.quick(9)
@pytest.mark.parametrize("name", EXACT)
def test_what_is_said_to_come_from_a_column_alone_moves_with_its_rows(name: str) -> None:
    fitted = make_column_transformer(EXACT[name]).fit(TABLE, CLASSES)
    before, order = dense(fitted.transform(TABLE)), RNG.permutation(ROWS)
    made_alone = find_made_alone(fitted, TABLE.shape[1], before.shape[1])
    for at, label in enumerate(TABLE):
        made = dense(fitted.transform(TABLE.assign(**{label: TABLE[label].to_numpy()[order]})))
        if (outputs := made_alone[at]) is not None:
            np.testing.assert_array_equal(made[:, outputs], before[order][:, outputs])
        else:
            assert name in MIXED


def test_of_what_does_not_say_how_much_it_makes_nothing_is_known() -> None:
    assert find_made_alone(FunctionTransformer(lambda X: X), 3, 3) == [None] * 3
    assert find_made_alone(StandardScaler(), 3, 4) == [None] * 3


def test_a_step_behind_that_mixes_mixes_what_it_reads() -> None:
    columns = make_column_transformer((StandardScaler(), ["a"]), (KNNImputer(), ["b"]))
    assert find_made_alone(columns.fit(TABLE), TABLE.shape[1], 2)[:3] == [[0], None, []]
    behind = make_pipeline(columns, PCA(2)).fit(TABLE)
    assert find_made_alone(behind, TABLE.shape[1], 2)[:3] == [None, None, []]
    beside = make_column_transformer((PCA(1), [1]), (StandardScaler(), [0]))
    behind = make_pipeline(columns, beside).fit(TABLE)
    assert find_made_alone(behind, TABLE.shape[1], 2)[:3] == [[1], None, []]
