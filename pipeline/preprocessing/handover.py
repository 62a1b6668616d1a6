"""A fitted `ColumnTransformer`, made by scikit-learn from fitted parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator

Cells = Mapping[Any, np.ndarray]
"""Name of a column -> one value, of the type that its encoder has learnt."""


class Frozen(FrozenEstimator):
    """A fitted transformer that is shown values that it knows.

    A row of the table may hold others: None, which the table's own type has made NaN.

    Parameters
    ----------
    estimator : estimator
    known : mapping
    """

    def __init__(self, estimator: Any, known: Cells) -> None:
        super().__init__(estimator)
        self.known = known

    def transform(self, X: pd.DataFrame) -> Any:
        """Transform a row."""
        cells = {n: pd.Series(c, X.index, c.dtype) for n, c in self.known.items() if n in X}
        return self.estimator.transform(
            pd.DataFrame({name: cells.get(name, X[name]) for name in X})
        )


def _storable(row: pd.DataFrame) -> pd.DataFrame:
    """Return a row in types of NumPy where a `pandas.NA` is: scikit-learn makes no array of it."""
    held = {name: row[name].dtype for name in row if row[name].array[0] is pd.NA}
    return row.astype({n: "float64" if t.kind in "iufb" else object for n, t in held.items()})


def freeze_fit_thaw(
    spec: ColumnTransformer, fitted: Mapping[str, tuple[Any, Cells]], head: pd.DataFrame
) -> ColumnTransformer:
    """Return `spec` fitted on one row, with fitted transformers in place of its own.

    Parameters
    ----------
    spec : ColumnTransformer
    fitted : mapping
        Name -> a transformer, or the word for one, and what it knows.
    head : pandas.DataFrame
        The row.
    """

    def frozen(name: str, how: Any) -> Any:
        known = fitted.get(name, (None, {}))
        return Frozen(*known) if hasattr(known[0], "fit") else how

    def chosen(columns: Any) -> Any:
        return (lambda _: columns(head)) if callable(columns) else columns

    whole = clone(spec).set_params(
        transformers=[
            (name, frozen(name, how), chosen(columns)) for name, how, columns in spec.transformers
        ],
        remainder=frozen("remainder", spec.remainder),
    )
    whole.fit(_storable(head))
    # scikit-learn names the remainder and keeps what was given, for display.
    whole._remainder = (whole._remainder[0], spec.remainder, *whole._remainder[2:])
    whole.transformers_ = [
        (name, how.estimator if isinstance(how, Frozen) else how, columns)
        for name, how, columns in whole.transformers_
    ]
    return whole.set_params(transformers=spec.transformers, remainder=spec.remainder)
