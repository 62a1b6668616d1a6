"""QuantileTransformer on blocks.

KBinsDiscretizer on blocks.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.preprocessing import KBinsDiscretizer, QuantileTransformer

from pipeline.data import frames
from pipeline.preprocessing.engine.blocks import Block, Indicators, Numbers
from pipeline.preprocessing.engine.twin import ANY, FEW, Twin
from pipeline.preprocessing.statistics.quantiles import (
    KeptRows,
    RowBlocks,
    draw_rows,
    keep_rows,
    quantile,
    special_function,
    warn_of_empty,
)
from pipeline.preprocessing.transformers.scalers import FiniteTwin, floats, require_finite
from pipeline.typing import Array, DType, Estimator

NEAR_BOUND = 1e-7
"""Values this near to the least or greatest are sent to the end of the normal distribution."""


class QuantileTransformerTwin(Twin[RowBlocks]):
    """Replace each value by its rank among the training rows, uniform or as a normal variate.

    Above `subsample` rows, the quantiles are learnt from the rows that
    scikit-learn draws for the same `random_state`; with ``subsample=None`` they
    are those of all rows.
    """

    sklearn_class = QuantileTransformer
    takes_sparse = True
    supported_params = {
        "n_quantiles": ANY,
        "output_distribution": ("uniform", "normal"),
        "subsample": ANY,
        "random_state": ANY,
        "copy": ANY,
    }
    reads = Numbers
    slower = {"F": FEW, "C": FEW}

    def statistics(self, block: Numbers, *aligned: object) -> RowBlocks:
        """Keep the values."""
        return RowBlocks([block.values])

    def finalize(self, stats: RowBlocks) -> None:
        """Fit scikit-learn's transformer on the quantiles themselves."""
        # scikit-learn checks the parameters.
        self._fit(
            np.zeros((1, stats.n_columns)), self.estimator.n_quantiles, self.estimator.subsample
        )
        n_quantiles = min(self.estimator.n_quantiles, stats.n_rows)
        if n_quantiles < self.estimator.n_quantiles:
            warnings.warn(
                f"n_quantiles ({self.estimator.n_quantiles}) is greater than the total number of "
                f"samples ({stats.n_rows}). n_quantiles is set to n_samples.",
                UserWarning,
                stacklevel=2,
            )
        warn_of_empty(stats)
        levels = np.linspace(0, 1, n_quantiles) * 100 / 100
        learnt_from = draw_rows(
            stats, self.estimator.subsample, self.estimator.random_state, replace=False
        )
        found = quantile(learnt_from, levels)
        # Three times each, so that no rounding of a rank mixes two of them.
        self._fit(np.repeat(found, 3, axis=0)[1:-1], n_quantiles, None)
        self.prepare()

    def prepare(self) -> None:
        """Make the tables that interpolation reads."""
        references = self.fitted.references_
        self._tables = [quantile_table(column, references) for column in self.fitted.quantiles_.T]

    def apply(self, block: Numbers) -> Numbers:
        """Interpolate between the quantiles."""
        xp = frames.xp(block.values)
        columns = xp.ascontiguousarray(floats(block.values).T)
        shape = _normal if self.estimator.output_distribution == "normal" else _uniform
        pairs = zip(columns, self._tables, strict=True)
        return Numbers(xp.stack([shape(x, *xp.asarray(table)) for x, table in pairs], axis=1))

    def _fit(self, table: np.ndarray, n_quantiles: int, subsample: int | None) -> None:
        params = {"n_quantiles": n_quantiles, "subsample": subsample}
        with warnings.catch_warnings():
            # Of columns without any value; they stay without any.
            warnings.simplefilter("ignore")
            fitted = clone(self.estimator).set_params(**params).fit(table)
        self.fitted = fitted.set_params(**self.estimator.get_params())


def quantile_table(quantiles: np.ndarray, references: np.ndarray) -> np.ndarray:
    """Return what interpolation needs at each quantile, shape (6, n_quantiles).

    The rows are the quantile, the rank right of it, the slope up to the next
    one, the rank at it, which is the middle of the ranks that share its value,
    and the next quantile with its rank.

    >>> quantile_table(np.array([1.0, 1.0, 3.0]), np.array([0.0, 0.5, 1.0]))[2:4].tolist()
    [[0.0, 0.25, 0.0], [0.25, 0.25, 1.0]]
    """
    following, top = (np.append(each[1:], each[-1:]) for each in (quantiles, references))
    steps, rises = following - quantiles, top - references
    slopes = np.divide(rises, steps, out=np.zeros_like(steps), where=steps != 0)
    first, after = (np.searchsorted(quantiles, quantiles, side=side) for side in ("left", "right"))
    middle = 0.5 * (references[first] + references[after - 1])
    return np.stack([quantiles, references, slopes, middle, following, top])


