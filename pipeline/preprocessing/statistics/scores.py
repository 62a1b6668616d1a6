"""Scores of columns against a target, from sums that can be merged: F-tests and chi².

The sums of F-tests are `Moments`, of each class of rows or of all. Origins come from values
of the column, so the deviations of a constant are exactly zero, however the rows
are cut: rounding never passes for a difference.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from pipeline.data import frames
from pipeline.preprocessing.statistics.categories import tally
from pipeline.preprocessing.statistics.moments import Moments, mean_step, share_of
from pipeline.typing import Array, Target

Test = tuple[np.ndarray, np.ndarray]
"""Statistics and p-values, shape (n_columns,)."""


class ClassSums(NamedTuple):
    """What the rows of each class add up to.

    Parameters
    ----------
    rows : numpy.ndarray, shape (n_classes, 1)
        How many they are.
    sums : numpy.ndarray, shape (n_classes, n_columns)
    least : numpy.ndarray, shape (n_columns,)
        The least value of each column.
    """

    rows: np.ndarray
    sums: np.ndarray
    least: np.ndarray

    def merge(self, other: ClassSums) -> ClassSums:
        """Return the sums of both sets of rows together."""
        least = np.minimum(self.least, other.least)
        return ClassSums(self.rows + other.rows, self.sums + other.sums, least)


class Joint(NamedTuple):
    """Moments of the columns and, last, of the target, with their products.

    Parameters
    ----------
    moments : Moments
        Of one group and ``n_columns + 1`` columns.
    products : numpy.ndarray, shape (1, n_columns + 1)
        Sum of each column's deviations times the target's.
    """

    moments: Moments
    products: np.ndarray

    def merge(self, other: Joint) -> Joint:
        """Return the sums of both sets of rows together."""
        a, b = self.moments, other.moments
        step = mean_step(a, b)
        products = self.products + other.products + step * step[:, -1:] * (a.rows * share_of(a, b))
        return Joint(a.merge(b), products)


def by_class(values: Array, codes: Array, n_classes: int) -> Moments:
    """Return the deviations of the rows of each class from its mean.

    Parameters
    ----------
    values : array of float64, shape (n_rows, n_columns)
    codes : array of int, shape (n_rows,)
        The class of each row.
    n_classes : int
    """
    xp = frames.xp(values)
    rows, total = _totals(values, codes, n_classes)
    some_row = xp.zeros(n_classes, dtype="int64")
    some_row[codes] = xp.arange(len(values))
    shift = values[some_row]
    origin = shift + total(values - shift[codes]) / xp.maximum(rows, 1)
    off = values - origin[codes]
    rest = total(off) / xp.maximum(rows, 1)
    off -= rest[codes]
    parts = xp.stack([xp.broadcast_to(rows, rest.shape), origin, rest, total(off * off)])
    return Moments(*frames.to_host(parts))


def sums_by_class(values: Array, codes: Array, n_classes: int) -> ClassSums:
    """Return the sums of the rows of each class; parameters as those of `by_class`."""
    rows, total = _totals(values, codes, n_classes)
    return ClassSums(*frames.all_to_host([rows, total(values), values.min(axis=0)]))


def _totals(values: Array, codes: Array, n_classes: int) -> tuple[Any, Callable[[Any], Any]]:
    """Return the rows of each class, and what adds up terms of each class and column."""
    xp, n_columns = frames.xp(values), values.shape[1]
    cells = (codes[:, None] * n_columns + xp.arange(n_columns)).ravel()

    def total(terms: Any) -> Any:
        sums = tally(cells, n_classes * n_columns, xp, terms.ravel())
        return sums.reshape(n_classes, n_columns)

    return tally(codes, n_classes, xp)[:, None].astype("float64"), total


def jointly(values: Array, y: Target) -> Joint:
    """Return the deviations of columns and target from their means, and their products.

    Parameters
    ----------
    values : array of float64, shape (n_rows, n_columns)
    y : array of float64, shape (n_rows,)
    """
    xp = frames.xp(values)
    both = xp.concatenate([values, y[:, None]], axis=1)
    origin = both[:1] + (both - both[:1]).mean(axis=0)
    off = both - origin
    rest = off.mean(axis=0)[None]
    off -= rest
    squares = (off * off).sum(axis=0)[None]
    products = (off * off[:, -1:]).sum(axis=0)[None]
    rows = xp.full_like(rest, both.shape[0])
    *deviations, products = frames.to_host(xp.stack([rows, origin, rest, squares, products]))
    return Joint(Moments(*deviations), products)


def analysis(classes: Moments) -> Test:
    """Return the one-way analysis of variance of each column; NaN for a constant.

    Constants are warned of, and so is the division by zero, as scikit-learn does.
    """
    n_rows, n_classes = classes.rows[:, 0].sum(), len(classes.rows)
    off = (classes.origin - classes.origin[0]) + (classes.rest - classes.rest[0])
    off -= (classes.rows * off).sum(axis=0) / n_rows
    free = np.float64(n_classes - 1), np.float64(n_rows - n_classes)
    between = (classes.rows * off**2).sum(axis=0) / free[0]
    within = classes.squares.sum(axis=0) / free[1]
    constant = np.flatnonzero(within == 0)
    if len(constant) and not between.all():
        warnings.warn(f"Features {constant} are constant.", UserWarning, stacklevel=2)
    ratio = between / within
    return ratio, special.fdtrc(*free, ratio)


def chi_squared(classes: ClassSums) -> Test:
    """Return how far the sums of the classes are from what their numbers of rows suggest.

    Raises
    ------
    ValueError
        Some value is negative.
    """
    rows, sums, least = classes
    if (least < 0).any():
        raise ValueError("Input X must be non-negative.")
    if len(rows) == 1:  # scikit-learn sets a class without rows against it.
        rows, sums = np.r_[rows, [[0.0]]], np.r_[sums, np.zeros_like(sums)]
    expected = rows / rows.sum() * sums.sum(axis=0)
    with np.errstate(invalid="ignore"):
        found = ((sums - expected) ** 2 / expected).sum(axis=0)
    return found, special.chdtrc(len(rows) - 1, found)


def regression(joint: Joint) -> Test:
    """Return the regression of the target on each column alone.

    As in scikit-learn, the statistic is 0 for a constant, and the greatest
    number for a perfect fit. Two rows or less have no p-values: NaN.
    """
    free = joint.moments.rows[0, 0] - 2
    squares, products = joint.moments.squares[0], joint.products[0]
    with np.errstate(invalid="ignore", divide="ignore"):
        explained = products[:-1] ** 2 / (squares[:-1] * squares[-1])
        explained = np.where(np.isnan(explained), 0.0, np.minimum(explained, 1.0))
        ratio = explained / (1 - explained) * free
    scores = np.nan_to_num(ratio, nan=0.0, posinf=np.finfo("float64").max)
    return scores, special.fdtrc(1, free, ratio)
