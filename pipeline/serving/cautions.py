"""What is doubtful of predictions: rows that are not like those of the fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from scipy.stats import hypergeom

from pipeline.data.drift import ColumnProfile, Drift

SHARE: Final = 0.05
"""Of the rows that are unlike those of the fit, which deserves a word."""
CHANCE: Final = 1e-3
"""How often rows like those of the fit may be told to miss more values, in any column."""


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
    grown = column.missing - learnt.missing > SHARE
    if grown and _chance_of_missing(column, rows, learnt) < CHANCE / len(profile):
        yield (
            f"{column.missing:.0%} of the rows have no value, and {learnt.missing:.0%} had none "
            "at fit; check where it comes from"
        )


def _chance_of_missing(column: Drift, rows: int, learnt: ColumnProfile) -> float:
    """Return how often chance puts so many of all missing values here: Fisher's exact test."""
    missing = round(column.missing * rows)
    total, all_missing = rows + learnt.rows, missing + learnt.counts[-1]
    return float(hypergeom.sf(missing - 1, total, all_missing, rows))


def _expected_unseen(learnt: ColumnProfile) -> float:
    """Return how often a new row has a new value: as often as one came once, by Good and Turing."""
    once = sum(count == 1 for count in learnt.counts[:-2])
    return once / max(learnt.rows, 1)
