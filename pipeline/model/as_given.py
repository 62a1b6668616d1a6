"""The fallback to scikit-learn itself, on the user's own rows.

If the engine rejects rows or an estimator, scikit-learn runs them on the host; the log and the
placements say so. If it rejects them too, the error has its message, then this package's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from typing import Any

from sklearn.preprocessing import FunctionTransformer

from pipeline.backends.base import keep_means, with_target
from pipeline.compile.compile import named_steps
from pipeline.compile.plan import Plan, run, run_as_given
from pipeline.compile.spec import CONTAINERS, Op
from pipeline.errors import DataError, PipelineError, Refused, in_both_words, in_words_of
from pipeline.model.routing import as_sklearn_takes
from pipeline.table import frames
from pipeline.table.borrowed import shown
from pipeline.table.convert import as_passed, convert, is_arrow, without_na
from pipeline.table.output import container, framed
from pipeline.table.shared import SharedRows, table_of
from pipeline.trace import record
from pipeline.typing import Estimator, Params, ReadParams, Table, Target

AS_IT_IS = object()
"""Stands for rows that scikit-learn has already transformed."""


class GivenInput:
    """Rows as they are given; the fitted estimator itself remembers what they have to be."""

    def __init__(self, fitted: Estimator) -> None:
        self.fitted = fitted

    @property
    def names(self) -> list[Any] | None:
        """The names of the columns, where scikit-learn keeps them."""
        names = getattr(self.fitted, "feature_names_in_", None)
        return None if names is None else list(names)

    @property
    def n_features(self) -> int | None:
        """The number of columns, where scikit-learn keeps it."""
        return getattr(self.fitted, "n_features_in_", None)

    def take(self, X: Table) -> Any:
        """Return the rows as they are, on the host."""
        return frames.to_device(X, "cpu")


def prints_steps(whole: Op) -> bool:
    """Return whether a container in an estimator prints a line for each of its steps.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from pipeline.compile.compile import compile
    >>> prints_steps(compile(make_pipeline(StandardScaler(), verbose=True)))
    True
    """
    containers = [op.estimator for op in whole.tree if type(op.estimator) in CONTAINERS]
    return any(map(attrgetter("verbose"), containers))


def makes_frames(estimator: Estimator, X: Table) -> bool:
    """Return whether scikit-learn returns frames for frames, though none are requested.

    >>> import pandas as pd
    >>> from sklearn.preprocessing import FunctionTransformer, StandardScaler
    >>> X = pd.DataFrame({"a": [1.0]})
    >>> makes_frames(FunctionTransformer(), X), makes_frames(StandardScaler(), X)
    (True, False)
    """
    other = not frames.is_frame(X)
    if other and (frames.is_partitioned(X) or not hasattr(X, "__dataframe__")):
        return False
    others = [
        how
        for _, how in named_steps(estimator)
        if type(how) is not FunctionTransformer or how.validate or container(how) != "default"
    ]
    return not others


def materialize(X: Table) -> Any:
    """Return a list of what can be read only once, so that it can be read twice."""
    if isinstance(X, SharedRows):
        return X.rows()
    once = isinstance(X, Iterator) and not hasattr(X, "__arrow_c_stream__")
    return list(X) if once else X


def count_if_known(X: Table) -> int:
    """Return the number of rows; 0 where it is not known.

    >>> count_if_known(["a", "b"]), count_if_known(None)
    (2, 0)
    """
    if frames.is_partitioned(X):
        return 0
    shape = getattr(X, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 0
    return len(X) if hasattr(X, "__len__") else 0


def learn(
    model: Estimator,
    method: str,
    X: Table,
    y: Target,
    params: ReadParams,
    refused: Refused,
) -> tuple[Plan, Any]:
    """Return the plan of an estimator that learns from rows as they are, and what it returns.

    If scikit-learn rejects the rows as well, the error is also of its class.
    """
    with in_both_words(refused):
        plan = run_as_given(framed(model, model.estimator), str(refused))
        return plan, call(plan, method, X, y, as_sklearn_takes(model, method, params))


def call(plan: Plan, method: str, X: Table, y: Target, params: Params) -> Any:
    """Call a method of the estimator of such a plan as its user would."""
    (step,) = plan.steps
    asked = getattr(step.worker.native, method)  # type: ignore[union-attr]
    given = [frames.to_device(each, "cpu") for each in with_target(asked, X, y)]
    work = partial(asked, *given, **params)
    if method.startswith(("fit", "partial_fit")):
        more = method == "partial_fit"
        work = partial(keep_means, step.worker, asked, *given, more=more, **params)
    return run(work, step.name, method, "cpu")


def ask_lifted(
    model: Estimator, method: str, X: Table, params: ReadParams, refused: Refused
) -> Any:
    """Return the result of the lifted model for rows as they are; see `learn` for errors."""
    if not hasattr(model.to_sklearn(), method):
        raise refused
    with in_both_words(refused):
        return ask(model, method, X, params, str(refused))


def transform_into(model: Estimator, how: str, X: Table, params: ReadParams) -> Any:
    """Return rows transformed by the lifted model, in another container than that of its fit."""
    lifted = shown(model.to_sklearn()).set_output(transform=how)
    rows = _plain_rows(model.inputs_.take(materialize(X)))
    return ask(model, "transform", rows, params, "another container was requested", lifted)


def _plain_rows(X: Table) -> Any:
    rows = as_passed(X)
    return without_na(rows) if frames.is_frame(rows) else rows


def ask(
    model: Estimator,
    method: str,
    X: Table,
    params: ReadParams,
    why: str,
    lifted: Estimator | None = None,
) -> Any:
    """Return the result of the lifted model, as an event of the log that says why."""
    lifted = model.to_sklearn() if lifted is None else lifted
    with record("scikit-learn", method, "cpu", why):
        rows = frames.to_device(X, "cpu")
        if is_arrow(rows):  # NumPy would turn dates beside numbers into numbers
            rows = _plain_rows(convert(rows, objects=True))
        return getattr(lifted, method)(rows, **as_sklearn_takes(model, method, params))


@contextmanager
def sparse_refused(X: Table) -> Iterator[None]:
    """Add a suggestion to scikit-learn's error about sparse rows that it does not take."""
    try:
        yield
    except (NotImplementedError, TypeError, ValueError) as theirs:
        X = table_of(X)
        ours = isinstance(theirs, PipelineError) or not frames.holds_sparse(X)
        # Columns are selected from some forms alone; SciPy's words for it are not about that.
        selects = getattr(X, "format", "csr") in ("csr", "csc")
        if ours or (selects and "sparse" not in str(theirs).lower()):
            raise
        dense = "X.sparse.to_dense()" if frames.is_frame(X) else "X.toarray()"
        instead = f"pass {dense}" if selects else f"pass X.tocsr() or {dense}"
        raise in_words_of(theirs, DataError(f"X is sparse; {instead}")) from theirs
