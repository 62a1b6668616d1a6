"""Copies that are fitted in place of the user's estimators, which stay unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from copy import deepcopy
from functools import partial
from operator import is_
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import check_random_state

from pipeline.trace import setting
from pipeline.typing import Estimator

T = TypeVar("T")

_CLONED = {"remainder", "transformers"}
"""The parameters of a `ColumnTransformer` that it clones itself."""
_IN_PLACE = {"steps": Pipeline, "transformer_list": FeatureUnion}
"""The parameters that hold estimators which are fitted without a clone, and of what."""
_SETTINGS = ("_metadata_request", "_sklearn_output_config")
FRAMED = "_framed_from"
"""The attribute of a copy that makes other containers: what it is a copy of."""
_LONG = 1000
"""Containers of more items are data."""
_BEFORE: ContextVar[Sequence[tuple[Any, Any]]] = ContextVar("before", default=())
_PLAIN = (bool, bytes, complex, float, int, str)
_ATOMS = frozenset({*_PLAIN, type(None)})


def borrow(estimator: T) -> T:
    """Return an unfitted estimator with the very objects that another has as parameters.

    Where scikit-learn fits the object that it is given, this is fitted: a generator draws on, and
    what is fitted inside stays so. What is fitted with ``warm_start=True`` stays fitted, too.

    >>> from sklearn.feature_selection import SelectFromModel
    >>> from sklearn.linear_model import Ridge
    >>> selector = SelectFromModel(Ridge(), prefit=True)
    >>> other = borrow(selector)
    >>> other is selector, other.estimator is selector.estimator
    (False, True)
    """
    own = getattr(type(estimator), "__sklearn_clone__", BaseEstimator.__sklearn_clone__)
    if not hasattr(estimator, "get_params") or own is not BaseEstimator.__sklearn_clone__:
        return clone(estimator, safe=False)
    params = estimator.get_params(deep=False)
    if held := _in_place(estimator):
        params[held] = [(name, borrow(part)) for name, part in params[held]]
    for name in _CLONED & params.keys() if isinstance(estimator, ColumnTransformer) else ():
        params[name] = clone(params[name], safe=False)
    made = type(estimator)(**params)
    for name in _SETTINGS:
        if name in vars(estimator):
            setattr(made, name, deepcopy(getattr(estimator, name)))
    if hasattr(estimator, "_skl_callbacks"):  # which clones share as well
        made._skl_callbacks = estimator._skl_callbacks  # type: ignore[attr-defined]
    if getattr(estimator, "warm_start", False):
        before = next((fitted for user, fitted in _BEFORE.get() if user is estimator), None)
        before = deepcopy(estimator) if before is None else before
        learnt = vars(before).keys() - vars(made).keys() - params.keys() - {FRAMED}
        vars(made).update({name: vars(before)[name] for name in learnt})
    return made


def continuing(before: Sequence[tuple[Any, Any]]) -> AbstractContextManager[None]:
    """Let what is borrowed inside go on from fits before: user's estimators, and those fitted."""
    return setting(_BEFORE, before)


def _in_place(estimator: Estimator) -> str:
    """Return the parameter that holds the estimators which a container fits without a clone."""
    for name, kind in _IN_PLACE.items():
        if isinstance(estimator, kind):
            return name
    return ""


def in_place(user: Estimator, fitted: Estimator) -> Iterator[tuple[Any, Any]]:
    """Yield a user's estimator and what is fitted in its place, and those inside them."""
    yield vars(user).get(FRAMED, user) if hasattr(user, "__dict__") else user, fitted
    if held := _in_place(user):
        for (_, one), (_, other) in zip(getattr(user, held), getattr(fitted, held), strict=True):
            yield from in_place(one, other)


