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

from pipeline.errors import Reason, Unsupported
from pipeline.typing import Estimator, Name, Names

Origins = list[frozenset[int]]
"""The positions of the columns of a table that feed each column of a matrix."""

ONE_TO_ONE = frozenset(
    f"sklearn.preprocessing.{name}"
    for name in (
        *("Binarizer", "MaxAbsScaler", "MinMaxScaler", "OrdinalEncoder", "PowerTransformer"),
        *("QuantileTransformer", "RobustScaler", "StandardScaler"),
    )
)
"""Every column they make is of the one in its place."""


@dataclass(frozen=True)
class Groups:
    """How the columns of a matrix are summed to those that the user knows.

    Parameters
    ----------
    columns : tuple
        The name of each group: that of a column, or those of several, joined by commas.
    members : tuple of tuple of int
        The positions of these columns in the table.
    sums : csr_matrix of shape (n_matrix_columns, n_groups)
        Ones where a column of the matrix belongs to a group. One that no column feeds, as the
        constant of `PolynomialFeatures`, belongs to none.
    """

    columns: tuple[Name, ...]
    members: tuple[tuple[int, ...], ...]
    sums: csr_matrix

    @property
    def of_matrix(self) -> list[np.ndarray]:
        """The columns of the matrix in each group."""
        columns = self.sums.tocsc()
        return np.split(columns.indices, columns.indptr[1:-1])


def group(origins: Origins, names: Names) -> Groups:
    """Return the groups of the columns of a matrix that the same columns of a table feed.

    Parameters
    ----------
    origins : list of frozenset of int
    names : sequence
        Of the columns of the table.

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

    Parameters
    ----------
    fitted : estimator, or "passthrough" or "drop"
        Of scikit-learn.
    origins : list of frozenset of int
        Of the columns that it is given.
    width : int, optional
        The number of columns that it makes, where that is known.

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
    kind = type(fitted)
    public = ".".join((*kind.__module__.split(".")[:2], kind.__name__))
    if public in ONE_TO_ONE:
        return origins
    if issubclass(kind, SelectorMixin):
        return [origins[at] for at in fitted.get_support(indices=True)]
    if public in _KNOWN:
        return _KNOWN[public](fitted, origins, width)
    mixed: frozenset[int] = frozenset().union(*origins)
    return [mixed] * (_width(fitted) if width is None else width)


def _width(fitted: Estimator) -> int:
    """Return how many columns a transformer makes."""
    try:
        known = getattr(fitted, "_n_features_out", None)
        return int(len(fitted.get_feature_names_out()) if known is None else known)
    except (AttributeError, ValueError) as error:
        step = type(fitted).__name__
        why = f"it does not say how many columns it makes: {error}"
        raise Unsupported(Reason(step, why, "give it get_feature_names_out")) from error


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


def _union(fitted: FeatureUnion, origins: Origins, width: int | None) -> Origins:
    return [each for _, step in fitted.transformer_list for each in trace_columns(step, origins)]


def _function(fitted: Estimator, origins: Origins, width: int | None) -> Origins:
    func = fitted.func
    elementwise = func is None or (isinstance(func, np.ufunc) and (func.nin, func.nout) == (1, 1))
    if elementwise or fitted.feature_names_out == "one-to-one":
        return origins
    return [frozenset().union(*origins)] * (_width(fitted) if width is None else width)


def _one_hot(fitted: Estimator, origins: Origins, width: int | None) -> Origins:
    return _repeat(origins, [len(fitted._compute_transformed_categories(i)) for i in _at(origins)])


def _imputer(fitted: Estimator, origins: Origins, width: int | None) -> Origins:
    known = [value == value for value in fitted.statistics_]  # NaN where a column is left out
    kept = fitted.keep_empty_features or fitted.strategy == "constant"
    made = [each for each, there in zip(origins, known, strict=True) if there or kept]
    return [*made, *trace_columns(fitted.indicator_, origins)] if fitted.add_indicator else made


def _indicator(fitted: Estimator, origins: Origins, width: int | None) -> Origins:
    return [origins[at] for at in fitted.features_]


def _polynomial(fitted: Estimator, origins: Origins, width: int | None) -> Origins:
    return [frozenset().union(*(origins[at] for at in row.nonzero()[0])) for row in fitted.powers_]


def _bins(fitted: Estimator, origins: Origins, width: int | None) -> Origins:
    return origins if fitted.encode == "ordinal" else _repeat(origins, fitted.n_bins_)


def _evenly(fitted: Estimator, origins: Origins, width: int | None) -> Origins:
    """Return the origins of as many columns for each one that is given."""
    each = (_width(fitted) if width is None else width) // len(origins)
    return _repeat(origins, [each] * len(origins))


def _at(origins: Origins) -> range:
    return range(len(origins))


def _repeat(origins: Origins, counts: Sequence[int]) -> Origins:
    return [each for each, n in zip(origins, counts, strict=True) for _ in range(int(n))]


_KNOWN: dict[str, Callable[[Any, Origins, int | None], Origins]] = {
    "sklearn.pipeline.Pipeline": _pipeline,
    "sklearn.compose.ColumnTransformer": _column_transformer,
    "sklearn.pipeline.FeatureUnion": _union,
    "sklearn.preprocessing.FunctionTransformer": _function,
    "sklearn.preprocessing.OneHotEncoder": _one_hot,
    "sklearn.impute.SimpleImputer": _imputer,
    "sklearn.impute.MissingIndicator": _indicator,
    "sklearn.preprocessing.PolynomialFeatures": _polynomial,
    "sklearn.preprocessing.KBinsDiscretizer": _bins,
    "sklearn.preprocessing.SplineTransformer": _evenly,
    "sklearn.preprocessing.TargetEncoder": _evenly,
    "pipeline.preprocessing.CalendarFeatures": _evenly,
}
"""Public name of a class -> which columns feed those that it makes."""
