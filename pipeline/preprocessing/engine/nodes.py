"""The tree that a scikit-learn transformer becomes: transformers are leaves, containers branch.

`fit` walks the tree once. A leaf makes one pass over the blocks of rows, each of which the
leaves before it transform on the way. What scikit-learn has learnt is read back from the tree
by `to_sklearn`: a `ColumnTransformer` is fitted by scikit-learn itself, on one row and with the
fitted parts in place.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer

# scikit-learn has no public way to print what `verbose` asks for.
from sklearn.utils._user_interface import _print_elapsed_time

from pipeline.data import frames
from pipeline.data.checks import CellTypeError
from pipeline.data.convert import Origin
from pipeline.data.output import container
from pipeline.errors import DataError, PipelineError, Reason, Unsupported
from pipeline.preprocessing.engine.blocks import (
    Block,
    Categories,
    Dates,
    Numbers,
    Objects,
    Unread,
    as_categories,
    as_dates,
    as_numbers,
    as_read,
    flat,
    holds_others,
    join,
    scale,
    take_columns,
)
from pipeline.preprocessing.engine.table import (
    Part,
    Read,
    Table,
    density,
    write_frame,
    write_matrix,
)
from pipeline.preprocessing.engine.twin import Twin
from pipeline.preprocessing.engine.workers import Worker
from pipeline.preprocessing.statistics.moments import Moments
from pipeline.preprocessing.statistics.quantiles import RowBlocks
from pipeline.typing import Array, Estimator, Target

if TYPE_CHECKING:
    from pipeline.preprocessing.engine.dask import Data

T = TypeVar("T")

Keeps = Literal["none", "small", "all"]
Cells = Mapping[Any, np.ndarray]
"""Name of a column -> one value, of the type that its encoder has learnt."""
Training = tuple[Read, Moments | None]
"""What a node makes of the rows it was fitted on, and their moments where it knows them."""


@dataclass(frozen=True)
class NodeInput:
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

    @property
    def read(self) -> Read:
        """What comes in, as it is."""
        if self.blocks is not None:
            return self.blocks
        columns = Unread(self.names or ())
        return lambda part: columns

    def reader(self, form: type) -> Read:
        """Return what reads a part's rows in a form."""
        blocks, convert = self.blocks, CONVERT[form]
        if blocks is None:
            return methodcaller("read", self.names, form)
        return lambda part: convert(blocks(part), part)

    def objects(self, table: Data) -> bool:
        """Return whether some of what comes in are Python objects."""
        return any(
            isinstance(block, Objects) and block.dtype.kind not in "iufb"
            for block in flat(self.read(table.first()))
        )

    def width(self, table: Data) -> int:
        """Return the number of columns."""
        if self.blocks is not None:
            return self.blocks(table.first()).width
        return len(self.names or ())

    def numeric(self, table: Data) -> bool:
        """Return whether all columns are numbers."""
        return not any(holds_others(block, table.like) for block in flat(self.read(table.first())))


CONVERT: dict[type, Callable[[Block, Part], Any]] = {
    Numbers: as_numbers,
    Categories: as_categories,
    Dates: as_dates,
}
"""Form of a block -> what brings any block into it."""


def check_type(fitted: Estimator, estimator: Estimator) -> Any:
    """Return the fitted form of an estimator.

    Raises
    ------
    DataError
        It is that of another class.
    """
    held, wanted = type(fitted), type(estimator)
    if held is not wanted:
        raise DataError(f"the saved model holds {held.__name__}, not {wanted.__name__}")
    return fitted


