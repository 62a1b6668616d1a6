"""The tree of a preprocessing program: leaves are twins, branches are containers.

`fit` walks the tree once; a leaf makes one pass over the row blocks, each
block transformed on the fly by the leaves before it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from pipeline.containers import container
from pipeline.errors import DataError, PipelineError
from pipeline.ingest import Origin
from pipeline.preprocessing.blocks import (
    Block,
    Categories,
    Dates,
    Joined,
    Kept,
    Numbers,
    as_categories,
    as_dates,
    as_numbers,
    scaled,
)
from pipeline.preprocessing.handover import freeze_fit_thaw
from pipeline.preprocessing.moments import Moments
from pipeline.preprocessing.table import Data, Part
from pipeline.preprocessing.twin import Twin

Read = Callable[[Part], Any]
"""From rows of a table to a block. It holds no table, so it can be sent to where a part is."""


@dataclass(frozen=True)
class Columns:
    """Where a node's input comes from: columns of the table, or the blocks of the node before.

    Parameters
    ----------
    names : sequence or None
        The columns; None after a step that makes an array of them in scikit-learn.
    framed : bool
        The columns have names; otherwise `names` are positions.
    blocks : callable, optional
        What the node before makes of a part.
    moments : Moments, optional
        Of all rows, where the node before knows them.
    origins : mapping
        Name -> what the cells were before the column got its type.
    """

    names: Sequence[Any] | None
    framed: bool
    blocks: Read | None = None
    moments: Moments | None = None
    origins: Mapping[Any, Origin] = field(default_factory=dict)

    def reader(self, form: type) -> Read:
        """Return what reads a part's rows in a form."""
        names, blocks = self.names, self.blocks
        if blocks is not None:
            return lambda part: convert(blocks(part), form, part.n_rows, part.table.xp)
        assert names is not None
        return lambda part: part.read(names, form)


def convert(block: Block, form: type, n_rows: int, xp: Any) -> Any:
    """Return a block in the form that the next twin reads."""
    if form is Dates:
        return as_dates(block)
    return (as_categories if form is Categories else as_numbers)(block, n_rows, xp)


class Node(ABC):
    """A part of the program."""

    spec: Any = None

    @abstractmethod
    def fit(self, table: Data, source: Columns, y: Any) -> Columns:
        """Learn from all rows of the source; return the source of the node after this one."""

    @abstractmethod
    def apply(self, source: Columns) -> Read:
        """Return the function from a part to the transformed block."""

    @abstractmethod
    def original(self) -> Any:
        """Return the fitted scikit-learn transformer."""

    def known(self) -> Mapping[Any, np.ndarray]:
        """Return a cell of each column of the table that an encoder reads, which it knows."""
        return {}

    def then(self, source: Columns, blocks: Read) -> Columns:
        """Return the source of the node after this one.

        scikit-learn hands on an array, or where `set_output` asks for it a frame.
        """
        if container(self.spec) == "default":
            return Columns(None, source.framed, blocks)
        return Columns(self.original().get_feature_names_out(), True, blocks)


