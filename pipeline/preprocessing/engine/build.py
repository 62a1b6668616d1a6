"""From a scikit-learn transformer to its tree of nodes, or to the reasons why it has none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import FeatureUnion, Pipeline

from pipeline.errors import ConfigError, Reason, Unsupported
from pipeline.preprocessing.engine.nodes import (
    BlockNode,
    Branch,
    ColumnTransformerNode,
    FeatureUnionNode,
    Keeps,
    Passthrough,
    PipelineNode,
    TransformerNode,
)
from pipeline.preprocessing.transformers import TWINS
from pipeline.typing import Estimator

CONTAINERS = (Pipeline, ColumnTransformer, FeatureUnion)


@dataclass(frozen=True)
class BuildOptions:
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
        What transformers, as they are in the estimator, weigh the rows by.
    """

    keeps: Keeps = "none"
    float32: bool = False
    rank_error: float = 0.0
    weights: Sequence[tuple[Any, Any]] = ()


def build(
    estimator: BaseEstimator, head: pd.DataFrame, step: str, options: BuildOptions | None = None
) -> BlockNode:
    """Return the unfitted tree for a transformer.

    Parameters
    ----------
    estimator : estimator
        A transformer, or a `Pipeline`, `ColumnTransformer` or `FeatureUnion` of them.
    head : pandas.DataFrame
        A row of the table: its columns, for selectors.
    step : str
        Path of the transformer in the whole estimator.
    options : BuildOptions, optional

    Raises
    ------
    Unsupported
        Some part has no twin; every reason is in the error.
    """
    against = reasons(estimator, step)
    if against:
        raise Unsupported(*against)
    return _node(estimator, head, step, options or BuildOptions())


def _node(estimator: Estimator, head: pd.DataFrame, step: str, options: BuildOptions) -> BlockNode:
    if left_out(estimator):
        return Passthrough()
    kind, prefix = type(estimator), under(step, "")
    if kind is Pipeline:
        check_names(estimator, estimator.steps, step)
        nodes = [_node(how, head, prefix + name, options) for name, how in estimator.steps]
        return PipelineNode(estimator, nodes)
    if kind is ColumnTransformer:
        check_names(estimator, estimator.transformers, step)
        branches = _branches(estimator, estimator.transformers, head, step)
        weights = estimator.transformer_weights or {}
        return ColumnTransformerNode(
            estimator,
            [
                Branch(
                    name,
                    _node(how, head[names], prefix + name, options),
                    names,
                    weights.get(name),
                )
                for name, how, names in branches
                if names and how != "drop"
            ],
            head,
        )
    if kind is FeatureUnion:
        return _union(estimator, head, step, options)
    twin = TWINS[kind](estimator)
    twin.rank_error = options.rank_error
    weights = next((given for of, given in options.weights if of is estimator), None)
    return TransformerNode(twin, keeps=options.keeps, float32=options.float32, weights=weights)


def _union(
    estimator: FeatureUnion, head: pd.DataFrame, step: str, options: BuildOptions
) -> FeatureUnionNode:
    check_names(estimator, estimator.transformer_list, step)
    if not estimator.transformer_list:
        raise ConfigError(f"{step}: the FeatureUnion has no transformers; leave it out")
    try:
        estimator._validate_transformer_weights()
    except ValueError as error:
        raise ConfigError(f"{step}: {error}") from error
    weights, prefix = estimator.transformer_weights or {}, under(step, "")
    return FeatureUnionNode(
        estimator,
        [
            Branch(name, _node(how, head, prefix + name, options), None, weights.get(name))
            for name, how in estimator.transformer_list
            if how != "drop"
        ],
    )


def _branches(
    estimator: ColumnTransformer, transformers: Sequence[Any], head: pd.DataFrame, step: str
) -> list[tuple[str, Any, list[Any]]]:
    """Return the names, transformers and columns of the branches, the remainder last."""
    prefix = under(step, "")
    chosen = [(name, how, selected(head, key, prefix + name)) for name, how, key in transformers]
    used = {column for _, _, names in chosen for column in names}
    rest = [column for column in head.columns if column not in used]
    return [*chosen, ("remainder", estimator.remainder, rest)]


