"""What decides on what an estimator learns from the same rows, as one digest."""

from __future__ import annotations

import hashlib
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator, BaseShuffleSplit

from pipeline.data.output import container
from pipeline.errors import PipelineError
from pipeline.typing import Estimator, ReadParams

_PLAIN = (bool, int, float, complex, str, bytes, np.generic, np.dtype, range, slice, re.Pattern)
_LIBRARIES = {"builtins", "math", "numpy", "operator", "pandas", "pipeline", "scipy", "sklearn"}
_LIBRARIES |= {"functools", "re", "string", "xgboost"}
_DRAWING = {"default_rng", "rand", "randint", "random", "RandomState", "shuffle", "time", "urandom"}
"""Names by which a function of the user's own comes to other numbers each time."""

SEEDLESS: dict[str, Callable[[ReadParams, int], bool]] = {
    "KBinsDiscretizer": lambda p, n: p["subsample"] is None or n <= p["subsample"],
    "ElasticNet": lambda p, n: p["selection"] == "cyclic",
    "Lasso": lambda p, n: p["selection"] == "cyclic",
    "LinearSVC": lambda p, n: p["dual"] is False,
    "LinearSVR": lambda p, n: p["dual"] is False,
    "LogisticRegression": lambda p, n: p["solver"].startswith(("lbfgs", "newton")),
    "PCA": lambda p, n: p["svd_solver"] in ("covariance_eigh", "full"),
    "QuantileTransformer": lambda p, n: p["subsample"] is None or n <= p["subsample"],
    "Ridge": lambda p, n: p["solver"] not in ("sag", "saga"),
    "RidgeClassifier": lambda p, n: p["solver"] not in ("sag", "saga"),
}
"""Estimators of scikit-learn, and whether they draw no numbers, of parameters and rows."""


class NotShared(PipelineError):
    """What an estimator learns may differ though its parameters do not; the message says why."""


