"""What a twin is: a scikit-learn transformer's arithmetic, on blocks.

A twin holds the *unfitted* scikit-learn transformer and, once fitted, the *fitted* one with
scikit-learn's own attributes. So the state is scikit-learn's, parity is checked
attribute by attribute, and handing the model over is returning that object.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from pipeline.blocks.block import Block, Categories, Dates, Numbers
from pipeline.errors import DataError, Reason
from pipeline.table.output import container
from pipeline.typing import Array, Estimator, Form, Target

S = TypeVar("S")

ALL = range(2**63)
"""In `Twin.slower`: any number of values."""
MANY = range(100_000, 2**63)
"""Numbers of values for which reading columns and starting threads costs more than arithmetic."""

ANY: tuple[Any, ...] = ()
"""In `Twin.supported_params`: every value that scikit-learn allows."""


TWINS: dict[type, type[Twin[Any]]] = {}
"""scikit-learn class -> our twin; a subclass is another algorithm."""


def any_value(*params: str) -> dict[str, tuple[Any, ...]]:
    """Return parameters of which every value is supported that scikit-learn allows.

    >>> any_value("copy")
    {'copy': ()}
    """
    return dict.fromkeys(params, ANY)


class Twin(ABC, Generic[S]):
    """Fit and apply one scikit-learn transformer block by block.

    Subclasses name their `sklearn_class`, the parameters they support, and the form of the
    blocks they read unless that is numbers. Every other parameter must have scikit-learn's default.
    """

    sklearn_class: ClassVar[type[BaseEstimator]]
    supported_params: ClassVar[dict[str, tuple[Any, ...]]]
    reads: ClassVar[type[Numbers] | type[Categories] | type[Dates]] = Numbers
    takes_sparse: ClassVar[bool] = False
    """Whether scikit-learn's step makes sparse rows of sparse ones. Of dense rows, sparse ones are
    one-hot columns alone."""
    weighted: ClassVar[bool] = False
    """Whether `statistics` takes the weights of the rows, after the other aligned arrays."""
    needs_target: ClassVar[bool] = False
    """Whether `statistics` takes what `aligned` makes of the target of all rows."""
    slower: ClassVar[Mapping[str, range]] = {}
    """Of rows of numbers in the host's memory, whose columns ("F") or rows ("C") are contiguous:
    how many values of the table scikit-learn's own step transforms, and learns from, in less time.
    Measured on two cores, with 5 and 20 columns of 1,000 to 300,000 rows."""
    exact: ClassVar[bool] = False
    """Whether `apply` makes scikit-learn's numbers to the last bit, of a fitted one of its own."""
    selects: ClassVar[bool] = False
    """Whether columns may come out as they came in: `keeps_columns` and `picks` say which."""
    takes_infinite: bool = False
    """Whether infinite numbers, which a step before may make, are as good as others."""

    def __init_subclass__(cls, **params: Any) -> None:
        super().__init_subclass__(**params)
        if "sklearn_class" in vars(cls):
            TWINS[cls.sklearn_class] = cls

    def __init__(self, estimator: BaseEstimator) -> None:
        self.estimator = estimator
        self.fitted: Any = None
        self.names: Sequence[Any] | None = None
        self.origins: Sequence[Any] = ()

    @classmethod
    def unsupported_reasons(cls, estimator: BaseEstimator, step: str) -> list[Reason]:
        """Return the reasons why this estimator is not supported; none when it is."""
        reasons = []
        for name, default in _defaults(estimator.__class__).items():
            value, supported = getattr(estimator, name), cls.supported_params.get(name, (default,))
            if value is default or supported is ANY:
                continue
            if not any(_same(value, other) for other in (default, *supported)):
                why = f"{name}={_shown(value)} is not supported yet"
                values = " or ".join(map(_shown, supported))
                suggestion = f"use {values}, or run the step in scikit-learn"
                reasons.append(Reason(step, why, suggestion, name))
        if container(estimator) != "default" and not reasons and cls.makes_sparse(estimator):
            why = "set_output asks for a frame, but its output is sparse"
            reasons.append(Reason(step, why, "return dense rows, such as with sparse_output=False"))
        return reasons

    @classmethod
    def slower_at(cls, estimator: Estimator) -> Mapping[str, range]:
        """Return `slower`, as the parameters of an estimator make it."""
        return cls.slower

    def form(self, numeric: Callable[[], bool]) -> type:
        """Return the form of block to read; `numeric` says whether all that comes in is numbers."""
        return self.reads

    @classmethod
    def makes_sparse(cls, estimator: Estimator, given: Form = "dense") -> bool:
        """Return whether scikit-learn's may make sparse rows of those that it is given."""
        return given != "dense" and cls.takes_sparse

    def fills_rows(self) -> bool:
        """Return whether every training row has as many ones as it has one-hot columns."""
        return False

    def keeps_names(self) -> bool:
        """Return whether scikit-learn makes a frame with the same columns of a frame."""
        return False

    def keeps_columns(self) -> bool:
        """Return whether all columns are handed on as they are."""
        return False

    def picks(self) -> np.ndarray | None:
        """Return the positions of the columns that come out as they came in, where no others do."""
        return None

    def aligned(self, y: Target) -> tuple[Any, ...]:
        """Return host arrays with one entry a row that `statistics` needs beside its block."""
        return ()

    @abstractmethod
    def statistics(self, block: Any, *aligned: Any) -> S:
        """Return the statistic of one block, on the host."""

    def merge(self, a: S, b: S) -> S:
        """Return the statistic of two blocks' rows together."""
        first: Any = a
        both: S = first.merge(b)
        return both

    @abstractmethod
    def finalize(self, stats: S) -> None:
        """Set `fitted`: the scikit-learn transformer with its attributes."""

    def resume(self, fitted: Estimator) -> None:
        """Take the fitted scikit-learn transformer of a saved model for `fitted`."""
        self.fitted = fitted
        self.prepare()

    def prepare(self) -> None:  # noqa: B027 - most need nothing
        """Derive from `fitted` what `apply` reads beside it."""

    def warning(self) -> str:
        """Return what scikit-learn warns of whenever it transforms; empty for nothing."""
        return ""

    @abstractmethod
    def apply(self, block: Any) -> Block:
        """Transform a block."""

    def apply_training(self, block: Any, *aligned: Any) -> Block:
        """Transform a block of the rows the twin was fitted on."""
        return self.apply(block)

    def refuse_infinite(self, block: Any) -> Any:
        """Return a block, once it is known to be finite or missing: scikit-learn takes no other.

        A table is checked as it comes in, and on a GPU it would be to wait for each block. What is
        infinite here was made by a step before.
        """
        values: Any = getattr(block, "values", None)
        numbers = isinstance(values, np.ndarray) and values.dtype.kind == "f"
        with np.errstate(all="ignore"):
            suspect = numbers and not self.takes_infinite and not np.isfinite(values.sum())
        if suspect:
            infinite: np.ndarray = np.isinf(values).any(axis=0)
            self.refuse_columns(
                infinite,
                "hold infinite numbers, which an earlier step produced; check that step",
                f"Input X contains infinity or a value too large for {values.dtype!r}.",
            )
        return block

    def name(self, j: int) -> Any:
        """Return the name of a column; its position where it has none."""
        return j if self.names is None else self.names[j]

    def refuse_columns(self, bad: np.ndarray, why: str, words: str = "") -> None:
        """Raise `DataError` for the columns that are marked, if there are any.

        `words` are those that scikit-learn has for it; they come first.
        """
        if bad.any():
            names = [self.name(j) for j in np.flatnonzero(bad).tolist()]
            where = f"{type(self.estimator).__name__}: the columns {names} {why}"
            raise DataError("; ".join(filter(None, (words, where))))

    def record_names(self, n_features: int) -> None:
        """Set the attributes that scikit-learn's own `fit` sets on every transformer."""
        self.fitted.n_features_in_ = n_features
        if self.names is not None and {*map(type, self.names)} == {str}:
            self.fitted.feature_names_in_ = np.array(self.names, dtype=object)


@cache
def _defaults(kind: type[BaseEstimator]) -> dict[str, Any]:
    defaults: dict[str, Any] = kind().get_params(deep=False)
    return defaults


def _shown(value: Array) -> str:
    """Return a function's name, which says more than its address."""
    return getattr(value, "__name__", None) or repr(value)


def _same(value: Array, other: Any) -> bool:
    """Compare parameters; NaN equals NaN, a type equals only itself."""
    if value is other:
        return True
    if type(value) is not type(other) and not (_number(value) and _number(other)):
        return False
    return bool(value == other) or (_number(value) and value != value and other != other)


def _number(value: Array) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
