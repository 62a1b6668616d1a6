"""MissingIndicator on blocks of numbers and of categories."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.impute import MissingIndicator

from pipeline import frames
from pipeline.errors import DataError
from pipeline.preprocessing.blocks import Categories, Numbers
from pipeline.preprocessing.twin import ANY, Twin


class Holes(NamedTuple):
    """Which columns miss values, and whether they are numbers."""

    missing: np.ndarray
    """One bool a column, on the host."""
    dtype: np.dtype[Any]
    """Type of the block; object for categories."""


class MissingIndicatorTwin(Twin[Holes]):
    """Zeros and ones, per column: one where the value is missing.

    NaN, None and NA are all missing, whichever of them `missing_values` names.
    """

    original = MissingIndicator
    honours = {
        "missing_values": (np.nan, None, pd.NA),
        "features": ANY,
        "sparse": ANY,
        "error_on_new": ANY,
    }
    reads = Numbers

    def form(self, *, numeric: bool) -> type:
        """Return `Numbers` where all columns are; `Categories` hold anything."""
        return Numbers if numeric else Categories

    def partial(self, block: Numbers | Categories, *aligned: Any) -> Holes:
        """Return which columns of the block miss values."""
        dtype = block.values.dtype if isinstance(block, Numbers) else np.dtype(object)
        return Holes(frames.to_host(is_missing(block).any(axis=0)), dtype)

    def merge(self, a: Holes, b: Holes) -> Holes:
        """Return which columns miss values in either."""
        return Holes(a.missing | b.missing, a.dtype)

    def finish(self, stats: Holes) -> None:
        """Fit scikit-learn's indicator on a row with the same holes."""
        # With NA for a marker None counts too, and NA itself scikit-learn cannot compare.
        marker = None if self.spec.missing_values is pd.NA else self.spec.missing_values
        row = np.zeros((1, len(stats.missing)), dtype=stats.dtype)
        if stats.missing.any():
            row[:, stats.missing] = np.nan if stats.dtype.kind == "f" else marker
        self.fitted = clone(self.spec).fit(row)
        self.record_names(len(stats.missing))

    def apply(self, block: Numbers | Categories) -> Numbers:
        """Return the mask of the columns in `features_`.

        Raises
        ------
        DataError
            A column misses values that had none at fit, and `error_on_new`.
        """
        mask = is_missing(block)
        kept = self.fitted.features_
        if len(kept) == block.width:
            return Numbers(mask)
        if self.spec.error_on_new:
            self._check_known(mask)
        device = frames.device_of(mask)
        columns = frames.to_device(kept, device)
        return Numbers(frames.array_module(device).take(mask, columns, axis=1))

    def _check_known(self, mask: Any) -> None:
        new = np.setdiff1d(np.flatnonzero(frames.to_host(mask.any(axis=0))), self.fitted.features_)
        if len(new):
            names = [j if self.names is None else self.names[j] for j in new.tolist()]
            raise DataError(
                f"MissingIndicator: the columns {names} miss values and did not at fit; impute "
                "them first, or set error_on_new=False or features='all'"
            )


def is_missing(block: Numbers | Categories) -> Any:
    """Return which values of a block are missing, shape (n_rows, width), on its device."""
    if isinstance(block, Numbers):
        return frames.array_module(frames.device_of(block.values)).isnan(block.values)
    xp = frames.array_module(frames.device_of(block.columns[0].codes))
    return xp.stack([column.codes < 0 for column in block.columns], axis=1)
