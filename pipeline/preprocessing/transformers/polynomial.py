"""PolynomialFeatures on blocks.

Every new column is one product: a column made before, times an input column.
The products with the same input column are made at once, for they lie side by
side, and so do the columns they are made from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, combinations_with_replacement, groupby
from numbers import Integral
from typing import Any, NamedTuple

from sklearn.preprocessing import PolynomialFeatures

from pipeline.data import frames
from pipeline.preprocessing.engine.blocks import Numbers
from pipeline.preprocessing.engine.twin import any_value
from pipeline.preprocessing.transformers.scalers import StatelessTwin

PADDING = 16
"""Unused numbers between two terms: a power of two apart, as blocks of 16,384 rows
are, they would compete for the same cache lines when the matrix is written."""

Term = tuple[int, ...]
"""The input columns that are multiplied, in order; none for the bias."""


class Product(NamedTuple):
    """The terms `target` are the terms `source` times the term `factor`, by position."""

    factor: int
    source: slice
    target: slice


class PolynomialFeaturesTwin(StatelessTwin):
    """Products of the columns, in scikit-learn's order."""

    sklearn_class = PolynomialFeatures
    takes_sparse = True
    supported_params = any_value("degree", "interaction_only", "include_bias", "order")

    def finalize(self, stats: int) -> None:
        """Let scikit-learn check the parameters."""
        super().finalize(stats)
        self.prepare()

    def prepare(self) -> None:
        """Plan the products."""
        self._terms, self._hidden = terms(self.estimator, int(self.fitted.n_features_in_))
        self._products = list(products(self._terms))

    def apply_training(self, block: Numbers, *aligned: Any) -> Numbers:
        """Return the bias, the columns and their products."""
        xp = frames.xp(block.values)
        n_rows = block.values.shape[0]
        dtype = block.values.dtype if block.values.dtype.kind == "f" else "float64"
        columns = xp.empty((len(self._terms), n_rows + PADDING), dtype=dtype)[:, :n_rows]
        for position, term in enumerate(self._terms):
            if len(term) < 2:
                columns[position] = block.values[:, term[0]] if term else 1.0
        for factor, source, target in self._products:
            xp.multiply(columns[source], columns[factor], out=columns[target])
        return Numbers(columns[self._hidden :].T)


def terms(estimator: PolynomialFeatures, n_features: int) -> tuple[list[Term], int]:
    """Return all terms to make, and how many of them come first and are not put out.

    Those are the terms below the least degree, from which the others are made.

    >>> terms(PolynomialFeatures((2, 2), interaction_only=True), 2)
    ([(0,), (1,), (), (0, 1)], 2)
    """
    degree: Any = estimator.degree
    low, high = (0, degree) if isinstance(degree, Integral) else degree
    choose = combinations if estimator.interaction_only else combinations_with_replacement
    degrees = range(1, int(high) + 1)
    by_degree: dict[int, list[Term]] = {d: list(choose(range(n_features), d)) for d in degrees}
    hidden = [term for d, found in by_degree.items() if d < low for term in found]
    kept = [term for d, found in by_degree.items() if d >= low for term in found]
    bias: list[Term] = [()] if estimator.include_bias else []
    return hidden + bias + kept, len(hidden)


def products(order: Sequence[Term]) -> Iterator[Product]:
    """Return the steps that make every term of two columns or more.

    The terms that begin with the same column are one step: without it, they are
    the last terms of the degree below.

    >>> list(products([(0,), (1,), (0, 0), (0, 1), (1, 1)]))[0]
    Product(factor=0, source=slice(0, 2, None), target=slice(2, 4, None))
    """
    position = {term: i for i, term in enumerate(order)}
    longer = (term for term in order if len(term) > 1)
    for (_, factor), group in groupby(longer, key=lambda term: (len(term), term[0])):
        together = list(group)
        source, target = position[together[0][1:]], position[together[0]]
        yield Product(
            position[factor,],
            slice(source, source + len(together)),
            slice(target, target + len(together)),
        )
