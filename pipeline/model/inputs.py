"""What a model takes in: a table of known columns, partitions of one, or documents.

The same policy for every device, applied before a row goes to one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Protocol

import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import has_fit_parameter

from pipeline.backends.text_input import documents, labels, reads_text
from pipeline.compile.compile import compile_step
from pipeline.compile.rules import columns_read, needs_order
from pipeline.compile.spec import Op, columns_of
from pipeline.errors import DataError
from pipeline.table import frames
from pipeline.table.convert import convert
from pipeline.table.schema import Schema, kind_of, select_columns
from pipeline.table.shared import SharedRows
from pipeline.table.target import check_target, tell_order
from pipeline.typing import Estimator, Name, ReadParams, Table


class Input(Protocol):
    """What a model remembers of its training rows, to check other rows."""

    @property
    def names(self) -> list[Any] | None:
        """The names of the columns; None without names."""

    @property
    def n_features(self) -> int | None:
        """The number of columns; None for documents."""

    def take(self, X: Table) -> Any:
        """Return rows as the model expects them, or raise `DataError`."""


def keeps_objects(first: Op) -> bool:
    """Return whether Python's objects reach the step that reads a table as they are."""
    return first.takes.device == "cpu" and first.transforms_tables


def fit_input(first: Op, X: Table) -> tuple[Input, Any]:
    """Return the input of a model whose first step is fitted on X, and X as the model expects it.

    `DataError` says that the estimator cannot read X.
    """
    if not first.on_blocks and reads_text(first.estimator):
        name = getattr(X, "name", None)
        return TextInput(name if isinstance(name, str) else None), documents(X)
    if type(first.estimator) is LabelEncoder:
        return LabelInput(), labels(X)
    if frames.is_partitioned(X):
        return DaskInput.of(X, in_order=needs_order(first.estimator)), X
    schema, X = Schema.fit(X, partial(_columns_read, first), objects=keeps_objects(first))
    schema.sparse, schema.in_order = first.takes.form == "sparse", needs_order(first.estimator)
    return schema, X


def _columns_read(first: Op, head: pd.DataFrame) -> list[Any] | None:
    """Return the columns that a step reads of a table, of which `head` is a row."""
    known = columns_of(head)
    if known != {"names": first.takes.names, "dtypes": first.takes.dtypes}:
        takes = replace(first.takes, device="cpu", **known)
        first = compile_step(first.estimator, first.path, takes)
    return columns_read(first)


@dataclass
class DaskInput:
    """Partitions of a table; their values are checked where they are."""

    names: list[Name] | None
    n_features: int | None
    kinds: Mapping[str, str]
    sparse: bool = False
    in_order: bool = False

    @classmethod
    def of(cls, X: Table, *, in_order: bool) -> DaskInput:
        """Return what is remembered of partitions."""
        names = list(X.columns) if hasattr(X, "columns") else None
        kinds = {str(name): kind_of(X._meta[name]) for name in names or ()}
        return cls(names, int(X.shape[1]), kinds, frames.is_sparse(X), in_order)

    def take(self, X: Table) -> Any:
        """Return a table with the fitted columns, in their order."""
        X = X if frames.is_partitioned(X) else convert(X)
        if self.names is not None and hasattr(X, "columns"):
            return select_columns(X, self.names, in_order=self.in_order)
        if self.names is not None or X.shape[1] != self.n_features:
            wanted = f"{self.n_features} columns"
            wanted = f"a frame with the columns {self.names}" if self.names else wanted
            raise DataError(f"X has {X.shape[1]} columns without names; pass {wanted}")
        return X


@dataclass(frozen=True)
class TextInput:
    """Texts, one a row; the name of their column at fit, where there was one."""

    column: str | None = None
    names: ClassVar[None] = None
    n_features: ClassVar[None] = None

    def take(self, X: Table) -> Any:
        """Return the texts as a series."""
        return documents(X)


class LabelInput:
    """Labels, one a row."""

    names = None
    n_features = None

    def take(self, X: Table) -> Any:
        """Return the labels as a host array."""
        return labels(X)


def refuse_partitions(X: Table, step: str) -> None:
    """Reject partitions for a step that needs all rows in one table."""
    if frames.is_partitioned(X):
        raise DataError(
            f"{step} needs all rows in one table, but X has partitions; pass X.compute(), or fit "
            "only the transformers on partitions"
        )


def validate_eval_set(sets: Any, takes: Input) -> Iterator[tuple[Any, Any]]:
    """Return the tables and targets of XGBoost's `eval_set`, held to the columns of the fit.

    Shared rows are left as they are, to be taken where the rows of the fit are. `DataError` says
    that it is not a list of pairs, or that a table or target cannot be used.
    """
    for pair in sets:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise DataError("eval_set is not a list of pairs; pass [(X_valid, y_valid)]")
        X = pair[0] if isinstance(pair[0], SharedRows) else takes.take(pair[0])
        yield X, check_target(pair[1], X)


def warn_of_labels(params: ReadParams, X: Table) -> None:
    """Warn where weights, or the queries of a ranker, have other labels than the rows."""
    for key, given in params.items():
        if (name := key.rpartition("__")[2]) in ("sample_weight", "qid"):
            tell_order(X, given, name)


def tags_of(estimator: Estimator) -> Tags:
    """Return the tags of an estimator; of one that has none, as scikit-learn's classes begin.

    >>> tags_of(object()).estimator_type is None
    True
    """
    if hasattr(estimator, "__sklearn_tags__"):
        return get_tags(estimator)
    tags = get_tags(BaseEstimator())
    tags.estimator_type = getattr(estimator, "_estimator_type", None)
    return tags


def is_a(estimator: Estimator, kind: str) -> bool:
    """Return whether an estimator is a "classifier", a "regressor" or of another kind."""
    return tags_of(estimator).estimator_type == kind


def takes_weights(estimator: Estimator) -> bool:
    """Return whether all of an estimator learns from weighted rows; a `Pipeline` says it does not.

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> takes_weights(Ridge()), takes_weights(KNeighborsRegressor())
    (True, False)
    """
    # Transformers on blocks have no weights.
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        return False
    return bool(has_fit_parameter(estimator, "sample_weight"))
