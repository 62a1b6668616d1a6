"""StandardScaler on blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from pipeline import frames
from pipeline.preprocessing.blocks import Numbers
from pipeline.preprocessing.moments import Moments, merge, moments
from pipeline.preprocessing.twin import ANY, Twin


class StandardScalerTwin(Twin[Moments]):
    """Subtract the mean and divide by the standard deviation, NaN left as it is."""

    original = StandardScaler
    honours = {"with_mean": ANY, "with_std": ANY, "copy": ANY}
    reads = Numbers
    weighted = True

    def partial(self, block: Numbers, *aligned: Any) -> Moments:
        """Count, mean and squares of the block; of weighted rows where there is more to learn."""
        weights = aligned[0] if aligned and (self.spec.with_mean or self.spec.with_std) else None
        return moments(block.values, frames.array_module(frames.device_of(block.values)), weights)

    def from_moments(self, moments: Moments) -> Moments:
        """Return the moments: there is nothing else to learn."""
        return moments

    def merge(self, a: Moments, b: Moments) -> Moments:
        """Merge two moments."""
        return merge(a, b)

    def finish(self, stats: Moments) -> None:
        """Set `mean_`, `var_`, `scale_` and `n_samples_seen_` as scikit-learn does."""
        spec = self.spec
        fitted = self.fitted = clone(spec)
        mean = np.where(stats.rows > 0, stats.mean, np.nan)
        fitted.mean_ = mean if spec.with_mean or spec.with_std else None
        fitted.var_ = stats.variance if spec.with_std else None
        scale = np.where(stats.constant, 1.0, np.sqrt(stats.variance))
        fitted.scale_ = scale if spec.with_std else None
        seen = stats.rows if spec.with_mean or spec.with_std else stats.rows.astype("int64")
        fitted.n_samples_seen_ = seen[0] if (seen == seen[0]).all() else seen
        self.record_names(len(seen))

    def apply(self, block: Numbers) -> Numbers:
        """Return the scaled block in float64."""
        values = block.values
        if self.spec.with_mean:
            values = values - frames.to_device(self.fitted.mean_, frames.device_of(values))
        if self.spec.with_std:
            values = values / frames.to_device(self.fitted.scale_, frames.device_of(values))
        return Numbers(values)