def _ranks(values: Array, quantiles: Array, *tables: Any) -> Any:
    """Return ranks from 0 to 1; above the quantiles, that of the last one.

    They are the mean of what lies above the quantile before and below the one after, for
    scikit-learn interpolates both ways.
    """
    xp = frames.xp(values)
    x = values.astype("float64", copy=False)
    at = xp.maximum(xp.searchsorted(quantiles, x, side="right") - 1, 0)
    base, slope, middle, following, top = (table[at] for table in tables)
    beyond = x - quantiles[at]
    between = 0.5 * ((slope * beyond + base) - (slope * (following - x) - top))
    return xp.where(beyond == 0, middle, between).astype(values.dtype, copy=False)


def _uniform(x: Array, quantiles: Array, *tables: Any) -> Any:
    xp = frames.xp(x)
    ranks = _ranks(x, quantiles, *tables)
    ranks = xp.where(x == quantiles[-1], 1.0, ranks)
    return xp.where(x <= quantiles[0], 0.0, ranks)


def _normal(x: Array, quantiles: Array, *tables: Any) -> Any:
    xp = frames.xp(x)
    ranks = _ranks(x, quantiles, *tables)
    ranks = xp.where(x + NEAR_BOUND > quantiles[-1], 1.0, ranks)
    ranks = xp.where(x - NEAR_BOUND < quantiles[0], 0.0, ranks)
    nearest = NEAR_BOUND - np.spacing(1)
    made = special_function("ndtri", x)(ranks)
    ends = float(ndtri(nearest)), float(ndtri(1 - nearest))
    return xp.clip(made, *ends).astype(x.dtype, copy=False)


NARROW = 1e-8
"""Bins that are not wider are left out, as in scikit-learn."""