class BlockNode(ABC):
    """A part of the tree."""

    estimator: Any = None
    children: Sequence[BlockNode] = ()
    """The nodes below, in the order of the estimator."""

    @abstractmethod
    def fit(self, table: Data, source: NodeInput, y: Target) -> Training:
        """Learn from all rows of the source; return what becomes of them."""

    @abstractmethod
    def read_new(self, table: Table, read: Read) -> Read:
        """Return what becomes of new rows: of all of a table, given what comes in."""

    @abstractmethod
    def to_sklearn(self) -> Any:
        """Return the fitted scikit-learn transformer."""

    @abstractmethod
    def resume(self, fitted: Estimator, source: NodeInput, forms: Iterator[type]) -> None:
        """Take what `to_sklearn` returned for what was learnt.

        Parameters
        ----------
        fitted : estimator
        source : NodeInput
            What came in; of its blocks, nothing is read.
        forms : iterator of type
            The form of block that each transformer, in order, reads.

        Raises
        ------
        DataError
            It is an estimator of another class.
        """

    def known(self) -> Cells:
        """Return a cell of each column of the table that an encoder reads, which it knows."""
        return {name: cell for node in self.children for name, cell in node.known().items()}

    def makes_sparse(self, given: bool) -> bool:
        """Return whether scikit-learn's rows would be sparse, of sparse rows or of dense ones."""
        return given

    def leaves(self) -> Iterator[TransformerNode]:
        """Yield the transformers that twins run, in the order of the estimator."""
        for node in self.children:
            yield from node.leaves()

    def workers(self) -> Iterator[WorkerNode]:
        """Yield the transformers that no twin runs, in the order of the estimator."""
        for node in self.children:
            yield from node.workers()

    def suited(self, table: Data, source: NodeInput) -> BlockNode:
        """Return the node itself, or what stands in for it where it cannot read what comes in."""
        return self

    @cached_property
    def widest(self) -> int:
        """The most columns that one of the fitted transformers reads."""
        return max((node.widest for node in self.children), default=0)

    def then(self, source: NodeInput, blocks: Read, moments: Moments | None) -> NodeInput:
        """Return the source of the node after this one.

        scikit-learn hands on an array, or where `set_output` asks for it a frame.
        """
        if container(self.estimator) == "default":
            return NodeInput(None, source.framed, blocks, moments)
        return NodeInput(self.to_sklearn().get_feature_names_out(), True, blocks, moments)


