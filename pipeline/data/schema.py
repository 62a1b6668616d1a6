"""The columns a model was fitted on, and the one policy for tables that differ.

It is applied to what `pipeline.data.convert` returns, before a table goes to a device, and
looks at types alone: values are read only to word an error.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pipeline.data import frames, output
from pipeline.data.datetimes import zone
from pipeline.errors import DataError

NUMERIC = ("number", "boolean")
_BY_LETTER = dict.fromkeys("iuf", "number") | {"b": "boolean", "M": "date", "m": "duration"}
_EMPTY = {"text": "str", "date": "datetime64[ns]", "duration": "timedelta64[ns]"}
_WAYS_OUT = {
    "number": "convert it (pandas.to_numeric)",
    "boolean": "convert it (map words to True and False)",
    "text": "convert it (astype('str'))",
    "date": "convert it (pandas.to_datetime)",
    "duration": "convert it (pandas.to_timedelta)",
}


def kind_of(column: Any) -> str:
    """Return what a series or an index holds; categories are what they stand for.

    Returns
    -------
    {"number", "boolean", "text", "date", "duration", "other"}
        No step takes what is "other".

    Examples
    --------
    >>> kind_of(pd.Series(["a"], dtype="category")), kind_of(pd.Series([1, None], dtype="Int64"))
    ('text', 'number')
    >>> kind_of(pd.Series(["a", 1], dtype=object))
    'other'
    """
    dtype = column.dtype
    if str(dtype) == "category":
        return kind_of(dtype.categories)
    if isinstance(dtype, pd.SparseDtype):
        return "other"
    if _is_text(column):
        return "text"
    return _BY_LETTER.get(dtype.kind, "other")


def _is_text(column: Any) -> bool:
    dtype = column.dtype
    if str(dtype) != "object":
        return dtype.kind == "U" or isinstance(dtype, pd.StringDtype)
    if frames.library(column) == "cudf":
        return True
    # An index of categories, short; the objects of columns have got their type at the door.
    return isinstance(column, pd.Index) and column.inferred_type in ("string", "empty")


@dataclass(frozen=True)
class Column:
    """What is remembered of a column: its kind, and the time zone of dates."""

    kind: str
    zone: str | None = None
    categorical: bool = False

    @classmethod
    def of(cls, series: Any) -> Column:
        """Return what there is to remember of a series."""
        return cls(kind_of(series), zone(series.dtype), str(series.dtype) == "category")


class Checked(NamedTuple):
    """A table that fits a schema, and the names of the columns that were left out of it."""

    X: Any
    extra: list[Any]


class Schema:
    """The names and kinds of the columns of a table.

    Parameters
    ----------
    columns : dict or None
        Name -> `Column`; None for a matrix, whose columns have no names.
    n_features : int
    used : collection, optional
        Names of the columns that some step reads; by default, all.

    Examples
    --------
    >>> schema = Schema.learn(pd.DataFrame({"n": [1.0], "t": ["a"]}))
    >>> X, extra = schema.check(pd.DataFrame({"t": ["b"], "more": [0], "n": [2]}))
    >>> list(X), extra
    (['n', 't'], ['more'])
    >>> schema.check(pd.DataFrame({"n": ["?"], "t": ["b"]}))
    Traceback (most recent call last):
    pipeline.errors.DataError: column 'n' holds text, such as '?' in row 0, and the model was \
