"""A scikit-learn object that a model has fitted: it gets the fitted attributes when one is read."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from math import inf
from threading import RLock
from typing import Any

import joblib
import numpy as np
from sklearn.base import BaseEstimator

from pipeline.accel.nesting import nested
from pipeline.typing import Estimator, Table

SETTINGS = ("_metadata_request", "_sklearn_output_config", "_skl_callbacks", "_parent_callback_ctx")
HASHED_BYTES = 1 << 20
"""Larger fitted arrays are read-only; writes to smaller ones are noticed."""
_LONG = 1000
"""Changes inside of parameters with more items are not noticed."""
_STATES: weakref.WeakSet[State] = weakref.WeakSet()
_NARROW = ("TSNE",)
"""Estimators whose arrays are float32 in scikit-learn, whatever their rows are."""
_EARLY = ("n_features_in_", "feature_names_in_", "classes_")


class State:
    """What a model has learned, for the objects that scikit-learn would have fitted in place.

    The `root` is the user's own. With `wide`, fitted arrays of float32 become float64, as
    scikit-learn's would be.
    """

    def __init__(self, model: Any, root: BaseEstimator, *, wide: bool = False) -> None:
        self.model, self.root, self.wide = model, weakref.ref(root), wide
        self.parts = {path: weakref.ref(part) for path, part in parts_of(root)}
        self.lifted = False
        self.beside: Any = None
        """The same estimator fitted by plain scikit-learn, to verify predictions."""
        self._seen: dict[str, dict[str, Callable[[Any], bool]]] = {}
        """By path and name: whether a value is the one that was there, and holds the same."""
        self._given: dict[tuple[str, str], tuple[Any, Any]] = {}
        """By path and name: an attribute as it was set, perhaps read-only, and as it was fitted."""
        self._lock = RLock()
        _STATES.add(self)

    def look(self) -> None:
        """Remember what the objects hold, which the model agrees with."""
        on_host = self.model.device_ == "cpu"  # where the model shares what is large
        self._seen = {}
        for path, ref in self.parts.items():
            if (part := ref()) is not None:
                params = {*part._get_param_names(), *SETTINGS}
                self._seen[path] = {
                    name: partial(_is, _mark(value)) if name in params else _stays(value, on_host)
                    for name, value in vars_of(part).items()
                }

    @property
    def unchanged(self) -> bool:
        """Whether the objects hold what they held, so that the model may speak for them."""
        for path, seen in self._seen.items():
            part = self.parts[path]()
            now = {} if part is None else vars_of(part)
            if now.keys() != seen.keys() or not all(seen[n](v) for n, v in now.items()):
                return False
        return True

    def give(self, path: str, name: str, value: Any) -> None:
        """Set a fitted attribute of one of the objects."""
        if (part := self.parts[path]()) is not None:
            shown = value
            if state_of(part) is self and type(value) is np.ndarray and value.nbytes > HASHED_BYTES:
                shown = value.view()
                shown.flags.writeable = False
            self._given[path, name] = shown, value
            dict.__setitem__(part.__dict__, name, shown)

    def without_given(self, path: str, part: BaseEstimator) -> dict[str, Any]:
        """Return what one of the objects holds, without the attributes that were set here."""
        own = vars_of(part)
        if path in self.parts and self.parts[path]() is part:
            for (where, name), values in self._given.items():
                if where == path and any(own.get(name, self) is value for value in values):
                    del own[name]
        return own

    def lift(self, *, overwrite: bool = False) -> None:
        """Give the objects the fitted attributes that plain scikit-learn would have set."""
        with self._lock:
            if self.lifted:
                return
            agrees = self.unchanged
            with nested():
                plain = dict(parts_of(self.model.fitted_estimator()))
            if self.wide:
                plain = {path: widen(part) for path, part in plain.items()}
            for path, ref in self.parts.items():
                if (part := ref()) is not None:
                    own = vars_of(part)
                    for name, value in fitted_of(plain[path]).items():
                        if overwrite or name not in own:
                            self.give(path, name, value)
                    _replace_words(part, plain[path])
            self.lifted = True
            if agrees:
                self.look()

    def release(self) -> None:
        """Let the objects be plain scikit-learn's from now on, which may write to the arrays."""
        for path, ref in self.parts.items():
            part = ref()
            if part is not None and state_of(part) is self:
                part.__dict__ = own = vars_of(part)
                for (where, name), (shown, value) in self._given.items():
                    if where == path and own.get(name, self) is shown:
                        own[name] = value