def check_names(estimator: Estimator, parts: Sequence[Any], step: str) -> None:
    """Raise `ConfigError` where a container names two steps alike."""
    try:
        estimator._validate_names([name for name, *_ in parts])
    except ValueError as error:
        raise ConfigError(f"{step}: {error}") from error


def columns_read(estimator: Estimator, head: pd.DataFrame) -> list[Any] | None:
    """Return the columns of a table that an estimator reads; None for all.

    >>> from sklearn.compose import make_column_transformer
    >>> estimator = make_column_transformer(("passthrough", ["a"]))
    >>> columns_read(estimator, pd.DataFrame({"a": [1], "b": [2]}))
    ['a']
    """
    if type(estimator) is Pipeline:
        active = [how for _, how in estimator.steps if not left_out(how)]
        return columns_read(active[0], head) if active else None
    if type(estimator) is not ColumnTransformer:
        return None
    # A key alone, which hands on one column as a series, is for readers of text.
    transformers = [
        (name, how, [key] if isinstance(key, str | int) else key)
        for name, how, key in estimator.transformers
    ]
    branches = _branches(estimator, transformers, head, "")
    read = {name for _, how, names in branches if how != "drop" for name in names}
    return [name for name in head.columns if name in read]


def dropped(how: Any) -> bool:
    """Return whether a container leaves the columns of a part out."""
    return isinstance(how, str) and how == "drop"


def selected(head: pd.DataFrame, key: Any, step: str) -> list[Any]:
    """Return the columns that a `ColumnTransformer` key selects.

    >>> selected(pd.DataFrame({"a": [1], "b": [2]}), slice(1, None), "step")
    ['b']

    Raises
    ------
    ConfigError
        A name or a position is not in the table, or there is no list of them.
    """
    key = key(head) if callable(key) else key
    if isinstance(key, str | int | range):
        listed = list(key) if isinstance(key, range) else [key]
        raise ConfigError(f"{step}: the columns {key!r} are not a list; write {listed!r}")
    columns = head.columns
    try:
        if isinstance(key, slice):
            return list(columns[_by_position(key, list(columns))])
        index = pd.Index(key)
        if index.dtype.kind in "iub":
            return list(columns[index.to_numpy()])
        missing = [name for name in index if name not in columns]
        if missing:
            raise KeyError(f"there is no {missing}")
    except (LookupError, TypeError, ValueError) as error:
        raise ConfigError(
            f"{step}: the columns {key!r} cannot be selected ({error.args[0]}); the table has the "
            f"columns {list(columns)}"
        ) from error
    return list(index)


def _by_position(key: slice, columns: list[Any]) -> slice:
    """Return a slice of positions for one of names, in which the last column is included."""
    if not (isinstance(key.start, str) or isinstance(key.stop, str)):
        return key
    start, stop = (end if end is None else columns.index(end) for end in (key.start, key.stop))
    return slice(start, None if stop is None else stop + 1, key.step)


def under(step: str, name: str) -> str:
    """Return the path of a part of a step; the steps of a program have no path before theirs.

    >>> under("columntransformer", "numbers"), under("", "simpleimputer")
    ('columntransformer.numbers', 'simpleimputer')
    """
    return f"{step}.{name}" if step else name


def leaves(estimator: Estimator, step: str) -> list[tuple[str, Any]]:
    """Return the transformers inside an estimator with their paths, in order.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> [path for path, _ in leaves(make_pipeline(StandardScaler()), "numbers")]
    ['numbers.standardscaler']
    """
    if type(estimator) not in CONTAINERS:
        return [(step, estimator)]
    inside, prefix = [], under(step, "")
    for name, how in parts(estimator):
        path = prefix + name
        inside += leaves(how, path) if type(how) in CONTAINERS else [(path, how)]
    return inside


