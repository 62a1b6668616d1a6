"""Permutation importance of the columns of a table, from rows that are prepared once."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.inspection import permutation_importance
from sklearn.metrics import check_scoring

# scikit-learn has no public classes of the scorers that ask for nothing but predictions.
from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer, _PassthroughScorer
from sklearn.utils import Bunch, _safe_indexing, check_random_state
from sklearn.utils.random import sample_without_replacement

from pipeline.backends.xgboost.ranking import is_ranker
from pipeline.data import frames
from pipeline.data.convert import convert
from pipeline.data.schema import Schema
from pipeline.data.shared import SharedRows
from pipeline.errors import ConfigError, DataError, in_words_of
from pipeline.estimator.as_given import REFUSALS
from pipeline.estimator.inputs import refuse_partitions
from pipeline.planning.classify import named_steps
from pipeline.planning.plan import Plan
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.origins import Sources, find_sources
from pipeline.trace import execution_log, record
from pipeline.typing import Array, Estimator, Table, Target

Score = Callable[..., Any]


@dataclass(frozen=True)
class Asked:
    """What the method is asked for; see `Answers.importance`."""

    scoring: Any
    repeats: int
    random_state: Any
    sample_weight: Array
    max_samples: float


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


@dataclass(frozen=True)
class Judge:
    """A scorer, and what rows of a model are scored by.

    Parameters
    ----------
    model : estimator
    scorer : callable
    y : target
    weights : array-like, optional
    """

    model: Estimator
    scorer: Score
    y: Target
    weights: Array

    def __call__(self, rows: PreparedRows) -> Any:
        """Return the score of rows, or several by their names."""
        weights = {} if self.weights is None else {"sample_weight": self.weights}
        return self.scorer(self.model, rows, self.y, **weights)

    def of(self, rows: np.ndarray) -> Judge:
        """Return the judge of some of the rows."""
        y, weights = (
            None if a is None else _safe_indexing(a, rows) for a in (self.y, self.weights)
        )
        return replace(self, y=y, weights=weights)


class Order:
    """An order of rows, on every device that asks for it.

    Parameters
    ----------
    rows : numpy.ndarray of int, shape (n_rows,)
        The row that each cell comes from.
    """

    def __init__(self, rows: np.ndarray) -> None:
        self.there: dict[str, Any] = {"cpu": rows}

    def beside(self, X: Table) -> Any:
        """Return it where a table is."""
        device = frames.device_of(X)
        if device not in self.there:
            with record("input", "copy", device, "the order of the rows"):
                self.there[device] = frames.to_device(self.there["cpu"], device)
        return self.there[device]


class PermutedTable:
    """A table as the steps behind its preprocessing take it, with one column permuted at a time.

    One matrix is kept, and changed in place. Where a column goes through a step together with
    others, the table is transformed anew.

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
        matrix, self.first = self.X, 0
        if self.program is not None:
            matrix, self.first = self._made(self.X), 1
        self.matrix = self._own(matrix)
        self.sources = self._find_sources()

    def _made(self, X: Table) -> Any:
        before, after = self.plan.steps[:2]
        return after.bring(before.call("transform", X))

    def _own(self, matrix: Table) -> Any:
        """Return a matrix that may be changed: one that no table of the caller's is behind."""
        if frames.is_frame(matrix) or frames.is_sparse(matrix):
            return matrix  # never changed in place
        lent = matrix is self.X or not matrix.flags.owndata or not getattr(
            matrix.flags, "writeable", True
        )  # fmt: skip
        return matrix.copy(order="K") if lent else matrix

    def _find_sources(self) -> Sources | None:
        """Return what the columns of the matrix are made of; None where it is not known."""
        wide = int(self.matrix.shape[1])
        if frames.is_frame(self.matrix) or not self._in_order():
            return None
        if self.program is None:
            return find_sources("passthrough", wide)
        found = find_sources(self.program.to_sklearn(), int(self.X.shape[1]))
        return found if found is not None and len(found.origins) == wide else None

    def _in_order(self) -> bool:
        """Return whether cells of sparse rows can be told apart, and are in order."""
        X = self.matrix
        if not frames.is_sparse(X):
            return True
        return frames.device_of(X) == "cpu" and X.format == "csr" and bool(X.has_canonical_format)

    def rows(self, matrix: Any = None) -> PreparedRows:
        """Return rows that the model answers for: by default, those of the table as it is."""
        return PreparedRows(self.plan, self.first, self.matrix if matrix is None else matrix)

    def is_read(self, column: int) -> bool:
        """Return whether anything depends on a column of the table."""
        return self.sources is None or self.sources.matters(column)

    @contextmanager
    def permuted(self, column: int, order: Order) -> Iterator[PreparedRows]:
        """Lend the rows with the cells of one column in another order.

        Parameters
        ----------
        column : int
            Its position in the table.
        order : Order
        """
        outputs = self.sources.fed_by(column) if self.sources else []
        if self.sources is None or not self.sources.move_with(column):
            yield self.rows(self._transformed(column, order))
        elif frames.is_sparse(self.matrix):
            yield self.rows(permute_sparse(self.matrix, outputs, order.beside(self.matrix)))
        else:
            where = slice(outputs[0], outputs[-1] + 1) if _adjoin(outputs) else outputs
            kept = self.matrix[:, where].copy()
            self.matrix[:, where] = kept[order.beside(kept)]
            try:
                yield self.rows()
            finally:
                self.matrix[:, where] = kept

    def _transformed(self, column: int, order: Order) -> Any:
        """Return the matrix of the table with a column permuted."""
        X = permute_column(self.X, column, order.beside(self.X))
        return X if self.program is None else self._made(X)