class Adopted(dict):  # type: ignore[type-arg]
    """The `__dict__` of such an object: Python code that reads it lifts first.

    CPython's look-up of attributes does not come here; those that are missing reach `__getattr__`.
    """

    state: State

    def __reduce__(self) -> Any:
        """Return a plain dictionary."""
        self.state.lift()
        return dict, (dict(dict.items(self)),)


def _reads(name: str) -> Any:
    plain = getattr(dict, name)

    def method(self: Adopted, *args: Any) -> Any:
        self.state.lift()
        return plain(self, *args)

    return method


for _name in (
    *("__contains__", "__eq__", "__getitem__", "__iter__", "__len__", "__ne__", "__or__"),
    *("__delitem__", "__repr__", "__reversed__", "__ror__", "copy", "get", "items", "keys"),
    *("pop", "popitem", "setdefault", "values"),
):
    setattr(Adopted, _name, _reads(_name))


def vars_of(part: Estimator) -> dict[str, Any]:
    """Return a copy of what an object holds, without lifting."""
    return dict(dict.items(part.__dict__))


def fitted_of(part: Estimator) -> dict[str, Any]:
    """Return the attributes that a fit has set."""
    settings = {*part._get_param_names(), *SETTINGS} if hasattr(part, "_get_param_names") else ()
    return {name: value for name, value in vars_of(part).items() if name not in settings}