class TransformerNode(BlockNode):
    """One transformer: its twin learns and applies.

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
    stand_in : callable, optional
        Returns the node that reads what the twin cannot, given why.
    """

    def __init__(
        self,
        twin: Twin[Any],
        *,
        keeps: Keeps = "none",
        float32: bool = False,
        weights: Array = None,
        stand_in: Callable[[str], WorkerNode] | None = None,
    ) -> None:
        self.stand_in = stand_in
        self.twin, self.estimator, self.keeps, self.weights = twin, twin.estimator, keeps, weights
        self.form: type = twin.reads
        self.float32 = float32
        self.stats: Any = None

    def fit(self, table: Data, source: NodeInput, y: Target) -> Training:
        """Reduce the twin's statistic over all blocks."""
        twin = self.twin
        twin.in_memory = isinstance(table, Table) and table.device == "cpu"
        twin.names = source.names if source.framed else None
        twin.origins = list(map(source.origins.get, source.names or ())) if source.origins else []
        self.form = twin.form(partial(source.numeric, table))
        self.widest = source.width(table)
        if not self.widest:
            raise DataError(f"{type(twin.estimator).__name__}: the steps before it left no column")
        table.widest = max(table.widest, self.widest)
        read = source.reader(self.form)
        if source.blocks is not None:
            unchecked = read
            read = lambda part: twin.refuse_infinite(unchecked(part))  # noqa: E731
        weights, self.weights = self.weights, None
        moments = source.moments if weights is None else None
        aligned = []
        if twin.needs_target or weights is not None:
            aligned = table.bring(self._named(self._aligned, y, weights))
        stats = None if moments is None else twin.from_moments(moments)
        if stats is None:
            stats = table.reduce(
                lambda part: twin.statistics(read(part), *(part.of(aligned) if aligned else ())),
                twin.merge,
            )
        self._finish(stats)
        if twin.keeps_columns():
            return source.read, source.moments
        read = read if twin.picks() is None else source.read
        return (lambda part: self.apply(read(part), part, aligned)), twin.moments_behind(stats)

    def suited(self, table: Data, source: NodeInput) -> BlockNode:
        """Return the stand-in where Python objects come in."""
        if self.stand_in is None or not source.objects(table):
            return self
        return self.stand_in("what comes in is no table of numbers or categories")

    def _aligned(self, y: Target, weights: Array) -> list[Any]:
        """Return what the twin needs beside its blocks, one entry a row."""
        return [*self.twin.aligned(y), *([] if weights is None else [weights])]

    def _finish(self, stats: Any) -> None:
        if self.stats is not None:
            stats = self.twin.merge(self.stats, stats)
        if self.keeps == "all" or (self.keeps == "small" and not holds_rows(stats)):
            self.stats = stats
        self._named(self.twin.finalize, stats)
        self.twin.record_names(self.widest)

    def _named(self, function: Callable[..., T], *args: Any) -> T:
        """Call a function of the twin; name the step and columns in an error of scikit-learn's."""
        try:
            return function(*args)
        except PipelineError:
            raise
        except (TypeError, ValueError) as error:
            names, step = self.twin.names, type(self.estimator).__name__
            where = "" if names is None else f" on the columns {list(names)}"
            kind = CellTypeError if isinstance(error, TypeError) else DataError
            raise kind(f"{step}{where}: {error}") from error

    def makes_sparse(self, given: bool) -> bool:
        """Return whether those of the twin's class would be."""
        return self.twin.makes_sparse(given)

    def then(self, source: NodeInput, blocks: Read, moments: Moments | None) -> NodeInput:
        """Return the source's columns where the twin keeps them."""
        if self.twin.keeps_names():
            return replace(source, blocks=blocks, moments=moments)
        return super().then(source, blocks, moments)

    def apply(self, block: Block, part: Part, aligned: Sequence[Any] | None = None) -> Block:
        """Transform a block; one of the training rows if it is told what is aligned with them."""
        if self.twin.keeps_columns():
            return block
        if (kept := self.twin.picks()) is not None:
            return take_columns(block, kept, part)
        if isinstance(block, Unread):
            block = part.read(block.names, self.form)
        elif not isinstance(block, self.form):
            block = CONVERT[self.form](block, part)
        if aligned is None:
            self.twin.refuse_infinite(block)
            made = self.twin.apply(block)
        else:
            made = self.twin.apply_training(block, *(part.of(aligned) if aligned else ()))
        narrow = self.float32 and isinstance(block, Numbers) and block.values.dtype == "float32"
        return self._narrowed(made) if narrow else made

    def _narrowed(self, made: Block) -> Block:
        """Return float32 for float64 where scikit-learn would make it of float32."""
        if not isinstance(made, Numbers) or made.values.dtype != "float64":
            return made
        return Numbers(made.values.astype("float32")) if self._keeps_float32 else made

    def read_new(self, table: Table, read: Read) -> Read:
        """Return what transforms a block of new rows."""
        return lambda part: self.apply(read(part), part)

    def known(self) -> Cells:
        """Return the first category of each column."""
        learnt = getattr(self.twin.fitted, "categories_", ())
        names = () if self.twin.names is None else self.twin.names
        return {name: c[:1] for name, c in zip(names, learnt, strict=False) if len(c)}

    def to_sklearn(self) -> Any:
        """Return the twin's fitted scikit-learn transformer."""
        return self.twin.fitted

    def resume(self, fitted: Estimator, source: NodeInput, forms: Iterator[type]) -> None:
        """Let the twin take its fitted transformer."""
        check_type(fitted, self.estimator)
        self.twin.names = source.names if source.framed else None
        self.form = next(forms)
        self.widest = int(fitted.n_features_in_)
        self.twin.resume(fitted)

    @cached_property
    def _keeps_float32(self) -> bool:
        """Whether scikit-learn's transformer makes float32 of float32: its tags do not say."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = self.twin.fitted.transform(np.ones((1, self.widest), dtype="float32"))
        # Where `set_output` asks for one it is a frame, which has no type of its own.
        return bool((made if hasattr(made, "dtype") else np.asarray(made)).dtype == "float32")

    def leaves(self) -> Iterator[TransformerNode]:
        """Yield itself."""
        yield self


def holds_rows(stats: Any) -> bool:
    """Return whether a statistic, or a part of it, holds the rows themselves.

    >>> holds_rows(RowBlocks([])), holds_rows((1, RowBlocks([]))), holds_rows(1)
    (True, True, False)
    """
    return RowBlocks in map(type, stats if isinstance(stats, tuple) else (stats,))


class Passthrough(BlockNode):
    """Columns as they are."""

    def fit(self, table: Data, source: NodeInput, y: Target) -> Training:
        """Learn nothing."""
        if source.blocks is not None:
            return source.blocks, source.moments
        assert source.names is not None
        kept = Unread(source.names)
        return lambda part: kept, source.moments

    def then(self, source: NodeInput, blocks: Read, moments: Moments | None) -> NodeInput:
        """Return the source's columns."""
        return replace(source, blocks=blocks, moments=moments)

    def read_new(self, table: Table, read: Read) -> Read:
        """Return what comes in; columns of the table stay unread."""
        return read

    def to_sklearn(self) -> Any:
        """Return the word that scikit-learn's containers use for it."""
        return "passthrough"

    def resume(self, fitted: Estimator, source: NodeInput, forms: Iterator[type]) -> None:
        """Take nothing."""


