"""CalendarFeatures: dates and times as numbers, for any scikit-learn pipeline.

Scikit-learn has no transformer for dates. This one follows its conventions, so a
pipeline that contains it is an ordinary pipeline; loading a saved one needs this
package. Its twin computes the same on blocks of dates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from pipeline.blocks.block import Dates, Numbers
from pipeline.blocks.table import side_by_side
from pipeline.errors import ConfigError, pick
from pipeline.optional import load
from pipeline.table import frames
from pipeline.table.convert import convert
from pipeline.table.datetimes import MISSING
from pipeline.twins.twin import Twin, any_value
from pipeline.typing import Array, Name, Table, Target

SECOND = 1_000_000_000
"""Nanoseconds."""
DAY = 86_400 * SECOND
PERIODS = {
    "quarter": 4,
    "month": 12,
    "weekofyear": 53,
    "day": 31,
    "dayofyear": 366,
    "weekday": 7,
    "hour": 24,
    "minute": 60,
    "second": 60,
}
"""Number of values of each feature that starts again; the year, for one, does not."""
FEATURES = (
    *("year", "quarter", "month", "weekofyear", "day", "dayofyear", "weekday"),
    *("hour", "minute", "second", "is_weekend", "is_month_start", "is_month_end"),
    *("days_since", "total_seconds"),
)
"""All features by name."""

Output = tuple[str, str]
"""A feature, and ``"sin"``, ``"cos"`` or ``""`` for itself."""


class CalendarFeatures(TransformerMixin, BaseEstimator):
    """Convert every column of dates and times into numbers that models can use.

    For times with a zone, the features are those of local time. Missing times (NaT, null) are NaN
    in every feature. The output is float64.

    Parameters
    ----------
    features : sequence of str
        In the order of the output columns. Names and values are those of pandas' ``.dt``:
        "year", "quarter", "month" (1 to 12), "day" (1 to 31), "dayofyear" (1 to 366),
        "weekday" (0 on Monday to 6), "hour", "minute", "second",
        "is_month_start", "is_month_end" (0 or 1).
        In addition: "weekofyear" (1 to 53, by ISO 8601), "is_weekend" (1 on Saturday and Sunday),
        "days_since" (days since `epoch`, with fractions),
        "total_seconds" (seconds since 1970-01-01, with fractions).
    cyclical : bool or sequence of str
        Features that are encoded as sine and cosine of ``2 * pi * value / period``, so that
        December is next to January. True: all in `features` that have a period, which is the
        number of their values: "quarter" 4, "month" 12, "weekofyear" 53, "day" 31,
        "dayofyear" 366, "weekday" 7, "hour" 24, "minute" 60, "second" 60.
    epoch : str, datetime.date, datetime.datetime, numpy.datetime64 or pandas.Timestamp
        The day from which "days_since" counts; a time zone is ignored.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns at fit.
    feature_names_in_ : numpy.ndarray of str
        Their names, if all are strings.

    Examples
    --------
    >>> X = pd.DataFrame({"sold": pd.to_datetime(["2024-02-29 18:30", None])})
    >>> calendar = CalendarFeatures(["month", "weekday"]).set_output(transform="pandas")
    >>> calendar.fit_transform(X)
       sold_month  sold_weekday
    0         2.0           3.0
    1         NaN           NaN
    >>> CalendarFeatures(["year", "hour"], cyclical=True).fit(X).get_feature_names_out().tolist()
    ['sold_year', 'sold_hour_sin', 'sold_hour_cos']
    """

    def __init__(
        self,
        features: Sequence[str] = ("year", "month", "day", "weekday", "hour"),
        *,
        cyclical: bool | Sequence[str] = False,
        epoch: str | date | np.datetime64 = "1970-01-01",
    ) -> None:
        self.features = features
        self.cyclical = cyclical
        self.epoch = epoch

    def fit(self, X: Table, y: Target = None) -> CalendarFeatures:
        """Check the parameters and the columns; nothing is learned from the rows.

        Parameters
        ----------
        X : frame or array of dates and times, shape (n_samples, n_features)
        y : None
            Ignored.

        Raises
        ------
        ConfigError
            A parameter cannot be used.
        DataError
            A column does not hold dates.
        """
        X = convert(X)
        validate_data(self, X, skip_check_array=True)
        encode_fields(nanoseconds(X[:1]), outputs(self), epoch_of(self))
        return self

    def transform(self, X: Table) -> Any:
        """Return the features of every column.

        Parameters
        ----------
        X : frame or array of dates and times, shape (n_samples, n_features)

        Returns
        -------
        array of float64, shape (n_samples, n_features_out)
            The features of the first column, then those of the second, and so on.

        Raises
        ------
        DataError
            A column does not hold dates. A column without any value may have another type.
        """
        check_is_fitted(self)
        X = convert(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return encode_fields(nanoseconds(X, _or_missing), outputs(self), epoch_of(self))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return ``<column>_<feature>`` for every output column, with ``_sin`` or ``_cos``."""
        names = OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        ends = ["_".join(filter(None, output)) for output in outputs(self)]
        return np.array([f"{name}_{end}" for name in names for end in ends], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")


def outputs(estimator: CalendarFeatures) -> list[Output]:
    """Return the output columns of an input column, in order.

    >>> outputs(CalendarFeatures(["year", "hour"], cyclical=["hour"]))
    [('year', ''), ('hour', 'sin'), ('hour', 'cos')]
    """
    features = _names("features", estimator.features, FEATURES)
    if not features:
        raise ConfigError(f"CalendarFeatures: features is empty; choose from {list(FEATURES)}")
    waves = [name for name in features if name in PERIODS]
    if estimator.cyclical is False:
        waves = []
    elif estimator.cyclical is not True:
        waves = _names("cyclical", estimator.cyclical, waves)
    return [(f, end) for f in features for end in (("sin", "cos") if f in waves else ("",))]


def _names(parameter: str, value: Array, known: Sequence[str]) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        why = f"{parameter}={value!r} is not a list of names"
        example = [value] if isinstance(value, str) else list(known[:2])
        raise ConfigError(f"CalendarFeatures: {why}; pass {example}")
    names = [pick(name, known, f"name in {parameter} of CalendarFeatures") for name in value]
    if len(set(names)) < len(names):
        raise ConfigError(
            f"CalendarFeatures: {parameter} contains a name twice: {names}; remove one of them"
        )
    return names


def epoch_of(estimator: CalendarFeatures) -> int:
    """Return `epoch` in nanoseconds since 1970-01-01.

    >>> epoch_of(CalendarFeatures(epoch="1970-01-02"))
    86400000000000
    """
    try:
        epoch = pd.Timestamp(estimator.epoch).tz_localize(None).as_unit("ns")
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"CalendarFeatures: epoch={estimator.epoch!r} is not a date: {error}; pass a date"
        ) from error
    if pd.isna(epoch):
        raise ConfigError(f"CalendarFeatures: epoch={estimator.epoch!r} is missing; pass a date")
    return int(epoch.value)


