"""Which columns of a table feed each column of the matrix that fitted transformers make of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    members: tuple[tuple[int, ...], ...]
    """The positions of these columns in the table."""
    sums: csr_matrix

    @property
    def of_matrix(self) -> list[np.ndarray]:
        """The columns of the matrix in each group."""
        columns = self.sums.tocsc()
        return np.split(columns.indices, columns.indptr[1:-1])


def group(origins: Origins, names: Names) -> Groups:
    """Return the groups of the columns of a matrix that the same columns of a table feed.

    Examples
    --------
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
    return Groups(tuple(_name(each, names) for each in members), members, sums)


def _name(member: tuple[int, ...], names: Names) -> Name:
    return names[member[0]] if len(member) == 1 else ", ".join(str(names[at]) for at in member)


def trace_columns(fitted: Estimator, origins: Origins, width: int | None = None) -> Origins:
    """Return which columns feed those that a fitted transformer makes.

    A transformer that is not known may make anything of all that it is given: all of it feeds
    each column.

    `width` is the number of columns that it makes, where that is known.

    Raises
    ------
    Unsupported
        It does not say how many columns it makes.

    Examples
    --------
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> encoder = OneHotEncoder().fit([["a", 0], ["b", 0]])
    >>> trace_columns(encoder, [frozenset({4}), frozenset({7})])
    [frozenset({4}), frozenset({4}), frozenset({7})]
    """
    if fitted is None or fitted == "passthrough":
        return origins
    if isinstance(fitted, str):  # "drop"
        return []
    if isinstance(fitted, SelectorMixin):
        return [origins[at] for at in fitted.get_support(indices=True)]
    if (public := _public(fitted)) in _KNOWN:
        return _KNOWN[public](fitted, origins, width)
    return _mixed(fitted, origins, width)


def _public(fitted: Estimator) -> str:
    kind = type(fitted)
    return ".".join((*kind.__module__.split(".")[:2], kind.__name__))


def _mixed(fitted: Estimator, origins: Origins, width: int | None) -> Origins:
    """Return the origins of columns each of which all that is given may feed."""
    if width is None:
        try:
            known = getattr(fitted, "_n_features_out", None)
            width = int(len(fitted.get_feature_names_out()) if known is None else known)
        except (AttributeError, ValueError) as error:
            step = type(fitted).__name__
            why = f"it does not say how many columns it makes: {error}"
            raise Unsupported(Reason(step, why, "give it get_feature_names_out")) from error
    return [frozenset().union(*origins)] * width


def _pipeline(fitted: Pipeline, origins: Origins, width: int | None) -> Origins:
    steps = [step for _, step in fitted.steps if step is not None and step != "passthrough"]
    for i, step in enumerate(steps):
        after = steps[i + 1] if i + 1 < len(steps) else None
        taken = width if after is None else getattr(after, "n_features_in_", None)
        origins = trace_columns(step, origins, taken)
    return origins


def _column_transformer(fitted: ColumnTransformer, origins: Origins, width: int | None) -> Origins:
    found: Origins = []
    read = fitted._transformer_to_input_indices
    for name, step, _ in fitted.transformers_:
        made = fitted.output_indices_[name]
        given = [origins[at] for at in read[name]]
        found += trace_columns(step, given, made.stop - made.start) if given else []
    return found


def _function(fitted: FunctionTransformer, origins: Origins, width: int | None) -> Origins:
    alike = _is_elementwise(fitted) or fitted.feature_names_out == "one-to-one"
    return origins if alike else _mixed(fitted, origins, width)


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
"""Transformers that make a row of that row alone, to the last bit, whatever rows are beside it."""
_KNOWN: dict[str, Rule] = _BY_ROW | {
    "sklearn.pipeline.Pipeline": _pipeline,
    "sklearn.compose.ColumnTransformer": _column_transformer,
    "sklearn.pipeline.FeatureUnion": lambda of, at, width: [
        each for _, step in of.transformer_list for each in trace_columns(step, at)
    ],
    "sklearn.preprocessing.FunctionTransformer": _function,
}
"""Public name of a class -> which columns feed those that it makes."""


@dataclass(frozen=True)
class Sources:
    """What the columns are made of that a fitted transformer makes."""

    origins: Origins
    """The columns that feed each of them."""
    by_row: frozenset[int]
    """The columns that came in and that no other transformers read than those of `_BY_ROW`."""

    def fed_by(self, column: int) -> list[int]:
        """Return the columns that a column feeds."""
        return [place for place, origin in enumerate(self.origins) if column in origin]

    def move_with(self, column: int) -> bool:
        """Return whether what a column feeds is made of it alone, row by row."""
        alone = all(len(self.origins[place]) == 1 for place in self.fed_by(column))
        return alone and column in self.by_row

    def matters(self, column: int) -> bool:
        """Return whether anything may depend on it: the word of your own functions is not taken."""
        return column not in self.by_row or bool(self.fed_by(column))


def find_sources(fitted: Estimator, n_columns: int) -> Sources | None:
    """Return what the columns are made of that a fitted transformer makes.

    None where a transformer does not say how many columns it makes.

    Examples
    --------
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> sources = find_sources(OneHotEncoder().fit([["a", "x"], ["b", "x"]]), 2)
    >>> sources.fed_by(0), sources.move_with(0)
    ([0, 1], True)
    """
    try:
        origins = trace_columns(fitted, [frozenset([i]) for i in range(n_columns)])
    except Unsupported:
        return None
    return Sources(origins, frozenset(range(n_columns)) - _not_by_row(fitted, n_columns))


def _not_by_row(fitted: Estimator, n_columns: int) -> frozenset[int]:
    """Return the columns that go through a transformer which is not `_BY_ROW`."""
    if type(fitted) is Pipeline and all(_is_by_row(step) for _, step in fitted.steps[1:]):
        return _not_by_row(fitted.steps[0][1], n_columns)
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
    return _public(fitted) in _BY_ROW or isinstance(fitted, SelectorMixin)


def _is_elementwise(fitted: FunctionTransformer) -> bool:
    """Return whether the function is none, or one of NumPy's that look at one cell at a time."""
    func = fitted.func
    plain = func is None or (isinstance(func, np.ufunc) and (func.nin, func.nout) == (1, 1))
    return plain and not {*(fitted.kw_args or {})} - {"dtype"}
