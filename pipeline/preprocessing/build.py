"""From a scikit-learn transformer to a tree of nodes, or the reasons why not.

Twins are looked up by exact type: a subclass is another algorithm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import FeatureUnion, Pipeline

from pipeline.errors import ConfigError, Reason, Unsupported
from pipeline.preprocessing.binning import KBinsDiscretizerTwin
from pipeline.preprocessing.functions import FunctionTransformerTwin
from pipeline.preprocessing.imputing import SimpleImputerTwin
from pipeline.preprocessing.missing import MissingIndicatorTwin
from pipeline.preprocessing.nodes import Branch, Chain, Leaf, Node, Parallel, Passthrough
from pipeline.preprocessing.one_hot import OneHotEncoderTwin
from pipeline.preprocessing.ordinal import OrdinalEncoderTwin
from pipeline.preprocessing.polynomial import PolynomialFeaturesTwin
from pipeline.preprocessing.power import PowerTransformerTwin
from pipeline.preprocessing.quantile_transform import QuantileTransformerTwin
from pipeline.preprocessing.ranges import MaxAbsScalerTwin, MinMaxScalerTwin
from pipeline.preprocessing.robust import RobustScalerTwin
from pipeline.preprocessing.rows import BinarizerTwin, NormalizerTwin
from pipeline.preprocessing.scaling import StandardScalerTwin
from pipeline.preprocessing.selection import SelectKBestTwin, VarianceThresholdTwin
from pipeline.preprocessing.splines import SplineTransformerTwin
from pipeline.preprocessing.target_encoding import TargetEncoderTwin
from pipeline.preprocessing.twin import Twin
from pipeline.preprocessing.union import Union

_ALL: tuple[type[Twin[Any]], ...] = (
    BinarizerTwin,
    FunctionTransformerTwin,
    KBinsDiscretizerTwin,
    MaxAbsScalerTwin,
    MinMaxScalerTwin,
    MissingIndicatorTwin,
    NormalizerTwin,
    OneHotEncoderTwin,
    OrdinalEncoderTwin,
    PolynomialFeaturesTwin,
    PowerTransformerTwin,
    QuantileTransformerTwin,
    RobustScalerTwin,
    SelectKBestTwin,
    SimpleImputerTwin,
    SplineTransformerTwin,
    StandardScalerTwin,
    TargetEncoderTwin,
    VarianceThresholdTwin,
)
TWINS: dict[type, type[Twin[Any]]] = {twin.original: twin for twin in _ALL}
"""scikit-learn class -> our twin."""


def leaves(spec: Any, step: str) -> list[tuple[str, Any]]:
    """Return the transformers inside a spec with their paths, in order.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> [path for path, _ in leaves(make_pipeline(StandardScaler()), "numbers")]
    ['numbers.standardscaler']
    """
    if type(spec) is Pipeline:
        parts = [(name, how) for name, how in spec.steps if how is not None]
    elif type(spec) is ColumnTransformer:
        parts = [(name, how) for name, how, _ in spec.transformers]
        parts += [("remainder", spec.remainder)] if spec.remainder != "drop" else []
    elif type(spec) is FeatureUnion:
        parts = spec.transformer_list
    else:
        return [(step, spec)]
    return [leaf for name, how in parts for leaf in leaves(how, f"{step}.{name}")]


def reasons(spec: Any, step: str) -> list[Reason]:
    """Return why a transformer cannot run on blocks; none when it can."""
    found = [reason for path, leaf in leaves(spec, step) for reason in _refusals(leaf, path)]
    return found + _container_refusals(spec, step, first=True)


def _refusals(leaf: Any, step: str) -> list[Reason]:
    if isinstance(leaf, str) and leaf in ("passthrough", "drop"):
        return []
    twin = TWINS.get(type(leaf))
    if twin is None:
        known = ", ".join(sorted(original.__name__ for original in TWINS))
        return [Reason(step, f"{type(leaf).__name__} has no twin yet", f"there are: {known}")]
    return twin.refuse(leaf, step)


def _container_refusals(spec: Any, step: str, *, first: bool) -> list[Reason]:
    """Return the reasons against containers; `first`: the table itself comes in."""
    found: list[Reason] = []
    if type(spec) is Pipeline:
        for name, how in spec.steps:
            found += _container_refusals(how, f"{step}.{name}", first=first)
            first = first and _left_out(how)
    elif type(spec) is ColumnTransformer:
        found += _column_refusals(spec, step, first=first)
        parts = [(name, how) for name, how, _ in spec.transformers]
        for name, how in [*parts, ("remainder", spec.remainder)]:
            found += _container_refusals(how, f"{step}.{name}", first=True)
    elif type(spec) is FeatureUnion:
        found += _weight_refusals(spec, step)
        for name, how in spec.transformer_list:
            found += _container_refusals(how, f"{step}.{name}", first=first)
    return found


def _column_refusals(spec: ColumnTransformer, step: str, *, first: bool) -> Iterator[Reason]:
    if not first:
        yield Reason(step, "a ColumnTransformer must come first in its pipeline", "reorder it")
    yield from _weight_refusals(spec, step)
    for name, _, key in spec.transformers:
        # It would see one row here, and all of them in scikit-learn.
        if callable(key) and type(key) is not make_column_selector:
            way_out = "use make_column_selector or list the columns"
            yield Reason(f"{step}.{name}", "a function may select by the data", way_out)


def _weight_refusals(spec: ColumnTransformer | FeatureUnion, step: str) -> Iterator[Reason]:
    for name, weight in (spec.transformer_weights or {}).items():
        if weight is not None and not isinstance(weight, int | float):
            why = f"the weight of {name!r} is {weight!r}"
            yield Reason(step, why, "use a Python number", "transformer_weights")


def _left_out(how: Any) -> bool:
    return how is None or (isinstance(how, str) and how == "passthrough")


def obstacles_to_batches(spec: Any, step: str) -> list[Reason]:
    """Return why a transformer cannot learn batch by batch; none when it can."""
    found = reasons(spec, step)
    if type(spec) is Pipeline:
        active = [how for _, how in spec.steps if not _left_out(how)]
        if len(active) > 1:
            why = "a step learns from what the one before makes, which changes with every batch"
            found.append(Reason(step, why, "fit on all rows at once"))
    for path, leaf in leaves(spec, step):
        twin = TWINS.get(type(leaf))
        if twin is not None and twin.aligned is not Twin.aligned:
            why = f"{type(leaf).__name__} needs the target of all rows"
            found.append(Reason(path, why, "fit on all rows at once"))
    return found


@dataclass(frozen=True)
class Options:
    """How a tree is built.

    Parameters
    ----------
    framed : bool
        A frame is made, which has a place for columns of any type.
    keeps : bool
        Statistics are kept, so that each `fit` adds to those before.
    rank_error : float
        Of medians and quantiles, as a share of the rows; 0 is exact.
    """

    framed: bool = False
    keeps: bool = False
    rank_error: float = 0.0


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
        return Passthrough(framed=options.framed)
    if type(spec) is Pipeline:
        check_names(spec, spec.steps, step)
        nodes = [_node(how or "passthrough", head, step, options) for _, how in spec.steps]
        return Chain(spec, nodes)
    if type(spec) is ColumnTransformer:
        return _parallel(spec, head, step, options)
    if type(spec) is FeatureUnion:
        return _union(spec, head, step, options)
    twin = TWINS[type(spec)](spec)
    twin.rank_error = options.rank_error
    return Leaf(twin, keeps=options.keeps)


def _parallel(
    spec: ColumnTransformer, head: pd.DataFrame, step: str, options: Options
) -> Parallel:
    check_names(spec, spec.transformers, step)
    chosen = [
        (name, how, selected(head, key, f"{step}.{name}")) for name, how, key in spec.transformers
    ]
    used = {column for _, _, names in chosen for column in names}
    rest = [column for column in head.columns if column not in used]
    chosen.append(("remainder", spec.remainder, rest))
    node = Parallel(
        spec,
        [
            Branch(name, _node(how, head[names], f"{step}.{name}", options), names)
            for name, how, names in chosen
            if names and not (isinstance(how, str) and how == "drop")
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
            (name, _node(how, head, f"{step}.{name}", options))
            for name, how in spec.transformer_list
            if not (isinstance(how, str) and how == "drop")
        ],
    )


def check_names(spec: Any, parts: Sequence[Any], step: str) -> None:
    """Raise `ConfigError` where a container names two steps alike."""
    try:
        spec._validate_names([name for name, *_ in parts])
    except ValueError as error:
        raise ConfigError(f"{step}: {error}") from error


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
        raise ConfigError(f"{step}: the columns {key!r} are not a list; write {_listed(key)!r}")
    try:
        return list(_picked(head.columns, key))
    except (LookupError, TypeError, ValueError) as error:
        known = list(head.columns)
        raise ConfigError(
            f"{step}: the columns {key!r} cannot be selected ({error.args[0]}); the table has the "
            f"columns {known}"
        ) from error


def _picked(columns: pd.Index, key: Any) -> Iterable[Any]:
    if isinstance(key, slice):
        if isinstance(key.start, str) or isinstance(key.stop, str):
            known = list(columns)
            start, stop = (e if e is None else known.index(e) for e in (key.start, key.stop))
            # By name, the last column is included.
            key = slice(start, None if stop is None else stop + 1, key.step)
        return columns[key]
    index = pd.Index(key)
    if index.dtype.kind in "iub":
        return columns[index.to_numpy()]
    missing = [name for name in index if name not in columns]
    if missing:
        raise KeyError(f"there is no {missing}")
    return index


def _listed(key: Any) -> list[Any]:
    return list(key) if isinstance(key, range) else [key]