class Held:
    """What an estimator held at a time, and what it holds: parameters, lists, those inside.

    Of a fitted one public attributes count, too.

    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> whole = make_pipeline(Ridge())
    >>> held = Held(whole)
    >>> held.changed
    ''
    >>> _ = whole.set_params(ridge__alpha=2)
    >>> held.changed
    'alpha of Ridge'
    """

    def __init__(self, estimator: Estimator, *, fitted: bool = False) -> None:
        self.estimator, self.fitted = estimator, fitted
        self._held: dict[int, tuple[Any, dict[str, tuple[Any, Any]]]] = {}
        waiting = [estimator]
        for part in waiting:  # which grows meanwhile
            if isinstance(part, list | tuple) and len(part) <= _LONG:
                waiting += part
            elif isinstance(part, dict | np.ndarray):
                waiting += (_items(part) or {}).values()
            elif not isinstance(part, type) and hasattr(part, "get_params"):
                waiting += () if id(part) in self._held else self._keep(part)

    def _keep(self, part: Estimator) -> list[Any]:
        """Remember what an estimator holds, and return it."""
        found: dict[str, tuple[Any, Any]] = {}
        held = []
        for name in vars(part) if self.fitted else part.get_params(deep=False):
            if name[:1] != "_":
                value = getattr(part, name, None)
                # What is fitted shares the lists that are parameters, and reads them.
                own = self.fitted or isinstance(part, _IN_PLACE.get(name, ()))
                as_is = not own or type(value) in _ATOMS
                found[name] = value, value if as_is else _copied(value)
                held.append(value)
        self._held[id(part)] = part, found
        return held

    @property
    def changed(self) -> str:
        """What has been changed since; empty if nothing."""
        for part, known in self._held.values():
            for name, (before, copied) in known.items():
                value = getattr(part, name, None)
                if value is before and copied is before:
                    continue
                if not _unchanged(copied, value):
                    return f"{name} of {type(part).__name__}"
            if self.fitted and (new := {n for n in vars(part) if n[:1] != "_"} - known.keys()):
                return f"{min(new)} of {type(part).__name__}"
        return ""

    @contextmanager
    def draws_once(self) -> Iterator[None]:
        """Let generators draw their numbers again if the work inside fails, and other is done."""
        bits = [check_random_state(None)._bit_generator]
        for held in [each for _, known in self._held.values() for each, _ in known.values()]:
            for each in (held, getattr(held, "random_state", None)):
                if isinstance(each, np.random.RandomState):
                    bits.append(each._bit_generator)
                elif isinstance(each, np.random.Generator):
                    bits.append(each.bit_generator)
        states = [each.state for each in bits]
        try:
            yield
        except Exception:
            for each, state in zip(bits, states, strict=True):
                each.state = state
            raise


def _items(value: Any) -> dict[Any, Any] | None:
    """Return what is in a list, tuple, mapping or array of estimators; None of others."""
    if isinstance(value, list | tuple | dict):
        if len(value) > _LONG:
            return None
        return value if isinstance(value, dict) else dict(enumerate(value))
    objects = isinstance(value, np.ndarray) and value.dtype == object and value.size > 0
    held = objects and isinstance(value.flat[0], BaseEstimator)
    return dict(enumerate(value.flat)) if held else None


def _copied(value: Any) -> Any:
    """Return what is in a list of named estimators as a tuple, and else as nested mappings."""
    if type(value) is list and _are_named(value):
        return tuple(value)
    items = _items(value)
    return value if items is None else {key: _copied(each) for key, each in items.items()}


def _are_named(values: list[Any]) -> bool:
    for each in values:
        named = type(each) is tuple and len(each) == 2 and type(each[0]) is str
        if not named or isinstance(each[1], list | tuple | dict | np.ndarray):
            return False
    return True


def _unchanged(known: Any, now: Any) -> bool:
    alike = type(known) is tuple and type(now) is list and len(known) == len(now)
    if alike and all(map(is_, known, now)):  # named estimators
        return True
    before, items = _items(known), _items(now)
    if before is None or items is None:
        return same(known, now)
    alike = before.keys() == items.keys()
    return alike and all(_unchanged(before[key], each) for key, each in items.items())


def same(one: Any, other: Any) -> bool:
    """Return whether two values are one object, or equal where they have no identity.

    >>> same(0.5, float("0.5")), same(float("nan"), float("nan")), same([], []), same(1, 1.0)
    (True, True, False, False)
    """
    plain = type(one) is type(other) and isinstance(one, _PLAIN)
    return one is other or (plain and bool(one == other or one != one))


def shown(part: Any, memo: dict[int, Any] | None = None) -> Any:
    """Return a copy of a fitted estimator that shares its fitted arrays, read-only.

    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> fitted = Ridge().fit([[0.0], [1.0]], [0.0, 2.0])
    >>> shown(fitted).coef_ is fitted.coef_, np.shares_memory(shown(fitted).coef_, fitted.coef_)
    (False, True)
    >>> shown(fitted).coef_.flags.writeable
    False
    """
    memo = {} if memo is None else memo
    if id(part) in memo:
        return memo[id(part)]
    made = part
    if isinstance(part, BaseEstimator):
        kind: Any = type(part)
        made = memo[id(part)] = kind.__new__(kind)
        for name, value in vars(part).items():
            own = deepcopy(value) if name in _SETTINGS else value
            vars(made)[name] = own if name[:1] == "_" else shown(value, memo)
    elif type(part) is np.ndarray:
        made = part.view()
        if _items(part) is not None:  # which scikit-learn takes in no array to read alone
            made = np.frompyfunc(partial(shown, memo=memo), 1, 1)(part)
        else:
            made.flags.writeable = False
    elif type(part) in (list, tuple) and len(part) <= _LONG:
        made = type(part)(shown(each, memo) for each in part)
    elif type(part) is dict and len(part) <= _LONG:
        made = {key: shown(value, memo) for key, value in part.items()}
    memo[id(part)] = made
    return made
