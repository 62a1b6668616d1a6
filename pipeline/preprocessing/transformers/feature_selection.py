"""VarianceThreshold and SelectKBest: columns are scored once, then picked."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_classif, f_regression
from sklearn.utils import check_X_y

from pipeline.data import frames
from pipeline.data.target import encode_labels
from pipeline.errors import DataError
from pipeline.preprocessing.engine.blocks import Numbers
from pipeline.preprocessing.engine.twin import ANY, Twin, any_value
from pipeline.preprocessing.statistics import f_tests
from pipeline.preprocessing.statistics.f_tests import Joint
from pipeline.preprocessing.statistics.min_max import MinMax, min_max
from pipeline.preprocessing.statistics.moments import Moments, moments
from pipeline.preprocessing.transformers.scalers import require_finite
from pipeline.typing import Target

S = TypeVar("S")

WIDE = 1e150
"""A range that passes any threshold, and whose square is still a number."""


class _SelectorTwin(Twin[S]):
    """A step that drops columns; the others keep their values and their type."""

    reads = Numbers

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
    supported_params = any_value("threshold")

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
                f"VarianceThreshold: no column has a variance above "
                f"{self.estimator.threshold}{one}, so "
                "none is left; lower the threshold, or leave the step out"
            )


def _variances(stats: VarianceStats, *, exact: bool) -> np.ndarray:
    """Return the variances; `exact`: or the range where that is less, as scikit-learn does."""
    low, high = (bound.astype("float64") for bound in stats.min_max[1:])
    if np.isneginf(low).any() or np.isposinf(high).any():
        raise DataError("VarianceThreshold: a column holds infinite values; leave it out")
    variance = stats.moments.variance
    if not exact:
        return variance
    span = high - low
    variance = np.where(span == 0, 0.0, variance)
    return np.where(
        stats.moments.rows == stats.min_max.n_rows, np.minimum(variance, span), variance
    )


class SelectKBestTwin(_SelectorTwin[Any]):
    """Keep the `k` columns that tell most of the target by an F-test.

    Scores are computed in float64 from centred sums. Scikit-learn's sums are not
    centred, and float32 for float32 and small integers: where it loses digits,
    beside a large offset or in an almost perfect fit, the scores differ.
    """

    sklearn_class = SelectKBest
    supported_params = {"score_func": (f_classif, f_regression), "k": ANY}
    needs_target = True

    def aligned(self, y: Target) -> tuple[Any, ...]:
        """Return the numbers of the classes, or the target as numbers."""
        if y is None:
            raise DataError("SelectKBest needs the target: pass y to fit")
        _, y = check_X_y(np.zeros((len(y), 1)), y)
        if self.estimator.score_func is f_classif:
            # Objects may be text and numbers, which nothing sorts: refused, as by scikit-learn.
            mixed = y.dtype.kind == "O"
            codes, classes = np.unique(y, return_inverse=True)[::-1] if mixed else encode_labels(y)
            self._n_classes = len(classes)
            return (codes.astype("int64"),)
        if y.dtype.kind not in "iufb":
            raise DataError(
                f"SelectKBest: f_regression needs a target of numbers and y holds {y.dtype}; "
                "convert it, or use f_classif"
            )
        return (y.astype("float64"),)

    def statistics(self, block: Numbers, *aligned: Any) -> Moments | Joint:
        """Return the deviations in each class, or those of columns and target together."""
        require_finite(self, block.values)
        values = block.values.astype("float64", copy=False)
        if self.estimator.score_func is f_classif:
            return f_tests.by_class(values, aligned[0], self._n_classes)
        return f_tests.jointly(values, aligned[0])

    def finalize(self, stats: Moments | Joint) -> None:
        """Set `scores_` and `pvalues_`."""
        if isinstance(stats, Joint):
            scores, pvalues = f_tests.regression(stats)
        else:
            scores, pvalues = f_tests.analysis(stats)
        ramp = np.arange(4.0)[:, None].repeat(len(scores), axis=1)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "k=.* is greater than n_features", UserWarning)
            # scikit-learn checks the parameters, on any table that can be scored.
            self.fitted = clone(self.estimator).fit(ramp, [0, 1, 0, 1])
        self.fitted.scores_, self.fitted.pvalues_ = scores, pvalues

    def apply(self, block: Numbers) -> Numbers:
        """Return the selected columns; the others must be finite too, as in scikit-learn."""
        require_finite(self, block.values)
        return self.apply_training(block)

    def apply_training(self, block: Numbers, *aligned: Any) -> Numbers:
        """Return the selected columns, which `statistics` has checked."""
        return super().apply(block)
