"""Which columns of a matrix move with the cells of one column of the table, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from pipeline.errors import Unsupported
from pipeline.preprocessing.origins import Origins, trace_columns
from pipeline.preprocessing.transformers.calendar import CalendarFeatures
from pipeline.typing import Estimator

BY_ROW: frozenset[type] = frozenset(
    {Binarizer, KBinsDiscretizer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler}
    | {PolynomialFeatures, PowerTransformer, QuantileTransformer, SplineTransformer}
    | {CalendarFeatures, MissingIndicator, OneHotEncoder, OrdinalEncoder, SimpleImputer}
    | {CountVectorizer, HashingVectorizer, TargetEncoder, TfidfVectorizer}
)
"""Transformers that make a row of that row alone, to the last bit, whatever rows are beside it."""


@dataclass(frozen=True)
class Sources:
    """What the columns are made of that a fitted transformer makes.

    Parameters
    ----------
    origins : list of frozenset of int
        The columns that feed each of them.
    by_row : frozenset of int
        The columns that came in and that only transformers read which are `BY_ROW`.
    """

    origins: Origins
    by_row: frozenset[int]

    def fed_by(self, column: int) -> list[int]:
        """Return the columns that a column feeds."""
        return self._fed.get(column, [])

    def move_with(self, column: int) -> bool:
        """Return whether what a column feeds is made of it alone, row by row."""
        alone = all(len(self.origins[place]) == 1 for place in self.fed_by(column))
        return alone and column in self.by_row

    def matters(self, column: int) -> bool:
        """Return whether anything may depend on it: the word of your own functions is not taken."""
        return column not in self.by_row or bool(self.fed_by(column))

    @cached_property
    def _fed(self) -> dict[int, list[int]]:
        fed: dict[int, list[int]] = {}
        for place, origin in enumerate(self.origins):
            for column in origin:
                fed.setdefault(column, []).append(place)
        return fed


def find_sources(fitted: Estimator, n_columns: int) -> Sources | None:
    """Return what the columns are made of that a fitted transformer makes.

    Parameters
    ----------
    fitted : estimator, or "passthrough"
        Of scikit-learn.
    n_columns : int
        That come in.

    Returns
    -------
    Sources or None
        None where a transformer does not say how many columns it makes.

    Examples
    --------
    >>> sources = find_sources(OneHotEncoder().fit([["a", "x"], ["b", "x"]]), 2)
    >>> sources.fed_by(0), sources.move_with(0)
    ([0, 1], True)
    """
    try:
        origins = trace_columns(fitted, [frozenset([i]) for i in range(n_columns)])
    except Unsupported:
        return None
    return Sources(origins, frozenset(range(n_columns)) - _mixed(fitted, n_columns))


def _mixed(fitted: Estimator, n_columns: int) -> frozenset[int]:
    """Return the columns that go through a transformer which is not `BY_ROW`."""
    if type(fitted) is Pipeline and all(_is_by_row(step) for _, step in fitted.steps[1:]):
        return _mixed(fitted.steps[0][1], n_columns)
    if type(fitted) is ColumnTransformer:
        # scikit-learn says by no public attribute which positions a key stands for.
        read = fitted._transformer_to_input_indices
        branches = [read[name] for name, step, _ in fitted.transformers_ if not _is_by_row(step)]
        return frozenset().union(*branches)
    return frozenset() if _is_by_row(fitted) else frozenset(range(n_columns))


def _is_by_row(fitted: Any) -> bool:
    if fitted is None or isinstance(fitted, str):
        return True
    kind = type(fitted)
    if kind in (Pipeline, FeatureUnion):
        steps = fitted.steps if kind is Pipeline else fitted.transformer_list
        return all(_is_by_row(step) for _, step in steps)
    if kind is FunctionTransformer:
        return _is_elementwise(fitted)
    return kind in BY_ROW or isinstance(fitted, SelectorMixin)


def _is_elementwise(fitted: FunctionTransformer) -> bool:
    """Return whether the function is none, or one of NumPy's that look at one cell at a time."""
    func = fitted.func
    plain = func is None or (isinstance(func, np.ufunc) and (func.nin, func.nout) == (1, 1))
    return plain and not {*(fitted.kw_args or {})} - {"dtype"}
