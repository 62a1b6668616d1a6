"""The tree of a preprocessing program: leaves are twins, branches are containers.

`fit` walks the tree once; a leaf makes one pass over the row blocks, each
block transformed on the fly by the leaves before it.


FeatureUnion as a node: branches that all read the same columns, side by side.

A fitted `ColumnTransformer`, made by scikit-learn from fitted parts.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer

from pipeline.data import frames
from pipeline.data.convert import Origin
from pipeline.data.output import container
from pipeline.errors import DataError, PipelineError
from pipeline.preprocessing.engine.blocks import (
    Block,
    Categories,
    Dates,
    Joined,
    Kept,
    Numbers,
    as_categories,
    as_dates,
    as_numbers,
    as_read,
    flat,
    scaled,
)
from pipeline.preprocessing.engine.table import Data, Part
from pipeline.preprocessing.engine.twin import Twin
from pipeline.preprocessing.statistics.moments import Moments
from pipeline.preprocessing.statistics.quantiles import holds_rows
from pipeline.typing import Array, Estimator, Name, Table, Target

Keeps = Literal["none", "small", "all"]

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
            convert = CONVERT[form]
            return lambda part: convert(blocks(part), part)
        assert names is not None
        return lambda part: part.read(names, form)

    def numeric(self, table: Data) -> bool:
        """Return whether all columns are numbers."""
        if self.blocks is None:
            return all(is_number(table.like, name) for name in self.names or ())
        first = flat(self.blocks(table.first()))
        return not any(holds_others(block, table.like) for block in first)


CONVERT: dict[type, Callable[[Block, Part], Any]] = {
    Numbers: as_numbers,
    Categories: as_categories,
    Dates: as_dates,
}
"""Form of a block -> what brings any block into it."""


def is_number(X: Table, name: Name) -> bool:
    """Return whether a column of a table holds numbers."""
    return frames.column(X, name).dtype.kind in "iufb"


def holds_others(block: Block, X: Table) -> bool:
    """Return whether a block holds anything but numbers."""
    if isinstance(block, Kept):
        return not all(is_number(X, name) for name in block.names)
    return isinstance(block, Categories | Dates)


class Node(ABC):
    """A part of the program."""

    estimator: Any = None

    @abstractmethod
    def fit(self, table: Data, source: Columns, y: Target) -> Columns:
        """Learn from all rows of the source; return the source of the node after this one."""

    @abstractmethod
    def apply(self, source: Columns) -> Read:
        """Return the function from a part to the transformed block."""

    @abstractmethod
    def to_sklearn(self) -> Any:
        """Return the fitted scikit-learn transformer."""

    def known(self) -> Mapping[Any, np.ndarray]:
        """Return a cell of each column of the table that an encoder reads, which it knows."""
        return {}

    @abstractmethod
    def leaves(self) -> Iterator[TransformerNode]:
        """Return the leaves, in the order of the estimator."""

    def then(self, source: Columns, blocks: Read) -> Columns:
        """Return the source of the node after this one.

        scikit-learn hands on an array, or where `set_output` asks for it a frame.
        """
        if container(self.estimator) == "default":
            return Columns(None, source.framed, blocks)
        return Columns(self.to_sklearn().get_feature_names_out(), True, blocks)


class TransformerNode(Node):
    """One twin.

    Parameters
    ----------
    twin : Twin
    keeps : {"none", "small", "all"}
        Whether to keep the statistic, so that the next `fit` adds to it: "small" does unless it
        holds rows.
    float32 : bool
        Make float32 of float32 where scikit-learn's transformer does.
    weights : numpy.ndarray, shape (n_rows,), optional
        Of the rows of the next `fit`, which forgets them.
    """

    def __init__(
        self,
        twin: Twin[Any],
        *,
        keeps: Keeps = "none",
        float32: bool = False,
        weights: Array = None,
    ) -> None:
        self.twin, self.estimator, self.keeps, self.weights = twin, twin.estimator, keeps, weights
        self.form: type = twin.reads
        self.float32 = float32
        self.stats: Any = None

    def fit(self, table: Data, source: Columns, y: Target) -> Columns:
        """Reduce the twin's statistic over all blocks."""
        twin = self.twin
        twin.names = source.names if source.framed else None
        names = () if source.names is None else source.names
        twin.origins = [source.origins.get(name) for name in names]
        self.form = twin.form(numeric=source.numeric(table))
        read = source.reader(self.form)
        width = read(table.first()).width
        if not width:
            raise DataError(f"{type(twin.estimator).__name__}: the steps before it left no column")
        table.widen(width)
        with blame(twin):
            own = () if self.weights is None else (self.weights,)
            aligned = table.bring((*twin.aligned(y), *own))
        stats = None
        if source.moments is not None and self.weights is None:
            stats = twin.from_moments(source.moments)
        self.weights = None
        if stats is None:
            stats = table.reduce(
                lambda part: twin.statistics(read(part), *part.of(aligned)), twin.merge
            )
        self._finish(stats)
        after = self.then(source, self._typed(read, twin.apply_training, aligned))
        return replace(after, moments=twin.moments_behind(stats))

    def _typed(self, read: Read, apply: Callable[..., Block], aligned: Sequence[Any] = ()) -> Read:
        """Return what transforms each block, into the type that it is to have."""

        def transformed(part: Part) -> Block:
            block = read(part)
            made = apply(block, *part.of(aligned))
            if self.float32 and isinstance(block, Numbers) and isinstance(made, Numbers):
                widened = (block.dtype.name, made.dtype.name) == ("float32", "float64")
                if widened and self._keeps_float32:
                    return Numbers(made.values.astype("float32"))
            return made

        return transformed

    def _finish(self, stats: Any) -> None:
        if self.stats is not None:
            stats = self.twin.merge(self.stats, stats)
        if self.keeps == "all" or (self.keeps == "small" and not holds_rows(stats)):
            self.stats = stats
        with blame(self.twin):
            self.twin.finalize(stats)

    def then(self, source: Columns, blocks: Read) -> Columns:
        """Return the source's columns where the twin keeps them."""
        if self.twin.keeps_names():
            return replace(source, blocks=blocks, moments=None)
        return super().then(source, blocks)

    def apply(self, source: Columns) -> Read:
        """Transform each block."""
        return self._typed(source.reader(self.form), self.twin.apply)

    def known(self) -> Mapping[Any, np.ndarray]:
        """Return the first category of each column."""
        learnt = getattr(self.twin.fitted, "categories_", ())
        names = () if self.twin.names is None else self.twin.names
        return {name: c[:1] for name, c in zip(names, learnt, strict=False) if len(c)}

    def to_sklearn(self) -> Any:
        """Return the twin's fitted original."""
        return self.twin.fitted

    @cached_property
    def _keeps_float32(self) -> bool:
        """Whether scikit-learn's transformer makes float32 of float32: its tags do not say."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = self.twin.fitted.transform(np.ones((1, self.width), dtype="float32"))
        # Where `set_output` asks for one it is a frame, which has no type of its own.
        return bool((made if hasattr(made, "dtype") else np.asarray(made)).dtype == "float32")

    @property
    def width(self) -> int:
        """Number of columns that the fitted twin reads."""
        return int(self.twin.fitted.n_features_in_)

    def leaves(self) -> Iterator[TransformerNode]:
        """Return itself."""
        yield self


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
        raise DataError(f"{type(twin.estimator).__name__}{where}: {error}") from error


class Passthrough(Node):
    """Columns as they are."""

    def fit(self, table: Data, source: Columns, y: Target) -> Columns:
        """Learn nothing."""
        return self.then(source, self.apply(source))

    def then(self, source: Columns, blocks: Read) -> Columns:
        """Return the source's columns."""
        return replace(source, blocks=blocks)

    def apply(self, source: Columns) -> Read:
        """Return the blocks as they are; of a table, its columns unread."""
        if source.blocks is not None:
            return source.blocks
        assert source.names is not None
        kept = Kept(source.names)
        return lambda part: kept

    def to_sklearn(self) -> Any:
        """Return the word that scikit-learn's containers use for it."""
        return "passthrough"

    def leaves(self) -> Iterator[TransformerNode]:
        """Return none."""
        yield from ()