def _adjoin(places: Sequence[int]) -> bool:
    return places[-1] - places[0] == len(places) - 1


def permute_column(X: Table, column: int, order: Array) -> Any:
    """Return a table with the cells of one column in another order; the given one stays.

    >>> permute_column(np.array([[1, 2], [3, 4]]), 1, np.array([1, 0])).tolist()
    [[1, 4], [3, 2]]
    """
    if frames.is_frame(X):
        name = X.columns[column]
        cells = X[name].iloc[order].reset_index(drop=True)
        if frames.library(X) == "cudf":  # where nothing reads the labels of rows
            X = X.reset_index(drop=True)
        else:
            X, cells = X.copy(deep=False), cells.set_axis(X.index)
        X[name] = cells
        return X
    if frames.is_sparse(X):
        return permute_sparse(X.tocsr(), [column], order)
    X = X.copy()
    X[:, column] = X[order, column]
    return X


def permute_sparse(X: Table, columns: Sequence[int], order: np.ndarray) -> Any:
    """Return rows of SciPy's CSR with the cells of some columns in another order.

    Cells that are stored and zero stay stored, and the cells of a row are in order.

    >>> from scipy.sparse import csr_matrix
    >>> X = csr_matrix([[0, 2, 7], [3, 0, 8]])
    >>> permute_sparse(X, [0, 1], np.array([1, 0])).toarray().tolist()
    [[3, 0, 7], [0, 2, 8]]
    """
    chosen = np.zeros(X.shape[1], dtype=bool)
    chosen[list(columns)] = True
    mine = chosen[X.indices]
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    counts = np.bincount(rows[mine], minlength=X.shape[0])
    moved, held = counts[order], np.flatnonzero(mine)
    # The cells of a row lie together: where those of the rows begin that are put in their places.
    begins = np.cumsum(counts) - counts
    steps = np.arange(int(moved.sum())) - np.repeat(np.cumsum(moved) - moved, moved)
    picked = held[np.repeat(begins[order], moved) + steps]
    rows = np.concatenate([rows[~mine], np.repeat(np.arange(X.shape[0]), moved)])
    cells = np.concatenate([np.flatnonzero(~mine), picked])
    placed = X.indices[cells]
    # By row, then by column, as they were.
    sort = np.lexsort((placed, rows))
    made = (X.data[cells][sort], placed[sort], _ends(rows, X))
    return type(X)(made, shape=X.shape)


