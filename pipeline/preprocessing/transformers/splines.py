"""SplineTransformer on blocks."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import SplineTransformer

from pipeline.data import frames
from pipeline.errors import Reason
from pipeline.preprocessing.engine.blocks import Numbers
from pipeline.preprocessing.engine.twin import ANY, Twin
from pipeline.preprocessing.statistics.min_max import MinMax, min_max
from pipeline.preprocessing.statistics.quantiles import (
    KeptRows,
    Values,
    collect_values,
    keep_rows,
    quantile,
)
from pipeline.typing import Array, Estimator

LEAST_DEGREE = {"constant": 1, "linear": 2}
"""Below these degrees, scikit-learn extrapolates wrongly or not at all."""


class Basis(NamedTuple):
    """The B-splines of all columns, on the host.

    Parameters
    ----------
    knots : numpy.ndarray, shape (n_columns, n_all_knots)
        With the `degree` knots that are added at either end.
    degree : int
    width : int
        Number of splines a column. Of periodic ones, the last `degree` are the first.
    """

    knots: np.ndarray
    degree: int
    width: int

    @property
    def periodic(self) -> bool:
        """Whether there are fewer splines than knots call for."""
        return self.width < self.knots.shape[1] - self.degree - 1


class Edge(NamedTuple):
    """Where one end of the splines is, and how they go on beyond it, on the host.

    Parameters
    ----------
    at : numpy.ndarray, shape (n_columns,)
    value, slope : numpy.ndarray, shape (n_columns, width)
    """

    at: np.ndarray
    value: np.ndarray
    slope: np.ndarray


class SplineTransformerTwin(Twin[Any]):
    """Replace each column by the values of its B-splines.

    The splines are computed by the recursion of de Boor and Cox, in the order
    of operations of SciPy. Knots at quantiles are exact, or within `rank_error`
    of the ranks asked for.
    """

    sklearn_class = SplineTransformer
    supported_params = {
        "n_knots": ANY,
        "degree": ANY,
        "knots": ANY,
        "extrapolation": ("error", "constant", "linear", "continue", "periodic"),
        "include_bias": ANY,
        "order": ANY,
        "handle_missing": ("error", "zeros"),
        "sparse_output": ANY,
    }
    reads = Numbers
    weighted = True

    def makes_sparse(self, given: bool) -> bool:
        """Return what `sparse_output` says."""
        return bool(self.estimator.sparse_output)

    @classmethod
    def unsupported_reasons(cls, estimator: BaseEstimator, step: str) -> list[Reason]:
        """Return the reasons; extrapolation of low degrees is one."""
        reasons = super().unsupported_reasons(estimator, step)
        least = LEAST_DEGREE.get(str(estimator.extrapolation), 0)
        if isinstance(estimator.degree, Integral) and 0 <= int(estimator.degree) < least:
            mode, degree = estimator.extrapolation, estimator.degree
            why = f"{mode!r} is faulty in scikit-learn for degree={degree}"
            suggestion = "use 'continue', which means the same for this degree"
            reasons.append(Reason(step, why, suggestion, "extrapolation"))
        return reasons

    def statistics(self, block: Numbers, *aligned: Any) -> Values | MinMax | KeptRows:
        """Keep the values for quantiles, or a sketch of them, and else their bounds."""
        self._check_missing(block.values)
        if aligned:
            return keep_rows(block.values, aligned)
        if self._by_quantiles():
            return collect_values(block.values, self.rank_error)
        return min_max(block.values)

    def _by_quantiles(self) -> bool:
        return isinstance(self.estimator.knots, str) and self.estimator.knots == "quantile"

    def _check_missing(self, values: Array) -> None:
        if self.estimator.handle_missing == "error":
            xp = frames.xp(values)
            self.refuse_columns(
                frames.to_host(xp.isnan(values).any(axis=0)),
                "hold missing values (NaN); impute them first (SimpleImputer) or set "
                "handle_missing='zeros'",
                "Input X contains NaN values and `SplineTransformer` is configured to error in "
                "this case (handle_missing='error')",
            )

    def finalize(self, stats: Values | MinMax | KeptRows) -> None:
        """Fit scikit-learn's transformer on a table with the same bounds or quantiles."""
        if isinstance(stats, KeptRows):
            self.fitted = stats.fit(self.estimator)
        else:
            table = _bounds(stats) if isinstance(stats, MinMax) else self._quantiles(stats)
            self.fitted = clone(self.estimator).fit(table)
        self.prepare()

    def resume(self, fitted: Estimator) -> None:
        """Take a transformer whose splines are parts, as a saved model has them."""
        fitted.bsplines_ = [_spline(*parts) for parts in fitted.bsplines_]
        super().resume(fitted)

    def prepare(self) -> None:
        """Put the knots of all columns side by side, and note the edges."""
        splines, degree = self.fitted.bsplines_, int(self.estimator.degree)
        self._basis = Basis(np.stack([s.t for s in splines]), degree, splines[0].c.shape[1])
        self._edges = self._lower_edge(), self._upper_edge()

    def _quantiles(self, stats: Values) -> np.ndarray:
        knots = quantile(stats, np.linspace(0, 1, self.estimator.n_knots) * 100 / 100)
        # Three times each, so that no rounding of a rank mixes two of them.
        return np.repeat(knots, 3, axis=0)[1:-1] if stats.n_rows > 1 else knots[:1]

    def _lower_edge(self) -> Edge:
        kept = np.arange(self._basis.width) < self._basis.degree
        return self._edge(self._basis.knots[:, self._basis.degree], kept)

    def _upper_edge(self) -> Edge:
        kept = np.arange(self._basis.width)[::-1] < self._basis.degree
        return self._edge(self._basis.knots[:, -self._basis.degree - 1], kept)

    def _edge(self, at: np.ndarray, kept: np.ndarray) -> Edge:
        """Return value and slope of the splines that scikit-learn continues."""
        pairs = list(zip(self.fitted.bsplines_, at, strict=True))
        value = np.stack([spline(x) for spline, x in pairs]) * kept
        if self.estimator.extrapolation != "linear":
            return Edge(at, value, np.zeros_like(value))
        return Edge(at, value, np.stack([spline(x, nu=1) for spline, x in pairs]) * kept)

    def apply(self, block: Numbers) -> Numbers:
        """Return the values of the splines, once it is checked that none is missing."""
        self._check_missing(block.values)
        return self.apply_training(block)

    def apply_training(self, block: Numbers, *aligned: object) -> Numbers:
        """Return the values of the splines, those of one column side by side."""
        values = block.values.astype("float64")
        xp = frames.xp(values)
        lower, upper = (xp.asarray(edge.at) for edge in self._edges)
        out = splines(self._basis, self._moved_inside(values, lower, upper))
        continued = self.estimator.extrapolation in LEAST_DEGREE
        if continued:
            _continue(out, values, values < lower, self._edges[0])
            _continue(out, values, values > upper, self._edges[1])
        # Of a column without values at fit, scikit-learn knows no quantiles.
        for j in np.flatnonzero(np.isnan(self._edges[0].at)).tolist():
            out[:, j] = 0.0 if continued else xp.nan
        if self.estimator.handle_missing == "zeros":
            _blank(out, xp.isnan(values))
        out = out if self.estimator.include_bias else out[:, :, :-1]
        kind = block.values.dtype if block.values.dtype.kind == "f" else "float64"
        return Numbers(out.reshape(len(values), -1).astype(kind, copy=False))

    def _moved_inside(self, values: Array, lower: Array, upper: Array) -> Any:
        """Return where the splines are to be computed; what `_continue` replaces does not count."""
        xp = frames.xp(values)
        if self.estimator.extrapolation == "periodic":
            period = upper - lower
            along = (values - lower) % xp.where(period > 0, period, 1.0)
            return xp.where(period > 0, lower + along, 0.0)
        if self.estimator.extrapolation == "error":
            outside = ~((lower <= values) & (values <= upper)) & ~xp.isnan(values)
            self.refuse_columns(
                frames.to_host(outside.any(axis=0)),
                "hold values beyond the limits of the knots; set extrapolation to 'constant', "
                "'linear', 'continue' or 'periodic'",
                "`X` contains values beyond the limits of the knots",
            )
        return values


