"""What encoders share: categories are tallied on blocks of codes, then looked up.

Every encoder is a look-up: the dictionary of a block is translated on the host, once
per dictionary, and every row is one gather on the device.
"""

from __future__ import annotations

import datetime
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from pipeline.data import frames
from pipeline.data.convert import Origin
from pipeline.errors import ConfigError, DataError
from pipeline.preprocessing.engine.blocks import Categories
from pipeline.preprocessing.engine.twin import Twin
from pipeline.preprocessing.statistics.categories import (
    CategorySums,
    count_category_rows,
    make_table,
    merge_columns,
    positions,
    tally_columns,
)
from pipeline.typing import Array, Estimator

Make = Callable[[int, np.ndarray], np.ndarray]
UNKNOWN = -2
"""Position of a value that was not there at fit."""


class Tables:
    """Look-up tables of an encoder's columns, each kept for the last dictionary seen.

    Parameters
    ----------
    known : callable
        ``known(j, values)`` returns where a dictionary's entries stand at column `j`.
    make : callable
        ``make(j, known)`` returns what each entry becomes, the last one for missing.
    """

    def __init__(self, known: Make, make: Make) -> None:
        self._known, self._make = known, make
        self._kept: dict[int, tuple[np.ndarray, Any]] = {}

    def of(self, j: int, column: frames.Coded) -> Any:
        """Return the table of column `j` on its device."""
        kept = self._kept.get(j)
        if kept is not None and kept[0] is column.values:
            return kept[1]
        table = self._make(j, self._known(j, column.values))
        table = frames.to_device_of(table, column.codes)
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
        self._check_lists(stats)
        try:
            fitted = self.fit_sklearn(stats)
        except ValueError as error:
            if "Found unknown categories" in str(error):
                self._blame_unlisted(stats, error)
            raise
        self.fitted = fitted.set_params(**self.estimator.get_params(deep=False))
        self.prepare()

    def prepare(self) -> None:
        """Start without any look-up table, and hash the categories."""
        self.tables = Tables(self.known, self.table_of)
        self._indexes = [index_of(learnt) for learnt in self.fitted.categories_]
        self._missing = [place_of_missing(learnt) for learnt in self.fitted.categories_]
        for index in self._indexes:
            # pandas fills its hash table when first asked, which is no work for two threads.
            index.get_indexer(index[[-1, -1]] if len(index) else index)

    def fit_sklearn(self, stats: list[CategorySums]) -> Any:
        """Return the estimator fitted by scikit-learn on the distinct values of each column."""
        encoder = self.prepared()
        return fit_counted(encoder, stats, self.names, encoder.fit)

    def prepared(self) -> Any:
        """Return the encoder to fit: in its lists, None and NA are missing, as in the table.

        Where the table has None for missing, they are scikit-learn's to read.
        """
        estimator = clone(self.estimator)
        if isinstance(estimator.categories, str):
            return estimator
        none = {j for j, origin in enumerate(self.origins) if origin and origin.missing is None}
        lists = enumerate(estimator.categories)
        return estimator.set_params(categories=[c if j in none else with_nan(c) for j, c in lists])

    def _check_lists(self, stats: list[CategorySums]) -> None:
        if isinstance(self.estimator.categories, str):
            return
        for j, listed in enumerate(self.estimator.categories[: len(stats)]):
            if np.ndim(listed) != 1 or not len(listed):
                raise ConfigError(
                    f"{type(self.estimator).__name__}: categories[{j}] is {listed!r}; list the "
                    f"values of the column {self._name(j)!r}, or leave the column out"
                )

    def _blame_unlisted(self, stats: list[CategorySums], error: ValueError) -> None:
        """Name the first column and value that are not in the lists of categories."""
        for j, (column, listed) in enumerate(zip(stats, self.estimator.categories, strict=True)):
            occurs = column.sums[0] > 0
            places = find(np.array(with_nan(listed), dtype=object), column.values)
            bad = np.flatnonzero(occurs & (places == UNKNOWN))
            if len(bad):
                value = shown(column.values, int(bad[0]))
                raise DataError(
                    f"column {self._name(j)!r} holds {value}, which is not in categories[{j}] "
                    f"({type(self.estimator).__name__} has handle_unknown='error'); add it to the "
                    "list, clean the column, or set handle_unknown to let unknown values pass"
                ) from error

    def _name(self, j: int) -> Any:
        return j if self.names is None else self.names[j]

    @abstractmethod
    def table_of(self, j: int, known: np.ndarray) -> np.ndarray:
        """Return what each dictionary entry of column `j` becomes.

        `known` holds the entries' positions in `categories_[j]`, the last one
        for missing; `UNKNOWN` where the value was not there at fit.
        """

    def known(self, j: int, values: np.ndarray) -> np.ndarray:
        """Return the positions of a dictionary's entries as `table_of` takes them."""
        return stand(self._indexes[j], values, self._missing[j])

    def look_up(self, columns: Sequence[frames.Coded], unknown: float | None = None) -> list[Any]:
        """Return what each row becomes.

        Raises
        ------
        DataError
            A row becomes `unknown`, and the estimator has ``handle_unknown="error"``.
        """
        rows = [self.tables.of(j, column)[column.codes] for j, column in enumerate(columns)]
        if unknown is not None and self.estimator.handle_unknown == "error":
            self._refuse(columns, [places == unknown for places in rows])
        return rows

    def _refuse(self, columns: Sequence[frames.Coded], bad: Sequence[Any]) -> None:
        for j in frames.any_of(bad):
            column = columns[j]
            value = shown(column.values, int(column.codes[int(bad[j].argmax())]))
            raise DataError(
                f"column {self._name(j)!r} holds {value}, which was not there at fit "
                f"({type(self.estimator).__name__} has handle_unknown='error'); clean the "
                "column, or set handle_unknown to let unknown values pass"
            )


