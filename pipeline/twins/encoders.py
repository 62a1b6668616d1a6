"""Encoders: categories are counted on blocks of codes, then looked up.

Every encoder is a look-up: the dictionary of a block is translated on the host, once
per dictionary, and every row is one gather on the device. One-hot columns are kept as the
positions of the ones.
"""

from __future__ import annotations

import datetime
import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.utils import assert_all_finite

from pipeline.blocks.block import Block, Categories, Indicators, Numbers
from pipeline.errors import DataError, in_words_of
from pipeline.table import encode, frames
from pipeline.table.borrowed import borrow
from pipeline.table.convert import Origin
from pipeline.twins.statistics.categories import (
    CategorySums,
    count_category_rows,
    merge_columns,
    positions,
    tally_columns,
    to_index,
)
from pipeline.twins.twin import Twin, any_value
from pipeline.typing import Array, Estimator, Form

UNKNOWN = -1
"""Position of a value that was not there at fit: the last entry of a look-up table is its."""
NO_COLUMN = -2
"""Position of a category whose output column is dropped."""
FEW = 256
"""Values up to which each is looked up by itself: pandas takes longer to begin."""


class Learnt:
    """The categories of a column, as values are looked up in them."""

    def __init__(self, categories: np.ndarray) -> None:
        missing = pd.isna(categories)
        self.places = np.flatnonzero(~missing)
        self.index = as_index(categories[self.places])
        self.none = self.nan = UNKNOWN
        for j in np.flatnonzero(missing).tolist():
            if categories[j] is None:
                self.none = j
            else:
                self.nan = j

    def find(self, values: np.ndarray, *, objects: bool = False) -> np.ndarray:
        """Return where a dictionary's entries, and then missing, stand among the categories.

        Of `objects` NaN alone is missing, which None is not.

        >>> learnt = Learnt(np.array(["b", "a", None], dtype=object))
        >>> learnt.find(np.array(["a", "z"], dtype=object))
        array([ 1, -1,  2])
        >>> learnt.find(np.array(["a", None], dtype=object), objects=True)
        array([ 1,  2, -1])
        """
        last = self.nan if objects or self.nan != UNKNOWN else self.none
        if len(values) <= FEW and self.index.dtype == object and {*map(type, values)} <= {str}:
            return np.array([*[self._texts.get(text, UNKNOWN) for text in values], last])
        if values.dtype.kind == "M" and self.index.dtype == object:
            values = to_python_dates(values)
        if values.dtype == object and self.index.dtype.kind == "M":
            values = without_zone(values)
        found = self.index.get_indexer(as_index(values))
        places = np.append(self.places, UNKNOWN)[found]
        if values.dtype == object:
            places[pd.isna(values)] = self.none
        return np.append(places, last)

    @cached_property
    def _texts(self) -> dict[str, int]:
        """Where each text stands among the categories."""
        return dict(zip(self.index, self.places.tolist(), strict=True))


def as_index(values: np.ndarray) -> pd.Index[Any]:
    """Return values in a form in which they are found."""
    # pandas finds no truth value among numbers, which they are where some are missing.
    if values.dtype.kind == "b" or (
        values.dtype == object and infer_dtype(values, skipna=False) == "boolean"
    ):
        values = values.astype("uint8")
    return to_index(values)


class Tables:
    """Look-up tables of an encoder's columns, each kept for the last dictionary seen.

    ``make(j)`` returns what each category of column `j` becomes, and last what others become.
    """

    def __init__(self, learnt: Sequence[Learnt], make: Callable[[int], np.ndarray]) -> None:
        self._learnt, self._make = learnt, make
        self._made: dict[int, np.ndarray] = {}
        self._kept: dict[int, tuple[np.ndarray, Any]] = {}

    def of(self, j: int, column: encode.Coded) -> Any:
        """Return the table of column `j` on its device."""
        kept = self._kept.get(j)
        if kept is not None and kept[0] is column.values:
            return kept[1]
        objects = isinstance(column, encode.CodedObjects)
        known = self._learnt[j].find(column.values, objects=objects)
        if j not in self._made:
            self._made[j] = self._make(j)
        table = frames.to_device_of(self._made[j][known], column.codes)
        self._kept[j] = (column.values, table)
        return table


