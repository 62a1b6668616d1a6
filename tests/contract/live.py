"""The bytes that arrays on the device take: how many are alive, and the most that were at once."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import numpy as np


class Live:
    """Counts the arrays that own memory; views of them take none."""

    def __init__(self) -> None:
        self.nbytes = self.peak = 0
        self._owners: dict[int, weakref.ref[np.ndarray]] | None = None
        # An array may be let go of while another one is counted, by the same thread.
        self._lock = RLock()

    @contextmanager
    def counted(self) -> Iterator[Live]:
        """Count the arrays that are made inside the block."""
        self.nbytes = self.peak = 0
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


LIVE = Live()
"""The one that all arrays of the stand-ins report to."""
