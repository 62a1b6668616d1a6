"""The columns of a table that a spec selects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from pipeline.errors import ConfigError
from pipeline.preprocessing.refusals import left_out


def columns_read(spec: Any, head: pd.DataFrame) -> list[Any] | None:
    """Return the columns of a table that a spec reads; None for all.

    >>> from sklearn.compose import make_column_transformer
    >>> spec = make_column_transformer(("passthrough", ["a"]))
    >>> columns_read(spec, pd.DataFrame({"a": [1], "b": [2]}))
    ['a']
    """
    if type(spec) is Pipeline:
        active = [how for _, how in spec.steps if not left_out(how)]
        return columns_read(active[0], head) if active else None
    if type(spec) is not ColumnTransformer:
        return None
    # A key alone, which hands on one column as a series, is for readers of text.
    keys = [[key] if isinstance(key, str | int) else key for *_, key in spec.transformers]
    parts = [
        (how, selected(head, key, name))
        for (name, how, _), key in zip(spec.transformers, keys, strict=True)
    ]
    named = {name for _, names in parts for name in names}
    rest = [name for name in head.columns if name not in named]
    parts.append((spec.remainder, rest))
    read = {n for how, names in parts if not dropped(how) for n in names}
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
