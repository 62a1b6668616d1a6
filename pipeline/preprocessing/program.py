"""A preprocessing program: fit once, then tables in, one matrix or frame out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
from sklearn.base import BaseEstimator

from pipeline import frames
from pipeline.containers import container
from pipeline.errors import ConfigError, Unsupported
from pipeline.ingest import Origin
from pipeline.preprocessing import output
from pipeline.preprocessing.build import Options, build
from pipeline.preprocessing.nodes import Columns, Node, Read
from pipeline.preprocessing.partitions import Partitions
from pipeline.preprocessing.refusals import obstacles_to_batches
from pipeline.preprocessing.table import Table


class Program:
    """A scikit-learn transformer, run on blocks of rows where the table lives.

    Where scikit-learn's `set_output` asks for a frame, a frame of the table's library comes
    out, in which text that was passed on is categorical.

    Parameters
    ----------
    spec : estimator
        A transformer, `Pipeline` or `ColumnTransformer`, unfitted.
    dtype : {"float32", "float64"}
        Type of the output matrix; statistics are float64 in any case.
    step : str
        Path of the transformer in the whole spec, for messages.
    rank_error : float
        Largest error of medians and quantiles in rank, as a share of the rows; 0 is exact.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> Program(StandardScaler()).fit_transform(np.array([[1.0], [3.0]])).tolist()
    [[-1.0], [1.0]]
    """

    def __init__(
        self,
        spec: BaseEstimator,
        dtype: str = "float32",
        step: str = "spec",
        *,
        rank_error: float = 0.0,
    ) -> None:
        self.spec, self.dtype, self.step, self.rank_error = spec, dtype, step, rank_error
        self.node: Node | None = None
        self.width = 0
        self.head: pd.DataFrame | None = None
        self.resumed = False
        self.framed = container(spec) != "default"
        self.origins: Mapping[Any, Origin] = {}

    def fit(self, X: Any, y: Any = None, **params: Any) -> Program:
        """Learn the statistics of a table.

        Parameters
        ----------
        X : frame or array, shape (n_rows, n_columns)
        y : array of shape (n_rows,), optional
            On the host.
        """
        self._fit(X, y, keeps=False)
        return self

    def partial_fit(self, X: Any, y: Any = None, **params: Any) -> Program:
        """Add the statistics of more rows to those of the calls before.

        Raises
        ------
        Unsupported
            A step learns from what another one makes, which changes with every batch.
        """
        found = obstacles_to_batches(self.spec, self.step)
        if found:
            raise Unsupported(*found)
        if self.resumed:
            raise ConfigError(
                f"{self.step}: a saved model keeps what was learnt and not the statistics that "
                "more rows would be added to; fit anew on all rows"
            )
        if self.node is None:
            self._fit(X, y, keeps=True)
        else:
            table = data(X)
            self.node.fit(table, self._source(table), y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn, and return the matrix of the training rows, shape (n_rows, width)."""
        return self._write(*self._fit(X, y, keeps=False))

    def transform(self, X: Any) -> Any:
        """Return the matrix of a table, shape (n_rows, width), C-ordered, on its device."""
        assert self.node is not None
        table = data(X)
        return self._write(table, self.node.apply(columns(table)))

    def _fit(self, X: Any, y: Any, *, keeps: bool) -> tuple[Table | Partitions, Read]:
        table = data(X)
        options = Options(framed=self.framed, keeps=keeps, rank_error=self.rank_error)
        self.head, self.resumed = frames.head(table.first().table.X), False
        self.node = build(self.spec, self.head, self.step, options)
        read = self.node.fit(table, self._source(table), y).blocks
        assert read is not None
        return table, read

    def _source(self, table: Table | Partitions) -> Columns:
        return replace(columns(table), origins=self.origins)

    def _write(self, table: Table | Partitions, read: Read) -> Any:
        if isinstance(table, Partitions):
            made = table.write(read, self.dtype, self._names())
        elif self.framed:
            made = output.frame(table, read, self.dtype, self._names())
        else:
            made = output.matrix(table, read, self.dtype)
        self.width = int(made.shape[1])
        return made

    def _names(self) -> list[Any]:
        return list(self.to_sklearn().get_feature_names_out()) if self.framed else []

    def spreads(self, call: str, X: Any, y: Any, params: dict[str, Any]) -> str:
        """Return how it learns from partitions."""
        return "the statistics of the partitions are merged"

    def stays(self, call: str, X: Any, y: Any, params: dict[str, Any]) -> str:
        """Return why they have to be gathered, where others like them have not."""
        return ""

    def call(self, method: str, X: Any, **params: Any) -> Any:
        """Return the matrix: `transform` is the one method of a program."""
        return getattr(self, method)(X, **params)

    def to_sklearn(self) -> Any:
        """Return the fitted scikit-learn transformer."""
        assert self.node is not None
        return self.node.original()


def data(X: Any) -> Table | Partitions:
    """Return a table, or the partitions of a Dask frame, as programs read them."""
    if frames.is_partitioned(X):
        return Partitions(X)
    return Table(X.toarray() if frames.is_sparse(X) else X)


def columns(table: Table | Partitions) -> Columns:
    """Return all columns of a table as the source of the first node."""
    X = table.like
    framed = frames.is_frame(X)
    return Columns(list(X.columns) if framed else list(range(X.shape[1])), framed)
