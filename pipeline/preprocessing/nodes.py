"""The tree of a preprocessing program: leaves are twins, branches are containers.

`fit` walks the tree once; a leaf makes one pass over the row blocks, each
block transformed on the fly by the leaves before it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from pipeline import frames
from pipeline.errors import DataError, PipelineError
from pipeline.preprocessing.blocks import (
    Block,
    Categories,
    Joined,
    Numbers,
    as_categories,
    as_numbers,
    scaled,
)
from pipeline.preprocessing.table import Table
from pipeline.preprocessing.twin import Twin

Read = Callable[[slice], Any]


@dataclass(frozen=True)
class Columns:
    """Where a node's input comes from: columns of the table, or the blocks of the node before.

    Blocks have names where scikit-learn would hand on a frame with the same columns.
    """

    table: Table
    names: Sequence[Any] | None
    blocks: Read | None = None

    def read(self, form: type, rows: slice) -> Any:
        """Return the rows as `Numbers` or `Categories`."""
        if self.blocks is not None:
            return convert(self.blocks(rows), form, rows.stop - rows.start, self.table.xp)
        assert self.names is not None
        cut = self.table.categories if form is Categories else self.table.numbers
        return cut(self.names, rows)

    def prepare(self, form: type) -> None:
        """Convert the table's columns before threads cut them."""
        if self.blocks is None and self.names is not None:
            self.table.convert(self.names, form)


def convert(block: Block, form: type, n_rows: int, xp: Any) -> Any:
    """Return a block in the form that the next twin reads."""
    return (as_categories if form is Categories else as_numbers)(block, n_rows, xp)


class Node(ABC):
    """A part of the program."""

    @abstractmethod
    def fit(self, source: Columns, y: Any) -> Columns:
        """Learn from the source; return the source of the node after this one."""

    @abstractmethod
    def apply(self, source: Columns) -> Read:
        """Return the function from a row range to the transformed block."""

    def names(self, source: Columns) -> Sequence[Any] | None:
        """Return the columns of the frame that scikit-learn would hand on; None for an array."""
        return None

    @abstractmethod
    def original(self) -> Any:
        """Return the fitted scikit-learn transformer."""


class Leaf(Node):
    """One twin."""

    def __init__(self, twin: Twin[Any]) -> None:
        self.twin = twin

    def fit(self, source: Columns, y: Any) -> Columns:
        """Reduce the twin's statistic over all blocks."""
        twin, table = self.twin, source.table
        twin.names = source.names if frames.is_frame(table.X) else None
        form = self._form(source)
        source.prepare(form)
        if not source.read(form, slice(0, 1)).width:
            raise DataError(f"{type(twin.spec).__name__}: the steps before it left no column")
        with blame(twin):
            aligned = [frames.to_device(array, table.device) for array in twin.aligned(y)]

        def partial(rows: slice) -> Any:
            return twin.partial(source.read(form, rows), *(array[rows] for array in aligned))

        def training(rows: slice) -> Block:
            block = source.read(form, rows)
            return twin.apply_training(block, *(array[rows] for array in aligned))

        stats = table.reduce(partial, twin.merge)
        with blame(twin):
            twin.finish(stats)
        return Columns(table, self.names(source), training)

    def names(self, source: Columns) -> Sequence[Any] | None:
        """Return the source's columns where the twin keeps them."""
        return source.names if self.twin.keeps_names() else None

    def apply(self, source: Columns) -> Read:
        """Transform each block."""
        form = self._form(source)
        source.prepare(form)
        return lambda rows: self.twin.apply(source.read(form, rows))

    def _form(self, source: Columns) -> type:
        return self.twin.form(source.table.X, source.names)

    def original(self) -> Any:
        """Return the twin's fitted original."""
        return self.twin.fitted


@contextmanager
def blame(twin: Twin[Any]) -> Iterator[None]:
    """Say which step and which columns scikit-learn finds fault with.

    Raises
    ------
    DataError
        In the place of scikit-learn's `TypeError` or `ValueError`.
    """
    try:
        yield
    except PipelineError:
        raise
    except (TypeError, ValueError) as error:
        where = f" on the columns {list(twin.names)}" if twin.names is not None else ""
        raise DataError(f"{type(twin.spec).__name__}{where}: {error}") from error


