"""The columns that a model was fitted on, and the one policy for tables that differ.

It is applied before a table is copied to a device. It looks at types only; values are read only for
the text of an error.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from operator import is_
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype
from sklearn.utils.validation import _check_feature_names

from pipeline.errors import DataError
from pipeline.table import frames, output
from pipeline.table.convert import Origin, convert, origins
from pipeline.table.datetimes import zone
from pipeline.typing import Array, DType, Name, Table
from pipeline.typing import Column as Series

Read: TypeAlias = Callable[[pd.DataFrame], Collection[Name] | None]
NUMERIC = {"number", "boolean"}
_BY_LETTER = dict.fromkeys("iuf", "number") | {"b": "boolean", "M": "date", "m": "duration"}
_BY_OBJECTS = {
    **dict.fromkeys(("integer", "floating", "mixed-integer-float"), "number"),
    **dict.fromkeys(("date", "datetime", "datetime64"), "date"),
    "string": "text",
    "boolean": "boolean",
}
"""What `infer_dtype` says of objects -> what they are."""
_EMPTY = {"text": "str", "date": "datetime64[ns]", "duration": "timedelta64[ns]"}
_SUGGESTIONS = {
    "number": "convert it (pandas.to_numeric)",
    "boolean": "convert it (map words to True and False)",
    "text": "convert it (astype('str'))",
    "date": "convert it (pandas.to_datetime)",
    "duration": "convert it (pandas.to_timedelta)",
}


def kind_of(column: Series) -> str:
    """Return what a series or an index holds; categories are what they stand for.

    It is "number", "boolean", "text", "date", "duration" or, where no step takes it, "other".

    >>> kind_of(pd.Series(["a"], dtype="category")), kind_of(pd.Series([1, None], dtype="Int64"))
    ('text', 'number')
    """
    dtype = column.dtype
    if str(dtype) == "category":
        return kind_of(dtype.categories)
    if _is_text(column):
        return "text"
    return _BY_LETTER.get(dtype.kind, "other")


def _is_text(column: Series) -> bool:
    dtype = column.dtype
    if str(dtype) != "object":
        return dtype.kind == "U" or isinstance(dtype, pd.StringDtype)
    if frames.library(column) == "cudf":
        return True
    # An index of categories, short; `convert` has given the objects of columns their type.
    return isinstance(column, pd.Index) and column.inferred_type in ("string", "empty")


@dataclass(frozen=True)
class Column:
    """What is remembered of a column: its kind, and the time zone of dates."""

    kind: str
    zone: str | None = None
    categorical: bool = False


_PLAIN = {letter: Column(kind) for letter, kind in _BY_LETTER.items()}
_TEXT = Column("text")


class Schema:
    """The names and kinds of the columns of a table, with which others are compared.

    A matrix has no columns with names. The `used` ones are those that some step reads, by default
    all.

    >>> schema, X = Schema.fit(pd.DataFrame({"n": [1.0], "t": ["a"]}))
    >>> list(schema.take(pd.DataFrame({"t": ["b"], "n": [2]})))
    ['n', 't']
    >>> schema.take(pd.DataFrame({"n": ["?"], "t": ["b"]}))
    Traceback (most recent call last):
    pipeline.errors.DataError: column 'n' holds text, such as '?' in row 0, but the model was \
