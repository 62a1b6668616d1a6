"""Nodes that hold others: a `Pipeline`, a `ColumnTransformer`, a `FeatureUnion`.

What scikit-learn would learn is read back from the tree by `to_sklearn`: a `ColumnTransformer` is
fitted by scikit-learn itself, on one row and with the fitted parts in place.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer

# scikit-learn has no public way to print what `verbose` asks for.
from sklearn.utils._user_interface import _print_elapsed_time

from pipeline.blocks.block import Indicators, Numbers, join
from pipeline.blocks.csr import check_numbers, count_values
from pipeline.blocks.table import Read, blocks_to_write
from pipeline.compile.flat import FlatProgram, side_by_side
from pipeline.compile.nodes import BlockNode, NodeInput, Passthrough, TransformerNode, check_type
from pipeline.table.convert import without_na
from pipeline.typing import Estimator, Form, Target

if TYPE_CHECKING:
    from pipeline.blocks.dask import Data


class PipelineNode(BlockNode):
    """A `Pipeline` of transformers."""

    children: list[BlockNode]

    def __init__(self, estimator: Pipeline, nodes: Sequence[BlockNode]) -> None:
        self.estimator, self.children = estimator, list(nodes)

    def fit(self, table: Data, source: NodeInput, y: Target) -> Read:
        """Fit each node on the output of the one before."""
        for i, node in enumerate(self.children):
            with _print_elapsed_time("Pipeline", self.estimator._log_message(i)):
                node, made = node.learn(table, source, y)
            self.children[i] = node
            if i + 1 < len(self.children):
                form: Form = "sparse" if node.makes_sparse(source.form) else "dense"
                source = replace(node.then(source, made), form=form)
        return made

    def flatten(self, flat: FlatProgram, takes: int, sparse: Callable[[], bool]) -> int:
        """Add node after node."""
        for node in self.children:
            takes = node.flatten(flat, takes, sparse)
            sparse = partial(_made_sparse, node, sparse)
        return takes

    def makes_sparse(self, given: Form) -> bool:
        """Return whether those of the last node would be."""
        for node in self.children:
            given = "sparse" if node.makes_sparse(given) else "dense"
        return given != "dense"

    def transformed(self) -> list[TransformerNode]:
        """Return all before the last node, and what that transforms."""
        before = [leaf for node in self.children[:-1] for leaf in node.leaves()]
        return before + self.children[-1].transformed()

    def fills_rows(self) -> bool:
        """Return whether the last node fills them."""
        return self.children[-1].fills_rows()

    def then(self, source: NodeInput, blocks: Read) -> NodeInput:
        """Return the source as node after node hands it on."""
        for node in self.children:
            source = node.then(source, blocks)
        return source

    def to_sklearn(self) -> Pipeline:
        """Return the pipeline of fitted transformers."""
        steps = zip(self.estimator.steps, self.children, strict=True)
        return Pipeline([(name, node.to_sklearn()) for (name, _), node in steps])

    def resume(self, fitted: Estimator, source: NodeInput, forms: Iterator[type]) -> None:
        """Let each node take its step."""
        check_type(fitted, self.estimator)
        for i, (node, (_, part)) in enumerate(zip(self.children, fitted.steps, strict=True)):
            node.resume(part, source, forms)
            if i + 1 < len(self.children):  # the last may have no names to hand on
                source = node.then(source, source.reader(Numbers))


def _made_sparse(node: BlockNode, given: Callable[[], bool]) -> bool:
    return node.makes_sparse("sparse" if given() else "dense")


@dataclass
class Branch:
    """One entry of a `ColumnTransformer` or a `FeatureUnion`."""

    name: str
    node: BlockNode
    names: Sequence[Any] | None
    """Columns of the table; None where all that comes in is read."""


class _SideBySide(BlockNode):
    """Branches whose blocks stand side by side."""

    children: list[BlockNode]
    resumed: Any = None
    """The fitted container of a saved model."""

    def __init__(self, estimator: Estimator, branches: Sequence[Branch]) -> None:
        self.estimator, self.branches = estimator, branches
        self.children = [branch.node for branch in branches]

    def fit(self, table: Data, source: NodeInput, y: Target) -> Read:
        """Fit the branches one after the other."""
        reads = []
        for i, branch in enumerate(self.branches):
            rows, columns = table, source
            if branch.names is not None:
                rows, columns = table.narrowed(branch.names), replace(source, names=branch.names)
            branch.node, read = branch.node.learn(rows, columns, y)
            self.children[i] = branch.node
            reads.append(read)
        self.judge(table, reads)
        return lambda part: join([read(part) for read in reads])

    def judge(self, table: Data, reads: Sequence[Read]) -> None:  # noqa: B027 - most need not
        """Learn what follows from what the branches make of the training rows."""

    def flatten(self, flat: FlatProgram, takes: int, sparse: Callable[[], bool]) -> int:
        """Add every branch, which reads its columns, or all there is."""
        places = []
        for branch in self.branches:
            columns = takes if branch.names is None else flat.columns(branch.names)
            places.append(branch.node.flatten(flat, columns, sparse))
        return flat.add(side_by_side, *places)

    def makes_sparse(self, given: Form) -> bool:
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
    """A `ColumnTransformer`: branches over the table's columns, of which `head` is a row."""

    sparse: bool | None = None
    """Whether the rows of the fit are sparse in scikit-learn; None before."""
    counted: Any = 0
    """Of the batches so far, what `count_values` returned."""

    def __init__(
        self, estimator: ColumnTransformer, branches: Sequence[Branch], head: pd.DataFrame
    ) -> None:
        super().__init__(estimator, branches)
        self.head = head

    def judge(self, table: Data, reads: Sequence[Read]) -> None:
        """Learn whether so few values are non-zero that the rows are sparse."""
        dense: list[Read] = []
        makers: list[tuple[BlockNode, Read]] = []
        for node, read in zip(self.children, reads, strict=True):
            if node.makes_sparse("dense"):
                makers.append((node, read))
            else:
                dense.append(read)
        self.sparse = bool(makers) and self._holds_few(table, dense, makers)
        if self.sparse:
            check_numbers(table, dense)

    def _holds_few(self, table: Data, dense: Sequence[Read], makers: Sequence[Any]) -> bool:
        """Return whether few cells are not zero; they are counted if it is not sure before.

        Of dense blocks, all cells count as such; of one-hot columns at most one of a row each.
        """
        first, fills = table.first(), True
        full = sum([read(first).width for read in dense])
        rest = cells = 0
        for node, read in makers:
            fills = fills and node.fills_rows()
            for block in blocks_to_write(read, first):
                rest += block.width
                cells += len(block.positions) if isinstance(block, Indicators) else block.width

        def share(n_rows: int, there: int) -> float:
            return float((n_rows * full + there) / max(1, n_rows * (full + rest)))

        least: float = self.estimator.sparse_threshold
        most = share(1, cells)
        if fills or most < least:
            return most < least  # and of the rows to come, which can only have more columns
        self.counted = self.counted + count_values(table, [read for _, read in makers])
        return share(*self.counted) < least

    def makes_sparse(self, given: Form) -> bool:
        """Return whether they were, of the rows of the fit."""
        return bool(self.sparse)

    def to_sklearn(self) -> ColumnTransformer:
        """Return a fitted `ColumnTransformer`, whose attributes scikit-learn itself has set."""
        if self.resumed is not None:
            return self.resumed
        fitted = {branch.name: branch.node.to_sklearn() for branch in self.branches}
        whole = freeze_fit_thaw(self.estimator, fitted, self.head)
        if self.sparse is not None and self.branches:  # without any, scikit-learn does not say
            whole.sparse_output_ = self.sparse
        return whole

    def resume(self, fitted: Estimator, source: NodeInput, forms: Iterator[type]) -> None:
        """Keep the whole, and whether its rows are sparse."""
        super().resume(fitted, source, forms)
        self.sparse = bool(getattr(fitted, "sparse_output_", False))

    def _parts(self, fitted: ColumnTransformer) -> dict[str, Any]:
        return {name: part for name, part, _ in fitted.transformers_}