class PipelineNode(Node):
    """A `Pipeline` of transformers."""

    def __init__(self, estimator: Pipeline, nodes: Sequence[Node]) -> None:
        self.estimator, self.nodes = estimator, nodes

    def fit(self, table: Data, source: Columns, y: Target) -> Columns:
        """Fit each node on what the one before made of the training rows."""
        for node in self.nodes:
            source = node.fit(table, source, y)
        return source

    def apply(self, source: Columns) -> Read:
        """Apply node after node."""
        read = None
        for node in self.nodes:
            read = node.apply(source)
            source = node.then(source, read)
        assert read is not None
        return read

    def then(self, source: Columns, blocks: Read) -> Columns:
        """Return the source as node after node hands it on."""
        for node in self.nodes:
            source = node.then(source, blocks)
        return source

    def known(self) -> Mapping[Any, np.ndarray]:
        """Return those of the first encoder: steps before it leave the columns as they are."""
        return next((known for node in self.nodes if (known := node.known())), {})

    def to_sklearn(self) -> Pipeline:
        """Return the pipeline of fitted originals."""
        steps = zip(self.estimator.steps, self.nodes, strict=True)
        return Pipeline([(name, node.to_sklearn()) for (name, _), node in steps])

    def leaves(self) -> Iterator[TransformerNode]:
        """Return those of node after node."""
        for node in self.nodes:
            yield from node.leaves()


