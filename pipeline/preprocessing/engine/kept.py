"""Branches of a fitted `ColumnTransformer` whose blocks are kept from one table to the next."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any

from pipeline.preprocessing.engine.blocks import Block
from pipeline.preprocessing.engine.containers import Branch, ColumnTransformerNode, PipelineNode
from pipeline.preprocessing.engine.nodes import BlockNode, NodeInput, Training
from pipeline.preprocessing.engine.program import Program
from pipeline.preprocessing.engine.table import Part, Read, Table
from pipeline.typing import Estimator, Target


class KeptNode(BlockNode):
    """A fitted node that keeps the blocks it makes of the first table, and returns them again.

    Parameters
    ----------
    node : BlockNode
    """

    def __init__(self, node: BlockNode) -> None:
        self.node, self.estimator, self.own_forms = node, node.estimator, list(node.forms())
        self.first: tuple[Table, Read] | None = None
        self.blocks: dict[tuple[int, int], Block] = {}

    def fit(self, table: Any, source: NodeInput, y: Target) -> Training:
        """Refuse: it is fitted."""
        raise NotImplementedError("what is kept is fitted")

    def read_new(self, table: Table, read: Read, *, sparse: bool = False) -> Read:
        """Return what reads the blocks of the first table."""
        if self.first is None:
            self.first = table, self.node.read_new(table, read, sparse=sparse)
        whole, made = self.first

        def kept(part: Part) -> Any:
            rows = part.rows.start, part.rows.stop
            if rows not in self.blocks:
                self.blocks[rows] = made(Part(whole, part.rows))
            return self.blocks[rows]

        return kept

    def makes_sparse(self, given: bool) -> bool:
        """Return whether those of the node would be."""
        return self.node.makes_sparse(given)

    def to_sklearn(self) -> Any:
        """Return that of the node."""
        return self.node.to_sklearn()

    def resume(self, fitted: Estimator, source: NodeInput, forms: Iterator[type]) -> None:
        """Refuse: it is fitted."""
        raise NotImplementedError("what is kept is fitted")


class Branches:
    """The branches of the `ColumnTransformer` that a fitted program is, or begins with.

    Parameters
    ----------
    program : Program

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.preprocessing import StandardScaler
    >>> columns = make_column_transformer((StandardScaler(), [0]), ("passthrough", [1]))
    >>> program = Program(columns).fit(np.array([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]]))
    >>> branches = Branches(program)
    >>> branches.read(2), branches.read(1)
    (False, True)
    >>> branches.keeping_others(1).transform(np.array([[1.0, 5.0, 6.0]])).tolist()
    [[-1.0, 5.0]]
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        root = program.node
        self.whole = root if isinstance(root, PipelineNode) else None
        first = self.whole.children[0] if self.whole else root
        self.columns = first if isinstance(first, ColumnTransformerNode) else None
        held = self.columns.branches if self.columns else ()
        self.kept = {branch.name: replace(branch, node=KeptNode(branch.node)) for branch in held}

    def read(self, name: Any) -> bool:
        """Return whether any step reads a column of the table."""
        if self.columns is None:
            return True
        return any(_reads(branch, name) for branch in self.columns.branches)

    def keeping_others(self, name: Any) -> Program:
        """Return the program for tables that differ in one column, and have the same rows.

        What the branches make that do not read the column is kept, from the first of these tables.
        """
        if self.columns is None:
            return self.program
        columns = copy(self.columns)
        columns.branches = [
            branch if _reads(branch, name) else self.kept[branch.name]
            for branch in self.columns.branches
        ]
        other = copy(self.program)
        other.node = columns
        if self.whole:
            behind = self.whole.children[1:]
            other.node = PipelineNode(self.whole.estimator, [columns, *behind])
        return other


def _reads(branch: Branch, name: Any) -> bool:
    return branch.names is None or name in branch.names
