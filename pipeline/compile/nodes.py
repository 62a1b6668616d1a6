"""The tree that a scikit-learn transformer becomes: transformers are leaves, containers branch.

`fit` walks the tree once. A leaf makes one pass over the blocks of rows, each of which the
leaves before it transform on the way. The leaves are here, `containers` has the branches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from sklearn.preprocessing import QuantileTransformer
from sklearn.utils import get_tags

from pipeline.blocks.block import Objects, Unread, flat, holds_others, take_columns
from pipeline.blocks.table import Once, Part, Read
from pipeline.compile.flat import CONVERT, FlatProgram
from pipeline.errors import DataError, PipelineError, Reason, Refused, Unsupported, in_both_words
from pipeline.table import frames
from pipeline.table.convert import Origin
from pipeline.table.output import container
from pipeline.twins.statistics.quantiles import RowBlocks
from pipeline.twins.twin import Twin
from pipeline.typing import Array, Estimator, Form, Target

if TYPE_CHECKING:
    from pipeline.blocks.dask import Data

T = TypeVar("T")

Keeps = Literal["none", "small", "all"]


@dataclass(frozen=True)
class NodeInput:
    """Where a node's input comes from: columns of the table, or the blocks of the node before."""

    names: Sequence[Any] | None
    """The columns; None after a step that returns an array in scikit-learn."""
    framed: bool
    """The columns have names; otherwise `names` are positions."""
    blocks: Read | None = None
    """Returns the output of the node before for a part."""
    origins: Mapping[Any, Origin] = field(default_factory=dict)
    """Name -> what the values were before the column got its type."""
    form: Form = "dense"
    """What scikit-learn's rows would be."""

    @property
    def read(self) -> Read:
        """What comes in, as it is."""
        if self.blocks is not None:
            return self.blocks
        columns = Unread(self.names or ())
        return lambda part: columns

    def reader(self, form: type) -> Read:
        """Return what reads a part's rows in a form."""
        if self.blocks is None:
            return methodcaller("read", self.names, form)
        return partial(_read_as, form, self.blocks)

    def objects(self, table: Data) -> bool:
        """Return whether some of what comes in are Python objects."""
        blocks = flat(self.read(table.first()))
        return not {each.dtype.kind for each in blocks if isinstance(each, Objects)} <= {*"iufb"}

    def width(self, table: Data) -> int:
        """Return the number of columns."""
        if self.blocks is not None:
            return self.blocks(table.first()).width
        return len(self.names or ())

    def numeric(self, table: Data) -> bool:
        """Return whether all columns are numbers."""
        return not any(holds_others(block, table.like) for block in flat(self.read(table.first())))


def _read_as(form: type, blocks: Read, part: Part) -> Any:
    block = blocks(part)
    return block if isinstance(block, form) else CONVERT[form](block, part)


def check_type(fitted: Estimator, estimator: Estimator) -> Any:
    """Return the fitted form of an estimator, unless it is that of another class."""
    held, wanted = type(fitted), type(estimator)
    if held is not wanted:
        raise DataError(
            f"the saved model holds {held.__name__}, not {wanted.__name__}; fit and save it again"
        )
    return fitted