def spline_parts(spline: BSpline) -> tuple[np.ndarray, np.ndarray, int, bool | str]:
    """Return what SciPy makes a spline of, in any version."""
    return spline.t, spline.c, int(spline.k), spline.extrapolate


def _spline(knots: np.ndarray, coefficients: np.ndarray, degree: int, extrapolate: Any) -> BSpline:
    """Return a spline of its parts; all knots of a constant column are one, and NaN of an empty."""
    knots = np.ascontiguousarray(knots, "float64")
    if not (np.isnan(knots).all() or (np.diff(knots) >= 0).all()):
        raise ValueError("the knots of a spline are not in order")
    # SciPy checks the shapes, and would refuse these knots.
    checked = BSpline(np.arange(float(len(knots))), coefficients, degree)
    return BSpline.construct_fast(knots, checked.c, degree, extrapolate)


def _bounds(stats: MinMax) -> np.ndarray:
    """Return a table with the same bounds; of one row if there was only one."""
    table = np.where(stats.empty, np.nan, np.stack([stats.low, stats.high]))
    return table[: stats.n_rows]


def _continue(out: Array, values: Array, beyond: Any, edge: Edge) -> None:
    """Write the linear continuation where values lie beyond an edge."""
    xp = frames.xp(out)
    if xp is np:
        row, column = np.nonzero(beyond)
        at, value, slope = (array[column] for array in edge)
        out[row, column] = value + (values[row, column] - at)[:, None] * slope
        return
    # To ask where they are would be to wait for the GPU.
    at, value, slope = map(xp.asarray, edge)
    line = value + (values - at)[:, :, None] * slope
    xp.copyto(out, line, where=beyond[:, :, None])