class EncoderTwin(Twin[list[CategorySums]]):
    """What the encoders share: categories are tallied, sorted by scikit-learn, looked up."""

    reads = Categories

    def statistics(self, block: Categories, *aligned: Any) -> list[CategorySums]:
        """Count the rows of each value."""
        return tally_columns(block.columns, count_category_rows)

    def merge(self, a: list[CategorySums], b: list[CategorySums]) -> list[CategorySums]:
        """Add the counts."""
        return merge_columns(a, b)

    def finalize(self, stats: list[CategorySums]) -> None:
        """Fit scikit-learn's encoder on a table of the values that occur."""
        if self.origins:
            stats = [as_given(*pair) for pair in zip(stats, self.origins, strict=True)]
        encoder = borrow(self.estimator)
        try:
            self._fit_counted(encoder, stats)
        except ValueError as error:
            # Of the distinct values of the table; of the rows it may say something else.
            names = [self.name(j) for j in range(len(stats))]
            where = f"in {type(encoder).__name__}, the columns {names}"
            raise in_words_of(error, DataError(where)) from error
        self.fitted = encoder
        self.prepare()

    def prepare(self) -> None:
        """Start without any look-up table, and hash the categories."""
        self.learnt = [*map(Learnt, self.fitted.categories_)]
        self.tables = Tables(self.learnt, self.table_of)
        for learnt in self.learnt:
            # pandas fills its hash table when first asked, which is no work for two threads.
            index = learnt.index
            index.get_indexer(index[[-1, -1]] if len(index) else index)

    def _fit_counted(self, encoder: Any, stats: Sequence[CategorySums]) -> None:
        """Fit an encoder on distinct values as if each came as often as the statistics say.

        scikit-learn takes a table apart into columns, and counts their values, each in a private
        method. On the way into these it is given columns that differ in length, and the true
        counts; all else is its own. Names of several types are for it to refuse; where all are
        text, `record_names` sets them.
        """
        group = encoder._fit_infrequent_category_mapping
        apart = [column.present() for column in stats]
        for values in apart:
            if values.dtype.kind == "f":
                assert_all_finite(values, allow_nan=True)

        def by_true_counts(n_samples: int, counts: Array, missing_indices: dict[int, int]) -> None:
            learnt = zip(stats, encoder.categories_, strict=True)
            true = [sums_at(column, values)[0].astype("int64") for column, values in learnt]
            group(int(stats[0].sums[0].sum()), true, missing_indices)

        encoder._fit_infrequent_category_mapping = by_true_counts
        encoder._check_X = lambda X, **options: (apart, 1, len(apart))
        row: Any = np.zeros((1, len(apart)))
        if self.names is not None and len({*map(type, self.names)}) > 1:
            row = pd.DataFrame(row, columns=list(self.names))
        self.fit_sklearn(encoder, row)
        del encoder._fit_infrequent_category_mapping, encoder._check_X

    def fit_sklearn(self, encoder: Any, row: Any) -> None:
        """Fit scikit-learn's encoder on a row of a table."""
        encoder.fit(row)

    @abstractmethod
    def table_of(self, j: int) -> np.ndarray:
        """Return what each category of column `j` becomes, as `Tables` asks for it."""

    def look_up(self, columns: Sequence[encode.Coded], unknown: float | None = None) -> list[Any]:
        """Return what each row becomes, unless it is `unknown` where that is an error."""
        rows = [self.tables.of(j, column)[column.codes] for j, column in enumerate(columns)]
        if unknown is not None and self.estimator.handle_unknown == "error":
            bad = [places == unknown for places in rows]
            for j in frames.any_of(bad):
                raise self._not_there(j, columns[j], int(bad[j].argmax()))
        return rows

    def _not_there(self, j: int, column: encode.Coded, row: int) -> DataError:
        code = int(column.codes[row])
        missing = code < 0 or code == len(column.values)
        value = "a missing value" if missing else repr(column.values.tolist()[code])
        return DataError(
            f"column {self.name(j)!r} holds {value}, which is not a fitted category "
            f"({type(self.estimator).__name__} has handle_unknown='error'); clean the "
            "column, or set handle_unknown to accept unknown values"
        )


def as_given(column: CategorySums, origin: Origin | None) -> CategorySums:
    """Return a tally by values as they were in the column that the user passed."""
    if origin is None:
        return column
    values = column.values
    if origin.kind is datetime.date:
        values = to_python_dates(values)
    elif origin.kind is datetime.datetime:
        values = without_zone(values)
    elif origin.kind is not None:
        values = np.array([*map(origin.kind, values.tolist())], dtype=object)
    return column._replace(values=values, missing=origin.missing)


def to_python_dates(values: np.ndarray) -> np.ndarray:
    """Return points in time as Python has them: dates, where they are midnights.

    >>> to_python_dates(np.array(["2020-01-01T00", "2020-01-01T01"], dtype="M8[h]")).tolist()
    [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 1, 0)]
    """
    days = values.astype("M8[D]")
    return np.where(days == values, days.astype(object), values.astype("M8[us]").astype(object))


def without_zone(values: np.ndarray) -> np.ndarray:
    """Return points in time in UTC without saying so, as NumPy has them; others as they are.

    >>> without_zone(np.array([pd.Timestamp("2020-01-01", tz="Asia/Tokyo")]).astype("O")).tolist()
    [datetime.datetime(2019, 12, 31, 15, 0)]
    """
    index = pd.Index(values.tolist())
    zoned = isinstance(index, pd.DatetimeIndex) and index.tz is not None
    return index.tz_convert(None).to_numpy() if zoned else values


def sums_at(column: CategorySums, learnt: np.ndarray) -> np.ndarray:
    """Return the columns of `sums` for categories; zeros for those that do not occur."""
    places = Learnt(learnt).find(column.values, objects=column.objects)
    sums = np.zeros((len(column.sums), len(learnt)))
    np.add.at(sums.T, places[places != UNKNOWN], column.sums.T[places != UNKNOWN])
    return sums


