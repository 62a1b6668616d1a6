"""MinMaxScaler and MaxAbsScaler on blocks."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler

from pipeline import frames
from pipeline.preprocessing import extent
from pipeline.preprocessing.blocks import Numbers
from pipeline.preprocessing.extent import Extent
from pipeline.preprocessing.twin import ANY, Twin


class _RangeTwin(Twin[Extent]):
    """What both scalers share: scikit-learn fits itself on a table of the extremes."""

    reads = Numbers

    def partial(self, block: Numbers, *aligned: Any) -> Extent:
        """Return the bounds of the block."""
        return extent.extent(block.values)

    def merge(self, a: Extent, b: Extent) -> Extent:
        """Merge the bounds of two blocks."""
        return extent.merge(a, b)

    def finish(self, stats: Extent) -> None:
        """Fit scikit-learn's scaler on two rows, the bounds; they are all it looks for."""
        table = np.stack([stats.low, stats.high]).astype("float64")
        table[:, stats.empty] = np.nan
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "All-NaN", RuntimeWarning)
            self.fitted = clone(self.spec).fit(table)
        self.fitted.n_samples_seen_ = stats.n_rows
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