fitted on numbers; convert it (pandas.to_numeric)
    """

    def __init__(
        self,
        columns: dict[Name, Column] | None,
        n_features: int,
        used: Collection[Name] | None = None,
    ) -> None:
        self.columns, self.n_features, self.used = columns, n_features, used
        self.objects = False
        """Whether Python's objects stay what they are, for steps on the host read them."""
        self.sparse = False
        """Whether its table, or some column of it, is sparse."""
        self.in_order = False
        """Whether the columns must come in the order of the fit, and no others."""
        self.origins: Mapping[Name, Origin] = {}
        """Of columns whose cells have another type in the converted table."""
        self._taken: tuple[list[Any], list[Any]] | None = None
        """Types of columns that were taken as they are, and of which others need no look; and, once
        needed, what decides how columns of these are taken."""
        self.names: list[Name] | None = None if columns is None else list(columns)
        """The names of the columns, in the order of the fit; None for a matrix."""

    @classmethod
    def fit(
        cls, X: Table, read: Read = lambda _: None, *, objects: bool = False
    ) -> tuple[Schema, Table]:
        """Convert the table that a model is fitted on; return what to remember of it, and it.

        `read` gets the first row and returns the columns that some step reads, or None for all.
        `DataError` says that X is no table, or that such a column holds what no step takes.
        """
        table = convert(X, objects=objects)
        schema = cls(None, int(table.shape[1]))
        schema.objects = objects
        if not frames.is_frame(table):
            return schema, table
        columns = schema.columns = schema._describe(table)
        schema.names, schema.used = list(columns), read(frames.head(table))
        schema.origins = {} if table is X else origins(X, table)
        odd = [name for name, column in columns.items() if column.kind == "other"]
        idle = {name: schema._idle(table[name], name) for name in odd}
        schema._remember(table, X, idle)
        return schema, _replaced(table, idle) if idle else table

    def _describe(self, X: Table) -> dict[Name, Column]:
        """Return what there is to remember of the columns of a frame."""
        described: dict[Name, Column] = {}
        for name, dtype in zip(X.columns.tolist(), frames.types(X), strict=True):
            if isinstance(dtype, np.dtype) and dtype.kind in _PLAIN:
                described[name] = _PLAIN[dtype.kind]
            elif isinstance(dtype, pd.StringDtype):
                described[name] = _TEXT
            elif self.objects and str(dtype) == "object":
                kind = infer_dtype(X[name], skipna=True)
                described[name] = Column(_BY_OBJECTS.get(kind, "other"))
            else:
                coded = str(dtype) == "category"
                described[name] = Column(kind_of(X[name]), zone(dtype), coded)
        return described

    @property
    def kinds(self) -> dict[str, str]:
        """What each column held at fit; empty without names."""
        return {str(name): column.kind for name, column in (self.columns or {}).items()}

    def take(self, X: Table) -> Any:
        """Convert a table and return it as the model expects it: the columns, in their order.

        `DataError` says that X is no table, or that a column that is read is missing, or holds
        what cannot stand for what was fitted.
        """
        if self.knows(X):
            return X
        given, X = X, convert(X, objects=self.objects)
        if self.columns is None:
            return self._matrix(X)
        if isinstance(getattr(X, "columns", None), pd.RangeIndex | None):
            X = self._named(X)
        if list(X.columns) != self.names:
            idle = set() if self.used is None else {*self.columns} - {*self.used}
            if blank := [n for n in self.columns if n in idle and n not in X.columns]:
                X = X.reindex(columns=[*X.columns, *blank])
            X = select_columns(X, list(self.columns), in_order=self.in_order)
        changed: dict[Name, Series] = {}
        for name, found in self._describe(X).items():
            fitted, odd = self.columns[name], found.kind == "other"
            free = self.used is not None and name not in self.used
            free = free or (self.objects and fitted.kind == "other")
            if not odd and (free or found == fitted):
                continue
            series = X[name]
            made = self._idle(series, name) if odd else _as_fitted(series, name, found, fitted)
            if made is not series:
                changed[name] = made
        self._remember(X, given, changed)
        return _replaced(X, changed) if changed else X

    def knows(self, X: Table) -> bool:
        """Return whether X has the columns and types of a dense frame that was taken unchanged."""
        if type(X) is not pd.DataFrame or not len(X) or X.columns.tolist() != self.names:
            return False
        if (kept := self._taken) is None:
            return False
        types, (taken, alike) = frames.types(X), kept
        if all(map(is_, types, taken)):  # equal categories take long to compare
            return True
        if not alike:
            alike[:] = [*map(_of_type, taken)]
        known = zip(types, taken, alike, strict=True)
        return all(dtype is one or _of_type(dtype) == other for dtype, one, other in known)

    def _remember(self, taken: Table, given: Table, changed: Collection[Name]) -> None:
        """Remember the types of a frame that is taken as it is given."""
        if taken is given and not changed and type(taken) is pd.DataFrame:
            types = frames.types(taken)
            odd = object in types or pd.SparseDtype in map(type, types)
            self._taken = None if odd else (types, [])

    def by_position(self, X: Table) -> Table:
        """Return a table of as many columns under the names of the fit, whatever theirs are."""
        X = convert(X, objects=self.objects)
        if self.names is not None and frames.is_frame(X) and X.shape[1] == self.n_features:
            X = X.copy(deep=False)
            X.columns = pd.Index(self.names)
        return X

    def read(self, X: Table) -> pd.DataFrame:
        """Return the columns that some step reads, on the host, of rows that were taken."""
        used = self.used
        X = X if used is None else frames.select(X, [n for n in X.columns if n in used])
        X = frames.to_device(X, "cpu")
        return X if frames.is_frame(X) else pd.DataFrame(X)

    def _idle(self, series: Series, name: Name) -> Series:
        """Return a column of what no step takes, which is an error where one reads it."""
        if self.objects and series.dtype == object:
            return series
        if self.used is None or name in self.used:
            raise DataError(_unusable(series, name))
        # No step reads it, and not every device could hold it.
        return _blank(series) if frames.library(series) == "pandas" else series

    def _matrix(self, X: Table) -> Array:
        matrix = frames.matrix(X)
        if matrix.shape[1] != self.n_features:
            raise DataError(
                f"X has {matrix.shape[1]} features, but Accelerated is expecting "
                f"{self.n_features} features as input"
            )
        # The name of a single column says nothing of its position.
        if frames.is_frame(X) and len(X.columns) > 1 and all(isinstance(n, str) for n in X.columns):
            said = "X has feature names, but Accelerated was fitted without feature names; "
            said += "columns are matched by position"
            warnings.warn(said, UserWarning, stacklevel=3)
        return matrix

    def _named(self, X: Table) -> Table:
        """Return rows without names as a frame, where its columns were numbers at fit too."""
        if self.names != list(range(X.shape[1])):
            raise DataError(
                "the model was fitted on a frame with column names, but X has none; "
                f"pass a frame with the columns {self.names}"
            )
        return X if frames.is_frame(X) else output.beside([(X, self.names)], X, {})