class BlockNode(ABC):
    """A part of the tree."""

    estimator: Any = None
    children: Sequence[BlockNode] = ()
    """The nodes below, in the order of the estimator."""
    own_forms: Sequence[type] = ()
    """The forms of block that the twins in its own place read."""
    stand_in: Callable[[str], BlockNode] | None = None
    """Returns the node of scikit-learn's own step, given why; None where there is none."""
    fits_only = False
    """Nothing reads what becomes of the training rows."""

    @abstractmethod
    def fit(self, table: Data, source: NodeInput, y: Target) -> Read:
        """Learn from all rows of the source; return what becomes of them."""

    @abstractmethod
    def flatten(self, flat: FlatProgram, takes: int, sparse: Callable[[], bool]) -> int:
        """Add the calls for new rows, and return the place of what they make.

        `takes` is the place of what comes in; `sparse` returns whether scikit-learn's would be.
        """

    @abstractmethod
    def to_sklearn(self) -> Any:
        """Return the fitted scikit-learn transformer."""

    @abstractmethod
    def resume(self, fitted: Estimator, source: NodeInput, forms: Iterator[type]) -> None:
        """Restore the state from what `to_sklearn` returned, and the forms that twins read."""

    def makes_sparse(self, given: Form) -> bool:
        """Return whether scikit-learn's rows would be sparse, made of those that it is given."""
        return given != "dense"

    def fills_rows(self) -> bool:
        """Return whether every training row has as many ones as it has one-hot columns."""
        return False

    def ends(self) -> list[BlockNode]:
        """Return the nodes below that hold no others, or itself, in the order of the estimator."""
        found: list[BlockNode] = []
        waiting: list[BlockNode] = [self]
        while waiting:
            node = waiting.pop()
            below = node.children
            waiting += reversed(below)
            found += () if below else (node,)
        return found

    def leaves(self) -> list[TransformerNode]:
        """Return the transformers that twins run, in the order of the estimator."""
        return [node for node in self.ends() if isinstance(node, TransformerNode)]

    def transformed(self) -> list[TransformerNode]:
        """Return those of them whose rows scikit-learn makes in a `fit`: not of a last step."""
        return self.leaves() if self.children else []

    def forms(self) -> Iterator[type]:
        """Yield the form of block that each transformer reads that has a twin, in order."""
        return chain.from_iterable(node.own_forms for node in self.ends())

    def suited(self, table: Data, source: NodeInput) -> BlockNode:
        """Return the node itself, or what stands in for it where it cannot read what comes in."""
        return self

    def learn(
        self, table: Data, source: NodeInput, y: Target, *, fits_only: bool = False
    ) -> tuple[BlockNode, Read]:
        """Fit, and return the node that serves and what becomes of the rows.

        It is that of scikit-learn's own step if this one rejects the rows.
        """
        # Columns of the table are neither sparse rows nor objects that a step has made.
        node = self if source.blocks is None else self.suited(table, source)
        node.fits_only = fits_only
        try:
            return node, node.fit(table, source, y)
        except Refused as refused:
            own = node.stand_in(str(refused)) if node.stand_in and not refused.final else None
            if own is None:
                raise
            with in_both_words(refused):
                return own, own.fit(table, source, y)

    @cached_property
    def widest(self) -> int:
        """The most columns that one of the fitted transformers reads."""
        return max(map(attrgetter("widest"), self.children), default=0)

    def then(self, source: NodeInput, blocks: Read) -> NodeInput:
        """Return the source of the node after this one.

        scikit-learn hands on an array, or where `set_output` asks for it a frame.
        """
        if container(self.estimator) == "default":
            return NodeInput(None, source.framed, blocks)
        try:
            names = self.to_sklearn().get_feature_names_out()
        except AttributeError as error:  # a step of it names no columns
            raise DataError(f"{type(self.estimator).__name__}: {error}") from error
        return NodeInput(names, True, blocks)