class WorkerNode(BlockNode):
    """A transformer that no twin runs: its worker learns from all rows, and transforms all.

    Parameters
    ----------
    worker : Worker
        Unfitted.
    estimator : transformer
        What it runs.
    path : str
        Of the transformer in the whole estimator.
    why : str
        Why no twin runs it.
    series : bool
        It reads one column, as a series.
    dense : bool
        Sparse rows that it makes are made dense, as the twin in whose place it is would do.
    """

    named: Sequence[Any] | None = None
    """The columns of the frame that it reads behind another step; None of a matrix."""
    sparse = False
    """The rows that it made were sparse."""
    made: Sequence[Any] | None = None
    """The columns of the frame that it made of the training rows; None of a matrix."""

    def __init__(
        self,
        worker: Worker,
        estimator: Estimator,
        path: str,
        why: str,
        *,
        series: bool = False,
        dense: bool = False,
    ) -> None:
        self.worker, self.estimator, self.path, self.why = worker, estimator, path, why
        self.series, self.dense = series, dense

    def fit(self, table: Data, source: NodeInput, y: Target) -> Training:
        """Fit the worker on all rows."""
        if not isinstance(table, Table):
            raise DataError(f"{self.path} needs all rows in one table; pass X.compute()")
        if source.framed and source.names is not None:
            self.named = list(source.names)
        made = self._told(self.worker.fit_transform, self._rows(table, source.read), y)
        self.made = list(made.columns) if hasattr(made, "columns") else None
        return self._read(made, table), None

    def read_new(self, table: Table, read: Read) -> Read:
        """Transform all rows."""
        return self._read(self._told(self.worker.call, "transform", self._rows(table, read)), table)

    def _rows(self, table: Table, read: Read) -> Any:
        """Return what comes in as scikit-learn would hand it on."""
        first = flat(read(table.first()))
        if all(isinstance(block, Unread) for block in first):
            names = [name for block in first for name in block.names]  # type: ignore[attr-defined]
            return frames.column(table.X, *names) if self.series else table.select(names)
        if self.named is not None:
            return write_frame(table, read, "auto", self.named)
        return write_matrix(table, read, "auto")

    def _told(self, work: Callable[..., Any], *args: Any) -> Any:
        """Return what scikit-learn makes; name the step in its error."""
        try:
            return work(*args)
        except PipelineError:
            raise
        except (TypeError, ValueError) as error:
            error.add_note(f"in the step {self.path}")
            raise

    def _read(self, made: Any, table: Table) -> Read:
        """Return what reads the rows that were made."""
        made = self._checked(made, table)
        if not frames.is_frame(made) and made.dtype.kind in "iufb":
            return lambda part: Numbers(made[part.rows])
        if table.device == "cuda":
            why = "it makes what is no matrix of numbers"
            raise Unsupported(Reason(self.path, why, "run the whole step in scikit-learn"))
        return lambda part: Objects(made, part.rows)

    def _checked(self, made: Any, table: Table) -> Any:
        self.sparse = frames.is_sparse(made)
        if self.sparse:
            if not self.dense:
                why = f"{type(self.estimator).__name__} makes sparse rows, and blocks are dense"
                raise Unsupported(Reason(self.path, why, "run the whole step in scikit-learn"))
            made = made.toarray()
        made = made.to_pandas() if frames.library(made) == "polars" else made
        made = made if hasattr(made, "shape") else np.asarray(made)
        if len(made.shape) != 2:
            raise DataError(
                f"The output of the '{self.path}' transformer should be 2D (numpy array, scipy "
                "sparse array, dataframe)."
            )
        if made.shape[0] != table.n_rows:
            raise DataError(f"{self.path} made {made.shape[0]} rows of {table.n_rows}")
        return made

    def makes_sparse(self, given: bool) -> bool:
        """Return whether its rows were."""
        return self.sparse

    def then(self, source: NodeInput, blocks: Read, moments: Moments | None) -> NodeInput:
        """Return the columns of the frame that was made, or none of a matrix."""
        return NodeInput(self.made, source.framed or self.made is not None, blocks)

    def workers(self) -> Iterator[WorkerNode]:
        """Yield itself."""
        yield self

    def to_sklearn(self) -> Any:
        """Return the worker's fitted scikit-learn transformer."""
        return self.worker.to_sklearn()

    def resume(self, fitted: Estimator, source: NodeInput, forms: Iterator[type]) -> None:
        """Let the worker take its fitted transformer."""
        check_type(fitted, self.estimator)
        named = getattr(fitted, "feature_names_in_", None)
        self.named = None if named is None else list(named)
        self.worker.resume(fitted)


