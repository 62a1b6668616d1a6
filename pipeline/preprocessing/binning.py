"""KBinsDiscretizer on blocks."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import KBinsDiscretizer

from pipeline import frames
from pipeline.errors import DataError
from pipeline.preprocessing.blocks import Block, Indicators, Numbers
from pipeline.preprocessing.quantiles import Values, blamed, drawn, gather, merge, quantile
from pipeline.preprocessing.rows import FiniteTwin, require_finite
from pipeline.preprocessing.twin import ANY

NARROW = 1e-8
"""Bins that are not wider are left out, as in scikit-learn."""


class KBinsDiscretizerTwin(FiniteTwin[Values]):
    """Replace each value by the number of its bin, or by an indicator of it.

    Above `subsample` rows, the edges are learnt from the rows that scikit-learn
    draws for the same `random_state`. With a `rank_error` they are learnt from
    all rows, the quantiles within this bound, and nothing is drawn.

    Indicators are written to the dense output matrix for both ``encode="onehot"``
    and ``"onehot-dense"``. ``strategy="kmeans"`` is not honoured: values half-way
    between two centres go to either by rounding, and the bins with them.
    """

    original = KBinsDiscretizer
    honours = {
        "n_bins": ANY,
        "encode": ("onehot", "onehot-dense", "ordinal"),
        "strategy": ("uniform", "quantile"),
        "quantile_method": ANY,
        "dtype": ANY,
        "subsample": ANY,
        "random_state": ANY,
    }

    def partial(self, block: Numbers, *aligned: object) -> Values:
        """Keep the values, or a summary of them."""
        require_finite(self, block.values)
        return gather(block.values, self.rank_error)

    def merge(self, a: Values, b: Values) -> Values:
        """Put the rows, or what is known of them, together."""
        return merge(a, b)

    def finish(self, stats: Values) -> None:
        """Set `bin_edges_`, `n_bins_` and the encoder of one-hot output."""
        spec, dtype = self.spec, stats.dtype
        _fit_quietly(spec, np.zeros((1, stats.n_columns), dtype=dtype))
        learnt_from = drawn(stats, spec.subsample, spec.random_state, replace=True)
        edges = self._edges(learnt_from, np.broadcast_to(spec.n_bins, stats.n_columns))
        self._check_bins(edges)
        self.fitted = self._fit_to(edges, dtype)
        self.record_names(stats.n_columns)

    def _edges(self, stats: Values, bins: np.ndarray) -> list[np.ndarray]:
        bounds = stats.extent
        ends = list(zip(bounds.low, bounds.high, bins, strict=True))
        if self.spec.strategy == "uniform":
            found = [np.linspace(low, high, n + 1) for low, high, n in ends]
        else:
            found = self._quantiles(stats, bins)
        everything = np.array([-np.inf, np.inf])
        return [
            everything if low == high else edges
            for (low, high, _), edges in zip(ends, found, strict=True)
        ]

    def _quantiles(self, stats: Values, bins: np.ndarray) -> list[np.ndarray]:
        method = self.spec.quantile_method
        found = {
            n: quantile(stats, np.linspace(0, 100, n + 1) / 100, method) for n in set(bins.tolist())
        }
        return [_wide(found[n][:, j]) for j, n in enumerate(bins.tolist())]

    def _check_bins(self, edges: list[np.ndarray]) -> None:
        none = np.array([len(e) < 2 for e in edges])
        if none.any() and self.spec.encode != "ordinal":
            raise DataError(
                f"{blamed(self, none)} values within {NARROW} of each other, so no bin is left; "
                "scale them first (StandardScaler), leave them out, or use encode='ordinal'"
            )

    def _fit_to(self, edges: list[np.ndarray], dtype: Any) -> Any:
        """Let scikit-learn fit as many bins per column; the edges are then ours.

        A column of zeros gets one bin, any other as many as asked for.
        """
        bins = np.array([len(e) - 1 for e in edges])
        table = np.stack([np.zeros(len(bins)), bins > 1]).astype(dtype)
        asked = np.maximum(bins, 2)
        spec = clone(self.spec).set_params(n_bins=asked, strategy="uniform", subsample=None)
        fitted = _fit_quietly(spec, table).set_params(**self.spec.get_params())
        for j, found in enumerate(edges):
            fitted.bin_edges_[j] = found
        fitted.n_bins_ = bins
        return fitted

    def apply_training(self, block: Numbers, *aligned: object) -> Block:
        """Return the bin of each value."""
        xp = frames.array_module(frames.device_of(block.values))
        # float32 values may round to the other side of an edge; scikit-learn's do.
        values = block.values if self.spec.dtype is None else block.values.astype(self.spec.dtype)
        dtype = values.dtype if values.dtype.kind == "f" else np.dtype("float64")
        columns = xp.ascontiguousarray(values.astype("float64").T)
        found = [
            xp.searchsorted(xp.asarray(edges[1:-1]), column, side="right")
            for edges, column in zip(self.fitted.bin_edges_, columns, strict=True)
        ]
        if self.spec.encode == "ordinal":
            return Numbers(xp.stack(found, axis=1).astype(dtype))
        return Indicators(found, [int(n) for n in self.fitted.n_bins_], dtype)


def _fit_quietly(spec: Any, table: np.ndarray) -> Any:
    """Let scikit-learn fit, and check the parameters; its warnings are about our table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(spec).fit(table)


def _wide(edges: np.ndarray) -> np.ndarray:
    """Return edges without those that make a bin too narrow.

    >>> _wide(np.array([0.0, 0.0, 1.0])).tolist()
    [0.0, 1.0]
    """
    return edges[np.ediff1d(edges, to_begin=np.inf) > NARROW]