class TransformerNode(BlockNode):
    """One transformer: its twin learns and applies.

    `keeps` says whether the next `fit` adds to the statistic: "small" does unless it holds rows.
    `weights` are those of the rows of the next `fit`, which forgets them. `stand_in` returns the
    node that reads what the twin cannot, given why. With `sparse`, sparse rows stay sparse, and no
    twin reads them.
    """

    def __init__(
        self,
        twin: Twin[Any],
        *,
        keeps: Keeps = "none",
        weights: Array = None,
        stand_in: Callable[[str], BlockNode] | None = None,
        sparse: bool = False,
    ) -> None:
        self.stand_in, self.sparse = stand_in, sparse
        self.twin, self.estimator, self.keeps, self.weights = twin, twin.estimator, keeps, weights
        self.form: type = twin.reads
        self.stats: Any = None

    def fit(self, table: Data, source: NodeInput, y: Target) -> Read:
        """Reduce the twin's statistic over all blocks."""
        twin = self.twin
        twin.names = source.names if source.framed else None
        twin.origins = list(map(source.origins.get, source.names or ())) if source.origins else []
        self.form = twin.form(partial(source.numeric, table))
        self.widest = source.width(table)
        if not self.widest:
            raise DataError(
                f"{type(twin.estimator).__name__}: the steps before it returned no column; keep one"
            )
        table.widest = max(table.widest, self.widest)
        read = seen = source.reader(self.form)
        if source.blocks is not None:
            seen = lambda part: twin.refuse_infinite(read(part))  # noqa: E731
        weights, self.weights = self.weights, None
        aligned = []
        if twin.needs_target or weights is not None:
            aligned = table.bring(self._named(self._aligned, y, weights))
        stats = table.reduce(
            lambda part: twin.statistics(seen(part), *(part.of(aligned) if aligned else ())),
            twin.merge,
        )
        if self.stats is not None:
            stats = twin.merge(self.stats, stats)
        if self.keeps == "all" or (self.keeps == "small" and not holds_rows(stats)):
            self.stats = stats
        self._named(twin.finalize, stats)
        twin.record_names(self.widest)
        if twin.selects and twin.keeps_columns():
            return source.read
        if twin.selects and (kept := twin.picks()) is not None:
            return Once(lambda part: take_columns(kept, part, source.read(part)))
        return Once(
            lambda part: twin.apply_training(read(part), *(part.of(aligned) if aligned else ()))
        )

    def suited(self, table: Data, source: NodeInput) -> BlockNode:
        """Return the stand-in where sparse rows or Python objects come in.

        What a twin writes sparse rows from is the positions of ones. On a GPU it reads the dense
        rows of a block, where that makes no difference to scikit-learn's.
        """
        if source.form == "sparse":
            on_gpu = frames.device_of(table.like) == "cuda"
            if on_gpu or (self.sparse and self.stand_in is None):
                self._check_sparse()
        if self.stand_in is None:
            return self
        if source.form == "sparse" and self.sparse:
            return self.stand_in("its rows are sparse")
        if source.objects(table):
            return self.stand_in("its rows are not numbers or categories")
        return self

    def _check_sparse(self) -> None:
        """Reject sparse rows that scikit-learn rejects, or for which it computes other numbers."""
        name = type(self.estimator).__name__
        if not get_tags(self.estimator).input_tags.sparse:
            raise DataError(
                f"{name} does not support sparse rows, which the step before it returns; use "
                "sparse_output=False or sparse_threshold=0 there"
            )
        if type(self.estimator) is QuantileTransformer:
            why = "scikit-learn computes other numbers from sparse rows than from dense ones"
            instead = "use sparse_threshold=0 or sparse_output=False before it, or device='auto'"
            raise Unsupported(Reason(name.lower(), why, instead))

    def _aligned(self, y: Target, weights: Array) -> list[Any]:
        """Return what the twin needs beside its blocks, one entry a row."""
        if weights is not None and not np.any(weights):
            raise ValueError("Sample weights must contain at least one non-zero number.")
        return [*self.twin.aligned(y), *([] if weights is None else [weights])]

    def _named(self, function: Callable[..., T], *args: Any) -> T:
        """Call a function of the twin; name the step and columns in an error of scikit-learn's."""
        try:
            return function(*args)
        except PipelineError:
            raise
        except Exception as error:
            names, step = self.twin.names, type(self.estimator).__name__
            where = "" if names is None else f", the columns {list(names)}"
            error.add_note(f"in {step}{where}")
            raise

    def makes_sparse(self, given: Form) -> bool:
        """Return whether those of the twin's class would be."""
        return self.twin.makes_sparse(self.estimator, given)

    def fills_rows(self) -> bool:
        """Return whether the twin fills them."""
        return self.twin.fills_rows()

    def then(self, source: NodeInput, blocks: Read) -> NodeInput:
        """Return the source's columns where the twin keeps them."""
        if self.twin.keeps_names():
            return replace(source, blocks=blocks)
        return super().then(source, blocks)

    def flatten(self, flat: FlatProgram, takes: int, sparse: Callable[[], bool]) -> int:
        """Add the twin."""
        return flat.add_twin(self.twin, self.form, takes)

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

    @property
    def own_forms(self) -> Sequence[type]:  # type: ignore[override]
        """That of the twin."""
        return (self.form,)


def holds_rows(stats: Any) -> bool:
    """Return whether a statistic, or a part of it, holds the rows themselves."""
    return RowBlocks in map(type, stats if isinstance(stats, tuple) else (stats,))


class Passthrough(BlockNode):
    """Columns as they are."""

    def fit(self, table: Data, source: NodeInput, y: Target) -> Read:
        """Learn nothing."""
        return source.read

    def then(self, source: NodeInput, blocks: Read) -> NodeInput:
        """Return the source's columns."""
        return replace(source, blocks=blocks)

    def flatten(self, flat: FlatProgram, takes: int, sparse: Callable[[], bool]) -> int:
        """Add nothing."""
        return takes

    def to_sklearn(self) -> Any:
        """Return the word that scikit-learn's containers use for it."""
        return "passthrough"

    def resume(self, fitted: Estimator, source: NodeInput, forms: Iterator[type]) -> None:
        """Take nothing."""