class PipelineNode(BlockNode):
    """A `Pipeline` of transformers."""

    def __init__(self, estimator: Pipeline, nodes: Sequence[BlockNode]) -> None:
        self.estimator, self.nodes = estimator, list(nodes)

    @property
    def children(self) -> Sequence[BlockNode]:  # type: ignore[override]
        """The nodes of the steps."""
        return self.nodes

    def fit(self, table: Data, source: NodeInput, y: Target) -> Training:
        """Fit each node on what the one before made of the training rows."""
        for i, node in enumerate(self.nodes):
            self.nodes[i] = node = node.suited(table, source)
            with _print_elapsed_time("Pipeline", self.estimator._log_message(i)):
                made = node.fit(table, source, y)
            if i + 1 < len(self.nodes):
                source = node.then(source, *made)
        return made

    def read_new(self, table: Table, read: Read) -> Read:
        """Apply node after node."""
        for node in self.children:
            read = node.read_new(table, read)
        return read

    def makes_sparse(self, given: bool) -> bool:
        """Return whether those of the last node would be."""
        for node in self.children:
            given = node.makes_sparse(given)
        return given

    def then(self, source: NodeInput, blocks: Read, moments: Moments | None) -> NodeInput:
        """Return the source as node after node hands it on."""
        for node in self.children:
            source = node.then(source, blocks, moments)
        return source

    def known(self) -> Cells:
        """Return those of the first encoder: steps before it leave the columns as they are."""
        return next((known for node in self.children if (known := node.known())), {})

    def to_sklearn(self) -> Pipeline:
        """Return the pipeline of fitted transformers."""
        steps = zip(self.estimator.steps, self.children, strict=True)
        return Pipeline([(name, node.to_sklearn()) for (name, _), node in steps])

    def resume(self, fitted: Estimator, source: NodeInput, forms: Iterator[type]) -> None:
        """Let each node take its step."""
        check_type(fitted, self.estimator)
        for node, (_, part) in zip(self.children, fitted.steps, strict=True):
            node.resume(part, source, forms)
            source = node.then(source, source.reader(Numbers), None)


