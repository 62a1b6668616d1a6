"""Permutation importance of the columns of a table, from rows that are prepared once."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.sparse import hstack
from sklearn.inspection import permutation_importance
from sklearn.metrics import check_scoring

# scikit-learn has no public classes for the scorers that read predictions only.
from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer, _PassthroughScorer
from sklearn.utils import Bunch

from pipeline.backends.xgboost.ranking import is_ranker
from pipeline.compile.plan import Plan
from pipeline.compile.program import Program
from pipeline.errors import ConfigError, DataError, Refused, clean, in_words_of
from pipeline.model.inputs import refuse_partitions
from pipeline.model.origins import find_made_alone
from pipeline.notebook import HtmlTable, Lines, Shown
from pipeline.optional import load
from pipeline.table import frames
from pipeline.table.convert import convert
from pipeline.table.schema import Schema
from pipeline.trace import execution_log
from pipeline.typing import Estimator, Table, Target

Score = Callable[..., Any]


SHOWN = 10
"""Columns that a `repr` lists."""


class Importance(Shown, Bunch):
    """The importance of each column for one score; the fields are those of scikit-learn."""

    def _parts(self) -> tuple[str, HtmlTable, Lines]:
        mean, std = self.importances_mean, self.importances_std
        columns, repeats = self.importances.shape
        title = f"Permutation importance of {columns:,} columns, {repeats:,} repeats"
        texts = [[f"{m:.4g}", f"± {s:.2g}"] for m, s in zip(mean, std, strict=True)]
        return title, *list_largest(self.feature_names, mean, ["importance", "std"], texts)


def list_largest(
    columns: Sequence[Any], sizes: np.ndarray, head: Sequence[str], texts: Sequence[list[str]]
) -> tuple[HtmlTable, Lines]:
    """Return a table of the columns with the largest sizes, and how many it leaves out."""
    largest = np.argsort(-sizes, kind="stable")[:SHOWN]
    rows = [[clean(str(columns[i])), *texts[i]] for i in largest]
    left = len(sizes) - len(rows)
    more = [f"and {left:,} more"] if left else []
    return HtmlTable(["column", *head], rows, numbers=head), Lines(more)


class PreparedTable:
    """A table as the steps after its preprocessing take it, with one column permuted at a time.

    Where a step reads a column together with others, the table is transformed again. The plan is
    fitted, and the table as it takes it.
    """

    def __init__(self, plan: Plan, taken: Table) -> None:
        self.plan, self.X = plan, plan.bring(taken)
        self.drawn: PreparedTable | None = None
        self.score: Any = None
        worker = plan.steps[0].worker
        self.program = worker if isinstance(worker, Program) and len(plan.steps) > 1 else None
        self.matrix = self._made(self.X)
        self.made_alone = self._find_made_alone()

    def _made(self, X: Table) -> Any:
        if self.program is None:
            return X
        before, after = self.plan.steps[:2]
        return after.bring(before.call("transform", X))

    def _find_made_alone(self) -> list[list[int] | None]:
        """Return which columns of the matrix are permuted where one of the table is."""
        on_gpu, n_columns = frames.device_of(self.matrix) == "cuda", int(self.X.shape[1])
        if frames.is_frame(self.matrix) or (on_gpu and frames.is_sparse(self.matrix)):
            return [None] * n_columns
        made = "passthrough" if self.program is None else self.program.to_sklearn()
        return find_made_alone(made, n_columns, self.matrix.shape[1])

    def permuted(self, column: int | None, order: np.ndarray) -> Any:
        """Return the matrix with the values of a column of the table in another order."""
        if column is None:
            return self.matrix
        if (made := self.made_alone[column]) is None:
            return self._made(permute(self.X, [column], order))
        return permute(self.matrix, made, order) if made else self.matrix


class PreparedRows:
    """Rows that scikit-learn's `permutation_importance` treats as a frame, to permute its columns.

    `places` are those of the columns among what the model takes; None of others.
    """

    index = None

    def __init__(self, table: PreparedTable, places: Sequence[int | None]) -> None:
        self.table, self.places, self.matrix = table, places, table.matrix
        self.columns = range(len(places))
        self.shape = len(self), len(places)
        self.order = np.arange(len(self))

    @property
    def iloc(self) -> PreparedRows:
        """Values by position."""
        return self

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.table.X.shape[0])

    def copy(self) -> PreparedRows:
        """Return the rows as they were."""
        return PreparedRows(self.table, self.places)

    def take(self, rows: np.ndarray, axis: int) -> PreparedRows:
        """Return some rows, the same ones for each column."""
        table = self.table
        if table.drawn is None:
            some = frames.at(table.X, frames.to_device_of(rows, table.X))
            table.drawn = PreparedTable(table.plan, some)
        return PreparedRows(table.drawn, self.places)

    def __getitem__(self, cells: tuple[np.ndarray, int]) -> SimpleNamespace:
        """Return the order of the values of a column in another one."""
        return SimpleNamespace(order=self.order[cells[0]])

    def __setitem__(self, column: int, cells: SimpleNamespace) -> None:
        """Put the values of a column in an order."""
        self.order = cells.order
        self.matrix = self.table.permuted(self.places[column], self.order)

    def call(self, method: str, **params: Any) -> Any:
        """Return the result of a method of the last step."""
        first = 0 if self.table.program is None else 1
        X, steps = self.matrix, self.table.plan.steps[first:]
        for step, after in pairwise(steps):
            X = after.bring(step.call("transform", X))
        return steps[-1].call(method, X, **params)


def permute(X: Table, columns: Sequence[int], order: np.ndarray) -> Any:
    """Return a table with the values of some columns in another order; X does not change.

    >>> permute(np.array([[1, 2], [3, 4]]), [1], np.array([1, 0])).tolist()
    [[1, 4], [3, 2]]
    """
    rows = frames.to_device(order, frames.device_of(X))
    if frames.is_sparse(X):
        kept = np.setdiff1d(np.arange(X.shape[1]), columns)
        stack = hstack if rows is order else load("cupyx.scipy.sparse.hstack")
        made = stack([X[:, kept], X[:, list(columns)][rows]], format="csr")
        made = made[:, np.argsort([*kept, *columns])]
        made.sort_indices()
        return made
    X = X.reset_index(drop=True) if frames.library(X) == "cudf" else X.copy()
    if not frames.is_frame(X):
        X[:, columns] = X[:, columns][rows]
        return X
    for name in X.columns[list(columns)]:
        cells = X[name].iloc[rows].reset_index(drop=True)
        X[name] = cells if frames.library(X) == "cudf" else cells.set_axis(X.index)
    return X


def importance(model: Estimator, X: Table, y: Target, scoring: Any, **asked: Any) -> Any:
    """Return what `Accelerated.importance` does; the other parameters are scikit-learn's."""
    refuse_partitions(X, "permutation importance")
    known = frames.is_frame(X) or frames.library(X) in frames.ARRAYS or frames.is_sparse(X)
    X = X if known else convert(X)
    names = _names(model, X)
    try:
        scorer: Score = check_scoring(model, scoring=scoring)
    except (TypeError, ValueError) as error:
        instead = "pass one or more of sklearn.metrics.get_scorer_names(), or a scorer"
        raise in_words_of(error, ConfigError(f"scoring={scoring!r}: {instead}")) from error
    if not isinstance(y, list | type(None)):
        y = frames.to_device(y, "cpu")
    _check_asked(int(X.shape[0]), **asked)
    found, takes = None, model.inputs_
    prepares = isinstance(takes, Schema) and not model.plan_.as_given
    if prepares and _asks_only(model, scorer):
        log_of = execution_log(host_bytes=model.host_bytes, n_rows=int(X.shape[0]))
        # Rows that are not supported here go to scikit-learn's function.
        with suppress(Refused), log_of as log:
            if model._takes(taken := takes.take(X)):
                rows = PreparedRows(PreparedTable(model.plan_, taken), _places(X, takes))
                score = partial(_score, scorer)
                found = permutation_importance(model, rows, y, scoring=score, **asked)
                model.execution_log_.last = log
    if found is None:
        if frames.is_sparse(X):
            raise DataError(
                "X is sparse, and scikit-learn's permutation_importance, which this scorer or "
                "model needs, does not support sparse rows; pass X.toarray()"
            )
        given = frames.to_device(X, "cpu")
        found = permutation_importance(model, given, y, scoring=scorer, **asked)
    if type(found) is not dict:
        return Importance(**found, feature_names=names)
    return {name: Importance(**each, feature_names=names) for name, each in found.items()}


