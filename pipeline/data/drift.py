"""What the columns held at fit, and how far other rows are from it.

A `ColumnProfile` is learnt from the training rows: ranges, shares of missing values, the values
of text, and how often each tenth of the numbers and each value came. `Counted` is the same of
other rows, batch by batch, so any number of rows takes the same memory.

The population stability index is the symmetric Kullback-Leibler divergence of the shares
(Kullback and Leibler 1951; Siddiqi, "Credit Risk Scorecards", 2006). Siddiqi reads less than
0.1 as no change, and more than 0.25 as one to look into. It is no test: with few rows it is
large by chance (Yurdakul 2018, "Statistical Properties of Population Stability Index").
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import pandas as pd

from pipeline.data.encode import encode_text
from pipeline.data.schema import kind_of
from pipeline.system.threads import each

BINS = 10
MOST_VALUES = 10_000
"""Different values of a column beyond which they are not kept."""
SHOWN = 3
_TICKS = {"date": "datetime64[ns]", "duration": "timedelta64[ns]"}


class ColumnProfile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One column of the training rows; dates and durations are nanoseconds.

    `counts` are the rows of each bin (the intervals that `edges` cut, or `values`), then
    those with any other value, then those without one.
    """

    kind: str
    low: float | None = None
    high: float | None = None
    edges: list[float] = []
    values: list[str] | None = None
    """None where the column is no text, or has more than `MOST_VALUES`."""
    counts: list[int] = []

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(self.counts)

    @property
    def missing(self) -> float:
        """Share of the rows without a value."""
        return self.counts[-1] / max(self.rows, 1)


