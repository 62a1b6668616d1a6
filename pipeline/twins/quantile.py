"""QuantileTransformer and KBinsDiscretizer on blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.preprocessing import KBinsDiscretizer, QuantileTransformer

from pipeline.blocks.block import Block, Indicators, Numbers
from pipeline.errors import Reason, Unsupported
from pipeline.optional import load
from pipeline.table import frames
from pipeline.twins.scalers import FiniteTwin, RowsTwin, floats, require_finite
from pipeline.twins.statistics.quantiles import RowBlocks, draw_rows
from pipeline.twins.twin import ANY, any_value
from pipeline.typing import Array, Estimator, Form

NEAR_BOUND = 1e-7
"""Values this near to the least or greatest are sent to the end of the normal distribution."""


class QuantileTransformerTwin(RowsTwin):
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
    slower = {"F": range(20_000), "C": range(20_000)}

    def finalize(self, stats: RowBlocks) -> None:
        """Let scikit-learn learn from the rows that it would draw."""
        size, seed = self.estimator.subsample, self.estimator.random_state
        drawn = draw_rows(stats, size, seed, replace=False)
        self.fitted = clone(self.estimator).fit(drawn.to_host())
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
    made = (ndtri if xp is np else load("cupyx.scipy.special.ndtri"))(ranks)
    ends = float(ndtri(nearest)), float(ndtri(1 - nearest))
    return xp.clip(made, *ends).astype(x.dtype, copy=False)


class KBinsDiscretizerTwin(FiniteTwin[RowBlocks]):
    """Replace each value by the number of its bin, or by an indicator of it.

    Above `subsample` rows, the edges are learnt from the rows that scikit-learn
    draws for the same `random_state`.
    """

    sklearn_class = KBinsDiscretizer
    supported_params = any_value(
        "n_bins", "encode", "strategy", "quantile_method", "dtype", "subsample", "random_state"
    )
    weighted = True
    slower = {"F": range(1_000_000), "C": range(1_000_000)}

    @classmethod
    def slower_at(cls, estimator: KBinsDiscretizer) -> Mapping[str, range]:
        """Return none where bins are not numbered: what is one-hot is kept unexpanded."""
        numbered = estimator.encode == "ordinal" and estimator.strategy == "quantile"
        return cls.slower if numbered else {}

    @classmethod
    def makes_sparse(cls, estimator: Estimator, given: Form = "dense") -> bool:
        """Return whether `encode` says so."""
        return bool(estimator.encode == "onehot")

    def statistics(self, block: Numbers, *aligned: Any) -> RowBlocks:
        """Keep the values."""
        if aligned:
            why = "with sample_weight, scikit-learn computes the bin edges, on the host"
            raise Unsupported(Reason("kbinsdiscretizer", why, "fit it without sample_weight"))
        require_finite(self, block.values)
        values = block.values
        return RowBlocks([values.astype("float64") if values.dtype.kind == "b" else values])

    def finalize(self, stats: RowBlocks) -> None:
        """Let scikit-learn learn from the rows that it would draw."""
        size, seed = self.estimator.subsample, self.estimator.random_state
        drawn = draw_rows(stats, size, seed, replace=True)
        self.fitted = clone(self.estimator).fit(drawn.to_host())

    def apply_training(self, block: Numbers, *aligned: object) -> Block:
        """Return the bin of each value."""
        xp = frames.xp(block.values)
        # float32 values may round to the other side of an edge; scikit-learn's do.
        values = block.values.astype(self.estimator.dtype or block.values.dtype, copy=False)
        dtype = np.dtype("float32" if values.dtype == "float32" else "float64")
        columns = xp.ascontiguousarray(values.astype("float64").T)
        found = [
            xp.searchsorted(xp.asarray(edges[1:-1]), column, side="right")
            for edges, column in zip(self.fitted.bin_edges_, columns, strict=True)
        ]
        if self.estimator.encode == "ordinal":
            return Numbers(xp.stack(found, axis=1).astype(dtype))
        return Indicators(found, [int(n) for n in self.fitted.n_bins_], dtype)