def infrequent(fitted: Estimator, j: int) -> np.ndarray | None:
    """Return the infrequent categories of column `j`; None where nothing is grouped."""
    groups = getattr(fitted, "infrequent_categories_", None)
    return None if groups is None else groups[j]


def grouped(fitted: Estimator, j: int, learnt: np.ndarray) -> np.ndarray:
    """Return the places of categories of column `j`, infrequent ones sharing the last place."""
    group = infrequent(fitted, j)
    if group is None:
        return np.arange(len(learnt))
    rare = np.zeros(len(learnt), dtype=bool)
    rare[positions(learnt, group)] = True
    return np.where(rare, (~rare).sum(), np.cumsum(~rare) - 1)


class OneHotEncoderTwin(EncoderTwin):
    """One column per category that is neither dropped nor grouped with other infrequent ones.

    It warns of the unknown values of each block of rows.
    """

    sklearn_class = OneHotEncoder
    supported_params = {
        **any_value("categories", "handle_unknown", "min_frequency", "max_categories"),
        **any_value("sparse_output", "dtype", "feature_name_combiner"),
        "drop": ("first", "if_binary"),
    }

    @classmethod
    def makes_sparse(cls, estimator: Estimator, given: Form = "dense") -> bool:
        """Return what `sparse_output` says."""
        return bool(estimator.sparse_output)

    def fills_rows(self) -> bool:
        """Return whether no category is dropped, and none unknown."""
        params = self.estimator
        return params.drop is None and isinstance(params.categories, str)

    def prepare(self) -> None:
        """Note the output columns of each column."""
        super().prepare()
        self._known = Tables(self.learnt, self._known_of)
        self._places = [*map(self._places_of, range(len(self.learnt)))]
        self._widths = [int(each[:-1].max(initial=UNKNOWN)) + 1 for each in self._places]

    def _known_of(self, j: int) -> np.ndarray:
        """Return True for each category, and last False for other values."""
        n_categories = len(self.fitted.categories_[j])
        return np.arange(n_categories + 1) < n_categories

    def table_of(self, j: int) -> np.ndarray:
        """Return the output column of each category, and last that of unknown values."""
        return self._places[j]

    def _places_of(self, j: int) -> np.ndarray:
        learnt = self.fitted.categories_[j]
        places = grouped(self.fitted, j, learnt)
        joins = self.estimator.handle_unknown in ("infrequent_if_exist", "warn")
        joins = joins and infrequent(self.fitted, j) is not None
        places = np.append(places, places.max() if joins else UNKNOWN).astype("int32")
        drop = self.fitted.drop_idx_
        if drop is None or drop[j] is None:
            return places
        dropped = places[drop[j]]
        return np.where(places == dropped, NO_COLUMN, places - (places > dropped)).astype("int32")

    def apply(self, block: Categories) -> Block:
        """Return the positions of the ones."""
        places = self.look_up(block.columns, UNKNOWN)
        how = self.estimator.handle_unknown
        # Where scikit-learn does.
        if how == "warn" or (how != "error" and self.estimator.drop is not None):
            self._warn(block.columns)
        return Indicators(places, self._widths, self.estimator.dtype)

    def _warn(self, columns: Sequence[encode.Coded]) -> None:
        """Warn of columns with unknown values."""
        marks = [~self._known.of(j, column)[column.codes] for j, column in enumerate(columns)]
        if found := frames.any_of(marks):
            zeros = self.estimator.handle_unknown == "ignore"
            place = "all zeros" if zeros else "the infrequent category."
            warnings.warn(
                f"Found unknown categories in columns {found} during transform. These unknown "
                f"categories will be encoded as {place}",
                UserWarning,
                stacklevel=2,
            )


class OrdinalEncoderTwin(EncoderTwin):
    """The position of each value among the categories, as a number."""

    sklearn_class = OrdinalEncoder
    supported_params = any_value(
        "categories",
        "handle_unknown",
        "unknown_value",
        "encoded_missing_value",
        "min_frequency",
        "max_categories",
        "dtype",
    )

    def table_of(self, j: int) -> np.ndarray:
        """Return the numbers that stand for each category; -inf marks an unknown one."""
        refuses = self.estimator.handle_unknown == "error"
        unknown = -np.inf if refuses else self.estimator.unknown_value
        learnt = self.fitted.categories_[j]
        if not len(learnt) or learnt[-1] == learnt[-1]:  # NaN is always the last one
            return np.append(grouped(self.fitted, j, learnt).astype("float64"), unknown)
        numbers = grouped(self.fitted, j, learnt[:-1]).astype("float64")
        return np.append(numbers, [self.estimator.encoded_missing_value, unknown])

    def apply(self, block: Categories) -> Block:
        """Return a matrix of positions."""
        numbers = self.look_up(block.columns, -np.inf)
        matrix = frames.xp(numbers[0]).stack(numbers, axis=1)
        return Numbers(matrix.astype(self.estimator.dtype, copy=False))
