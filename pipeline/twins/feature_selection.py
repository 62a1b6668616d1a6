"""VarianceThreshold, SelectKBest and their like: columns are scored once, then picked."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import special
from sklearn.base import clone
from sklearn.feature_selection import (
    SelectFdr,
    SelectFpr,
    SelectFwe,
    SelectKBest,
    SelectPercentile,
    VarianceThreshold,
    f_classif,
    f_regression,
)

from pipeline.blocks.block import Block, Numbers
from pipeline.errors import DataError
from pipeline.table import frames
from pipeline.table.output import container
from pipeline.table.target import encode_labels
from pipeline.twins.scalers import FiniteTwin, require_finite
from pipeline.twins.statistics.categories import tally
from pipeline.twins.statistics.moments import MinMax, Moments, min_max, moments
from pipeline.twins.statistics.quantiles import RowBlocks
from pipeline.twins.twin import MANY, TWINS, Twin, any_value
from pipeline.typing import Array, Target

S = TypeVar("S")
Test = tuple[np.ndarray, np.ndarray]
"""Statistics and p-values, shape (n_columns,)."""

NONE_LEFT = (
    "No features were selected: either the data is too noisy or the selection test too strict."
)

WIDE = 1e150
"""A range that passes any threshold, and whose square is still a number."""


class _SelectorTwin(Twin[S]):
    """A step that drops columns; the others keep their values and their type."""

    exact = True
    selects = True
    takes_sparse = True

    def warning(self) -> str:
        """Return what scikit-learn says where no column is left."""
        return "" if self.fitted.get_support().any() else NONE_LEFT

    def picks(self) -> np.ndarray | None:
        """Return the columns that are selected of a frame, each of which keeps its type."""
        if self.names is None or container(self.estimator) != "pandas":
            return None
        kept: np.ndarray = self.fitted.get_support(indices=True)
        return kept

    def apply(self, block: Numbers) -> Block:
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
    slower = {"F": range(10_000, 3_000_000)}
    supported_params = any_value("threshold")
    takes_infinite = True  # new rows may be; `finalize` refuses those of the fit

    def statistics(self, block: Numbers, *aligned: Any) -> VarianceStats:
        """Return moments and bounds of the block."""
        xp = frames.xp(block.values)
        return VarianceStats(moments(block.values, xp), min_max(block.values))

    def finalize(self, stats: VarianceStats) -> None:
        """Set `variances_`; refuse columns with infinite values, and to leave no column."""
        n_columns = len(stats.min_max.low)
        # scikit-learn checks the threshold; two rows so far apart pass it.
        self.fitted = clone(self.estimator).fit([[0.0] * n_columns, [WIDE] * n_columns])
        low, high = (bound.astype("float64") for bound in stats.min_max[1:])
        self.refuse_columns(
            np.isneginf(low) | np.isposinf(high),
            "hold infinite values; drop them",
            "Input X contains infinity or a value too large for dtype('float64').",
        )
        variance, span = stats.moments.variance, high - low
        if self.estimator.threshold == 0:  # or the range, where that is less
            complete = stats.moments.rows == stats.min_max.n_rows
            variance = np.where(span == 0, 0.0, variance)
            variance = np.where(complete, np.minimum(variance, span), variance)
        self.fitted.variances_ = variance
        if not self.fitted.get_support().any():
            one = " (X contains only one sample)" if (stats.moments.rows == 1).all() else ""
            raise DataError(
                f"No feature in X meets the variance threshold {self.estimator.threshold:.5f}{one}"
                "; lower the threshold, or remove the step"
            )


def deviations_in_classes(column: Array, codes: Array, rows: Array) -> Any:
    """Return the sums of deviations from the first row, by class, and squares within the classes.

    So they are exactly zero for a constant.
    """
    xp = frames.xp(column)
    column -= column[:1].copy()
    sums = tally(codes, len(rows), xp, column)
    column -= (sums / rows)[codes]
    column *= column
    return xp.append(sums, column.sum())


def analysis_of_variance(found: np.ndarray, y: np.ndarray) -> Test:
    """Return `f_classif` of `deviations_in_classes`; NaN for a constant, which is warned of."""
    rows, sums, within = np.bincount(y)[:, None], found[:-1], found[-1]
    free = np.float64(len(rows) - 1), np.float64(len(y) - len(rows))
    middle = sums.sum(axis=0) / len(y)
    between = (rows * (sums / rows - middle) ** 2).sum(axis=0) / free[0]
    constant = np.flatnonzero(within == 0)
    if len(constant) and not between.all():
        warnings.warn(f"Features {constant} are constant.", UserWarning, stacklevel=2)
    ratio = between / (within / free[1])
    return ratio, special.fdtrc(*free, ratio)


def products_with(column: Array, y: Array) -> Any:
    """Return the sums of products of the deviations of a column and the target, and of squares."""
    column -= column[:1].copy()
    column -= column.mean()
    product = (column * y).sum()
    column *= column
    return frames.xp(column).append(product, column.sum())


def regression(found: np.ndarray, y: np.ndarray) -> Test:
    """Return `f_regression` of `products_with`; as there, 0 for a constant."""
    products, squares = found
    free = len(y) - 2
    with np.errstate(invalid="ignore", divide="ignore"):
        explained = products**2 / (squares * np.square(y - y.mean()).sum())
        explained = np.where(np.isnan(explained), 0.0, np.minimum(explained, 1.0))
        ratio = explained / (1 - explained) * free
    scores = np.nan_to_num(ratio, nan=0.0, posinf=np.finfo("float64").max)
    return scores, special.fdtrc(1, free, ratio)


class Score(NamedTuple):
    """How columns are scored where they are on a GPU."""

    learn: Callable[..., Any]
    """Returns sums over a column, whose values are lost."""
    finish: Callable[[np.ndarray, np.ndarray], Test]
    of_classes: bool = True


ON_GPU: dict[Any, Score] = {
    f_classif: Score(deviations_in_classes, analysis_of_variance),
    f_regression: Score(products_with, regression, of_classes=False),
}


class UnivariateTwin(FiniteTwin[RowBlocks], _SelectorTwin[RowBlocks]):
    """`SelectKBest` and its like: keep the columns with the best scores, each scored by itself.

    On the host scikit-learn computes the scores, for which of equal ones comes first depends on
    their last digits. On a GPU those of `ON_GPU` are computed there, in float64 and centred.
    """

    supported_params = any_value("score_func", "k", "percentile", "alpha")  # each has some
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
        """Set `scores_` and `pvalues_`."""
        y, score, xp = np.asarray(self._y), ON_GPU.get(self.estimator.score_func), stats.xp
        del self._y
        texts = y.shape != () and score is not None and score.of_classes and _are_texts(y)
        known = y.dtype.kind in "iufb" or texts
        if score is None or xp is np or not known or y.shape != (stats.n_rows,):
            rows = stats.to_host()
            stats.blocks.clear()  # scikit-learn makes copies of its own
            self.fitted = clone(self.estimator).fit(rows, None if y.shape == () else y)
            return
        stats.record_transfers()
        # scikit-learn checks the parameters, on any table that can be scored.
        ramp = np.arange(4.0)[:, None].repeat(stats.n_columns, axis=1)
        self.fitted = clone(self.estimator).fit(ramp, [0, 1, 0, 1])
        y = encode_labels(y)[0].astype("int64") if score.of_classes else y.astype("float64")
        beside = [y, np.bincount(y)] if score.of_classes else [y - y.mean()]
        beside = [frames.to_device(each, "cuda") for each in beside]
        columns = (stats.column(j).astype("float64", copy=False) for j in range(stats.n_columns))
        found = frames.to_host(xp.stack([score.learn(each, *beside) for each in columns], axis=1))
        self.fitted.scores_, self.fitted.pvalues_ = score.finish(found, y)

    def apply_training(self, block: Numbers, *aligned: Any) -> Block:
        """Return the selected columns; the others must be finite too, as in scikit-learn."""
        return _SelectorTwin.apply(self, block)


_UNIVARIATE = (SelectFdr, SelectFpr, SelectFwe, SelectKBest, SelectPercentile)
TWINS.update(dict.fromkeys(_UNIVARIATE, UnivariateTwin))


def _are_texts(y: np.ndarray) -> bool:
    return y.dtype.kind in "US" or y.dtype == object and all(isinstance(label, str) for label in y)
