"""A preprocessing program: fit once, then tables in, one matrix out."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from pipeline import frames
from pipeline.preprocessing.build import build
from pipeline.preprocessing.nodes import Columns, Node, Read
from pipeline.preprocessing.table import Table


class Program:
    """A scikit-learn transformer, run on blocks of rows where the table lives.

    Parameters
    ----------
    spec : estimator
        A transformer, `Pipeline` or `ColumnTransformer`, unfitted.
    dtype : {"float32", "float64"}
        Type of the output matrix; statistics are float64 in any case.
    step : str
        Path of the transformer in the whole spec, for messages.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> Program(StandardScaler()).fit_transform(np.array([[1.0], [3.0]])).tolist()
    [[-1.0], [1.0]]
    """

    def __init__(self, spec: BaseEstimator, dtype: str = "float32", step: str = "spec") -> None:
        self.spec, self.dtype, self.step = spec, dtype, step
        self.node: Node | None = None
        self.width = 0

    def fit(self, X: Any, y: Any = None, **params: Any) -> Program:
        """Learn the statistics of a table.

        Parameters
        ----------
        X : frame or array, shape (n_rows, n_columns)
        y : array of shape (n_rows,), optional
            On the host.
        """
        self._fit(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn, and return the matrix of the training rows, shape (n_rows, width)."""
        return self._write(*self._fit(X, y))

    def transform(self, X: Any) -> Any:
        """Return the matrix of a table, shape (n_rows, width), C-ordered, on its device."""
        assert self.node is not None
        table = Table(X.toarray() if frames.is_sparse(X) else X)
        return self._write(table, self.node.apply(self._columns(table)))

    def _fit(self, X: Any, y: Any) -> tuple[Table, Read]:
        X = X.toarray() if frames.is_sparse(X) else X
        self.node = build(self.spec, frames.head(X), self.step)
        table = Table(X)
        read = self.node.fit(self._columns(table), y).blocks
        assert read is not None
        return table, read

    def _columns(self, table: Table) -> Columns:
        names = list(table.X.columns) if frames.is_frame(table.X) else range(table.X.shape[1])
        return Columns(table, list(names))

    def _write(self, table: Table, read: Read) -> Any:
        first = read(slice(0, 1))
        self.width = first.width
        out = table.xp.empty((table.n_rows, first.width), dtype=self.dtype)

        def fill(rows: slice) -> None:
            read(rows).write(out[rows])

        table.each(fill)
        return out

    def call(self, method: str, X: Any) -> Any:
        """Return the matrix: `transform` is the one method of a program."""
        return getattr(self, method)(X)

    def to_sklearn(self) -> Any:
        """Return the fitted scikit-learn transformer."""
        assert self.node is not None
        return self.node.original()