def _ends(rows: np.ndarray, X: Table) -> np.ndarray:
    counts = np.bincount(rows, minlength=X.shape[0])
    return np.concatenate([[0], np.cumsum(counts)]).astype(X.indptr.dtype)


def importance(model: Estimator, X: Table, y: Target, asked: Asked) -> Any:
    """Return what `Answers.importance` does."""
    refuse_partitions(X, "the importance of columns")
    X = _table(X)
    asked = _checked(X, y, asked)
    names = _names(model, X)
    scorer = _scorer(model, asked.scoring)
    if not isinstance(y, list | type(None)):
        y = frames.to_device(y, "cpu")
    found = _from_prepared(model, X, y, scorer, asked) if _asks_only(model, scorer) else None
    if found is None:
        found = _from_table(model, X, y, scorer, asked)
    for each in found.values() if type(found) is dict else [found]:
        each["feature_names"] = names
    return found


def _table(X: Table) -> Any:
    """Return a table whose columns can be permuted."""
    if isinstance(X, SharedRows):
        X = X.rows()
    known = frames.is_frame(X) or frames.library(X) in frames.ARRAYS or frames.is_sparse(X)
    return X if known else convert(X)


def _checked(X: Table, y: Target, asked: Asked) -> Asked:
    """Return what is asked for, with the number of rows in place of their share."""
    n_rows = int(X.shape[0])
    if len(X.shape) != 2:
        raise DataError("X has no columns, of which the importance could be told; pass a table")
    for name, given in {"y": y, "sample_weight": asked.sample_weight}.items():
        if given is not None and (n := len(given)) != n_rows:
            raise DataError(f"{name} has {n:,} entries and X has {n_rows:,} rows; pass one a row")
    if not isinstance(asked.repeats, numbers.Integral) or asked.repeats < 1:
        raise ConfigError(f"repeats={asked.repeats!r} is not a whole number of at least 1")
    share, whole = asked.max_samples, isinstance(asked.max_samples, numbers.Integral)
    if isinstance(share, bool) or not 0 < share <= (n_rows if whole else 1):
        raise ConfigError(
            f"max_samples={share!r} is neither a share of the rows, as 0.5, nor a number from 1 to "
            f"the {n_rows:,} rows of X"
        )
    n = int(share) if whole else int(share * n_rows)
    if not n:
        raise ConfigError(f"max_samples={share!r} is less than one of the {n_rows:,} rows of X")
    return replace(asked, max_samples=n)


def _names(model: Estimator, X: Table) -> np.ndarray:
    """Return the names of the columns; where there are none, those that the model knows, or x0."""
    if hasattr(X, "columns"):
        return np.array(list(X.columns), dtype=object)
    known = getattr(model, "feature_names_in_", ())
    same = len(known) == X.shape[1]
    return np.array(known if same else [f"x{i}" for i in range(X.shape[1])], dtype=object)


def _scorer(model: Estimator, scoring: Any) -> Score:
    try:
        scorer: Score = check_scoring(model, scoring=scoring)
        return scorer
    except (TypeError, ValueError) as error:
        way_out = "pass one of sklearn.metrics.get_scorer_names(), several of them, or a scorer"
        raise in_words_of(error, ConfigError(f"scoring={scoring!r}; {way_out}")) from error


def _asks_only(model: Estimator, scorer: Score) -> bool:
    """Return whether a scorer asks a model for answers, and looks at no cell of the rows.

    One of your own says so by an attribute, ``reads_answers_only = True``.
    """
    if isinstance(scorer, _MultimetricScorer):
        return all(_asks_only(model, each) for each in scorer._scorers.values())
    if isinstance(scorer, _PassthroughScorer):
        return not is_ranker(named_steps(model.estimator)[-1][1])
    return isinstance(scorer, _BaseScorer) or getattr(scorer, "reads_answers_only", False) is True


