"""Permutation importance of the columns of a table, from rows that are prepared once."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import hstack
from sklearn.inspection import permutation_importance
from sklearn.inspection._permutation_importance import _create_importances_bunch
from sklearn.metrics import check_scoring

# scikit-learn has no public classes of the scorers that ask for nothing but predictions.
from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer, _PassthroughScorer
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.random import sample_without_replacement

from pipeline.backends.xgboost.ranking import is_ranker
from pipeline.compile.compile import named_steps
from pipeline.compile.plan import Plan
from pipeline.compile.program import Program
from pipeline.data import frames
from pipeline.data.convert import convert
from pipeline.data.schema import Schema
from pipeline.data.shared import SharedRows
from pipeline.errors import ConfigError, DataError, Refused, in_words_of
from pipeline.estimator.inputs import refuse_partitions
from pipeline.preprocessing.origins import Sources, find_sources
from pipeline.trace import execution_log
from pipeline.typing import Array, Estimator, Table, Target

Score = Callable[..., Any]


@dataclass(frozen=True)
class PreparedRows:
    """Rows as one of the steps of a plan takes them: what a model answers for in place of a table.

    Parameters
    ----------
    plan : Plan
        Fitted.
    first : int
        The step that takes them.
    matrix : table
    """

    plan: Plan
    first: int
    matrix: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return tuple(self.matrix.shape)

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.matrix.shape[0])

    def call(self, method: str, **params: Any) -> Any:
        """Return what a method of the last step says of them."""
        X, steps = self.matrix, self.plan.steps[self.first :]
        for step, after in pairwise(steps):
            X = after.bring(step.call("transform", X))
        return steps[-1].call(method, X, **params)


class PreparedTable:
    """A table as the steps behind its preprocessing take it, with one column permuted at a time.

    Where a column goes through a step together with others, the table is transformed anew.

    Parameters
    ----------
    plan : Plan
        Fitted.
    taken : table
        As the plan takes it.
    """

    def __init__(self, plan: Plan, taken: Table) -> None:
        self.plan, self.X = plan, plan.bring(taken)
        worker = plan.steps[0].worker
        self.program = worker if isinstance(worker, Program) and len(plan.steps) > 1 else None
        self.matrix = self._made(self.X)
        self.sources = self._find_sources()

    def _made(self, X: Table) -> Any:
        if self.program is None:
            return X
        before, after = self.plan.steps[:2]
        return after.bring(before.call("transform", X))

    def _find_sources(self) -> Sources | None:
        """Return what the columns of the matrix are made of; None where it is not known."""
        on_gpu = frames.device_of(self.matrix) == "cuda"
        if frames.is_frame(self.matrix) or (on_gpu and frames.is_sparse(self.matrix)):
            return None
        made = "passthrough" if self.program is None else self.program.to_sklearn()
        found = find_sources(made, int(self.X.shape[1]))
        same = found is not None and len(found.origins) == self.matrix.shape[1]
        return found if same else None

    def rows(self, matrix: Any = None) -> PreparedRows:
        """Return rows that the model answers for: by default, those of the table as it is."""
        first = 0 if self.program is None else 1
        return PreparedRows(self.plan, first, self.matrix if matrix is None else matrix)

    def is_read(self, column: int) -> bool:
        """Return whether anything depends on a column of the table."""
        return self.sources is None or self.sources.matters(column)

    def permuted(self, column: int, order: np.ndarray) -> PreparedRows:
        """Return the rows with the cells of one column of the table in another order."""
        if self.sources is None or not self.sources.move_with(column):
            return self.rows(self._made(permute(self.X, [column], order)))
        return self.rows(permute(self.matrix, self.sources.fed_by(column), order))


def permute(X: Table, columns: Sequence[int], order: np.ndarray) -> Any:
    """Return a table with the cells of some columns in another order; the given one stays.

    >>> permute(np.array([[1, 2], [3, 4]]), [1], np.array([1, 0])).tolist()
    [[1, 4], [3, 2]]
    """
    if frames.is_sparse(X):
        kept = np.setdiff1d(np.arange(X.shape[1]), columns)
        made = hstack([X[:, kept], X[:, list(columns)][order]], format="csr")
        made = made[:, np.argsort([*kept, *columns])]
        made.sort_indices()
        return made
    X = X.reset_index(drop=True) if frames.library(X) == "cudf" else X.copy()
    rows = frames.to_device(order, frames.device_of(X))
    if not frames.is_frame(X):
        X[:, columns] = X[:, columns][rows]
        return X
    for name in X.columns[list(columns)]:
        cells = X[name].iloc[rows].reset_index(drop=True)
        X[name] = cells if frames.library(X) == "cudf" else cells.set_axis(X.index)
    return X


def importance(model: Estimator, X: Table, y: Target, scoring: Any, **asked: Any) -> Any:
    """Return what `Answers.importance` does; the other parameters are scikit-learn's."""
    refuse_partitions(X, "the importance of columns")
    X = X.rows() if isinstance(X, SharedRows) else X
    known = frames.is_frame(X) or frames.library(X) in frames.ARRAYS or frames.is_sparse(X)
    X = X if known else convert(X)
    names = _names(model, X)
    try:
        scorer: Score = check_scoring(model, scoring=scoring)
    except (TypeError, ValueError) as error:
        way_out = "pass one of sklearn.metrics.get_scorer_names(), several of them, or a scorer"
        raise in_words_of(error, ConfigError(f"scoring={scoring!r}; {way_out}")) from error
    if not isinstance(y, list | type(None)):
        y = frames.to_device(y, "cpu")
    found = _from_prepared(model, X, y, scorer, **asked) if _asks_only(model, scorer) else None
    if found is None:
        if frames.is_sparse(X):
            raise DataError(
                "X is sparse, and scikit-learn, whose way this scorer or model needs, permutes no "
                "sparse columns; pass X.toarray()"
            )
        given = frames.to_device(X, "cpu")
        found = permutation_importance(model, given, y, scoring=scorer, **asked)
    for each in found.values() if type(found) is dict else [found]:
        each["feature_names"] = names
    return found


