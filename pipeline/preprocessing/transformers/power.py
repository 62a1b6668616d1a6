"""PowerTransformer on blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
import scipy
from packaging.version import Version
from scipy import optimize
from scipy.stats import boxcox_normmax
from sklearn.base import clone
from sklearn.preprocessing import PowerTransformer, StandardScaler

from pipeline.data import frames
from pipeline.preprocessing.engine.blocks import Numbers
from pipeline.preprocessing.engine.twin import ANY, FEW, Twin
from pipeline.preprocessing.statistics.min_max import MinMax, min_max
from pipeline.preprocessing.statistics.moments import Moments, moments, stack_moments
from pipeline.preprocessing.statistics.quantiles import (
    KeptRows,
    RowBlocks,
    keep_rows,
    on_all_cores,
    special_function,
)
from pipeline.preprocessing.transformers.scalers import StandardScalerTwin, floats, standardize
from pipeline.system.threads import in_step
from pipeline.typing import Array

FLOAT = np.finfo("float64")
ALMOST_ZERO = 1e-20
"""``expm1(p * x) / p`` is x to the last digit for this p, and 0 / 0 for 0."""

AT_ONCE = 64
"""Columns of a table on a GPU of which the powers are sought in step, each by a thread."""

ONE_SIGN_IN_LOGS = Version(scipy.__version__) >= Version("1.18")
"""From this release on SciPy, and so scikit-learn, takes the variance of Yeo-Johnson's powers from
logarithms where all values have one sign. Where they hardly vary beside their size, as seconds
since 1970 do, it finds another optimum by it: the variance itself is lost in rounding."""


class Logs(NamedTuple):
    """What powers are learnt from.

    Parameters
    ----------
    min_max, moments : MinMax, Moments
        Of the values.
    rows : RowBlocks
        Their logarithms, as `signed_logs` makes them; the columns of a block are contiguous.
    """

    min_max: MinMax
    moments: Moments
    rows: RowBlocks

    def merge(self, other: Logs) -> Logs:
        """Put the rows one after the other."""
        return Logs(
            self.min_max.merge(other.min_max),
            self.moments.merge(other.moments),
            self.rows.merge(other.rows),
        )


class PowerTransformerTwin(Twin[Logs | KeptRows]):
    """Bring each column near to a normal distribution by the most likely power of it.

    SciPy's optimisers find the power with some 30 evaluations of the likelihood
    of all rows. So the logarithms are kept on the device until `finalize`. The
    searches of all columns go in step, and what they ask for in a round comes to
    the host in one copy. The optimum is flat, so rows in another order, added up with
    another rounding, give a power that agrees to some 8 digits. So on the CPU
    scikit-learn seeks Box-Cox's itself, and those of float32, in float32.
    """

    sklearn_class = PowerTransformer
    supported_params = {"method": ("yeo-johnson", "box-cox"), "standardize": ANY, "copy": ANY}
    reads = Numbers
    slower = {"F": FEW, "C": FEW}

    def statistics(self, block: Numbers, *aligned: object) -> Logs | KeptRows:
        """Take the logarithms, and what only the values show."""
        values = block.values.astype("float64", copy=False)
        xp = frames.xp(values)
        if self.in_memory and block.values.dtype == "float32":
            return keep_rows(block.values)
        if xp is np and self.estimator.method == "box-cox":
            return keep_rows(values)
        # `finalize` refuses values that have no logarithm.
        with np.errstate(all="ignore"):
            logs = signed_logs(values, self.estimator.method)
        return Logs(min_max(block.values), moments(values, xp), RowBlocks([logs]))

    def finalize(self, stats: Logs | KeptRows) -> None:
        """Set `lambdas_` and the scaler of the transformed columns."""
        if isinstance(stats, KeptRows):
            self._check_values(stats.rows.min_max)
            self.fitted = stats.fit(self.estimator)
        else:
            self._search(stats)

    def _search(self, stats: Logs) -> None:
        n_columns, like = stats.rows.n_columns, stats.rows.blocks[0]
        # scikit-learn checks the parameters and makes the scaler.
        fitted = self.fitted = clone(self.estimator).fit(
            np.repeat([[1.0], [2.0]], n_columns, axis=1)
        )
        self._check_values(stats.min_max)
        stats.rows.record_transfers()
        size = AT_ONCE if frames.device_of(like) == "cuda" else 1
        groups = [slice(start, start + size) for start in range(0, n_columns, size)]
        with np.errstate(all="ignore"):
            parts = on_all_cores(
                lambda group: PowerSearch(stats, group, self.estimator.method).search(),
                groups,
                like,
            )
        powers, *learnt = np.concatenate(parts, axis=1)
        fitted.lambdas_ = powers.astype(floats(stats.min_max.low).dtype)
        if self.estimator.standardize:
            twin = StandardScalerTwin(StandardScaler(copy=False))
            twin.finalize(Moments(*learnt))
            vars(fitted._scaler).update(vars(twin.fitted))

    def _check_values(self, bounds: MinMax) -> None:
        box_cox = self.estimator.method == "box-cox"
        words = "Column must not be all nan." if box_cox else ""
        self.refuse_columns(bounds.empty, "hold no values; leave them out", words)
        self._check_positive(bounds.low[None])
        if box_cox:
            self.refuse_columns(
                bounds.low == bounds.high,
                "hold one value only, from which Box-Cox can learn no power; leave them out or "
                "use method='yeo-johnson'",
                "Data must not be constant.",
            )

    def _check_positive(self, values: Array) -> None:
        if self.estimator.method == "box-cox":
            self.refuse_columns(
                frames.to_host((values <= 0).any(axis=0)),
                "hold values that are not positive, and Box-Cox needs positive ones; use "
                "method='yeo-johnson'",
                "The Box-Cox transformation can only be applied to strictly positive data",
            )

    def apply(self, block: Numbers) -> Numbers:
        """Return the powers, standardised if asked for."""
        self._check_positive(block.values)
        values = floats(block.values)
        values = self._powered(values).astype(values.dtype, copy=False)
        return Numbers(
            standardize(values, self.fitted._scaler) if self.estimator.standardize else values
        )

    def _powered(self, values: Array) -> Any:
        xp, powers = frames.xp(values), self.fitted.lambdas_
        if self.estimator.method == "box-cox":
            return special_function("boxcox", values)(values, xp.asarray(powers))
        logs = signed_logs(values, self.estimator.method)
        return powered(logs, *map(xp.asarray, factors(powers, self.estimator.method)))


def signed_logs(values: Array, method: str) -> Any:
    """Return the logarithms of a matrix, by columns.

    For Yeo-Johnson they are those of one plus the sizes, with the signs of the values.

    >>> signed_logs(np.array([[-1.0, 1.0]]), "yeo-johnson").round(3).tolist()
    [[-0.693, 0.693]]
    """
    xp = frames.xp(values)
    logs = xp.empty(values.shape, dtype=values.dtype, order="F")
    if method == "box-cox":
        return xp.log(values, out=logs)
    xp.log1p(xp.abs(values, out=logs), out=logs)
    return xp.copysign(logs, values, out=logs)


def factors(powers: np.ndarray, method: str) -> np.ndarray:
    """Return what multiplies logarithms below zero, and those above; none is zero."""
    both = np.array([powers if method == "box-cox" else powers - 2, powers])
    return np.where(both == 0, ALMOST_ZERO, both)


def powered(logs: Any, below: Any, above: Any) -> Any:
    """Return the powers of values, given their logarithms and what `factors` returns.

    >>> powered(np.log([[3.0, 5.0]]), 2.0, 2.0).round(9).tolist()
    [[4.0, 12.0]]
    """
    xp = frames.xp(logs)
    factor = above if below is above else xp.where(logs < 0, below, above)
    grown = logs * factor
    xp.expm1(grown, out=grown)
    grown /= factor
    return grown


class PowerSearch:
    """The logarithms of some columns, each of which is a row here, and how likely powers are.

    On a GPU they come in blocks, and nothing waits for it but one copy a round. On the CPU a
    column is alone, whole and without missing values, so that sums have the digits of SciPy's.

    Parameters
    ----------
    stats : Logs
    group : slice
        Which columns of the table; on the CPU one.
    method : str
        That of scikit-learn's PowerTransformer.
    """

    def __init__(self, stats: Logs, group: slice, method: str) -> None:
        self.xp, self.method, yeo_johnson = stats.rows.xp, method, method == "yeo-johnson"
        low, high = (bound[group].astype("float64") for bound in stats.min_max[1:])
        self.low, self.high = low, high
        self.known = stats.moments.rows[group]
        self.ends = signed_logs(np.stack([low, high]), method)
        self.in_logs = ((low < 0) == (high < 0)) & (ONE_SIGN_IN_LOGS or not yeo_johnson)
        whole = self.known == stats.min_max.n_rows
        # To scikit-learn a column is constant, too, where the variance overflows.
        constant = (stats.moments.constant | np.isnan(stats.moments.variance))[group] & whole
        self.sought = np.flatnonzero(~(constant | (low == 0) & (high == 0)) | (not yeo_johnson))
        self.blocks = [block.T[group] for block in stats.rows.blocks]
        if self.xp is np:
            column = np.concatenate(self.blocks, axis=1)
            self.blocks = [column if whole.all() else column[:, ~np.isnan(column[0])]]

    def search(self) -> np.ndarray:
        """Return the most likely powers, 1 for constants, and the moments of what they make."""
        powers, totals = np.ones(len(self.known)), frames.to_host(sum(map(_total, self.blocks)))
        searches = {j: partial(self._search, j, totals[j].item()) for j in self.sought.tolist()}
        for j, power in in_step(searches, self.log_variances).items():
            powers[j] = power
        columns = np.arange(len(powers))
        made = self._powered(columns, self._factors(columns, powers))
        blocks = frames.to_host(self.xp.stack([stack_moments(part.T, self.xp) for part in made]))
        return np.array([powers, *reduce(Moments.merge, (Moments(*block) for block in blocks))])

    def _search(self, j: int, total: float, log_variance: Callable[[float], float]) -> float:
        def unlikelihood(power: float) -> float:
            value = self.known[j] / 2 * log_variance(power) - (power - 1) * total
            # Where the variance vanishes or overflows, the likelihood says nothing.
            return np.inf if np.isinf(value) else float(value)

        def optimum(_: Any) -> optimize.OptimizeResult:
            return optimize.minimize_scalar(unlikelihood, bracket=(-2.0, 2.0), method="brent")

        low, high = self.low[j], self.high[j]
        if self.method == "yeo-johnson":
            return float(optimize.fminbound(unlikelihood, *_bounds(low, high), xtol=1.48e-8))
        # SciPy looks at the extremes only, to keep the power from overflowing them.
        return float(boxcox_normmax(np.array([low, high]), method="mle", optimizer=optimum))

    def log_variances(self, powers: Mapping[int, float]) -> dict[int, float]:
        """Return the logarithms of the variances that powers make, by one copy to the host."""
        columns = np.array(sorted(powers))
        tried = self._factors(columns, np.array([powers[j] for j in columns]))
        in_logs = self.in_logs[columns] & (abs(tried[1]) > FLOAT.eps)
        ways = (~in_logs, self._log_variance), (in_logs, self._log_variance_in_logs)
        found = [way(columns[which], tried[:, which]) for which, way in ways if which.any()]
        values = frames.to_host(self.xp.concatenate(found))
        order = np.concatenate([columns[which] for which, _ in ways])
        return dict(zip(order.tolist(), values.tolist(), strict=True))

    def _factors(self, columns: np.ndarray, powers: np.ndarray) -> np.ndarray:
        """Return the `factors` of columns; where all values have one sign they are equal."""
        tried = factors(powers, self.method)
        return np.array([np.where(end[columns] < 0, *tried) for end in (self.low, self.high)])

    def _log_variance(self, columns: np.ndarray, tried: np.ndarray) -> Any:
        parts = [_deviations(block) for block in self._powered(columns, tried)]
        n, _, squares = parts[0] if len(parts) == 1 else _together(self.xp.stack(parts, axis=1))
        variance = squares / n
        known = variance >= FLOAT.smallest_normal
        return self.xp.where(known, self.xp.log(variance), -np.inf)

    def _log_variance_in_logs(self, columns: np.ndarray, tried: np.ndarray) -> Any:
        """Return the same where values have one sign: the variance may overflow, or vanish."""
        xp, own = self.xp, tried[1]
        largest = (own * self.ends[:, columns]).max(axis=0)
        factor, n, origin = map(self._upright, (own, self.known[columns], largest))

        def mean(*functions: Callable[..., Any]) -> Any:
            total = 0.0
            for logs in self._logs(columns):
                off = logs * factor
                off -= origin
                for function in functions:
                    function(off, out=off)
                total += _total(off)
            return total / n

        origin = origin + xp.log(mean(xp.exp))
        squares = mean(xp.expm1, xp.square)
        return (2 * origin + xp.log(squares) - self._upright(2 * np.log(abs(own))))[:, 0]

    def _powered(self, columns: np.ndarray, tried: np.ndarray) -> Iterator[Any]:
        below, above = map(self._upright, tried)
        below = below if (tried[0] != tried[1]).any() else above
        return (powered(logs, below, above) for logs in self._logs(columns))

    def _logs(self, columns: np.ndarray) -> Iterator[Any]:
        if len(columns) == len(self.known):
            return iter(self.blocks)
        chosen = self.xp.asarray(columns)
        return (block[chosen] for block in self.blocks)

    def _upright(self, numbers: np.ndarray) -> Any:
        return self.xp.asarray(numbers)[:, None]


def _total(values: Array) -> Any:
    """Return the sums of rows, shape (n_rows, 1); on the CPU nothing is missing."""
    xp = frames.xp(values)
    return (xp.sum if xp is np else xp.nansum)(values, axis=1, keepdims=True)


def _deviations(values: Array) -> Any:
    """Return number, mean and squared deviations of rows, shape (3, n_rows); the rows are lost."""
    xp = frames.xp(values)
    n = (~xp.isnan(values)).sum(axis=1, keepdims=True)
    mean = _total(values) / xp.maximum(n, 1)
    values -= mean
    values *= values
    return xp.concatenate([n, mean, _total(values)], axis=1).T


def _together(parts: Any) -> Any:
    """Return what `_deviations` does of blocks together, given an array (3, n_blocks, n_rows)."""
    rows, means, squares = parts
    n, off = rows.sum(axis=0), means - means[0]
    step = (rows * off).sum(axis=0) / n
    return n, means[0] + step, (squares + rows * (off - step) ** 2).sum(axis=0)


def _bounds(low: float, high: float) -> tuple[float, float]:
    """Return the powers for which values 20 times as large neither vanish nor overflow.

    They are those of `scipy.stats.yeojohnson`, which scikit-learn calls.
    """
    log_size = float(np.log1p(20 * max(-low, high)))
    log_eps = np.log(FLOAT.eps)
    least = float((np.log(FLOAT.tiny) - log_eps) / 2 / log_size)
    most = float((np.log(FLOAT.max) + log_eps) / 2 / log_size)
    if high < 0:
        return 2 - most, 2 - least
    return (least, most) if low >= 0 else (max(2 - most, least), min(2 - least, most))