def _from_table(model: Estimator, X: Table, y: Target, scorer: Score, asked: Asked) -> Any:
    """Return what scikit-learn's own function finds, which gives the model whole tables."""
    if frames.is_sparse(X):
        raise DataError(
            "X is sparse, and scikit-learn, whose way this scorer or model needs, permutes no "
            "sparse columns; pass X.toarray()"
        )
    return permutation_importance(
        model,
        frames.to_device(X, "cpu"),
        y,
        scoring=scorer,
        n_repeats=asked.repeats,
        random_state=asked.random_state,
        sample_weight=asked.sample_weight,
        max_samples=asked.max_samples,
    )


def _from_prepared(model: Estimator, X: Table, y: Target, scorer: Score, asked: Asked) -> Any:
    """Return what is found with rows that are prepared once; None where they cannot be."""
    plan, takes, n_rows = model.plan_, model.inputs_, int(X.shape[0])
    if plan.as_given or not isinstance(takes, Schema):
        return None
    judge = Judge(model, scorer, y, asked.sample_weight)
    with execution_log(host_bytes=model.host_bytes, n_rows=n_rows) as log:
        try:
            taken = takes.take(X)
            if not model._takes(taken):
                return None
            table = PermutedTable(plan, taken)
            baseline = unmoved = judge(table.rows())
        except REFUSALS:  # scikit-learn's way raises the same, or finds another
            return None
        random = check_random_state(asked.random_state)
        # Every column is permuted alike, as scikit-learn does.
        random = check_random_state(random.randint(np.iinfo(np.int32).max + 1))
        if asked.max_samples < n_rows:
            rows = sample_without_replacement(n_rows, asked.max_samples, random_state=random)
            judge = judge.of(rows)
            table = PermutedTable(plan, frames.at(taken, Order(rows).beside(taken)))
            unmoved = judge(table.rows())
        places, orders = _places(X, takes), _orders(len(table.rows()), asked.repeats, random)
        turns = [_score_columns(table, places, order, judge, unmoved) for order in orders]
    model.execution_log_.last = log
    return _bunches(baseline, list(zip(*turns, strict=True)))


def _orders(n_rows: int, repeats: int, random: np.random.RandomState) -> Iterator[Order]:
    """Yield the order of each repeat, as scikit-learn draws it.

    It shuffles what it drew before, and permutes what is permuted already.
    """
    drawn, order = np.arange(n_rows), np.arange(n_rows)
    for _ in range(repeats):
        random.shuffle(drawn)
        order = order[drawn]
        yield Order(order)


def _score_columns(
    table: PermutedTable, places: Sequence[int | None], order: Order, judge: Judge, unmoved: Any
) -> list[Any]:
    """Return the score with each column in another order."""
    scores = []
    for place in places:
        if place is None or not table.is_read(place):
            scores.append(unmoved)
            continue
        with table.permuted(place, order) as rows:
            scores.append(judge(rows))
    return scores


def _places(X: Table, takes: Schema) -> list[int | None]:
    """Return the place of each column among those that the model takes; None of others."""
    if takes.names is None or not hasattr(X, "columns"):
        return list(range(X.shape[1]))
    known: Mapping[Any, int] = {name: i for i, name in enumerate(takes.names)}
    return [known.get(name) for name in X.columns]


def _bunches(baseline: Any, scores: Sequence[Sequence[Any]]) -> Any:
    """Return the scores as scikit-learn does; of several scorers, by their names."""
    if not isinstance(baseline, dict):
        return _bunch(baseline, np.array(scores))
    return {
        name: _bunch(value, np.array([[score[name] for score in each] for each in scores]))
        for name, value in baseline.items()
    }


def _bunch(baseline: Any, scores: np.ndarray) -> Bunch:
    lost = baseline - scores
    return Bunch(
        importances_mean=np.mean(lost, axis=1), importances_std=np.std(lost, axis=1),
        importances=lost,
    )  # fmt: skip
