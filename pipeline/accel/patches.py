"""The methods of scikit-learn's and XGBoost's own classes, patched: an outermost call may be ours.

The objects stay what they are. Users' own classes run plain, and so does what they inherit.
"""

from __future__ import annotations

import functools
import os
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import sklearn.base
from sklearn.base import BaseEstimator
from sklearn.utils import validation
from sklearn.utils._available_if import _AvailableIfDescriptor
from sklearn.utils.parallel import _FuncWrapper

from pipeline.accel import sites
from pipeline.accel.adopted import Adopted, State, is_of_fit, settle, settle_all, state_of
from pipeline.accel.gate import MIN_SIZE, OWNERS, count_values, obstacle, pays_on_cpu
from pipeline.accel.nesting import carried, is_nested, nested
from pipeline.accel.sites import Site
from pipeline.errors import ConfigError, DataError, PipelineError, Reason, Refused, Unsupported

FITS = ("fit", "fit_transform", "fit_predict")
BATCHES = ("partial_fit",)
READS = (
    *("predict", "predict_proba", "predict_log_proba", "decision_function", "transform"),
    *("score", "score_samples", "kneighbors"),
)
SMALL = "a small table"
SEARCHES = "sklearn.model_selection._search"


@dataclass(frozen=True)
class Settings:
    """How `install` was called."""

    device: str
    strict: bool
    verify: bool
    min_size: int


Given = tuple[tuple[Any, ...], dict[str, Any]]
"""The arguments of a call, by position and by name."""
_settings: Settings | None = None
_patched: set[type] = set()
_replaced: list[tuple[Any, str, Any, Any]] = []
"""Owners and names, what was there, and what is in its place."""


def _forked() -> None:
    """Run plain scikit-learn in a process that is forked: a GPU could not be used there."""
    global _settings
    _settings = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def install(
    device: str = "auto", *, strict: bool = False, verify: bool = False, min_size: int = MIN_SIZE
) -> None:
    """Run what follows of scikit-learn and XGBoost through the engine, where that pays.

    Objects keep their classes and get the fitted attributes of scikit-learn. Where the engine
    supports less, or a table is small, plain scikit-learn runs.

    Parameters
    ----------
    device : {"auto", "cpu", "cuda"}, default="auto"
        As in `pipeline.Accelerated`; "cuda" may leave steps to the host.
    strict : bool, default=False
        Whether a call that the engine does not support is an error: on a GPU also a step without
        an equivalent, and rows that would be copied to the host.
    verify : bool, default=False
        Whether to run plain scikit-learn beside it and to compare the results of each call.
    min_size : int, default=200_000
        Number of values of a table, rows × columns, below which scikit-learn runs. With 0, the
        engine runs whatever it supports, even where it gains nothing.

    Raises
    ------
    ConfigError
        No such device, or a negative number.
    DeviceUnavailable
        ``device="cuda"`` and there is no usable GPU.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import StandardScaler
    >>> from pipeline import accel
    >>> accel.install(device="cpu", min_size=0)
    >>> scaler = StandardScaler().fit(np.array([[0.0], [2.0]]))
    >>> accel.uninstall()
    >>> scaler.mean_, accel.calls()[0].what, accel.calls()[0].ran
    (array([1.]), 'StandardScaler.fit', 'cpu')
    """
    from pipeline.system import devices

    global _settings
    if min_size < 0:
        raise ConfigError(f"min_size={min_size} is negative; pass 0 or more")
    choice = devices.choose(device)
    where = "cpu" if choice.name == "cpu" else device
    before, _settings = _settings, Settings(where, strict, verify, min_size)
    sites.forget()
    if before is not None:  # what is fitted stays on its device
        return
    mixins = [each for name, each in vars(sklearn.base).items() if name.endswith("Mixin")]
    for cls in [*mixins, *_below(BaseEstimator)]:
        _patch(cls)
    _replace(BaseEstimator, "__init_subclass__", classmethod(_patch_later))
    for name, made in carried(_FuncWrapper).items():
        _replace(_FuncWrapper, name, made)


def uninstall() -> None:
    """Let scikit-learn and XGBoost be as they were; what is fitted stays fitted."""
    global _settings
    _settings = None
    _patched.clear()
    while _replaced:
        owner, name, before, made = _replaced.pop()
        if vars(owner).get(name) is not made:  # scikit-learn may have wrapped it meanwhile
            continue
        if before is None:
            delattr(owner, name)
        else:
            setattr(owner, name, before)
    settle_all()


def is_installed() -> bool:
    """Return whether calls are accelerated now."""
    return _settings is not None


def _replace(owner: Any, name: str, value: Any) -> None:
    _replaced.append((owner, name, vars(owner).get(name), value))
    setattr(owner, name, value)


