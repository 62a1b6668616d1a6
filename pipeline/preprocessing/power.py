"""PowerTransformer on blocks."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from scipy import optimize
from scipy.stats import boxcox_normmax
from sklearn.base import clone
from sklearn.preprocessing import PowerTransformer, StandardScaler

from pipeline import frames
from pipeline.errors import DataError
from pipeline.preprocessing import moments
from pipeline.preprocessing.blocks import Numbers
from pipeline.preprocessing.quantiles import Rows, blamed, each, special
from pipeline.preprocessing.scaling import StandardScalerTwin
from pipeline.preprocessing.twin import ANY, Twin

FLOAT = np.finfo("float64")
ALMOST_ZERO = 1e-100
"""``expm1(p * x) / p`` is x to the last digit for this p, and 0 / 0 for 0."""


class PowerTransformerTwin(Twin[Rows]):
    """Bring each column near to a normal distribution by the most likely power of it.

    SciPy's optimiser finds the power with some 30 evaluations of the likelihood
    of all rows. So the values are kept on the device until `finish`, whatever
    `rank_error` allows for: no row is left out. An evaluation brings one number
    to the host. The optimum is flat, so rows in another order, added up with
    another rounding, give a power that agrees to some 8 digits.
    """

    original = PowerTransformer
    honours = {"method": ("yeo-johnson", "box-cox"), "standardize": ANY, "copy": ANY}
    reads = Numbers

    def partial(self, block: Numbers, *aligned: object) -> Rows:
        """Keep the values."""
        self._check_positive(block.values)
        return Rows([block.values.astype("float64")])

    def merge(self, a: Rows, b: Rows) -> Rows:
        """Put the rows one after the other."""
        return a.merge(b)

    def finish(self, stats: Rows) -> None:
        """Set `lambdas_` and the scaler of the transformed columns."""
        # scikit-learn checks the parameters and makes the scaler.
        table = np.repeat([[1.0], [2.0]], stats.n_columns, axis=1)
        fitted = self.fitted = clone(self.spec).fit(table)
        self._check_values(stats)
        find = best_yeo_johnson if self.spec.method == "yeo-johnson" else best_box_cox
        powers = each(lambda j: find(stats.column(j)), range(stats.n_columns), stats.blocks[0])
        fitted.lambdas_ = np.array(powers)
        if self.spec.standardize:
            vars(fitted._scaler).update(vars(self._scaler(stats)))
        self.record_names(stats.n_columns)

    def _scaler(self, stats: Rows) -> StandardScaler:
        """Return the scaler fitted on the transformed rows."""
        xp = stats.xp
        parts = each(
            lambda block: moments.moments(self._powered(block), xp), stats.blocks, stats.blocks[0]
        )
        twin = StandardScalerTwin(StandardScaler(copy=False))
        twin.finish(reduce(moments.merge, parts))
        return twin.fitted

    def _check_positive(self, values: Any) -> None:
        if self.spec.method == "box-cox":
            bad = frames.to_host((values <= 0).any(axis=0))
            if bad.any():
                raise DataError(
                    f"{blamed(self, bad)} values that are not positive, and Box-Cox needs positive "
                    "ones; use method='yeo-johnson'"
                )

    def _check_values(self, stats: Rows) -> None:
        bounds = stats.extent
        if bounds.empty.any():
            raise DataError(f"{blamed(self, bounds.empty)} no values; leave them out")
        constant = bounds.low == bounds.high
        if constant.any() and self.spec.method == "box-cox":
            raise DataError(
                f"{blamed(self, constant)} one value only, from which Box-Cox can learn no power; "
                "leave them out or use method='yeo-johnson'"
            )

    def apply(self, block: Numbers) -> Numbers:
        """Return the powers, standardised if asked for, in float64."""
        self._check_positive(block.values)
        values = self._powered(block.values.astype("float64"))
        if self.spec.standardize:
            xp, scaler = frames.array_module(frames.device_of(values)), self.fitted._scaler
            values = (values - xp.asarray(scaler.mean_)) / xp.asarray(scaler.scale_)
        return Numbers(values)

    def _powered(self, values: Any) -> Any:
        xp = frames.array_module(frames.device_of(values))
        powers = self.fitted.lambdas_
        if self.spec.method == "box-cox":
            return special("boxcox", values)(values, xp.asarray(powers))
        up, down = (xp.asarray(_not_zero(p)) for p in (powers, 2 - powers))
        return yeo_johnson(xp.log1p(xp.abs(values)), values < 0, up, down)


def _not_zero(powers: np.ndarray) -> np.ndarray:
    return np.where(powers == 0, ALMOST_ZERO, powers)


def yeo_johnson(logs: Any, negative: Any, up: Any, down: Any) -> Any:
    """Return the Yeo-Johnson transform.

    Parameters
    ----------
    logs : array
        Logarithm of one plus the absolute values.
    negative : array of bool
        Where the values are negative.
    up, down : float or array
        The power, and two minus the power; neither is zero.
    """
    xp = frames.array_module(frames.device_of(logs))
    grown = xp.where(negative, down, up)
    grown *= logs
    xp.expm1(grown, out=grown)
    grown /= xp.where(negative, -down, up)
    return grown


def best_yeo_johnson(column: Any) -> float:
    """Return the most likely power of a column of float64, 1 if it is constant; NaN is missing."""
    xp = frames.array_module(frames.device_of(column))
    known = column[~xp.isnan(column)]
    if len(known) == len(column) and _is_constant(known) or not bool((known != 0).any()):
        return 1.0
    del column
    negative = known < 0
    # From here on every array counts: each is as long as the table.
    sizes = xp.abs(known, out=known)
    largest = float(sizes.max())
    logs = xp.log1p(sizes, out=sizes)
    total = float(xp.sum(xp.where(negative, -logs, logs)))

    def unlikelihood(power: float) -> float:
        up, down = (float(p) for p in _not_zero(np.array([power, 2 - power])))
        variance = float(xp.var(yeo_johnson(logs, negative, up, down)))
        # Where the variance vanishes, the likelihood says nothing.
        if not variance >= FLOAT.smallest_normal:
            return np.inf
        return len(logs) / 2 * float(np.log(variance)) - (power - 1) * total

    bounds = _bounds(largest, _signs(negative))
    with np.errstate(all="ignore"):
        return float(optimize.fminbound(unlikelihood, *bounds, xtol=1.48e-8))


def _is_constant(column: Any) -> bool:
    """Return whether a column varies by rounding only, by the bound that scikit-learn uses."""
    n, variance, mean = len(column), float(column.var()), float(column.mean())
    return bool(variance <= n * FLOAT.eps * variance + (n * mean * FLOAT.eps) ** 2)


def _signs(negative: Any) -> str:
    if bool(negative.all()):
        return "negative"
    return "mixed" if bool(negative.any()) else "positive"


def _bounds(largest: float, signs: str) -> tuple[float, float]:
    """Return the powers for which values 20 times as large neither vanish nor overflow.

    They are those of `scipy.stats.yeojohnson`, which scikit-learn calls.
    """
    log_size = float(np.log1p(20 * largest))
    log_eps = np.log(FLOAT.eps)
    low = float((np.log(FLOAT.tiny) - log_eps) / 2 / log_size)
    high = float((np.log(FLOAT.max) + log_eps) / 2 / log_size)
    if signs == "negative":
        return 2 - high, 2 - low
    return (low, high) if signs == "positive" else (max(2 - high, low), min(2 - low, high))


def best_box_cox(column: Any) -> float:
    """Return the most likely power of a positive column of float64; NaN is missing."""
    xp = frames.array_module(frames.device_of(column))
    column = column[~xp.isnan(column)]
    # SciPy looks at the extremes only, to keep the power from overflowing them.
    extremes = np.array([float(column.min()), float(column.max())])
    logs = xp.log(column, out=column)
    total = float(logs.sum())

    def unlikelihood(power: float) -> float:
        if power == 0:
            return len(logs) / 2 * float(np.log(float(logs.var()))) + total
        log_variance = _log_variance(float(power) * logs) - 2 * np.log(abs(power))
        return len(logs) / 2 * float(log_variance) - (power - 1) * total

    def optimum(_: Any) -> optimize.OptimizeResult:
        with np.errstate(all="ignore"):
            return optimize.minimize_scalar(unlikelihood, bracket=(-2.0, 2.0), method="brent")

    return float(boxcox_normmax(extremes, method="mle", optimizer=optimum))


def _log_variance(logs: Any) -> float:
    """Return the logarithm of the variance of ``exp(logs)``, which itself may overflow."""
    xp = frames.array_module(frames.device_of(logs))
    largest = float(logs.max())
    off = logs - largest
    mean = largest + float(np.log(float(xp.exp(off, out=off).mean())))
    off = xp.expm1(xp.subtract(logs, mean, out=off), out=off)
    off *= off
    return 2 * mean + float(np.log(float(off.mean())))
