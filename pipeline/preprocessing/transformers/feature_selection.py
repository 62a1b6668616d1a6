"""VarianceThreshold, SelectKBest and their like: columns are scored once, then picked."""

from __future__ import annotations

import warnings
from collections.abc import Callable
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
    chi2,
    f_classif,
    f_regression,
)
from sklearn.utils import check_X_y

from pipeline.data import frames
from pipeline.data.output import container
from pipeline.data.target import encode_labels
from pipeline.errors import DataError
from pipeline.preprocessing.engine.blocks import Numbers
from pipeline.preprocessing.engine.twin import MANY, Twin, any_value
from pipeline.preprocessing.statistics import scores
from pipeline.preprocessing.statistics.min_max import MinMax, min_max
from pipeline.preprocessing.statistics.moments import Moments, moments
from pipeline.preprocessing.statistics.quantiles import RowBlocks
from pipeline.preprocessing.statistics.scores import Joint, Test
from pipeline.preprocessing.transformers.scalers import require_finite
from pipeline.typing import Estimator, Target

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

    @classmethod
    def recalls(cls, estimator: Estimator) -> bool:
        """Return that the fitted one has variances without means."""
        return False

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


class Score(NamedTuple):
    """How columns are scored from sums of blocks."""

    reduce: Callable[..., Any]
    """Returns the sums of a block and what is aligned with it."""
    finish: Callable[[Any], Test]
    """Returns scores and p-values."""
    of_classes: bool = False
    """The target is classes and not numbers."""


SCORES: dict[Any, Score] = {
    f_classif: Score(scores.by_class, scores.analysis, of_classes=True),
    chi2: Score(scores.sums_by_class, scores.chi_squared, of_classes=True),
    f_regression: Score(scores.jointly, scores.regression),
}
"""What sums of blocks tell; scikit-learn calls other functions on all rows, on the host."""


class UnivariateTwin(_SelectorTwin[Any]):
    """Keep the columns that tell most of the target, each by itself.

    Of a table in the memory of the host scikit-learn computes the scores itself, for which of
    equal ones comes first depends on their last digits. Of partitions and on a GPU those in
    `SCORES` are computed in float64 from sums, those of deviations centred. Scikit-learn's sums
    are not centred, and float32 for float32 and small integers: where it loses digits, beside a
    large offset or in an almost perfect fit, the scores differ.
    """

    needs_target = True
    slower = {"F": MANY, "C": MANY}

    def __init__(self, estimator: Any) -> None:
        super().__init__(estimator)
        func = self.estimator.score_func
        self._score = next((how for of, how in SCORES.items() if of is func), None)

    def aligned(self, y: Target) -> tuple[Any, ...]:
        """Return the numbers of the classes, or the target as numbers."""
        if self.in_memory or np.ndim(y) > 1:
            self._score = None
        if self._score is None:
            self._y = y
            return ()
        name = type(self.estimator).__name__
        if y is None:
            raise DataError(f"{name} requires y to be passed, but the target y is None")
        _, y = check_X_y(np.zeros((len(y), 1)), y)
        if self._score.of_classes:
            # Objects may be text and numbers, which nothing sorts: refused, as by scikit-learn.
            mixed = y.dtype.kind == "O"
            codes, classes = np.unique(y, return_inverse=True)[::-1] if mixed else encode_labels(y)
            self._n_classes = len(classes)
            return (codes.astype("int64"),)
        if y.dtype.kind not in "iufb":
            raise DataError(
                f"{name}: {self.estimator.score_func.__name__} needs a target of numbers and y "
                f"holds {y.dtype}; convert it, or use f_classif"
            )
        return (y.astype("float64"),)

    def statistics(self, block: Numbers, *aligned: Any) -> Any:
        """Return the sums of the block, or its rows."""
        require_finite(self, block.values)
        if self._score is None:
            return RowBlocks([block.values])
        values = block.values.astype("float64", copy=False)
        n_classes = (self._n_classes,) if self._score.of_classes else ()
        return self._score.reduce(values, *aligned, *n_classes)

    def finalize(self, stats: Any) -> None:
        """Set `scores_` and `pvalues_`."""
        if self._score is None:
            rows = stats.to_host()
            stats.blocks.clear()  # scikit-learn makes copies of its own
            self.fitted = clone(self.estimator).fit(rows, self._y)
            del self._y
            return
        # scikit-learn checks the parameters, on any table that can be scored.
        ramp = np.arange(4.0)[:, None].repeat(_width(stats), axis=1)
        self.fitted = clone(self.estimator).fit(ramp, [0, 1, 0, 1])
        self.fitted.scores_, self.fitted.pvalues_ = self._score.finish(stats)

    def apply(self, block: Numbers) -> Numbers:
        """Return the selected columns; the others must be finite too, as in scikit-learn."""
        require_finite(self, block.values)
        return self.apply_training(block)

    def apply_training(self, block: Numbers, *aligned: Any) -> Numbers:
        """Return the selected columns, which `statistics` has checked."""
        return super().apply(block)


def _width(stats: Any) -> int:
    """Return the number of columns that sums are of; a `Joint` holds the target beside them."""
    return int(stats.products.shape[1] - 1 if isinstance(stats, Joint) else stats[1].shape[1])


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
