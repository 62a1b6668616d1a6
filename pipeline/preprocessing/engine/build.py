"""From a scikit-learn transformer to its tree of nodes, or to the reasons why it has none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import chain
from typing import Any, NamedTuple

import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import get_tags

from pipeline.errors import ConfigError, Reason, Unsupported
from pipeline.preprocessing.engine.blocks import Categories, Numbers
from pipeline.preprocessing.engine.containers import (
    Branch,
    ColumnTransformerNode,
    FeatureUnionNode,
    PipelineNode,
)
from pipeline.preprocessing.engine.nodes import BlockNode, Keeps, Passthrough, TransformerNode
from pipeline.preprocessing.engine.twin import Twin
from pipeline.preprocessing.engine.workers import SparseRows, Worker, WorkerNode
from pipeline.preprocessing.transformers import TWINS
from pipeline.typing import Estimator

CONTAINERS = (Pipeline, ColumnTransformer, FeatureUnion)
WORDS = (None, "passthrough", "drop")
MakeWorker = Callable[[Estimator, str], Worker]
ALONE = "it gets a column alone, as a series"
NUMBER = "use a Python number"
SELECTOR = "use make_column_selector or list the columns"


@dataclass(frozen=True)
class BuildOptions:
    """How a tree is built.

    Parameters
    ----------
    keeps : {"none", "small", "all"}
        Which statistics are kept, for more rows to be added to: "small" are those that hold no
        rows, unless some step needs all rows at once.
    float32 : bool
        Steps hand on float32 where scikit-learn's do, and not the float64 they compute in.
    rank_error : float
        Of medians and quantiles, as a share of the rows; 0 is exact.
    weights : sequence of (transformer, array)
        What transformers, as they are in the estimator, weigh the rows by.
    classified : bool
        It is known that every part has a twin, or a worker.
    make_worker : callable, optional
        Returns what runs a transformer that has no twin, given it and its path. Without it, such
        a transformer is an error.
    on_host : bool
        The table is on the host, where what a twin cannot read is read by a worker.
    workers : collection of str, optional
        The paths of what workers run, where it is known.
    sparse : bool
        Sparse rows that workers make stay sparse.
    own : mapping of str to str
        The paths of what scikit-learn's own steps run although there are twins, and why.
    """

    keeps: Keeps = "none"
    float32: bool = False
    rank_error: float = 0.0
    weights: Sequence[tuple[Any, Any]] = ()
    classified: bool = False
    make_worker: MakeWorker | None = None
    on_host: bool = False
    workers: Collection[str] | None = None
    sparse: bool = False
    own: Mapping[str, str] = field(default_factory=dict)


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
    options = options or BuildOptions()
    inside = walk(estimator, step)
    if not options.classified and (against := _reasons_of(inside)):
        raise Unsupported(*against)
    if options.keeps == "small" and _needs_all_rows(inside):
        options = replace(options, keeps="none")
    return _node(Inside(step, estimator, first=True), head, options, ends=True)


def _node(
    inside: Inside, head: pd.DataFrame | None, options: BuildOptions, *, ends: bool
) -> BlockNode:
    """Return the node of a part.

    Parameters
    ----------
    inside : Inside
    head : pandas.DataFrame or None
        A row of what comes in; None where it is not known.
    options : BuildOptions
    ends : bool
        What it makes comes out, and goes to no other part.
    """
    step, estimator, _ = inside
    if left_out(estimator):
        return Passthrough()
    if step in options.own:
        twins = _node(inside, head, replace(options, own={}), ends=ends)
        return _worker(inside, options, options.own[step], forms=list(twins.forms()))
    if why := _why_worker(inside, options):
        return _worker(inside, options, why)
    kind = type(estimator)
    if kind in TWINS:
        return _leaf(inside, head, options, ends=ends)
    if kind is Pipeline:
        return _pipeline(inside, head, options, ends=ends)
    branches = _make_branches(inside, head, options, ends=ends)
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
    return "; ".join(reason.why for reason in _reasons_of([inside]))


def _worker(
    inside: Inside,
    options: BuildOptions,
    why: str,
    *,
    dense: bool = False,
    series: bool = False,
    forms: Sequence[type] = (),
) -> WorkerNode:
    path, estimator, _ = inside
    assert options.make_worker is not None
    worker = options.make_worker(estimator, path)
    kept: SparseRows = "kept" if options.sparse else "expanded" if dense else "refused"
    return WorkerNode(
        worker,
        estimator,
        path,
        why,
        series=series,
        sparse_rows=kept,
        weights=_weights_of(inside, options),
        forms=forms,
    )


def _weights_of(inside: Inside, options: BuildOptions) -> Any:
    return next((given for of, given in options.weights if of is inside.estimator), None)


def _leaf(
    inside: Inside, head: pd.DataFrame | None, options: BuildOptions, *, ends: bool
) -> BlockNode:
    estimator = inside.estimator
    twin = TWINS[type(estimator)](estimator)
    may = options.make_worker is not None and options.on_host and options.workers is None
    stand_in = partial(_worker, inside, options, dense=True) if may else None
    if stand_in and head is not None and (why := _unreadable(twin, head, ends=ends)):
        return stand_in(why)
    twin.rank_error = options.rank_error
    return TransformerNode(
        twin,
        keeps=options.keeps,
        float32=options.float32,
        weights=_weights_of(inside, options),
        stand_in=stand_in,
        sparse=options.sparse,
    )


def _unreadable(twin: Twin[Any], head: pd.DataFrame, *, ends: bool) -> str:
    """Return why a twin cannot read columns as scikit-learn does; empty where it can."""
    odd = [name for name, dtype in head.dtypes.items() if dtype.kind not in "iufb"]
    if not odd or twin.reads is not Numbers:
        return ""
    if ends and type(twin).passes_on and twin.form(lambda: False) is Categories:
        return f"the columns {odd} are no numbers, and come out"
    return ""


def _pipeline(
    inside: Inside, head: pd.DataFrame | None, options: BuildOptions, *, ends: bool
) -> PipelineNode:
    step, estimator, first = inside
    check_names(estimator, estimator.steps, step)
    nodes: list[BlockNode] = []
    active = [name for name, how in estimator.steps if not left_out(how)]
    for name, how in estimator.steps:
        last = not active or name == active[-1]
        part = Inside(join_path(step, name), how, first)
        nodes.append(_node(part, head, options, ends=ends and last))
        if name in active:
            head, first = None, False
    return PipelineNode(estimator, nodes)


def _make_branches(
    inside: Inside, head: pd.DataFrame | None, options: BuildOptions, *, ends: bool
) -> list[Branch]:
    step, estimator, _ = inside
    weights = estimator.transformer_weights or {}
    if type(estimator) is FeatureUnion:
        _check_union(estimator, step)
        alone: set[str] = set()
    else:
        check_names(estimator, estimator.transformers, step)
        alone = _alone(estimator)
    branches = []
    for name, how, names in held(inside, head, series=options.make_worker is not None):
        if how == "drop" or names == []:
            continue
        part = Inside(join_path(step, name), how, first=True)
        given = head if head is None or names is None else head[names]
        if name in alone:
            node: BlockNode = _worker(part, options, ALONE, series=True)
        else:
            node = _node(part, given, options, ends=ends)
        branches.append(Branch(name, node, names, weights.get(name)))
    return branches


def _alone(estimator: ColumnTransformer) -> set[str]:
    """Return the names of the transformers that get a column alone, as a series."""
    return {
        name for name, how, key in estimator.transformers if is_scalar(key) and hasattr(how, "fit")
    }


def join_path(step: str, name: str) -> str:
    """Return the path of what a step holds under a name."""
    return f"{step}.{name}" if step else name


def _check_union(estimator: FeatureUnion, step: str) -> None:
    check_names(estimator, estimator.transformer_list, step)
    if not estimator.transformer_list:
        raise ConfigError(f"{step}: the FeatureUnion has no transformers; leave it out")
    try:
        estimator._validate_transformer_weights()
    except ValueError as error:
        raise ConfigError(f"{step}: {error}") from error


def held(
    whole: Inside, head: pd.DataFrame | None, *, series: bool
) -> list[tuple[str, Any, list[Any] | None]]:
    """Return the names, transformers and columns of branches; None where all columns are read."""
    if type(whole.estimator) is FeatureUnion:
        return [(name, how, None) for name, how in whole.estimator.transformer_list]
    assert head is not None
    return [*_branches(whole.estimator, head, whole.path, series=series)]


def _branches(
    estimator: ColumnTransformer, head: pd.DataFrame, step: str, *, series: bool
) -> list[tuple[str, Any, list[Any]]]:
    """Return the names, transformers and columns of the branches, the remainder last.

    With `series`, a key may be a column alone, which comes as a series.
    """
    chosen = []
    for name, how, key in estimator.transformers:
        alone = series and is_scalar(key) and not left_out(how)
        chosen.append((name, how, selected(head, [key] if alone else key, join_path(step, name))))
    used = {column for _, _, names in chosen for column in names}
    rest = [column for column in head.columns if column not in used]
    return [*chosen, ("remainder", estimator.remainder, rest)]


def is_scalar(key: Any) -> bool:
    """Return whether a key stands for a column alone, which a transformer gets as a series.

    >>> is_scalar("text"), is_scalar(["text"])
    (True, False)
    """
    return isinstance(key, str | int) and not isinstance(key, bool)


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
    if type(estimator) is not ColumnTransformer or _selects_by_data(estimator):
        return None
    branches = _branches(estimator, head, "", series=True)
    read = {name for _, how, names in branches if how != "drop" for name in names}
    return [name for name in head.columns if name in read]


def _selects_by_data(estimator: ColumnTransformer) -> list[str]:
    """Return the names of the transformers whose key may be another one for other rows."""
    keys = {name: key for name, _, key in estimator.transformers}
    return [n for n, key in keys.items() if callable(key) and type(key) is not make_column_selector]


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


class Inside(NamedTuple):
    """An estimator, or a word for one, within another.

    Parameters
    ----------
    path : str
        Its path in the whole estimator.
    estimator : estimator, "passthrough", "drop" or None
    first : bool
        The table itself comes in, and not what another step has made of it.
    """

    path: str
    estimator: Any
    first: bool


def walk(estimator: Estimator, step: str, *, first: bool = True) -> list[Inside]:
    """Return an estimator and all inside it: a container, then what it holds, in order."""
    whole = Inside(step, estimator, first)
    inside = [walk(how, path, first=first) for path, how, first in _children(whole)]
    return [whole, *chain.from_iterable(inside)]


def _children(whole: Inside) -> list[Inside]:
    """Return what a container holds, in order."""
    step, estimator, first = whole
    held, kind = [], type(estimator)
    first = first or kind is ColumnTransformer
    for name, how in parts(estimator):
        held.append(Inside(join_path(step, name), how, first))
        first = first and (kind is not Pipeline or left_out(how))
    return held


def units(whole: Inside) -> list[tuple[Inside, list[Reason]]]:
    """Return what runs as one, and why not on blocks: transformers, and containers that must."""
    against = _reasons_of([whole])
    if against or type(whole.estimator) not in CONTAINERS:
        return [(whole, against)]
    alone = _alone(whole.estimator) if type(whole.estimator) is ColumnTransformer else ()
    found = []
    for part in _children(whole):
        if part.path.removeprefix(join_path(whole.path, "")) in alone:
            found.append((part, [Reason(part.path, ALONE, "give it a list of columns")]))
        else:
            found += units(part)
    return found


def parts(estimator: Estimator) -> list[tuple[str, Any]]:
    """Return the names and transformers that a container holds; none for a transformer."""
    kind = type(estimator)
    if kind is Pipeline:
        return [(name, how) for name, how in estimator.steps if how is not None]
    if kind is ColumnTransformer:
        held = [(name, how) for name, how, _ in estimator.transformers]
        rest = estimator.remainder
        return held if isinstance(rest, str) and rest == "drop" else [*held, ("remainder", rest)]
    return list(estimator.transformer_list) if kind is FeatureUnion else []


def leaves(estimator: Estimator, step: str) -> list[tuple[str, Any]]:
    """Return the transformers inside an estimator with their paths, in order.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> [path for path, _ in leaves(make_pipeline(StandardScaler()), "numbers")]
    ['numbers.standardscaler']
    """
    if type(estimator) not in CONTAINERS:
        return [(step, estimator)]
    inside = walk(estimator, step)
    return [(path, how) for path, how, _ in inside if type(how) not in CONTAINERS]


def twinned(estimator: Estimator, step: str) -> list[tuple[str, Any]]:
    """Return the transformers inside an estimator of which there are twins, with their paths."""
    return [(path, leaf) for path, leaf in leaves(estimator, step) if type(leaf) in TWINS]


def reasons(estimator: Estimator, step: str) -> list[Reason]:
    """Return why a transformer cannot run on blocks; none when it can.

    Parameters
    ----------
    estimator : estimator, or "passthrough" or "drop"
    step : str
        Its path in the whole estimator.
    """
    return _reasons_of(walk(estimator, step))


def _reasons_of(inside: Sequence[Inside]) -> list[Reason]:
    against = []
    for part in inside:
        kind = type(part.estimator)
        if kind in TWINS:
            against += TWINS[kind].unsupported_reasons(part.estimator, part.path)
        elif kind is ColumnTransformer or kind is FeatureUnion:
            against += _container_reasons(*part)
        elif kind is Pipeline and any(_reads_documents(how) for _, how in part.estimator.steps[1:]):
            why = "a step of it reads documents, which the one before makes of columns"
            against.append(Reason(part.path, why, "give its vectorizer the column's name"))
        elif kind is not Pipeline and part.estimator not in WORDS:
            known = ", ".join(sorted(sklearn_class.__name__ for sklearn_class in TWINS))
            why = f"{kind.__name__} has no twin yet"
            against.append(Reason(part.path, why, f"there are: {known}"))
    return against


def _reads_documents(how: Any) -> bool:
    """Return whether a step takes a sequence of texts, and no table."""
    tags = get_tags(how).input_tags if hasattr(how, "__sklearn_tags__") else None
    return tags is not None and tags.string and not tags.two_d_array


def _container_reasons(step: str, estimator: Estimator, first: bool) -> list[Reason]:
    against = []
    columns = type(estimator) is ColumnTransformer
    if columns and not first:
        why = "a ColumnTransformer must come first in its pipeline"
        against.append(Reason(step, why, "reorder it"))
    against += [
        Reason(step, f"the weight of {name!r} is {weight!r}", NUMBER, "transformer_weights")
        for name, weight in (estimator.transformer_weights or {}).items()
        if weight is not None and not isinstance(weight, int | float)
    ]
    # A function would see one row here, and all of them in scikit-learn.
    against += [
        Reason(f"{step}.{name}".removeprefix("."), "a function may select by the data", SELECTOR)
        for name in (_selects_by_data(estimator) if columns else ())
    ]
    return against


def must_come_first(estimator: Estimator) -> bool:
    """Return whether a transformer selects columns, which only a table has."""
    inside = walk(estimator, "", first=False)
    return any(type(how) is ColumnTransformer and not first for _, how, first in inside)


def makes_sparse(how: Any, *, given: bool = False) -> bool:
    """Return whether a transformer may make sparse rows, of sparse or of dense ones.

    Those of a `ColumnTransformer` are sparse only where few cells are not zero.

    >>> from sklearn.preprocessing import OneHotEncoder
    >>> makes_sparse(OneHotEncoder()), makes_sparse(OneHotEncoder(sparse_output=False))
    (True, False)
    """
    if left_out(how):
        return given
    kind, held = type(how), [each for _, each in parts(how)]
    if kind is Pipeline:
        return reduce(lambda before, each: makes_sparse(each, given=before), held, given)
    if kind is ColumnTransformer:
        return bool(how.sparse_threshold) and any(map(makes_sparse, held))
    if kind is FeatureUnion:
        return any(makes_sparse(each, given=given) for each in held)
    if kind in TWINS:
        return TWINS[kind](how).makes_sparse(given)
    texts = kind.__module__.startswith("sklearn.feature_extraction.text")
    return texts or (given and not getattr(how, "dense_output", True))


def left_out(how: Any) -> bool:
    """Return whether a step hands on what it is given."""
    return how is None or (isinstance(how, str) and how == "passthrough")


def obstacles_to_batches(estimator: Estimator, step: str) -> list[Reason]:
    """Return why a transformer cannot learn batch by batch; none when it can."""
    inside = walk(estimator, step)
    return _reasons_of(inside) + _needs_all_rows(inside)


def _needs_all_rows(inside: Sequence[Inside]) -> list[Reason]:
    """Return why a transformer that runs on blocks cannot learn from some rows after others."""
    against = []
    for step, part, _ in inside:
        twin, why = TWINS.get(type(part)), ""
        if twin is not None and twin.needs_target:
            why = f"{type(part).__name__} needs the target of all rows"
        elif type(part) is Pipeline and sum(not left_out(how) for _, how in part.steps) > 1:
            why = "a step learns from what the one before makes, which changes with every batch"
        if why:
            against.append(Reason(step, why, "fit on all rows at once"))
    return against
