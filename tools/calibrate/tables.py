"""Tables of any size to time an estimator on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

Table = tuple[Any, Any]
CENTRES = 64
WORDS = 50
VOCABULARY = 20_000
LABELS = pd.Index([f"value {code}" for code in range(20)])


def _matrix(rows: int, columns: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal((rows, columns), dtype="float32")


def numbers(rows: int, columns: int) -> Table:
    """Return a float32 matrix and a number a row, linear in the columns but for noise."""
    X, draw = _matrix(rows, columns), np.random.default_rng(1)
    return X, X @ draw.standard_normal(columns) + draw.standard_normal(rows)


def classes(rows: int, columns: int) -> Table:
    """Return a float32 matrix and one of two labels a row."""
    X, y = numbers(rows, columns)
    return X, (y > 0).astype("int64")


def counts(rows: int, columns: int) -> Table:
    """Return a float32 matrix of counts and one of two labels a row."""
    _, y = classes(rows, columns)
    rates = np.random.default_rng(2).uniform(1, 8, (2, columns))
    return np.random.default_rng(3).poisson(rates[y]).astype("float32"), y


def clusters(rows: int, columns: int) -> Table:
    """Return a float32 matrix of rows around 64 centres, one apart in the mean, and no target."""
    draw = np.random.default_rng(4)
    centres = draw.uniform(-10, 10, (CENTRES, columns)).astype("float32")
    X = centres[draw.integers(CENTRES, size=rows)] + _matrix(rows, columns)
    return X / np.sqrt(np.float32(2 * columns)), None


def mixed(rows: int, columns: int) -> Table:
    """Return a frame, half numbers with gaps, half categories of 20 values, and no target."""
    draw, frame = np.random.default_rng(5), {}
    for position in range(columns):
        values: Any
        if position % 2:
            codes = draw.integers(20, size=rows)
            values = pd.Categorical.from_codes(codes, LABELS)
        else:
            values = np.where(draw.random(rows) < 0.05, np.nan, draw.standard_normal(rows))
        frame[f"column {position}"] = values
    return pd.DataFrame(frame), None


def texts(rows: int, columns: int) -> Table:
    """Return texts of 50 words out of 20,000, the frequent ones more often, and no target."""
    draw = np.random.default_rng(6)
    words = np.minimum(draw.zipf(1.3, (rows, WORDS)), VOCABULARY)
    return [" ".join(f"word{number}" for number in row) for row in words.tolist()], None


TABLES: dict[str, Callable[[int, int], Table]] = {
    each.__name__: each for each in (numbers, classes, counts, clusters, mixed, texts)
}
