"""The same preprocessing written with Polars expressions, as someone who knows it would."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from tasks.flights import folds
from tools.bench.rowset import Rowset

_FOLDS = 5
Floats = npt.NDArray[np.float64]


class ByHand:
    """Impute, scale, one-hot and target-encode text columns into one matrix.

    Strings become positions in an ``Enum`` of the levels, once a column; the target
    means of positions and folds come from a group-by and are gathered. The formulas,
    the order of the columns and the folds are scikit-learn's; the target is 0 or 1.

    Parameters
    ----------
    table : Rowset
    """

    def __init__(self, table: Rowset) -> None:
        self._table, self._columns = table, table.columns
        self._levels: dict[str, pl.Series] = {}
        self._absent: dict[str, bool] = {}
        self._numbers: list[pl.Expr] = []
        self._means: dict[str, Floats] = {}

    def fit_transform(self, X: pl.DataFrame, y: np.ndarray) -> np.ndarray:
        """Learn; return the float32 matrix, each row encoded by the other folds."""
        self._learn(X)
        fold = np.empty(len(y), dtype=np.uint8)
        for k, (_, test) in enumerate(folds(self._table.seed).split(y, y)):
            fold[test] = k
        position = {name: self._position(name) for name in self._columns.many}
        known = X.lazy().select(**position).with_columns(y=y, fold=fold).collect()
        sums = {name: self._sums(known, name) for name in position}
        crossed = {name: self._encode(name, *sums[name]) for name in position}
        gathered = [
            pl.lit(pl.Series(means.ravel(), dtype=pl.Float32))
            .gather(position[name] * _FOLDS + pl.lit(pl.Series(fold)).cast(pl.UInt32))
            .alias(name)
            for name, means in crossed.items()
        ]
        return self._matrix(X, gathered)

    def transform(self, X: pl.DataFrame) -> np.ndarray:
        """Return the float32 matrix, rows encoded by all rows that were learnt from."""
        gathered = [
            pl.lit(pl.Series(means, dtype=pl.Float32)).gather(self._position(name)).alias(name)
            for name, means in self._means.items()
        ]
        return self._matrix(X, gathered)

    def _matrix(self, X: pl.DataFrame, encoded: list[pl.Expr]) -> np.ndarray:
        few = [bit for name in self._columns.few for bit in self._bits(name)]
        wide = X.lazy().select(*self._numbers, *few, *encoded).collect()
        return wide.to_numpy(order="c")

    def _learn(self, X: pl.DataFrame) -> None:
        names = [*self._columns.few, *self._columns.many]
        levels = [pl.col(name).unique().drop_nulls().sort().implode() for name in names]
        absent = [pl.col(name).has_nulls().alias(f"{name} absent") for name in names]
        numbers = [
            statistic
            for name in self._columns.numbers
            for wide in [pl.col(name).cast(pl.Float64)]
            for statistic in (
                wide.mean().alias(f"{name} mean"),
                # Imputed values add nothing to the sum of squares, but they are counted.
                (wide.var(ddof=0) * wide.count() / pl.len()).sqrt().alias(f"{name} scale"),
            )
        ]
        learnt = X.lazy().select(*levels, *absent, *numbers).collect()
        found: dict[str, Any] = learnt.row(0, named=True)
        self._levels = {name: pl.Series(found[name]) for name in names}
        self._absent = {name: found[f"{name} absent"] for name in names}
        self._numbers = [
            self._number(name, found[f"{name} mean"], found[f"{name} scale"] or 1.0)
            for name in self._columns.numbers
        ]

    @staticmethod
    def _number(name: str, mean: float, scale: float) -> pl.Expr:
        filled = pl.col(name).cast(pl.Float64).fill_null(mean)
        return ((filled - mean) / scale).cast(pl.Float32)

    def _position(self, name: str) -> pl.Expr:
        """Return the position of a level; after the last one come missing and unseen."""
        levels = self._levels[name]
        column = pl.col(name)
        seen = column.cast(pl.Enum(levels), strict=False).to_physical().cast(pl.UInt32)
        beyond = pl.when(column.is_null()).then(len(levels)).otherwise(len(levels) + 1)
        return pl.coalesce(seen, beyond.cast(pl.UInt32))

    def _bits(self, name: str) -> list[pl.Expr]:
        levels = self._levels[name]
        position = self._position(name)
        return [
            (position == i).cast(pl.Float32).alias(f"{name}={i}")
            for i in range(len(levels) + self._absent[name])
        ]

    def _sums(self, known: pl.DataFrame, name: str) -> tuple[Floats, Floats]:
        """Return the sum of the target and the rows, of shape (levels and two, folds)."""
        groups = known.group_by(name, "fold").agg(total=pl.col("y").sum(), rows=pl.len())
        where = (groups[name].to_numpy(), groups["fold"].to_numpy())
        tables = np.zeros((2, len(self._levels[name]) + 2, _FOLDS))
        tables[0][where], tables[1][where] = groups["total"], groups["rows"]
        return tables[0], tables[1]

    def _encode(self, name: str, total: Floats, rows: Floats) -> Floats:
        """Keep the means of all rows; return those of the other folds, for each fold."""
        everything = (total.sum(1, keepdims=True), rows.sum(1, keepdims=True))
        crossed = _smoothed(everything[0] - total, everything[1] - rows)
        means = _smoothed(*everything)[:, 0]
        if self._table.scaled:
            mean = np.average(crossed, weights=rows)
            scale = np.sqrt(np.average((crossed - mean) ** 2, weights=rows)) or 1.0
            crossed, means = (crossed - mean) / scale, (means - mean) / scale
        self._means[name] = means
        return crossed


def _smoothed(total: Floats, rows: Floats) -> Floats:
    """Return the means of levels (axis 0), drawn to the mean of all by empirical Bayes."""
    mean = total.sum(0) / rows.sum(0)
    variance = mean * (1 - mean)
    with np.errstate(invalid="ignore"):
        own = total / rows
        weight = variance * rows / (variance * rows + own * (1 - own))
        return np.where(rows > 0, weight * own + (1 - weight) * mean, mean)
