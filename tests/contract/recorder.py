"""What our code asked of the stand-ins, which bytes it moved, and how many were alive at once."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, NamedTuple

import numpy as np


class Refused(TypeError):
    """The stand-in does not do this: the real library refuses it, or would copy to the host."""


class OnDevice:
    """What every object on the device refuses: to turn into a NumPy array by itself."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise Refused(f"implicit conversion of {_name(self)} to a NumPy array is not allowed")

    def __array_ufunc__(self, ufunc: Any, *args: Any, **kwargs: Any) -> Any:
        raise Refused(f"numpy.{ufunc.__name__} on {_name(self)}; use its own module")

    def __array_function__(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        raise Refused(f"numpy.{function.__name__} on {_name(self)}; use its own module")


def _name(obj: object) -> str:
    return f"{type(obj).__module__.partition('.')[0]}.{type(obj).__name__}"


@dataclass(frozen=True)
class Call:
    """One use of a library; `args` is None where an attribute was read."""

    owner: str
    name: str
    args: tuple[Any, ...] | None = None
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.owner}.{self.name}" + ("" if self.args is None else "()")


class Copy(NamedTuple):
    """Bytes between host and device.

    `how` is ``"scalar"`` where a single value is read as a side effect.
    """

    to: str
    how: str
    nbytes: int


class Recorder:
    """Collects calls and copies while it is not paused; `every` call since the stand-ins came."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.every: list[Call] = []
        self.copies: list[Copy] = []
        self._paused = 0

    def call(
        self, owner: str, name: str, args: tuple[Any, ...] | None = None, kwargs: Any = None
    ) -> None:
        """Note a call, or the reading of an attribute."""
        if not self._paused:
            self.calls.append(Call(owner, name, args, dict(kwargs or {})))
            self.every.append(self.calls[-1])

    def copied(self, to: str, how: str, nbytes: int) -> None:
        """Note bytes that crossed."""
        if not self._paused:
            self.copies.append(Copy(to, how, int(nbytes)))

    def nbytes(self, to: str, *hows: str) -> int:
        """Return the bytes that went ``"to"`` the host or the device, in the named ways or all."""
        return sum(c.nbytes for c in self.copies if c.to == to and (not hows or c.how in hows))

    def scalars(self) -> int:
        """Return how often a single value was read from the device."""
        return sum(copy.how == "scalar" for copy in self.copies)

    def syncs(self) -> int:
        """Return how often the host waited for the device: for each value or array it brings."""
        return sum(copy.to == "host" for copy in self.copies)

    def clear(self) -> None:
        """Begin to count anew; `every` call is kept."""
        self.calls.clear()
        self.copies.clear()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Note nothing inside the block."""
        self._paused += 1
        try:
            yield
        finally:
            self._paused -= 1


RECORDER = Recorder()
"""The one that all stand-ins report to."""

Convert = Callable[[Any], Any]


def recorded(
    owner: str, name: str, function: Callable[..., Any], wrap: Convert, unwrap: Convert
) -> Callable[..., Any]:
    """Return a function that notes each call before it hands it to the host's library."""

    def call(*args: Any, **kwargs: Any) -> Any:
        RECORDER.call(owner, name, args, kwargs)
        kwargs = {key: unwrap(value) for key, value in kwargs.items()}
        return wrap(function(*map(unwrap, args), **kwargs))

    return call


def operator(name: str) -> Callable[..., Any]:
    """Return an operator of a class whose `_call` records what it asks of its `_host`."""

    def method(self: Any, *operands: Any) -> Any:
        return self._call(name, getattr(self._host, name))(*operands)

    return method


class Live:
    """Counts the bytes of arrays that own memory, and the most at once; views of them take none.

    `kept` is what a pool that gives nothing back holds, until it is trimmed.
    """

    def __init__(self) -> None:
        self.nbytes = self.peak = self.kept = 0
        self._owners: dict[int, weakref.ref[np.ndarray]] | None = None
        # An array may be let go of while another one is counted, by the same thread.
        self._lock = RLock()

    @contextmanager
    def counted(self) -> Iterator[Live]:
        """Count the arrays that are made inside the block."""
        self.nbytes = self.peak = self.kept = 0
        self._owners = {}
        try:
            yield self
        finally:
            self._owners = None

    def hold(self, array: np.ndarray) -> None:
        """Count the memory behind an array until nothing refers to it."""
        owners = self._owners
        if owners is None:
            return
        while isinstance(array.base, np.ndarray):
            array = array.base
        key, nbytes = id(array), array.nbytes

        def let_go(_: object) -> None:
            with self._lock:
                del owners[key]
                self.nbytes -= nbytes if owners is self._owners else 0

        with self._lock:
            if key not in owners:
                owners[key] = weakref.ref(array, let_go)
                self.nbytes += nbytes
                self.peak = max(self.peak, self.nbytes)
                self.kept = max(self.kept, self.nbytes)


LIVE = Live()
"""The one that all arrays of the stand-ins report to."""
