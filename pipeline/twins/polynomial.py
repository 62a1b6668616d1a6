"""PolynomialFeatures on blocks.

Every new column is one product: an earlier column times an input column. The products
with the same input column are computed at once, because they are next to each other,
and so are the columns that they are computed from.
"""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement, groupby
from numbers import Integral
from typing import Any

from sklearn.preprocessing import PolynomialFeatures

from pipeline.blocks.block import Numbers
from pipeline.table import frames
from pipeline.twins.scalers import StatelessTwin
from pipeline.twins.twin import any_value

PADDING = 16
"""Unused numbers between two terms: a power of two apart, as blocks of 16,384 rows
are, they would compete for the same cache lines when the matrix is written."""


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
        """Plan the products; terms below the least degree are made, and not put out."""
        degree: Any = self.estimator.degree
        low, high = (0, degree) if isinstance(degree, Integral) else degree
        choose = combinations if self.estimator.interaction_only else combinations_with_replacement
        columns = range(self.fitted.n_features_in_)
        made = [term for d in range(1, int(high) + 1) for term in choose(columns, d)]
        self._n_hidden = sum(len(term) < low for term in made)
        bias = [()] if self.estimator.include_bias else []
        self._terms = [*made[: self._n_hidden], *bias, *made[self._n_hidden :]]
        position = {term: i for i, term in enumerate(self._terms)}
        self._products = []
        longer = (term for term in self._terms if len(term) > 1)
        for (_, factor), group in groupby(longer, key=lambda term: (len(term), term[0])):
            # Without the column that they begin with, they are the last of the degree below.
            first, *others = group
            n, source, target = 1 + len(others), position[first[1:]], position[first]
            product = position[factor,], slice(source, source + n), slice(target, target + n)
            self._products.append(product)

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
        return Numbers(columns[self._n_hidden :].T)
