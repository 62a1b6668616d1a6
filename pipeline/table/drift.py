"""How other rows differ from the training rows: ranges, missing values and unseen values.

A `ColumnProfile` describes the training rows. A `Difference` counts other rows against it, batch by
batch, so any number of rows takes the same memory.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
import pandas as pd
from scipy.stats import hypergeom

from pipeline.system.threads import each
from pipeline.table.schema import kind_of

MOST_VALUES = 10_000
"""Different values of a column beyond which they are not kept."""
SHOWN = 3
SHARE = 0.05
"""Of the rows that are unlike those of the fit, which deserves a caution."""
CHANCE = 1e-3
"""How often rows like the training rows may be reported to miss more values, in any column."""
_TICKS = {"date": "datetime64[ns]", "duration": "timedelta64[ns]"}


class ColumnProfile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One column of the training rows; dates and durations are nanoseconds."""

    kind: str
    rows: int
    without: int
    """Rows without a value."""
    low: float | None = None
    high: float | None = None
    values: list[str] | None = None
    """None if the column is not text, or has more than `MOST_VALUES`."""
    once: int = 0
    """Values of text that occur in one row only."""

    @property
    def missing(self) -> float:
        """Share of the rows without a value."""
        return self.without / max(self.rows, 1)


class Difference(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Rows of one column, counted against its profile."""

    name: str
    rows: int
    without: int
    """Rows without a value."""
    missing_at_fit: float
    """Share of the rows."""
    below: int = 0
    """Rows with a number below the minimum of the training rows."""
    above: int = 0
    unseen: int | None = None
    """Rows with a text that no training row had; None if these are not known."""
    examples: list[str] = []

    def add(self, other: Difference) -> None:
        """Add the rows of another batch."""
        self.rows, self.without = self.rows + other.rows, self.without + other.without
        self.below, self.above = self.below + other.below, self.above + other.above
        if self.unseen is not None and other.unseen is not None:
            self.unseen += other.unseen
        self.examples = list(dict.fromkeys([*self.examples, *other.examples]))[:SHOWN]


def fit_profiles(X: pd.DataFrame) -> dict[str, ColumnProfile]:
    """Return the profile of the columns of a table; what is "other" has none.

    >>> profiles = fit_profiles(pd.DataFrame({"n": [1.0, 2.0, None], "t": ["a", "b", "a"]}))
    >>> profiles["n"].low, profiles["n"].high, profiles["n"].without, profiles["t"].values
    (1.0, 2.0, 1, ['a', 'b'])
    """
    kinds = {name: kind_of(X[name]) for name in X.columns}
    return {str(name): _profile(X[name], kind) for name, kind in kinds.items() if kind != "other"}


def _profile(column: pd.Series, kind: str) -> ColumnProfile:
    rows, without = len(column), int(column.isna().sum())
    if kind == "text":
        found = column.astype("str").value_counts()
        values = sorted(found.index) if len(found) <= MOST_VALUES else None
        return ColumnProfile(
            kind=kind, rows=rows, without=without, values=values, once=int((found == 1).sum())
        )
    numbers = _ticks(column, kind)
    known = numbers[np.isfinite(numbers)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (None, None)
    return ColumnProfile(kind=kind, rows=rows, without=without, low=low, high=high)


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


def compare(X: pd.DataFrame, profile: Mapping[str, ColumnProfile]) -> dict[str, Difference]:
    """Return how the rows of a table, whose columns are those of the fit, differ from these.

    >>> profile = fit_profiles(pd.DataFrame({"n": [1.0, 2.0]}))
    >>> compare(pd.DataFrame({"n": [0.0, 5.0, 7.0, None]}), profile)["n"].above
    2
    """
    columns = {str(name): X[name] for name in X.columns}
    found = each(lambda name: _compare(name, columns[name], profile[name]), list(profile))
    return dict(zip(profile, found, strict=True))


def _compare(name: str, column: pd.Series, learnt: ColumnProfile) -> Difference:
    rows, without = len(column), int(column.isna().sum())
    made = Difference(name=name, rows=rows, without=without, missing_at_fit=learnt.missing)
    if learnt.kind == "text":
        if learnt.values is not None:
            found = column.astype("str").value_counts()
            new = found[~found.index.isin(learnt.values)]
            made.unseen, made.examples = int(new.sum()), list(new.index[:SHOWN])
        return made
    numbers = _ticks(column, learnt.kind)
    if learnt.low is not None and learnt.high is not None:
        made.below = int((numbers < learnt.low).sum())
        made.above = int((numbers > learnt.high).sum())
    return made


def cautions(counted: Mapping[str, Difference], profile: Mapping[str, ColumnProfile]) -> list[str]:
    """Return a sentence for each difference of more than a twentieth of the rows."""
    chance, told = CHANCE / max(len(profile), 1), []
    for name, found in counted.items():
        learnt, rows, outside = profile[name], max(found.rows, 1), found.below + found.above
        # A new row has a new value as often as one came once (Good, Biometrika 40, 1953).
        expected = learnt.once / max(learnt.rows, 1)
        if found.unseen and found.unseen / rows > SHARE + expected:
            told.append(
                f"{name!r}: {found.unseen:,} of {rows:,} rows hold values that no training row "
                f"had, such as {', '.join(map(repr, found.examples))}; check spelling and language"
            )
        # Later dates than those of the fit are what is predicted as a rule.
        if learnt.kind == "number" and outside / rows > SHARE:
            told.append(
                f"{name!r}: {outside:,} of {rows:,} rows are outside the range of the training "
                f"rows, {learnt.low:,g} to {learnt.high:,g}; check the unit"
            )
        missing = found.without / rows
        # Fisher's exact test: how often chance puts so many of all missing values here.
        among = rows + learnt.rows, found.without + learnt.without, rows
        if missing - learnt.missing > SHARE and hypergeom.sf(found.without - 1, *among) < chance:
            told.append(
                f"{name!r}: {missing:.0%} of the rows have no value, compared with "
                f"{learnt.missing:.0%} of the training rows; check the data source"
            )
    return told
