"""From a scikit-learn transformer to its tree of nodes, or to the reasons why it has none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import FeatureUnion, Pipeline

from pipeline.errors import ConfigError, Unsupported
from pipeline.preprocessing.engine.containers import (
    Branch,
    ColumnTransformerNode,
    FeatureUnionNode,
    PipelineNode,
)
from pipeline.preprocessing.engine.nodes import BlockNode, Keeps, Passthrough, TransformerNode
from pipeline.preprocessing.engine.tree import (
    CONTAINERS,
    Inside,
    check_names,
    given_alone,
    held,
    join_path,
    left_out,
    walk,
)
from pipeline.preprocessing.engine.unsupported import ALONE, need_all_rows, reasons_of
from pipeline.preprocessing.engine.workers import Worker, WorkerNode
from pipeline.preprocessing.transformers import TWINS
from pipeline.typing import Estimator

MakeWorker = Callable[[Estimator, str], Worker]


@dataclass(frozen=True)
class BuildOptions:
    """How a tree is built; `Program` says of each parameter what it is."""

    keeps: Keeps = "none"
    """Which statistics are kept, for more rows to be added to: "small" are those that hold no
    rows, unless some step needs all rows at once."""
    weights: Sequence[tuple[Any, Any]] = ()
    """What transformers, as they are in the estimator, weigh the rows by."""
    make_worker: MakeWorker | None = None
    on_host: bool = False
    """What a twin cannot read, a worker reads."""
    workers: Collection[str] | None = None
    """The paths of what workers run, where it is known."""
    sparse: bool = False
    own: Mapping[str, str] = field(default_factory=dict)
    cloned: bool = False
    """scikit-learn fits clones: it is inside a `ColumnTransformer`."""

    def fits(self, estimator: Estimator) -> Any:
        """Return an estimator as scikit-learn would fit it."""
        return clone(estimator, safe=False) if self.cloned else estimator


def build(
    estimator: BaseEstimator, head: pd.DataFrame, step: str, options: BuildOptions | None = None
) -> BlockNode:
    """Return the unfitted tree for a transformer, given a row of the table.

    Raises
    ------
    Unsupported
        Some part has no twin; every reason is in the error.
    """
    options = options or BuildOptions()
    inside = walk(estimator, step)
    if options.make_worker is None and (against := reasons_of(inside)):
        raise Unsupported(*against)
    if options.keeps == "small" and need_all_rows(inside):
        options = replace(options, keeps="none")
    return _node(Inside(step, estimator, first=True), head, options)


def _node(inside: Inside, head: pd.DataFrame | None, options: BuildOptions) -> BlockNode:
    """Return the node of a part, given a row of what comes in where it is known."""
    step, estimator, _ = inside
    if left_out(estimator):
        return Passthrough()
    if step in options.own:
        twins = _node(inside, head, replace(options, own={}))
        return _worker(inside, options, options.own[step], twins=twins)
    if why := _why_worker(inside, options):
        return _worker(inside, options, why)
    kind = type(estimator)
    if kind in TWINS:
        return _leaf(inside, options)
    if kind is Pipeline:
        return _pipeline(inside, head, options)
    if kind not in CONTAINERS:
        raise ConfigError(f"{step}: {estimator!r} is no transformer")
    branches = _make_branches(inside, head, options)
    if kind is FeatureUnion:
        return FeatureUnionNode(estimator, branches)
    assert head is not None
    return ColumnTransformerNode(estimator, branches, head)


def _why_worker(inside: Inside, options: BuildOptions) -> str:
    """Return why a worker runs a part, as far as its parameters say; empty where none does."""
    if options.make_worker is None:
        return ""
    if options.workers is not None:
        return "as it was when it was fitted" if inside.path in options.workers else ""
    return "; ".join(reason.why for reason in reasons_of([inside]))


def _worker(
    inside: Inside,
    options: BuildOptions,
    why: str,
    *,
    series: bool = False,
    twins: BlockNode | None = None,
) -> WorkerNode:
    path, estimator, _ = inside
    assert options.make_worker is not None
    return WorkerNode(
        options.make_worker(options.fits(estimator), path),
        estimator,
        path,
        why,
        series=series,
        keeps_sparse=options.sparse,
        weights=_weights_of(inside, options),
        twins=twins,
    )


def _weights_of(inside: Inside, options: BuildOptions) -> Any:
    return next((given for of, given in options.weights if of is inside.estimator), None)


def _leaf(inside: Inside, options: BuildOptions) -> BlockNode:
    estimator = inside.estimator
    twin = TWINS[type(estimator)](options.fits(estimator))
    may = options.make_worker is not None and options.on_host and options.workers is None
    may = may and options.keeps != "all"  # more rows are learnt from by scikit-learn's whole step
    stand_in = partial(_worker, inside, options) if may else None
    return TransformerNode(
        twin,
        keeps=options.keeps,
        weights=_weights_of(inside, options),
        stand_in=stand_in,
        sparse=options.sparse,
    )


def _pipeline(inside: Inside, head: pd.DataFrame | None, options: BuildOptions) -> PipelineNode:
    step, estimator, first = inside
    check_names(estimator, estimator.steps, step)
    nodes: list[BlockNode] = []
    for name, how in estimator.steps:
        part = Inside(join_path(step, name), how, first)
        nodes.append(_node(part, head, options))
        if not left_out(how):
            head, first = None, False
    return PipelineNode(estimator, nodes)


def _make_branches(
    inside: Inside, head: pd.DataFrame | None, options: BuildOptions
) -> list[Branch]:
    step, estimator, _ = inside
    if type(estimator) is FeatureUnion:
        _check_union(estimator, step)
        alone: set[str] = set()
    else:
        check_names(estimator, estimator.transformers, step)
        alone, options = given_alone(estimator), replace(options, cloned=True)
    branches = []
    for name, how, names in held(inside, head, series=options.make_worker is not None):
        if how == "drop" or names == []:
            continue
        part = Inside(join_path(step, name), how, first=True)
        given = head if head is None or names is None else head[names]
        if name in alone:
            node: BlockNode = _worker(part, options, ALONE, series=True)
        else:
            node = _node(part, given, options)
        branches.append(Branch(name, node, names))
    return branches


def _check_union(estimator: FeatureUnion, step: str) -> None:
    check_names(estimator, estimator.transformer_list, step)
    if not estimator.transformer_list:
        raise ConfigError(f"{step}: the FeatureUnion has no transformers; leave it out")