def _blank(out: Array, missing: Array) -> None:
    """Write zeros where values are missing; on a GPU, without asking where that is."""
    xp = frames.xp(out)
    if xp is np:
        out[missing] = 0.0
    else:
        xp.copyto(out, 0.0, where=missing[:, :, None])


def splines(basis: Basis, x: Array) -> Any:
    """Return the B-splines at each value; beyond the knots, the outermost polynomials.

    Parameters
    ----------
    basis : Basis
    x : array of float64, shape (n_rows, n_columns)

    Returns
    -------
    array of float64, shape (n_rows, n_columns, width)

    Examples
    --------
    >>> hats = Basis(np.array([[-1.0, 0.0, 1.0, 2.0]]), degree=1, width=2)
    >>> splines(hats, np.array([[0.25]])).tolist()
    [[[0.75, 0.25]]]
    """
    xp = frames.xp(x)
    degree, width = basis.degree, basis.width
    out = xp.zeros(x.size * width)
    start = xp.arange(len(x)) * (x.shape[1] * width)
    # Column by column: what is computed for one stays in the caches.
    for j, knots in enumerate(xp.asarray(basis.knots)):
        column = xp.ascontiguousarray(x[:, j])
        first = xp.searchsorted(knots[degree + 1 : len(knots) - degree - 1], column, side="right")
        for i, part in enumerate(_recursion(knots, first + degree, column, degree)):
            spline = (first + i) % width if basis.periodic else first + i
            out[start + (spline + j * width)] += part
    return out.reshape(*x.shape, width)


def _recursion(knots: Array, at: Any, x: Array, degree: int) -> list[Any]:
    """Return the ``degree + 1`` splines that are not zero between knot `at` and the next one."""
    xp = frames.xp(x)
    near = {i: knots[at + i] for i in range(1 - degree, degree + 1)}
    parts = [xp.ones_like(x)]
    for order in range(1, degree + 1):
        raised = [xp.zeros_like(x)]
        for i, lower in enumerate(parts, start=1):
            right, left = near[i], near[i - order]
            # Between knots that coincide there is nothing, and infinity makes it zero.
            share = lower / xp.where(right == left, xp.inf, right - left)
            raised[-1] = raised[-1] + share * (right - x)
            raised.append(share * (x - left))
        parts = raised
    return parts
