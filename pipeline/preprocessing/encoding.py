"""OneHotEncoder and OrdinalEncoder on blocks of codes.

Both are a look-up: the dictionary of a block is translated on the host, once
per dictionary, and every row is one gather on the device.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from pipeline import frames
from pipeline.errors import DataError
from pipeline.preprocessing.blocks import Block, Categories, Indicators, Numbers
from pipeline.preprocessing.distinct import Distinct, count, frame_of, merge_columns, positions
from pipeline.preprocessing.twin import ANY, Twin

Make = Callable[[int, np.ndarray], np.ndarray]
UNKNOWN = -2
"""Position of a value that was not there at fit; -1 would be "no column" for one-hot."""


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
        table = frames.to_device(table, frames.device_of(column.codes))
        self._kept[j] = (column.values, table)
        return table


class EncoderTwin(Twin[list[Distinct]]):
    """What the encoders share: categories are tallied, sorted by scikit-learn, looked up."""

    reads = Categories

    def partial(self, block: Categories, *aligned: Any) -> list[Distinct]:
        """Count the rows of each value."""
        return [self._tally(column, *aligned) for column in block.columns]

    def _tally(self, column: frames.Coded, *aligned: Any) -> Distinct:
        xp = frames.array_module(frames.device_of(column.codes))
        counts = count(column.codes, len(column.values), xp)
        return Distinct(column.values, frames.to_host(counts)[None].astype("float64"))

    def merge(self, a: list[Distinct], b: list[Distinct]) -> list[Distinct]:
        """Add the counts."""
        return merge_columns(a, b)

    def finish(self, stats: list[Distinct]) -> None:
        """Fit scikit-learn's encoder on a table of the values that occur."""
        names = list(range(len(stats))) if self.names is None else list(self.names)
        table = frame_of(names, [column.present() for column in stats])
        self.fitted = self.fit_original(table if self.names is not None else table.to_numpy())
        self.tables = Tables(self.known, self.table_of)

    def fit_original(self, table: Any) -> Any:
        """Return the spec fitted by scikit-learn on a table that holds every distinct value."""
        return clone(self.spec).fit(table)

    @abstractmethod
    def table_of(self, j: int, known: np.ndarray) -> np.ndarray:
        """Return what each dictionary entry of column `j` becomes.

        `known` holds the entries' positions in `categories_[j]`, the last one
        for missing; `UNKNOWN` where the value was not there at fit.
        """

    def known(self, j: int, values: np.ndarray) -> np.ndarray:
        """Return the positions of a dictionary's entries as `table_of` takes them."""
        learnt = self.fitted.categories_[j]
        has_missing = len(learnt) > 0 and learnt[-1] != learnt[-1]
        found = positions(learnt[:-1] if has_missing else learnt, values)
        found = np.where(found < 0, UNKNOWN, found)
        return np.append(found, len(learnt) - 1 if has_missing else UNKNOWN)

    def check_known(self, j: int, column: frames.Coded, table: Any, unknown: Any) -> None:
        """Raise if a row holds a value that the table marks as unknown."""
        xp = frames.array_module(frames.device_of(column.codes))
        bad = xp.nonzero(table[column.codes] == unknown)[0]
        if len(bad):
            code = int(column.codes[bad[0]])
            value = "a missing value" if code < 0 else repr(column.values.tolist()[code])
            name = j if self.names is None else self.names[j]
            raise DataError(
                f"column {name!r} holds {value}, which was not there at fit "
                f"({type(self.spec).__name__} has handle_unknown='error'); clean the column, or "
                "set handle_unknown to let unknown values pass"
            )


class OneHotEncoderTwin(EncoderTwin):
    """One column per category; unknown values give zeros with ``handle_unknown="ignore"``."""

    original = OneHotEncoder
    honours = {
        "handle_unknown": ("error", "ignore"),
        "sparse_output": ANY,
        "dtype": ANY,
        "feature_name_combiner": ANY,
    }

    def table_of(self, j: int, known: np.ndarray) -> np.ndarray:
        """Return column positions as they are."""
        return known.astype("int32")

    def apply(self, block: Categories) -> Block:
        """Return the positions of the ones."""
        found = []
        for j, column in enumerate(block.columns):
            table = self.tables.of(j, column)
            if self.spec.handle_unknown == "error":
                self.check_known(j, column, table, UNKNOWN)
            found.append(table[column.codes])
        return Indicators(found, [len(learnt) for learnt in self.fitted.categories_])


class OrdinalEncoderTwin(EncoderTwin):
    """The position of each value among the sorted categories, as a number."""

    original = OrdinalEncoder
    honours = {
        "handle_unknown": ("error", "use_encoded_value"),
        "unknown_value": ANY,
        "encoded_missing_value": ANY,
        "dtype": ANY,
    }

    def table_of(self, j: int, known: np.ndarray) -> np.ndarray:
        """Return the numbers that stand for each entry; -inf marks an unknown one."""
        unknown = self.spec.unknown_value if self.spec.handle_unknown != "error" else -np.inf
        table = np.where(known == UNKNOWN, unknown, known.astype("float64"))
        learnt = self.fitted.categories_[j]
        if len(learnt) and learnt[-1] != learnt[-1]:
            table[-1] = self.spec.encoded_missing_value
        return table

    def apply(self, block: Categories) -> Block:
        """Return a matrix of positions."""
        found = []
        for j, column in enumerate(block.columns):
            table = self.tables.of(j, column)
            if self.spec.handle_unknown == "error":
                self.check_known(j, column, table, -np.inf)
            found.append(table[column.codes])
        xp = frames.array_module(frames.device_of(block.columns[0].codes))
        return Numbers(xp.stack(found, axis=1))
