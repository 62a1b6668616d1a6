"""Whether the engine and plain scikit-learn give the same: results and fitted attributes."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from threading import RLock
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from pipeline.accel.adopted import fitted_of, parts_of, state_of
from pipeline.accel.sites import Site
from pipeline.table.target import order_untold

RTOL = {"float32": 2e-6, "float64": 1e-7}
ATOL = {"float32": 1e-6, "float64": 1e-9}
_DEEP = 4
_ALONE = RLock()


@dataclass
class Plain:
    """What plain scikit-learn has returned, or its error."""

    made: Any = None
    error: str = ""


@contextmanager
def beside(work: Callable[[], Any] | None, call: Site) -> Iterator[Plain | None]:
    """Let the engine do inside what scikit-learn would; first it does the work, if there is any.

    Both draw the same numbers; if the engine fails, what it has drawn is undone. No warning of our
    own about y is given.
    """
    before = np.random.get_state(legacy=False)
    found = None if work is None else _plainly(work, call)
    if found:
        after = np.random.get_state(legacy=False)
        np.random.set_state(before)
    try:
        with order_untold():
            yield found
    except Exception:
        np.random.set_state(before)
        raise
    if found and not found.error and str(after) != str(np.random.get_state(legacy=False)):
        found.error = "different numbers are drawn from NumPy's global generator"


def _plainly(work: Callable[[], Any], call: Site) -> Plain:
    """Return what plain scikit-learn makes, silently; the call gets the time."""
    found, start = Plain(), time.perf_counter()
    # One thread at a time: these change what all threads use.
    with (
        _ALONE,
        warnings.catch_warnings(),
        redirect_stdout(StringIO()),
        redirect_stderr(StringIO()),
    ):
        warnings.simplefilter("ignore")
        try:
            found.made = work()
        except Exception as error:
            found.error = f"plain scikit-learn raises {type(error).__name__}: {error}"
    call.plain_seconds = time.perf_counter() - start
    return found


def first_difference(
    results: Sequence[tuple[str, Any, Any]], ours: Any = None, plain: Any = None
) -> str:
    """Return what differs first between results or fitted objects; empty if nothing does.

    >>> first_difference([("a", 1.0, 1.0 + 1e-12)]), first_difference([("a", 1.0, 1.5)])
    ('', 'a: 1.0 instead of 1.5')
    """
    for name, one, other in [*results, *(_attributes(ours, plain) if plain is not None else ())]:
        if not same(one, other):
            return f"{name}: {_short(one)} instead of {_short(other)}"
    return ""


def _attributes(ours: Any, plain: Any) -> Iterator[tuple[str, Any, Any]]:
    if (state := state_of(ours)) is not None:
        state.lift()
    mine = dict(parts_of(ours))
    for path, theirs in parts_of(plain):
        own = fitted_of(mine[path])
        for name, value in fitted_of(theirs).items():
            if name.endswith("_") and not name.startswith("_") and "time" not in name:
                yield f"{type(theirs).__name__}.{name}", own.get(name, "nothing"), value


def _short(value: Any) -> str:
    return " ".join(str(value).split())[:70]


def same(one: Any, other: Any, depth: int = 0) -> bool:
    """Return whether two values are of one type and form, and equal within rounding.

    >>> same(np.ones(2), np.ones(2) + 1e-9), same(np.ones(2), np.ones(2, "f4")), same([1], (1,))
    (True, False, False)
    """
    if one is other or depth > _DEEP:
        return True
    if type(one) is not type(other):
        return False
    if hasattr(other, "toarray"):
        return bool(one.shape == other.shape) and same(one.toarray(), other.toarray(), depth + 1)
    if isinstance(other, np.ma.MaskedArray):
        masks = np.array_equal(np.ma.getmaskarray(one), np.ma.getmaskarray(other))
        return masks and same([*one.compressed()], [*other.compressed()], depth + 1)
    if isinstance(other, np.ndarray):
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        if other.dtype.kind in "fc":
            return _close(one, other, "float32" if other.dtype == "float32" else "float64")
        if other.dtype == object and other.ndim:
            return all(same(a, b, depth + 1) for a, b in zip(one.flat, other.flat, strict=True))
        return bool(np.array_equal(one, other))
    if isinstance(other, float | np.floating):
        return _close(one, other, "float64")
    if isinstance(other, list | tuple):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(same(a, b, depth + 1) for a, b in pairs)
    if isinstance(other, dict):
        keys = [key for key in other if "time" not in str(key)]
        return one.keys() == other.keys() and all(
            same(one[key], other[key], depth + 1) for key in keys
        )
    if isinstance(other, BaseEstimator):
        return not first_difference([], one, other)
    if hasattr(other, "equals"):  # a frame or a column of pandas or Polars
        return bool(one.equals(other)) or same(one.to_numpy(), other.to_numpy(), depth + 1)
    plain = isinstance(other, str | int | np.generic)
    return bool(one == other) if plain else True


def _close(one: Any, other: Any, dtype: str) -> bool:
    close = np.allclose(one, other, rtol=RTOL[dtype], atol=ATOL[dtype], equal_nan=True)
    return bool(close)