def parts(estimator: Estimator) -> list[tuple[str, Any]]:
    """Return the names and transformers that a container holds; none for a transformer."""
    if type(estimator) is Pipeline:
        return [(name, how) for name, how in estimator.steps if how is not None]
    if type(estimator) is ColumnTransformer:
        held = [(name, how) for name, how, _ in estimator.transformers]
        return held + (
            [("remainder", estimator.remainder)] if estimator.remainder != "drop" else []
        )
    return list(estimator.transformer_list) if type(estimator) is FeatureUnion else []


def reasons(estimator: Estimator, step: str, *, first: bool = True) -> list[Reason]:
    """Return why a transformer cannot run on blocks; none when it can.

    Parameters
    ----------
    estimator : estimator, or "passthrough" or "drop"
    step : str
        Its path in the whole estimator.
    first : bool
        The table itself comes in, and not what another step has made of it.
    """
    kind = type(estimator)
    if kind in CONTAINERS:
        return _container_reasons(estimator, step, first=first)
    if left_out(estimator) or dropped(estimator):
        return []
    if kind in TWINS:
        return TWINS[kind].unsupported_reasons(estimator, step)
    known = ", ".join(sorted(sklearn_class.__name__ for sklearn_class in TWINS))
    return [Reason(step, f"{kind.__name__} has no twin yet", f"there are: {known}")]


def _container_reasons(estimator: Estimator, step: str, *, first: bool) -> list[Reason]:
    against, kind, prefix = [], type(estimator), under(step, "")
    if kind is ColumnTransformer:
        if not first:
            why = "a ColumnTransformer must come first in its pipeline"
            against.append(Reason(step, why, "reorder it"))
        against += _weight_reasons(estimator, step) + _selector_reasons(estimator, step)
        first = True
    elif kind is FeatureUnion:
        against += _weight_reasons(estimator, step)
    for name, how in parts(estimator):
        against += reasons(how, prefix + name, first=first)
        first = first and (kind is not Pipeline or left_out(how))
    return against


def must_come_first(estimator: Estimator) -> bool:
    """Return whether a transformer selects columns, which only a table has."""
    return bool(reasons(estimator, "", first=False)) and not reasons(estimator, "")


def _selector_reasons(estimator: ColumnTransformer, step: str) -> list[Reason]:
    # A function would see one row here, and all of them in scikit-learn.
    suggestion = "use make_column_selector or list the columns"
    return [
        Reason(under(step, name), "a function may select by the data", suggestion)
        for name, _, key in estimator.transformers
        if callable(key) and type(key) is not make_column_selector
    ]


def _weight_reasons(estimator: ColumnTransformer | FeatureUnion, step: str) -> list[Reason]:
    suggestion = "use a Python number"
    return [
        Reason(step, f"the weight of {name!r} is {weight!r}", suggestion, "transformer_weights")
        for name, weight in (estimator.transformer_weights or {}).items()
        if weight is not None and not isinstance(weight, int | float)
    ]


def left_out(how: Any) -> bool:
    """Return whether a step hands on what it is given."""
    return how is None or (isinstance(how, str) and how == "passthrough")


def obstacles_to_batches(estimator: Estimator, step: str) -> list[Reason]:
    """Return why a transformer cannot learn batch by batch; none when it can."""
    return reasons(estimator, step) + needs_all_rows(estimator, step)


def needs_all_rows(estimator: Estimator, step: str) -> list[Reason]:
    """Return why a transformer that runs on blocks cannot learn from some rows after others."""
    twin = TWINS.get(type(estimator))
    if twin is not None and twin.needs_target:
        why = f"{type(estimator).__name__} needs the target of all rows"
        return [Reason(step, why, "fit on all rows at once")]
    below, prefix = parts(estimator), under(step, "")
    against = []
    if type(estimator) is Pipeline and sum(not left_out(how) for _, how in below) > 1:
        why = "a step learns from what the one before makes, which changes with every batch"
        against.append(Reason(step, why, "fit on all rows at once"))
    for name, how in below:
        against += needs_all_rows(how, prefix + name)
    return against
