"""Which columns of a table feed each column of the transformed matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer

from pipeline.errors import Reason, Unsupported
from pipeline.typing import Estimator, Name, Names

Origins = list[frozenset[int]]
"""The positions of the columns of a table that feed each column of a matrix."""


@dataclass(frozen=True)
class Groups:
    """How the columns of a matrix are summed to those that the user knows.

    Ones of `sums` are where a column of the matrix belongs to a group. One that no column feeds, as
    the constant of `PolynomialFeatures`, belongs to none.
    """

    columns: tuple[Name, ...]
    """The name of each group: that of a column, or those of several, joined by commas."""
    sums: csr_matrix

    @property
    def of_matrix(self) -> list[np.ndarray]:
        """The columns of the matrix in each group."""
        columns = self.sums.tocsc()
        return np.split(columns.indices, columns.indptr[1:-1])


def group(origins: Origins, names: Names) -> Groups:
    """Return the groups of the columns of a matrix that the same columns of a table feed.

    >>> groups = group([frozenset({0}), frozenset({0, 1}), frozenset({0})], ["a", "b", "c"])
    >>> groups.columns
    ('a', 'c', 'a, b')
    >>> groups.sums.toarray().tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    fed: set[int] = set().union(*origins)
    alone = {min(each) for each in origins if len(each) == 1}
    # A column that no step reads has a part as well: none.
    single = [(at,) for at in range(len(names)) if at in alone or at not in fed]
    mixed = sorted({tuple(sorted(each)) for each in origins if len(each) > 1})
    members = (*single, *mixed)
    places = {each: place for place, each in enumerate(members)}
    found = [(row, places[tuple(sorted(each))]) for row, each in enumerate(origins) if each]
    rows, columns = np.array(found, dtype=int).reshape(-1, 2).T
    sums = csr_matrix((np.ones(len(found)), (rows, columns)), (len(origins), len(members)))
    return Groups(tuple(_name(each, names) for each in members), sums)


def _name(member: tuple[int, ...], names: Names) -> Name:
    return names[member[0]] if len(member) == 1 else ", ".join(str(names[at]) for at in member)


def trace_columns(
    fitted: Estimator,
    origins: Origins,
    width: int | None = None,
    not_by_row: set[int] | None = None,
) -> Origins:
    """Return which columns feed the output columns of a fitted transformer.

    An unknown transformer may combine all its columns: all of them feed each output column.

    `width` is the number of output columns, if known. `not_by_row` collects the columns that are
    read by other transformers than those of `_BY_ROW`. `Unsupported` says that a transformer does
    not say how many columns it returns.

    >>> from sklearn.preprocessing import OneHotEncoder
    >>> encoder = OneHotEncoder().fit([["a", 0], ["b", 0]])
    >>> trace_columns(encoder, [frozenset({4}), frozenset({7})])
    [frozenset({4}), frozenset({4}), frozenset({7})]
    """
    if fitted is None or fitted == "passthrough":
        return origins
    if isinstance(fitted, str):  # "drop"
        return []
    kind, found, read = type(fitted), Origins(), set() if not_by_row is None else not_by_row
    if kind is Pipeline:
        steps = [step for _, step in fitted.steps if step is not None and step != "passthrough"]
        for step, after in zip_longest(steps, steps[1:]):
            taken = width if after is None else getattr(after, "n_features_in_", None)
            origins = trace_columns(step, origins, taken, read)
        return origins
    if kind is FeatureUnion:
        for _, step in fitted.transformer_list:
            found += trace_columns(step, origins, None, read)
        return found
    if kind is ColumnTransformer:
        # scikit-learn says by no public attribute which positions a key stands for.
        places = fitted._transformer_to_input_indices
        for name, step, _ in fitted.transformers_:
            made = fitted.output_indices_[name]
            if given := [origins[at] for at in places[name]]:
                found += trace_columns(step, given, made.stop - made.start, read)
        return found
    if isinstance(fitted, SelectorMixin):
        return [origins[at] for at in fitted.get_support(indices=True)]
    if kind is FunctionTransformer and _is_elementwise(fitted):
        return origins
    if rule := _BY_ROW.get(".".join((*kind.__module__.split(".")[:2], kind.__name__))):
        return rule(fitted, origins, width)
    read.update(*origins)
    told = kind is FunctionTransformer and fitted.feature_names_out == "one-to-one"
    return origins if told else _mixed(fitted, origins, width)