@dataclass
class Branch:
    """One entry of a `ColumnTransformer` or a `FeatureUnion`."""

    name: str
    node: BlockNode
    names: Sequence[Any] | None
    """Columns of the table; None where all that comes in is read."""
    weight: float | None = None

    def source(self, read: Read) -> Read:
        """Return what reads what comes in: the columns of the branch, or all there is."""
        if self.names is None:
            return read
        columns = Unread(self.names)
        return lambda part: columns

    def scaled(self, read: Read) -> Read:
        """Return what reads a part as numbers, times the weight, where there is one."""
        if self.weight is None:
            return read
        return lambda part: scale(as_read(read(part), part), self.weight)


class _SideBySide(BlockNode):
    """Branches whose blocks stand side by side."""

    resumed: Any = None
    """The fitted container of a saved model."""

    def __init__(self, estimator: Estimator, branches: Sequence[Branch]) -> None:
        self.estimator, self.branches = estimator, branches

    @property
    def children(self) -> Sequence[BlockNode]:  # type: ignore[override]
        """The nodes of the branches."""
        return [branch.node for branch in self.branches]

    def fit(self, table: Data, source: NodeInput, y: Target) -> Training:
        """Fit the branches one after the other."""
        reads = []
        for i, branch in enumerate(self.branches):
            rows, columns = table, source
            if branch.names is not None:
                rows, columns = table.narrowed(branch.names), replace(source, names=branch.names)
            branch.node = branch.node.suited(rows, columns)
            told = self.estimator._log_message(branch.name, i + 1, len(self.branches))
            with _print_elapsed_time(type(self.estimator).__name__, told):
                read = branch.node.fit(rows, columns, y)[0]
            reads.append(branch.scaled(read))
        self.judge(table, reads)
        return lambda part: join([read(part) for read in reads]), None

    def judge(self, table: Data, reads: Sequence[Read]) -> None:  # noqa: B027 - most need not
        """Learn what follows from what the branches make of the training rows."""

    def read_new(self, table: Table, read: Read) -> Read:
        """Apply every branch to its columns."""
        reads = [
            branch.scaled(branch.node.read_new(table, branch.source(read)))
            for branch in self.branches
        ]
        return lambda part: join([each(part) for each in reads])

    def makes_sparse(self, given: bool) -> bool:
        """Return whether those of any branch would be."""
        return any(node.makes_sparse(given) for node in self.children)

    def resume(self, fitted: Estimator, source: NodeInput, forms: Iterator[type]) -> None:
        """Keep the whole, and let each branch take its transformer."""
        self.resumed = check_type(fitted, self.estimator)
        parts = self._parts(fitted)
        for branch in self.branches:
            columns = source if branch.names is None else replace(source, names=branch.names)
            branch.node.resume(parts[branch.name], columns, forms)

    @abstractmethod
    def _parts(self, fitted: Estimator) -> dict[str, Any]:
        """Return the fitted transformers of a container by name."""