def _watch_reads() -> None:
    """Have fitted attributes computed when they are read; not before the engine fits anything."""
    if "__getattr__" in vars(BaseEstimator):
        return
    _replace(BaseEstimator, "__getattr__", _lift_missing)
    for name in ("__dir__", "__delattr__"):
        _replace(BaseEstimator, name, _lifting(getattr(BaseEstimator, name)))
    _replace(validation, "_is_fitted", _knows_adopted(validation._is_fitted))


def _below(cls: Any) -> Iterator[type]:
    for each in cls.__subclasses__():
        yield each
        yield from _below(each)


def _patch(cls: type) -> None:
    """Wrap the methods that classes of scikit-learn and XGBoost define themselves."""
    each: Any
    for each in reversed(cls.__mro__):
        known = each.__module__.partition(".")[0] in OWNERS and ".tests." not in each.__module__
        if each in _patched or not known:
            continue
        _patched.add(each)
        searches = each.__module__ == SEARCHES  # whose best estimator has its own calls
        for name in FITS + BATCHES + (() if searches else READS):
            if (made := _wrapped(each.__dict__.get(name), name)) is not None:
                _replace(each, name, made)
        if searches:
            _patch_cross_validate()


def _patch_later(cls: Any, /, **params: Any) -> None:
    super(BaseEstimator, cls).__init_subclass__(**params)
    _patch(cls)


def _patch_cross_validate() -> None:
    """Let cross-validation share rows; scikit-learn's module is there before its searches."""
    module = sys.modules["sklearn.model_selection._validation"]
    plain = module.cross_validate
    if hasattr(plain, "plain"):
        return

    @functools.wraps(plain)
    def cross_validate(estimator: Any, X: Any, y: Any = None, **params: Any) -> Any:
        settings = _settings
        if settings is None or is_nested():
            return plain(estimator, X, y, **params)
        from pipeline.accel.searches import cross_validated, shares_rows

        given, call = (estimator, X, y, params), Site("", "cross_validate")
        failed: Exception | None
        start = time.perf_counter()
        try:
            device = _device_for(settings, estimator, X)
            if obstacle(estimator, X, y) or not shares_rows(estimator, X, params):
                raise _Skipped("its fits are calls of their own")
            with nested():
                choice = _choice(settings, device)
                made = cross_validated(plain, given, choice, call, verify=settings.verify)
            _note(call, start)
            return made
        except _Skipped:
            failed = None
        except Exception as error:
            if settings.strict:
                raise
            failed = error
        made = plain(estimator, X, y, **params)
        _warn_of_failure(call, failed)
        return made

    vars(cross_validate)["plain"] = plain
    for owner in (module, sys.modules["sklearn.model_selection"]):
        if vars(owner).get("cross_validate") is plain:
            _replace(owner, "cross_validate", cross_validate)


def _wrapped(before: Any, name: str) -> Any:
    if isinstance(before, _AvailableIfDescriptor):
        made = _wrapped(before.fn, name)
        return made and _AvailableIfDescriptor(made, before.check, before.attribute_name)
    if not isinstance(before, types.FunctionType) or hasattr(before, "plain"):
        return None

    @functools.wraps(before)
    def method(self: Any, *args: Any, **params: Any) -> Any:
        __tracebackhide__ = True  # notebooks and pytest leave the frame out
        if _settings is None or is_nested():
            if type(self.__dict__) is Adopted:
                _be_plain(self, name)
            return before(self, *args, **params)
        if type(self) not in _patched:
            with nested():  # a user's own class, and what scikit-learn calls for it
                return before(self, *args, **params)
        return _outermost(_settings, before, name, self, (args, params))

    vars(method)["plain"] = before
    return method


def _be_plain(estimator: BaseEstimator, name: str) -> None:
    """Let plain scikit-learn read what the engine has fitted, or fit it anew."""
    if name not in READS:
        settle(estimator)
    elif (state := state_of(estimator)) is not None:
        state.lift()


def _lift_missing(self: BaseEstimator, name: str) -> Any:
    """Return an attribute that is set only when it is read: `BaseEstimator.__getattr__`."""
    cls: Any = type(self)
    if type(self.__dict__) is Adopted and is_of_fit(name):
        self.__dict__.state.lift()
    elif (own := _delegate(cls)) is not None:
        return own(self, name)
    return object.__getattribute__(self, name)  # finds it, or raises as before


@functools.cache
def _delegate(cls: Any) -> Any:
    """Return the `__getattr__` of a user's mixin, which ours stands before."""
    methods = (vars(each).get("__getattr__") for each in cls.__mro__)
    return next((own for own in methods if own not in (None, _lift_missing)), None)


