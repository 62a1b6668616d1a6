"""VarianceThreshold, SelectKBest and their like: columns are scored once, then picked."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.feature_selection import (
    GenericUnivariateSelect,
    SelectFdr,
    SelectFpr,
    SelectFwe,
    SelectKBest,
    SelectPercentile,
    VarianceThreshold,
)

from pipeline.data import frames
from pipeline.data.output import container
from pipeline.errors import DataError
from pipeline.preprocessing.engine.blocks import Numbers
from pipeline.preprocessing.engine.twin import MANY, Twin, any_value
from pipeline.preprocessing.statistics.min_max import MinMax, min_max
from pipeline.preprocessing.statistics.moments import Moments, moments
from pipeline.preprocessing.statistics.quantiles import RowBlocks
from pipeline.preprocessing.transformers.scalers import require_finite
from pipeline.typing import Target

S = TypeVar("S")

NONE_LEFT = (
    "No features were selected: either the data is too noisy or the selection test too strict."
)

WIDE = 1e150
"""A range that passes any threshold, and whose square is still a number."""


class _SelectorTwin(Twin[S]):
    """A step that drops columns; the others keep their values and their type."""

    reads = Numbers
    takes_sparse = True

    def warn(self) -> None:
        """Warn as scikit-learn does where no column is left."""
        if not self.fitted.get_support().any():
            warnings.warn(NONE_LEFT, UserWarning, stacklevel=2)

    def picks(self) -> np.ndarray | None:
        """Return the columns that are selected of a frame, each of which keeps its type."""
        if self.names is None or container(self.estimator) != "pandas":
            return None
        kept: np.ndarray = self.fitted.get_support(indices=True)
        return kept

    def apply(self, block: Numbers) -> Numbers:
        """Return the selected columns."""
        kept = self.fitted.get_support(indices=True)
        if len(kept) == block.width:
            return block
        return Numbers(block.values.take(frames.to_device_of(kept, block.values), axis=1))


class VarianceStats(NamedTuple):
    """What `VarianceThreshold` looks at."""

    moments: Moments
    min_max: MinMax

    def merge(self, other: VarianceStats) -> VarianceStats:
        """Merge both parts."""
        return VarianceStats(self.moments.merge(other.moments), self.min_max.merge(other.min_max))


class VarianceThresholdTwin(_SelectorTwin[VarianceStats]):
    """Drop columns whose variance is not above `threshold`; NaN counts for nothing.

    With the threshold 0 a column of one value is dropped, whatever rounding
    makes of its variance. Scikit-learn sees to that in columns without missing
    values only.
    """

    sklearn_class = VarianceThreshold
    slower = {"F": MANY}
    supported_params = any_value("threshold")
    takes_infinite = True  # new rows may be; `finalize` refuses those of the fit

    def statistics(self, block: Numbers, *aligned: Any) -> VarianceStats:
        """Return moments and bounds of the block."""
        xp = frames.xp(block.values)
        return VarianceStats(moments(block.values, xp), min_max(block.values))

    def finalize(self, stats: VarianceStats) -> None:
        """Set `variances_`.

        Raises
        ------
        DataError
            No column would be left, or a column holds infinite values.
        """
        n_columns = len(stats.min_max.low)
        # scikit-learn checks the threshold; two rows so far apart pass it.
        self.fitted = clone(self.estimator).fit([[0.0] * n_columns, [WIDE] * n_columns])
        self.fitted.variances_ = _variances(stats, exact=self.estimator.threshold == 0)
        if not self.fitted.get_support().any():
            one = " (X contains only one sample)" if (stats.moments.rows == 1).all() else ""
            raise DataError(
                f"No feature in X meets the variance threshold {self.estimator.threshold:.5f}{one}"
                "; lower the threshold, or leave the step out"
            )


def _variances(stats: VarianceStats, *, exact: bool) -> np.ndarray:
    """Return the variances; `exact`: or the range where that is less, as scikit-learn does."""
    low, high = (bound.astype("float64") for bound in stats.min_max[1:])
    if np.isneginf(low).any() or np.isposinf(high).any():
        raise DataError(
            "Input X contains infinity or a value too large for dtype('float64').\n"
            "VarianceThreshold: a column holds infinite values; leave it out"
        )
    variance = stats.moments.variance
    if not exact:
        return variance
    span = high - low
    variance = np.where(span == 0, 0.0, variance)
    return np.where(
        stats.moments.rows == stats.min_max.n_rows, np.minimum(variance, span), variance
    )


class UnivariateTwin(_SelectorTwin[RowBlocks]):
    """Keep the columns that tell most of the target, each by itself.

    scikit-learn computes the scores on the host, of all rows: which of equal ones comes first
    depends on their last digits.
    """

    needs_target = True
    slower = {"F": MANY, "C": MANY}

    def aligned(self, y: Target) -> tuple[Any, ...]:
        """Keep the target for `finalize`."""
        self._y = y
        return ()

    def statistics(self, block: Numbers, *aligned: Any) -> RowBlocks:
        """Return the rows of the block."""
        require_finite(self, block.values)
        return RowBlocks([block.values])

    def finalize(self, stats: RowBlocks) -> None:
        """Let scikit-learn set `scores_` and `pvalues_`."""
        rows = stats.to_host()
        stats.blocks.clear()  # scikit-learn makes copies of its own
        self.fitted = clone(self.estimator).fit(rows, self._y)
        del self._y

    def apply(self, block: Numbers) -> Numbers:
        """Return the selected columns; the others must be finite too, as in scikit-learn."""
        require_finite(self, block.values)
        return self.apply_training(block)

    def apply_training(self, block: Numbers, *aligned: Any) -> Numbers:
        """Return the selected columns, which `statistics` has checked."""
        return super().apply(block)


class SelectKBestTwin(UnivariateTwin):
    """Keep the `k` best."""

    sklearn_class = SelectKBest
    supported_params = any_value("score_func", "k")


class SelectPercentileTwin(UnivariateTwin):
    """Keep a percentage of the columns."""

    sklearn_class = SelectPercentile
    supported_params = any_value("score_func", "percentile")


class SelectFprTwin(UnivariateTwin):
    """Keep p-values below `alpha`."""

    sklearn_class = SelectFpr
    supported_params = any_value("score_func", "alpha")


class SelectFdrTwin(UnivariateTwin):
    """Keep an expected share of false ones below `alpha`."""

    sklearn_class = SelectFdr
    supported_params = any_value("score_func", "alpha")


class SelectFweTwin(UnivariateTwin):
    """Keep p-values below `alpha`, divided by the number of columns."""

    sklearn_class = SelectFwe
    supported_params = any_value("score_func", "alpha")


class GenericUnivariateSelectTwin(UnivariateTwin):
    """Keep what one of the others would."""

    sklearn_class = GenericUnivariateSelect
    supported_params = any_value("score_func", "mode", "param")