def _of_type(dtype: DType) -> Any:
    """Return what decides how a column of a type is taken; the type, where its values do."""
    if isinstance(dtype, np.dtype):  # in a tuple: to pandas some types equal their names
        return (_BY_LETTER.get(dtype.kind, dtype),)
    if not isinstance(dtype, pd.CategoricalDtype) or dtype.categories.dtype == object:
        return dtype
    return "category", _of_type(dtype.categories.dtype)


def select_columns(X: Table, names: list[Name], *, in_order: bool) -> Any:
    """Return the columns of a frame that have these names, in their order.

    `DataError` says that some are missing or, with `in_order`, that there are others or another
    order.
    """
    given = list(X.columns)
    if in_order and given != names and all(isinstance(name, str) for name in [*given, *names]):
        fitted = SimpleNamespace(feature_names_in_=np.array(names, dtype=object))
        try:
            _check_feature_names(fitted, pd.DataFrame(columns=pd.Index(given)), reset=False)
        except ValueError as error:
            instead = "pass X[model.feature_names_in_], or begin with a ColumnTransformer"
            raise DataError(f"{error}{instead}") from error
    return frames.select(X, names)


def _as_fitted(series: Series, name: Name, given: Column, fitted: Column) -> Series:
    """Return a column as it was at fit, the same object where nothing is to be done."""
    if given.kind != fitted.kind and not {given.kind, fitted.kind} <= NUMERIC:
        if _first(series) is None:
            # pandas casts dates to no float, not even missing ones.
            blank: Series = _blank(series) if frames.library(series) == "pandas" else series
            return blank.astype(_EMPTY.get(fitted.kind, "float64"))
        raise DataError(_unlike(series, name, fitted.kind))
    if given.kind == "date" and not given.categorical and given.zone != fitted.zone:
        return _in_zone(series, name, fitted.zone)
    if given.categorical and not fitted.categorical and given.kind in NUMERIC:
        return series.astype(frames.NULLABLE[series.dtype.categories.dtype.kind])
    return series


def _in_zone(series: Series, name: Name, fitted: str | None) -> Series:
    """Return dates on the clock they were fitted on; the points in time are the same."""
    given = zone(series.dtype)
    if given and fitted:
        return series.dt.tz_convert(fitted)
    if _first(series) is None:
        return series.copy()  # so that the type is not remembered as one that was taken
    has, had = (f"the time zone {each}" if each else "no time zone" for each in (given, fitted))
    use = f".dt.tz_localize({fitted!r})"
    raise DataError(f"column {name!r} has {has}, but was fitted with {had}; use {use}")


def _first(series: Series) -> int | None:
    """Return the position of the first value that is not missing."""
    known = series.notna()
    known = known.to_cupy() if frames.library(series) == "cudf" else known.to_numpy()
    return int(known.argmax()) if bool(known.any()) else None


def _blank(series: Series) -> pd.Series:
    return pd.Series(np.full(len(series), np.nan), index=series.index)


def _replaced(X: Table, columns: dict[Name, Series]) -> Table:
    """Return a frame with other columns in the place of some; the caller's stays as it is."""
    X = X.copy(deep=False)
    for name, series in columns.items():
        X[name] = series
    return X


def _unlike(series: Series, name: Name, fitted: str) -> str:
    row = _first(series) or 0
    value = series.iloc[row]
    value = value.item() if isinstance(value, np.generic) else value
    held, was = (kind if kind == "text" else f"{kind}s" for kind in (kind_of(series), fitted))
    return (
        f"column {name!r} holds {held}, such as {value!r} in row {row}, but the "
        f"model was fitted on {was}; {_SUGGESTIONS[fitted]}"
    )


def _unusable(series: Series, name: Name) -> str:
    """Return the error for what no step takes, with the first value of each of two types."""
    what = f"{series.dtype} values"
    if frames.library(series) == "pandas":
        known = series.reset_index(drop=True).dropna()
        firsts = known[~known.map(type).duplicated()]
        shown = [f"{value!r} in row {row}" for row, value in firsts[:2].items()]
        if len(shown) > 1:
            what = f"values of several types: {' and '.join(shown)}"
        elif shown:
            kind = type(firsts.iloc[0]).__name__ if series.dtype == object else series.dtype
            what = f"{kind} values, such as {shown[0]}"
    return (
        f"column {name!r} holds {what}, which no step supports; convert it to numbers or text "
        "(pandas.to_numeric, astype('str'), .str.decode for bytes), split lists into "
        "columns, or drop it"
    )
