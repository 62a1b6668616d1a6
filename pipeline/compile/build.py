"""From the ops of a transformer to the tree of nodes that runs it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from pipeline.backends.cuml.cuml_model import CumlBackend, CumlWorker
from pipeline.compile.containers import (
    Branch,
    ColumnTransformerNode,
    FeatureUnionNode,
    PipelineNode,
)
from pipeline.compile.nodes import BlockNode, Keeps, Passthrough, TransformerNode
from pipeline.compile.rules import need_all_rows
from pipeline.compile.spec import Op
from pipeline.compile.workers import HostWorker, WorkerNode
from pipeline.errors import DataError, Unsupported
from pipeline.table.borrowed import borrow
from pipeline.twins import TWINS


@dataclass(frozen=True)
class BuildOptions:
    """How a tree is built; `Program` says of each parameter what it is."""

    keeps: Keeps = "none"
    """Which statistics are kept so that more rows can be added: "small" are those that hold no
    rows, unless some step needs all rows at once."""
    weights: Sequence[tuple[Any, Any]] = ()
    """What transformers, as they are in the estimator, weigh the rows by."""
    strict: bool = True
    """What has no twin is an error."""
    on_host: bool = False
    """What a twin cannot read, a worker reads."""
    workers: Collection[str] | None = None
    """The paths of what workers run, where it is known."""
    sparse: bool = False
    own: Mapping[str, str] = field(default_factory=dict)
    cloned: bool = False
    """scikit-learn fits clones: it is inside a `ColumnTransformer`."""

    def weights_of(self, op: Op) -> Any:
        """Return the weights of the rows for a transformer."""
        return next((given for of, given in self.weights if of is op.estimator), None)


def build(op: Op, head: pd.DataFrame, options: BuildOptions | None = None) -> BlockNode:
    """Return the unfitted tree for a transformer, given a row of the table.

    `Unsupported` has every reason why some part has no twin.
    """
    options = options or BuildOptions()
    if options.strict and (against := [r for each in op.tree for r in each.reasons]):
        raise Unsupported(*against)
    if options.keeps == "small" and need_all_rows(op):
        options = replace(options, keeps="none")
    return _node(op, head, options)


def _node(op: Op, head: pd.DataFrame, options: BuildOptions) -> BlockNode:
    """Return the node of a part."""
    if op.runner == "passthrough":
        return Passthrough()
    if op.path in options.own:
        twins = _node(op, head, replace(options, own={}))
        return _worker(op, options, options.own[op.path], twins=twins)
    if options.workers is None:
        why = "; ".join([reason.why for reason in op.reasons]) if op.reasons else ""
    else:
        why = "as in the fit" if op.path in options.workers else ""
        if op.reasons and not why:
            raise DataError(
                f"{op.path}: the model was saved by a version that ran {op.estimator!r} "
                "differently; load it with that version, or fit it again"
            )
    if why:
        return _worker(op, options, why)
    kind = type(op.estimator)
    if kind in TWINS:
        return _leaf(op, options)
    if kind is Pipeline:
        return PipelineNode(op.estimator, [_node(child, head, options) for child in op.children])
    if kind is ColumnTransformer:
        options = replace(options, cloned=True)
    branches = [
        Branch(
            name,
            _node(child, head, options),
            None if child.columns is None else list(child.columns),
        )
        for name, child in op.named
        if child.runner != "drop" and child.columns != ()
    ]
    if kind is not ColumnTransformer:
        return FeatureUnionNode(op.estimator, branches)
    assert op.takes.names is not None
    names = list(op.takes.names)
    row = head if names == list(head.columns) else head[names]
    return ColumnTransformerNode(op.estimator, branches, row)


def _worker(
    op: Op, options: BuildOptions, why: str, *, twins: BlockNode | None = None
) -> WorkerNode:
    """Return the node of what runs on all rows at once: by cuML, or on the host."""
    fits = clone(op.estimator, safe=False) if options.cloned else op.estimator
    if isinstance(op.rule, CumlBackend):
        worker: Any = CumlWorker(fits, op.rule.rule, op.path)
    elif op.rule is not None:
        worker = op.rule.place(fits, op.path, "float64")
    else:
        worker = HostWorker(fits, op.path, of_numbers=twins is not None)
    return WorkerNode(
        worker,
        op.estimator,
        op.path,
        why,
        series=op.series,
        keeps_sparse=options.sparse,
        weights=options.weights_of(op) if options.weights else None,
        twins=twins,
    )


def _leaf(op: Op, options: BuildOptions) -> BlockNode:
    may = not options.strict and options.on_host and options.workers is None
    may = may and options.keeps != "all"  # more rows are learnt from by scikit-learn's whole step
    fits = clone(op.estimator, safe=False) if options.cloned else borrow(op.estimator)
    return TransformerNode(
        TWINS[type(op.estimator)](fits),
        keeps=options.keeps,
        weights=options.weights_of(op) if options.weights else None,
        stand_in=partial(_worker, op, options) if may else None,
        sparse=options.sparse,
    )