def nanoseconds(X: Table, read: Callable[[Any, Any], Any] = frames.datetimes) -> Any:
    """Return a frame or an array of times as a matrix of int64, given what reads a column."""
    names = X.columns if frames.is_frame(X) else range(X.shape[1])
    return side_by_side([read(X, name) for name in names], frames.xp(X))


def _or_missing(X: Table, name: Name) -> Any:
    # A table of few rows may hold no date at all, and then its column is no column of dates.
    column = frames.column(X, name)
    if column.dtype.kind == "f" and bool((column != column).all()):
        return frames.xp(X).full(len(column), MISSING, dtype="int64")
    return frames.datetimes(X, name)


def encode_fields(nanoseconds: Array, outputs: Sequence[Output], epoch: int = 0) -> Any:
    """Return features of every column side by side, all of the first column first.

    They are floats on the same device; NaN where the time is missing.

    >>> fields = [("year", ""), ("month", "cos")]
    >>> encode_fields(np.array([[0], [MISSING]]), fields).round(3).tolist()
    [[1970.0, 0.866], [nan, nan]]
    """
    xp = frames.xp(nanoseconds)
    columns = []
    for times in nanoseconds.T:
        missing = times == MISSING
        known = xp.where(missing, 0, times)
        found = {f: _field(f, known, epoch) for f in dict.fromkeys(f for f, _ in outputs)}
        waved = (_wave(found[f], PERIODS[f], end) if end else found[f] for f, end in outputs)
        columns += [xp.where(missing, xp.nan, values) for values in waved]
    return xp.stack(columns).T


def _field(feature: str, times: Array, epoch: int) -> Any:
    """Return a feature of points in time, of which none is missing."""
    if feature == "total_seconds":
        return times / SECOND
    if feature == "days_since":
        days, rest = divmod(epoch, DAY)
        whole = times // DAY
        return (whole - days) + (times - whole * DAY - rest) / DAY
    made = pd.Series if frames.xp(times) is np else load("cudf.Series")
    clock = made(times).astype("datetime64[ns]").dt
    if feature == "is_weekend":
        return (clock.weekday > 4).values
    found = clock.isocalendar()["week"] if feature == "weekofyear" else getattr(clock, feature)
    return found.astype("int64").values


def _wave(values: Array, period: int, wave: str) -> Any:
    # Looked up: the values are few, and the sines of the host are the same on every device.
    angles = np.arange(period + 1) * (2 * np.pi / period)
    return frames.to_device_of(getattr(np, wave)(angles), values)[values]


class CalendarFeaturesTwin(Twin[int]):
    """The estimator's own arithmetic; nothing is learned but the number of columns.

    What is fitted is the `CalendarFeatures` itself, so a pipeline that is handed over
    needs this package where it is loaded.
    """

    sklearn_class = CalendarFeatures
    supported_params = any_value("features", "cyclical", "epoch")
    reads = Dates

    def statistics(self, block: Dates, *aligned: Any) -> int:
        """Return the number of columns."""
        return block.width

    def merge(self, a: int, b: int) -> int:
        """Return the width, which is the same for all blocks."""
        return a

    def finalize(self, stats: int) -> None:
        """Fit the estimator on one missing time a column; it checks the parameters."""
        self.fitted = clone(self.estimator).fit(np.full((1, stats), "NaT", dtype="datetime64[ns]"))

    def apply(self, block: Dates) -> Numbers:
        """Return the features of each column, in float64."""
        return Numbers(encode_fields(block.values, outputs(self.fitted), epoch_of(self.fitted)))
