"""Scalers of columns and rows.

`StandardScaler`, `MinMaxScaler`, `MaxAbsScaler` and `RobustScaler` learn a statistic of each
column; `Normalizer` learns nothing, and only checks its input.
"""

from __future__ import annotations

from abc import abstractmethod
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from scipy.stats import norm
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)
from sklearn.preprocessing._data import _handle_zeros_in_scale

from pipeline.blocks.block import Block, Numbers
from pipeline.errors import DataError
from pipeline.table import frames
from pipeline.table.borrowed import borrow
from pipeline.twins.statistics.moments import MinMax, Moments, min_max, moments
from pipeline.twins.statistics.quantiles import RowBlocks, median, quantile
from pipeline.twins.twin import Twin, any_value
from pipeline.typing import Array


class RowsTwin(Twin[RowBlocks]):
    """A step that learns from the values of all rows at once."""

    def statistics(self, block: Numbers, *aligned: object) -> RowBlocks:
        """Keep the values."""
        return RowBlocks([block.values])


class StandardScalerTwin(Twin[Moments]):
    """Subtract the mean and divide by the standard deviation, NaN left as it is."""

    sklearn_class = StandardScaler
    takes_sparse = True
    supported_params = any_value("with_mean", "with_std", "copy")
    exact = True
    slower = {"F": range(15_000, 8_000_000)}
    weighted = True

    def statistics(self, block: Numbers, *aligned: Any) -> Moments:
        """Count, mean and squares of the block; of weighted rows where there is more to learn."""
        weighted = aligned and (self.estimator.with_mean or self.estimator.with_std)
        return moments(block.values, frames.xp(block.values), aligned[0] if weighted else None)

    def finalize(self, stats: Moments) -> None:
        """Set `mean_`, `var_`, `scale_` and `n_samples_seen_` as scikit-learn does."""
        estimator = self.estimator
        fitted = self.fitted = borrow(estimator)
        learns = estimator.with_mean or estimator.with_std
        # Not a number for a column without values, and NumPy warns of it as scikit-learn does.
        mean = stats.mean + 0.0 / stats.rows
        fitted.mean_ = mean if learns else None
        variance = stats.variance
        fitted.var_ = variance if estimator.with_std else None
        scale = _handle_zeros_in_scale(np.sqrt(variance), constant_mask=stats.constant)
        fitted.scale_ = scale if estimator.with_std else None
        seen = stats.rows if learns else stats.rows.astype("int64")
        fitted.n_samples_seen_ = seen[0] if (seen == seen[0]).all() else seen

    def apply(self, block: Numbers) -> Numbers:
        """Return the scaled block."""
        return Numbers(standardize(floats(block.values), self.fitted))


class _RangeTwin(Twin[MinMax]):
    """What both scalers share: scikit-learn fits itself on a table of the extremes."""

    exact = True
    slower = {"F": range(15_000, 10_000_000)}

    def statistics(self, block: Numbers, *aligned: Any) -> MinMax:
        """Return the bounds of the block."""
        return min_max(block.values)

    def finalize(self, stats: MinMax) -> None:
        """Fit scikit-learn's scaler on two rows, the bounds; they are all it looks for."""
        table = floats(np.stack([stats.low, stats.high]))
        table[:, stats.empty] = np.nan
        self.fitted = borrow(self.estimator).fit(table)
        self.fitted.n_samples_seen_ = stats.n_rows


class MinMaxScalerTwin(_RangeTwin):
    """Map the range of each column to `feature_range`; NaN stays."""

    sklearn_class = MinMaxScaler
    supported_params = any_value("feature_range", "clip", "copy")

    def apply(self, block: Numbers) -> Numbers:
        """Return the scaled block."""
        values = floats(block.values)
        values *= frames.to_device_of(self.fitted.scale_, values)
        values += frames.to_device_of(self.fitted.min_, values)
        if self.estimator.clip:
            low, high = self.estimator.feature_range
            frames.xp(values).clip(values, low, high, out=values)
        return Numbers(values)


class MaxAbsScalerTwin(_RangeTwin):
    """Divide each column by its greatest absolute value; NaN stays."""

    sklearn_class = MaxAbsScaler
    takes_sparse = True
    supported_params = any_value("clip", "copy")

    def apply(self, block: Numbers) -> Numbers:
        """Return the scaled block."""
        values = floats(block.values)
        values /= frames.to_device_of(self.fitted.scale_, values)
        if self.estimator.clip:
            frames.xp(values).clip(values, -1.0, 1.0, out=values)
        return Numbers(values)