class FeatureUnionNode(_SideBySide):
    """A `FeatureUnion`: every branch reads every column.

    Behind another step, each branch makes that step's blocks anew, so that
    nothing is kept that is as long as the table.
    """

    row: Any = None
    """Zeros with the columns that came in: a frame where they have names."""

    def fit(self, table: Data, source: NodeInput, y: Target) -> Read:
        """Fit the branches one after the other."""
        self.row = np.zeros((1, source.width(table)))
        if source.framed and source.names is not None:
            self.row = pd.DataFrame(self.row, columns=list(source.names))
        return super().fit(table, source, y)

    def transformed(self) -> list[TransformerNode]:
        """Return what each branch, which is fitted alone, transforms."""
        return [leaf for branch in self.branches for leaf in branch.node.transformed()]

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
    """A fitted transformer that says for any row how many columns it returns."""

    def fit(self, X: Any, y: Target = None, **params: Any) -> Frozen:
        """Change nothing: it is fitted, although some transformers cannot say so."""
        return self

    def transform(self, X: Any) -> Any:
        """Return zeros, or the transformed row if its columns have no names."""
        try:
            return np.zeros((len(X), len(self.estimator.get_feature_names_out())))
        except (AttributeError, TypeError, ValueError):
            return self.estimator.transform(X)


def freeze_fit_thaw(
    estimator: ColumnTransformer, fitted: Mapping[str, Any], head: pd.DataFrame
) -> ColumnTransformer:
    """Return `estimator` fitted on one row, with fitted transformers in place of its own."""

    def frozen(name: str, how: Any) -> Any:
        return Frozen(fitted[name]) if hasattr(fitted.get(name), "fit") else how

    whole = clone(estimator).set_params(
        transformers=[
            (name, frozen(name, how), partial(_columns, key, head) if callable(key) else key)
            for name, how, key in estimator.transformers
        ],
        remainder=frozen("remainder", estimator.remainder),
        # A row says nothing of the others, and what is sparse takes no text beside it.
        sparse_threshold=0,
        verbose=False,
        n_jobs=1,  # processes take longer to start
    )
    whole.fit(without_na(head))
    # scikit-learn names the remainder and keeps what was given, for display.
    whole._remainder = (whole._remainder[0], estimator.remainder, *whole._remainder[2:])
    whole.transformers_ = [
        (name, how.estimator if isinstance(how, Frozen) else how, columns)
        for name, how, columns in whole.transformers_
    ]
    given = ("transformers", "remainder", "sparse_threshold", "verbose", "n_jobs")
    return whole.set_params(**{name: getattr(estimator, name) for name in given})


def _columns(key: Any, head: pd.DataFrame, _: Any) -> Any:
    return key(head)
