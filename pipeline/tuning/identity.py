"""What makes a search this one and no other, as texts that tell how two differ."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
import sys
import sysconfig
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pipeline.backends.identity import NotShared, identify
from pipeline.backends.xgboost.checkpoints import hash_rows
from pipeline.data import frames
from pipeline.data.convert import from_arrow, to_arrow
from pipeline.data.shared import SharedRows
from pipeline.errors import ConfigError
from pipeline.tuning.evaluate import Evaluation
from pipeline.tuning.first_look import FEWEST, SHARE
from pipeline.tuning.parameter import is_estimator
from pipeline.tuning.racing import PAIRS, Racing, pruner_of
from pipeline.tuning.space import Space
from pipeline.typing import Estimator

if TYPE_CHECKING:
    from optuna.pruners import BasePruner

_PLAIN = (bool, int, float, complex, str, bytes, np.generic, np.dtype, range, slice, re.Pattern)
_NO_MATTER = {"memory", "n_jobs", "verbose", "verbosity"}
"""Parameters that decide on nothing that is learned."""
_LONG = 120
"""Characters of a value that a message shows."""


def name_of(facets: Mapping[str, str]) -> str:
    """Return the name of the study of a search with these facets.

    >>> name_of({"trials": "5"}) == name_of({"trials": "5"}) != name_of({"trials": "6"})
    True
    """
    return _digest(json.dumps(facets, sort_keys=True))


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return what of two searches differs, as lines.

    >>> differences({"folds": "5", "C": "1"}, {"folds": "3", "C": "1", "tol": "0.1"})
    ['folds: 5 → 3', 'tol: not set → 0.1']
    """
    names = dict.fromkeys([*before, *now])
    changed = [name for name in names if before.get(name) != now.get(name)]
    return [
        f"{name}: {before.get(name, 'not set')} → {now.get(name, 'not set')}" for name in changed
    ]


def identity_of(search: Any, evaluation: Evaluation, space: Space) -> dict[str, str]:
    """Return what makes a search this one and no other: what it is called -> a text.

    Parameters
    ----------
    search : Search
    evaluation : Evaluation
    space : Space

    Raises
    ------
    ConfigError
        The splitter draws other folds each time.
    """
    if getattr(search.cv, "random_state", 0) is None and getattr(search.cv, "shuffle", True):
        raise ConfigError(
            f"cv={search.cv!r} draws other folds each time, and the search could not go on from "
            "its storage; give cv a random_state"
        )
    always = set.intersection(*(set(part) for part in space.parts))
    settings = ["scoring", "sampler", "validation_fraction"]
    settings += [] if search.random_state is None else ["random_state"]
    rows = {"X": evaluation.X, "y": evaluation.y}
    params = {**evaluation.fit_params, **evaluation.score_params}
    return {
        **{f"space[{name!r}]": text for name, text in space.describe().items()},
        **facets_of_estimator(search.estimator, always),
        **{name: describe_rows(each) for name, each in rows.items() if each is not None},
        **{name: describe(each) for name, each in params.items() if each is not None},
        "folds": describe_folds(evaluation.folds),
        "prune": describe_pruner(search.prune),
        **{name: describe(getattr(search, name)) for name in settings},
    }


def describe_folds(folds: Sequence[tuple[np.ndarray, np.ndarray]]) -> str:
    """Return the number of the folds, and a digest of their rows.

    >>> describe_folds([(np.array([0]), np.array([1]))]).partition(" ")[0]
    '1'
    """
    digest = hashlib.blake2b(digest_size=8)
    for part in (part for fold in folds for part in fold):
        digest.update(f"{len(part)} ".encode())
        digest.update(np.ascontiguousarray(part, dtype="int64").data)
    return f"{len(folds)} of rows {digest.hexdigest()}"


def describe_pruner(prune: bool | BasePruner) -> str:
    """Return what stops candidates; of our own rule, with the constants that decide in it.

    >>> describe_pruner(True)
    'Racing(chance=0.4, look_chance=0.1, startup=3), looks at 0.125 of 16 trees or more, 15 pairs'
    """
    pruner = pruner_of(prune)
    if not isinstance(pruner, Racing):
        return describe(prune)
    return f"{describe(pruner)}, looks at {SHARE} of {FEWEST} trees or more, {PAIRS} pairs"


def facets_of_estimator(estimator: Estimator, without: Collection[str] = ()) -> dict[str, str]:
    """Return the class of an estimator and all parameters that are not the defaults, as texts.

    Parameters
    ----------
    estimator : estimator
    without : collection of str
        Parameters that do not count, since a search draws them for each candidate.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> facets_of_estimator(make_pipeline(Ridge(2.0, solver="svd")), ["ridge__alpha"])
    {'class': 'Pipeline', 'steps': 'ridge', 'ridge': 'Ridge', 'ridge__solver': "'svd'"}
    """
    facets = dict(_facets("", estimator, frozenset(without)))
    return {"class": facets.pop(""), **facets}