class Passthrough(Node):
    """Numeric columns as they are."""

    def fit(self, source: Columns, y: Any) -> Columns:
        """Learn nothing."""
        return Columns(source.table, self.names(source), self.apply(source))

    def names(self, source: Columns) -> Sequence[Any] | None:
        """Return the source's columns."""
        return source.names

    def apply(self, source: Columns) -> Read:
        """Return the columns as a matrix."""
        source.prepare(Numbers)
        return lambda rows: source.read(Numbers, rows)

    def original(self) -> Any:
        """Return the word that scikit-learn's containers use for it."""
        return "passthrough"


class Chain(Node):
    """A `Pipeline` of transformers."""

    def __init__(self, spec: Pipeline, nodes: Sequence[Node]) -> None:
        self.spec, self.nodes = spec, nodes
        # A step left out must not turn a column of text into numbers for the next one.
        self.active = [n for n in nodes if not isinstance(n, Passthrough)] or list(nodes[:1])

    def fit(self, source: Columns, y: Any) -> Columns:
        """Fit each node on what the one before made of the training rows."""
        for node in self.active:
            source = node.fit(source, y)
        return source

    def apply(self, source: Columns) -> Read:
        """Apply node after node."""
        read = None
        for node in self.active:
            read = node.apply(source)
            source = Columns(source.table, node.names(source), read)
        assert read is not None
        return read

    def names(self, source: Columns) -> Sequence[Any] | None:
        """Return the source's columns where every node keeps them."""
        kept = all(node.names(source) is not None for node in self.active)
        return source.names if kept else None

    def original(self) -> Pipeline:
        """Return the pipeline of fitted originals."""
        steps = zip(self.spec.steps, self.nodes, strict=True)
        return Pipeline([(name, node.original()) for (name, _), node in steps])


@dataclass
class Branch:
    """One entry of a `ColumnTransformer`."""

    name: str
    node: Node
    names: Sequence[Any]


class Parallel(Node):
    """A `ColumnTransformer`: branches over the table's columns, side by side."""

    def __init__(self, spec: ColumnTransformer, branches: Sequence[Branch]) -> None:
        self.spec, self.branches = spec, branches
        self.head: Any = None

    def fit(self, source: Columns, y: Any) -> Columns:
        """Fit the branches one after the other."""
        table = source.table
        reads = [b.node.fit(Columns(table, b.names), y).blocks for b in self.branches]
        return Columns(table, None, self._joined([read for read in reads if read]))

    def apply(self, source: Columns) -> Read:
        """Apply every branch to its columns."""
        return self._joined([b.node.apply(Columns(source.table, b.names)) for b in self.branches])

    def _joined(self, reads: Sequence[Read]) -> Read:
        weights = self.spec.transformer_weights or {}
        pairs = [(r, weights.get(b.name)) for r, b in zip(reads, self.branches, strict=True)]
        return lambda rows: Joined([scaled(read(rows), weight) for read, weight in pairs])

    def original(self) -> ColumnTransformer:
        """Return a fitted `ColumnTransformer`.

        Scikit-learn does its own bookkeeping: it is fitted on one row with the
        fitted originals frozen in place, which are thawed afterwards.
        """
        fitted = {b.name: b.node.original() for b in self.branches}
        return freeze_fit_thaw(self.spec, fitted, self.head)


def freeze_fit_thaw(
    spec: ColumnTransformer, fitted: dict[str, Any], head: Any
) -> ColumnTransformer:
    """Return `spec` fitted on one row, with the given transformers in place of its own."""

    def frozen(name: str, how: Any) -> Any:
        return FrozenEstimator(fitted[name]) if hasattr(fitted.get(name), "fit") else how

    whole = clone(spec).set_params(
        transformers=[
            (name, frozen(name, how), columns) for name, how, columns in spec.transformers
        ],
        remainder=frozen("remainder", spec.remainder),
    )
    whole.fit(head)
    # scikit-learn names the remainder and keeps what was given, for display.
    whole._remainder = (whole._remainder[0], spec.remainder, *whole._remainder[2:])
    whole.transformers_ = [
        (name, getattr(how, "estimator", how) if isinstance(how, FrozenEstimator) else how, columns)
        for name, how, columns in whole.transformers_
    ]
    return whole.set_params(transformers=spec.transformers, remainder=spec.remainder)
