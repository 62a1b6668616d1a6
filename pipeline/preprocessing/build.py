"""From a scikit-learn transformer to a tree of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

from pipeline.errors import ConfigError, Unsupported
from pipeline.preprocessing.nodes import Branch, Chain, Keeps, Leaf, Node, Parallel, Passthrough
from pipeline.preprocessing.refusals import reasons, under
from pipeline.preprocessing.selecting import dropped, selected
from pipeline.preprocessing.twins import TWINS
from pipeline.preprocessing.union import Union


@dataclass(frozen=True)
class Options:
    """How a tree is built.

    Parameters
    ----------
    keeps : {"none", "small", "all"}
        Which statistics are kept, for more rows to be added to: "small" are those that hold no
        rows.
    float32 : bool
        Steps hand on float32 where scikit-learn's do, and not the float64 they compute in.
    rank_error : float
        Of medians and quantiles, as a share of the rows; 0 is exact.
    weights : sequence of (transformer, array)
        What transformers, as they are in the spec, weigh the rows by.
    """

    keeps: Keeps = "none"
    float32: bool = False
    rank_error: float = 0.0
    weights: Sequence[tuple[Any, Any]] = ()


def build(
    spec: BaseEstimator, head: pd.DataFrame, step: str, options: Options | None = None
) -> Node:
    """Return the unfitted tree for a transformer.

    Parameters
    ----------
    spec : estimator
        A transformer, or a `Pipeline`, `ColumnTransformer` or `FeatureUnion` of them.
    head : pandas.DataFrame
        A row of the table: its columns, for selectors.
    step : str
        Path of the transformer in the whole spec.
    options : Options, optional

    Raises
    ------
    Unsupported
        Some part has no twin; every reason is in the error.
    """
    found = reasons(spec, step)
    if found:
        raise Unsupported(*found)
    return _node(spec, head, step, options or Options())


def _node(spec: Any, head: pd.DataFrame, step: str, options: Options) -> Node:
    if isinstance(spec, str):
        return Passthrough()
    if type(spec) is Pipeline:
        check_names(spec, spec.steps, step)
        nodes = [
            _node(how or "passthrough", head, under(step, name), options)
            for name, how in spec.steps
        ]
        return Chain(spec, nodes)
    if type(spec) is ColumnTransformer:
        return _parallel(spec, head, step, options)
    if type(spec) is FeatureUnion:
        return _union(spec, head, step, options)
    twin = TWINS[type(spec)](spec)
    twin.rank_error = options.rank_error
    weights = next((found for of, found in options.weights if of is spec), None)
    return Leaf(twin, keeps=options.keeps, float32=options.float32, weights=weights)


def _parallel(spec: ColumnTransformer, head: pd.DataFrame, step: str, options: Options) -> Parallel:
    check_names(spec, spec.transformers, step)
    chosen = [
        (name, how, selected(head, key, under(step, name))) for name, how, key in spec.transformers
    ]
    used = {column for _, _, names in chosen for column in names}
    rest = [column for column in head.columns if column not in used]
    chosen.append(("remainder", spec.remainder, rest))
    node = Parallel(
        spec,
        [
            Branch(name, _node(how, head[names], under(step, name), options), names)
            for name, how, names in chosen
            if names and not dropped(how)
        ],
    )
    node.head = head
    return node


def _union(spec: FeatureUnion, head: pd.DataFrame, step: str, options: Options) -> Union:
    check_names(spec, spec.transformer_list, step)
    if not spec.transformer_list:
        raise ConfigError(f"{step}: the FeatureUnion has no transformers; leave it out")
    try:
        spec._validate_transformer_weights()
    except ValueError as error:
        raise ConfigError(f"{step}: {error}") from error
    return Union(
        spec,
        [
            (name, _node(how, head, under(step, name), options))
            for name, how in spec.transformer_list
            if not dropped(how)
        ],
    )


def check_names(spec: Any, parts: Sequence[Any], step: str) -> None:
    """Raise `ConfigError` where a container names two steps alike."""
    try:
        spec._validate_names([name for name, *_ in parts])
    except ValueError as error:
        raise ConfigError(f"{step}: {error}") from error