class ColumnTransformerNode(_SideBySide):
    """A `ColumnTransformer`: branches over the table's columns.

    Parameters
    ----------
    estimator : ColumnTransformer
        Unfitted.
    branches : sequence of Branch
        Those that are not dropped.
    head : pandas.DataFrame
        A row of the table.
    """

    sparse: bool | None = None
    """Whether the rows of the fit are sparse in scikit-learn; None of a GPU, which makes none."""

    def __init__(
        self, estimator: ColumnTransformer, branches: Sequence[Branch], head: pd.DataFrame
    ) -> None:
        super().__init__(estimator, branches)
        self.head = head

    def judge(self, table: Data, reads: Sequence[Read]) -> None:
        """Learn whether so few cells are not zero that the rows are sparse."""
        if table.first().xp is not np:
            return
        makers: dict[bool, list[Read]] = {False: [], True: []}
        for node, read in zip(self.children, reads, strict=True):
            makers[node.makes_sparse(given=False)].append(read)
        least = self.estimator.sparse_threshold
        self.sparse = bool(makers[True]) and density(table, makers[False], makers[True]) < least

    def makes_sparse(self, given: bool) -> bool:
        """Return whether they were, of the rows of the fit."""
        return bool(self.sparse)

    def to_sklearn(self) -> ColumnTransformer:
        """Return a fitted `ColumnTransformer`, whose attributes scikit-learn itself has set."""
        if self.resumed is not None:
            return self.resumed
        fitted = {b.name: (b.node.to_sklearn(), b.node.known()) for b in self.branches}
        whole = freeze_fit_thaw(self.estimator, fitted, self.head)
        if self.sparse is not None:
            whole.sparse_output_ = self.sparse
        return whole

    def resume(self, fitted: Estimator, source: NodeInput, forms: Iterator[type]) -> None:
        """Keep the whole, and whether its rows are sparse."""
        super().resume(fitted, source, forms)
        self.sparse = bool(fitted.sparse_output_)

    def _parts(self, fitted: ColumnTransformer) -> dict[str, Any]:
        return {name: part for name, part, _ in fitted.transformers_}


class FeatureUnionNode(_SideBySide):
    """A `FeatureUnion`: every branch reads every column.

    Behind another step, each branch makes that step's blocks anew, so that
    nothing is kept that is as long as the table.
    """

    row: Any = None
    """Zeros with the columns that came in: a frame where they have names."""

    def fit(self, table: Data, source: NodeInput, y: Target) -> Training:
        """Fit the branches one after the other."""
        self.row = np.zeros((1, source.width(table)))
        if source.framed and source.names is not None:
            self.row = pd.DataFrame(self.row, columns=list(source.names))
        return super().fit(table, source, y)

    def to_sklearn(self) -> FeatureUnion:
        """Return a `FeatureUnion` of fitted transformers."""
        if self.resumed is not None:
            return self.resumed
        fitted = {branch.name: self._fitted(branch.node) for branch in self.branches}
        parts = [(name, fitted.get(name, "drop")) for name, _ in self.estimator.transformer_list]
        return clone(self.estimator).set_params(transformer_list=parts)

    def _parts(self, fitted: FeatureUnion) -> dict[str, Any]:
        return dict(fitted.transformer_list)

    def _fitted(self, node: BlockNode) -> Any:
        # What scikit-learn's own fit puts in the place of the word.
        if isinstance(node, Passthrough):
            return FunctionTransformer(feature_names_out="one-to-one").fit(self.row)
        return node.to_sklearn()


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

    def fit(self, X: pd.DataFrame, y: Target = None, **params: Any) -> Frozen:
        """Change nothing: it is fitted, which not every transformer could say."""
        return self

    def transform(self, X: pd.DataFrame) -> Any:
        """Transform a row."""
        if not self.known:
            return self.estimator.transform(X)
        cells = {n: pd.Series(c, X.index, c.dtype) for n, c in self.known.items() if n in X}
        return self.estimator.transform(
            pd.DataFrame({name: cells.get(name, X[name]) for name in X})
        )


def storable(row: pd.DataFrame) -> pd.DataFrame:
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
        verbose=False,
    )
    whole.fit(storable(head))
    # scikit-learn names the remainder and keeps what was given, for display.
    whole._remainder = (whole._remainder[0], estimator.remainder, *whole._remainder[2:])
    whole.transformers_ = [
        (name, how.estimator if isinstance(how, Frozen) else how, columns)
        for name, how, columns in whole.transformers_
    ]
    given = ("transformers", "remainder", "verbose")
    return whole.set_params(**{name: getattr(estimator, name) for name in given})
