"""PowerTransformer on blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize
from sklearn.base import clone
from sklearn.preprocessing import PowerTransformer, StandardScaler

from pipeline.blocks.block import Numbers
from pipeline.system import threads
from pipeline.table import frames
from pipeline.twins.scalers import RowsTwin, StandardScalerTwin, floats, standardize
from pipeline.twins.statistics.moments import Moments, moments
from pipeline.twins.statistics.quantiles import RowBlocks
from pipeline.twins.twin import any_value
from pipeline.typing import Array

LONG = 50_000
"""Rows for which SciPy's calls are long enough that threads do not wait for each other."""
FLOAT = np.finfo("float64")
ALMOST_ZERO = 1e-20
"""``expm1(p * x) / p`` is x to the last digit for this p, and 0 / 0 for 0."""


class PowerTransformerTwin(RowsTwin):
    """Bring each column near to a normal distribution by Yeo's and Johnson's most likely power.

    Rows of the host are learnt from by scikit-learn, many of them column by column on all cores. On
    a GPU SciPy's optimisers ask for the likelihood of some 30 powers, which is computed there. The
    optimum is flat, so that such a power agrees with scikit-learn's to some 8 digits.
    """

    sklearn_class = PowerTransformer
    supported_params = any_value("standardize", "copy")
    slower = {"F": range(200_000), "C": range(200_000)}

    def finalize(self, stats: RowBlocks) -> None:
        """Set `lambdas_` and the scaler of the transformed columns."""
        bounds = stats.min_max
        self.refuse_columns(bounds.empty, "hold no values; drop them")
        stats.record_transfers()
        on_host = stats.xp is np
        if on_host and stats.n_rows < LONG:
            self.fitted = clone(self.estimator).fit(np.asfortranarray(stats.to_host()))
            return
        low, high = floats(bounds.low), floats(bounds.high)  # whose type bounds the powers
        learn = self._learn_on_host if on_host else self._learn_on_gpu
        apply = threads.each if on_host else map
        with np.errstate(all="ignore"):
            columns = [
                *apply(lambda j: learn(stats.column(j), low[j], high[j]), range(stats.n_columns))
            ]
        # scikit-learn checks the parameters and makes the scaler; of constants it seeks no power.
        fitted = self.fitted = clone(self.estimator).fit(np.ones((2, stats.n_columns)))
        powers, *learnt = np.stack(columns, axis=1)
        fitted.lambdas_ = powers.astype(floats(bounds.low).dtype)
        if self.estimator.standardize:
            twin = StandardScalerTwin(StandardScaler(copy=False))
            twin.finalize(Moments(*learnt))
            vars(fitted._scaler).update(vars(twin.fitted))

    def _learn_on_host(self, column: np.ndarray, low: Any, high: Any) -> np.ndarray:
        """Return the power, and the four numbers of the moments of what it makes."""
        fitted = clone(self.estimator).set_params(standardize=False)
        made = fitted.set_output(transform="default").fit_transform(column[:, None])
        return np.array([fitted.lambdas_[0], *(each.item() for each in moments(made, np)[:4])])

    def _learn_on_gpu(self, column: Any, low: Any, high: Any) -> np.ndarray:
        """Return the same of a column of a GPU."""
        xp = frames.xp(column)
        column = column.astype("float64", copy=False)[:, None]
        seen, n_rows = moments(column, xp), len(column)
        logs, power = signed_logs(column), 1.0
        del column
        constant = seen.constant.item() and seen.rows.item() == n_rows
        if not (constant or low == high == 0):
            power = most_likely_power(logs[~xp.isnan(logs)], low, high)
        logs = powered(logs, *map(xp.asarray, factors(np.array([power]))))
        made = moments(logs, xp)
        return np.array([power, *(each.item() for each in made[:4])])

    def apply(self, block: Numbers) -> Numbers:
        """Return the powers, standardised if asked for."""
        values = floats(block.values)
        powers = map(frames.xp(values).asarray, factors(self.fitted.lambdas_))
        made = powered(signed_logs(values), *powers).astype(values.dtype, copy=False)
        if self.estimator.standardize:
            made = standardize(made, self.fitted._scaler)
        return Numbers(made)


def signed_logs(values: Array) -> Any:
    """Return the logarithms of one plus the sizes, with the signs of the values, by columns.

    >>> signed_logs(np.array([[-1.0, 1.0]])).round(3).tolist()
    [[-0.693, 0.693]]
    """
    xp = frames.xp(values)
    logs = xp.empty(values.shape, dtype=values.dtype, order="F")
    xp.log1p(xp.abs(values, out=logs), out=logs)
    return xp.copysign(logs, values, out=logs)


def factors(powers: np.ndarray) -> np.ndarray:
    """Return what multiplies logarithms below zero, and those above; none is zero."""
    both = np.array([powers - 2, powers])
    return np.where(both == 0, ALMOST_ZERO, both)


def powered(logs: Any, below: Any, above: Any) -> Any:
    """Return the powers of values, given their logarithms and what `factors` returns.

    >>> powered(np.log([[3.0, 5.0]]), 2.0, 2.0).round(9).tolist()
    [[4.0, 12.0]]
    """
    xp = frames.xp(logs)
    factor = xp.where(logs < 0, below, above)
    grown = logs * factor
    xp.expm1(grown, out=grown)
    grown /= factor
    return grown


def most_likely_power(logs: Any, low: Any, high: Any) -> float:
    """Return the power of a column of a GPU whose likelihood is greatest, as SciPy seeks it.

    `logs` are what `signed_logs` returns of the values, of which none is missing.
    """
    xp = frames.xp(logs)
    total = float(frames.to_host(logs.sum()))

    def unlikelihood(power: float) -> float:
        values = powered(logs, *factors(np.array(power)).tolist())
        values -= values.mean()
        values *= values  # in place: a copy would take as much memory as the column
        variance = values.mean()
        known = variance >= FLOAT.smallest_normal
        log_variance = xp.where(known, xp.log(variance), -np.inf)
        value = len(logs) / 2 * float(frames.to_host(log_variance)) - (power - 1) * total
        # Where the variance vanishes or overflows, the likelihood says nothing.
        return np.inf if np.isinf(value) else value

    return float(optimize.fminbound(unlikelihood, *_bounds(low, high), xtol=1.48e-8))


def _bounds(low: Any, high: Any) -> tuple[float, float]:
    """Return the powers for which values 20 times as large neither vanish nor overflow.

    They are those of `scipy.stats.yeojohnson`, which scikit-learn calls, for a type of values.
    """
    kind = np.finfo(np.asarray(low).dtype)
    log_size = float(np.log1p(20 * max(-float(low), float(high))))
    log_eps = np.log(float(kind.eps))
    least = float((np.log(float(kind.tiny)) - log_eps) / 2 / log_size)
    most = float((np.log(float(kind.max)) + log_eps) / 2 / log_size)
    if high < 0:
        return 2 - most, 2 - least
    return (least, most) if low >= 0 else (max(2 - most, least), min(2 - least, most))
