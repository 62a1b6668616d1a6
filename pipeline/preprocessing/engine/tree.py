"""What is inside a scikit-learn transformer: its parts, their paths and the columns they read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import pandas as pd
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils._indexing import _get_column_indices

from pipeline.errors import ConfigError
from pipeline.preprocessing.transformers import TWINS
from pipeline.typing import Estimator

CONTAINERS = (Pipeline, ColumnTransformer, FeatureUnion)


def given_alone(estimator: ColumnTransformer) -> set[str]:
    """Return the names of the transformers that get a column alone, as a series."""
    return {
        name for name, how, key in estimator.transformers if is_scalar(key) and hasattr(how, "fit")
    }


def join_path(step: str, name: str) -> str:
    """Return the path of what a step holds under a name."""
    return f"{step}.{name}" if step else name


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
    """Raise `ConfigError` where a container names two steps alike, or a `Pipeline` has none."""
    if type(estimator) is Pipeline and not parts:
        raise ConfigError(f"{step}: the pipeline is empty; add steps")
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
    if type(estimator) is not ColumnTransformer or selecting_by_data(estimator):
        return None
    branches = _branches(estimator, head, "", series=True)
    read = {name for _, how, names in branches if how != "drop" for name in names}
    return [name for name in head.columns if name in read]


def needs_order(estimator: Estimator) -> bool:
    """Return whether an estimator refuses columns in another order, and others beside them.

    scikit-learn's do, but for a `ColumnTransformer`, which finds its columns by name, and functions
    that are given what there is. What is not scikit-learn's or XGBoost's is not known.

    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.preprocessing import StandardScaler
    >>> scaler = StandardScaler()
    >>> needs_order(scaler), needs_order(make_column_transformer((scaler, ["a"])))
    (True, False)
    """
    if type(estimator) is Pipeline:
        active = [how for _, how in estimator.steps if not left_out(how)]
        return needs_order(active[0]) if active else False
    if type(estimator) is FeatureUnion:
        return any(needs_order(how) for _, how in estimator.transformer_list if hasattr(how, "fit"))
    if type(estimator).__module__.partition(".")[0] not in ("sklearn", "xgboost", "pipeline"):
        return False
    for each in [estimator, *estimator.get_params().values()]:
        by_name = isinstance(each, ColumnTransformer)
        if by_name or (isinstance(each, FunctionTransformer) and not each.validate):
            return False
    return True


def selecting_by_data(estimator: ColumnTransformer) -> list[str]:
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
    try:
        return list(head.columns[_get_column_indices(head, key)])
    except (LookupError, TypeError, ValueError) as error:
        raise ConfigError(
            f"{step}: the columns {key!r} cannot be selected ({error}); the table has the "
            f"columns {list(head.columns)}"
        ) from error


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
    found, waiting = [], [Inside(step, estimator, first)]
    while waiting:
        found.append(whole := waiting.pop())
        if type(whole.estimator) in CONTAINERS:
            waiting += reversed(children(whole))
    return found


def children(whole: Inside) -> list[Inside]:
    """Return what a container holds, in order."""
    step, estimator, first = whole
    held, kind, prefix = [], type(estimator), f"{step}." if step else ""
    first = first or kind is ColumnTransformer
    for name, how in parts(estimator):
        held.append(Inside(prefix + name, how, first))
        first = first and (kind is not Pipeline or left_out(how))
    return held


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
