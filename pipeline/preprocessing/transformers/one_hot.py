"""OneHotEncoder on blocks of codes: one gather a column, kept as positions of the ones."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.preprocessing import OneHotEncoder

from pipeline.data import frames
from pipeline.errors import ConfigError
from pipeline.preprocessing.engine.blocks import Block, Categories, Indicators
from pipeline.preprocessing.engine.twin import ANY
from pipeline.preprocessing.statistics.categories import CategorySums
from pipeline.preprocessing.transformers.encoders import (
    UNKNOWN,
    EncoderTwin,
    Tables,
    entries_for,
    grouped,
    infrequent,
)

NO_COLUMN = -1
"""Position of a category whose output column is dropped."""


class OneHotEncoderTwin(EncoderTwin):
    """One column per category that is neither dropped nor grouped with other infrequent ones.

    Where scikit-learn warns of unknown values, so does this, naming the same
    columns: once more whenever a block of rows adds a column to them.
    """

    sklearn_class = OneHotEncoder
    supported_params = {
        "categories": ANY,
        "drop": ANY,
        "handle_unknown": ANY,
        "min_frequency": ANY,
        "max_categories": ANY,
        "sparse_output": ANY,
        "dtype": ANY,
        "feature_name_combiner": ANY,
    }

    def prepare(self) -> None:
        """Note the output column of each category."""
        super().prepare()
        self._places = [self._places_of(j) for j in range(len(self.fitted.categories_))]
        self._unknown = Tables(self.known, self.unknown_of)
        self._warned: dict[int, np.ndarray] = {}

    def fit_sklearn(self, stats: list[CategorySums]) -> Any:
        """Fit, and word scikit-learn's refusal to drop one of the infrequent categories."""
        try:
            return super().fit_sklearn(stats)
        except AttributeError as error:
            if self.estimator.drop is None or isinstance(self.estimator.drop, str):
                raise
            # scikit-learn calls a method that text lacks while it makes its message.
            raise ConfigError(
                f"OneHotEncoder: drop={self.estimator.drop!r} names a category that is "
                "infrequent and so has no column of its own; name another one, or drop='first'"
            ) from error

    def _places_of(self, j: int) -> np.ndarray:
        """Return the output column of each category, and last that of unknown values."""
        learnt = self.fitted.categories_[j]
        places = grouped(self.fitted, j, learnt)
        joins = infrequent(self.fitted, j) is not None and self.estimator.handle_unknown in (
            "infrequent_if_exist",
            "warn",
        )
        places = np.append(places, places.max() if joins else UNKNOWN)
        drop = self.fitted.drop_idx_
        if drop is None or drop[j] is None:
            return places
        dropped = places[drop[j]]
        return np.where(places == dropped, NO_COLUMN, places - (places > dropped))

    def table_of(self, j: int, known: np.ndarray) -> np.ndarray:
        """Return the output column of each entry."""
        places = self._places[j]
        return entries_for(places[:-1], known, places[-1]).astype("int32")

    def unknown_of(self, j: int, known: np.ndarray) -> np.ndarray:
        """Return which entries are unknown."""
        return known == UNKNOWN

    def apply(self, block: Categories) -> Block:
        """Return the positions of the ones."""
        places = self.look_up(block.columns, UNKNOWN)
        self._warn(block.columns)
        widths = [int(places[:-1].max()) + 1 for places in self._places]
        return Indicators(places, widths, self.estimator.dtype)

    def _warn(self, columns: Sequence[frames.Coded]) -> None:
        """Warn of columns with unknown values, where scikit-learn does."""
        how = self.estimator.handle_unknown
        if how == "error" or (how != "warn" and self.estimator.drop is None):
            return
        new = [j for j, c in enumerate(columns) if self._warned.get(j) is not c.values]
        marks = [self._unknown.of(j, columns[j])[columns[j].codes] for j in new]
        added = [new[i] for i in frames.any_of(marks)]
        before = set(range(len(columns))) - set(new)
        self._warned.update((j, columns[j].values) for j in added)
        if added:
            place = "all zeros" if how == "ignore" else "the infrequent category."
            warnings.warn(
                f"Found unknown categories in columns {sorted(before.union(added))} during "
                f"transform. These unknown categories will be encoded as {place}",
                UserWarning,
                stacklevel=2,
            )