def _names(model: Estimator, X: Table) -> np.ndarray:
    """Return the names of the columns: those of X, those of the fit, or x0, x1 and so on."""
    if hasattr(X, "columns"):
        return np.array(list(X.columns), dtype=object)
    known = getattr(model, "feature_names_in_", ())
    same = len(known) == X.shape[1]
    return np.array(known if same else [f"x{i}" for i in range(X.shape[1])], dtype=object)


def _asks_only(model: Estimator, scorer: Score) -> bool:
    """Return whether a scorer reads a model's predictions, and not the rows themselves.

    Your own scorer declares it by an attribute, ``reads_answers_only = True``.
    """
    if isinstance(scorer, _MultimetricScorer):
        return all(_asks_only(model, each) for each in scorer._scorers.values())
    if isinstance(scorer, _PassthroughScorer):
        return not is_ranker(model.plan_.steps[-1].worker.estimator)
    return isinstance(scorer, _BaseScorer) or getattr(scorer, "reads_answers_only", False) is True


def _check_asked(n_rows: int, *, n_repeats: int, max_samples: float, **others: Any) -> None:
    whole = isinstance(max_samples, numbers.Integral)
    if n_repeats < 1:
        raise ConfigError(f"repeats={n_repeats!r} is less than 1; pass a positive integer")
    if not 0 < int(max_samples if whole else max_samples * n_rows) <= n_rows:
        raise ConfigError(
            f"max_samples={max_samples!r}, but X has {n_rows:,} rows; pass at most this number, or "
            "a share of at most 1.0"
        )


def _score(scorer: Score, model: Estimator, rows: PreparedRows, y: Target, **weights: Any) -> Any:
    """Return a score, which is known where no column has moved."""
    if rows.matrix is not rows.table.matrix:
        return scorer(model, rows, y, **weights)
    if rows.table.score is None:
        rows.table.score = scorer(model, rows, y, **weights)
    return rows.table.score


def _places(X: Table, takes: Schema) -> list[int | None]:
    """Return the place of each column among those that the model takes; None of others."""
    if takes.names is None or not hasattr(X, "columns"):
        return list(range(X.shape[1]))
    known: Mapping[Any, int] = {name: i for i, name in enumerate(takes.names)}
    return [known.get(name) for name in X.columns]