def identify(value: Any, path: str = "", n_rows: int = 0) -> str:
    """Return a digest that two values have in common only if a fit cannot tell them apart.

    Parameters
    ----------
    value : object
        Estimators, parameters, and sequences and mappings of them.
    path : str
        What it is called in messages.
    n_rows : int
        Rows that an estimator is fitted on, which decide on whether some draw numbers.

    Raises
    ------
    NotShared
        An estimator draws numbers and has no seed, or holds what may change.

    Examples
    --------
    >>> from sklearn.decomposition import TruncatedSVD
    >>> from sklearn.preprocessing import StandardScaler
    >>> identify(StandardScaler()) == identify(StandardScaler(with_std=True))
    True
    >>> identify(TruncatedSVD(), "svd")
    Traceback (most recent call last):
    pipeline.backends.identity.NotShared: svd.random_state=None is no seed; pass a number
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in _Walk(n_rows).parts(value, path):
        digest.update(part if isinstance(part, bytes) else part.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def identify_if_known(value: Any) -> str | None:
    """Return the digest of a value; None where it may differ though it looks the same.

    >>> identify_if_known([iter([1])]) is None
    True
    """
    try:
        return identify(value)
    except NotShared:
        return None


class _Walk:
    """The parts of a value that decide, in their order."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.seen: set[int] = set()

    def parts(self, value: Any, path: str) -> Iterator[str | bytes]:
        kind = type(value)
        yield f"{kind.__module__}.{kind.__qualname__}"
        if value is None or isinstance(value, _PLAIN):
            yield repr(value)
        elif isinstance(value, np.ndarray) and value.dtype != object:
            yield f"{value.dtype.str}{value.shape}"
            yield np.ascontiguousarray(value).tobytes()
        elif isinstance(value, pd.Index | pd.Series):
            yield from self.parts(value.to_numpy(), path)
        elif isinstance(value, list | tuple | np.ndarray):
            yield from self._items(list(value), path)
        elif isinstance(value, set | frozenset):
            yield from sorted(identify(each, path, self.n_rows) for each in value)
        elif isinstance(value, Mapping):
            for key, each in value.items():
                yield from self.parts(key, path)
                yield from self.parts(each, f"{path}[{key!r}]")
        else:
            yield from self._others(value, path)

    def _items(self, values: Sequence[Any], path: str) -> Iterator[str | bytes]:
        yield str(len(values))
        for i, each in enumerate(values):
            if isinstance(each, tuple) and each and isinstance(each[0], str):  # a step
                for part in each:
                    yield from self.parts(part, f"{path}.{each[0]}")
            else:
                yield from self.parts(each, f"{path}[{i}]")

    def _others(self, value: Any, path: str) -> Iterator[str | bytes]:
        if isinstance(value, BaseEstimator):
            yield from self._estimator(value, path)
        elif isinstance(value, BaseCrossValidator | BaseShuffleSplit):
            yield from self._code(type(value), path)
            kept = {name: each for name, each in vars(value).items() if name != "random_state"}
            yield from self._named(kept if not _draws(value) else vars(value), path)
        elif isinstance(value, partial):
            yield from self._function(value.func, path, value.keywords)
            yield from self.parts([value.args, value.keywords], path)
        elif isinstance(value, type):
            yield from self._code(value, path)
        elif callable(value) and hasattr(value, "__name__"):
            yield from self._function(value, path, {})
        elif _is_known(type(value)) and hasattr(value, "__dict__"):
            yield from self._named(vars(value), path)
        else:
            raise NotShared(f"{path} holds a {type(value).__name__}, which may change")

    def _estimator(self, value: Estimator, path: str) -> Iterator[str | bytes]:
        yield from self._code(type(value), path)
        yield container(value)
        params = value.get_params(deep=False)
        if any(name.endswith("_") and name[:1] != "_" for name in vars(value)):
            raise NotShared(f"{path or type(value).__name__} is fitted, which its parameters hide")
        kind = type(value)
        seedless = SEEDLESS.get(kind.__name__) if kind.__module__.startswith("sklearn.") else None
        if params.get("random_state", 0) is None and seedless and seedless(params, self.n_rows):
            params["random_state"] = "draws none"
        yield from self._named(params, path)

    def _named(self, values: ReadParams, path: str) -> Iterator[str | bytes]:
        for name, value in sorted(values.items()):
            if name == "random_state" and not isinstance(value, int | np.integer | str):
                raise NotShared(f"{path}.{name}={value!r} is no seed; pass a number")
            if name == "cv" and "shuffle" in values and not hasattr(value, "split"):
                raise NotShared(
                    f"{path}.cv={value!r} draws folds without a seed; pass StratifiedKFold("
                    "5, shuffle=True, random_state=0)"
                )
            yield name
            yield from self.parts(value, f"{path}.{name}")

    def _function(self, value: Any, path: str, given: ReadParams) -> Iterator[str | bytes]:
        if "random_state" in _parameters(value) and given.get("random_state") is None:
            raise NotShared(
                f"{path}: {value.__name__} draws numbers; pass functools.partial("
                f"{value.__name__}, random_state=0)"
            )
        yield from self._code(value, path)

    def _code(self, value: Any, path: str) -> Iterator[str | bytes]:
        """Yield the name of what belongs to a library, and all of what is the user's own."""
        name = getattr(value, "__qualname__", value.__name__)
        yield f"{getattr(value, '__module__', '')}.{name}"
        if _is_known(value) or id(value) in self.seen:
            return
        self.seen.add(id(value))
        if isinstance(value, type):
            for base in value.__mro__[1:]:
                yield from self._code(base, path)
            yield from self._members(value, path)
        elif isinstance(value, types.FunctionType):
            yield from self._own(value, path)
        else:
            raise NotShared(f"{path}: {name} is code whose source is not known")

    def _members(self, value: type, path: str) -> Iterator[str | bytes]:
        for name, member in sorted(vars(value).items()):
            member = getattr(member, "fget", None) or getattr(member, "__func__", member)
            if isinstance(member, types.FunctionType):
                yield name
                yield from self._code(member, path)

    def _own(self, value: types.FunctionType, path: str) -> Iterator[str | bytes]:
        """Yield what a function does, and what it reads beside its arguments."""
        yield from self._bytecode(value.__code__, value, path)
        try:
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
        except ValueError as error:
            raise NotShared(f"{path}: {value.__qualname__}: {error}") from error
        yield from self.parts([value.__defaults__, value.__kwdefaults__, cells], path)

    def _bytecode(
        self, code: types.CodeType, value: types.FunctionType, path: str
    ) -> Iterator[str | bytes]:
        yield code.co_code
        yield from code.co_names
        if drawing := _DRAWING.intersection(code.co_names):
            name = value.__qualname__
            raise NotShared(f"{path}: {name} reads {min(drawing)!r}, and may differ each time")
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                yield from self._bytecode(constant, value, path)
            elif isinstance(constant, frozenset):  # in another order in another process
                yield from sorted(map(repr, constant))
            else:
                yield repr(constant)
        for name in code.co_names:
            if name in value.__globals__:
                yield from self._global(value.__globals__[name], path)

    def _global(self, value: Any, path: str) -> Iterator[str | bytes]:
        if isinstance(value, types.ModuleType):
            yield value.__name__
        else:
            yield from self.parts(value, path)


def _is_known(value: Any) -> bool:
    """Return whether a class or a function belongs to a library, which does not change."""
    module = str(getattr(value, "__module__", None)).partition(".")[0]
    of_library = module in _LIBRARIES and "<lambda>" not in getattr(value, "__qualname__", "")
    return of_library or isinstance(value, np.ufunc)


def _parameters(function: Callable[..., Any]) -> Mapping[str, Any]:
    try:
        return signature(function).parameters
    except (TypeError, ValueError):  # of C
        return {}


def _draws(splitter: Any) -> bool:
    return bool(getattr(splitter, "shuffle", isinstance(splitter, BaseShuffleSplit)))