def joined(reads: Sequence[Read | None], weights: Sequence[float | None]) -> Read:
    """Return what puts the blocks of branches side by side, each times its weight."""
    pairs = [(read, w) for read, w in zip(reads, weights, strict=True) if read is not None]

    def block(read: Read, weight: float | None, part: Part) -> Block:
        made = read(part)
        return made if weight is None else scaled(as_read(made, part), weight)

    return lambda part: Joined([block(read, weight, part) for read, weight in pairs])


@dataclass
class Branch:
    """One entry of a `ColumnTransformer`."""

    name: str
    node: Node
    names: Sequence[Any]


class ColumnTransformerNode(Node):
    """A `ColumnTransformer`: branches over the table's columns, side by side."""

    def __init__(self, estimator: ColumnTransformer, branches: Sequence[Branch]) -> None:
        self.estimator, self.branches = estimator, branches
        self.head: Any = None

    def fit(self, table: Data, source: Columns, y: Target) -> Columns:
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
        weights = self.estimator.transformer_weights or {}
        return joined(reads, [weights.get(branch.name) for branch in self.branches])

    def to_sklearn(self) -> ColumnTransformer:
        """Return a fitted `ColumnTransformer`.

        Scikit-learn does its own bookkeeping: it is fitted on one row with the
        fitted originals frozen in place, which are thawed afterwards.
        """
        fitted = {b.name: (b.node.to_sklearn(), b.node.known()) for b in self.branches}
        return freeze_fit_thaw(self.estimator, fitted, self.head)

    def leaves(self) -> Iterator[TransformerNode]:
        """Return those of branch after branch."""
        for branch in self.branches:
            yield from branch.node.leaves()


