"""MinMaxScaler and MaxAbsScaler on blocks."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler

from pipeline import frames
from pipeline.preprocessing.blocks import Numbers
from pipeline.preprocessing.twin import ANY, Twin


class Extremes(NamedTuple):
    """The least and the greatest value of each column, on the host.

    Parameters
    ----------
    rows : int
        All rows, also those with missing values.
    low, high : numpy.ndarray of float64, shape (n_columns,)
        Infinity and minus infinity for a column without values.
    """

    rows: int
    low: np.ndarray
    high: np.ndarray


def extremes(values: Any, xp: Any) -> Extremes:
    """Return the extremes of a matrix with NaN for missing, shape (n_rows, n_columns).

    >>> extremes(np.array([[1.0, np.nan], [4.0, np.nan]]), np)
    Extremes(rows=2, low=array([ 1., inf]), high=array([  4., -inf]))
    """
    if values.dtype.kind == "f":
        missing = xp.isnan(values)
        low = xp.where(missing, xp.inf, values).min(axis=0)
        high = xp.where(missing, -xp.inf, values).max(axis=0)
    else:
        low, high = values.min(axis=0), values.max(axis=0)
    both = xp.stack([low, high]).astype("float64")
    return Extremes(int(values.shape[0]), *frames.to_host(both))


def merge(a: Extremes, b: Extremes) -> Extremes:
    """Return the extremes of both sets of rows together."""
    return Extremes(a.rows + b.rows, np.minimum(a.low, b.low), np.maximum(a.high, b.high))


class _RangeTwin(Twin[Extremes]):
    """What both scalers share: scikit-learn fits itself on a table of the extremes."""

    reads = Numbers

    def partial(self, block: Numbers, *aligned: Any) -> Extremes:
        """Return the extremes of the block."""
        return extremes(block.values, frames.array_module(frames.device_of(block.values)))

    def merge(self, a: Extremes, b: Extremes) -> Extremes:
        """Merge two pairs of extremes."""
        return merge(a, b)

    def finish(self, stats: Extremes) -> None:
        """Fit scikit-learn's scaler on two rows, the extremes; they are all it looks for."""
        empty = stats.low > stats.high
        table = np.where(empty, np.nan, np.stack([stats.low, stats.high]))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "All-NaN", RuntimeWarning)
            self.fitted = clone(self.spec).fit(table)
        self.fitted.n_samples_seen_ = stats.rows
        self.record_names(len(stats.low))


class MinMaxScalerTwin(_RangeTwin):
    """Map the range of each column to `feature_range`; NaN stays.

    All arithmetic is in float64. Scikit-learn computes a float32 table in
    float32 and takes columns with a range below 1.2e-6 for constant there; here
    the bound is that of float64, 2.2e-15.
    """

    original = MinMaxScaler
    honours = {"feature_range": ANY, "clip": ANY, "copy": ANY}

    def apply(self, block: Numbers) -> Numbers:
        """Return the scaled block in float64."""
        device = frames.device_of(block.values)
        values = block.values * frames.to_device(self.fitted.scale_, device)
        values += frames.to_device(self.fitted.min_, device)
        if self.spec.clip:
            low, high = self.spec.feature_range
            frames.array_module(device).clip(values, low, high, out=values)
        return Numbers(values)


class MaxAbsScalerTwin(_RangeTwin):
    """Divide each column by its greatest absolute value; NaN stays.

    All arithmetic is in float64, as for `MinMaxScalerTwin`.
    """

    original = MaxAbsScaler
    honours = {"clip": ANY, "copy": ANY}

    def apply(self, block: Numbers) -> Numbers:
        """Return the scaled block in float64."""
        device = frames.device_of(block.values)
        values = block.values / frames.to_device(self.fitted.scale_, device)
        if self.spec.clip:
            frames.array_module(device).clip(values, -1.0, 1.0, out=values)
        return Numbers(values)