class Leaf(Node):
    """One twin.

    Parameters
    ----------
    twin : Twin
    keeps : bool
        Keep the statistic, so that the next `fit` adds to it.
    """

    def __init__(self, twin: Twin[Any], *, keeps: bool = False) -> None:
        self.twin, self.spec, self.keeps = twin, twin.spec, keeps
        self.form: type = twin.reads
        self.stats: Any = None

    def fit(self, table: Data, source: Columns, y: Any) -> Columns:
        """Reduce the twin's statistic over all blocks."""
        twin = self.twin
        twin.names = source.names if source.framed else None
        names = () if source.names is None else source.names
        twin.origins = [source.origins.get(name) for name in names]
        self.form = twin.form(table.like, source.names)
        read = source.reader(self.form)
        if not read(table.first()).width:
            raise DataError(f"{type(twin.spec).__name__}: the steps before it left no column")
        with blame(twin):
            aligned = table.bring(twin.aligned(y))
        stats = None if source.moments is None else twin.from_moments(source.moments)
        if stats is None:
            stats = table.reduce(
                lambda part: twin.partial(read(part), *part.of(aligned)), twin.merge
            )
        self._finish(stats)
        after = self.then(source, lambda part: twin.apply_training(read(part), *part.of(aligned)))
        return replace(after, moments=twin.moments_behind(stats))

    def _finish(self, stats: Any) -> None:
        if self.keeps:
            stats = self.stats = stats if self.stats is None else self.twin.merge(self.stats, stats)
        with blame(self.twin):
            self.twin.finish(stats)

    def then(self, source: Columns, blocks: Read) -> Columns:
        """Return the source's columns where the twin keeps them."""
        if self.twin.keeps_names():
            return replace(source, blocks=blocks, moments=None)
        return super().then(source, blocks)

    def apply(self, source: Columns) -> Read:
        """Transform each block."""
        twin, read = self.twin, source.reader(self.form)
        return lambda part: twin.apply(read(part))

    def known(self) -> Mapping[Any, np.ndarray]:
        """Return the first category of each column."""
        learnt = getattr(self.twin.fitted, "categories_", ())
        names = () if self.twin.names is None else self.twin.names
        return {name: c[:1] for name, c in zip(names, learnt, strict=False) if len(c)}

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
    """Columns as they are.

    Parameters
    ----------
    framed : bool
        A frame is made, which has a place for columns of any type; a matrix takes numbers.
    """

    def __init__(self, *, framed: bool = False) -> None:
        self.framed = framed

    def fit(self, table: Data, source: Columns, y: Any) -> Columns:
        """Learn nothing."""
        return self.then(source, self.apply(source))

    def then(self, source: Columns, blocks: Read) -> Columns:
        """Return the source's columns."""
        return Columns(source.names, source.framed, blocks)

    def apply(self, source: Columns) -> Read:
        """Return the columns as a matrix, or as they are."""
        if self.framed and source.blocks is None and source.names is not None:
            kept = Kept(source.names)
            return lambda part: kept
        return source.reader(Numbers)

    def original(self) -> Any:
        """Return the word that scikit-learn's containers use for it."""
        return "passthrough"


class Chain(Node):
    """A `Pipeline` of transformers."""

    def __init__(self, spec: Pipeline, nodes: Sequence[Node]) -> None:
        self.spec, self.nodes = spec, nodes
        # A step left out must not turn a column of text into numbers for the next one.
        self.active = [n for n in nodes if not isinstance(n, Passthrough)] or list(nodes[:1])

    def fit(self, table: Data, source: Columns, y: Any) -> Columns:
        """Fit each node on what the one before made of the training rows."""
        for node in self.active:
            source = node.fit(table, source, y)
        return source

    def apply(self, source: Columns) -> Read:
        """Apply node after node."""
        read = None
        for node in self.active:
            read = node.apply(source)
            source = node.then(source, read)
        assert read is not None
        return read

    def then(self, source: Columns, blocks: Read) -> Columns:
        """Return the source as node after node hands it on."""
        for node in self.active:
            source = node.then(source, blocks)
        return source

    def known(self) -> Mapping[Any, np.ndarray]:
        """Return those of the first encoder: steps before it leave the columns as they are."""
        return next((known for node in self.active if (known := node.known())), {})

    def original(self) -> Pipeline:
        """Return the pipeline of fitted originals."""
        steps = zip(self.spec.steps, self.nodes, strict=True)
        return Pipeline([(name, node.original()) for (name, _), node in steps])


def joined(reads: Sequence[Read | None], weights: Sequence[float | None]) -> Read:
    """Return what puts the blocks of branches side by side, each times its weight."""
    pairs = [(read, w) for read, w in zip(reads, weights, strict=True) if read is not None]
    return lambda part: Joined([scaled(read(part), weight) for read, weight in pairs])


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

    def fit(self, table: Data, source: Columns, y: Any) -> Columns:
        """Fit the branches one after the other."""
        reads = [
            b.node.fit(table.narrowed(b.names), replace(source, names=b.names), y).blocks
            for b in self.branches
        ]
        return self.then(source, self._joined(reads))

    def apply(self, source: Columns) -> Read:
        """Apply every branch to its columns."""
        return self._joined([b.node.apply(Columns(b.names, source.framed)) for b in self.branches])

    def known(self) -> Mapping[Any, np.ndarray]:
        """Return those of the branches."""
        return {name: cell for b in self.branches for name, cell in b.node.known().items()}

    def _joined(self, reads: Sequence[Read | None]) -> Read:
        weights = self.spec.transformer_weights or {}
        return joined(reads, [weights.get(branch.name) for branch in self.branches])

    def original(self) -> ColumnTransformer:
        """Return a fitted `ColumnTransformer`.

        Scikit-learn does its own bookkeeping: it is fitted on one row with the
        fitted originals frozen in place, which are thawed afterwards.
        """
        fitted = {b.name: (b.node.original(), b.node.known()) for b in self.branches}
        return freeze_fit_thaw(self.spec, fitted, self.head)