class KBinsDiscretizerTwin(FiniteTwin[RowBlocks | KeptRows]):
    """Replace each value by the number of its bin, or by an indicator of it.

    Above `subsample` rows, the edges are learnt from the rows that scikit-learn
    draws for the same `random_state`.

    Of weighted rows, and by ``strategy="kmeans"``, scikit-learn learns the edges itself, on the
    host.
    """

    sklearn_class = KBinsDiscretizer
    supported_params = {
        "n_bins": ANY,
        "encode": ("onehot", "onehot-dense", "ordinal"),
        "strategy": ("uniform", "quantile", "kmeans"),
        "quantile_method": ANY,
        "dtype": ANY,
        "subsample": ANY,
        "random_state": ANY,
    }
    weighted = True
    one_hot = True
    slower = {"F": range(500_000), "C": range(500_000)}

    @classmethod
    def slower_at(cls, estimator: KBinsDiscretizer) -> Mapping[str, range]:
        """Return the rows where bins are numbered: what is one-hot is kept unexpanded."""
        numbered = estimator.encode == "ordinal" and estimator.strategy == "quantile"
        return cls.slower if numbered else {}

    @classmethod
    def makes_sparse(cls, estimator: Estimator, given: bool) -> bool:
        """Return whether `encode` says so."""
        return bool(estimator.encode == "onehot")

    def statistics(self, block: Numbers, *aligned: Any) -> RowBlocks | KeptRows:
        """Keep the values, with their weights."""
        require_finite(self, block.values)
        if aligned or self.estimator.strategy == "kmeans":
            return keep_rows(block.values, aligned)
        return RowBlocks([block.values])

    def finalize(self, stats: RowBlocks | KeptRows) -> None:
        """Set `bin_edges_`, `n_bins_` and the encoder of one-hot output."""
        self.fitted = stats.fit(self.estimator) if isinstance(stats, KeptRows) else self._fit(stats)

    def _fit(self, stats: RowBlocks) -> Any:
        """Return the transformer with edges from bounds or quantiles."""
        estimator, dtype = self.estimator, stats.dtype
        _fit_quietly(estimator, np.zeros((1, stats.n_columns), dtype=dtype))
        learnt_from = draw_rows(stats, estimator.subsample, estimator.random_state, replace=True)
        edges = self._edges(learnt_from, np.broadcast_to(estimator.n_bins, stats.n_columns))
        self._check_bins(edges)
        return self._fit_to(edges, dtype)

    def _edges(self, stats: RowBlocks, bins: np.ndarray) -> list[np.ndarray]:
        bounds = stats.min_max
        ends = list(zip(bounds.low, bounds.high, bins, strict=True))
        if self.estimator.strategy == "uniform":
            found = [np.linspace(low, high, n + 1) for low, high, n in ends]
        else:
            found = self._quantiles(stats, bins)
        return [
            _checked(edges, n, j) if low < high else _everything(j)
            for j, ((low, high, n), edges) in enumerate(zip(ends, found, strict=True))
        ]

    def _quantiles(self, stats: RowBlocks, bins: np.ndarray) -> list[np.ndarray]:
        method = self.estimator.quantile_method
        found = {
            n: quantile(stats, np.linspace(0, 100, n + 1) / 100, method) for n in set(bins.tolist())
        }
        return [_wide(found[n][:, j]) for j, n in enumerate(bins.tolist())]

    def _check_bins(self, edges: list[np.ndarray]) -> None:
        if self.estimator.encode != "ordinal":
            self.refuse_columns(
                np.array([len(each) < 2 for each in edges]),
                f"hold values within {NARROW} of each other, so no bin is left; scale them first "
                "(StandardScaler), leave them out, or use encode='ordinal'",
            )

    def _fit_to(self, edges: list[np.ndarray], dtype: DType) -> Any:
        """Let scikit-learn fit as many bins per column; the edges are then set to those given.

        A column of zeros gets one bin, any other as many as asked for.
        """
        bins = np.array([len(e) - 1 for e in edges])
        table = np.stack([np.zeros(len(bins)), bins > 1]).astype(dtype)
        asked = np.maximum(bins, 2)
        estimator = clone(self.estimator).set_params(
            n_bins=asked, strategy="uniform", subsample=None
        )
        fitted = _fit_quietly(estimator, table).set_params(**self.estimator.get_params())
        for j, found in enumerate(edges):
            fitted.bin_edges_[j] = found
        fitted.n_bins_ = bins
        return fitted

    def apply_training(self, block: Numbers, *aligned: object) -> Block:
        """Return the bin of each value."""
        xp = frames.xp(block.values)
        # float32 values may round to the other side of an edge; scikit-learn's do.
        values = (
            block.values
            if self.estimator.dtype is None
            else block.values.astype(self.estimator.dtype)
        )
        dtype = np.dtype("float32" if values.dtype == "float32" else "float64")
        columns = xp.ascontiguousarray(values.astype("float64").T)
        found = [
            xp.searchsorted(xp.asarray(edges[1:-1]), column, side="right")
            for edges, column in zip(self.fitted.bin_edges_, columns, strict=True)
        ]
        if self.estimator.encode == "ordinal":
            return Numbers(xp.stack(found, axis=1).astype(dtype))
        return Indicators(found, [int(n) for n in self.fitted.n_bins_], dtype)


def _fit_quietly(estimator: Estimator, table: np.ndarray) -> Any:
    """Let scikit-learn fit, and check the parameters; its warnings are about our table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(estimator).fit(table)


def _everything(j: int) -> np.ndarray:
    """Return the edges of a constant column, and warn of it by scikit-learn's words."""
    constant = f"Feature {j} is constant and will be replaced with 0."
    warnings.warn(constant, UserWarning, stacklevel=2)
    return np.array([-np.inf, np.inf])


def _checked(edges: np.ndarray, asked: int, j: int) -> np.ndarray:
    """Return the edges; warn by scikit-learn's words where some of the bins asked for are gone."""
    if len(edges) - 1 != asked:
        warnings.warn(
            f"Bins whose width are too small (i.e., <= 1e-8) in feature {j} are removed. Consider "
            "decreasing the number of bins.",
            UserWarning,
            stacklevel=2,
        )
    return edges


def _wide(edges: np.ndarray) -> np.ndarray:
    """Return edges without those that make a bin too narrow.

    >>> _wide(np.array([0.0, 0.0, 1.0])).tolist()
    [0.0, 1.0]
    """
    return edges[np.ediff1d(edges, to_begin=np.inf) > NARROW]
