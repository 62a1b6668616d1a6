"""What is doubtful of predictions: rows that are not like those of the fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from pipeline.data.drift import ColumnProfile, Drift

SHARE: Final = 0.05
"""Of the rows that are unlike those of the fit, which deserves a word."""
MORE_MISSING: Final = 0.2
"""What the share of missing values may grow by."""


def cautions_of_drift(
    columns: Iterable[Drift], rows: int, profile: Mapping[str, ColumnProfile]
) -> list[str]:
    """Return a sentence for all that is unlike the rows of the fit.

    Parameters
    ----------
    columns : iterable of Drift
    rows : int
        That were predicted.
    profile : mapping of str to ColumnProfile
        Of the rows of the fit.
    """
    return [f"{each.name!r}: {doubt}" for each in columns for doubt in _doubts(each, rows, profile)]


def _doubts(column: Drift, rows: int, profile: Mapping[str, ColumnProfile]) -> Iterator[str]:
    learnt = profile[column.name]
    if column.unseen is not None and column.unseen / rows > SHARE + _expected_unseen(learnt):
        yield (
            f"{column.unseen:,} of {rows:,} rows hold what no row of the fit did, such as "
            f"{', '.join(map(repr, column.examples))}; check spelling and language"
        )
    outside = column.below + column.above
    # Later dates than those of the fit are what is predicted as a rule.
    if column.kind == "number" and learnt.low is not None and outside / rows > SHARE:
        yield (
            f"{outside:,} of {rows:,} rows lie outside of {learnt.low:,g} to {learnt.high:,g}, the "
            "range of the fit; check the unit"
        )
    if column.missing - column.missing_at_fit > MORE_MISSING:
        yield f"{column.missing:.0%} of the rows have no value, and {learnt.missing:.0%} had none"


def _expected_unseen(learnt: ColumnProfile) -> float:
    """Return how often a new row has a new value: as often as one came once, by Good and Turing."""
    once = sum(count == 1 for count in learnt.counts[:-2])
    return once / max(learnt.rows, 1)