def _lifting(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a special method that reads or deletes attributes, with a lift before."""

    @functools.wraps(plain)
    def method(self: BaseEstimator, *args: Any) -> Any:
        if (state := state_of(self)) is not None:
            state.lift()
        return plain(self, *args)

    return method


def _knows_adopted(plain: Callable[..., bool]) -> Callable[..., bool]:
    """Return scikit-learn's check whether an object is fitted, which does not lift."""

    @functools.wraps(plain)
    def _is_fitted(estimator: Any, attributes: Any = None, all_or_any: Any = all) -> bool:
        known = attributes is None and type(getattr(estimator, "__dict__", None)) is Adopted
        return known or plain(estimator, attributes, all_or_any)

    return _is_fitted


class _Skipped(Exception):  # noqa: N818
    """Plain scikit-learn runs, because the engine would not be faster."""


def _outermost(
    settings: Settings, plain: Callable[..., Any], name: str, user: Any, given: Given
) -> Any:
    """Run a call by the engine if that pays and succeeds, else by scikit-learn; note what ran."""
    __tracebackhide__ = True
    call, start = Site("", f"{type(user).__name__}.{name}"), time.perf_counter()
    failed: Exception | None = None
    try:
        with nested():
            try:
                return _accelerated(settings, name, user, given, call)
            except _Skipped as skipped:
                call.why = str(skipped)
            except Exception as error:
                users = not isinstance(error, PipelineError) or isinstance(error, DataError)
                if settings.strict and not users:
                    raise
                failed, call.why = error, str(error)
            _be_plain(user, name)
            try:
                made = plain(user, *given[0], **given[1])
            except Exception as error:
                call.why = f"scikit-learn raises {type(error).__name__}"
                raise
            if failed is not None and settings.strict:
                raise failed
            _warn_of_failure(call, failed)
            return made
    finally:
        _note(call, start)


def _warn_of_failure(call: Site, failed: Exception | None) -> None:
    """Warn of a fault of the engine: scikit-learn has run what it could not."""
    if failed is not None and not isinstance(failed, Refused | Warning):
        call.why = f"the engine failed: {type(failed).__name__}: {failed}"
        said = f"{call.what}: {call.why}; scikit-learn ran it; please report this"
        warnings.warn(said, RuntimeWarning, stacklevel=4)


def _note(call: Site, start: float) -> None:
    call.seconds = time.perf_counter() - start - call.plain_seconds
    sites.note(call)


def _accelerated(settings: Settings, name: str, user: Any, given: Given, call: Site) -> Any:
    args, params = given
    X = args[0] if args else params.get("X")
    if name in BATCHES:
        raise _Skipped("it learns in batches")
    if name in READS:
        state = _readable(settings, user, X)
        from pipeline.accel.engine import ask

        return ask(state, name, given, call, verify=settings.verify)
    device = _device_for(settings, user, X)
    y = args[1] if len(args) > 1 else params.get("y")
    if why := obstacle(user, X, y):
        raise Unsupported(Reason(type(user).__name__, why))
    from pipeline.accel.engine import fit
    from pipeline.accel.searches import search, shares

    _watch_reads()
    if type(user).__module__ == SEARCHES and name == "fit" and shares(user, args):
        return search(user, given, _choice(settings, device), call, verify=settings.verify)
    return fit(user, name, given, _choice(settings, device), call, verify=settings.verify)


def _choice(settings: Settings, device: str) -> dict[str, Any]:
    """Return the parameters of a model."""
    host_bytes = 0 if settings.strict else None
    return {"device": device, "fallback": not settings.strict, "host_bytes": host_bytes}


def _readable(settings: Settings, user: Any, X: Any) -> State:
    """Return the state from which the engine may predict or transform."""
    state = state_of(user)
    if state is None:
        raise _Skipped("plain scikit-learn has fitted it")
    if state.root() is not user:
        raise _Skipped("it was fitted as a step of a pipeline")
    if X is None:
        raise _Skipped("it takes no table")
    on_host = state.lifted or state.model.device_ == "cpu"
    if on_host and count_values(X) < settings.min_size:
        raise _Skipped(SMALL)
    if not state.unchanged:
        settle(user)  # which frees the model
        raise _Skipped("changed since it was fitted")
    return state


def _device_for(settings: Settings, estimator: Any, X: Any) -> str:
    """Return where a fit should run; `_Skipped` where scikit-learn is as fast."""
    n_values = count_values(X)
    if X is None or n_values < settings.min_size:
        raise _Skipped(SMALL if X is not None else "it takes no table")
    device = settings.device
    if device == "auto":
        from pipeline.compile.choose import choose_for

        device = choose_for("auto", estimator, X).name
    if device == "cpu" and settings.min_size and not pays_on_cpu(estimator, n_values):
        raise _Skipped("no step that the engine runs faster at this size")
    return device
