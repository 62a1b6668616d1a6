"""The preprocessing of `tasks.flights.logistic` in Polars, as someone who knows it writes it."""

from __future__ import annotations

import numpy as np
import polars as pl

from tasks.flights import FEW, MANY, NUMBERS, folds


class ByPolars:
    """Impute, scale, one-hot and target-encode into one float32 matrix.

    Parameters
    ----------
    seed : int
        Of the folds of the cross-fitting.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._scales: dict[str, tuple[float, float]] = {}

    def fit_transform(self, X: pl.DataFrame, y: np.ndarray) -> np.ndarray:
        """Learn; encode each row by the target of the other folds."""
        fold = np.empty(len(y), dtype=np.uint8)
        for k, (_, test) in enumerate(folds(self._seed).split(y, y)):
            fold[test] = k
        X = X.with_columns(y=y, fold=fold)
        self._levels = {name: X[name].drop_nulls().unique().sort() for name in FEW}
        self._absent = {name: bool(X[name].null_count()) for name in FEW}
        self._known = {name: _encoded(X.group_by(name).agg(*_COUNTS), name) for name in MANY}
        self._mean = float(np.mean(y))
        numbers = X.select(self._filled(name, X[name].mean()) for name in NUMBERS)
        for name in MANY:
            X = _joined(X, _crossed(X, name), [name, "fold"])
        for column in [*numbers, *(X[f"{name} encoded"] for name in MANY)]:
            self._scales[column.name] = column.mean(), column.std(ddof=0) or 1.0
        return self._matrix(X)

    def transform(self, X: pl.DataFrame) -> np.ndarray:
        """Encode by the target of all rows that were learnt from."""
        for name, known in self._known.items():
            X = _joined(X, known, [name])
        return self._matrix(X)

    def _matrix(self, X: pl.DataFrame) -> np.ndarray:
        numbers = (self._scaled(name, name) for name in NUMBERS)
        bits = (bit for name in FEW for bit in self._bits(name))
        means = (self._scaled(f"{name} encoded", "") for name in MANY)
        return X.lazy().select(*numbers, *bits, *means).collect().to_numpy(order="c")

    @staticmethod
    def _filled(name: str, value: object) -> pl.Expr:
        return pl.col(name).cast(pl.Float64).fill_null(value)

    def _scaled(self, name: str, number: str) -> pl.Expr:
        mean, scale = self._scales[name]
        filled = self._filled(name, mean if number else self._mean)
        return ((filled - mean) / scale).cast(pl.Float32)

    def _bits(self, name: str) -> list[pl.Expr]:
        position = pl.col(name).cast(pl.Enum(self._levels[name]), strict=False).to_physical()
        bits = [position.eq_missing(i) for i in range(len(self._levels[name]))]
        bits += [pl.col(name).is_null()] * self._absent[name]
        return [bit.cast(pl.Float32).alias(f"{name}={i}") for i, bit in enumerate(bits)]


_COUNTS = pl.col("y").sum().cast(pl.Float64).alias("total"), pl.len().cast(pl.Float64).alias("rows")


def _joined(X: pl.DataFrame, known: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    return X.join(known, on=keys, how="left", nulls_equal=True, maintain_order="left")


def _crossed(X: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the encoding of each level by the rows of the other folds, for each fold."""
    groups = X.group_by(name, "fold").agg(*_COUNTS)
    others = [pl.col(c).sum().over(name) - pl.col(c) for c in ("total", "rows")]
    means = [pl.col(c).sum() - pl.col(c).sum().over("fold") for c in ("total", "rows")]
    return _encoded(groups.with_columns(*others, mean=means[0] / means[1]), name, "fold")


def _encoded(groups: pl.DataFrame, name: str, *keys: str) -> pl.DataFrame:
    """Return the mean of the target by level, drawn to the mean of all by empirical Bayes."""
    total, rows = pl.col("total"), pl.col("rows")
    mean = pl.col("mean") if keys else total.sum() / rows.sum()
    own, spread = total / rows, rows * mean * (1 - mean)
    weight = spread / (spread + own * (1 - own))
    drawn = pl.when(rows > 0).then(weight * own + (1 - weight) * mean).otherwise(mean)
    return groups.select(name, *keys, drawn.alias(f"{name} encoded"))
