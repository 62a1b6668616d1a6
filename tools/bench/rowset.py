"""A table to be preprocessed, and what is to be done with its columns."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder

from datasets import flights
from tasks.flights import folds, logistic
from tools.bench import mixed


class Columns(NamedTuple):
    """Columns to impute and scale, to one-hot encode and to target-encode, and the target."""

    numbers: list[str]
    few: list[str]
    many: list[str]
    target: str


COLUMNS = {
    "flights": Columns(
        flights.NUMERIC, flights.LOW_CARDINALITY, flights.HIGH_CARDINALITY, flights.TARGET
    ),
    "mixed": Columns(
        mixed.NUMBERS, list(mixed.FEW_LEVELS), list(mixed.MANY_LEVELS), mixed.TARGET
    ),
}  # fmt: skip


class Rowset(msgspec.Struct, frozen=True, kw_only=True):
    """A table and what is to be done with it.

    Parameters
    ----------
    kind : {"flights", "mixed"}
    text, coded : str
        The same rows as Parquet, categories declared as text and as dictionaries.
    seed : int
        Of the folds of the cross-fitting.
    """

    kind: Literal["flights", "mixed"]
    text: str
    coded: str
    seed: int

    @property
    def columns(self) -> Columns:
        """Return its columns by what is done with them."""
        return COLUMNS[self.kind]

    @property
    def features(self) -> list[str]:
        """Return the columns that are preprocessed, in the order of the output."""
        return [*self.columns.numbers, *self.columns.few, *self.columns.many]

    @property
    def scaled(self) -> bool:
        """Return whether the target-encoded columns are scaled too."""
        return self.kind == "flights"

    def pipeline(self) -> ColumnTransformer:
        """Return the unfitted scikit-learn program."""
        if self.kind == "flights":
            return logistic(self.seed)[0]
        return make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), self.columns.numbers),
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), self.columns.few),
            (TargetEncoder(cv=folds(self.seed)), self.columns.many),
        )