def parts_of(estimator: Estimator, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the objects that scikit-learn fits in place when it fits one, with their paths."""
    yield path, estimator
    held = {"Pipeline": "steps", "FeatureUnion": "transformer_list"}.get(type(estimator).__name__)
    for name, part in getattr(estimator, held) if held else ():
        if isinstance(part, BaseEstimator):
            yield from parts_of(part, f"{path}.{name}")


def is_of_fit(name: str) -> bool:
    """Return whether an attribute may be one that scikit-learn sets in a fit, by its name.

    >>> is_of_fit("coef_"), is_of_fit("_fit_X"), is_of_fit("transform"), is_of_fit("_repr_png_")
    (True, True, False, False)
    """
    named = name.startswith("_") or name.endswith("_")
    return named and not name.startswith(("__", "_repr_", "_ipython_")) and name not in SETTINGS


def _fits_words(part: Any) -> bool:
    """Return whether scikit-learn changes the list of a `FeatureUnion` when it fits one."""
    if type(part).__name__ != "FeatureUnion":
        return False
    words = [each for _, each in part.transformer_list if isinstance(each, str)]
    return "passthrough" in words or not isinstance(part.transformer_list, list)


def _replace_words(part: Any, plain: Any) -> None:
    """Put what scikit-learn's `FeatureUnion` fits for "passthrough" in its list."""
    if _fits_words(part):
        pairs = zip(part.transformer_list, plain.transformer_list, strict=True)
        held = [theirs if mine[1] == "passthrough" else mine for mine, theirs in pairs]
        dict.__setitem__(part.__dict__, "transformer_list", held)


def state_of(estimator: Estimator) -> State | None:
    """Return the state of an object that a model has fitted."""
    own = estimator.__dict__
    return own.state if type(own) is Adopted else None


def adopt(
    root: BaseEstimator, model: Any, before: State | None = None, *, wide: bool = False
) -> State:
    """Have an object, and the steps of a pipeline, hold what a fitted model has learned.

    `before` is the state of the fit before; `wide` is as in `State`.
    """
    state, others = State(model, root, wide=wide), False
    for (path, part), (_, fresh) in zip(parts_of(root), parts_of(model.estimator), strict=True):
        kept = before.without_given(path, part) if before else vars_of(part)
        others = others or any(map(is_of_fit, kept.keys() - vars(fresh).keys()))
        part.__dict__ = own = Adopted(kept)
        own.state = state
    for name in _EARLY:
        path, part = "", root
        while name == "classes_" and type(part).__name__ == "Pipeline":
            path, part = f"{path}.{part.steps[-1][0]}", part.steps[-1][1]
        if name in vars(model) and not hasattr(type(part), name) and path in state.parts:
            state.give(path, name, vars(model)[name])
    state.look()
    # Attributes of a fit by plain scikit-learn are not to be read; XGBoost's class has some.
    others = others or any(_fits_words(part) for _, part in parts_of(root))
    if others or type(root).__module__.startswith("xgboost"):
        state.lift(overwrite=True)
    return state


def settle(estimator: Estimator) -> State | None:
    """Let an object be plain scikit-learn's from now on, fitted; return its state."""
    state = state_of(estimator)
    if state is not None:
        state.lift()
        state.release()
    return state


def settle_all() -> None:
    """Let all objects be plain scikit-learn's from now on."""
    for state in list(_STATES):
        try:
            state.lift()
        except Exception as error:
            said = f"a fitted {type(state.model.estimator).__name__} is lost: {error}"
            warnings.warn(said, RuntimeWarning, stacklevel=3)
        state.release()


def _stays(value: Any, on_host: bool) -> Callable[[Any], bool]:
    """Return whether a fitted attribute is this one, and holds the same."""
    before = _hash(value, on_host)
    return lambda now: now is value and _hash(now, on_host) == before


def _hash(value: Any, on_host: bool) -> str:
    """Return a hash of what a fitted attribute holds; none of what is large on the host."""
    read_only = type(value) is np.ndarray and not value.flags.writeable
    if read_only or (on_host and _n_bytes(value) > HASHED_BYTES):
        return ""
    try:
        return str(joblib.hash(value))
    except Exception:  # a function, which nobody writes to
        return ""


def _n_bytes(value: Any) -> float:
    """Return about how many bytes numbers and texts need; of other objects it is not known."""
    if type(value) is np.ndarray and value.dtype != object:
        return value.nbytes
    if type(value) in (list, tuple, np.ndarray):  # a masked array may hold itself
        return sum(map(_n_bytes, value.flat if type(value) is np.ndarray else value))
    if type(value) is dict:
        return sum(map(_n_bytes, value.values()))
    if isinstance(value, str):
        return len(value)
    if hasattr(value, "nnz"):
        return float(value.data.nbytes)
    return 8 if value is None or isinstance(value, int | float | np.generic) else inf


def _mark(value: Any) -> Any:
    """Return a parameter without references to estimators, which may hold this."""
    if isinstance(value, BaseEstimator):
        return weakref.ref(value)
    if type(value) in (list, tuple) and len(value) <= _LONG:
        return type(value)(map(_mark, value))
    if type(value) is dict and len(value) <= _LONG:
        return {key: _mark(each) for key, each in value.items()}
    return value


def _is(mark: Any, value: Any) -> bool:
    if isinstance(mark, weakref.ref):
        return mark() is value
    if type(mark) in (list, tuple) and mark is not value:
        same = type(value) is type(mark) and len(mark) == len(value)
        return same and all(map(_is, mark, value))
    if type(mark) is dict and mark is not value:
        same = type(value) is dict and mark.keys() == value.keys()
        return same and all(_is(each, value[key]) for key, each in mark.items())
    return mark is value


def computes_in_float64(X: Table) -> bool:
    """Return whether scikit-learn computes in float64 on rows of these types.

    >>> computes_in_float64(np.ones((1, 1), "float32")), computes_in_float64(np.ones((1, 1)))
    (False, True)
    """
    types = list(getattr(X, "dtypes", ())) if hasattr(X, "columns") else [getattr(X, "dtype", None)]
    known = [each for each in types if isinstance(each, np.dtype)]
    return len(known) < max(1, len(types)) or np.result_type(*known) != np.float32


def widen(part: Estimator) -> Any:
    """Return a fitted estimator, or a copy in which arrays of float32 are float64.

    Some of scikit-learn's compiled code takes rows of the type of the fitted arrays alone.
    """
    narrow = type(part).__name__ in _NARROW or not type(part).__module__.startswith("sklearn.")
    if narrow or type(part).__name__ == "Pipeline":  # a search's, which casts its rows
        return part
    part = copy(part)
    for name, value in vars(part).items():
        if isinstance(value, np.ndarray | np.generic) and value.dtype == np.float32:
            setattr(part, name, value.astype(np.float64))
    if (best := vars(part).get("best_estimator_")) is not None:
        alone = type(best).__name__ == "Pipeline" != type(part.estimator).__name__
        part.best_estimator_ = widen(best[-1] if alone else best)  # without the step that casts
    return part