class RobustScalerTwin(RowsTwin):
    """Subtract the median and divide by a range of quantiles, NaN left as it is.

    The quantiles are exact.
    """

    sklearn_class = RobustScaler
    takes_sparse = True
    supported_params = any_value(
        "with_centering", "with_scaling", "quantile_range", "unit_variance", "copy"
    )
    exact = True
    slower = {"F": range(10_000, 1_000_000), "C": range(10_000, 500_000)}

    def finalize(self, stats: RowBlocks) -> None:
        """Set `center_` and `scale_` as scikit-learn does."""
        estimator = self.estimator
        # scikit-learn checks the parameters, and takes as long for each column as for many rows.
        fitted = self.fitted = borrow(estimator).fit(np.zeros((1, 1)))
        self.refuse_columns(stats.counts == 0, "hold no values; drop them")
        fitted.center_ = median(stats) if estimator.with_centering else None
        fitted.scale_ = None
        if estimator.with_scaling:
            low, high = quantile(stats, np.array(estimator.quantile_range, dtype="float64") / 100)
            fitted.scale_ = _handle_zeros_in_scale(high - low)
            if estimator.unit_variance:
                of_normal = norm.ppf(np.array(estimator.quantile_range) / 100.0)
                fitted.scale_ = fitted.scale_ / (of_normal[1] - of_normal[0])

    def apply(self, block: Numbers) -> Numbers:
        """Return the scaled block."""
        xp = frames.xp(block.values)
        values = floats(block.values)
        if self.estimator.with_centering:
            values -= xp.asarray(self.fitted.center_)
        if self.estimator.with_scaling:
            values /= xp.asarray(self.fitted.scale_)
        return Numbers(values)


S = TypeVar("S")


def standardize(values: Array, scaler: StandardScaler) -> Any:
    """Return the values, which are changed, as a fitted scaler scales them.

    >>> standardize(np.array([[1.0]]), StandardScaler().fit([[3.0], [7.0]])).tolist()
    [[-2.0]]
    """
    if scaler.with_mean:
        values -= frames.to_device_of(scaler.mean_.astype(values.dtype), values)
    if scaler.with_std:
        values /= frames.to_device_of(scaler.scale_.astype(values.dtype), values)
    return values


def floats(values: Array) -> Any:
    """Return a copy in the type that scikit-learn computes in: its own, float64 for integers.

    >>> floats(np.ones(1, "float32")).dtype, floats(np.ones(1, "int8")).dtype
    (dtype('float32'), dtype('float64'))
    """
    return values.astype(values.dtype if values.dtype.kind == "f" else "float64")


def require_finite(twin: Twin[Any], values: Array) -> None:
    """Reject values that are not finite; the message names the first such column."""
    xp = frames.xp(values)
    if values.dtype.kind != "f" or bool((finite := xp.isfinite(values)).all()):
        return
    j = int(xp.nonzero(~finite.all(axis=0))[0][0])
    said = f"Input X contains infinity or a value too large for {values.dtype!r}."
    what, suggestion = "infinite values", "scale the column down, or drop it"
    if bool(xp.isnan(values[:, j]).any()):
        said = "Input X contains NaN."
        what, suggestion = "missing values (NaN)", "impute them before this step (SimpleImputer)"
    where = f"{type(twin.estimator).__name__}: column {twin.name(j)!r}"
    raise DataError(f"{said}\n{where} holds {what}, which it does not support; {suggestion}")


class FiniteTwin(Twin[S]):
    """A step that takes finite numbers only; `statistics` has checked those it is fitted on."""

    def apply(self, block: Numbers) -> Block:
        """Transform a block, once it is checked."""
        require_finite(self, block.values)
        return self.apply_training(block)

    @abstractmethod
    def apply_training(self, block: Numbers, *aligned: Any) -> Block:
        """Transform a block of finite numbers."""


class StatelessTwin(FiniteTwin[int]):
    """A step whose fit only checks its input; the statistic is the number of columns."""

    def statistics(self, block: Numbers, *aligned: Any) -> int:
        """Check the block, and return its width."""
        require_finite(self, block.values)
        return block.width

    def merge(self, a: int, b: int) -> int:
        """Return the width, which is the same for all blocks."""
        return a

    def finalize(self, stats: int) -> None:
        """Fit scikit-learn's transformer on one row; it checks the parameters."""
        self.fitted = borrow(self.estimator).fit(np.zeros((1, stats)))


class NormalizerTwin(StatelessTwin):
    """Divide each row by its norm; rows of zeros stay. Norms are summed in float64."""

    sklearn_class = Normalizer
    takes_sparse = True
    slower = {"F": range(15_000, 10_000_000), "C": range(300_000, 5_000_000)}
    supported_params = any_value("norm", "copy")

    def apply_training(self, block: Numbers, *aligned: Any) -> Numbers:
        """Return the block with rows of norm one."""
        xp = frames.xp(block.values)
        values = floats(block.values)
        norms = _norms(values.astype("float64", copy=False), self.estimator.norm, xp)
        small = norms < 10 * np.finfo(values.dtype).eps
        values /= xp.where(small, 1.0, norms).astype(values.dtype)[:, None]
        return Numbers(values)


def _norms(values: Array, norm: str, xp: ModuleType) -> Any:
    if norm == "l2":
        return xp.sqrt((values * values).sum(axis=1))
    sizes = xp.abs(values)
    return sizes.sum(axis=1) if norm == "l1" else sizes.max(axis=1)
