"""What is known about rows before one is read, and what is to be done with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

from pipeline.backends.base import Backend, Placement
from pipeline.blocks.block import by_columns
from pipeline.errors import Reason
from pipeline.table import frames
from pipeline.typing import Form, Table

"""Of rows; "either" is decided by the number of non-zero values, once they are there."""

Runner = Literal[
    "twin",
    "container",
    "passthrough",
    "drop",
    "scikit-learn",
    "cuML",
    "CuPy",
    "XGBoost",
    "meta",
]
"""What runs an estimator: on blocks of rows, or on all rows. "meta" is a class of scikit-learn that
fits others on a GPU."""

CONTAINERS = (Pipeline, ColumnTransformer, FeatureUnion)


@dataclass(frozen=True)
class RowSpec:
    """What is known of rows before one is read.

    >>> spec = spec_of(pd.DataFrame({"a": [1.5], "b": ["x"]}))
    >>> spec.names, spec.form, spec.n_rows
    (('a', 'b'), 'dense', 1)
    """

    device: str = "cpu"
    """Where they are to be worked on."""
    form: Form = "dense"
    names: tuple[Any, ...] | None = None
    """Of the columns; their positions in a matrix. None where they are unknown, as behind an
    encoder."""
    dtypes: tuple[Any, ...] = ()
    """Of the columns, where their names are known."""
    n_rows: int | None = None
    order: Literal["C", "F"] = "C"
    """Whether rows ("C") or columns ("F") are contiguous."""
    made: bool = False
    """They are the output of a step, not a table, whose columns have names."""

    def taken(self, names: Sequence[Any]) -> RowSpec:
        """Return what is known of some columns."""
        assert self.names is not None
        types = dict(zip(self.names, self.dtypes, strict=True))
        dtypes = tuple(map(types.__getitem__, names))
        return RowSpec(self.device, "dense", tuple(names), dtypes, self.n_rows, self.order)

    def handed_on(self, form: Form) -> RowSpec:
        """Return what is known of the rows that a step returns for these."""
        return RowSpec(self.device, form, n_rows=self.n_rows, made=True)

    def empty(self) -> pd.DataFrame:
        """Return a frame of these columns without rows."""
        assert self.names is not None
        names = pd.Index(self.names, tupleize_cols=False)
        if len(set(self.dtypes)) == 1:
            return pd.DataFrame(columns=names, dtype=self.dtypes[0])
        columns = enumerate(self.dtypes)
        made = pd.DataFrame({j: pd.Series(dtype=dtype) for j, dtype in columns})
        return made.set_axis(names, axis=1)


def spec_of(X: Table, device: str = "cpu") -> RowSpec:
    """Return what the type of a table shows, without reading its rows.

    The columns are known of frames of pandas and matrices of NumPy that need no conversion.
    """
    if frames.holds_sparse(X):
        return RowSpec(device, "sparse")
    if type(X) is pd.DataFrame and X.size and X.columns.is_unique:
        dtypes = tuple(frames.types(X))
        if object not in dtypes:
            return RowSpec(device, "dense", tuple(X.columns.tolist()), dtypes, len(X), "F")
    elif type(X) is np.ndarray and X.ndim == 2 and X.size and X.dtype.kind in "iuf":
        n_rows, width = X.shape
        order: Literal["C", "F"] = "F" if by_columns(X) else "C"
        return RowSpec(device, "dense", tuple(range(width)), (X.dtype,) * width, n_rows, order)
    return RowSpec(device)


def columns_of(head: pd.DataFrame) -> dict[str, Any]:
    """Return the names and types of the columns of a table, of which `head` is a row."""
    return {"names": tuple(head.columns.tolist()), "dtypes": tuple(frames.types(head))}


@dataclass(frozen=True)
class Op:
    """One step, branch or model of an estimator, with what runs it."""

    path: str
    """Its path in the estimator."""
    estimator: Any
    """An estimator, "passthrough" or "drop"."""
    runner: Runner
    takes: RowSpec
    out: RowSpec
    children: tuple[Op, ...] = ()
    """Of a container, what it holds; of a meta-estimator on a GPU, the steps that it fits."""
    reasons: tuple[Reason, ...] = ()
    """Why scikit-learn itself runs it, not a twin or a class of the GPU."""
    columns: tuple[Any, ...] | None = None
    """The columns of the table that a branch reads; None for all, or where they are unknown."""
    series: bool = False
    """It is given its one column as a series."""
    rule: Backend | None = None
    """What places it on its device; None where blocks run it, and where nothing does."""
    place: Placement | None = None
    """Where it runs by itself."""
    note: str = ""
    """A remark on where it, and all inside it, runs."""

    @property
    def tree(self) -> list[Op]:
        """It and all inside it, in the order of the estimator."""
        return [self, *self._below]

    @cached_property
    def _below(self) -> tuple[Op, ...]:
        found, waiting = [], [*self.children[::-1]]
        while waiting:
            found.append(op := waiting.pop())
            waiting += op.children[::-1]
        return tuple(found)

    @property
    def leaves(self) -> list[Op]:
        """What is inside it and holds nothing, or itself."""
        inner = (*CONTAINERS, type(None))
        return [op for op in self.tree if type(op.estimator) not in inner]

    @property
    def steps(self) -> tuple[Op, ...]:
        """The steps of a pipeline, or the estimator itself."""
        return self.children if type(self.estimator) is Pipeline else (self,)

    @property
    def named(self) -> list[tuple[str, Op]]:
        """What it holds, with its names in it."""
        prefix = f"{self.path}." if self.path else ""
        return [(op.path.removeprefix(prefix), op) for op in self.children]

    @property
    def active(self) -> list[Op]:
        """What it holds, without what hands on what it is given."""
        return [op for op in self.children if op.runner != "passthrough"]

    @cached_property
    def on_blocks(self) -> bool:
        """Whether blocks run it; what is inside it and has no twin runs on all rows at once."""
        return self.runner in ("twin", "container")

    @cached_property
    def transforms_tables(self) -> bool:
        """Whether it is preprocessing, of which blocks run as much as they can."""
        return self.on_blocks or bool(self.reasons and self.takes.device == "cpu")

    @cached_property
    def refused(self) -> tuple[Reason, ...]:
        """Why it, or on a GPU something inside it, cannot run where it was asked to."""
        if self.runner == "scikit-learn" or self.takes.device == "cpu":
            return self.reasons if self.runner == "scikit-learn" else ()
        held = self.children if self.runner in ("container", "meta") else ()
        return (*chain.from_iterable(op.refused for op in held),)

    @property
    def placements(self) -> tuple[Placement, ...]:
        """Where it and what is inside it run."""
        found: tuple[Placement, ...] = () if self.place is None else (self.place,)
        if self.runner in ("container", "meta"):
            for op in self.children:
                found += op.placements
        return tuple([place.noted(self.note) for place in found]) if self.note else found

    def noted(self, remark: str) -> Op:
        """Return it with a remark to where it runs."""
        return replace(self, note="; ".join(filter(None, (self.note, remark))))