class Counted(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The same of other rows, beside what was not there at fit."""

    counts: list[int]
    below: int = 0
    above: int = 0
    unseen: int = 0
    examples: list[str] = []

    def add(self, other: Counted) -> None:
        """Add the rows of another count."""
        self.counts = [a + b for a, b in zip(self.counts, other.counts, strict=True)]
        self.below, self.above = self.below + other.below, self.above + other.above
        self.unseen += other.unseen
        self.examples = list(dict.fromkeys([*self.examples, *other.examples]))[:SHOWN]


class Drift(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far the rows of a column are from those at fit."""

    name: str
    kind: str
    missing: float
    missing_at_fit: float
    below: int
    """Rows with less than the least number at fit."""
    above: int
    unseen: int | None
    """Rows with a value that was not there at fit; None where these are not known."""
    examples: list[str]
    psi: float


def fit_profiles(X: pd.DataFrame) -> dict[str, ColumnProfile]:
    """Return the profile of the columns of a table; what is "other" has none.

    >>> profiles = fit_profiles(pd.DataFrame({"n": [1.0, 2.0, None], "t": ["a", "b", "a"]}))
    >>> profiles["n"].low, profiles["n"].high, profiles["n"].counts[-1], profiles["t"].values
    (1.0, 2.0, 1, ['a', 'b'])
    """
    kinds = {name: kind_of(X[name]) for name in X.columns}
    return {
        str(name): _text(X[name]) if kind == "text" else _numbers(X[name], kind)
        for name, kind in kinds.items()
        if kind != "other"
    }


def _ticks(column: pd.Series, kind: str) -> np.ndarray:
    """Return a column as float64, missing values as NaN."""
    if str(column.dtype) == "category":
        column = column.astype(column.cat.categories.dtype if column.notna().all() else object)
    if kind not in _TICKS:
        return column.to_numpy(dtype="float64", na_value=np.nan)
    if getattr(column.dt, "tz", None) is not None:
        column = column.dt.tz_convert(None)
    values = column.astype(np.dtype(_TICKS[kind]))
    return np.where(values.isna(), np.nan, values.astype("int64").to_numpy())


def _numbers(column: pd.Series, kind: str) -> ColumnProfile:
    values = _ticks(column, kind)
    known = values[np.isfinite(values)]
    if not len(known):
        return ColumnProfile(kind=kind, counts=[0, 0, len(values)])
    inner = np.unique(np.quantile(known, np.linspace(0, 1, BINS + 1)[1:-1]))
    edges = [float(edge) for edge in inner]
    return ColumnProfile(
        kind=kind,
        low=float(known.min()),
        high=float(known.max()),
        edges=edges,
        counts=_histogram(values, edges),
    )


def _histogram(values: np.ndarray, edges: Sequence[float]) -> list[int]:
    """Count the rows of each interval, of infinite numbers, and of missing ones."""
    known = values[np.isfinite(values)]
    places = np.searchsorted(np.array(edges), known, side="right")
    counts = np.bincount(places, minlength=len(edges) + 1)
    missing = int(np.isnan(values).sum())
    return [*map(int, counts), len(values) - len(known) - missing, missing]


def _text(column: pd.Series) -> ColumnProfile:
    frequencies = _frequencies(column)
    missing = len(column) - int(frequencies.sum())
    values = sorted(frequencies.index) if len(frequencies) <= MOST_VALUES else None
    if values is None:
        return ColumnProfile(kind="text", counts=[int(frequencies.sum()), missing])
    return ColumnProfile(
        kind="text", values=values, counts=[*(int(frequencies[v]) for v in values), 0, missing]
    )


def _frequencies(column: pd.Series) -> pd.Series:
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype("str")
    codes, values = encode_text(column)
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    return pd.Series(counts, index=pd.Index(values, dtype=object))


def count_rows(X: pd.DataFrame, profile: Mapping[str, ColumnProfile]) -> dict[str, Counted]:
    """Return the counts of a table whose columns are those of the fit."""
    by_name = {str(name): X[name] for name in X.columns}
    counted = each(lambda name: _counted(by_name[name], profile[name]), list(profile))
    return dict(zip(profile, counted, strict=True))


def _counted(column: pd.Series, learnt: ColumnProfile) -> Counted:
    if learnt.kind == "text":
        return _counted_text(column, learnt)
    values = _ticks(column, learnt.kind)
    outside = learnt.low is not None and learnt.high is not None
    return Counted(
        counts=_histogram(values, learnt.edges),
        below=int((values < learnt.low).sum()) if outside else 0,
        above=int((values > learnt.high).sum()) if outside else 0,
    )


def _counted_text(column: pd.Series, learnt: ColumnProfile) -> Counted:
    frequencies = _frequencies(column)
    missing = len(column) - int(frequencies.sum())
    if learnt.values is None:
        return Counted(counts=[int(frequencies.sum()), missing])
    unseen = frequencies[~frequencies.index.isin(learnt.values)]
    counts = frequencies.reindex(learnt.values, fill_value=0)
    return Counted(
        counts=[*map(int, counts), int(unseen.sum()), missing],
        unseen=int(unseen.sum()),
        examples=list(unseen.index[:SHOWN]),
    )


def drift(profile: Mapping[str, ColumnProfile], counted: Mapping[str, Counted]) -> list[Drift]:
    """Return how far each column is from the fit, the farthest first."""
    drifts = [_drift(name, learnt, counted[name]) for name, learnt in profile.items()]
    return sorted(drifts, key=lambda each: -each.psi)


def _drift(name: str, learnt: ColumnProfile, now: Counted) -> Drift:
    known = learnt.kind != "text" or learnt.values is not None
    return Drift(
        name=name,
        kind=learnt.kind,
        missing=now.counts[-1] / max(sum(now.counts), 1),
        missing_at_fit=learnt.missing,
        below=now.below,
        above=now.above,
        unseen=now.unseen if known else None,
        examples=now.examples,
        psi=stability(learnt.counts, now.counts),
    )


def stability(before: Sequence[int], after: Sequence[int]) -> float:
    """Return the population stability index of two counts of the same bins.

    Half a row is added to each bin, so that empty ones have a logarithm; bins that are empty
    in both are left out.

    >>> round(stability([50, 50, 0], [50, 50, 0]), 3), round(stability([50, 50], [90, 10]), 2)
    (0.0, 0.85)
    """
    pairs = [(a, b) for a, b in zip(before, after, strict=True) if a or b]
    totals = [sum(counts) + 0.5 * len(pairs) for counts in zip(*pairs, strict=True)]
    shares = [[(n + 0.5) / total for n, total in zip(pair, totals, strict=True)] for pair in pairs]
    return sum((q - p) * math.log(q / p) for p, q in shares)
