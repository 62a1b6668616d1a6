"""RobustScaler on blocks."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm
from sklearn.base import clone
from sklearn.preprocessing import RobustScaler

from pipeline import frames
from pipeline.preprocessing.blocks import Numbers
from pipeline.preprocessing.quantiles import Values, gather, merge, quantile
from pipeline.preprocessing.twin import ANY, Twin


class RobustScalerTwin(Twin[Values]):
    """Subtract the median and divide by a range of quantiles, NaN left as it is.

    The quantiles are in float64 for columns of float32 too. They are exact, or
    within `rank_error` of the ranks asked for.
    """

    original = RobustScaler
    honours = {
        "with_centering": ANY,
        "with_scaling": ANY,
        "quantile_range": ANY,
        "unit_variance": ANY,
        "copy": ANY,
    }
    reads = Numbers

    def partial(self, block: Numbers, *aligned: object) -> Values:
        """Keep the values, or a summary of them."""
        return gather(block.values, self.rank_error)

    def merge(self, a: Values, b: Values) -> Values:
        """Put the rows, or what is known of them, together."""
        return merge(a, b)

    def finish(self, stats: Values) -> None:
        """Set `center_` and `scale_` as scikit-learn does."""
        spec = self.spec
        # scikit-learn checks the parameters.
        fitted = self.fitted = clone(spec).fit(np.zeros((1, stats.n_columns)))
        low, middle, high = self._quantiles(stats)
        fitted.center_ = middle if spec.with_centering else None
        fitted.scale_ = _scale(high - low) if spec.with_scaling else None
        if spec.with_scaling and spec.unit_variance:
            of_normal = norm.ppf(np.array(spec.quantile_range) / 100.0)
            fitted.scale_ = fitted.scale_ / (of_normal[1] - of_normal[0])
        self.record_names(stats.n_columns)

    def _quantiles(self, stats: Values) -> np.ndarray:
        spec = self.spec
        if not spec.with_centering and not spec.with_scaling:
            return np.full((3, stats.n_columns), np.nan)
        low, high = np.array(spec.quantile_range, dtype="float64") / 100
        return quantile(stats, [low, 0.5, high])

    def apply(self, block: Numbers) -> Numbers:
        """Return the scaled block in float64."""
        xp = frames.array_module(frames.device_of(block.values))
        values = block.values.astype("float64")
        if self.spec.with_centering:
            values -= xp.asarray(self.fitted.center_)
        if self.spec.with_scaling:
            values /= xp.asarray(self.fitted.scale_)
        return Numbers(values)


def _scale(spread: np.ndarray) -> np.ndarray:
    """Return 1 for columns without spread, as scikit-learn does.

    >>> _scale(np.array([0.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return np.where(spread < 10 * np.finfo("float64").eps, 1.0, spread)