def with_nan(listed: Any) -> list[Any]:
    """Return a list of categories with NaN in the place of None and NA."""
    return [np.nan if pd.isna(value) else value for value in listed]


def shown(values: np.ndarray, code: int) -> str:
    """Return the entry of a dictionary as text; -1 and the one after the last are missing."""
    missing = code < 0 or code == len(values)
    return "a missing value" if missing else repr(values.tolist()[code])


def as_given(column: CategorySums, origin: Origin | None) -> CategorySums:
    """Return a tally by values as they were in the column that the user passed."""
    if origin is None:
        return column
    values = column.values
    if origin.kind is datetime.date:
        values = to_python_dates(values)
    elif origin.kind is not None:
        values = np.array([*map(origin.kind, values.tolist())], dtype=object)
    return CategorySums(values, column.sums, origin.missing)


def to_python_dates(values: np.ndarray) -> np.ndarray:
    """Return points in time as Python has them: dates, where they are midnights.

    >>> to_python_dates(np.array(["2020-01-01T00", "2020-01-01T01"], dtype="M8[h]")).tolist()
    [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 1, 0)]
    """
    days = values.astype("M8[D]")
    return np.where(days == values, days.astype(object), values.astype("M8[us]").astype(object))


def has_nan(learnt: np.ndarray) -> bool:
    """Return whether NaN, which is always the last one, is among the categories."""
    return len(learnt) > 0 and bool(learnt[-1] != learnt[-1])


def place_of_missing(learnt: np.ndarray) -> int:
    """Return where None or NaN stands among categories; `UNKNOWN` where neither is there."""
    places = np.flatnonzero(pd.isna(learnt))
    return int(places[-1]) if len(places) else UNKNOWN


def find(learnt: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return where a dictionary's entries, and then missing, stand among categories.

    >>> find(np.array(["b", "a"], dtype=object), np.array(["a", "z"], dtype=object))
    array([ 1, -2, -2])
    """
    return stand(index_of(learnt), values, place_of_missing(learnt))


def index_of(learnt: np.ndarray) -> pd.Index[Any]:
    """Return categories in a form in which values are found."""
    # pandas finds no truth value among numbers, which they are where some are missing.
    learnt = learnt.astype("uint8") if learnt.dtype.kind == "b" else learnt
    # Given the type, pandas does not look for a better one.
    return pd.Index(learnt, dtype=learnt.dtype)


def stand(index: pd.Index[Any], values: np.ndarray, missing: int) -> np.ndarray:
    """Return where a dictionary's entries, and then missing, stand in an index of categories."""
    if values.dtype.kind == "M" and index.dtype == object:
        values = to_python_dates(values)
    places = index.get_indexer(index_of(values))
    return np.append(np.where(places < 0, UNKNOWN, places), missing)


def sums_at(column: CategorySums, learnt: np.ndarray) -> np.ndarray:
    """Return the columns of `sums` for categories; zeros for those that do not occur."""
    places = find(learnt, column.values)
    sums = np.zeros((len(column.sums), len(learnt)))
    sums[:, places[places != UNKNOWN]] = column.sums[:, places != UNKNOWN]
    return sums


def fit_counted(
    encoder: Any,
    stats: Sequence[CategorySums],
    names: Sequence[Any] | None,
    fit: Callable[[Any], Any],
) -> Any:
    """Fit an encoder on distinct values as if each came as often as the statistics say.

    scikit-learn takes a table apart into columns, and counts their values, each in a
    private method. On the way into these it is given columns that differ in length, and
    the true counts; all else is its own.
    """
    group = encoder._fit_infrequent_category_mapping
    present = [column.present() for column in stats]
    alone = [None] * len(present) if names is None else [[name] for name in names]
    tables = map(make_table, ([values] for values in present), alone)
    apart = [encoder._check_X(table, ensure_all_finite="allow-nan")[0][0] for table in tables]

    def by_true_counts(n_samples: int, counts: Array, missing_indices: dict[int, int]) -> None:
        learnt = zip(stats, encoder.categories_, strict=True)
        true = [sums_at(column, values)[0].astype("int64") for column, values in learnt]
        group(int(stats[0].sums[0].sum()), true, missing_indices)

    encoder._fit_infrequent_category_mapping = by_true_counts
    encoder._check_X = lambda X, **options: (apart, 1, len(apart))
    fit(make_table([values[:1] for values in present], names))
    del encoder._fit_infrequent_category_mapping, encoder._check_X
    return encoder


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


def entries_for(of_categories: np.ndarray, known: np.ndarray, unknown: Any) -> np.ndarray:
    """Return what a dictionary's entries become."""
    rows = np.where(known == UNKNOWN, len(of_categories), known)
    return np.append(of_categories, unknown)[rows]