def _facets(path: str, value: Any, without: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield the path of an estimator, or of another value, and of all that it holds."""
    if path in without:
        return
    if is_estimator(value):
        yield path, describe(type(value))
        before = f"{path}__" if path else ""
        defaults = _defaults(type(value))
        for name, each in value.get_params(deep=False).items():
            usual = name in defaults and describe(each) == describe(defaults[name])
            if usual or name in _NO_MATTER:
                continue
            if _are_named(each):
                yield f"{before}{name}", ", ".join(part[0] for part in each)
                for part in each:
                    yield from _facets(f"{before}{part[0]}", part[1], without)
                    for other in part[2:]:
                        yield f"{before}{part[0]} of", describe(other)
            else:
                yield from _facets(f"{before}{name}", each, without)
    else:
        yield path, describe(value)


def _are_named(value: Any) -> bool:
    """Return whether a value holds steps, as those of a pipeline."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(each, tuple) and isinstance(each[0], str) for each in value)
        and all(len(each) > 1 for each in value)
    )


def _defaults(kind: type) -> dict[str, Any]:
    """Return the defaults of a class; one that takes keywords hands them on to those above it."""
    known = [each for above in reversed(kind.__mro__) for each in _parameters(above).values()]
    return {each.name: each.default for each in known if each.default is not each.empty}


def describe(value: Any) -> str:
    """Return a parameter as a text: short, the same in each process, and another for another.

    Code of the user's own is told by a digest. What cannot be told apart, as a state of random
    numbers, is told by its class alone.

    >>> describe(0.5), describe([1, "a"]), describe(len), describe(np.random.RandomState(0))
    ('0.5', "[1, 'a']", 'len', 'RandomState')
    """
    return _short(_text(value))


def _text(value: Any) -> str:
    if value is None or isinstance(value, _PLAIN):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(describe, value)))}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(describe, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{describe(k)}: {describe(v)}' for k, v in value.items())}}}"
    if is_estimator(value):
        return ", ".join(f"{name}={text}" for name, text in _facets("", value, frozenset()))
    if isinstance(value, type) or inspect.isroutine(value):
        return f"{value.__qualname__}{_code(value)}"
    if hasattr(value, "shape"):
        return describe_rows(value)
    return _object(value)


def _object(value: Any) -> str:
    """Return the class of a splitter, a scorer, a pruner or the like, and how it was made."""
    if isinstance(value, partial):
        held = {"func": value.func, "args": value.args, "keywords": value.keywords}
    else:
        known = {name.lstrip("_"): each for name, each in getattr(value, "__dict__", {}).items()}
        made_of = _parameters(type(value))
        held = {name: known[name] for name in made_of if name in known}
    inner = ", ".join(f"{name}={describe(each)}" for name, each in held.items())
    return f"{type(value).__qualname__}{_code(type(value))}" + (f"({inner})" if inner else "")


def _code(value: Any) -> str:
    """Return a digest of a class or a function of the user's own; empty of a library's."""
    if _is_of_library(value):
        return ""
    try:
        return f" {identify(value)[:8]}"
    except NotShared:
        pass
    try:
        return f" {_digest(inspect.getsource(value))[:8]}"
    except (OSError, TypeError):
        return ""


def _is_of_library(value: Any) -> bool:
    name = str(getattr(value, "__module__", None) or "builtins")
    root = sys.modules.get(name.partition(".")[0])
    if root is None or name.startswith("pipeline."):
        return root is not None
    file = getattr(root, "__file__", None)
    if file is None:
        return name != "__main__"
    folders = [sysconfig.get_path(each) for each in ("purelib", "platlib", "stdlib")]
    return any(Path(file).is_relative_to(folder) for folder in folders)


def _parameters(kind: type) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(kind).parameters
    except (TypeError, ValueError):  # of C
        return {}


def describe_rows(values: Any) -> str:
    """Return the shape of a table, a target or weights, and a digest of all in it.

    >>> describe_rows([1, 2]) == describe_rows(np.array([1, 2])) != describe_rows([2, 1])
    True
    """
    rows = _as_table(values.rows() if isinstance(values, SharedRows) else values)
    shape = " × ".join(f"{size:,}" for size in rows.shape)
    if not frames.is_frame(rows):
        return f"{shape}, {_digest(repr([str(rows.dtype), hash_rows(rows)]))}"
    columns = [(str(name), str(kind)) for name, kind in rows.dtypes.items()]
    return f"{shape}, {_digest(repr([columns, hash_rows(rows)]))}"


def _as_table(rows: Any) -> Any:
    """Return rows as `hash_rows` takes them."""
    if frames.library(rows) == "pandas" and not frames.is_frame(rows):
        return rows.to_frame()
    if frames.is_frame(rows) or frames.is_partitioned(rows) or frames.is_sparse(rows):
        return rows
    if (table := to_arrow(rows)) is not None:
        return from_arrow(table)
    if frames.library(rows) == "cupy":
        return rows
    array = np.asarray(rows)
    numbers = array.dtype.kind in "biuf" or array.ndim < 2
    return array if numbers else pd.DataFrame(array.reshape(len(array), -1))


def _short(text: str) -> str:
    """Return a text; of a long one the beginning, and a digest."""
    return text if len(text) <= _LONG else f"{text[: _LONG - 20]}… {_digest(text)[:8]}"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