def _mixed(fitted: Estimator, origins: Origins, width: int | None) -> Origins:
    """Return the origins of columns each of which all that is given may feed."""
    if width is None:
        try:
            known = getattr(fitted, "_n_features_out", None)
            width = int(len(fitted.get_feature_names_out()) if known is None else known)
        except (AttributeError, ValueError) as error:
            step = type(fitted).__name__
            why = f"it does not say how many columns it returns: {error}"
            raise Unsupported(Reason(step, why, "implement get_feature_names_out")) from error
    return [frozenset().union(*origins)] * width


def _imputer(fitted: Estimator, origins: Origins, width: int | None) -> Origins:
    known = [value == value for value in fitted.statistics_]  # NaN where a column is left out
    kept = fitted.keep_empty_features or fitted.strategy == "constant"
    made = [each for each, there in zip(origins, known, strict=True) if there or kept]
    return [*made, *trace_columns(fitted.indicator_, origins)] if fitted.add_indicator else made


def _evenly(fitted: Estimator, origins: Origins, width: int | None) -> Origins:
    """Return the origins of as many columns for each one that is given."""
    each = len(_mixed(fitted, origins, width)) // len(origins)
    return _repeat(origins, [each] * len(origins))


def _repeat(origins: Origins, counts: Sequence[int]) -> Origins:
    return [each for each, n in zip(origins, counts, strict=True) for _ in range(int(n))]


_ONE_TO_ONE = (
    *("Binarizer", "MaxAbsScaler", "MinMaxScaler", "OrdinalEncoder", "PowerTransformer"),
    *("QuantileTransformer", "RobustScaler", "StandardScaler"),
)
Rule = Callable[[Any, Origins, int | None], Origins]
_BY_ROW: dict[str, Rule] = {
    **{f"sklearn.preprocessing.{name}": lambda of, at, width: at for name in _ONE_TO_ONE},
    "sklearn.preprocessing.OneHotEncoder": lambda of, at, width: _repeat(
        at, [len(of._compute_transformed_categories(i)) for i in range(len(at))]
    ),
    "sklearn.impute.SimpleImputer": _imputer,
    "sklearn.impute.MissingIndicator": lambda of, at, width: [at[i] for i in of.features_],
    "sklearn.preprocessing.PolynomialFeatures": lambda of, at, width: [
        frozenset().union(*(at[i] for i in row.nonzero()[0])) for row in of.powers_
    ],
    "sklearn.preprocessing.KBinsDiscretizer": lambda of, at, width: (
        at if of.encode == "ordinal" else _repeat(at, of.n_bins_)
    ),
    "sklearn.preprocessing.SplineTransformer": _evenly,
    "sklearn.preprocessing.TargetEncoder": _evenly,
    "sklearn.feature_extraction.CountVectorizer": _mixed,
    "sklearn.feature_extraction.HashingVectorizer": _mixed,
    "sklearn.feature_extraction.TfidfVectorizer": _mixed,
    "pipeline.twins.CalendarFeatures": _evenly,
}
"""Public name of a class -> which columns feed those that it makes.

They make a row of that row alone, to the last bit, whatever rows are beside it.
"""


def find_made_alone(fitted: Estimator, n_columns: int, width: int) -> list[list[int] | None]:
    """Return, for each column of a table, the columns computed from it alone, row by row.

    They move as it does. None if a fitted transformer, which returns `width` columns, computes
    some from several columns or several rows, or if that is not known.

    >>> from sklearn.preprocessing import OneHotEncoder
    >>> find_made_alone(OneHotEncoder().fit([["a", "x"], ["b", "x"]]), 2, 3)
    [[0, 1], [2]]
    """
    columns, mixed = range(n_columns), set[int]()
    try:
        origins = trace_columns(fitted, [frozenset([i]) for i in columns], None, mixed)
    except Unsupported:
        return [None] * n_columns
    if len(origins) != width:
        return [None] * n_columns
    made: list[list[int]] = [[] for _ in columns]
    for place, origin in enumerate(origins):
        mixed.update(origin if len(origin) > 1 else ())
        for column in origin:
            made[column].append(place)
    return [None if column in mixed else made[column] for column in columns]


def _is_elementwise(fitted: FunctionTransformer) -> bool:
    """Return whether the function is none, or one of NumPy's that look at one cell at a time."""
    func = fitted.func
    plain = func is None or (isinstance(func, np.ufunc) and (func.nin, func.nout) == (1, 1))
    return plain and not {*(fitted.kw_args or {})} - {"dtype"}