def _names(model: Estimator, X: Table) -> np.ndarray:
    """Return the names of the columns; where there are none, those that the model knows, or x0."""
    if hasattr(X, "columns"):
        return np.array(list(X.columns), dtype=object)
    known = getattr(model, "feature_names_in_", ())
    same = len(known) == X.shape[1]
    return np.array(known if same else [f"x{i}" for i in range(X.shape[1])], dtype=object)


def _asks_only(model: Estimator, scorer: Score) -> bool:
    """Return whether a scorer asks a model for answers, and looks at no cell of the rows.

    One of your own says so by an attribute, ``reads_answers_only = True``.
    """
    if isinstance(scorer, _MultimetricScorer):
        return all(_asks_only(model, each) for each in scorer._scorers.values())
    if isinstance(scorer, _PassthroughScorer):
        return not is_ranker(named_steps(model.estimator)[-1][1])
    return isinstance(scorer, _BaseScorer) or getattr(scorer, "reads_answers_only", False) is True


def _from_prepared(
    model: Estimator,
    X: Table,
    y: Target,
    scorer: Score,
    *,
    n_repeats: int,
    random_state: Any,
    sample_weight: Array,
    max_samples: float,
) -> Any:
    """Return what is found with rows that are prepared once; None where they cannot be."""
    plan, takes, n_rows = model.plan_, model.inputs_, int(X.shape[0])
    whole = isinstance(max_samples, numbers.Integral)
    n_drawn = int(max_samples if whole else max_samples * n_rows)
    if n_repeats < 1:
        raise ConfigError(f"repeats={n_repeats!r} is less than 1")
    if not 0 < n_drawn <= n_rows:
        raise ConfigError(f"max_samples={max_samples!r}: X has {n_rows:,} rows; pass a share")
    if plan.as_given or not isinstance(takes, Schema):
        return None
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    with execution_log(host_bytes=model.host_bytes, n_rows=n_rows) as log:
        try:
            taken = takes.take(X)
            if not model._takes(taken):
                return None
            table = PreparedTable(plan, taken)
            baseline = unmoved = scorer(model, table.rows(), y, **weights)
        except Refused:  # scikit-learn's way raises the same, or finds another
            return None
        random = check_random_state(random_state)
        # Every column is permuted alike, as scikit-learn does.
        random = check_random_state(random.randint(np.iinfo(np.int32).max + 1))
        if n_drawn < n_rows:
            rows = sample_without_replacement(n_rows, n_drawn, random_state=random)
            y = None if y is None else _safe_indexing(y, rows)
            weights = {name: _safe_indexing(each, rows) for name, each in weights.items()}
            table = PreparedTable(plan, frames.at(taken, frames.to_device_of(rows, taken)))
            unmoved = scorer(model, table.rows(), y, **weights)
        turns, drawn, order = [], np.arange(n_drawn), np.arange(n_drawn)
        for _ in range(n_repeats):
            random.shuffle(drawn)
            order = order[drawn]  # scikit-learn permutes what is permuted already
            turns.append(
                [
                    unmoved
                    if place is None or not table.is_read(place)
                    else scorer(model, table.permuted(place, order), y, **weights)
                    for place in _places(X, takes)
                ]
            )
    model.execution_log_.last = log
    return _bunches(baseline, list(zip(*turns, strict=True)))


def _places(X: Table, takes: Schema) -> list[int | None]:
    """Return the place of each column among those that the model takes; None of others."""
    if takes.names is None or not hasattr(X, "columns"):
        return list(range(X.shape[1]))
    known: Mapping[Any, int] = {name: i for i, name in enumerate(takes.names)}
    return [known.get(name) for name in X.columns]


def _bunches(baseline: Any, scores: Sequence[Sequence[Any]]) -> Any:
    """Return the scores as scikit-learn does; of several scorers, by their names."""
    if not isinstance(baseline, dict):
        return _create_importances_bunch(baseline, np.array(scores))
    return {
        name: _create_importances_bunch(
            value, np.array([[score[name] for score in each] for each in scores])
        )
        for name, value in baseline.items()
    }