fitted on numbers; convert it (pandas.to_numeric)
    """

    def __init__(
        self,
        columns: dict[Any, Column] | None,
        n_features: int,
        used: Collection[Any] | None = None,
    ) -> None:
        self.columns, self.n_features, self.used = columns, n_features, used

    @classmethod
    def learn(cls, X: Any, used: Collection[Any] | None = None) -> Schema:
        """Return the schema of a table that came through the door.

        Parameters
        ----------
        X : frame or matrix, shape (n_rows, n_columns)
        used : collection, optional
            Names of the columns that some step reads; by default, all. What the
            others hold is of no importance.
        """
        n_features = int(X.shape[1])
        if not frames.is_frame(X):
            return cls(None, n_features)
        return cls({name: Column.of(X[name]) for name in X.columns}, n_features, used)

    @property
    def names(self) -> list[Any] | None:
        """The names of the columns, in the order of the fit; None for a matrix."""
        return None if self.columns is None else list(self.columns)

    def check(self, X: Any) -> Checked:
        """Return a table as the model expects it: the same columns, in the same order.

        Raises
        ------
        DataError
            A column is missing, or holds what cannot stand for what was fitted.
        """
        if self.columns is None:
            return Checked(self._matrix(X), [])
        X = self._named(X)
        extra = [name for name in X.columns if name not in self.columns]
        X = frames.select(X, list(self.columns))
        made = {name: self._made(X[name], name) for name in self.columns}
        return Checked(_replaced(X, made), extra)

    def _made(self, series: Any, name: Any) -> Any:
        """Return what stands for a column, None where it can stay as it is."""
        if self.used is None or name in self.used:
            found = _fit(series, name, (self.columns or {})[name])
            return None if found is series else found
        # No step reads it, and not every device could hold it.
        idle = kind_of(series) == "other" and frames.library(series) == "pandas"
        return _blank(series) if idle else None

    def _matrix(self, X: Any) -> Any:
        X = frames.matrix(X)
        if X.shape[1] != self.n_features:
            raise DataError(
                f"X has {X.shape[1]} features, but Accelerated is expecting "
                f"{self.n_features} features as input"
            )
        return X

    def _named(self, X: Any) -> Any:
        if frames.is_frame(X) and not isinstance(X.columns, pd.RangeIndex):
            return X
        if self.names != list(range(X.shape[1])):
            raise DataError(
                "the model was fitted on a frame with column names and X has none; "
                f"pass a frame with the columns {self.names}"
            )
        return X if frames.is_frame(X) else output.beside([(X, self.names)], X, {})


def _fit(series: Any, name: Any, fitted: Column) -> Any:
    """Return a column as it was at fit, the same object where nothing is to be done."""
    given = Column.of(series)
    if given.kind == "other":
        raise DataError(_unusable(series, name))
    if not _like(given.kind, fitted.kind):
        if _first(series) is None:
            return _nothing(series, fitted.kind)
        raise DataError(_unlike(series, name, fitted.kind))
    if given.kind == "date" and not given.categorical and given.zone != fitted.zone:
        return _in_zone(series, name, fitted.zone)
    if given.categorical and not fitted.categorical and given.kind in NUMERIC:
        return series.astype(frames.NULLABLE[series.dtype.categories.dtype.kind])
    return series


def _nothing(series: Any, kind: str) -> Any:
    """Return missing values of a kind."""
    # pandas casts dates to no float, not even missing ones.
    blank: Any = _blank(series) if frames.library(series) == "pandas" else series
    return blank.astype(_EMPTY.get(kind, "float64"))


def _like(a: str, b: str) -> bool:
    return a == b or a in NUMERIC and b in NUMERIC


def _in_zone(series: Any, name: Any, fitted: str | None) -> Any:
    """Return dates on the clock they were fitted on; the points in time are the same."""
    given = zone(series.dtype)
    if given and fitted:
        return series.dt.tz_convert(fitted)
    if _first(series) is None:
        return series
    has, had = (f"the time zone {each}" if each else "no time zone" for each in (given, fitted))
    way_out = f".dt.tz_localize({fitted!r})"
    raise DataError(f"column {name!r} has {has} and was fitted with {had}; use {way_out}")


def _first(series: Any, among: Any = None) -> int | None:
    """Return the position of the first value that is not missing, None without one."""
    known = series.notna() if among is None else among
    known = known.to_cupy() if frames.library(series) == "cudf" else known.to_numpy()
    return int(known.argmax()) if bool(known.any()) else None


def _blank(series: Any) -> pd.Series:
    return pd.Series(np.full(len(series), np.nan), index=series.index)


def _replaced(X: Any, columns: dict[Any, Any]) -> Any:
    columns = {name: series for name, series in columns.items() if series is not None}
    if not columns:
        return X
    X = X.copy(deep=False)
    for name, series in columns.items():
        X[name] = series
    return X


def _unlike(series: Any, name: Any, fitted: str) -> str:
    row = _first(series) or 0
    kinds = {"text": "text"}
    held, was = (kinds.get(kind, f"{kind}s") for kind in (kind_of(series), fitted))
    return (
        f"column {name!r} holds {held}, such as {_value(series, row)!r} in row {row}, and the "
        f"model was fitted on {was}; {_WAYS_OUT[fitted]}"
    )


def _value(series: Any, row: int) -> Any:
    value = series.iloc[row]
    return value.item() if isinstance(value, np.generic) else value


def _unusable(series: Any, name: Any) -> str:
    row = _first(series)
    if isinstance(series.dtype, pd.SparseDtype):
        return f"column {name!r} is sparse; make it dense (.sparse.to_dense())"
    if frames.library(series) != "pandas" or row is None:
        return f"column {name!r} holds {series.dtype} values, which no step takes; leave it out"
    first = series.iloc[row]
    other = _other_type(series, type(first))
    if other is not None:
        return (
            f"column {name!r} holds values of several types: {first!r} in row {row} and "
            f"{series.iloc[other]!r} in row {other}; make them one type (astype('str'), "
            "pandas.to_numeric) or leave it out"
        )
    what = series.dtype if series.dtype != object else type(first).__name__
    return (
        f"column {name!r} holds {what} values, such as {first!r} in row {row}, which no step "
        f"takes; {_way_out(first)} or leave it out"
    )


def _other_type(series: pd.Series, first: type) -> int | None:
    if series.dtype != object:
        return None
    return _first(series, series.notna() & (series.map(type) != first))


def _way_out(value: Any) -> str:
    """Return what makes a usable column of such values."""
    if isinstance(value, bytes):
        return "decode it (.str.decode('utf-8'))"
    if isinstance(value, list | dict | tuple | np.ndarray):
        return "take it apart into columns"
    return "convert it (astype('float64') or astype('str'))"