class Union(Node):
    """A `FeatureUnion`: every branch gets every column.

    Behind another step, each branch makes that step's blocks anew, so that
    nothing is kept that is as long as the table.

    Parameters
    ----------
    estimator : FeatureUnion
        Unfitted; its weights are used.
    branches : sequence of (str, Node)
        The branches that are not dropped.
    """

    def __init__(self, estimator: FeatureUnion, branches: Sequence[tuple[str, Node]]) -> None:
        self.estimator, self.branches = estimator, branches
        self.weights = estimator.transformer_weights or {}
        self.row: Any = None

    def fit(self, table: Data, source: Columns, y: Target) -> Columns:
        """Fit the branches one after the other."""
        self.row = _row(table, source)
        reads = [node.fit(table, source, y).blocks for _, node in self.branches]
        return self.then(source, self._joined(reads))

    def apply(self, source: Columns) -> Read:
        """Apply every branch."""
        return self._joined([node.apply(source) for _, node in self.branches])

    def known(self) -> Mapping[Any, np.ndarray]:
        """Return those of the branches."""
        return {name: cell for _, node in self.branches for name, cell in node.known().items()}

    def _joined(self, reads: Sequence[Read | None]) -> Read:
        return joined(reads, [self.weights.get(name) for name, _ in self.branches])

    def to_sklearn(self) -> FeatureUnion:
        """Return a `FeatureUnion` of fitted originals."""
        fitted = {name: self._fitted(node) for name, node in self.branches}
        parts = [(name, fitted.get(name, "drop")) for name, _ in self.estimator.transformer_list]
        return clone(self.estimator).set_params(transformer_list=parts)

    def leaves(self) -> Iterator[TransformerNode]:
        """Return those of branch after branch."""
        for _, node in self.branches:
            yield from node.leaves()

    def _fitted(self, node: Node) -> Any:
        # What scikit-learn's own fit puts in the place of the word.
        if isinstance(node, Passthrough):
            return FunctionTransformer(feature_names_out="one-to-one").fit(self.row)
        return node.to_sklearn()


def _row(table: Data, source: Columns) -> Any:
    """Return a row of zeros with the source's columns: a frame where they have names."""
    if source.names is None:
        assert source.blocks is not None
        return np.zeros((1, source.blocks(table.first()).width))
    row = np.zeros((1, len(source.names)))
    return pd.DataFrame(row, columns=list(source.names)) if source.framed else row


Cells = Mapping[Any, np.ndarray]
"""Name of a column -> one value, of the type that its encoder has learnt."""


class Frozen(FrozenEstimator):
    """A fitted transformer that is shown values that it knows.

    A row of the table may hold others: None, which the table's own type has made NaN.

    Parameters
    ----------
    estimator : estimator
    known : mapping
    """

    def __init__(self, estimator: Estimator, known: Cells) -> None:
        super().__init__(estimator)
        self.known = known

    def transform(self, X: pd.DataFrame) -> Any:
        """Transform a row."""
        cells = {n: pd.Series(c, X.index, c.dtype) for n, c in self.known.items() if n in X}
        return self.estimator.transform(
            pd.DataFrame({name: cells.get(name, X[name]) for name in X})
        )


def _storable(row: pd.DataFrame) -> pd.DataFrame:
    """Return a row in types of NumPy where a `pandas.NA` is: scikit-learn makes no array of it."""
    held = {name: row[name].dtype for name in row if row[name].array[0] is pd.NA}
    return row.astype({n: "float64" if t.kind in "iufb" else object for n, t in held.items()})


def freeze_fit_thaw(
    estimator: ColumnTransformer, fitted: Mapping[str, tuple[Any, Cells]], head: pd.DataFrame
) -> ColumnTransformer:
    """Return `estimator` fitted on one row, with fitted transformers in place of its own.

    Parameters
    ----------
    estimator : ColumnTransformer
    fitted : mapping
        Name -> a transformer, or the word for one, and what it knows.
    head : pandas.DataFrame
        The row.
    """

    def frozen(name: str, how: Any) -> Any:
        known = fitted.get(name, (None, {}))
        return Frozen(*known) if hasattr(known[0], "fit") else how

    def chosen(columns: Any) -> Any:
        return (lambda _: columns(head)) if callable(columns) else columns

    whole = clone(estimator).set_params(
        transformers=[
            (name, frozen(name, how), chosen(columns))
            for name, how, columns in estimator.transformers
        ],
        remainder=frozen("remainder", estimator.remainder),
    )
    whole.fit(_storable(head))
    # scikit-learn names the remainder and keeps what was given, for display.
    whole._remainder = (whole._remainder[0], estimator.remainder, *whole._remainder[2:])
    whole.transformers_ = [
        (name, how.estimator if isinstance(how, Frozen) else how, columns)
        for name, how, columns in whole.transformers_
    ]
    return whole.set_params(transformers=estimator.transformers, remainder=estimator.remainder)
